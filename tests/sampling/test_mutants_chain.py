"""Chains of links: each bound against the claim written down with many digits."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.guarantees import (
    ChainDP,
    GaussianDP,
    Guarantee,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
)

mp = mpmath.mp.clone()
mp.dps = 40


@dataclass(frozen=True, eq=False)
class Flat(Guarantee):
    """A link with the same delta at every epsilon, which keeps what it is asked."""

    height: float
    asked: list[float] = field(default_factory=list)
    generality = 3

    def delta(self, epsilon: float) -> float:
        self.asked.append(epsilon)
        return self.height

    def epsilon(self, delta: float) -> float:
        return 0.0 if delta >= self.height else math.inf

    def renyi(self, order: float) -> float:
        return math.inf

    def group(self, size: int) -> Guarantee:
        raise NotImplementedError

    repeat = absorb = group


def claimed(height, epsilon, spacing, size):
    """The claim for links of one height: evenly spaced shares, in exact arithmetic."""
    total, before = mp.mpf(0), mp.mpf(0)
    for link in range(size):
        share = mp.mpf(epsilon) / size + mp.mpf(spacing) * (link - mp.mpf(size - 1) / 2)
        at = mp.mpf(height) if share >= 0 else 1 - mp.exp(share) * (1 - mp.mpf(height))
        total += mp.exp(before) * at
        before += share
    return total


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("spacing", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 5.0])
def test_a_split_is_the_claim_and_a_margin_for_its_rounding(size, spacing, epsilon):
    """The margin is 1e-13 for each nat that an exponent can have."""
    exact = claimed(2.0**-12, epsilon, spacing, size)
    above = ChainDP(Flat(2.0**-12), size)._split(epsilon, spacing) / exact - 1
    if exact < 0.9:
        most = 1e-13 * (1.0 + epsilon + spacing * size**2)
        assert 0.7 * most < above < 1.05 * most + 4e-16
    assert ChainDP(Flat(1.0), size)._split(epsilon, spacing) == 1.0


def test_shares_add_up_to_no_more_than_epsilon():
    rng = np.random.default_rng(1)
    for epsilon, size in zip(rng.uniform(0.1, 9.0, 200).tolist(), [3, 7, 11, 2] * 50, strict=True):
        link = Flat(2.0**-12)
        ChainDP(link, size)._split(epsilon, 0.0)
        whole = sum((Fraction(share) for share in link.asked), Fraction(0))
        assert len(link.asked) == size
        assert Fraction(epsilon) * (1 - Fraction(1, 10**13)) <= whole <= Fraction(epsilon)


def test_exponentials_beyond_all_doubles_are_no_bound():
    chain = ChainDP(GaussianDP(1.0), 3)
    assert chain._split(5000.0, 0.0) == math.inf
    assert chain.delta(5000.0) > 0.0
    assert chain.delta(math.inf) == chain._by_order.delta(math.inf)


FAILING = WithFailure(GaussianDP(0.5), 1e-3)
"""A link that has a profile, yet neither divergences nor an epsilon at 1e-5."""


@pytest.mark.parametrize("size", [2, 3])
def test_links_without_divergences_share_epsilon_evenly(size):
    """No Gaussian suggests a spacing, so every share is the same."""
    chain = ChainDP(FAILING, size)
    for epsilon in (0.0, 0.5, 2.0):
        share = epsilon / size
        even = sum(math.exp(link * share) * FAILING.delta(share) for link in range(size))
        assert chain.delta(epsilon) == pytest.approx(min(even, 1.0), rel=1e-10)
        assert chain.delta(epsilon) >= min(even, 1.0)
    delta = chain.delta(2.0)
    assert chain.epsilon(delta * (1 + 1e-10)) == pytest.approx(2.0, rel=1e-6)
    assert chain.delta(chain.epsilon(1.1 * delta)) <= 1.1 * delta
    assert chain.epsilon(1e-3) == math.inf
    assert chain.epsilon(0.0) == math.inf
    assert chain.renyi(2.0) == math.inf


def test_where_a_spacing_comes_down_to_delta():
    chain = ChainDP(Flat(2.0**-12), 2)
    assert chain._reached(1e-9, 0.0, 5.0) == math.inf
    assert chain._reached(1e-9, 0.0, math.inf) == math.inf
    assert chain._reached(0.5, 0.0, 5.0) == 0.0
    gaussian = ChainDP(GaussianDP(0.5), 2)
    for delta in (1e-2, 1e-5):
        found = gaussian._reached(delta, 0.25, 50.0)
        assert gaussian._split(found, 0.25) <= delta
        assert gaussian._split(found * (1 - 1e-8), 0.25) > delta
        assert gaussian._reached(delta, 0.25, math.inf) == pytest.approx(found, rel=1e-8)
        assert gaussian._reached(delta, 0.25, 0.9 * found) == math.inf


def test_a_delta_that_epsilon_zero_has_needs_no_epsilon():
    chain = ChainDP(GaussianDP(0.5), 3)
    assert chain.epsilon(chain.delta(0.0)) == 0.0
    assert chain.epsilon(0.99) == chain.epsilon(1.0) == 0.0
    assert chain.epsilon(0.999 * chain.delta(0.0)) > 0.0
    nothing = ChainDP(GaussianDP(0.0), 3)
    assert nothing.delta(0.0) == nothing.epsilon(0.0) == nothing.epsilon(1e-9) == 0.0


def test_long_chains_are_followed_order_by_order_only(monkeypatch):
    """A thousand sums of a thousand terms would take seconds."""
    monkeypatch.setattr(ChainDP, "_split", lambda *asked: pytest.fail("split"))
    chain, exact = ChainDP(GaussianDP(1e-3), 2000), GaussianDP(2.0)
    by_order = RenyiDP.zcdp(2.0)
    assert exact.delta(1.0) <= chain.delta(1.0) == pytest.approx(by_order.delta(1.0), rel=1e-6)
    found = chain.epsilon(1e-5)
    assert exact.epsilon(1e-5) <= found == pytest.approx(by_order.epsilon(1e-5), rel=1e-6)


@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0])
def test_the_spacing_is_that_of_gaussian_links(mu):
    assert ChainDP(GaussianDP(mu), 2)._spacing == pytest.approx(mu**2, rel=1e-9)


def test_what_a_chain_leads_and_what_leads_it():
    steps = NumericalDP(((SampledGaussianStep(1.0, 0.1, Pair.ADD_OR_REMOVE), 3),))
    chain = steps.group(2)
    for both in (chain.compose(steps), steps.compose(chain)):
        assert both.renyi(3.0) == pytest.approx(chain.renyi(3.0) + steps.renyi(3.0), rel=1e-12)
    for both in (chain.compose(FAILING), FAILING.compose(chain)):
        assert math.isfinite(both.epsilon(2e-3))


def test_chains_used_again_and_longer_ones():
    chain = ChainDP(GaussianDP(0.5), 2)
    assert chain.repeat(1) is chain
    for times in (2, 3):
        assert chain.repeat(times).renyi(3.0) == pytest.approx(times * chain.renyi(3.0), rel=1e-12)
    for refused in (0, 1.5):
        with pytest.raises(InvalidDescription):
            chain.repeat(refused)
        with pytest.raises(InvalidDescription):
            chain.group(refused)
        with pytest.raises(InvalidDescription):
            ChainDP(GaussianDP(0.5), refused)
    assert chain.renyi(3.0) == pytest.approx(GaussianDP(1.0).renyi(3.0), rel=1e-10)


def test_errors_of_chains_that_show_everything_are_zero():
    assert ChainDP(GaussianDP(30.0), 2).type_ii(0.5) == 0.0
    assert ChainDP(GaussianDP(30.0), 2).type_ii(1.0) == 0.0
    assert ChainDP(GaussianDP(0.0), 2).type_ii(0.25) == pytest.approx(0.75, rel=1e-12)
