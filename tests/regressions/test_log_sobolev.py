"""The log-Sobolev theorem against exact laws where its hypothesis is known to hold."""

import math
from dataclasses import replace

import pytest

from runs import CONVEX, make_run
from wane import certify
from wane.describe import Fact, FactKind, Temperature


def run(m: float, eta: float, steps: int, tau: float):
    """A parabola of curvature m from a fixed start: iterates stay narrower than the limit."""
    objective = replace(CONVEX, smoothness=0.0, ridge=m)
    return make_run(objective=objective, step_size=eta, steps=steps, noise=Temperature(tau))


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 10, 300, 10_000])
def test_never_below_the_exact_quadratic(eta, steps):
    described = run(1.0, eta, steps, 0.02)
    widest = 2 * 0.02 / (2 - eta)
    facts = [Fact.of(described, FactKind.LOG_SOBOLEV, 1 / widest)]
    verdicts = {v.analysis.name: v.guarantee for v in certify(described, facts=facts).applicable}
    c = 1 - eta
    sensitivity = described.gradient_sensitivity
    mean = eta * sensitivity * (1 - c**steps) / (1 - c)
    variance = 2 * eta * 0.02 * (1 - c ** (2 * steps)) / (1 - c * c)
    exact = mean**2 / variance
    got = 2 * verdicts["log_sobolev_dynamics"].renyi(2.0) / 2.0
    assert got >= exact * (1 - 1e-12)
    assert verdicts["log_sobolev_dynamics"].renyi(2.0) <= verdicts["gaussian_composition"].renyi(
        2.0
    ) * (1 + 1e-9)
    assert math.isfinite(got)
