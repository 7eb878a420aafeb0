"""Lower bounds come from exact members of the class, and stay below every certificate."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import wane
from laws.chains import Chain, Loss, hockey_stick
from laws.strategies import runs
from laws.test_registry import laws
from oracles.tight import programme_value
from runs import CONVEX, make_run
from wane import certify
from wane.audit import ScalarMap, chain_pair, clipped_members as clipped, exact_scalar_mu, pair_step
from wane.audit.bounded_members import bounded_members
from wane.audit.fixed_order import worst_fixed_order
from wane.audit.interval_law import AffineStep, IntervalPair
from wane.audit.lower_bound import lower_bound
from wane.audit.member_epsilon import GaussianLeak, GridLeak, MixtureLeak
from wane.audit.members import Curvatures, curvatures
from wane.audit.random_order import _sum_law
from wane.audit.varying_factors import FactorPath, PathSoFar, worst_mu_squared
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    GradientNoise,
    Iterates,
    LossForm,
    NoiseMultiplier,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import Ball, Box, Lasso, Ridge
from wane.numerics.normal import gaussian_delta

FREE = Objective(gradient_difference_bound=2.0, smoothness=0.25, strong_convexity=0.0)
"""Only differences are bounded, so that what all losses share may be as steep as it likes."""
STRONG = replace(FREE, strong_convexity=0.1, smoothness=1.0)
WEAK = replace(FREE, strong_convexity=-0.1)
GLM = replace(CONVEX, clipped=True, form=LossForm.GLM)
DELTA = 1e-5


def free_run(**changes):
    """The shared run, described by differences, at the noise that it has."""
    size = changes["batches"].size if "batches" in changes else 1000
    noise = {} if "schedule" in changes else {"noise": GradientNoise(20.0 / size)}
    return make_run(**({"objective": FREE} | noise | changes))


@laws
@given(runs(sampled=False))
def test_never_above_a_certificate(run):
    compare(run)


@pytest.mark.slow
@laws
@given(runs())
def test_never_above_a_certificate_of_any_kind(run):
    compare(run)


def compare(run):
    certificate = certify(run)
    found = lower_bound(run)
    if found is None or not certificate.applicable:
        return
    assert found.epsilon(DELTA) <= certificate.epsilon(DELTA) * (1 + 1e-12)
    mu = certificate.mu
    assert mu is None or found.mu(DELTA) <= mu * (1 + 1e-12)


TIGHT = {
    "strongly convex": free_run(objective=STRONG),
    "strongly convex, one step": free_run(objective=STRONG, steps=1),
    "ridge": free_run(objective=replace(FREE, ridge=0.1)),
    "convex": make_run(),
    "weakly convex": free_run(objective=WEAK),
    "clipped, full batch": make_run(objective=GLM),
    "clipped, any form, full batch": make_run(objective=replace(CONVEX, clipped=True)),
    "prox of a ridge": free_run(domain=Ridge(0.3)),
    "every iterate": free_run(release=EveryIterate(), batches=Cyclic(10)),
    "zero out": make_run(objective=replace(CONVEX, ridge=0.1), adjacency=Adjacency.ZERO_OUT),
    "whole gradients bounded": make_run(objective=replace(CONVEX, ridge=0.1)),
    "very long": free_run(objective=STRONG, steps=10**9),
    "not smooth": free_run(objective=replace(FREE, smoothness=None), batches=Cyclic(50)),
    "cyclic": free_run(batches=Cyclic(50), step_size=4.0),
    "cyclic, strongly convex": free_run(objective=STRONG, batches=Cyclic(50)),
    "cyclic, weakly convex": free_run(objective=WEAK, batches=Cyclic(50), step_size=4.0),
    "cyclic, expanding": free_run(batches=Cyclic(50), step_size=10.0),
    "cyclic, a million steps": free_run(objective=STRONG, batches=Cyclic(50), steps=10**6 + 7),
    "cyclic, weak, long": free_run(
        objective=replace(FREE, strong_convexity=-1e-3),
        batches=Cyclic(50),
        step_size=4.0,
        steps=10**5,
    ),
    "cyclic, one epoch": free_run(batches=Cyclic(10), steps=100, step_size=4.0),
    "cyclic, cool-down": free_run(batches=Cyclic(50), step_size=4.0, cool_down=10),
    "cyclic, lasso": free_run(batches=Cyclic(50), step_size=4.0, domain=Lasso(0.1)),
    "cyclic, releases": free_run(
        batches=Cyclic(50), step_size=4.0, release=Iterates((50, 100, 170))
    ),
    "cyclic, incomplete batch": free_run(batches=Cyclic(60), step_size=4.0),
    "cyclic, phases": free_run(
        batches=Cyclic(50),
        schedule=Schedule([Phase(70, 4.0, GradientNoise(0.4)), Phase(45, 6.0, GradientNoise(0.2))]),
    ),
    "large ball": make_run(domain=Ball(100.0)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_tight_brackets(name):
    certificate = certify(TIGHT[name])
    lower, upper = certificate.bracket(DELTA)
    assert lower is not None
    assert lower <= upper
    assert lower == pytest.approx(upper, rel=1e-6)
    low, high = certificate.bracket_mu(DELTA)
    assert low <= high
    assert high / low == pytest.approx(1.0, abs=5e-7)


def test_clipped_losses_in_large_batches_are_nearly_tight():
    run = make_run(
        records=20_000,
        objective=GLM,
        batches=Cyclic(1000),
        noise=NoiseMultiplier(2.0),
        step_size=4.0,
        steps=401,
    )
    low, high = certify(run).bracket_mu(DELTA)
    assert 1.0 <= high / low < 1.0005


@pytest.mark.parametrize("kind", [Poisson, WithoutReplacement, ShuffledOnce])
@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_sampled_batches(kind, adjacency, ridge):
    run = make_run(
        objective=replace(CONVEX, ridge=ridge),
        batches=kind(50),
        noise=NoiseMultiplier(2.0),
        steps=100,
        adjacency=adjacency,
    )
    lower, upper = certify(run).bracket(DELTA)
    assert 0 < lower <= upper


@pytest.mark.parametrize("batches", [None, Cyclic(100), Poisson(100), WithoutReplacement(100)])
def test_bounded_sets(batches):
    changes = {} if batches is None else {"batches": batches}
    run = make_run(
        domain=Box(-0.2, 0.2, dimension=3), noise=GradientNoise(0.04), steps=30, **changes
    )
    lower, upper = certify(run).bracket(DELTA)
    assert 0 < lower <= upper


# ---- the search over chains ----------------------------------------------------------------


def random_path(rng, most=30):
    T = int(rng.integers(1, most))
    shifts = rng.random(T) * (rng.random(T) < 0.5)
    shifts[-1] += 0.1
    noise = 10 ** rng.uniform(-0.5, 0.5, T)
    high = rng.choice([0.5, 0.9, 1.0, 1.1], T) * rng.uniform(0.9, 1.1, T)
    return shifts, noise, high


def test_with_all_smaller_factors_the_search_attains_the_programme():
    rng = np.random.default_rng(0)
    for _ in range(100):
        shifts, noise, high = random_path(rng)
        found = worst_mu_squared(FactorPath(shifts, noise, np.zeros_like(high), high))
        exact = float(programme_value(shifts.tolist(), high.tolist(), noise.tolist()))
        assert found == pytest.approx(exact, rel=1e-12)


def test_no_random_choice_of_factors_beats_the_search():
    rng = np.random.default_rng(1)
    for _ in range(60):
        shifts, noise, high = random_path(rng, 12)
        low = high * rng.uniform(0.0, 1.0, len(high))
        past = PathSoFar(float(rng.random()), float(rng.random()) + 0.1)
        found = worst_mu_squared(FactorPath(shifts, noise, low, high), past)
        for _ in range(300):
            mix = rng.choice([0.0, 1.0, rng.random()], len(high))
            factors = low + mix * (high - low)
            mean, variance = past.shift, past.variance
            for a, s, d in zip(factors, shifts, noise, strict=True):
                mean, variance = a * mean + s, a * a * variance + d * d
            assert mean**2 / variance <= found * (1 + 1e-9)


def test_the_head_of_a_long_run_equals_its_steps(monkeypatch):
    """Closed form against recursion: the same member, found twice."""
    for objective, step_size in ((STRONG, 0.7), (FREE, 4.0), (FREE, 10.0)):
        run = free_run(objective=objective, batches=Cyclic(100), steps=237, step_size=step_size)
        allowed = curvatures(run.objective)
        whole = worst_fixed_order(run, allowed)
        monkeypatch.setattr("wane.audit.fixed_order.SEARCHED", 40)
        assert worst_fixed_order(run, allowed) == pytest.approx(whole, rel=1e-3)
        assert worst_fixed_order(run, allowed) <= whole * (1 + 1e-12)
        monkeypatch.undo()


def test_fixed_curvature_is_followed_exactly():
    run = free_run(objective=replace(FREE, strong_convexity=0.25), steps=37, step_size=0.7)
    factor = np.full(37, 1 - 0.7 * 0.25)
    shift = np.full(37, 0.7 * run.gradient_sensitivity)
    noise = np.full(37, 0.7 * run.gradient_noise_stds[0])
    exact = float(exact_scalar_mu(factor, shift, noise))
    assert worst_fixed_order(run, curvatures(run.objective)) == pytest.approx(exact, rel=1e-12)


def test_one_curvature_that_overshoots_is_not_taken_for_a_free_sign():
    """With m = M no member can turn its shift around, so sizes alone would claim too much."""
    run = free_run(objective=replace(FREE, strong_convexity=0.25), step_size=6.0)
    assert lower_bound(run) is None


# ---- the members are real ------------------------------------------------------------------


def test_a_travelling_member_exists():
    """One loss for all records and epochs, whose stretches give each step its own factor."""
    std, shift, far = 1.0, 1.5, 60.0
    factors = [1.0, 1.0, 1.0, 0.0, 1.0, 0.5]  # of six steps; the record is used at 2, 4, 6
    places = [far * t for t in range(6)]

    def gradient(x):
        """Steep, with f'' = 1 - factor near each place."""
        out = np.full_like(x, -far)
        for place, factor in zip(places, factors, strict=True):
            out = out + (1 - factor) * np.clip(x - place, -20, 20) * (np.abs(x - place) < 40)
            # back to the common slope well before the next stretch
            out = out - (1 - factor) * np.sign(x - place) * np.clip(
                np.abs(x - place) - 20, 0, 20
            ) * (np.abs(x - place) < 40)
        return out

    kinks = tuple(p + k for p in places for k in (-40, -20, 20, 40))

    def step(used):
        move = 0.5 * shift * used
        return pair_step(
            ScalarMap(lambda x: x - gradient(x) + move, kinks),
            ScalarMap(lambda x: x - gradient(x) - move, kinks),
            noise_std=std,
        )

    pair = chain_pair([step(t % 2) for t in range(6)])
    mu = math.sqrt(
        worst_mu_squared(
            FactorPath(
                np.array([0, shift, 0, shift, 0, shift]),
                np.ones(6),
                np.array(factors),
                np.array(factors),
            )
        )
    )
    for epsilon in (0.0, 0.5, 2.0):
        found = pair.hockey_stick(epsilon)
        assert found.lower == pytest.approx(gaussian_delta(epsilon, mu), abs=1e-9)


def test_a_slowed_clipped_member_exists():
    """Cyclic clipped parabolas, exactly on a grid, leak what is claimed of them."""
    b, period, steps, eta, C = 30, 3, 7, 1.0, 1.0
    run = make_run(
        objective=replace(GLM, smoothness=1.0 / eta),
        records=b * period,
        batches=Cyclic(b),
        noise=NoiseMultiplier(0.8),
        step_size=eta,
        steps=steps,
    )
    leak = max(
        (g for g in clipped.clipped_members(run) if isinstance(g, GaussianLeak) and g.failure),
        key=lambda g: g.epsilon(DELTA),
    )
    last = next(
        f
        for f in np.linspace(0.05, 0.95, 2000)
        if clipped._slowed_mu(run, f) * (1 - 1e-9) <= leak.mu
        and abs(clipped._slowed_mu(run, f) - leak.mu) < 2e-3
    )
    std = eta * run.gradient_noise_stds[0]
    bend = (1 - last) * b / ((b - 1) * eta)
    own = [t for t in range(steps) if t % period == (steps - 1) % period]
    drift = [eta * C * ((b - 1) / b if t in own else 1.0) for t in range(steps)]
    centre = sum(drift[:-1])
    kinks = (centre - C / bend, centre + C / bend)

    def move(x, sign, used):
        if not used:
            return x + eta * C
        common = (b - 1) / b * np.clip(bend * (x - centre), -C, C)
        return x - eta * (common + sign * C / b)

    pair = chain_pair(
        [
            pair_step(
                ScalarMap(lambda x, u=t in own: move(x, 1, u), kinks if t in own else ()),
                ScalarMap(lambda x, u=t in own: move(x, -1, u), kinks if t in own else ()),
                noise_std=std,
            )
            for t in range(steps)
        ]
    )
    mu = clipped._slowed_mu(run, last)
    failure = clipped._straying(run, last)
    for epsilon in (0.0, 1.0, 3.0):
        claimed = gaussian_delta(epsilon, mu) - failure * (1 + math.exp(epsilon))
        assert pair.hockey_stick(epsilon).lower >= claimed - 1e-9
        assert pair.hockey_stick(epsilon).lower == pytest.approx(
            gaussian_delta(epsilon, mu), abs=2 * failure * (1 + math.exp(epsilon)) + 1e-9
        )


def test_the_interval_oracle_agrees_with_an_independent_one():
    run = make_run(records=4, domain=Box(-1.0, 1.0, dimension=1), noise=GradientNoise(0.4), steps=6)
    chain = Chain(run, Loss("none", np.zeros_like, {}), 1.0, cells=2000)
    p, q = (law[0] for law in chain.laws_from([len(chain.states) - 2]))
    leaks = [g for g in bounded_members(run, curvatures(run.objective)) if isinstance(g, GridLeak)]
    from_end = next(g for g in leaks if g.pair.start == -1.0)
    for epsilon in (0.0, 0.5, 1.5):
        found = from_end.pair.hockey_stick(epsilon, reverse=True)
        assert found.upper == pytest.approx(hockey_stick(p, q, epsilon), rel=2e-3, abs=1e-9)
        assert found.lower <= hockey_stick(p, q, epsilon) * (1 + 1e-3)
        assert found.error < 1e-9


def test_an_interval_pair_draws_its_shifts():
    still = AffineStep(1.0, ((1.0, 0.0),), 0.5)
    drawn = AffineStep(1.0, ((0.3, 1.0), (0.7, 0.0)), 0.5)
    pair = IntervalPair(50.0, [(drawn, still)], 0.0)
    assert pair.hockey_stick(0.0).lower == pytest.approx(0.3 * gaussian_delta(0.0, 2.0), rel=1e-3)


def test_mixtures_are_told_apart_as_well_as_by_integration():
    rng = np.random.default_rng(2)
    for _ in range(10):
        centres = np.sort(rng.uniform(0, 4, 5))
        weights = rng.dirichlet(np.ones(5))
        leak = MixtureLeak(centres, -centres, weights)
        x = np.linspace(-14, 14, 40_001)
        density = [
            np.exp(-0.5 * (x[:, None] - side * centres) ** 2) @ weights / math.sqrt(2 * math.pi)
            for side in (1, -1)
        ]
        epsilon = leak.epsilon(DELTA)
        gap = np.maximum(density[0] - math.exp(epsilon) * density[1], 0.0)
        exact = float(np.sum(gap) * (x[1] - x[0]))
        assert exact == pytest.approx(DELTA, rel=1e-2)
        assert exact >= DELTA * (1 - 1e-6)


def test_sums_of_unequal_weights_are_rounded_down():
    weights = 0.9 ** np.arange(12)
    sums, chances, missing = _sum_law(weights, 0.3)
    assert chances.sum() + missing == pytest.approx(1.0, abs=1e-12)
    draws = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    exact, odds = draws @ weights, 0.3 ** draws.sum(1) * 0.7 ** (12 - draws.sum(1))
    for level in np.linspace(0, 7, 30):
        assert chances[sums >= level].sum() <= odds[exact >= level].sum() + 1e-12
        later = odds[exact >= level + 0.03].sum()
        assert chances[sums >= level].sum() >= later - 1e-12


def test_what_is_declared_limits_the_members():
    assert curvatures(replace(CONVEX, dissipativity=(1.0, 0.1))) == Curvatures(0.1, 0.25)
    assert curvatures(replace(CONVEX, dissipativity=(1.0, 0.5))) is None
    weakly_smooth = replace(CONVEX, holder_exponent=0.5, holder_constant=1.0)
    assert curvatures(weakly_smooth) == Curvatures(0.0, 0.0)
    assert lower_bound(make_run(domain=Ball(0.1, (0.0, 0.0)))) is None
    shrunk = replace(CONVEX, ridge=0.1)
    assert lower_bound(make_run(objective=shrunk, domain=Box(0.0, 0.2, dimension=1))) is None
    assert lower_bound(make_run(domain=Ball(0.1), release=EveryIterate())) is None


# ---- the page ------------------------------------------------------------------------------

ROOT = Path(wane.__file__).parents[2]


@pytest.mark.parametrize(
    "name",
    [
        "full, strongly convex",
        "cyclic, convex",
        "cyclic, convex, eta M = 1/2",
        "cyclic, clipped GLM, large batches",
        "Poisson, bounded, convex",
        "cyclic, bounded, convex",
    ],
)
def test_the_page_of_brackets_is_current(name):
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.bracket_row(name) in (ROOT / "docs" / "brackets.md").read_text()
