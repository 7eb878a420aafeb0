"""The command line: what it prints, and how it fails."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runs import make_run
from wane.cli import main
from wane.describe import FullBatch
from wane.describe.fields import run_to_fields
from wane.report import curve_text

SPEC = """
kind = "noisy-descent"
records = 60000
steps = 2000
step_size = 0.05
release = "last-iterate"
adjacency = "replace-one"
[noise]
multiplier = 3.0
[batches]
kind = "cyclic"
size = 1500
[objective]
gradient_bound = 10.0
smoothness = 32.5
strong_convexity = 0.0
ridge = 0.002
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def run(capsys, *words: object) -> tuple[int, str, str]:
    status = main([str(w) for w in words])
    out, err = capsys.readouterr()
    return status, out, err


def as_json(capsys, *words: object) -> dict:
    status, out, err = run(capsys, *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_certify(capsys, spec):
    made = as_json(capsys, "certify", spec, "--delta", "1e-5")
    assert made["theorem"] == "last_iterate"
    assert made["mu"] == pytest.approx(0.9925, abs=1e-4)
    assert made["epsilon"] == pytest.approx(4.339, abs=1e-3)
    assert made["composition_epsilon"] == pytest.approx(30.506, abs=1e-3)
    assert made["adjacency"] == "replace-one"
    assert made["release"] == "last-iterate"
    assert made["lower_bound_epsilon"] is None or made["lower_bound_epsilon"] <= made["epsilon"]
    assert {"citation", "delta", "verdicts"} <= set(made)
    refused = [v for v in made["verdicts"] if not v["applies"]]
    assert refused
    for verdict in refused:
        assert verdict["epsilon"] is None
        for obstacle in verdict["obstacles"]:
            assert set(obstacle) == {"statement", "holds", "because", "remedy", "basis"}


def test_certify_at_an_epsilon(capsys, spec):
    made = as_json(capsys, "certify", spec, "--epsilon", "5")
    assert made["epsilon"] == pytest.approx(5, rel=1e-9)
    assert made["epsilon"] <= 5  # the number that the theorems say at the delta found
    assert made["epsilon"] == min(v["epsilon"] for v in made["verdicts"] if v["applies"])
    assert 0 < made["delta"] < 1e-5


def test_json_description(capsys, tmp_path, spec):
    import tomllib

    path = tmp_path / "spec.json"
    path.write_text(json.dumps(tomllib.loads(SPEC)))
    assert as_json(capsys, "certify", path) == as_json(capsys, "certify", spec)


@pytest.mark.parametrize("over", ["noise", "steps", "step-size"])
def test_calibrate(capsys, spec, tmp_path, over):
    words = ("calibrate", spec, "--epsilon", "6", "--delta", "1e-6", "--over", over)
    made = as_json(capsys, *words)
    assert made["epsilon"] <= 6
    path = tmp_path / "again.json"
    path.write_text(json.dumps(made["description"]))
    again = as_json(capsys, "certify", path, "--delta", "1e-6")
    assert again["epsilon"] == made["epsilon"]
    if over == "noise":
        assert made["value"] == made["description"]["noise"]["multiplier"]
        assert made["epsilon"] == pytest.approx(6, rel=1e-9)


def test_unreachable_targets_exit_with_one(capsys, spec):
    words = ("calibrate", spec, "--epsilon", "0.1", "--delta", "1e-9", "--over", "steps")
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert "No number of steps" in err
    assert err.count("\n") == 1


def test_explain(capsys, spec):
    status, out, _ = run(capsys, "explain", spec)
    assert status == 0
    assert "yes last_iterate" in out
    assert "no  last_iterate_bounded" in out
    assert "domain.diameter" in out


def test_curve(capsys, spec, tmp_path):
    picture = tmp_path / "curve.svg"
    words = ("curve", spec, "--over", "steps", "--from", "100", "--to", "100000", "--plot", picture)
    made = as_json(capsys, *words)
    assert made["values"][0] == 100
    assert made["values"][-1] == 100000
    assert made["epsilon"] == sorted(made["epsilon"])
    assert set(made["theorems"]) >= {"gaussian_composition", "last_iterate"}
    assert picture.read_text().lstrip().startswith("<?xml")


def test_a_curve_is_a_table_of_the_theorems_that_ever_apply():
    fields = {
        "over": "steps",
        "delta": 1e-5,
        "values": [10, 1000000],
        "epsilon": [0.12345678, "infinity"],
        "theorems": {
            "never": [None, None],
            "early": [0.12345678, None],
            "late": [None, "infinity"],
        },
    }
    assert curve_text(fields).splitlines() == [
        "steps   epsilon     early      late",
        "   10  0.123457  0.123457         -",
        "1e+06  infinity         -  infinity",
    ]


def test_audit(capsys, spec):
    made = as_json(capsys, "audit", spec)
    assert 0 < made["lower_epsilon"] <= made["upper_epsilon"]
    assert made["ratio"] == pytest.approx(made["upper_epsilon"] / made["lower_epsilon"])
    assert run(capsys, "audit", spec)[1].startswith("upper")


@pytest.fixture
def short(tmp_path):
    path = tmp_path / "short.json"
    path.write_text(json.dumps(run_to_fields(make_run(records=4, steps=2, batches=FullBatch()))))
    return path


def test_an_audit_says_how_long_it_will_take_and_keeps_to_its_minutes(capsys, short):
    status, out, err = run(capsys, "audit", short, "--trials", "50", "--seed", "1")
    assert status == 0 and "(50 runs each way)" in out
    assert "audit: 50 runs each way take about " in err
    status, out, err = run(capsys, "audit", short, "--minutes", "0.01", "--trials", "60")
    assert status == 0 and "(60 runs each way)" in out, "the trials are the most"
    status, out, err = run(capsys, "audit", short, "--minutes", "1e-9")
    assert (status, out) == (1, "") and "40 runs each way" in err
    assert run(capsys, "audit", short, "--minutes", "-1")[0] == 2


BAD = {
    "nan": ("step_size = 0.05", "step_size = nan", "step_size"),
    "infinity": ("step_size = 0.05", "step_size = inf", "step_size"),
    "negative": ("records = 60000", "records = -5", "records"),
    "zero steps": ("steps = 2000", "steps = 0", "steps"),
    "batch too large": ("size = 1500", "size = 70000", "batches.size"),
    "both noises": ("multiplier = 3.0", "multiplier = 3.0\ngradient_std = 1.0", "noise"),
    "no noise": ("multiplier = 3.0", "", "noise"),
    "unknown key": ("ridge = 0.002", "rigde = 0.002", "rigde"),
    "wrong type": ("records = 60000", 'records = "many"', "records"),
    "boolean": ("records = 60000", "records = true", "records"),
    "wrong kind": ('kind = "cyclic"', 'kind = "circular"', "batches.kind"),
    "curvature": ("strong_convexity = 0.0", "strong_convexity = 99.0", "strong_convexity"),
    "adjacency": ('adjacency = "replace-one"', 'adjacency = "neighbour"', "adjacency"),
    "release": ('release = "last-iterate"', "release = [0]", "release"),
    "release beyond": ('release = "last-iterate"', "release = [9999]", "release"),
    "huge": ("steps = 2000", "steps = 1" + "0" * 30, "steps"),
    "truncated": (SPEC[-40:], "", ""),
    "syntax": ("[noise]", "[noise", "TOML"),
}


@pytest.mark.parametrize("old, new, word", BAD.values(), ids=BAD)
def test_bad_descriptions_exit_with_two(capsys, tmp_path, old, new, word):
    path = tmp_path / "bad.toml"
    assert old in SPEC
    path.write_text(SPEC.replace(old, new))
    for command in (["certify"], ["explain"], ["curve", "--from", "1", "--to", "9"]):
        status, out, err = run(capsys, command[0], path, *command[1:])
        if old == SPEC[-40:]:  # what is left may still be a description, but a poorer one
            assert status in (0, 2)
            continue
        assert (status, out) == (2, "")
        assert word in err
        assert err.startswith("wane: ")
        assert err.count("\n") == 1


def test_bad_files_exit_with_two(capsys, tmp_path):
    garbage = tmp_path / "garbage"
    garbage.write_bytes(bytes(range(256)) * 40_000)
    text = tmp_path / "text"
    text.write_text("lorem ipsum " * 900_000)
    empty = tmp_path / "empty"
    empty.touch()
    deep = tmp_path / "deep.json"
    deep.write_text('{"a":' + "[" * 100_000)
    array = tmp_path / "array.json"
    array.write_text("[1, 2]")
    for path in (garbage, text, empty, deep, array, tmp_path, tmp_path / "missing", "\0"):
        status, out, err = run(capsys, "certify", path)
        assert (status, out) == (2, ""), path
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["certify"],
        ["certify", "SPEC", "--delta", "2"],
        ["certify", "SPEC", "--delta", "nan"],
        ["certify", "SPEC", "--delta", "zero"],
        ["certify", "SPEC", "--delta", "1e-5", "--epsilon", "1"],
        ["certify", "SPEC", "--epsilon", "-1"],
        ["calibrate", "SPEC", "--epsilon", "1", "--delta", "0", "--over", "noise"],
        ["calibrate", "SPEC", "--epsilon", "nan", "--delta", "1e-5", "--over", "noise"],
        ["calibrate", "SPEC", "--epsilon", "1", "--delta", "1e-5", "--over", "colour"],
        ["curve", "SPEC", "--from", "10", "--to", "5"],
        ["curve", "SPEC", "--from", "0", "--to", "5"],
        ["curve", "SPEC", "--from", "1", "--to", "5", "--points", "1"],
        ["curve", "SPEC", "--from", "1", "--to", "5", "--plot", "/nowhere/x.png"],
        ["curve", "SPEC", "--from", "1", "--to", "5", "--plot", "x.docx"],
    ],
    ids=" ".join,
)
def test_bad_arguments_exit_with_two(capsys, spec, words):
    status, out, err = run(capsys, *(spec if w == "SPEC" else w for w in words))
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


