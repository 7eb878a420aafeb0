"""The commands audit (measured), ledger and serve."""

import json

import pytest

from wane import Adjacency, certify
from wane.cli import main
from wane.ledger import Ledger
from wane.losses.files import read_run

SPEC = """
records = 20
steps = 12
step_size = 1.0
adjacency = "zero-out"
noise = {gradient_std = 0.06}
objective = {loss = "logistic", feature_norm = 1.0, ridge = 0.5}
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def answer(capsys, *arguments):
    status = main([*map(str, arguments), "--json"])
    out = capsys.readouterr()
    assert status == 0, out.err
    return json.loads(out.out)


def test_a_measured_audit_stays_below_the_certificate(capsys, spec, tmp_path):
    plot = tmp_path / "audit.svg"
    made = answer(capsys, "audit", spec, "--trials", 400, "--seed", 1, "--plot", plot)
    assert not made["measured"]["refuted"]
    assert 0 < made["measured"]["epsilon"] < made["upper_epsilon"]
    assert plot.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_the_ledger_is_shown_limited_and_exported(capsys, spec, tmp_path):
    book = tmp_path / "ledger.db"
    answer(capsys, "ledger", "init", book)
    answer(capsys, "ledger", "add", book, "--dataset", "patients")
    made = answer(capsys, "ledger", "set-budget", book, "--dataset", "patients", "--epsilon", 20)
    assert made["budget"] == {"epsilon": 20, "delta": 1e-5, "adjacency": "zero-out"}
    certificate = certify(read_run(spec))
    with Ledger(book).account("patients").spend(certificate):
        pass
    shown = answer(capsys, "ledger", "show", book)["datasets"]["patients"]
    assert shown["releases"] == 1 and shown["unconfirmed"] == 0
    assert shown["epsilon"] == certificate.epsilon(1e-5)
    exported = answer(capsys, "ledger", "export", book)["datasets"]["patients"]["entries"]
    assert exported[0]["certificate"]["releases"][0]["run"]["records"] == 20
    assert main(["ledger", "show", str(book)]) == 0
    assert "1 release, epsilon" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["ledger", "show", "missing.db"],
        ["ledger", "set-budget", "x.db"],
        ["ledger", "set-budget", "x.db", "--dataset", "a", "--epsilon", "-1"],
        ["ledger", "burn", "x.db"],
        ["serve", "--host", "0.0.0.0"],
        ["serve", "--port", "x"],
    ],
)
def test_bad_requests_get_one_line(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert error[-1].startswith("wane: ")
    assert "Traceback" not in "".join(error)


def test_a_budget_says_its_adjacency(capsys, tmp_path):
    answer(capsys, "ledger", "init", tmp_path / "l.db")
    answer(capsys, "ledger", "add", tmp_path / "l.db", "--dataset", "d")
    made = answer(
        capsys,
        *("ledger", "set-budget", tmp_path / "l.db", "--dataset", "d", "--epsilon", 1),
        *("--adjacency", Adjacency.REPLACE_ONE.value),
    )
    assert made["budget"]["adjacency"] == "replace-one"
