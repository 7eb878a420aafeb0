"""The base class of guarantees: the questions that all of them answer, and their composition.

A guarantee speaks of two distributions that the attacker must tell apart, in either order.  It
knows no algorithm and no adjacency.  All its answers are on the safe side: epsilon, delta, the
Renyi divergence and the true positive rate are never too small, the type II error never too large.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from wane.errors import InvalidDescription
from wane.guarantees import arguments
from wane.guarantees.steps import Recipe
from wane.numerics.rounding import round_up
from wane.numerics.search import minimise_scalar_bounded


class Guarantee(ABC):
    """An upper bound on what an attacker can learn; abstract, and every subclass is final."""

    generality: ClassVar[int]
    """Composition is left to the most general kind present; see `compose`."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the certified delta at this epsilon, never rounded down."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return the smallest certified epsilon at this delta, never rounded down; inf if none."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return a bound on the Renyi divergence of this order > 1, in both directions."""

    @abstractmethod
    def group(self, size: int) -> Guarantee:
        """Return the guarantee for `size` records that change together."""

    @abstractmethod
    def repeat(self, times: int) -> Guarantee:
        """Return the guarantee of `times` independent uses, equal to composing that many copies."""

    @abstractmethod
    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Return this guarantee composed with others that are at most as general; use `compose`."""

    def rough_delta(self, epsilon: float) -> float:
        """Return a certified delta that may be larger where it is negligible for error rates."""
        return self.delta(epsilon)

    @property
    def profile_points(self) -> int:
        """The number of points at which a composition evaluates the profile."""
        return 512

    def deltas(self, epsilons: Sequence[float]) -> list[float]:
        """Return the certified delta at each epsilon, never rounded down."""
        return [self.delta(epsilon) for epsilon in epsilons]

    def recipe(self) -> Recipe | None:
        """Return the exact steps behind the guarantee; None if it is only a bound."""
        return None

    def type_ii(self, type_i: float) -> float:
        """Return a lower bound on the attacker's type II error, given the type I error.

        sup over epsilon of 1 - delta - e^epsilon x and e^-epsilon (1 - delta - x): every epsilon
        gives a valid bound, so the search can only lose tightness.
        """
        type_i = arguments.probability("type_i", type_i)

        def bound(epsilon: float, delta: float) -> float:
            remaining = 1.0 - delta
            factor = math.exp(epsilon) if epsilon < 700.0 else math.inf  # a larger one is safe
            steep = remaining - type_i * factor if type_i > 0.0 else remaining
            return -max(steep, math.exp(-epsilon) * (remaining - type_i), 0.0)

        values = [bound(epsilon, delta) for epsilon, delta in self._sketch]
        if not any(values):  # an epsilon between two that tell nothing tells next to nothing
            return 0.0
        best = min(range(len(values)), key=values.__getitem__)
        ends = self._sketch[max(best - 1, 0)][0], self._sketch[min(best + 1, len(values) - 1)][0]
        refined = minimise_scalar_bounded(lambda e: bound(e, self.rough_delta(e)), *ends, steps=16)[
            1
        ]
        # A few roundings at the scale of 1 happened above.
        return max(-min(values[best], refined) - 4e-15, 0.0)

    @cached_property
    def _sketch(self) -> tuple[tuple[float, float], ...]:
        """The profile at zero and at powers of two from 1/1024 to 8192."""
        points: list[tuple[float, float]] = []
        delta = 0.0
        for epsilon in (*(2.0**power for power in range(13, -11, -1)), 0.0):
            delta = self.rough_delta(epsilon) if delta < 1.0 else 1.0  # it never falls towards zero
            points.append((epsilon, delta))
        return tuple(reversed(points))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return an upper bound on the attacker's power at this false positive rate."""
        rate = arguments.probability("false_positive_rate", false_positive_rate)
        return min(round_up(1.0 - self.type_ii(rate)), 1.0)

    def compose(self, *others: Guarantee) -> Guarantee:
        """Return the guarantee of releasing everything, each chosen in view of the ones before.

        The result is as exact as the least exact part allows: Gaussians stay Gaussian, known
        steps are convolved numerically, anything else meets in Renyi divergences, or in whole
        profiles where one part went through a kernel.
        """
        parts = (self, *others)
        for part in parts:
            if not isinstance(part, Guarantee):
                raise InvalidDescription(
                    f"others must be guarantees, got {part!r:.60}; make one, as GaussianDP(mu)."
                )
        if len(parts) == 1:
            return self
        leader = max(range(len(parts)), key=lambda place: parts[place].generality)
        return parts[leader].absorb(parts[:leader] + parts[leader + 1 :])
