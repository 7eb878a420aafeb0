"""Command lines of every kind end in an answer or in one line, and status 0, 1 or 2."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from trust.tally import COUNTS
from wane.cli import main

RUN = """records = 1000
steps = 50
step_size = 0.1
adjacency = "zero-out"
noise = { multiplier = 1.0 }
objective = { gradient_bound = 1.0, smoothness = 1.0, strong_convexity = 0.0 }
batches = { kind = "cyclic", size = 100 }
"""
SCHEMA = """
[target]
name = "label"
classes = ["no", "yes"]
[columns.a]
type = "numeric"
low = -1
high = 1
[columns.kind]
type = "categorical"
categories = ["x", "y"]
"""
TABLE = "a,kind,label\n" + "0.5,x,yes\n-0.5,y,no\n" * 40

NUMBERS = ["0", "1", "-1", "1e-300", "1e300", "nan", "inf", "-inf", "0.5", "1e-5", "2", "abc", ""]
NAMES = ["", "a" * 5000, "\x1b[31m", "\u202e", "na\u00efve", "\udcff", "a\nb", "../..", "/", "-"]
COMMANDS = {
    "certify": ["{run}", "--delta", "{n}", "--json"],
    "explain": ["{run}", "--delta", "{n}"],
    "calibrate": ["{run}", "--epsilon", "{n}", "--delta", "{n}", "--over", "{over}"],
    "curve": ["{run}", "--from", "{n}", "--to", "{n}", "--points", "{n}"],
    "mixing": ["{run}", "--tv", "{n}"],
    "mechanism": ["{kind}", "--sensitivity", "{n}", "--epsilon", "{n}", "--delta", "{n}"],
    "kernel": ["{file}", "--epsilon", "{n}", "--delta", "{n}", "--power", "{n}"],
    "ledger": ["{action}", "{file}", "--dataset", "{name}"],
    "statement": ["{file}"],
    "verify": ["{file}"],
    "check": ["{table}", "--schema", "{schema}"],
    "schema": ["init", "{table}", "--out", "{out}", "--header", "{yes}"],
    "predict": ["{file}", "{table}", "--out", "{out}"],
    "sample": ["{file}", "--out", "{out}"],
    "audit": ["{file}"],
    "fit": ["{table}", "--schema", "{schema}", "--model", "logistic", "--epsilon", "{n}",
            "--delta", "{n}", "--adjacency", "zero-out", "--out", "{out}"],
    "{name}": ["{name}", "{n}"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("lines")
    (made / "run.toml").write_text(RUN)
    (made / "schema.toml").write_text(SCHEMA)
    (made / "table.csv").write_text(TABLE)
    (made / "matrix.csv").write_text("0.5,0.5\n0.25,0.75\n")
    (made / "bytes").write_bytes(bytes(range(256)))
    (made / "empty").write_bytes(b"")
    return made


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    """Names that are drawn may become files: they do so there."""
    monkeypatch.chdir(folder)


def words(draw: random.Random, folder) -> list[str]:
    files = [str(folder / name) for name in ("run.toml", "matrix.csv", "bytes", "empty", "none")]
    choices = {
        "run": [str(folder / "run.toml"), *files],
        "file": [*files, str(folder), *NAMES],
        "table": [str(folder / "table.csv"), *files],
        "schema": [str(folder / "schema.toml"), *files],
        "out": [str(folder / "bytes"), str(folder), "/dev/full", ""],
        "n": NUMBERS,
        "name": NAMES,
        "kind": ["brownian", "ou", "levy"],
        "action": ["show", "export", "set-budget"],
        "over": ["noise", "steps", "step-size", "luck"],
        "yes": ["yes", "no", "maybe"],
    }
    command = draw.choice(list(COMMANDS))
    made = [command, *COMMANDS[command]]
    for position, word in enumerate(made):
        if word.startswith("{"):
            made[position] = draw.choice(choices[word[1:-1]])
    for _ in range(draw.randrange(3)):  # leave out, repeat or add a word
        place = draw.randrange(len(made))
        made[place : place + 1] = draw.choice([[], [made[place]] * 2, [draw.choice(NAMES)]])
    return made


def answered(argv: list[str], capsys) -> None:
    try:
        status = main(argv)
    except SystemExit as end:  # --help and --version
        status = end.code
    said = capsys.readouterr()
    assert status in (0, 1, 2), argv
    assert "Traceback" not in said.out + said.err
    assert "internal error" not in said.err, (argv, said.err)
    if status:
        assert said.err.count("\n") == 1, (argv, said.err)
    elif "--json" in argv:
        json.loads(said.out)


def fuzz(count: int, seed: int, folder, capsys) -> None:
    draw = random.Random(seed)
    for _ in range(count):
        answered(words(draw, folder), capsys)
    COUNTS["fuzzed command lines"] += count


def test_some_command_lines(folder, capsys):
    fuzz(200, 0, folder, capsys)


@pytest.mark.slow
def test_many_command_lines(folder, capsys):
    fuzz(2000, 1, folder, capsys)


def broken(draw: random.Random) -> bytes:
    """A table with a few accidents: bytes, quotes, delimiters and lines changed."""
    raw = bytearray(TABLE.encode())
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(raw))
        accident = draw.choice(
            [
                b'"',
                b"",
                b"\n",
                b"\r\n",
                b",",
                b";",
                b"\xff",
                b"\x00",
                b"1e999",
                b"nan",
                b"'",
                b"=1+1",
            ]
        )
        raw[place : place + draw.randrange(3)] = accident
    if draw.random() < 0.1:
        raw = raw[: draw.randrange(len(raw))]
    if draw.random() < 0.1:
        raw = bytearray(b"\xef\xbb\xbf") + raw
    return bytes(raw)


def fuzz_tables(count: int, seed: int, folder, capsys) -> None:
    draw = random.Random(seed)
    place = folder / "fuzzed.csv"
    for number in range(count):
        place.write_bytes(broken(draw))
        schema = ["--schema", str(folder / "schema.toml")]
        answered(["check", str(place), *schema], capsys)
        if number % 40 == 0:
            out = folder / f"release-{seed}-{number}"
            rest = ["--epsilon", "5", "--delta", "1e-5", "--adjacency", "zero-out"]
            answered(
                ["fit", str(place), *schema, "--model", "logistic", *rest, "--out", str(out)],
                capsys,
            )
    COUNTS["fuzzed tables"] += count


def test_some_tables(folder, capsys):
    fuzz_tables(200, 0, folder, capsys)


@pytest.mark.slow
def test_many_tables(folder, capsys):
    fuzz_tables(2000, 1, folder, capsys)


def in_a_shell(line: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-c", line.replace("wane", f"{sys.executable} -m wane")],
        capture_output=True,
        text=True,
        env={**os.environ, **more},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "wane certify {run} > /dev/full",
        "wane certify {run} --json > /dev/full",
        "wane certify {run} >&-",
        "wane certify none 2>&-",
        "wane certify {run} >&- 2>&-",
        "wane mechanism brownian --sensitivity 1e-300 --epsilon 1 --delta 1e-5",
        "wane ledger show $(printf 'a%.0s' {{1..5000}})",
        "wane certify $'\\xff\\xfe.toml'",
        "wane certify /",
    ],
)
def test_streams_and_names_of_every_kind(line, folder):
    done = in_a_shell(line.format(run=folder / "run.toml"))
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.slow
def test_terminals_that_know_ascii_only(folder):
    strange = folder / "na\u00efve.toml"
    strange.write_text(RUN)
    plain = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    for line in (f"wane explain {strange}", f"wane certify {strange}.none"):
        done = in_a_shell(line, **plain)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 2)


def test_a_defect_is_told_by_its_place_and_not_by_its_words(folder, capsys, monkeypatch):
    from wane.cli import commands

    def fail(options):
        np.zeros(3) @ np.zeros((2, 2))

    monkeypatch.setattr(commands, "explain_spec", fail)
    assert main(["explain", str(folder / "run.toml")]) == 1
    said = capsys.readouterr().err
    assert "internal error, ValueError at" in said
    assert "mismatch" not in said
