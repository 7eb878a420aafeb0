"""A family of valid guarantees, of which each question is answered by a well chosen member."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, final

from wane.guarantees import ChainDP, Guarantee, arguments
from wane.numerics.search import first_at_most

REFERENCE = 1e-6
"""The delta at which a member is chosen where a question names none."""


@final
@dataclass(frozen=True)
class Tuned(Guarantee):
    """Free parameters of a theorem, set when a question is asked; every setting is valid.

    Attributes:
        member: the guarantee whose parameters suit this delta.
        divergence: a bound on the Renyi divergence of an order.
    """

    member: Callable[[float], Guarantee]
    divergence: Callable[[float], float]
    generality: ClassVar[int] = 6
    _known: dict[int, Guarantee] = field(default_factory=dict, compare=False, repr=False)

    def suited_to(self, delta: float) -> Guarantee:
        """Return the member for this delta; there is one for each half power of ten."""
        place = max(math.floor(2.0 * math.log10(max(delta, 1e-300))), -600)
        if place not in self._known:
            self._known[place] = self.member(10.0 ** (place / 2.0))
        return self._known[place]

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the member chosen for this delta, never rounded down."""
        delta = arguments.probability("delta", delta)
        return 0.0 if delta >= 1.0 else self.suited_to(delta).epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """Return the delta of a member chosen for about this delta, never rounded down."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        first = self.suited_to(REFERENCE).delta(epsilon)
        if first == 0.0 or 0.1 * REFERENCE < first < 10.0 * REFERENCE:
            return first
        return min(first, self.suited_to(first).delta(epsilon))

    def rough_delta(self, epsilon: float) -> float:
        """Return the rough delta of a member chosen for about this delta."""
        first = self.suited_to(REFERENCE).rough_delta(epsilon)
        if not 10.0 * REFERENCE < first < 1.0:
            return first
        return min(first, self.suited_to(first).rough_delta(epsilon))

    def renyi(self, order: float) -> float:
        """Return a bound on the divergence of this order."""
        return self.divergence(arguments.renyi_order("order", order))

    def repeat(self, times: int) -> Guarantee:
        """Return this many compositions of the reference member."""
        return self.suited_to(REFERENCE).repeat(times)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee of a chain of this many adjacent pairs."""
        return self if size == 1 else ChainDP(self, size)

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Return the composition of the reference member with the others."""
        fixed = [o.suited_to(REFERENCE) if isinstance(o, Tuned) else o for o in others]
        return self.suited_to(REFERENCE).compose(*fixed)


@final
@dataclass(frozen=True)
class Profile(Guarantee):
    """A privacy profile known only as a function, with another guarantee of the same release.

    Attributes:
        profile: delta as a function of epsilon, nonincreasing, never rounded down.
        fallback: what else is known of the release; compositions, groups and Renyi divergences
            are taken from it.
        inverse: epsilon as a function of delta, never rounded down, if it need not be searched.
    """

    profile: Callable[[float], float]
    fallback: Guarantee
    inverse: Callable[[float], float] | None = None
    generality: ClassVar[int] = 6

    def delta(self, epsilon: float) -> float:
        """Return delta by the profile, at most 1."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        return min(self.profile(epsilon), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the inverse of `delta`, never rounded down."""
        delta = arguments.probability("delta", delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if self.inverse is not None:
            return self.inverse(delta)
        if delta == 0.0:
            return math.inf
        high = 1.0
        while self.delta(high) > delta:
            high *= 2.0
            if high > 1e12:
                return math.inf
        return first_at_most(self.delta, delta, 0.0, high, relative=1e-12)

    def renyi(self, order: float) -> float:
        """That of the fallback."""
        return self.fallback.renyi(order)

    def repeat(self, times: int) -> Guarantee:
        """Return this many compositions of the fallback."""
        return self if times == 1 else self.fallback.repeat(times)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee of a chain of adjacent pairs; divergences are the fallback's."""
        return self if size == 1 else ChainDP(self, size)

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Return the composition of the fallback with the others."""
        known = [o.fallback if isinstance(o, Profile) else o for o in others]
        return self.fallback.compose(*known)
