"""Every hypothesis, just inside and just outside: outside, its theorems must refuse."""

from dataclasses import replace

import numpy as np
import pytest

from runs import CONVEX, make_run
from wane import certify
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FactKind,
    FullBatch,
    GradientNoise,
    Iterates,
    Objective,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import MCP, Ball, Ridge, Unbounded
from wane.theorems import hypotheses as conditions
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, FactHypothesis, Facts, Hypothesis

CYCLIC = make_run(batches=Cyclic(10))


def phases(count: int, *, noise: float = 1.0, **changes):
    steps = np.full(count, 0.5)
    noises = np.full(count, noise)
    return make_run(schedule=Schedule.of_steps(steps, noises), **changes)


def curved(m: float, M: float = 1.0, **changes):
    """Described by differences: what all losses share may bend at will."""
    objective = Objective(gradient_difference_bound=2.0, strong_convexity=m, smoothness=M)
    return make_run(objective=objective, noise=GradientNoise(0.02), **changes)


def two_noises(**changes):
    return make_run(schedule=Schedule.of_steps(np.full(2, 0.5), np.array([1.0, 2.0])), **changes)


EDGES = {
    "always_noisy": (
        make_run(noise=GradientNoise(1.01e-145)),
        make_run(noise=GradientNoise(0.99e-145)),
    ),
    "nonexpansive_prox": (make_run(domain=Ball(1.0)), make_run(domain=MCP(2.0, 3.0))),
    "known_modulus": (
        make_run(objective=Objective(gradient_bound=1.0, ridge=1.0 - 1e-9), step_size=1.0),
        make_run(objective=Objective(gradient_bound=1.0, ridge=1.0 + 1e-9), step_size=1.0),
    ),
    "simple_pattern": (two_noises(), two_noises(batches=Cyclic(10))),
    "spare_records": (
        make_run(batches=WithoutReplacement(999)),
        make_run(batches=WithoutReplacement(1000)),
    ),
    "bounded_distance": (
        make_run(batches=Poisson(10), domain=Ball(1.0)),
        make_run(batches=Poisson(10)),
    ),
    "bounded_gradient": (
        make_run(),
        make_run(objective=replace(CONVEX, gradient_bound=None), noise=GradientNoise(1.0)),
    ),
    "smooth": (make_run(), make_run(objective=replace(CONVEX, smoothness=None))),
    "noisy": (
        make_run(noise=GradientNoise(5e-324), batches=Poisson(10)),
        make_run(noise=GradientNoise(0.0), batches=Poisson(10)),
    ),
    "fixed_order": (make_run(batches=ShuffledOnce(10)), make_run(batches=Poisson(10))),
    "secret_order": (make_run(batches=ShuffledOnce(10)), make_run(batches=Cyclic(10))),
    "poisson_batches": (make_run(batches=Poisson(10)), make_run(batches=FullBatch())),
    "fixed_size_batches": (
        make_run(batches=WithoutReplacement(10)),
        make_run(batches=Poisson(10)),
    ),
    "last_iterate": (
        make_run(batches=ShuffledOnce(10)),
        make_run(batches=ShuffledOnce(10), release=Iterates((1,))),
    ),
    "some_hidden": (
        make_run(release=Iterates(tuple(range(1, 200)))),
        make_run(release=EveryIterate()),
    ),
    "records_stay_in_place": (
        make_run(adjacency=Adjacency.ADD_REMOVE),
        make_run(adjacency=Adjacency.ADD_REMOVE, batches=Cyclic(10)),
    ),
    "size_is_public": (
        make_run(adjacency=Adjacency.ZERO_OUT, batches=WithoutReplacement(10)),
        make_run(adjacency=Adjacency.ADD_REMOVE, batches=WithoutReplacement(10)),
    ),
    "certified_prox": (
        make_run(domain=MCP(1.0, 2.0), step_size=2.0 * (1 - 1e-12)),
        make_run(domain=MCP(1.0, 2.0), step_size=2.0),
    ),
    "bounded_domain": (make_run(domain=Ball(1e300)), make_run(domain=Unbounded())),
    "short_schedule": (
        phases(5000, domain=Ball(1.0)),
        phases(5001, domain=Ball(1.0)),
    ),
    "few_positions": (
        make_run(records=100_000, batches=ShuffledOnce(1), steps=3),
        make_run(records=100_001, batches=ShuffledOnce(1), steps=3),
    ),
    "full_batch": (make_run(), make_run(batches=Cyclic(1000))),
    "convex_losses": (curved(0.0), curved(-1e-300)),
    "one_phase": (make_run(), make_run(cool_down=1)),
    "flattest_direction_rules": (
        curved(0.5, step_size=2 / 1.5),
        curved(0.5, step_size=2 / 1.5 * (1 + 1e-12)),
    ),
}