def test_nothing_applies_exits_with_one(capsys, tmp_path):
    path = tmp_path / "bare.toml"
    path.write_text(
        "records = 10\nsteps = 5\nstep_size = 0.1\n[noise]\ngradient_std = 1.0\n[objective]\n"
    )
    status, out, err = run(capsys, "certify", path)
    assert (status, out) == (1, "")
    assert "gradient_bound" in err


def test_the_installed_command_runs(spec):
    done = subprocess.run(
        [sys.executable, "-m", "wane", "certify", str(spec), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["theorem"] == "last_iterate"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (["--mu", "0.5"], "Gaussian privacy with mu=0.5"),
        (["--zcdp", "0.125"], "zero-concentrated privacy with rho=0.125"),
        (["--renyi", "8", "1"], "a Renyi divergence of 1 at order 8"),
        (["--epsilon", "1", "--delta", "1e-5"], "epsilon=1 at delta=1e-05"),
    ],
)
def test_calibrate_takes_every_kind_of_target(target, words, tmp_path, capsys):
    spec = tmp_path / "run.json"
    spec.write_text(json.dumps(run_to_fields(make_run())))
    assert main(["calibrate", str(spec), *target, "--over", "noise", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    wanted = float(target[1] if target[0] != "--renyi" else target[2])
    assert made["target"]["words"] == words
    assert made["target"]["reached"] == pytest.approx(wanted, rel=1e-9)
    assert made["target"]["reached"] <= wanted
    assert main(["calibrate", str(spec), *target, "--over", "noise"]) == 0
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("target", [[], ["--epsilon", "1"], ["--mu", "1", "--zcdp", "1"]])
def test_calibrate_refuses_no_target_and_two(target, tmp_path, capsys):
    spec = tmp_path / "run.json"
    spec.write_text(json.dumps(run_to_fields(make_run())))
    assert main(["calibrate", str(spec), *target, "--over", "noise"]) == 2
    assert "the target must be one of" in capsys.readouterr().err
