"""`wane sample`: both certificates on the screen and in the folder, failures in one line."""

import argparse
import csv
import json
import math

import numpy as np
import pytest

from wane.cli import sample
from wane.errors import InvalidDescription

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

QUICK = ["--step-size", "0.5", "--steps", "300", "--prior-precision", "10"]
PRIVACY = ["--epsilon", "1", "--delta", "1e-6", "--adjacency", "zero-out"]


def parsed(*arguments):
    def verb(name, command, words, *, spec=True):
        made = argparse.ArgumentParser(prog=name, description=words)
        made.set_defaults(command=command)
        verb.made = made
        return made

    sample.register(verb)
    return verb.made.parse_args([str(argument) for argument in arguments])


def run(*arguments):
    options = parsed(*arguments)
    return options.command(options)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, (800, 2))
    labels = np.where(rows @ [2.0, -1.0] > 0.0, "yes", "no")
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["first", "second", "answer", "amount"])
        writer.writerows(
            [*row, label, 2.0 * row[0]] for row, label in zip(rows.tolist(), labels, strict=True)
        )
    columns = {n: {"type": "numeric", "low": -1.0, "high": 1.0} for n in ("first", "second")}
    for name, target in (
        ("classes", {"name": "answer", "classes": ["no", "yes"]}),
        ("numbers", {"name": "amount", "low": -2.0, "high": 2.0}),
    ):
        fields = {"feature_norm": 1.0, "target": target, "columns": columns}
        (tmp_path / f"{name}.json").write_text(json.dumps(fields))
    return tmp_path


def test_samples_and_both_certificates(table):
    out = table / "out"
    made, text = run(
        table / "data.csv",
        "--schema",
        table / "classes.json",
        *PRIVACY,
        *QUICK,
        "--samples",
        3,
        "--out",
        out,
    )
    assert 0.0 < made["epsilon"] <= 1.0
    assert made["theorem"] == "last_iterate"
    assert made["steps"] == 300
    assert {"distance", "temperature", "verdicts", "mu", "adjacency", "release"} <= set(made)
    json.dumps(made, allow_nan=False)
    assert "epsilon" in text and "D(chain || posterior)" in text
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["epsilon"] == made["epsilon"]
    assert certificate["status"] == "certified"
    assert "3 independent chains of 300 steps" in certificate["released_as"]
    assert "declared by the user" not in certificate["bases"].values()  # wane worked them out
    assert json.loads((out / "distance.json").read_text()) == made["distance"]
    assert "distance from the posterior" in (out / "certificate.html").read_text()
    with (out / "samples.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["sample", "output", "first", "second", "intercept"]
    assert [line[0] for line in lines[1:]] == ["1", "2", "3"]
    assert all(math.isfinite(float(cell)) for line in lines[1:] for cell in line[2:])


@pytest.mark.slow
def test_a_planned_run_meets_the_asked_distance(table):
    made, _ = run(
        table / "data.csv",
        "--schema",
        table / "classes.json",
        *PRIVACY,
        "--prior-precision",
        300,
        "--distance",
        0.5,
        "--no-intercept",
        "--out",
        table / "out",
    )
    ways = [made["distance"][name]["divergence"] for name in ("chain_first", "target_first")]
    assert 0.0 < max(ways) <= 0.5
    assert made["distance"]["total_variation"] <= 0.5


def test_numbers_are_regressed(table):
    made, _ = run(
        table / "data.csv",
        "--schema",
        table / "numbers.json",
        *PRIVACY,
        *QUICK,
        "--out",
        table / "out",
    )
    assert made["epsilon"] <= 1.0


def test_descriptions_and_options_over_them(table):
    spec = table / "posterior.toml"
    spec.write_text(
        'kind = "posterior"\ndata = "data.csv"\nschema = "classes.json"\nepsilon = 1.0\n'
        'delta = 1e-6\nadjacency = "zero-out"\nprior_precision = 10.0\nstep_size = 0.5\n'
        "steps = 100\n"
    )
    made, _ = run(spec, "--out", table / "first")
    again, _ = run(spec, "--out", table / "second", "--steps", 200)
    assert (made["steps"], again["steps"]) == (100, 200)


def test_seeds_void(table):
    made, text = run(
        table / "data.csv",
        "--schema",
        table / "classes.json",
        *PRIVACY,
        *QUICK,
        "--seed-voids-privacy",
        1,
        "--out",
        table / "out",
    )
    assert made["status"] == "void"
    assert text.startswith("void")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "schema must be given"),
        (["--schema", "classes.json"], "epsilon must be given"),
        (["--schema", "classes.json", *PRIVACY, "--steps", "3"], "step_size and steps"),
        (["--schema", "classes.json", *PRIVACY, "--prior-precision", "0"], "prior_precision"),
    ],
)
def test_what_is_missing_is_named(table, monkeypatch, arguments, word):
    monkeypatch.chdir(table)
    with pytest.raises(InvalidDescription, match=word):
        run("data.csv", *arguments, "--out", "out")
    assert not (table / "out").exists()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('kind = "noisy-descent"\n', "kind ="),
        ('kind = "posterior"\nsurprise = 1\n', "surprise"),
        ('kind = "posterior"\nschema = 3\n', "schema"),
        ('kind = "posterior"\nintercept = "no"\n', "intercept"),
        (
            'kind = "posterior"\nschema = "classes.json"\nepsilon = 1.0\ndelta = 1e-6\n'
            'adjacency = "sideways"\n',
            "adjacency",
        ),
    ],
)
def test_bad_descriptions_are_refused(table, text, word):
    spec = table / "bad.toml"
    spec.write_text(text)
    with pytest.raises(InvalidDescription, match=word):
        run(spec, "--out", table / "out")
