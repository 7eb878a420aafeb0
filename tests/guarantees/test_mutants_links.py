"""Chains of links: the claim of every split with many digits, and all edges."""

import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from wane.guarantees import GaussianDP, PureDP, RenyiDP
from wane.guarantees.chain import ChainDP
from wane.guarantees.fields import guarantee_from_fields
from wane.guarantees.renyi import CurveOf, grouped

mp = mpmath.mp.clone()
mp.dps = 40


def gaussian(mu):
    return lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def pure(level):
    """Randomised response, of which the profile is a pure guarantee's worst."""
    p = mp.exp(level) / (1 + mp.exp(level))
    return lambda e: max(p - mp.exp(e) * (1 - p), mp.mpf(0))


LINKS = [
    (GaussianDP(0.5), gaussian(mp.mpf(0.5))),
    (GaussianDP(3.0), gaussian(mp.mpf(3))),
    (PureDP(0.75), pure(mp.mpf(0.75))),
]


def link(profile, share):
    return profile(share) if share >= 0 else 1 - mp.exp(share) * (1 - profile(-share))


def split(profile, size, epsilon, spacing):
    """The sum of e^(e_1 + ... + e_(i-1)) delta_i(e_i) for shares that are so far apart."""
    total, before = mp.mpf(0), mp.mpf(0)
    for i in range(size):
        share = mp.mpf(epsilon) / size + mp.mpf(spacing) * (i - mp.mpf(size - 1) / 2)
        total += mp.exp(before) * link(profile, share)
        before += share
    return total


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_every_split_is_its_claim(number, size):
    inner, profile = LINKS[number]
    chain = ChainDP(inner, size)
    for epsilon in (0.0, 0.3, 2.0, 9.0):
        for spacing in (0.0, 0.1, 0.25, 2.0):
            exact = split(profile, size, epsilon, spacing)
            found = chain._split(epsilon, spacing)
            if exact >= 1:
                assert found == 1.0
            elif exact > mp.mpf("1e-30"):
                assert exact <= found <= exact * (1 + mp.mpf("2e-10")) + mp.mpf("1e-14") * size


@pytest.mark.parametrize("level", [0.125, 2.0**-900])
def test_sums_of_exponentials_are_rounded_up(level):
    """Links whose delta is one number at every epsilon: only the chain's own sums round."""
    inner = SimpleNamespace(delta=lambda epsilon: level)
    rng = np.random.default_rng(3)
    for _ in range(300):
        size = int(rng.integers(1, 7))
        epsilon, spacing = float(rng.uniform(0.0, 1.0 if level > 0.1 else 550.0)), 0.0
        if level > 0.1:
            spacing = float(rng.uniform(0.0, 0.3))
        exact = split(lambda share: mp.mpf(level), size, epsilon, spacing)
        found = ChainDP(inner, size)._split(epsilon, spacing)
        reach = 1 + epsilon + spacing * size**2
        assert min(exact, 1) <= found <= exact * (1 + mp.mpf("1.1e-13") * (1 + reach))


@pytest.mark.parametrize("spacing", [0.0, 0.25, 40.0])
def test_shares_add_up_to_no_more_than_epsilon(monkeypatch, spacing):
    """Where delta falls steeply a share too much would matter more than any other rounding."""
    shares = []
    monkeypatch.setattr(ChainDP, "_link", lambda self, share: shares.append(share) or 0.0)
    rng = np.random.default_rng(5)
    for _ in range(200):
        size, epsilon = int(rng.integers(1, 9)), float(10.0 ** rng.uniform(-2, 2))
        shares.clear()
        ChainDP(GaussianDP(1.0), size)._split(epsilon, spacing)
        if len(shares) == size:
            total = sum(map(Fraction, shares))
            reach = Fraction(epsilon) + Fraction(spacing) * size**2
            assert Fraction(epsilon) - reach / 10**14 <= total <= Fraction(epsilon)
            if size > 1:
                gaps = np.diff(shares)
                assert gaps.tolist() == pytest.approx([spacing] * (size - 1), abs=1e-12)


def test_links_of_either_sign():
    for inner, profile in LINKS:
        chain = ChainDP(inner, 2)
        for share in (-5.0, -0.5, -1e-6, 0.0, 1e-6, 0.5, 2.0):
            exact = link(profile, mp.mpf(share))
            assert exact * (1 - mp.mpf("1e-12")) <= chain._link(share)
            assert chain._link(share) <= exact * (1 + mp.mpf("1e-12")) + 1e-300


def test_shares_beyond_all_doubles_prove_nothing():
    chain = ChainDP(PureDP(5000.0), 2)
    assert chain._split(1410.0, 0.0) == math.inf  # e^705 times the second link
    assert chain._split(1390.0, 0.0) == 1.0
    assert chain.delta(1410.0) <= 1.0


@pytest.mark.parametrize("mu", [0.2, 1.0])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_gaussian_links_lose_next_to_nothing(mu, size):
    chain, profile = ChainDP(GaussianDP(mu), size), gaussian(mp.mpf(mu) * size)
    for epsilon in (0.0, 0.7, 4.0):
        exact = profile(mp.mpf(epsilon))
        if exact > 1e-12:
            assert exact <= chain.delta(epsilon) <= exact * (1 + mp.mpf("1e-4"))
    for delta in (1e-2, 1e-6):
        found = chain.epsilon(delta)
        assert profile(mp.mpf(found)) <= delta * (1 + mp.mpf("1e-12"))
        assert profile(mp.mpf(found) * (1 - mp.mpf("3e-4"))) >= delta
        assert chain.delta(found * (1 + 1e-6)) <= delta
    assert (
        chain.epsilon(float(profile(mp.mpf(0))) * 1.001)
        == 0.0
        < chain.epsilon(float(profile(mp.mpf(0))) * 0.99)
    )


