"""Several records at once: which theorems extend to them, and which do not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from runs import CONVEX, make_run
from wane import certify
from wane.certificates.parts import grouped
from wane.describe import (
    Adjacency,
    Fact,
    FactKind,
    GradientNoise,
    NoiseMultiplier,
    Poisson,
    WithoutReplacement,
)
from wane.describe.domains import Ball
from wane.errors import NoTheoremApplies
from wane.guarantees import (
    ChainDP,
    GaussianDP,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
)

SAMPLED = {"records": 20, "steps": 4, "noise": GradientNoise(1.0), "domain": Ball(radius=1.0)}


def extends(run, facts=()) -> dict[str, bool]:
    """By theorem, whether it gives a guarantee for two records."""
    made = {}
    for verdict in certify(run, facts=facts).applicable:
        try:
            grouped(run, verdict, 2)
            made[verdict.analysis.name] = True
        except NoTheoremApplies:
            made[verdict.analysis.name] = False
    return made


@pytest.mark.parametrize("batches", [Poisson(5), WithoutReplacement(5)])
def test_records_that_are_exchanged_always_extend(batches):
    bent = replace(CONVEX, strong_convexity=0.1, dissipativity=(1.0, 0.1))
    run = make_run(objective=bent, batches=batches, **SAMPLED)
    assert all(extends(run).values())


@pytest.mark.parametrize("field", [{"strong_convexity": 0.1}, {"dissipativity": (1.0, 0.1)}])
def test_several_null_records_bend_less_than_declared(field):
    """Fixed-size batches under zero-out; a ridge in place of the curvature extends."""
    run = make_run(
        objective=replace(CONVEX, **field),
        batches=WithoutReplacement(5),
        adjacency=Adjacency.ZERO_OUT,
        **SAMPLED,
    )
    assert not any(extends(run).values())
    with pytest.raises(NoTheoremApplies, match="replace-one"):
        certify(run).group(2)
    certify(run).group(1)
    ridged = replace(run, objective=replace(CONVEX, ridge=0.1))
    assert all(extends(ridged).values())


def test_one_more_record_changes_what_a_theorem_counts():
    run = make_run(batches=Poisson(5), adjacency=Adjacency.ADD_REMOVE, **SAMPLED)
    assert extends(run) == {
        "poisson_composition": True,
        "poisson_last_iterate": False,
        "poisson_contraction": False,
    }
    alone = certify(run, [v.analysis for v in certify(run).applicable][:1])
    assert certify(run).group(2).epsilon(1e-5) == alone.group(2).epsilon(1e-5)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_fact_speaks_of_one_record_that_is_missing(adjacency):
    run = make_run(adjacency=adjacency, steps=5000)
    facts = [Fact.of(run, FactKind.LOG_SOBOLEV, 1e-6)]
    made = extends(run, facts)
    assert made["log_sobolev_dynamics"] is (adjacency is Adjacency.REPLACE_ONE)
    assert made["gaussian_composition"] and made["last_iterate"]


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_chains_of_gaussian_links_are_gaussian(mu, size):
    """The profile of k links of mu is that of k mu, which no chain may undercut."""
    chain, exact = ChainDP(GaussianDP(mu), size), GaussianDP(mu * size)
    for epsilon in (0.0, 0.5, 3.0, 20.0):
        truth = exact.delta(epsilon) * (1 - 1e-9)
        assert truth <= chain.delta(epsilon) <= max(truth * (1 + 1e-4), 5e-324)
    assert exact.epsilon(1e-5) * (1 - 1e-9) <= chain.epsilon(1e-5) <= exact.epsilon(1e-5) * 1.0002
    power = norm.cdf(norm.ppf(0.01) + mu * size)
    assert power * (1 - 1e-12) <= chain.true_positive_rate(0.01) <= power + 1e-9
    assert chain.renyi(3.0) >= exact.renyi(3.0) * (1 - 1e-12)


def masses(rate: float, shift: float) -> np.ndarray:
    """A sampled Gaussian on a fine grid: `(1 - rate) N(0, 1) + rate N(shift, 1)`."""
    cells = np.linspace(-12.0, 16.0, 20_001)
    return (1 - rate) * np.diff(norm.cdf(cells)) + rate * np.diff(norm.cdf(cells - shift))


@pytest.mark.parametrize("size", [2, 4])
def test_groups_of_sampled_steps_stay_above_the_exact_group(size):
    """One step that uses each of k records with some probability; they pull the same way."""
    rate, shift = 0.1, 1.0
    group = NumericalDP(((SampledGaussianStep(shift, rate, Pair.ADD_OR_REMOVE), 1),)).group(size)
    worst = sum(
        math.comb(size, used) * rate**used * (1 - rate) ** (size - used) * masses(1.0, used * shift)
        for used in range(size + 1)
    )
    nobody = masses(0.0, shift)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        exact = max(
            np.maximum(p - math.exp(epsilon) * q, 0.0).sum()
            for p, q in ((worst, nobody), (nobody, worst))
        )
        assert exact <= group.delta(epsilon)
        assert group.delta(epsilon) <= 3.0 * exact + 0.01
    assert group.delta(0.0) < 0.7 * RenyiDP(group.renyi).delta(0.0)


def test_group_guarantees_of_sampled_runs_are_not_those_of_divergences_alone():
    """Through divergences of all orders the group of ten had delta(0) = 0.9998 and more."""
    run = make_run(
        batches=Poisson(10), steps=300, noise=NoiseMultiplier(2.0), adjacency=Adjacency.ZERO_OUT
    )
    alone = certify(run).delta(0.0)
    group = certify(run).group(10)
    divergences = RenyiDP(group.renyi)
    assert group.delta(0.0) < 10 * alone * (1 + 1e-12) < divergences.delta(0.0)
    assert group.epsilon(1e-5) < divergences.epsilon(1e-5)
    assert group.delta(group.epsilon(1e-5)) <= 1e-5 * (1 + 1e-3)


def test_a_group_of_a_group_is_one_chain():
    step = NumericalDP(((SampledGaussianStep(1.0, 0.1, Pair.ADD_OR_REMOVE), 3),))
    assert step.group(2).group(3) == step.group(6)
    both = step.group(2).compose(GaussianDP(0.5))
    assert both.renyi(4.0) >= step.group(2).renyi(4.0) + GaussianDP(0.5).renyi(4.0) * (1 - 1e-12)
    assert step.group(2).repeat(3).renyi(2.0) >= 3 * step.group(2).renyi(2.0)
    assert step.group(2).epsilon(1.0) == 0.0
