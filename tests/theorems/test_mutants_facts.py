"""Lipschitz constants and noise against fifty digits: never below, and above by rounding only."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from runs import CONVEX, make_run
from wane.describe import (
    Cyclic,
    Fact,
    FactKind,
    GradientNoise,
    IterateNoise,
    LossForm,
    NoiseMultiplier,
    Objective,
    Temperature,
)
from wane.describe.domains import MCP, Ridge, Unbounded
from wane.errors import InvalidDescription
from wane.theorems.lemmas import lipschitz as facts
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Facts

mp = mpmath.mp.clone()
mp.dps = 50
RNG = np.random.default_rng(7)
STEPS = np.concatenate([RNG.uniform(0.0, 3.0, 400), RNG.uniform(1e-9, 1e-3, 200)])


def log(x):
    return mp.log(x) if x > 0 else mp.mpf(-(10**6))


def close_above(values, exact, *, within=1e-13):
    """Not below, nor above by more than rounding; at the floor a constant counts as tiny."""
    for value, truth in zip(np.asarray(values).tolist(), exact, strict=True):
        floor = max(truth, mp.mpf(facts.NEGLIGIBLE))
        assert value >= floor
        assert value - floor <= within * (1 + abs(floor))


def gradient(eta, low, high):
    return log(max(abs(1 - mp.mpf(eta) * low), abs(1 - mp.mpf(eta) * high)))


def clipped(eta, low, high):
    eta, low, high = mp.mpf(eta), mp.mpf(low), mp.mpf(high)
    beta, rho = abs(1 - eta * (high + low) / 2), eta * (high - low) / 2
    if beta < 1 and beta * rho < 1 - beta**2:
        return log(1 + rho**2 / (1 - beta**2)) / 2
    return log(beta + rho)


def steps_with(objective: Objective, etas=STEPS, **changes):
    run = make_run(objective=objective, noise=GradientNoise(0.02), **changes)
    return facts.log_step_lipschitz(run, etas)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(
    ("m", "M"), [(0.0, 1.0), (0.25, 1.0), (-0.5, 1.0), (1.0, 1.0), (None, 0.7)]
)
def test_gradient_steps(m, M, ridge):
    objective = Objective(
        gradient_difference_bound=2.0, smoothness=M, strong_convexity=m, ridge=ridge
    )
    low = mp.mpf(-M if m is None else m) + mp.mpf(ridge)
    exact = [gradient(eta, low, mp.mpf(M) + mp.mpf(ridge)) for eta in STEPS.tolist()]
    close_above(steps_with(objective), exact)


def test_an_incomplete_batch_bends_less():
    """23 records in batches of ten: the last has three, whose curvature counts for three tenths."""
    objective = Objective(gradient_difference_bound=2.0, smoothness=1.0, strong_convexity=0.5)
    exact = [gradient(eta, mp.mpf("0.15"), mp.mpf(1)) for eta in STEPS.tolist()]
    made = steps_with(objective, records=23, batches=Cyclic(10))
    close_above(made, exact, within=1e-12)
    expanding = replace(objective, strong_convexity=-0.5)
    exact = [gradient(eta, mp.mpf(-0.5), mp.mpf(1)) for eta in STEPS.tolist()]
    close_above(steps_with(expanding, records=23, batches=Cyclic(10)), exact)


@pytest.mark.parametrize("form", [LossForm.GLM, LossForm.RADIAL])
def test_harmless_clipping_flattens(form):
    objective = Objective(
        gradient_bound=1.0, smoothness=1.0, strong_convexity=0.5, clipped=True, form=form
    )
    close_above(steps_with(objective), [gradient(eta, 0, 1) for eta in STEPS.tolist()])


def test_where_clipping_is_harmless():
    general = Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, clipped=True)
    assert not facts.clipping_is_harmless(general)
    assert not facts.clipping_is_harmless(replace(general, dimension=2))
    assert facts.clipping_is_harmless(replace(general, dimension=1))
    radial = replace(general, form=LossForm.RADIAL)
    assert facts.clipping_is_harmless(radial)
    assert not facts.clipping_is_harmless(replace(radial, strong_convexity=-1e-9))
    assert not facts.clipping_is_harmless(replace(radial, strong_convexity=None))
    assert facts.clipping_is_harmless(replace(general, form=LossForm.GLM, strong_convexity=None))


@pytest.mark.parametrize(("m", "M"), [(0.0, 1.0), (0.1, 1.0), (-0.2, 1.0), (-1.0, 1.0), (0.9, 1.0)])
def test_clipped_steps(m, M):
    objective = Objective(gradient_bound=1.0, smoothness=M, strong_convexity=m, clipped=True)
    middle = 2.0 / (M + m) if m > -M else 1.0  # where the centre of the spectrum maps to zero
    etas = np.concatenate([STEPS, middle * np.array([1 - 1e-9, 1 - 1e-16, 1.0, 1 + 3e-16])])
    exact = [clipped(eta, m, M) for eta in etas.tolist()]
    close_above(steps_with(objective, etas), [max(e, mp.mpf(0)) for e in exact], within=1e-12)


@pytest.mark.parametrize("ridge", [0.5, 0.7, 1.0])
@pytest.mark.parametrize(("m", "M"), [(0.0, 0.1), (0.0, 1.0), (-0.2, 1.0), (-3.0, 3.0)])
def test_clipped_steps_with_a_ridge(m, M, ridge):
    """Up to eta ridge = 1 the shrunk clipped step; beyond, |1 - eta ridge| + eta max(M, -m)."""
    objective = Objective(
        gradient_bound=1.0, smoothness=M, strong_convexity=m, clipped=True, ridge=ridge
    )
    edges = [0.999, 1.0, 1.001, 1.999, 2.0, 2.001, 5.0]
    etas = np.concatenate([STEPS, edges, np.linspace(1.0, 2.0, 200) / ridge])
    exact = []
    for eta in etas.tolist():
        shrink = 1 - mp.mpf(eta) * mp.mpf(ridge)
        if shrink > 0:
            exact.append(log(shrink) + max(clipped(mp.mpf(eta) / shrink, m, M), mp.mpf(0)))
        else:
            exact.append(log(abs(shrink) + mp.mpf(eta) * max(M, -m)))
    values = steps_with(objective, etas)
    close_above(values, exact, within=1e-11)


@pytest.mark.parametrize("ridge", [0.3, 1.0, 2.0])
def test_cool_down_steps(ridge):
    run = make_run(objective=replace(CONVEX, ridge=ridge))
    exact = [log(abs(1 - mp.mpf(eta) * mp.mpf(ridge))) for eta in STEPS.tolist()]
    close_above(facts.log_cool_down_lipschitz(run, STEPS), exact, within=1e-12)


def test_prox():
    ridge = facts.log_prox_lipschitz(make_run(domain=Ridge(0.7)), STEPS)
    close_above(ridge, [-log(1 + mp.mpf(eta) * mp.mpf(0.7)) for eta in STEPS.tolist()])
    assert np.all(facts.log_prox_lipschitz(make_run(domain=Unbounded()), STEPS) == 0.0)
    etas = np.array([0.5, 1.0, 1.9, 2.0, 2.1])
    jumping = facts.log_prox_lipschitz(make_run(domain=MCP(weight=1.0, shape=2.0)), etas)
    close_above(jumping[:3], [-log(1 - mp.mpf(eta) / 2) for eta in etas[:3].tolist()])
    assert np.all(jumping[3:] == math.inf)
    bent = facts.log_prox_lipschitz(make_run(domain=MCP(weight=1.0, shape=1.0)), np.array([0.5]))
    close_above(bent, [log(mp.mpf(2))])
    one = facts.log_prox_lipschitz(make_run(domain=Ridge(1.0)), STEPS)
    close_above(one, [-log(1 + mp.mpf(eta)) for eta in STEPS.tolist()])


def test_a_zero_constant_is_small_but_not_zero():
    objective = Objective(gradient_difference_bound=2.0, smoothness=1.0, strong_convexity=1.0)
    value = steps_with(objective, np.array([1.0])).item()
    assert facts.NEGLIGIBLE <= value < -30.0


def test_curvature_without_convexity_is_symmetric():
    assert facts.curvature(Objective(gradient_bound=1.0, smoothness=2.0)) == (-2.0, 2.0)
    both = Objective(gradient_bound=1.0, smoothness=2.0, strong_convexity=0.5)
    assert facts.curvature(both) == (0.5, 2.0)


@pytest.mark.parametrize(
    ("noise", "expected", "tripled"),
    [
        (GradientNoise(0.3), 0.3, 0.9),
        (NoiseMultiplier(0.3), 0.3 * 2.0 / 10, 0.9),
        (IterateNoise(0.3), 0.3 / 0.5, 0.9),
        (Temperature(0.3), math.sqrt(2 * 0.3 / 0.5), 2.7),
    ],
)
def test_noise_conventions(noise, expected, tripled):
    run = make_run(objective=Objective(gradient_bound=2.0), records=10, step_size=0.5, noise=noise)
    assert run.gradient_noise_stds[0] == pytest.approx(expected, rel=1e-15)
    assert noise.scaled(3.0).value == pytest.approx(tripled, rel=1e-15)
    assert type(noise)(0.0).value == 0.0
    with pytest.raises(InvalidDescription, match="noise"):
        type(noise)(-1e-300)


def test_a_multiplier_needs_a_bound():
    with pytest.raises(InvalidDescription, match="gradient_bound"):
        _ = make_run(objective=Objective(), noise=NoiseMultiplier(1.0)).gradient_noise_stds


def test_log_sobolev_dynamics_is_never_below_its_formula():
    """With the run's numbers as they are and fifty digits for all that follows."""
    (theorem,) = (a for a in THEOREMS if a.name == "log_sobolev_dynamics")
    for _ in range(60):
        eta, s, k, C = RNG.uniform(0.1, 2.0, 4).tolist()
        k *= 0.9 / (eta * s) ** 2 / 2.0
        steps = int(RNG.integers(1, 40))
        run = make_run(
            objective=replace(CONVEX, gradient_bound=C),
            records=7,
            steps=steps,
            step_size=eta,
            noise=GradientNoise(s),
        )
        tau, time = mp.mpf(eta) * mp.mpf(s) ** 2 / 2, steps * mp.mpf(eta)
        t = tau * mp.mpf(k) * time
        h = t / 2 if t <= 0.5 else (1 - mp.exp(mp.mpf("0.5") - t) / 2) ** 2
        exact = (2 * mp.mpf(C) / 7) ** 2 / (2 * mp.mpf(k) * tau**2) * h
        facts = Facts((Fact.of(run, FactKind.LOG_SOBOLEV, k),))
        found = theorem(run, facts).guarantee.renyi(2.0)
        assert 2 * exact * (1 + mp.mpf("5e-15")) <= found <= 2 * exact * (1 + mp.mpf("1e-12"))
