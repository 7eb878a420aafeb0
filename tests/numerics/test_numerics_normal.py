"""The Gaussian profile against sixty digits: never below the truth, and at most 1e-12 above it."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special

from wane.errors import InvalidDescription
from wane.numerics.normal import (
    LARGEST_MU,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_power,
    gaussian_tradeoff,
    log_profile,
)

EXACT = 1e-12
SMALLEST = math.ulp(0.0)
CORNERS = (1e-6, 1e-5, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e3)


def true_delta(epsilon: float, mu: float) -> mp.mpf:
    """Eighty digits beyond those that the difference of two Mills' ratios loses."""
    with mp.workdps(80 + max(0, round(-math.log10(mu)))):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        x = e / m - m / 2

        def ratio(z: mp.mpf) -> mp.mpf:
            return mp.erfc(z / mp.sqrt(2)) * mp.exp(z * z / 2) * mp.sqrt(mp.pi / 2)

        if x < -20:
            return mp.ncdf(-x) - mp.npdf(x) * ratio(x + m)
        return mp.npdf(x) * (ratio(x) - ratio(x + m))


def sample(count: int, seed: int) -> list[tuple[float, float]]:
    """Pairs (epsilon, mu): corners, uniform in logarithms, and aimed at every size of delta."""
    rng = np.random.default_rng(seed)
    pairs = [(e, m) for e in (0.0, *CORNERS) for m in CORNERS]
    pairs += [
        (float(10 ** rng.uniform(-6, 3)), float(10 ** rng.uniform(-6, 3))) for _ in range(count)
    ]
    while len(pairs) < 3 * count:
        mu, a = float(10 ** rng.uniform(-6, 3)), rng.uniform(-37.2, 8.0)
        epsilon = mu * (mu / 2 - a)
        if 1e-6 <= epsilon <= 1e6:
            pairs.append((float(epsilon), mu))
    return pairs


def test_never_below_and_within_the_last_digits() -> None:
    pairs = sample(900, seed=1)
    together = gaussian_delta(np.array([e for e, _ in pairs]), np.array([m for _, m in pairs]))
    for (epsilon, mu), vectorised in zip(pairs, together.tolist(), strict=True):
        truth = true_delta(epsilon, mu)
        for value in (gaussian_delta(epsilon, mu), vectorised):
            assert value >= truth or value == 1.0, (epsilon, mu)
            if truth >= mp.mpf("1e-300"):
                assert value <= truth * (1 + EXACT), (epsilon, mu)
            else:
                assert SMALLEST <= value < 1.01e-300


def test_zero_means_no_leak_and_nothing_else() -> None:
    assert gaussian_delta(0.0, 0.0) == gaussian_delta(5.0, 0.0) == 0.0
    assert gaussian_delta(1e308, 1e-308) == gaussian_delta(math.inf, 1.0) == SMALLEST
    assert gaussian_delta(0.0, math.inf) == gaussian_delta(math.inf, math.inf) == 1.0
    assert gaussian_delta(3.0, LARGEST_MU) == 1.0


@pytest.mark.parametrize("mu", [5e-324, 4.2e-316, 1e-300, 1e-200, 3e-161, 1e-150, 1e-100])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 3.0, 20.0])
def test_the_smallest_mus(mu: float, ratio: float) -> None:
    epsilon = ratio * mu
    truth, value = true_delta(epsilon, mu), gaussian_delta(epsilon, mu)
    assert truth <= value <= truth * (1 + EXACT) + 4 * SMALLEST
    assert gaussian_delta(np.array([epsilon]), mu)[0] == pytest.approx(
        value, rel=EXACT, abs=SMALLEST
    )


