"""Three newcomers follow one page each, and nothing but what it says, in its order.

Blocks of `sh` are run line by line and blocks of `python` share their names, in one empty folder.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import wane

ROOT = Path(wane.__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.S | re.M)
DONE_BEFORE = ("pip install", "python3 -m venv")


def steps(page: str) -> list[tuple[str, str]]:
    """The blocks of a page, with the installation left out: the tests run where wane is."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for language, block in BLOCK.findall(text):
        if language == "python":
            found.append((language, block))
            continue
        lines = block.replace("\\\n", " ").splitlines()
        found += [(language, line) for line in lines if not line.startswith(DONE_BEFORE)]
    return found


class Session:
    """One Python that runs block after block, as somebody does who pastes them."""

    LOOP = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(json.loads(line), "block", "exec"), names)
    print(json.dumps(printed.getvalue()), flush=True)
"""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.LOOP],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, block: str) -> str:
        self.process.stdin.write(json.dumps(block) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{block}\n{self.process.stderr.read()[-2000:]}"
        return json.loads(answer)

    def close(self) -> None:
        self.process.communicate()


def followed(page: str, folder: Path) -> list[str]:
    """Follow a page from its first block to its last, and return what each printed."""
    session, printed = Session(folder), []
    try:
        for language, block in steps(page):
            python = language == "python"
            printed.append(session.run(block) if python else ran(block, folder))
    finally:
        session.close()
    return printed


def ran(block: str, folder: Path) -> str:
    here = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-c", block],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.slow
def test_a_data_scientist_gets_from_a_table_to_a_certificate(tmp_path):
    printed = "\n".join(followed("start-table.md", tmp_path))
    assert (tmp_path / "release" / "certificate.html").exists()
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 5001
    assert "verified:" in printed and "NOT verified" not in printed
    assert "a score on private rows is a release of its own" in printed
    accuracy = float(re.search(r"^accuracy  ([\d.]+)$", printed, re.M)[1])
    assert accuracy > 0.7  # the larger class holds about 0.6
    assert re.search(r"people: 1 release, epsilon \S+ of 3", printed)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("opacus") is None, reason="the page needs Opacus")
def test_a_privacy_engineer_gets_from_opacus_to_a_verified_certificate(tmp_path):
    printed = followed("tutorials/opacus.md", tmp_path)
    sides = next(text for text in printed if text.startswith("last iterate"))
    last, composed = (float(number) for number in re.findall(r"epsilon ([\d.]+)", sides)[:2])
    assert last < composed
    assert (tmp_path / "certificate.json").exists()
    assert "verified:" in printed[-1] and "NOT verified" not in printed[-1]


@pytest.mark.slow
def test_an_officer_checks_a_release_and_sees_a_change(tmp_path):
    printed = followed("approve.md", tmp_path)
    assert "Privacy statement" in "\n".join(printed)
    signed = [text for text in printed if "verified" in text]
    assert signed[0].startswith("verified:") and signed[-1].startswith("NOT verified")
    assert "refused, as it should be" in printed[-1]


def test_each_path_is_one_of_the_three_doors():
    home = (DOCS / "README.md").read_text(encoding="utf-8")
    doors = home.partition("grid cards")[2].partition("</div>")[0]
    for page in ("start-table.md", "tutorials/opacus.md", "approve.md"):
        assert f"({page})" in doors
        assert steps(page)


def test_what_a_page_installs_is_an_extra():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in DOCS.rglob("*.md"):
        for extras in re.findall(r"pip install '\.\[([\w,-]+)\]'", page.read_text()):
            assert set(extras.split(",")) <= set(known), f"{page.name}: {extras}"
