"""The counts of this folder's tests reach the terminal, also from other processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
COUNTING = """
from trust.tally import COUNTS

def test_{name}():
    COUNTS["things tried"] += {count}
"""


@pytest.mark.parametrize("how", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "xdist"])
def test_counts_of_all_processes_are_added_and_printed(tmp_path, how):
    """As in the whole suite: the folder of the tests is not named, so its conftest is not read."""
    if how:
        pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS} {TESTS / 'papers'}\n")
    for name, count in (("one", 1000), ("two", 234)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"test_{name}.py").write_text(COUNTING.format(name=name, count=count))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *how],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTEST")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trust: 1,234 things tried" in done.stdout.splitlines()
