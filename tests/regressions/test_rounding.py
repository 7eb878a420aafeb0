"""Numbers that were shown on the wrong side of the truth, or more than they are."""

import ast
import json
import random
from decimal import Decimal
from pathlib import Path

import pytest

import wane
from wane import report
from wane.certificates import certificate_document
from wane.cli import main
from wane.report.text import round_down_to, round_up_to
from wane.verify import verify

SOURCES = sorted(Path(wane.__file__).parent.rglob("*.py"))

POISSON = wane.NoisyDescent(
    objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
    records=1000,
    steps=200,
    step_size=0.1,
    noise=wane.GradientNoise(0.3),
    batches=wane.Poisson(10),
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.01, "0.01"),  # was 0.0100001: the double is a little above the decimal number
        (0.1, "0.1"),
        (1.1, "1.1"),
        (10.0, "10"),  # was 1e+1
        (20.0, "20"),
        (100.0, "100"),
        (123456.0, "123456"),
        (1e6, "1e+06"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (1.23456789e-5, "1.23457e-05"),
        (0.1234561, "0.123457"),
        (999999.5, "1e+06"),
        (5e-324, "5e-324"),
        (float("inf"), "inf"),
        (0.0, "0"),
    ],
)
def test_a_number_with_few_digits_is_shown_as_it_is(value, shown):
    assert round_up_to(value) == shown


def test_shown_numbers_are_never_on_the_wrong_side():
    draw = random.Random(35)
    for _ in range(2000):
        value = 10.0 ** draw.uniform(-320, 308)
        written = Decimal(repr(value))
        assert Decimal(round_up_to(value)) >= written >= Decimal(round_down_to(value))
        assert float(round_up_to(value, 17)) == value


def test_a_target_that_is_met_is_not_shown_as_exceeded(tmp_path, capsys):
    """Terminal, page, statement and JSON agree on epsilon 0.01."""
    made = {
        "epsilon": 0.01,
        "delta": 1.0000004e-5,
        **dict.fromkeys(("mu", "theorem", "citation", "adjacency", "composition_epsilon")),
        "release": "last-iterate",
        "lower_bound_epsilon": 1.000006,
    }
    text = report.certificate_text(made)
    assert "epsilon  0.01  at delta 1.00001e-05" in text  # delta was shown as 1e-05
    assert "epsilon 1.00000" not in text
    assert "class): epsilon 1\n" in text  # a lower bound was shown as 1.00001


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_a_document_asked_by_epsilon_says_one_number(epsilon, tmp_path, capsys):
    """It said 0.5 beside verdicts of 0.500000002, and the verifier refused it."""
    document = certificate_document(wane.certify(POISSON), epsilon=epsilon)
    said = min(v["epsilon"] for v in document["verdicts"] if v["applies"])
    assert document["epsilon"] == said
    assert document["epsilon"] == pytest.approx(epsilon, rel=1e-6)
    assert document["epsilon"] <= epsilon
    assert report.certificate_text(document).startswith(f"epsilon  {epsilon:g}  at delta")
    assert verify(document).verified


@pytest.mark.parametrize("epsilon", [10.0, 20.0, 100.0])
def test_round_epsilons_are_shown_in_full(epsilon, tmp_path, capsys):
    """They were shown as 1e+1, 2e+1 and 1e+2."""
    quiet = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        records=1000,
        steps=200,
        step_size=0.1,
        noise=wane.GradientNoise(0.02),
        batches=wane.Cyclic(10),
    )
    spec = tmp_path / "run.json"
    spec.write_text(json.dumps(certificate_document(wane.certify(quiet), delta=0.1)))
    fields = json.loads(spec.read_text())["description"]
    spec.write_text(json.dumps(fields))
    asked = ("--delta", "1e-5", "--over", "noise")
    assert main(["calibrate", str(spec), "--epsilon", str(epsilon), *asked]) == 0
    assert f"epsilon  {epsilon:g}  at delta 1e-05" in capsys.readouterr().out


def _rounded_to_nearest(tree: ast.AST) -> list[str]:
    """Formatted epsilons and deltas that a reader sees, outside the words of a refusal."""
    refused = {id(n) for r in ast.walk(tree) if isinstance(r, ast.Raise) for n in ast.walk(r)}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FormattedValue) or id(node) in refused:
            continue
        kind = ast.unparse(node.format_spec) if node.format_spec is not None else ""
        name = ast.unparse(node.value)
        if kind.strip("f'\"").endswith(("g", "e", "f")) and ("delta" in name or "epsilon" in name):
            found.append(name)
    return found


OWN_NUMBERS = {
    "transfer.py",  # a label of the exact Gibbs law
}


def test_no_privacy_number_is_rounded_to_nearest():
    assert _rounded_to_nearest(ast.parse('f"{delta:.6g}"')) == ["delta"]
    found = {
        path.name: names
        for path in SOURCES
        if (names := _rounded_to_nearest(ast.parse(path.read_text())))
    }
    assert set(found) <= OWN_NUMBERS, found
