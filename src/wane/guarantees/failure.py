"""A guarantee that holds except on a rare event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from wane.arguments import Checked
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.numerics.rounding import add_up


@final
@dataclass(frozen=True)
class WithFailure(Checked, Guarantee):
    """`inner` holds except on an event of this probability, on which nothing is promised.

    The probability is simply added to delta.  Renyi divergences are infinite, because a failure
    may reveal everything.
    """

    inner: Guarantee
    probability: arguments.Probability
    generality: ClassVar[int] = 5

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Guarantee):
            raise InvalidDescription(
                f"inner must be a guarantee, got {self.inner!r}; build one first, as GaussianDP(mu)"
            )
        super().__post_init__()

    def delta(self, epsilon: float) -> float:
        """Return the inner delta plus the probability of failure, never rounded down."""
        return min(add_up([(self.inner.delta(epsilon), 1), (self.probability, 1)]), 1.0)

    def rough_delta(self, epsilon: float) -> float:
        """Return the inner rough delta plus the probability of failure."""
        return min(add_up([(self.inner.rough_delta(epsilon), 1), (self.probability, 1)]), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the inner epsilon at delta minus the probability; infinite if none is left."""
        delta = arguments.probability("delta", delta)
        if delta >= 1.0:
            return 0.0
        if delta < self.probability:
            return math.inf
        left = delta - self.probability
        while left > 0.0 and add_up([(left, 1), (self.probability, 1)]) > delta:
            left = math.nextafter(left, 0.0)
        return self.inner.epsilon(left)

    def renyi(self, order: float) -> float:
        """Return infinity, unless failure is impossible."""
        inner = self.inner.renyi(order)
        return inner if self.probability == 0.0 else math.inf

    def repeat(self, times: int) -> WithFailure:
        """Return the repeated inner guarantee, with the probabilities added up."""
        times = arguments.count("times", times)
        return WithFailure(self.inner.repeat(times), _at_most_one([(self.probability, times)]))

    def group(self, size: int) -> WithFailure:
        """Refuse true groups: along a chain each failure is magnified by e^epsilon."""
        size = arguments.count("size", size)
        if size > 1 and self.probability > 0.0:
            raise NoTheoremApplies(
                f"no group guarantee for {size} records from one that fails with probability "
                f"{self.probability:g}: the failure grows with epsilon along the chain; ask the "
                "inner guarantee for the group and bound the failure for the group directly"
            )
        return self if size == 1 else WithFailure(self.inner.group(size), 0.0)

    def absorb(self, others: tuple[Guarantee, ...]) -> WithFailure:
        """Return the composed inner guarantees, with the probabilities added up."""
        inners, probabilities = [self.inner], [(self.probability, 1)]
        for other in others:
            if isinstance(other, WithFailure):
                inners.append(other.inner)
                probabilities.append((other.probability, 1))
            else:
                inners.append(other)
        return WithFailure(inners[0].compose(*inners[1:]), _at_most_one(probabilities))


def _at_most_one(probabilities: list[tuple[float, int]]) -> float:
    return min(add_up(probabilities), 1.0)
