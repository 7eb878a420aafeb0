"""The epsilon of one exact member of a class: no sound claim at a delta can be smaller."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.audit.grid import ExactPair
from wane.audit.interval_law import IntervalPair
from wane.numerics.normal import gaussian_delta, gaussian_epsilon

SHAVE = 1.0 - 1e-9
"""Lower bounds are rounded down by more than their arithmetic can have lost."""
MIXTURE_ROUNDING = 1e-7
"""The same for mixtures, whose weights come from logarithms of large factorials."""
LARGEST_EPSILON = 1e6
BISECTIONS = 25
THRESHOLDS = 400
REFINED = 100


class Leak(Protocol):
    """An exact member of a class, by what it leaks."""

    def epsilon(self, delta: float, above: float = 0.0) -> float:
        """Return an epsilon that no sound claim at `delta` can undercut; 0 if not above `above`."""
        ...


@dataclass(frozen=True)
class GaussianLeak:
    """A member whose two laws are Gaussians mu apart, up to an event of small probability.

    Outside the event, whose probability in either run is at most `failure`, the member is a linear
    chain.  So its delta is at least the Gaussian one less failure (1 + e^epsilon).
    """

    mu: float
    failure: float = 0.0

    def epsilon(self, delta: float, above: float = 0.0) -> float:
        """Return the Gaussian epsilon, less what the event may hide."""
        if self.failure == 0.0:
            return gaussian_epsilon(delta, self.mu) * SHAVE

        def exact(epsilon: float) -> float:
            hidden = self.failure * (1.0 + math.exp(min(epsilon, 700.0)))
            return gaussian_delta(epsilon, self.mu) * SHAVE - hidden

        return largest_epsilon(exact, delta, above) * SHAVE


@dataclass(frozen=True)
class MixtureLeak:
    """A member whose laws are mixtures of unit Gaussians, told apart by thresholds.

    Any event bounds delta from below, so the thresholds that are tried need not be the best.  The
    first law sits to the right: its components may be too far to the left, and those of the second
    too far to the right, which only hides something.

    Attributes:
        first, second: where the components of the two laws sit.
        weights: how likely each component is, in both.
        missing: the probability of components left out.
    """

    first: Array
    second: Array
    weights: Array
    missing: float = 0.0

    def epsilon(self, delta: float, above: float = 0.0) -> float:
        """Return the largest epsilon whose delta some threshold shows to exceed `delta`."""
        ways = ((self.first, self.second), (-self.second, -self.first))
        largest = max(self._one_way(p, q, delta) for p, q in ways)
        return max(largest * (1.0 - MIXTURE_ROUNDING) - MIXTURE_ROUNDING, 0.0)

    def _one_way(self, p: Array, q: Array, delta: float) -> float:
        low, high = float(min(p.min(), q.min())) - 9.0, float(max(p.max(), q.max())) + 9.0
        thresholds = np.linspace(low, high, THRESHOLDS)
        best, place = self._best(p, q, thresholds, delta)
        width = (high - low) / (THRESHOLDS - 1)
        closer = np.linspace(thresholds[place] - width, thresholds[place] + width, REFINED)
        return max(best, self._best(p, q, closer, delta)[0])

    def _best(self, p: Array, q: Array, thresholds: Array, delta: float) -> tuple[float, int]:
        """Return the best solution of P(Y > t) - e^epsilon Q(Y > t) = delta over thresholds t."""
        above = self._tails(p, thresholds) - delta
        below = self._tails(q, thresholds) + self.missing
        with np.errstate(divide="ignore", invalid="ignore"):
            epsilons = np.where(
                (above > 0.0) & (below > 1e-280), np.log(above) - np.log(below), 0.0
            )
        place = int(np.argmax(epsilons))
        return max(float(epsilons[place]), 0.0), place

    def _tails(self, centres: Array, thresholds: Array) -> Array:
        tails = np.zeros(len(thresholds))
        for begin in range(0, len(centres), 512):
            part = slice(begin, begin + 512)
            tails += special.ndtr(centres[part, None] - thresholds).T @ self.weights[part]
        return tails


@dataclass(frozen=True)
class GridLeak:
    """A member whose laws are computed on a grid; the grid's own error is subtracted."""

    pair: ExactPair | IntervalPair

    def epsilon(self, delta: float, above: float = 0.0) -> float:
        """Return the largest epsilon whose exact delta, from below, exceeds `delta`."""
        largest = 0.0
        for reverse in (False, True):

            def exact(epsilon: float, reverse: bool = reverse) -> float:
                return self.pair.hockey_stick(epsilon, reverse=reverse).lower

            largest = max(largest, largest_epsilon(exact, delta, max(above, largest)))
        return largest


def largest_epsilon(exact: Callable[[float], float], delta: float, above: float = 0.0) -> float:
    """Return the largest epsilon found at which a decreasing delta still exceeds the given one.

    Zero if that is not so at the epsilon `above`, which spares a search that cannot win.
    """
    if not exact(above) > delta:
        return 0.0
    low, high = above, max(2.0 * above, 1.0)
    while exact(high) > delta:
        low, high = high, 2.0 * high
        if high > LARGEST_EPSILON:
            return low
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exact(middle) > delta else (low, middle)
    return low
