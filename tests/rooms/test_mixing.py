"""Mixing times of projected Langevin, and the command that prints them."""

import json

import pytest

from wane import mixing
from wane.cli import main
from wane.describe import NoisyDescent, Objective, Temperature
from wane.describe.domains import Diameter
from wane.errors import NoTheoremApplies
from wane_papers.modulus.printed_mixing import printed_steps

SPEC = """
records = 1
steps = 100
step_size = {step_size}
noise = {{ temperature = 1.0 }}
objective = {{ smoothness = 1.0, strong_convexity = 0.0 }}
domain = {{ diameter = 2.0 }}
"""


def run(**objective):
    return NoisyDescent(
        objective=Objective(**objective),
        records=1,
        steps=1,
        step_size=0.01,
        noise=Temperature(1.0),
        domain=Diameter(2.0),
    )


def test_boosting_beats_the_paper():
    smooth = run(smoothness=1.0, strong_convexity=0.0)
    found = mixing.mixing(smooth, 0.01)
    assert printed_steps(smooth, 0.01) == 2800
    assert 3.5 * found.steps <= 2800
    assert found.tv <= 0.01
    assert found.block_tv ** (found.steps // found.block) <= 0.01


def test_convexity_is_not_assumed():
    convex = mixing.mixing(run(smoothness=1.0, gradient_bound=1.0, strong_convexity=0.0), 0.1)
    unsaid = run(smoothness=1.0, gradient_bound=1.0)
    assert mixing.mixing(unsaid, 0.1).steps > convex.steps
    assert printed_steps(unsaid, 0.1) is None


def test_nothing_known():
    with pytest.raises(NoTheoremApplies):
        mixing.mixing(run(), 0.1)


def test_command(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(step_size=0.01))
    assert main(["mixing", str(spec), "--tv", "0.01", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {"steps", "tv", "theorem", "printed_steps"} <= set(made)
    spec.write_text(SPEC.format(step_size=5.0))
    assert main(["mixing", str(spec), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["printed_steps"] is None
    assert main(["mixing", str(spec), "--tv", "2"]) == 2
