"""No bound through moduli falls below an exact one-dimensional chain."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from laws.chains import hockey_stick, random_chain, renyi
from oracles import rollout
from runs import make_run
from wane.describe import GradientNoise, Objective, Poisson
from wane.describe.domains import Diameter, Unbounded
from wane.theorems.contraction.statement import fixed_size_contraction, poisson_contraction
from wane.theorems.lemmas import (
    loss_moduli as rows,
    modulus_programme as programme,
    tangent_programme,
)
from wane.theorems.lemmas.loss_moduli import Batch, step_modulus
from wane.theorems.lemmas.moduli import Least, Shifted
from wane.theorems.lemmas.sampled_plan import SHARES, SampledPlan
from wane.theorems.lemmas.sampled_steps import binomial_tail, cap_for, with_bad_event
from wane.theorems.lemmas.tangent_programme import Stretch, profile, solve
from wane.theorems.lemmas.tracking import tracked_distances
from wane.theorems.modulus.statement import last_iterate_modulus
from wane.theorems.sampled.statement import fixed_size_last_iterate, poisson_last_iterate
from wane.theorems.theorem import Applies

QUADRATURE = 1e-6
ORDERS = (1.5, 4.0, 16.0)
EPSILONS = (0.0, 0.3, 1.0, 3.0)


def check(chain, guarantee, *, deltas=True, divergences=True):
    first, second = chain.laws()
    for p, q in ((first, second), (second, first)):
        if divergences:
            for order in ORDERS:
                assert renyi(p, q, order) <= guarantee.renyi(order) * (1 + QUADRATURE) + QUADRATURE
        if deltas:
            for epsilon in EPSILONS:
                exact = hockey_stick(p, q, epsilon)
                assert exact <= guarantee.delta(epsilon) * (1 + QUADRATURE) + QUADRATURE


def judged(analysis, run):
    verdict = analysis(run)
    assert isinstance(verdict, Applies), verdict.obstacles
    return verdict.guarantee


def fixed_order(seed, count):
    rng = np.random.default_rng(seed)
    for i in range(count):
        chain = random_chain(rng, "full" if i % 3 else "cyclic")
        check(chain, judged(last_iterate_modulus, chain.run))


def sampled(seed, count, *, every):
    """Renyi divergences of all; profiles, which are convolved numerically, of some."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        kind = "poisson" if i % 2 else "fixed"
        chain = random_chain(rng, kind)
        analysis = poisson_last_iterate if i % 2 else fixed_size_last_iterate
        check(chain, judged(analysis, chain.run), deltas=i % every == 0)
        other = poisson_contraction if i % 2 else fixed_size_contraction
        check(chain, judged(other, chain.run), divergences=False)


