"""Privacy of several records that change together, by a chain of data sets one record apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from wane.arguments import Checked
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.renyi import CurveOf, RenyiDP, grouped
from wane.numerics.normal import gaussian_mu
from wane.numerics.rounding import inflate, round_up
from wane.numerics.search import first_at_most, minimise_scalar_bounded

_ROUNDING = 1e-13
"""Relative, for sums of a few exponentials and products."""
_REFERENCE = 1e-5
_WIDEST = 16.0
_STEPS = 12
_MOST_LINKS = 1000
"""Longer chains are followed order by order only."""
_PRECISION = 1e-9


@final
@dataclass(frozen=True)
class ChainDP(Checked, Guarantee):
    """The guarantee of `size` links, each of which `inner` bounds in both directions.

    Claim.  For any e_1 + ... + e_k = epsilon, of either sign, delta is at most the sum over i of
    exp(e_1 + ... + e_(i-1)) delta_i(e_i), where delta_i(-e) = 1 - exp(-e) (1 - delta_i(e)).
    Proof.  P_(i-1)(S) <= e^(e_i) P_i(S) + delta_i(e_i), link after link; for e > 0 the complement
    of S turns Q <= e^e P + delta into P <= e^-e Q + 1 - e^-e (1 - delta).
    Tight.  For Gaussian links the e_i are evenly spaced at the best split, mu^2 apart, and the
    sum is the profile of k mu.  Here evenly spaced splits are searched, and as every split is
    valid, a missed minimum costs tightness only.  Divergences follow the chain order by order
    (`GroupCurve`), and each question is answered by the smaller bound.
    """

    inner: Guarantee
    size: arguments.Count
    generality: ClassVar[int] = 3

    def delta(self, epsilon: float) -> float:
        """Return the least bound over evenly spaced splits and over orders, never rounded down."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        by_order = self._by_order.delta(epsilon)
        if by_order == 0.0 or math.isinf(epsilon) or self.size > _MOST_LINKS:
            return by_order
        return min(by_order, self._split(epsilon, 0.0), self._best(epsilon)[0])

    def epsilon(self, delta: float) -> float:
        """Return the inverse of `delta`, never rounded down: for two spacings, and over orders."""
        delta = arguments.probability("delta", delta)
        best = self._by_order.epsilon(delta)
        if delta == 0.0 or best == 0.0 or self.size > _MOST_LINKS:
            return best
        if self.delta(0.0) <= delta:
            return 0.0
        at = min(best, self.size**2 * max(self.inner.epsilon(delta), 1.0))
        for _ in range(2):
            spacing = self._best(at)[1]
            at = min(self._reached(delta, spacing, best), best)
            best = min(best, at)
        return best

    def _reached(self, delta: float, spacing: float, most: float) -> float:
        """Return the epsilon at which one spacing reaches `delta`; infinite if not below `most`."""

        def split(epsilon: float) -> float:
            return self._split(epsilon, spacing)

        reach = 1.0
        while reach < most and split(reach) > delta:
            reach *= 2.0
        reach = min(reach, most)
        if math.isinf(reach) or split(reach) > delta:
            return math.inf
        return first_at_most(split, delta, 0.0, reach, relative=_PRECISION)

    def _best(self, epsilon: float) -> tuple[float, float]:
        """Return the least delta over spacings around that of a Gaussian, and its spacing."""
        if not 0.0 < self._spacing < math.inf or math.isinf(epsilon):
            return 1.0, 0.0
        ends = (math.log(self._spacing / _WIDEST), math.log(self._spacing * _WIDEST))
        place, value = minimise_scalar_bounded(
            lambda u: self._split(epsilon, math.exp(u)), *ends, steps=_STEPS
        )
        return value, math.exp(place)

    def renyi(self, order: float) -> float:
        """Return the chain's divergence, order by order."""
        return self._by_order.renyi(order)

    def type_ii(self, type_i: float) -> float:
        """Return a bound by testing every link in turn: a test of the ends tests each link."""
        power = arguments.probability("type_i", type_i)
        for _ in range(self.size):
            power = self.inner.true_positive_rate(power)
            if power >= 1.0:
                break
        return max(1.0 - round_up(power), 0.0)

    def repeat(self, times: int) -> Guarantee:
        """Return the composition of the divergences."""
        return self if times == 1 else self._by_order.repeat(times)

    def group(self, size: int) -> Guarantee:
        """Return a longer chain of the same links."""
        return ChainDP(self.inner, self.size * arguments.count("size", size))

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Return the sum of the divergences as a guarantee."""
        return self._by_order.absorb(others)

    def _split(self, epsilon: float, spacing: float) -> float:
        """Return the claim for shares that are `spacing` apart, the smallest first."""
        reach = epsilon + spacing * self.size**2
        middle = (epsilon - 1e-15 * reach) / self.size  # so that the shares add up to no more
        total, before = 0.0, 0.0
        for link in range(self.size):
            share = middle + spacing * (link - (self.size - 1) / 2.0)
            if before > 700.0:
                return math.inf
            total += math.exp(before) * self._link(share)
            before += share
        return min(inflate(total, _ROUNDING * (1.0 + reach)), 1.0)

    def _link(self, share: float) -> float:
        if share >= 0.0:
            return self.inner.delta(share)
        return -math.expm1(share) + math.exp(share) * self.inner.delta(-share)

    @cached_property
    def _by_order(self) -> RenyiDP:
        return grouped(CurveOf(self.inner), self.size)

    @cached_property
    def _spacing(self) -> float:
        """The square of the mu to which a link is comparable."""
        epsilon = self.inner.epsilon(_REFERENCE)
        if math.isinf(epsilon):
            return math.inf
        return gaussian_mu(epsilon, _REFERENCE) ** 2
