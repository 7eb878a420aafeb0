"""Renyi quadrature and convolved privacy losses against independent integration."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate

from wane.numerics import composed_losses
from wane.numerics.composed_losses import ComposedLosses
from wane.numerics.discrete_losses import (
    FixedSizeLoss,
    GaussianLoss,
    ReplacedLoss,
    SampledGaussianLoss,
    Step,
    always_seen,
    blend,
    connect_dots,
    loss_spread,
)
from wane.numerics.normal import gaussian_delta, gaussian_epsilon
from wane.numerics.sampled_gaussian import (
    renyi_add_or_remove,
    renyi_fixed_size,
    renyi_replace,
    unmoved,
)

QUADRATURE = 1e-9
Density = Callable[[mp.mpf], mp.mpf]


# Renyi divergences ------------------------------------------------------------------------------

# (rate, mu, order, value), computed independently with 30 digits.
ADD_OR_REMOVE = [
    (0.01, 1 / 4, 2.0, 6.449425094199209e-06),
    (0.01, 1 / 4, 10.0, 3.2416464006848e-05),
    (0.1, 1 / 5, 3.5, 0.000718041891464132),
    (0.001, 1.0, 20.0, 2.728684546007759),
    (0.05, 1 / 10, 8.0, 0.0001007901840034104),
    (0.19, 1 / 4, 4.0, 0.004746520178873945),
]
REPLACE = [
    (0.01, 0.125, 2.0, 6.249273056722892e-06),
    (0.01, 0.125, 10.0, 3.124645409738799e-05),
    (0.1, 0.1, 3.5, 0.0006993828534461028),
    (0.001, 0.5, 20.0, 1.010170629220783e-05),
    (0.05, 0.05, 8.0, 9.998830343555724e-05),
    (0.19, 0.125, 4.0, 0.004502055085736989),
]


FIXED_SIZE = [
    (0.01, 1 / 4, 2.0, 7.705192633838305e-06),
    (0.01, 1 / 4, 10.0, 3.852972590730495e-05),
    (0.1, 1 / 5, 3.5, 0.0008117175378791792),
    (0.001, 1.0, 20.0, 2.728684546007759),
    (0.05, 1 / 10, 8.0, 0.00010803650088111589),
    (0.5, 3.0, 1.2, 2.929245504915769),
]


@pytest.mark.parametrize(("rate", "mu", "order", "value"), ADD_OR_REMOVE)
def test_renyi_add_or_remove_reference(rate: float, mu: float, order: float, value: float) -> None:
    assert value <= renyi_add_or_remove(order, rate, mu) <= value * (1 + QUADRATURE)


@pytest.mark.parametrize(("rate", "mu", "order", "value"), REPLACE)
def test_renyi_replace_reference(rate: float, mu: float, order: float, value: float) -> None:
    assert value <= renyi_replace(order, rate, mu) <= value * (1 + QUADRATURE)


@pytest.mark.parametrize(("rate", "mu", "order", "value"), FIXED_SIZE)
def test_renyi_fixed_size_reference(rate: float, mu: float, order: float, value: float) -> None:
    assert value <= renyi_fixed_size(order, rate, mu) <= value * (1 + QUADRATURE)


def true_renyi(above: Density, below: Density, order: float, reach: float) -> mp.mpf:
    def integrand(x: mp.mpf) -> mp.mpf:
        ratio = above(x) / below(x)
        return below(x) * (ratio**order - 1 - order * (ratio - 1))

    pieces = mp.linspace(-reach, reach, 2 * int(reach) + 2)
    return mp.log1p(mp.quad(integrand, pieces)) / (order - 1)


def _random_steps(count: int) -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(7)
    return [
        (
            float(10 ** rng.uniform(-9, -0.02)),
            float(10 ** rng.uniform(-3, 0.7)),
            1.0 + float(10 ** rng.uniform(-4, 1.0)),
        )
        for _ in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "mu", "order"), _random_steps(30))
def test_renyi_against_many_digits(rate: float, mu: float, order: float) -> None:
    with mp.workdps(40):
        q = mp.mpf(rate)

        def plain(x: mp.mpf) -> mp.mpf:
            return mp.npdf(x)

        def right(x: mp.mpf) -> mp.mpf:
            return (1 - q) * mp.npdf(x) + q * mp.npdf(x - mu)

        def left(x: mp.mpf) -> mp.mpf:
            return (1 - q) * mp.npdf(x) + q * mp.npdf(x + mu)

        reach = 14 + order * mu
        one_sided = max(
            true_renyi(right, plain, order, reach), true_renyi(plain, right, order, reach)
        )
        replaced = true_renyi(left, right, order, reach)

        def both_halves(x: mp.mpf) -> mp.mpf:
            ratio = right(x) / plain(x)
            above = plain(x) * (ratio**order - 1 - order * (ratio - 1))
            return above + right(x) * (ratio**-order - 1 - order * (1 / ratio - 1))

        pieces = mp.linspace(mp.mpf(mu) / 2, reach, 2 * int(reach) + 2)
        fixed = mp.log1p(mp.quad(both_halves, pieces)) / (order - 1)
    assert one_sided <= renyi_add_or_remove(order, rate, mu) <= one_sided * (1 + QUADRATURE)
    assert replaced <= renyi_replace(order, rate, mu) <= replaced * (1 + QUADRATURE)
    assert fixed <= renyi_fixed_size(order, rate, mu) <= fixed * (1 + QUADRATURE)


@settings(max_examples=60, deadline=None)
@given(
    log_rate=st.floats(-12.0, -1e-3),
    log_mu=st.floats(-6.0, 3.0),
    log_excess=st.floats(-4.0, 8.0),
)
def test_renyi_is_between_zero_and_the_unsampled_value(
    log_rate: float, log_mu: float, log_excess: float
) -> None:
    rate, mu, order = 10.0**log_rate, 10.0**log_mu, 1.0 + 10.0**log_excess
    assert 0.0 < renyi_add_or_remove(order, rate, mu) <= order * mu**2 / 2 * (1 + QUADRATURE)
    assert 0.0 < renyi_replace(order, rate, mu) <= 2 * order * mu**2 * (1 + QUADRATURE)
    assert 0.0 < renyi_fixed_size(order, rate, mu) <= order * mu**2 / 2 * (1 + QUADRATURE)


def test_renyi_at_integer_orders_is_the_binomial_sum() -> None:
    rate, mu = 0.07, 1.3
    for order in (2, 3, 8, 25):
        terms = [
            math.comb(order, k)
            * (1 - rate) ** (order - k)
            * rate**k
            * math.exp(k * (k - 1) * mu**2 / 2)
            for k in range(order + 1)
        ]
        exact = math.log(math.fsum(terms)) / (order - 1)
        assert renyi_add_or_remove(order, rate, mu) == pytest.approx(exact, rel=QUADRATURE)


def test_renyi_of_extreme_steps_stays_positive_and_finite() -> None:
    assert renyi_replace(2.0, 1e-300, 1.0) > 0.0
    assert renyi_add_or_remove(2.0, 1e-3, 1e-300) > 0.0
    assert math.isfinite(renyi_replace(1e8, 1e-3, 1.0))
    assert renyi_add_or_remove(1e8, 1e-3, 1e300) == math.inf
    assert renyi_fixed_size(2.0, 1e-300, 1.0) > 0.0
    assert renyi_fixed_size(2.0, 1e-3, 1e-300) > 0.0
    assert math.isfinite(renyi_fixed_size(1e8, 1e-3, 1.0))
    assert renyi_fixed_size(1e8, 1e-3, 1e300) == math.inf


# One step on dots ---------------------------------------------------------------------------------


def true_hockey_stick(step: Step, epsilon: float) -> mp.mpf:
    """P(L > eps) - e^eps Q(L > eps) in closed form; valid for negative epsilon too."""
    with mp.workdps(60):
        mu, e = mp.mpf(step.mu), mp.mpf(epsilon)  # type: ignore[attr-defined]
        if isinstance(step, GaussianLoss):
            x = e / mu + mu / 2
            return mp.ncdf(mu - x) - mp.exp(e) * mp.ncdf(-x)
        q = mp.mpf(step.rate)  # type: ignore[attr-defined]
        if isinstance(step, ReplacedLoss):
            scale = (1 - q) / q * mp.exp(mu**2 / 2)
            x = (mp.asinh(scale * mp.sinh(e / 2)) + e / 2) / mu
            above = (1 - q) * mp.ncdf(-x) + q * mp.ncdf(mu - x)
            return above - mp.exp(e) * ((1 - q) * mp.ncdf(-x) + q * mp.ncdf(-mu - x))
        if isinstance(step, FixedSizeLoss):
            if e < 0:
                return 1 - mp.exp(e) + mp.exp(e) * true_hockey_stick(step, -epsilon)
            inner = mp.log1p(mp.expm1(e) / q)
            x = inner / mu + mu / 2
            return q * (mp.ncdf(mu - x) - mp.exp(inner) * mp.ncdf(-x))
        sign = -1 if step.reverse else 1  # type: ignore[attr-defined]
        shown = mp.expm1(sign * e) + q
        if shown <= 0:
            return mp.mpf(0) if sign < 0 else 1 - mp.exp(e)
        x = (mp.log(shown / q) + mu**2 / 2) / mu
        mixed = (1 - q) * mp.ncdf(-sign * x) + q * mp.ncdf(-sign * (x - mu))
        plain = mp.ncdf(-sign * x)
        return mixed - mp.exp(e) * plain if sign > 0 else plain - mp.exp(e) * mixed


def steps() -> st.SearchStrategy[Step]:
    mus = st.floats(-3.0, 1.5).map(lambda power: 10.0**power)
    rates = st.floats(-6.0, -0.01).map(lambda power: 10.0**power)
    return st.one_of(
        st.builds(GaussianLoss, mus),
        st.builds(ReplacedLoss, mus, rates),
        st.builds(FixedSizeLoss, mus, rates),
        st.builds(SampledGaussianLoss, mus, rates, st.booleans()),
    )


@settings(max_examples=80, deadline=None)
@given(step=steps(), where=st.floats(0.0, 1.0), fineness=st.sampled_from([0.3, 0.03, 0.003]))
def test_dots_dominate_the_step(step: Step, where: float, fineness: float) -> None:
    extent, variance = loss_spread(step)
    interval = max(fineness * math.sqrt(variance), 1e-9)
    dots = connect_dots(step, interval)
    off_line = unmoved(step.rate, step.mu) if isinstance(step, FixedSizeLoss) else 0.0
    assert dots.masses.sum() + off_line == pytest.approx(1.0, abs=2e-12)
    epsilon = where**3 * extent
    account = ComposedLosses([(dots, 1)], interval)
    truth = true_hockey_stick(step, epsilon)
    assert account.delta(epsilon) >= truth
    # Tight at the dots themselves, where connecting them costs nothing.
    place = min(int(np.searchsorted(dots.places * interval, epsilon)), dots.places.size - 1)
    at_dot = max(float(dots.places[place]) * interval, 0.0)
    truth = true_hockey_stick(step, at_dot)
    if truth > 1e-25:
        assert account.delta(at_dot) <= truth * (1 + 1e-6)


def test_blending_and_revealing() -> None:
    interval = 1e-3
    half = blend(
        [(connect_dots(GaussianLoss(1.0), interval), 0.5), (always_seen(0.0, interval, False), 0.5)]
    )
    account = ComposedLosses([(half, 1)], interval)
    truth = 0.5 * gaussian_delta(1.0, 1.0)
    assert truth <= account.delta(1.0) <= truth * (1 + 1e-4)
    shown = ComposedLosses([(always_seen(0.01, interval, False), 10)], interval)
    assert 1 - 0.99**10 <= shown.delta(0.0) <= 0.102
    assert shown.epsilon(0.05) == math.inf
    hidden = ComposedLosses([(always_seen(0.01, interval, True), 10)], interval)
    assert -10 * math.log(0.99) <= hidden.epsilon(1e-9) <= -10 * math.log(0.99) + 10 * interval


# Many steps ---------------------------------------------------------------------------------------


def account_of(step: Step, count: int, fineness: float = 0.03) -> ComposedLosses:
    extent, variance = loss_spread(step)
    widest = max(extent, 20 * math.sqrt(variance * count))
    interval = max(min(fineness * math.sqrt(variance), widest / 2**14), widest / 2**20)
    return ComposedLosses([(connect_dots(step, interval), count)], interval)


@pytest.mark.parametrize(
    ("mu", "count"), [(1.0, 1), (1.0, 3), (0.1, 100), (0.01, 10_000), (5.0, 10), (30.0, 4)]
)
def test_gaussian_steps_compose_as_gaussians(mu: float, count: int) -> None:
    account = account_of(GaussianLoss(mu), count)
    total = mu * math.sqrt(count)
    for delta in (0.3, 1e-2, 1e-5, 1e-10, 1e-15, 1e-20):
        exact = gaussian_epsilon(delta, total)
        assert exact <= account.epsilon(delta) <= exact * (1 + 1e-3) + 1e-12
    for epsilon in (0.0, 0.1 * total, total, total * (total + 1), total * (total + 3)):
        exact_delta = gaussian_delta(epsilon, total)
        if exact_delta > 1e-25:
            assert exact_delta * (1 - 1e-12) <= account.delta(epsilon) <= exact_delta * 1.02


def two_fold(step: Step, epsilon: float) -> float:
    """Hockey stick of two uses: integrate the closed form of one over the loss of the other."""
    low, high = step.domain

    def integrand(x: float) -> float:
        losses, density = step.losses(np.array([x]))
        return float(density[0]) * float(true_hockey_stick(step, epsilon - float(losses[0])))

    pieces = np.linspace(max(low, -9.0), min(high, 9.0 + step.mu), 7)  # type: ignore[attr-defined]
    value = 0.0
    for a, b in pairwise(pieces):
        value += integrate.quad(integrand, a, b, epsabs=1e-11, epsrel=1e-7, limit=60)[0]
    return value


@pytest.mark.parametrize(
    "step",
    [
        ReplacedLoss(1.0, 0.1),
        SampledGaussianLoss(1.0, 0.1, False),
        SampledGaussianLoss(1.0, 0.1, True),
    ],
)
def test_two_sampled_steps_by_direct_integration(step: Step) -> None:
    account = account_of(step, 2)
    for epsilon in (0.0, 0.15, 0.5):
        truth = two_fold(step, epsilon)
        assert truth * (1 - 1e-6) - 1e-10 <= account.delta(epsilon) <= truth * (1 + 2e-3) + 1e-10


@pytest.mark.parametrize("step", [ReplacedLoss(1.0, 0.01), SampledGaussianLoss(0.7, 0.02, False)])
def test_a_finer_account_is_lower_but_hardly(step: Step) -> None:
    coarse, fine = account_of(step, 2000), account_of(step, 2000, fineness=0.01)
    for delta in (1e-2, 1e-5, 1e-9):
        assert fine.epsilon(delta) <= coarse.epsilon(delta) <= fine.epsilon(delta) * (1 + 5e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.3])
def test_every_tilt_gives_an_upper_bound(epsilon: float) -> None:
    """Rare huge losses pull the window far above epsilon; what lies between must be counted."""
    account = account_of(ReplacedLoss(1.0, 1e-3), 1000)
    answers = [account._view(tilt, epsilon).delta(epsilon) for tilt in (0.0, 2.0, 5.0, 9.0, 12.0)]
    truth = min(total for total, _ in answers)
    assert account.delta(epsilon) >= truth * (1 - 1e-6)
    for total, doubt in answers:
        assert total >= truth
        # Mass that wrapped around from below is not counted as doubt.
        assert total - doubt <= truth * (1 + 1e-6) + 1e-12


def test_a_view_does_not_answer_below_its_window() -> None:
    account = account_of(GaussianLoss(1.0), 100)
    view = account._view(2.0, 200.0)
    assert view.start * view.interval > 50.0
    assert view.delta(1.0) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("step", "count", "delta", "low", "high"),
    # The brackets are the optimistic and the pessimistic account of dp_accounting 0.6.
    [
        (
            SampledGaussianLoss(1.663188515992206, 7.196892492687504e-05, False),
            151,
            1e-6,
            0.0560,
            0.0826,
        ),
        (
            SampledGaussianLoss(1.663188515992206, 7.196892492687504e-05, False),
            151,
            1e-8,
            0.3794,
            0.4059,
        ),
        (ReplacedLoss(1.0446091863263007, 0.00017772489538961367), 28, 1e-6, 0.00685, 0.00937),
        (ReplacedLoss(1.0, 1e-4), 100_000, 1e-6, 0.2, 0.2660),
    ],
)
def test_rare_records(step: Step, count: int, delta: float, low: float, high: float) -> None:
    assert low <= account_of(step, count).epsilon(delta) <= high


@pytest.mark.slow
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_a_million_steps(count: int) -> None:
    mu = 1.0 / math.sqrt(count)
    account = account_of(GaussianLoss(mu), count)
    for delta in (1e-3, 1e-5, 1e-8, 1e-12, 1e-20):
        exact = gaussian_epsilon(delta, 1.0)
        assert exact <= account.epsilon(delta) <= exact * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mu", "rate", "count"), [(1.0, 0.01, 1000), (2.0, 0.001, 500), (0.5, 0.2, 50)]
)
@pytest.mark.parametrize("pair", ["replace", "add_or_remove"])
def test_between_the_optimistic_and_the_pessimistic_bound_of_dp_accounting(
    mu: float, rate: float, count: int, pair: str
) -> None:
    import dp_accounting
    from dp_accounting.pld import privacy_loss_distribution as pld

    relation = (
        dp_accounting.NeighboringRelation.REPLACE_ONE
        if pair == "replace"
        else dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    ways: list[Step] = (
        [ReplacedLoss(mu, rate)]
        if pair == "replace"
        else [SampledGaussianLoss(mu, rate, False), SampledGaussianLoss(mu, rate, True)]
    )
    accounts = [account_of(step, count) for step in ways]

    def theirs(pessimistic: bool) -> pld.PrivacyLossDistribution:
        return pld.from_gaussian_mechanism(
            1 / mu,
            sampling_prob=rate,
            neighboring_relation=relation,
            value_discretization_interval=1e-4,
            use_connect_dots=pessimistic,
            pessimistic_estimate=pessimistic,
        ).self_compose(count)

    above, below = theirs(True), theirs(False)
    for delta in (1e-2, 1e-4, 1e-6):
        ours = max(account.epsilon(delta) for account in accounts)
        assert below.get_epsilon_for_delta(delta) <= ours
        assert ours <= above.get_epsilon_for_delta(delta) * (1 + 1e-3) + 1e-4


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 0.3, 7.0, 400.0])
@pytest.mark.parametrize("step", [GaussianLoss(1.0), SampledGaussianLoss(1.5, 1e-3, False)])
def test_log_moments_against_many_digits(step: Step, tilt: float) -> None:
    """Accounts charge 4e-15 for each step, and add them up."""
    dots = connect_dots(step, 1e-3)
    exponents = tilt * 1e-3 * dots.places
    terms = zip(dots.masses.tolist(), exponents.tolist(), strict=True)
    exact = mp.log(mp.fsum(mass * mp.exp(x) for mass, x in terms))
    assert abs(dots.log_moment(tilt, 1e-3) - exact) <= 2e-15 * (1 + abs(exact))


@pytest.mark.parametrize("count", [3, 300, 10**6])
def test_faint_coefficients_are_left_out_within_the_noise(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = account_of(SampledGaussianLoss(0.7, 0.02, False), count)
    _, length = account._window(1.0)
    bins, noise = account._convolved(1.0, length)
    monkeypatch.setattr(composed_losses, "_FAINT", -math.inf)
    every, least = account._convolved(1.0, length)
    assert np.linalg.norm(bins - every) <= noise
    assert least <= noise <= least * (1 + 1e-9)
