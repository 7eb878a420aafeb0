"""Supply chain: locked with hashes, listed, reproducible, and no pickle anywhere."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import wane

ROOT = Path(wane.__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LOCK = ROOT / "requirements" / "test.lock"

pytestmark = pytest.mark.skipif(not LOCK.exists(), reason="only in a checkout or an sdist")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_is_locked_with_hashes():
    """Each block of the lock is one pinned package and at least one hash, and names no host."""
    text = LOCK.read_text()
    assert "http" not in re.sub(r"(?m)^httpx?\w*(-\w+)*==|^httpcore\d*==|^httptools==", "", text)
    assert "index" not in text and "file:" not in text and "/" not in text
    blocks = re.split(r"\n(?=\S)", text.strip())
    for block in blocks:
        assert re.match(r"[\w.-]+==[\w.!+-]+( ;[^\\]*)? \\\n", block), block[:80]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block[:80]
    assert len(blocks) > 50


def test_the_lock_holds_what_the_project_asks_for():
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, building = whole["project"], whole["build-system"]["requires"]
    extras = project["optional-dependencies"]
    wanted, open_ = set(), [*building, *project["dependencies"], *extras["dev"]]
    while open_:
        asked = open_.pop()
        if found := re.match(r"wane\[([\w,-]+)\]", asked):
            open_ += [more for extra in found[1].split(",") for more in extras[extra]]
        else:
            wanted.add(plain(re.match(r"[\w.-]+", asked)[0]))
    locked = {plain(name) for name in re.findall(r"(?m)^([\w.-]+)==", LOCK.read_text())}
    assert wanted <= locked, f"run scripts/lock: {sorted(wanted - locked)} missing"


def test_the_script_that_runs_the_tests_installs_by_hash():
    """All but torch and opacus, whose files differ between machines; SECURITY.md says so."""
    script = (ROOT / "scripts" / "test").read_text()
    installs = re.findall(r"(?m)^ *python -m pip install --quiet (.*)$", script)
    assert installs == [
        "--require-hashes -r requirements/test.lock",
        "--no-deps --no-build-isolation -e .",
        "torch -c requirements/integrations.txt",
        "opacus -c requirements/integrations.txt",
    ]
    assert len(re.findall(r"\bpip\b", script)) == len(installs)
    promised = (ROOT / "SECURITY.md").read_text()
    assert "torch" in promised and "--require-hashes" in promised


def test_no_requirements_name_a_host():
    for path in (ROOT / "requirements").iterdir():
        assert not re.search(r"https?:|file:|index-url|find-links", path.read_text()), path.name


def test_the_bill_of_materials_lists_the_lock():
    script = runpy.run_path(str(ROOT / "scripts" / "sbom.py"))
    written = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text())
    version = wane.__version__
    assert written["bomFormat"] == "CycloneDX" and written["specVersion"] == "1.5"
    assert written["metadata"]["component"]["version"] == version
    assert written == script["sbom"](), "run scripts/sbom.py"
    assert len({c["bom-ref"] for c in written["components"]}) == len(written["components"])


FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_no_source_reads_or_writes_a_pickle():
    loads = 0
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        assert not FORBIDDEN_MODULES & imported(tree), path
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            words = {word.arg: word.value for word in call.keywords}
            allowed = words.get("allow_pickle")
            assert allowed is None or ast.literal_eval(allowed) is False, path
            name = ast.unparse(call.func)
            if name in {"np.load", "numpy.load"}:
                assert allowed is not None, f"{path}: say allow_pickle=False"
                loads += 1
            if name == "torch.load":
                assert ast.literal_eval(words["weights_only"]) is True, path
            assert name not in {"eval", "exec", "os.system"}, path
            assert "shell" not in words, path
    assert loads >= 2


def test_model_files_hold_no_pickle(tmp_path):
    from wane.learn import PrivateRidge, load_model

    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 3))
    model = PrivateRidge(target_bound=1.0, epsilon=8.0).fit(rows, rows[:, 0])
    model.save_model(tmp_path / "model.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        for name in archive.namelist():
            raw = archive.read(name)
            assert raw.startswith(b"\x93NUMPY")
            assert b"'|O'" not in raw[:200], "an array of objects would be pickled"
    assert np.array_equal(load_model(tmp_path / "model.npz").coef_, model.coef_)


def test_a_pickle_in_a_model_file_is_not_run(tmp_path):
    from wane.errors import InvalidDescription
    from wane.learn import load_model

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    trapped = np.array([Trap()], dtype=object)
    np.savez(tmp_path / "model.npz", about=trapped, coef=trapped, intercept=trapped)
    with pytest.raises(InvalidDescription, match="model file"):
        load_model(tmp_path / "model.npz")
    assert not (tmp_path / "sprung").exists()


def built(source: Path, out: Path) -> dict[str, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.slow
def test_two_builds_are_equal_to_the_byte(tmp_path):
    """From two folders of other names, whose files have other times."""
    pytest.importorskip("hatchling")
    made = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wanted = [*made["targets"]["sdist"]["include"], "pyproject.toml", ".gitignore"]
    one, other = tmp_path / "one", tmp_path / "a longer name"
    one.mkdir()
    for entry in wanted:
        if (ROOT / entry).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / entry, one / entry, ignore=ignored)
        elif (ROOT / entry).exists():
            shutil.copy2(ROOT / entry, one / entry)
    shutil.copytree(one, other)
    for path in other.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    first, second = (built(copy, tmp_path / f"out {i}") for i, copy in enumerate((one, other)))
    assert len(first) == 2 and first.keys() == second.keys()
    for name, content in first.items():
        assert content == second[name], name
    (wheel,) = (tmp_path / "out 0").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert all(name.startswith(("wane/", "wane_papers/", "wane-")) for name in names)
    assert not any("test" in Path(name).parts or name.endswith(".pyc") for name in names)
    (sdist,) = (tmp_path / "out 0").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {"/".join(member.name.split("/")[1:]) for member in archive}
    assert {"SECURITY.md", "requirements/test.lock", "requirements/sbom.cdx.json"} <= inside
