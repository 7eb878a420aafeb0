"""The suite's pages hang together, and what the README quotes is what was measured."""

import csv
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wane

ROOT = Path(wane.__file__).parents[2]
PAGES = ROOT / "docs" / "benchmarks"
README = " ".join((ROOT / "README.md").read_text().split())
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)")


@pytest.fixture(autouse=True)
def _benchmarks_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def rows(name: str) -> list[dict[str, str]]:
    path = PAGES / name
    if not path.exists():
        pytest.fail(f"{name} is missing: run python -m benchmarks")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numbers_in(path: Path) -> list[float]:
    return [
        float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", path.read_text())
    ]


def shown_in(text: str, known: list[float]) -> bool:
    """Whether a number of the file, or it as per cent, is this text at this many digits."""
    digits = len(text.partition(".")[2])
    half = 0.5 * 10.0**-digits + 1e-9
    value = float(text)
    return any(abs(scale * other - value) <= half for other in known for scale in (1.0, 100.0))


# ---- the README ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quoted():
    return {row["figure"]: row for row in rows("quoted.csv")}


def captured(pattern: str) -> list[str]:
    found = re.search(pattern, README)
    assert found, f"the README no longer says {pattern!r}: change this test with it"
    return list(found.groups())


def test_the_demonstration_is_told_as_it_is(quoted):
    number = r"([\d.]+)"
    composed = captured(rf"Composition charges epsilon {number}, {number}, {number};")
    last = captured(rf"for the last model it is {number}, {number}, {number},")
    for kind, told in (("composition", composed), ("last model", last)):
        measured = [row for name, row in quoted.items() if name.endswith(kind)]
        assert len(measured) == 3
        for row, text in zip(measured, told, strict=True):
            assert shown_in(text, [float(row["value"])]), f"{row['figure']}: {row['value']}"


def test_the_demonstrations_accuracy_is_told_as_it_is(quoted):
    row = quoted["demo, all fits: test accuracy"]
    told = [f"{float(row[name]):.2f}" for name in ("least", "most")]
    assert captured(r"single fits: ([\d.]+) to ([\d.]+);") == told


def test_the_examples_score_is_told_as_it_is(quoted):
    row = quoted["digits, epsilon 1: test accuracy"]
    assert captured(r"# about ([\d.]+)") == [f"{float(row['value']):.2f}"]


def test_every_line_of_results_agrees_with_the_file_it_names():
    """In a table row that links a file of docs/benchmarks, every number is found there."""
    for line in (ROOT / "README.md").read_text().splitlines():
        linked = re.findall(r"\]\((docs/benchmarks/[\w.-]+\.(?:csv|json))\)", line)
        if not (line.startswith("|") and linked):
            continue
        known = [number for name in linked for number in numbers_in(ROOT / name)]
        bare = re.sub(r"\[[^]]*\]\([^)]*\)", "", line)
        for text in NUMBER.findall(bare):
            assert shown_in(text, known), f"{text} of {line!r} is not in {linked}"


@pytest.mark.parametrize(
    ("text", "known", "found"),
    [("0.83", [0.8341], True), ("0.83", [0.836], False), ("83.4", [0.8341], True),
     ("112", [112.3], True), ("112", [113.0], False)],
)  # fmt: skip
def test_shown_precision(text, known, found):
    assert shown_in(text, known) is found


# ---- the pages -----------------------------------------------------------------------------------


def test_the_page_of_where_wane_is_not_ahead_is_current():
    from benchmarks import not_ahead

    assert (PAGES / "not-ahead.md").read_text() == not_ahead.page(PAGES)


def test_the_index_is_current():
    from benchmarks import index

    assert (PAGES / "README.md").read_text() == index.text(PAGES)


def test_every_section_has_its_module():
    from benchmarks.suite import SECTIONS

    names = [section.name for section in SECTIONS]
    assert len(set(names)) == len(names)
    for section in SECTIONS:
        assert importlib.util.find_spec(f"benchmarks.{section.module}"), section.module


