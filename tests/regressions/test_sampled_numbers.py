"""Random batches: bounds that were sound and far too large, or not numbers at all."""

import numpy as np
import pytest

import wane
from wane.balls.arithmetic import PRECISION, ball, bits
from wane.balls.lemmas.levels import representatives
from wane.describe.noise import Temperature
from wane.guarantees import NumericalDP, Pair, SampledGaussianStep
from wane.mixing import mixing
from wane.theorems.composition import statement as subsampling, verifier as theorems
from wane.theorems.lemmas.levels import rounded_down

LIPSCHITZ_AND_RIDGE = {"gradient_bound": 1.0, "strong_convexity": 0.0, "ridge": 0.5}
STRONGLY_CONVEX = {"gradient_bound": 1.0, "strong_convexity": 0.5}
HOLDER_AND_RIDGE = {
    "holder_exponent": 0.5,
    "holder_constant": 1.0,
    "strong_convexity": 0.0,
    "ridge": 0.5,
}


def in_a_ball(steps: int, batches, **objective) -> wane.NoisyDescent:
    """Steps of size 0.1 with gradient noise 10 in the unit ball."""
    return wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, strong_convexity=0.0, ridge=0.5, **objective),
        records=1000,
        steps=steps,
        step_size=0.1,
        noise=wane.GradientNoise(10.0),
        batches=batches,
        domain=wane.Ball(1.0),
    )


@pytest.mark.parametrize("objective", [LIPSCHITZ_AND_RIDGE, STRONGLY_CONVEX, HOLDER_AND_RIDGE])
def test_mixing_of_steps_that_contract_and_have_an_offset(objective):
    """Ended with "mu must be a number >= 0, got nan"."""
    run = wane.NoisyDescent(
        objective=wane.Objective(**objective),
        records=1,
        steps=10,
        step_size=0.01,
        noise=Temperature(1.0),
        batches=wane.FullBatch(),
        domain=wane.Ball(1.0),
    )
    assert mixing(run, 0.1).steps == pytest.approx(246, abs=4)


def test_the_plateau_of_sampled_runs_is_kept():
    """Epsilon 0.0093 at 1e5 steps was 8.43 at 1e9."""
    weakly_smooth = {"holder_exponent": 0.5, "holder_constant": 0.1}
    found = [
        wane.certify(in_a_ball(steps, wane.WithoutReplacement(10), **weakly_smooth)).epsilon(1e-6)
        for steps in (10**5, 10**9)
    ]
    assert found[0] == pytest.approx(0.009299502, rel=1e-6)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_poisson_batches_in_a_ball_keep_their_bound_however_long():
    """A cap on batches was chosen for all steps, though only the last are followed.

    Epsilon 0.0193 at 1e8 steps was 0.313 at 1e9; and costs beyond 1.8e8 steps overflowed, with a
    warning, so that the bound broke off.
    """
    found = []
    for steps in (10**6, 10**9, 10**12):
        run = wane.NoisyDescent(
            objective=wane.Objective(
                gradient_bound=1.0, smoothness=1.0, strong_convexity=0.05, ridge=0.1
            ),
            records=10_000,
            steps=steps,
            step_size=1.0,
            noise=wane.GradientNoise(0.5),
            batches=wane.Poisson(100),
            domain=wane.Ball(1.0),
        )
        found.append(wane.certify(run).epsilon(1e-6))
    assert found[0] == pytest.approx(0.0121819, rel=1e-4)
    assert max(found) <= 1.06 * found[0]
    assert found[2] == pytest.approx(found[1], rel=1e-6)


@pytest.mark.parametrize("steps", [10**8, 2 * 10**8, 10**12])
def test_hopeless_orders_do_not_overflow(steps):
    """Warnings are errors here: 1e300 times 2e8 steps overflowed."""
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=4.0, strong_convexity=0.0),
        records=1000,
        steps=steps,
        step_size=0.5,
        noise=wane.GradientNoise(0.1),
        batches=wane.Poisson(10),
        domain=wane.Ball(1.0),
    )
    with np.errstate(over="raise"):
        guarantee = wane.certify(run).best(1e-6).guarantee
    assert guarantee.epsilon(1e-6) == pytest.approx(wane.certify(run).epsilon(1e-6), rel=1e-9)


def many_noises(count: int, batches, domain=None) -> wane.NoisyDescent:
    """One step with each of so many different noises between 1 and 3."""
    phases = [wane.Phase(1, 0.1, wane.GradientNoise(1.0 + 2.0 * i / count)) for i in range(count)]
    return wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        records=1000,
        schedule=wane.Schedule(phases),
        batches=batches,
        domain=wane.Ball(1.0) if domain is None else domain,
    )


@pytest.mark.parametrize("batches", [wane.Poisson(10), wane.WithoutReplacement(10)])
@pytest.mark.parametrize("count", [17, 201, 2000])
def test_any_number_of_noises_is_certified(batches, count):
    """Beyond 200 phases "no theorem applies" was said, and beyond 16 noises no hidden bound."""
    found = wane.certify(many_noises(count, batches))
    names = {verdict.analysis.name for verdict in found.applicable}
    assert any(name.endswith("_composition") for name in names)
    assert any(name.endswith("_last_iterate") for name in names)
    quiet = wane.certify(
        wane.NoisyDescent(
            objective=found.run.objective,
            records=1000,
            steps=count,
            step_size=0.1,
            noise=wane.GradientNoise(1.0),
            batches=batches,
            domain=wane.Ball(1.0),
        )
    )
    assert found.epsilon(1e-6) <= quiet.epsilon(1e-6)  # all noise at its least


def test_rounding_noises_to_classes_costs_little():
    """Classes of noise against every noise by itself."""
    whole = many_noises(201, wane.Poisson(10))
    verdict = next(
        v for v in wane.certify(whole).applicable if v.analysis.name == "poisson_composition"
    )
    exact = NumericalDP(
        tuple(
            (SampledGaussianStep(1.0 / 10 / s, 0.01, Pair.REPLACE), 1)
            for s in whole.gradient_noise_stds.tolist()
        )
    )
    for order in (2.0, 8.0, 32.0):
        assert exact.renyi(order) <= verdict.guarantee.renyi(order) <= 1.03 * exact.renyi(order)


@pytest.mark.parametrize("most", [2, 16, 64])
def test_levels_are_only_ever_rounded_down(most):
    levels = 10.0 ** np.random.default_rng(6).uniform(-3, 5, 500)
    found = rounded_down(levels, most)
    assert np.all(found <= levels) and len(np.unique(found)) <= most
    assert set(found) <= set(levels)
    assert np.array_equal(rounded_down(levels[:most], most), levels[:most])
    stand_ins = representatives(levels.tolist(), most)
    assert all(other >= level for level, other in stand_ins.items())
    assert len(set(stand_ins.values())) <= most


def test_many_noises_are_verified(monkeypatch):
    """With few classes on both sides, since each takes the verifier a while."""
    monkeypatch.setattr(subsampling, "MOST_LEVELS", 4)
    monkeypatch.setattr(theorems, "MOST_LEVELS", 6)
    run = many_noises(20, wane.Poisson(10))
    claimed = subsampling.poisson_composition(run).guarantee.epsilon(1e-6)
    with bits(PRECISION):
        assert theorems.poisson_composition(run).proves(ball(claimed), ball(1e-6))
