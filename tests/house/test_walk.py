"""The walk of each command through the rooms: which are entered, in which order, how many modules.

A profile hook notes every function that runs, not what is only imported.
"""

import inspect
import sys
from pathlib import Path

import pytest

import wane
from wane.cli import main

ROOT = Path(wane.__file__).parent
SPEC = """
kind = "noisy-descent"
records = 1000
steps = 200
step_size = 0.5
release = "last-iterate"
adjacency = "replace-one"

[noise]
multiplier = 5.0

[batches]
kind = "cyclic"
size = 100

[objective]
gradient_bound = 1.0
smoothness = 1.0
strong_convexity = 0.0
ridge = 0.1
"""
SCHEMA = """
feature_norm = 1.0

[target]
name = "y"
classes = ["no", "yes"]

[columns.a]
type = "numeric"
low = 0.0
high = 1.0

[columns.b]
type = "numeric"
low = 0.0
high = 1.0
"""


MOST_MODULES = {"certify": 36, "fit": 75, "verify": 58, "sample": 65}
"""How many modules each command enters at most; lower a number when a walk becomes shorter."""


class Walk:
    """Which modules of wane run, by first entrance."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.files: dict[str, str | None] = {}

    def __call__(self, frame, event, _) -> None:
        code = frame.f_code
        if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # bodies of modules and classes run when they are imported
        if code.co_filename not in self.files:
            path = Path(code.co_filename)
            inside = path.is_relative_to(ROOT)
            self.files[code.co_filename] = str(path.relative_to(ROOT)) if inside else None
        name = self.files[code.co_filename]
        if name is not None:
            self.modules.setdefault(name)

    @property
    def rooms(self) -> list[str]:
        return list(
            dict.fromkeys(name.partition("/")[0].removesuffix(".py") for name in self.modules)
        )


def walk(*words) -> Walk:
    found = Walk()
    sys.setprofile(found)
    try:
        status = main([str(word) for word in words])
    finally:
        sys.setprofile(None)
    assert status == 0
    return found


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "run.toml").write_text(SPEC)
    (folder / "schema.toml").write_text(SCHEMA)
    rows = [f"{i % 7 / 7:.3f},{i % 5 / 5:.3f},{'yes' if i % 7 > 3 else 'no'}" for i in range(400)]
    (folder / "table.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    return folder


def told(capsys, command: str, found: Walk) -> None:
    with capsys.disabled():
        print(f"\nwane {command}: {len(found.modules)} modules; {' > '.join(found.rooms)}")
    assert len(found.modules) <= MOST_MODULES[command], list(found.modules)


def test_certify(places, capsys):
    found = walk("certify", places / "run.toml", "--delta", "1e-5")
    told(capsys, "certify", found)
    order = ["cli", "describe", "certificates", "theorems", "guarantees"]
    assert [room for room in found.rooms if room in order] == order
    assert not {"learn", "sampling", "run", "verify", "ledger", "mechanisms"} & set(found.rooms)


PROMISE = ("--epsilon", "2", "--delta", "1e-5", "--adjacency", "replace-one")


def test_fit_and_verify(places, capsys):
    words = ("--schema", places / "schema.toml", *PROMISE, "--model", "logistic")
    found = walk("fit", places / "table.csv", *words, "--out", places / "model")
    told(capsys, "fit", found)
    assert not {"verify", "balls", "sampling", "mechanisms"} & set(found.rooms)
    judged = walk("verify", places / "model" / "certificate.json")
    told(capsys, "verify", judged)


def test_sample(places, capsys):
    words = ("--schema", places / "schema.toml", *PROMISE, "--out", places / "sample")
    found = walk("sample", places / "table.csv", *words)
    told(capsys, "sample", found)
    of_commands = {name for name in found.modules if name.startswith("cli/")}
    assert of_commands == {f"cli/{n}.py" for n in ("main", "options", "sample", "folder")}
    assert not {"verify", "balls", "mechanisms"} & set(found.rooms)
