"""Roundings of guarantees against exact arithmetic: the margins are there, and they are small."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    GaussianMixtureStep,
    RenyiDP,
    WithFailure,
)
from wane.guarantees.renyi import LinearCurve

mp = mpmath.mp.clone()
mp.dps = 40
RNG = np.random.default_rng(11)


def test_error_rates_are_rounded_down():
    """Where nothing leaks, type I and type II add up to one."""
    nothing = WithFailure(GaussianDP(0.0), 0.0)
    for type_i in (RNG.uniform(0.0, 1.0, 200) / 3.0).tolist():  # with all their bits in use
        found, exact = Fraction(nothing.type_ii(type_i)), 1 - Fraction(type_i)
        assert exact - Fraction(1, 10**14) <= found <= exact


def test_tiny_type_i_errors_do_not_hide_a_huge_epsilon():
    """With mu = 100 an attacker who hardly ever errs one way hardly ever errs the other."""
    leaky = WithFailure(GaussianDP(100.0), 0.0)
    assert leaky.type_ii(1e-310) < 1e-300
    assert leaky.true_positive_rate(0.5) == 1.0
    assert leaky.type_ii(0.0) > 0.99  # delta at the largest epsilon of the sketch


RARE = [(w, x) for w in (1e-3, 1e-9, 1e-20, 1e-100, 1e-290) for x in (1e-9, 0.5, 4.0, 60.0, 690.0)]
RARE += [(1e-303, 690.0), (1e-304, 699.0), (1e-304, 705.0), (1e-320, 705.0), (0.5, 800.0)]


@pytest.mark.parametrize(("rare", "size"), RARE)
def test_a_rare_draw_counts(rare, size):
    """ln(1 + w (e^x - 1)), also where the draw is so rare that 1 + w e^x rounds to one."""
    for order in (1.0 + RNG.uniform(0.01, 9.0, 25)).tolist():
        mu = math.sqrt(2.0 * size / (order * (order - 1.0)))
        x = (mp.mpf(order) - 1) * order * mp.mpf(mu) ** 2 / 2
        exact = mp.log1p(mp.mpf(rare) * mp.expm1(x)) / (mp.mpf(order) - 1)
        found = GaussianMixtureStep((0.0, mu), (1.0 - rare, rare)).renyi(order)
        loose = 1e-12 * exact if size < 700.0 else 1e-12 * (exact + 1 / (order - 1))
        assert 0 < exact * (1 + mp.mpf("5e-14")) <= found <= exact + loose


def test_divergences_that_almost_overflow():
    assert GaussianMixtureStep((1.0, 1e155), (0.5, 0.5)).renyi(1.0 + 1e-10) == math.inf
    high = GaussianMixtureStep((1.0, 1e150), (0.5, 0.5)).renyi(2.0)
    assert high == pytest.approx(1e300, rel=1e-12)


def test_weights_never_sum_to_less_than_one():
    for size in (2, 3, 7):
        for row in RNG.dirichlet(np.full(size, 0.2), 200).tolist():
            weights = [*row[:-1], max(1.0 - math.fsum(row[:-1]), 0.0)]
            made = GaussianMixture(tuple(range(size)), weights).weights
            assert 1 <= sum(map(Fraction, made)) <= 1 + Fraction(1, 10**15)
            short = GaussianMixture(tuple(range(size)), [w * (1 - 1e-10) for w in weights]).weights
            assert 1 <= sum(map(Fraction, short)) <= 1 + Fraction(1, 10**15)
    assert GaussianMixture((1.0, 2.0), (0.5, 0.5 + 5e-10)).weights == (0.5, 0.5 + 5e-10)


def test_many_draws_of_almost_one_mu_are_almost_gaussian():
    """Their margin is larger than a Gaussian's, so the root lies beyond the Gaussian's epsilon."""
    made = GaussianMixture(tuple(1.0 + k * 1e-15 for k in range(64)), (1 / 64,) * 64)
    assert made.epsilon(1e-5) == pytest.approx(GaussianDP(1.0).epsilon(1e-5), rel=1e-11)


def exact_epsilon(renyi, order, delta):
    a, d = mp.mpf(order), mp.mpf(delta)
    return mp.mpf(renyi) + mp.log1p(-1 / a) - (mp.log(d) + mp.log(a)) / (a - 1)


def exact_log_delta(renyi, order, epsilon):
    a = mp.mpf(order)
    return (a - 1) * (mp.mpf(renyi) - mp.mpf(epsilon)) + a * mp.log1p(-1 / a) - mp.log(a - 1)


@pytest.mark.parametrize("order", [1.0001, 1.01, 2.0, 33.0])
def test_conversions_at_the_largest_order_are_rounded_up(order):
    """Few orders are left and the largest is the best of them: the printed formula, rounded up."""
    for renyi, more in RNG.uniform(1.1, 20.0, (150, 2)).tolist():
        made = RenyiDP(lambda order, renyi=renyi: renyi, max_order=order)
        delta = math.exp(-more * (order - 1.0))
        exact = exact_epsilon(renyi, order, delta)
        if exact > 0:
            found = made.epsilon(delta)
            assert exact <= found <= exact * (1 + mp.mpf("1e-12")) + mp.mpf("1e-12")
        epsilon = renyi + more
        exact = mp.exp(exact_log_delta(renyi, order, epsilon))
        found = made.delta(epsilon)
        assert min(exact, 1) <= found <= exact * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("rho", [1e-13, 1e-11, 1e-4, 30.0])
def test_conversions_are_tight_at_all_sizes(rho):
    """Orders of a million and of almost one, refined between the scanned ones."""
    for delta in (1e-9, 1e-12):
        best = min(
            exact_epsilon(rho * order, order, delta)
            for order in (1 + np.geomspace(1e-2, 1e8, 401)).tolist()
        )
        found = RenyiDP.zcdp(rho).epsilon(delta)
        assert found <= best * (1 + mp.mpf("1e-6"))
        assert found >= best * (1 - mp.mpf("5e-3"))


def test_a_largest_order_at_the_end_of_the_scan_is_used():
    made = RenyiDP(LinearCurve(1e-20), max_order=1e8 + 1.0)
    assert made._scanned[-1][0] == 1e8
    beyond = RenyiDP(LinearCurve(1e-20), max_order=2e8)
    assert made.epsilon(1e-5) == pytest.approx(beyond.epsilon(1e-5), rel=1e-3)