def any_use(seed, count):
    """Every horizon, split and cap is valid, not only those a search would choose."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        chain = random_chain(rng, "poisson" if i % 2 else "fixed")
        plan = SampledPlan(chain.run)
        cap, exceeded = plan.cap(10.0 ** rng.uniform(-6, -0.5))
        theta = float(rng.choice(SHARES))
        horizons, distances = profile(plan.stretches(cap, theta), chain.run.domain.diameter)
        place = int(rng.integers(len(horizons)))
        atom = plan.atom(float(plan.levels[0]), theta)
        first, second = chain.laws()
        for order in ORDERS:
            good = horizons[place] * atom.renyi(order) + order / 2 * distances[place]
            failing = plan.failure(exceeded, int(horizons[place]))
            bound = good
            if failing:
                bound = with_bad_event(order, good, failing, plan.composition().renyi(order))
            for p, q in ((first, second), (second, first)):
                assert renyi(p, q, order) <= bound * (1 + QUADRATURE) + QUADRATURE


def test_fixed_order():
    fixed_order(1, 150)


def test_sampled():
    sampled(2, 80, every=16)


def test_any_use():
    any_use(3, 150)


@pytest.mark.slow
def test_fixed_order_at_length():
    fixed_order(11, 1500)


@pytest.mark.slow
def test_sampled_at_length():
    sampled(12, 800, every=8)


@pytest.mark.slow
def test_any_use_at_length():
    any_use(13, 2000)


def test_modulus_pieces_bound_random_functions():
    """Rows of the table against gradient steps on random functions of the plane."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        eta, p = float(10 ** rng.uniform(-1, 0.5)), float(rng.uniform(0.1, 0.9))
        centres = rng.normal(size=(3, 2))

        def gradient(x, centres=centres, p=p):  # of a sum of |x - a|^(1+p): Hoelder everywhere
            d = x[:, None, :] - centres
            return (d * np.linalg.norm(d, axis=2, keepdims=True) ** (p - 1)).mean(axis=1)

        x = rng.normal(size=(400, 2)) * 2
        y = x + rng.normal(size=(400, 2)) * 10 ** rng.uniform(-3, 0.5, size=(400, 1))
        d = np.linalg.norm(x - y, axis=1)
        M = 2 ** (1 - p)
        moved = np.linalg.norm(x - y - eta * (gradient(x) - gradient(y)), axis=1)
        for row in (
            rows.weakly_smooth_refined(eta, M, p),
            rows.weakly_smooth_on_domain(eta, M, p),
            rows.weakly_smooth(eta, M, p),
        ):
            slope, intercept = row.tangents(d * d)
            assert np.all(moved**2 <= (slope * d * d + intercept) * (1 + 1e-12))


def test_binomial_tails_are_never_too_small():
    rng = np.random.default_rng(8)
    for _ in range(60):
        n = int(rng.choice([5, 40, 300]))
        b = int(rng.integers(1, n))
        rate = Fraction(b / n)  # the float itself
        most = min(n - 1, int(b + rng.uniform(-2, 9) * math.sqrt(b)))
        most = max(most, 0)
        exact = sum(
            math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(most + 1, n + 1)
        )
        value = binomial_tail(n, float(rate), most)
        assert exact <= Fraction(value) <= exact * (1 + Fraction(1, 10**8))
        cap = cap_for(n, float(rate), 1e-6)
        assert binomial_tail(n, float(rate), cap) <= 1e-6


def some_moduli(rng):
    eta, C, M, p = (float(10 ** rng.uniform(-1, 0.5)) for _ in range(4))
    p = min(p / 4, 0.95)
    return [
        rows.nonsmooth_convex(eta, C),
        rows.weakly_smooth_refined(eta, M, p, C),
        rows.weakly_smooth_on_domain(eta, M, p, C),
        rows.smooth_bounded(eta, M, C),
        rows.saddle(eta, C, M),
        rows.dissipative(eta, C, M / 2, M=M, G=C),
        Least((rows.smooth(eta, M), rows.nonsmooth_convex(eta, C))),
    ]


def test_tangents_lie_above_and_touch():
    rng = np.random.default_rng(5)
    squares = np.geomspace(1e-9, 1e6, 400)
    for _ in range(40):
        for inner in some_moduli(rng):
            for modulus in (inner, Shifted(inner, 0.3)):
                slope, intercept = modulus.tangents(squares)
                psi = slope * squares + intercept
                lines = slope[:, None] * squares[None, :] + intercept[:, None]
                assert np.all(lines >= psi * (1 - 1e-11))
                assert np.all(np.diff(psi) >= -1e-12 * psi[1:])