def test_arrays_broadcast() -> None:
    grid = gaussian_delta(np.array([[0.0], [1.0]]), np.array([0.0, 1.0, math.inf]))
    assert grid.shape == (2, 3)
    assert grid[0, 0] == 0.0
    assert grid[1, 2] == 1.0
    assert grid[1, 1] == pytest.approx(gaussian_delta(1.0, 1.0), rel=EXACT)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.nan)]
)
def test_impossible_arguments_are_refused(epsilon: float, mu: float) -> None:
    with pytest.raises(InvalidDescription, match="must be a number >= 0"):
        gaussian_delta(epsilon, mu)
    with pytest.raises(InvalidDescription, match="only numbers >= 0"):
        gaussian_delta(np.array([epsilon]), np.array([mu]))


def deltas() -> st.SearchStrategy[float]:
    return st.one_of(
        st.floats(-300.0, -1e-6).map(lambda power: 10.0**power),
        st.floats(-12.0, -1e-3).map(lambda power: 10.0**power),
        st.floats(-12.0, -1e-3).map(lambda power: 1.0 - 10.0**power),
    )


@settings(max_examples=400, deadline=None)
@given(delta=deltas(), log_mu=st.floats(-6.0, 6.0))
def test_epsilon_is_private_and_tight(delta: float, log_mu: float) -> None:
    mu = 10.0**log_mu
    epsilon = gaussian_epsilon(delta, mu)
    assert gaussian_delta(epsilon, mu) <= delta
    truth = true_delta(epsilon, mu)
    assert truth <= delta
    if epsilon > 0.0:
        # As tight as one unit in the last place of epsilon allows.
        conditioning = -epsilon * log_profile(epsilon, mu).by_epsilon
        assert truth >= mp.mpf(delta) * (1 - EXACT - 1e-15 * conditioning)
    else:
        assert gaussian_delta(0.0, mu) <= delta


@settings(max_examples=400, deadline=None)
@given(delta=deltas(), epsilon=st.one_of(st.just(0.0), st.floats(-6.0, 6.0).map(lambda p: 10.0**p)))
def test_mu_is_private_and_tight(delta: float, epsilon: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    truth = true_delta(epsilon, mu)
    conditioning = mu * log_profile(epsilon, mu).by_mu
    assert mp.mpf(delta) * (1 - EXACT - 1e-15 * conditioning) <= truth <= delta


def test_the_inverses_at_the_ends() -> None:
    assert gaussian_epsilon(0.0, 0.0) == 0.0
    assert gaussian_epsilon(0.0, 1.0) == math.inf
    assert gaussian_epsilon(0.5, math.inf) == math.inf
    assert gaussian_epsilon(1.0, math.inf) == 0.0
    assert gaussian_epsilon(0.4, 1.0) == 0.0
    assert gaussian_mu(1.0, 1.0) == math.inf
    assert gaussian_mu(1.0, 0.0) == 0.0
    assert gaussian_delta(1.0, gaussian_mu(1.0, SMALLEST)) == SMALLEST
    assert gaussian_delta(gaussian_epsilon(SMALLEST, 1.0), 1.0) == SMALLEST
    assert gaussian_epsilon(1e-9, 1e-300) == 0.0
    assert gaussian_mu(0.0, 1e-310) == pytest.approx(2.5e-310, rel=1e-2)
    assert gaussian_epsilon(1e-10, 1e14) == pytest.approx(0.5e28, rel=1e-10)


@settings(max_examples=300, deadline=None)
@given(log_rate=st.floats(-300.0, -1e-9), mu=st.floats(0.0, 40.0))
def test_the_trade_off_curve_is_on_the_safe_side(log_rate: float, mu: float) -> None:
    rate = 10.0**log_rate
    with mp.workdps(50):
        z = mp.mpf(float(special.ndtri(rate)))
        for _ in range(4):
            z -= (mp.ncdf(z) - mp.mpf(rate)) / mp.npdf(z)
        power, missed = mp.ncdf(z + mu), mp.ncdf(-z - mu)
    value = gaussian_power(rate, mu)
    assert value == 1.0 or power * (1 - mp.mpf(10) ** -30) <= value <= power * (1 + 1e-9)
    assert missed * (1 - 1e-9) - 1e-300 <= gaussian_tradeoff(rate, mu) <= missed
