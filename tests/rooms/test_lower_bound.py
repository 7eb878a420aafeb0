"""Lower bounds come from exact members of the class, and stay below every certificate."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from conftest import CONVEX, make_run
from laws.strategies import runs
from laws.test_registry import laws
from wane import certify
from wane.audit import exact_scalar_mu
from wane.audit.lower_bound import lower_bound
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    NoiseMultiplier,
    Poisson,
    WithoutReplacement,
)
from wane.describe.domains import Ridge

STRONG = replace(CONVEX, strong_convexity=0.1, smoothness=1.0)


@laws
@given(runs(sampled=False))
def test_never_above_a_certificate(run):
    found = lower_bound(run)
    if found is None or found.mu is None:
        return
    for verdict in certify(run).applicable:
        if hasattr(verdict.guarantee, "mu"):
            assert found.mu <= verdict.guarantee.mu * (1 + 1e-12), verdict.analysis.name


TIGHT = {
    "strongly convex": make_run(objective=STRONG),
    "strongly convex, one step": make_run(objective=STRONG, steps=1),
    "ridge": make_run(objective=replace(CONVEX, ridge=0.1)),
    "convex": make_run(),
    "clipped, full batch": make_run(objective=replace(CONVEX, clipped=True, ridge=0.0), steps=1),
    "prox of a ridge": make_run(domain=Ridge(0.3)),
    "every iterate": make_run(release=EveryIterate(), batches=Cyclic(10)),
    "one epoch": make_run(batches=Cyclic(10), steps=100, step_size=4.0),
    "zero out": make_run(objective=STRONG, adjacency=Adjacency.ZERO_OUT),
    "very long": make_run(objective=STRONG, steps=10**9),
}


@pytest.mark.parametrize("name", TIGHT)
def test_tight_brackets(name):
    run = TIGHT[name]
    lower, upper = certify(run).bracket(1e-5)
    assert lower is not None
    assert lower <= upper
    assert lower == pytest.approx(upper, rel=1e-6)


@pytest.mark.parametrize("kind", [Poisson, WithoutReplacement])
@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
def test_sampled_batches(kind, adjacency):
    run = make_run(batches=kind(50), noise=NoiseMultiplier(2.0), steps=100, adjacency=adjacency)
    lower, upper = certify(run).bracket(1e-5)
    assert 0 < lower <= upper


def test_geometric_sums_equal_the_recursion():
    run = make_run(objective=STRONG, batches=Cyclic(100), steps=37, step_size=0.7)
    found = lower_bound(run)
    period = run.steps_per_epoch
    best = 0.0
    for others in np.linspace(0.1, 1.0, 41):
        for own in np.linspace(0.1, 1.0, 41):
            visited = (np.arange(37) % period) == 36 % period
            factor = 1 - 0.7 * np.where(visited, own, others)
            shift = np.where(visited, 0.7 * run.gradient_sensitivity, 0.0)
            noise = np.full(37, 0.7 * run.gradient_noise_stds[0])
            best = max(best, float(exact_scalar_mu(factor, shift, noise)))
    assert found.mu == pytest.approx(best, rel=1e-6)
    assert math.isfinite(best)
