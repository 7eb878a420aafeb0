"""Golden values: the answers of the commands are those that were written down."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "golden"
golden = runpy.run_path(str(SCRIPT), run_name="golden")


@pytest.mark.slow
def test_the_answers_are_those_written_down():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_a_number_that_changed_is_told():
    old = {"a.epsilon": 1.0, "a.steps": 3, "a.mu": None}
    assert golden["differences"](old, {**old, "a.epsilon": 1.0 + 1e-9}, 1e-7) == []
    assert golden["differences"](old, {**old, "a.epsilon": 1.0 + 1e-9}, 0.0)
    assert golden["differences"](old, {**old, "a.steps": 4}, 1e-7)
    assert golden["differences"](old, {"a.epsilon": 1.0, "a.steps": 3}, 1e-7)
