"""Any number of Laplace noises on whole multiples of a unit, and the exact privacy of their sum.

Everything is a whole number: the statistic is rounded to a multiple of the unit, and each noise k
has probability proportional to e^(-|k|/scale), drawn exactly.  The sum of such noises has a
log-concave law, so the best test of one position against another is a threshold, and

    delta(epsilon) = max over n of F(n) - e^epsilon F(n - shift),      F the sum's distribution.

For vectors with independent noise on every entry the whole shift in one entry is the worst case.
Proofs: `docs/proofs/continuous-kernels.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from scipy import special

from wane.arguments import whole
from wane.arrays import Array
from wane.describe.laplace import LARGEST_SCALE, LaplaceRelease
from wane.guarantees import ComposedDP, Guarantee, arguments
from wane.guarantees.composed import composed_of
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.search import smallest_satisfying

UNIT = 2.0**-53
_TILT = 0.8  # of the largest exponent at which moments are finite
_LOG_TAIL = 69.0
_FAINT = 1e-290
"""Probabilities below are not divided by: so near the smallest double they have few digits."""
_LARGEST_EXPONENT = 500.0
"""At larger epsilons delta is that of this one: e^500 times what is faint is nothing."""


@final
@dataclass(frozen=True)
class LaplaceSumDP(Guarantee):
    """The exact guarantee of a whole number released with a sum of discrete Laplace noises.

    Attributes:
        shift: by how many units the numbers of adjacent data sets differ at most.
        scales: of the noises, in units.
    """

    shift: int
    scales: tuple[int, ...]
    generality: ClassVar[int] = 4

    def __post_init__(self) -> None:
        whole("shift", self.shift, least=0)
        for place, scale in enumerate(self.scales):
            whole(f"scales[{place}]", scale, least=1, most=LARGEST_SCALE)

    @property
    def pure_epsilon(self) -> float:
        """The level of pure DP, that of the widest noise alone, rounded up."""
        return inflate(self.shift / max(self.scales), 4e-16)

    @cached_property
    def _reach(self) -> int:
        """Beyond this less than e^-69 of the sum is left, on both sides together."""
        tilt = _TILT / max(self.scales)
        moments = 0.0
        for scale in self.scales:
            q = math.exp(-1.0 / scale)
            moments += 2.0 * math.log((1.0 - q) / (1.0 - q * math.exp(tilt)))
        return math.ceil((_LOG_TAIL + 1.0 + moments) / tilt)

    @cached_property
    def _law(self) -> Array:
        """The probabilities of the sum up to reach + shift on both sides, right to `_relative`.

        A noise is a sum of two one-sided ones, each a filter that only adds positive numbers.  Its
        ratio is rounded down, which makes the noise smaller.
        """
        from scipy import signal  # slow to load, and seldom needed

        reach = self._reach + self.shift
        made = np.zeros(2 * reach + 1)
        made[reach] = 1.0
        for scale in self.scales:
            ratio = math.exp(-1.0 / scale) * (1.0 - 4.0 * UNIT)
            for _ in range(2):
                made = signal.lfilter([1.0 - ratio], [1.0, -ratio], made)[::-1]
        return np.asarray(made / made.sum())

    @property
    def _relative(self) -> float:
        return UNIT * (8.0 * len(self.scales) * (self._reach + self.shift) + 64.0)

    @property
    def _lost(self) -> float:
        return math.exp(-_LOG_TAIL)

    @cached_property
    def _below(self) -> Array:
        return np.concatenate([[0.0], np.cumsum(self._law)])

    @cached_property
    def _ratios(self) -> Array:
        """Minus the likelihood ratios against the shifted law, which rise, from where both are."""
        law = self._law
        own, other = law[self.shift :], law[: law.size - self.shift]
        # the tails of many noises underflow; no threshold there loses more than is faint
        endless = np.full(own.size, np.inf)
        ratios = np.divide(own, other, out=endless, where=other >= _FAINT)
        return -np.minimum.accumulate(ratios)

    def delta(self, epsilon: float) -> float:
        """The mass below the best threshold, minus e^epsilon times the shifted one, rounded up."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        if self.shift == 0 or epsilon >= self.pure_epsilon:
            return 0.0
        if self.shift > self._reach:  # the laws hardly overlap, and their tails would underflow
            return 1.0
        factor = math.exp(min(epsilon, _LARGEST_EXPONENT))
        # points in front of the first ratio have no shifted mass and count in full
        place = self.shift + int(np.searchsorted(self._ratios, -factor))
        own, other = float(self._below[place]), float(self._below[place - self.shift])
        found = own - factor * other
        doubt = 8.0 * self._relative * (own + factor * other) + 4.0 * self._lost
        return min(1.0, max(found, 0.0) + doubt)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon found with `self.delta(epsilon) <= delta`."""
        delta = arguments.probability("delta", delta)
        if delta >= 1.0 or self.shift == 0:
            return 0.0
        return smallest_satisfying(lambda e: self.delta(e) <= delta, 0.0, self.pure_epsilon)

    def renyi(self, order: float) -> float:
        """The exact divergence, rounded up; at most the level of pure privacy."""
        order = arguments.renyi_order("order", order)
        most = self.pure_epsilon
        if self.shift == 0 or self.shift > self._reach or (order - 1.0) * most > 600.0:
            return most
        law = self._law
        own, other = law[self.shift :], law[: law.size - self.shift]
        known = (own >= _FAINT) & (other >= _FAINT)
        terms = order * np.log(own[known]) + (1.0 - order) * np.log(other[known])
        outside = float(law[: self.shift].sum() + own[~known].sum()) + 2.0 * self._lost
        # where only one law is known the ratio is at most that of pure privacy
        parts = [float(special.logsumexp(terms)), math.log(outside) + (order - 1.0) * most]
        total = float(special.logsumexp(parts)) + 2.0 * order * self._relative + 1e-13
        return min(most, inflate(max(total / (order - 1.0), SMALLEST_POSITIVE), 1e-13))

    def group(self, size: int) -> LaplaceSumDP:
        """The shift grows with the group."""
        return LaplaceSumDP(self.shift * arguments.count("size", size), self.scales)

    def repeat(self, times: int) -> Guarantee:
        """Independent releases, their profiles convolved."""
        times = arguments.count("times", times)
        return self if times == 1 else ComposedDP(((self, times),))

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        """Profiles are convolved, pure bounds and Renyi divergences added, the least is taken."""
        return composed_of((self, *others))


def guarantee_of(release: LaplaceRelease) -> LaplaceSumDP:
    """Return what numbers with several Laplace noises cost, their roundings included."""
    return LaplaceSumDP(release.shift, release.scales_in_units)