HYPOTHESES = {
    n: c
    for n, c in vars(conditions).items()
    if isinstance(c, Hypothesis) and not isinstance(c, FactHypothesis)
}
OF_ONE_RUN = {n: c for n, c in vars(conditions).items() if isinstance(c, FactHypothesis)}


def test_every_hypothesis_has_an_edge():
    assert set(EDGES) >= set(HYPOTHESES), set(HYPOTHESES) - set(EDGES)


@pytest.mark.parametrize("name", sorted(EDGES))
def test_edges(name):
    condition = HYPOTHESES[name]
    inside, outside = EDGES[name]
    assert condition(inside).holds is True, condition(inside)
    refusal = condition(outside)
    assert refusal.holds is not True
    assert refusal.because
    users = [a for a in THEOREMS if condition in a.assumes]
    assert users or any(condition in (a.tight_when or ()) for a in THEOREMS)
    names = {a.name for a in users}
    for verdict in certify(outside).verdicts:
        if verdict.analysis.name in names:
            assert not isinstance(verdict, Applies)
            assert refusal in verdict.obstacles


def widest_allowed(run) -> float:
    """The log-Sobolev constant of a step's noise alone."""
    return 1.0 / (run.step_size * float(run.gradient_noise_stds[0])) ** 2


def test_the_edge_of_a_log_sobolev_constant():
    run, condition = make_run(domain=Ridge(3.0)), conditions.log_sobolev_constant
    for value, fine in ((1.0, True), (1.0 + 1e-8, False)):
        fact = Fact.of(run, FactKind.LOG_SOBOLEV, value * widest_allowed(run))
        assert condition(run, Facts((fact,))).holds is fine
    assert condition(run).holds is None
    longer = replace(run, steps=run.steps + 1)
    stray = condition(longer, Facts((Fact.of(run, FactKind.LOG_SOBOLEV, 1e-300),)))
    assert stray.holds is False
    assert "another run" in stray.because


def test_the_edge_of_an_average_curvature():
    assert set(OF_ONE_RUN) == {"log_sobolev_constant", "average_smoothness"}
    run, condition = curved(0.5), conditions.average_smoothness
    for value, fine in ((0.5, True), (0.5 * (1 - 1e-12), False)):
        fact = Fact.of(run, FactKind.AVERAGE_SMOOTHNESS, value)
        assert condition(run, Facts((fact,))).holds is fine
    assert condition(run).holds is None


def exact_quadratic_mu(run) -> float:
    """One-dimensional quadratic with the flattest curvature and opposing linear terms."""
    low = run.objective.strong_convexity + run.objective.ridge
    eta, s = run.step_size, float(run.gradient_noise_stds[0])
    mean = variance = 0.0
    for _ in range(run.steps):
        mean = (1 - eta * low) * mean + eta * run.gradient_sensitivity
        variance = (1 - eta * low) ** 2 * variance + (eta * s) ** 2
    return mean / variance**0.5


@pytest.mark.parametrize("m", [0.0, 0.01, 0.3, 1.0, -0.2])
@pytest.mark.parametrize("step_size", [0.01, 0.5, 1.0])
def test_tight_where_it_says_so(m, step_size):
    run = curved(m, step_size=step_size)
    for verdict in certify(run).applicable:
        tight_when = verdict.analysis.tight_when
        if tight_when is None or not all(c(run).holds for c in tight_when):
            continue
        exact = exact_quadratic_mu(run)
        assert exact <= verdict.guarantee.mu * (1 + 1e-13)
        assert verdict.guarantee.mu == pytest.approx(exact, rel=1e-9)
