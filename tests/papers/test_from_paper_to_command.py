"""Every line of "From paper to command" runs, and says honestly what does not exist."""

import re
import shlex
from pathlib import Path

import pytest

import wane
from wane.cli import main

PAGE = (Path(wane.__file__).parents[2] / "docs" / "from-paper-to-command.md").read_text()
STATES = ("works", "partly", "missing")
SLOW = {"wane reproduce modulus-figure-1"}
FILES = (
    "descent.toml",
    "langevin.toml",
    "dissipative.toml",
    "cyclic.toml",
    "public.toml",
    "game.toml",
    "people.toml",
)


def lines():
    """(place, command or call, state) of every row of every table."""
    cells = re.findall(r"^\| (.+?) \| (.*?) ?\| (.+?) \|$", PAGE, re.M)
    return [(place, run.strip("` "), state) for place, run, state in cells if place != "place"]


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)


RUNNABLE = [run for _, run, _ in lines() if run]


@pytest.fixture(scope="module")
def names():
    made = {}
    exec(blocks("python")[0], made)
    return made


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in zip(FILES, blocks("toml"), strict=True):
        (tmp_path / name).write_text(text)
    for name, text in zip(("walk.csv", "people.csv"), blocks("csv"), strict=True):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_line_has_a_state_and_only_missing_ones_have_nothing_to_run():
    assert len(lines()) > 70
    for place, run, state in lines():
        assert state.startswith(STATES), place
        assert (run == "") == state.startswith("missing"), place


@pytest.mark.parametrize("run", [r for r in dict.fromkeys(RUNNABLE) if r not in SLOW])
def test_a_line_runs(run, files, names, capsys):
    if run.startswith("wane "):
        more = ["--out", str(files / "out")] if run.startswith("wane reproduce") else []
        assert main([*shlex.split(run)[1:], *more]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out
        return
    assert eval(run, names) is not None


@pytest.mark.slow
@pytest.mark.parametrize("run", sorted(SLOW))
def test_a_slow_line_runs(run, files):
    assert main([*shlex.split(run)[1:], "--out", str(files / "out")]) == 0


def test_what_is_solved_is_certified(names):
    for block in blocks("python")[1:]:
        exec(block, dict(names))
