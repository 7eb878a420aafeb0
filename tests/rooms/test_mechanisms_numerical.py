"""Diffusions of one's own: the numerical kernel, what it certifies, and what it refuses."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.mechanisms import DiffusionMechanism, OrnsteinUhlenbeckMechanism, Outside, intrinsic
from wane.mechanisms.numerical import ORDERS
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
        found = made.renyi_between(order, -0.25, 0.25)
        assert found == pytest.approx(order * exact.intrinsic_sensitivity, rel=5e-4)


def test_too_early_is_refused():
    with pytest.raises(NoTheoremApplies, match="later time"):
        mechanism(time=0.001).renyi(2.0)
    with pytest.raises(NoTheoremApplies, match="later time"):
        mechanism(time=0.001).guarantee  # noqa: B018
    with pytest.raises(NoTheoremApplies, match="later time"):
        mechanism(time=0.001).release(0.5)


def test_densities_beyond_doubles_are_refused():
    with pytest.raises(NoTheoremApplies, match="narrow the interval"):
        mechanism(drift=lambda y: 60 * y, low=-1.0, high=1.0).renyi(2.0)


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
        max(made.renyi_between(order, x, x + 0.2), made.renyi_between(order, x + 0.2, x))
        for x in grid
    )
    rng = np.random.default_rng(0)
    for _ in range(100):
        x = rng.uniform(0.0, 1.0)
        other = float(np.clip(x + rng.uniform(-0.2, 0.2), 0.0, 1.0))
        assert made.renyi_between(order, x, other) <= bound
    assert attained <= bound <= attained * 1.01


@pytest.mark.parametrize(
    "order",
    [1.2, 20.0, *(pytest.param(order, marks=pytest.mark.slow) for order in (2.5, 5.0, 64.0))],
)
def test_orders_in_between_are_interpolated_from_above(order):
    made = stopped_at(0.1)
    truth = max(made.renyi_between(order, x, x + 0.2) for x in np.linspace(0.0, 0.8, 17))
    assert truth <= made.renyi(order)
    assert made.guarantee.renyi(ORDERS[-1] * 2) == math.inf


def test_intrinsic_sensitivity_bounds_every_order():
    made = stopped_at(0.1)
    found = made.intrinsic_sensitivity
    for x in (0.0, 0.2, 0.4):
        assert made.intrinsic_between(x, x + 0.2) <= found
        for order in (1.5, 4.0, 16.0):
            assert made.renyi_between(order, x, x + 0.2) <= order * found


def test_small_orders_can_profit_from_the_intrinsic_sensitivity():
    made = stopped_at(0.1)
    assert made.renyi(1.01) <= 1.01 * made.intrinsic_sensitivity * (1 + 1e-9)


def test_unmerged_laws_are_refused():
    made = mechanism()
    with pytest.raises(NoTheoremApplies, match="not merged"):
        intrinsic.intrinsic_sensitivity(
            lambda s: 1.0 / s**2, lambda _: 0.3, time=made.time, horizon=1.0
        )
    with pytest.raises(InvalidDescription, match="horizon"):
        intrinsic.finite_horizon(lambda s: 1.0, lambda s: 0.0, time=2.0, horizon=1.0)


def test_guarantee_is_usable():
    made = stopped_at(0.1)
    epsilon = made.guarantee.epsilon(1e-5)
    assert 0.0 < epsilon < 2.0
    assert made.guarantee.delta(epsilon) <= 1e-5 * (1 + 1e-9)


def test_releases_follow_the_law():
    made = pulled(time=0.5, low=-3.0, high=3.0)
    rng = np.random.default_rng(4)
    drawn = [made.release(0.7, insecure_rng=rng) for _ in range(500)]
    mean, std = 0.7 * math.exp(-0.5), math.sqrt(-math.expm1(-1.0))
    assert stats.kstest((np.array(drawn) - mean) / std, "norm").pvalue > 1e-3
    assert all(-3.0 <= value <= 3.0 for value in drawn)


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
        lambda: mechanism(drift=lambda y: y * math.nan).renyi(2.0),
        lambda: mechanism(spread=np.zeros_like).renyi(2.0),
        lambda: mechanism().renyi(1.0),
        lambda: mechanism().renyi_between(2.0, -0.1, 0.5),
        lambda: mechanism().release(math.nan),
        lambda: mechanism().release(math.nan, outside=Outside.PROJECT),
    ],
)
def test_bad_descriptions_are_refused(call):
    with pytest.raises(InvalidDescription) as refusal:
        call()
    assert "\n" not in str(refusal.value)