def test_chains_of_pure_links():
    chain = ChainDP(PureDP(0.75), 4)
    assert chain.epsilon(0.0) >= 3.0 and chain.delta(math.inf) <= 1e-300 < chain.delta(2.9)
    assert ChainDP(PureDP(0.0), 4).epsilon(1e-5) == ChainDP(PureDP(0.0), 4).delta(0.0) == 0.0
    # even shares are the best split there is at zero: 1 - delta of the ends
    exact = split(pure(mp.mpf(0.75)), 4, 0.0, 0.0)
    assert chain.delta(0.0) <= float(exact) * (1 + 1e-9)


def test_even_shares_are_tried_where_nothing_says_how_far_apart_they_should_be():
    """A link that may fail outright has no epsilon at small deltas and no divergences."""
    inner = guarantee_from_fields({"epsilon": 0.5, "delta": 0.01})
    chain = ChainDP(inner, 2)
    exact = mp.mpf("0.01") * (1 + mp.exp(mp.mpf(0.5)))
    assert exact * (1 - mp.mpf("1e-12")) <= chain.delta(1.0) <= exact * (1 + mp.mpf("1e-9"))


def test_both_ways_are_asked_and_the_smaller_bound_is_taken():
    chain = ChainDP(PureDP(0.75), 4)
    by_order = RenyiDP(grouped(CurveOf(PureDP(0.75)), 4).curve)
    for epsilon in (0.0, 0.5, 2.0, 2.9):
        found = chain.delta(epsilon)
        assert found <= min(by_order.delta(epsilon), chain._split(epsilon, 0.0)) * (1 + 1e-12)
        assert found <= chain._best(epsilon)[0]
    for delta in (1e-1, 1e-3, 1e-8):
        assert chain.epsilon(delta) <= by_order.epsilon(delta) * (1 + 1e-12)
        assert chain.delta(chain.epsilon(delta) * (1 + 1e-6)) <= delta
    assert chain.renyi(3.0) == by_order.renyi(3.0)


def test_long_chains_are_followed_order_by_order_only():
    inner = GaussianDP(0.001)
    chain, by_order = ChainDP(inner, 1001), grouped(CurveOf(inner), 1001)
    assert chain.delta(0.5) == by_order.delta(0.5)
    assert chain.epsilon(1e-5) == by_order.epsilon(1e-5)


def test_links_without_any_bound():
    chain = ChainDP(GaussianDP(math.inf), 3)
    assert chain.delta(5.0) == 1.0 and chain.epsilon(1e-5) == math.inf
    assert chain._best(1.0) == (1.0, 0.0)
    assert ChainDP(GaussianDP(1.0), 3)._best(math.inf) == (1.0, 0.0)


def test_spacings_are_sought_around_that_of_a_gaussian():
    for mu in (0.3, 1.0):
        chain = ChainDP(GaussianDP(mu), 3)
        assert chain._spacing == pytest.approx(mu**2, rel=1e-6)
        value, spacing = chain._best(1.0)
        assert value == pytest.approx(chain._split(1.0, spacing), rel=1e-12)
        assert spacing == pytest.approx(mu**2, rel=0.2)


def test_where_one_spacing_reaches_delta():
    chain, profile = ChainDP(GaussianDP(1.0), 3), gaussian(mp.mpf(1))
    for delta in (0.5, 1e-2, 1e-7):
        for spacing in (0.0, 0.5, 1.0):
            found = chain._reached(delta, spacing, 100.0)
            assert split(profile, 3, found, spacing) <= delta * (1 + mp.mpf("1e-9"))
            if found > 0.0:
                assert split(profile, 3, found * (1 - 1e-6), spacing) >= delta
            assert chain._reached(delta, spacing, math.inf) == pytest.approx(found, rel=1e-6)
            assert chain._reached(delta, spacing, found * 0.9) == math.inf or found == 0.0
            assert chain._reached(delta, spacing, found * 1.1) == pytest.approx(found, rel=1e-6)


def test_tests_of_the_ends_test_every_link():
    for size in (1, 2, 5):
        chain = ChainDP(GaussianDP(0.5), size)
        for rate in (0.0, 1e-3, 0.3, 0.99, 1.0):
            place = mp.mpf(math.sqrt(2)) * mp.erfinv(2 * mp.mpf(rate) - 1) if 0 < rate < 1 else None
            power = mp.mpf(rate) if place is None else mp.ncdf(place + mp.mpf(0.5) * size)
            assert 1 - power >= chain.type_ii(rate) >= (1 - power) * (1 - mp.mpf("1e-9")) - 1e-9
    sure = ChainDP(PureDP(2.0), 3)
    assert 0.0 == sure.type_ii(1.0) < sure.type_ii(0.9999999) < 1e-7 < sure.type_ii(0.4) < 1e-2
    assert ChainDP(GaussianDP(math.inf), 2).type_ii(0.5) == 0.0


def test_longer_chains_and_repetitions():
    chain = ChainDP(GaussianDP(0.5), 3)
    assert chain.group(4) == ChainDP(GaussianDP(0.5), 12) and chain.group(1) == chain
    assert chain.repeat(1) is chain
    twice = chain.repeat(2)
    for order in (1.5, 4.0):
        assert twice.renyi(order) == pytest.approx(2.0 * chain.renyi(order), rel=1e-9)
    both = chain.absorb((RenyiDP(chain.renyi),))
    assert both.renyi(4.0) == pytest.approx(2.0 * chain.renyi(4.0), rel=1e-9)
    assert chain.absorb(()).renyi(4.0) == pytest.approx(chain.renyi(4.0), rel=1e-9)
