"""Diffusions of one's own: estimates from the numerical kernel, and what is certified."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.mechanisms import DiffusionMechanism, OrnsteinUhlenbeckMechanism, Outside, intrinsic
from wane.mechanisms.spectral import ReflectedDiffusion


def mechanism(**changes):
    known = {
        "drift": np.zeros_like,
        "spread": np.ones_like,
        "low": 0.0,
        "high": 1.0,
        "sensitivity": 0.2,
        "time": 0.1,
    }
    return DiffusionMechanism(**{**known, **changes})


@functools.cache
def stopped_at(time):
    """One mechanism for several tests: what it computed is kept."""
    return mechanism(time=time)


def pulled(**changes):
    """Ornstein-Uhlenbeck between mirrors far away."""
    known = {"drift": lambda y: -y, "low": -4.0, "high": 4.0, "sensitivity": 0.5, "time": 1.0}
    return mechanism(**{**known, **changes})


def images(t, x, y):
    """The density of reflected Brownian motion on [0, 1], by mirror images."""
    n = np.arange(-30, 31)[:, None]
    return sum(
        np.exp(-((y - s * x - 2 * n) ** 2) / (4 * t)) for s in (1, -1)
    ).sum(axis=0) / math.sqrt(4 * math.pi * t)  # fmt: skip


@pytest.mark.parametrize("t", [0.02, 0.1, 1.0])
def test_kernel_of_reflected_brownian_motion(t):
    made = mechanism().process
    ends = np.linspace(0.0, 1.0, 41)
    for x in (0.0, 0.3, 1.0):
        found = made.ratio(t, np.array([x]), ends)[0]
        assert np.max(np.abs(found - images(t, x, ends))) <= 2.0 * made.error(t)


def test_spectrum_of_reflected_brownian_motion():
    rates = mechanism().process.spectrum.rates[:10]
    assert rates == pytest.approx(math.pi**2 * np.arange(1, 11) ** 2, rel=1e-11)


def test_kernel_conserves_mass_and_is_symmetric():
    process = ReflectedDiffusion(lambda y: np.sin(3 * y), lambda y: 1 + 0.5 * y**2, -1.0, 1.0)
    starts = np.linspace(-1.0, 1.0, 9)
    h = process.ratio(0.3, starts, process.nodes)
    assert h @ process.weights == pytest.approx(np.ones(9), rel=1e-12)
    square = process.ratio(0.3, starts, starts)
    assert square == pytest.approx(square.T, rel=1e-12)
    middle = process.ratio(0.15, starts, process.nodes)
    composed = (middle * process.weights) @ middle.T
    assert composed == pytest.approx(square, rel=1e-11)


def test_derivatives_of_the_kernel():
    process, h = pulled().process, 1e-5
    x, y = np.array([0.4]), np.array([-0.3])
    slope = (process.ratio(1.0, x, y + h) - process.ratio(1.0, x, y - h)) / (2 * h)
    assert process.ratio_slope(1.0, x, y) == pytest.approx(slope, rel=1e-7)
    mixed = (process.ratio_slope(1.0, x + h, y) - process.ratio_slope(1.0, x - h, y)) / (2 * h)
    assert process.ratio_mixed(1.0, x, y) == pytest.approx(mixed, rel=1e-7)
    scores = process.scores(1.0, x)(y)
    assert scores == pytest.approx(process.ratio_slope(1.0, x, y) / process.ratio(1.0, x, y))


def test_far_mirrors_give_ornstein_uhlenbeck():
    made = pulled()
    exact = OrnsteinUhlenbeckMechanism(sensitivity=0.5, reversion=1.0, time=1.0)
    for order in (2.0, 4.0):
        found = made.estimated_renyi_between(order, -0.25, 0.25)
        assert found == pytest.approx(order * exact.intrinsic_sensitivity, rel=5e-4)


def test_too_early_is_refused():
    with pytest.raises(NoTheoremApplies, match="later time"):
        mechanism(time=0.001).estimated_renyi(2.0)


def test_densities_beyond_doubles_are_refused():
    with pytest.raises(NoTheoremApplies, match="narrow the interval"):
        mechanism(drift=lambda y: 60 * y, low=-1.0, high=1.0).estimated_renyi(2.0)


def test_rough_coefficients_are_refused_or_paid_for():
    step = mechanism(drift=np.sign, low=-1.0, high=1.0, time=0.05)
    smooth = mechanism(drift=lambda y: np.tanh(3 * y), low=-1.0, high=1.0, time=0.05)
    assert step.process.error(0.05) > 1e3 * smooth.process.error(0.05)


@pytest.mark.parametrize("order", [2.0, 4.0, 16.0])
def test_worst_pair_is_bounded_and_nearly_attained(order):
    made = stopped_at(0.05)
    bound = made._computed(order)
    grid = np.linspace(0.0, 0.8, 41)
    attained = max(
        max(
            made.estimated_renyi_between(order, x, x + 0.2),
            made.estimated_renyi_between(order, x + 0.2, x),
        )
        for x in grid
    )
    rng = np.random.default_rng(0)
    for _ in range(100):
        x = rng.uniform(0.0, 1.0)
        other = float(np.clip(x + rng.uniform(-0.2, 0.2), 0.0, 1.0))
        assert made.estimated_renyi_between(order, x, other) <= bound
    assert attained <= bound <= attained * 1.01


@pytest.mark.parametrize(
    "order",
    [1.2, 20.0, *(pytest.param(order, marks=pytest.mark.slow) for order in (2.5, 5.0, 64.0))],
)
def test_orders_in_between_are_interpolated_from_above(order):
    made = stopped_at(0.1)
    truth = max(made.estimated_renyi_between(order, x, x + 0.2) for x in np.linspace(0.0, 0.8, 17))
    assert truth <= made.estimated_renyi(order)


def test_intrinsic_sensitivity_bounds_every_order():
    made = stopped_at(0.1)
    found = made.estimated_intrinsic_sensitivity
    for x in (0.0, 0.2, 0.4):
        assert made.estimated_intrinsic_between(x, x + 0.2) <= found
        for order in (1.5, 4.0, 16.0):
            assert made.estimated_renyi_between(order, x, x + 0.2) <= order * found


def test_small_orders_can_profit_from_the_intrinsic_sensitivity():
    made = stopped_at(0.1)
    assert made.estimated_renyi(1.01) <= 1.01 * made.estimated_intrinsic_sensitivity * (1 + 1e-9)


def test_unmerged_laws_are_refused():
    made = mechanism()
    with pytest.raises(NoTheoremApplies, match="not merged"):
        intrinsic.intrinsic_sensitivity(
            lambda s: 1.0 / s**2, lambda _: 0.3, time=made.time, horizon=1.0
        )
    with pytest.raises(InvalidDescription, match="horizon"):
        intrinsic.finite_horizon(lambda s: 1.0, lambda s: 0.0, time=2.0, horizon=1.0)


def test_there_is_no_guarantee_without_declared_constants():
    for known in ({}, {"drift_lipschitz": 0.0}, {"spread_lipschitz": 0.0}):
        with pytest.raises(NoTheoremApplies, match="must be declared"):
            mechanism(**known).guarantee  # noqa: B018
    with pytest.raises(NoTheoremApplies, match="constant spread"):
        mechanism(drift_lipschitz=0.0, spread_lipschitz=0.1).guarantee  # noqa: B018


def test_guarantee_of_a_free_motion_is_that_of_brownian_motion():
    made = mechanism(drift_lipschitz=0.0, spread_lipschitz=0.0)
    exact = 0.2 / math.sqrt(2 * 0.1)
    assert exact <= made.guarantee.mu <= exact * (1 + 1e-9)


@pytest.mark.parametrize("contraction", [None, -0.5, 0.0, 1.0])
def test_guarantee_of_a_linear_drift_is_that_of_its_chain(contraction):
    made = pulled(drift_lipschitz=1.0, drift_contraction=contraction, spread_lipschitz=0.0, steps=7)
    eta, slope = 1.0 / 7, 1.0 if contraction is None else -contraction
    variance = sum(2 * eta * (1 + eta * slope) ** (2 * k) for k in range(7))
    exact = 0.5 * (1 + eta * slope) ** 7 / math.sqrt(variance)
    assert exact <= made.guarantee.mu <= exact * (1 + 1e-9)


@pytest.mark.parametrize(
    "false",
    [
        {"drift": lambda y: np.sin(3 * y), "drift_lipschitz": 2.9},
        {"drift": lambda y: -y, "drift_lipschitz": 1.0, "drift_contraction": 1.0, "spread": np.exp},
        {"drift": np.sin, "drift_lipschitz": 1.0, "drift_contraction": 0.5},
        {"drift_lipschitz": 1.0, "drift_contraction": 1.5},
        {"drift_contraction": 1.0},
        {"drift_lipschitz": -1.0},
        {"steps": 0},
    ],
)
def test_constants_that_the_coefficients_contradict_are_refused(false):
    with pytest.raises(InvalidDescription):
        mechanism(spread_lipschitz=0.0, **false).guarantee  # noqa: B018


def test_releases_follow_the_law():
    made = pulled(time=0.5, low=-3.0, high=3.0)
    drawn = [made.release(0.7, seed_voids_privacy=seed) for seed in range(500)]
    mean, std = 0.7 * math.exp(-0.5), math.sqrt(-math.expm1(-1.0))
    assert stats.kstest((np.array(drawn) - mean) / std, "norm").pvalue > 1e-3
    assert all(-3.0 <= value <= 3.0 for value in drawn)


def test_releases_are_reflected_and_not_stopped_at_the_ends():
    made = mechanism(time=4.0, steps=64)
    drawn = np.array([made.release(0.0, seed_voids_privacy=seed) for seed in range(400)])
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3


def test_outside_the_interval():
    made = mechanism()
    with pytest.raises(InvalidDescription, match="PROJECT"):
        made.release(1.5)
    assert 0.0 <= made.release(1.5, outside=Outside.PROJECT) <= 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: mechanism(low=1.0, high=0.0),
        lambda: mechanism(low=math.nan),
        lambda: mechanism(high=math.inf),
        lambda: mechanism(sensitivity=0.0),
        lambda: mechanism(time=-1.0),
        lambda: mechanism(drift=1.0),
        lambda: mechanism(drift=lambda y: y * math.nan).estimated_renyi(2.0),
        lambda: mechanism(spread=np.zeros_like).estimated_renyi(2.0),
        lambda: mechanism().estimated_renyi(1.0),
        lambda: mechanism().estimated_renyi_between(2.0, -0.1, 0.5),
        lambda: mechanism().release(math.nan),
        lambda: mechanism().release(math.nan, outside=Outside.PROJECT),
    ],
)
def test_bad_descriptions_are_refused(call):
    with pytest.raises(InvalidDescription) as refusal:
        call()
    assert "\n" not in str(refusal.value)