def test_tangent_programme_is_the_exact_value_for_its_tangents():
    rng = np.random.default_rng(6)
    for i in range(80):
        modulus = some_moduli(rng)[int(rng.integers(7))]
        noises = [float(10 ** rng.uniform(-1, 1)) if i % 2 else 1.0 for _ in range(3)]
        stretches = [Stretch(modulus, 0.0, v, int(rng.integers(1, 6))) for v in noises]
        D = float(10 ** rng.uniform(-1, 1))
        pieces = tangent_programme.split(stretches)
        grid = np.geomspace(1e-10, 1.0, 400) * D * D
        found, path = tangent_programme._pass(pieces, [grid] * len(pieces), lambda _, D=D: D)
        variances = np.array([p.variance for p in pieces[: len(path)]][::-1])
        slope, intercept = modulus.tangents(np.array(path[::-1]))
        steps = programme.Steps(np.log(slope), intercept, variances)
        exact = programme.least_over_windows(steps, D)
        assert exact * (1 - 1e-12) <= found.value <= exact * (1 + 1e-10)
        if i % 2 == 0:  # with constant noise stopping early does not help
            best, _ = rollout.polished(
                [modulus] * len(path), variances, D, programme.optimal_path(steps, D)
            )
            assert best * (1 - 1e-12) <= found.value <= best * (1 + 1e-2)


def test_long_stretches_agree_with_single_steps():
    rng = np.random.default_rng(7)
    for _ in range(20):
        modulus = some_moduli(rng)[int(rng.integers(7))]
        one = solve([Stretch(modulus, 0.01, 1.0, 1)] * 1 + [Stretch(modulus, 0.01, 1.0, 700)], 1.0)
        many = solve([Stretch(modulus, 0.01, 1.0, 1)] * 701, 1.0)
        assert one.value == pytest.approx(many.value, rel=2e-3)
        assert math.isfinite(one.value)


LARGE_STEPS = make_run(
    objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
    records=1000,
    steps=2000,
    step_size=4.0,
    noise=GradientNoise(2.0 / 50),
    batches=Poisson(50),
    domain=Diameter(1.0),
)
"""Batches of up to a hundred do not expand; one in 1e11 is larger."""


def test_a_cap_below_which_steps_do_not_expand():
    plan = SampledPlan(LARGE_STEPS)
    (rare, _), *_, (tight, often) = plan.caps(1e-5)
    assert tight < 100 < rare and often <= 0.5e-5 / 2000
    (rare, _), *_, (steady, exceeded) = plan.caps(1e-8)
    assert steady == 100 < rare
    assert exceeded == binomial_tail(999, 0.05, 100) > 1e-11
    assert plan.caps(1e-12) == [plan.cap(1e-12)]  # not even one step could afford it
    made = plan.member(1e-5)
    assert made.epsilon(1e-5) < 0.45 * plan.composition().epsilon(1e-5)
    # the failure is paid for, step by step
    assert often <= made.probability <= 0.9e-5
    assert math.isfinite(made.epsilon(1e-5)) and made.epsilon(0.5 * made.probability) == math.inf
    few = plan.member(1e-8)
    assert exceeded <= few.probability <= 0.9e-8
    assert few.epsilon(1e-8) < 0.5 * plan.composition().epsilon(1e-8)


def test_nothing_expands_in_small_steps():
    plan = SampledPlan(replace(LARGE_STEPS, step_size=0.4))
    assert plan.caps(1e-5) == [(999, 0.0)]
    kinked = Objective(gradient_bound=1.0, strong_convexity=0.0)
    assert len(SampledPlan(replace(LARGE_STEPS, objective=kinked)).caps(1e-5)) == 1


def test_distances_are_followed_once_and_the_same():
    """Asked in any order, and again, a distance is what following all steps gives."""
    run = replace(
        LARGE_STEPS,
        objective=replace(LARGE_STEPS.objective, smoothness=0.225, ridge=0.025),
        domain=Unbounded(),
        steps=60,
    )
    fresh = [tracked_distances(run, 0, 103)(n) for n in range(61)]
    known = tracked_distances(run, 0, 103)
    assert [known(n) for n in (60, 3, 17, 3, 0)] == [fresh[n] for n in (60, 3, 17, 3, 0)]
    assert fresh[0] == 0.0 and all(a < b for a, b in pairwise(fresh))
    step = step_modulus(run.objective, Batch(4.0, 50, 0, 103))
    moved = 4.0 * run.gradient_sensitivity
    assert step(fresh[1]) + moved <= fresh[2] * (1 + 1e-12)