@pytest.mark.slow
def test_the_command_runs_a_section(tmp_path):
    """As it is typed: each section runs in a process of its own, which must find it."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "quoted", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert {"quoted.csv", "quoted.md", "not-ahead.md"} <= {p.name for p in tmp_path.iterdir()}


def test_missing_files_are_named_and_not_passed_over(tmp_path):
    from benchmarks import not_ahead

    text = not_ahead.page(tmp_path)
    for rule in not_ahead.RULES:
        assert f"`{rule.file}` has not been made" in text


def test_rules_find_what_is_behind(tmp_path):
    from benchmarks import not_ahead

    (tmp_path / "learning.csv").write_text(
        "data,method,epsilon,seed,accuracy,seconds\n"
        "toy,wane,1.0,0,0.80,1\ntoy,opacus,1.0,0,0.90,1\ntoy,diffprivlib,1.0,0,0.70,1\n"
    )
    (tmp_path / "accounting.csv").write_text(
        "case,task,method,steps,answer,seconds,note\n"
        "a,certify,wane,100,1.0,0.2,\na,certify,peer,100,1.5,0.1,\na,certify,slow,100,1,0.3,\n"
        "a,calibrate,wane,100,,,> 8 s\na,calibrate,peer,100,2,4,\n"
    )
    text = not_ahead.page(tmp_path)
    assert "| toy, epsilon 1: opacus | 80.00 (one fit) | 90.00 (one fit) | 10 |" in text
    assert "diffprivlib |" not in text
    assert "| certify, a, 1e+02 steps: peer | 0.2 s (answer 1) | 0.1 s (answer 1.5) | 2 |" in text
    assert "| calibrate, a, 1e+02 steps: peer | > 8 s (answer -) | 4 s (answer 2) | 2 |" in text
    assert "slow" not in text.partition("A peer starts sooner")[0].partition("answers sooner")[2]


# ---- measuring -----------------------------------------------------------------------------------


def test_a_peer_that_cannot_be_installed_is_a_row(monkeypatch, tmp_path):
    from benchmarks import accounting, environments

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    nowhere = environments.Environment("nowhere", (("no-such-package-of-wane==0.0",),))

    def fails(*command):
        raise environments.subprocess.CalledProcessError(1, command, stderr="no such package\n")

    monkeypatch.setattr(environments, "_run", fails)
    monkeypatch.setattr(accounting, "HOMES", {"wane": None, "peer": nowhere})
    monkeypatch.setattr(
        accounting,
        "QUICK",
        accounting.Budget(
            dict.fromkeys(accounting.TASKS, (100,)), 5.0, rounds=1, short=0.0, enough=0.0
        ),
    )
    monkeypatch.setattr(accounting, "SHARED", ("full batch, every iterate",))
    monkeypatch.setattr(accounting, "HIDDEN", ("cyclic batches, last iterate",))
    page = accounting.page(quick=True)
    tables = {table.name: table for table in page.tables}
    assert ("peer", "nowhere cannot be installed: no such package") in tables[
        "accounting-peers"
    ].rows
    found = {(row[0], row[1]): row for row in tables["accounting"].rows}
    answer, seconds = found["full batch, every iterate", "certify"][4:6]
    assert 1.06 < answer < 1.07
    assert seconds > 0


def test_growth_is_the_slope_of_the_upper_decades():
    from benchmarks.accounting import Found, Key, exponent

    results = {
        Key("a", "certify", "wane", 10**k): Found(seconds=[10.0 ** (0.5 * k)]) for k in range(5, 10)
    }
    assert exponent(results, "a", "certify", "wane") == pytest.approx(0.5)
    assert exponent(results, "a", "calibrate", "wane") is None


def test_a_cell_past_its_limit_is_told_so():
    from benchmarks.accounting import asking

    with asking("wane") as ask:
        said = ask({
            "case": "Poisson, every iterate", "task": "calibrate", "steps": 10**5,
            "limit": 0.05, "enough": 0.0,
        })  # fmt: skip
    assert said == {"note": "> 0.05 s"}


def test_pages_keep_what_they_do_not_show(tmp_path):
    from benchmarks.report import Page, Table, write

    tables = (
        Table("long", "Long", ("a", "b"), [(1, "x|y")], linked_only=True),
        Table("short", "Short", ("a", "b"), [(0.123456, None)], shown=("a",)),
    )
    write(Page("page", "Title", "Words.", tables), tmp_path, "command")
    text = (tmp_path / "page.md").read_text()
    assert "x" not in text.partition("## Long")[2].partition("[long.csv]")[0]
    assert "| 0.1235 |" in text
    assert (tmp_path / "long.csv").read_text() == "a,b\n1,x|y\n"
    assert (tmp_path / "short.csv").read_text() == "a,b\n0.123456,\n"


def test_every_package_of_every_environment_is_pinned():
    from benchmarks.environments import ENVIRONMENTS

    for environment in ENVIRONMENTS:
        for group in environment.groups:
            assert all(re.fullmatch(r"[\w.-]+==[\w.]+", name) for name in group), environment.name
