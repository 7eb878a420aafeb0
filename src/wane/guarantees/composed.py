"""Composition of guarantees of any kinds through their privacy profiles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from wane.guarantees import arguments
from wane.guarantees.base import Guarantee
from wane.guarantees.renyi import CurveOf, RenyiDP
from wane.numerics.composed_losses import ComposedLosses
from wane.numerics.discrete_losses import DiscreteLosses
from wane.numerics.profile_dots import LARGEST_LOSS, profile_dots
from wane.numerics.rounding import add_up, inflate

FAINT = 1e-30
"""A delta from which on losses count as infinite, unless the guarantee is pure."""

_ROUGH = 48  # points of the profile that tell how wide a loss is
_INTERVAL = 0.02  # of the standard deviation of one loss: adds 1e-4 to its variance
_FEWEST = 1024.0
_MOST = 2.0**20  # intervals across the widest range of losses
_MOST_OF_SUM = 2.0**18  # and across that of the sum


@final
@dataclass(frozen=True)
class ComposedDP(Guarantee):
    """Independent uses of several guarantees, each `(guarantee, times)`: the best of three bounds.

    Each profile becomes a pair that dominates it (`profile_dots`), and the pairs' losses are
    convolved; pure bounds add up; Renyi divergences add up.  Every question is answered by the
    smallest of the three answers.
    """

    parts: tuple[tuple[Guarantee, int], ...]
    generality: ClassVar[int] = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _counted(self.parts))

    def delta(self, epsilon: float) -> float:
        """Return the least of the three bounds, never rounded down; zero from the pure bound on."""
        epsilon = arguments.epsilon("epsilon", epsilon)
        if epsilon >= self.pure_epsilon:
            return 0.0
        least = self._as_renyi.delta(epsilon)
        if self._account is None or math.isinf(epsilon):
            return least
        return min(least, self._account.delta(epsilon))

    def rough_delta(self, epsilon: float) -> float:
        """Return the account's delta alone, which is enough for error rates."""
        if epsilon >= self.pure_epsilon or self._account is None or math.isinf(epsilon):
            return self.delta(epsilon)
        return self._account.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the least of the three bounds, never rounded down."""
        delta = arguments.probability("delta", delta)
        if delta >= 1.0 or self.pure_epsilon == 0.0:
            return 0.0
        least = min(self.pure_epsilon, self._as_renyi.epsilon(delta))
        if delta == 0.0 or self._account is None:
            return least
        return min(least, self._account.epsilon(delta))

    def renyi(self, order: float) -> float:
        """Return the sum of the parts' divergences, at most the pure bound."""
        order = arguments.renyi_order("order", order)
        total = add_up((part.renyi(order), times) for part, times in self.parts)
        return min(total, self.pure_epsilon)

    def repeat(self, times: int) -> ComposedDP:
        """Return the composition with every count multiplied."""
        times = arguments.count("times", times)
        return ComposedDP(tuple((part, count * times) for part, count in self.parts))

    def group(self, size: int) -> ComposedDP:
        """Return the composition of the groups of every part."""
        size = arguments.count("size", size)
        return ComposedDP(tuple((part.group(size), count) for part, count in self.parts))

    def absorb(self, others: tuple[Guarantee, ...]) -> ComposedDP:
        """Return the composition of all parts together."""
        return composed_of((self, *others))

    @cached_property
    def pure_epsilon(self) -> float:
        """The sum of the parts' bounds without a delta; infinite if one has none."""
        return add_up((part.epsilon(0.0), times) for part, times in self.parts)

    @cached_property
    def _account(self) -> ComposedLosses | None:
        return convolved(self.parts)

    @cached_property
    def _as_renyi(self) -> RenyiDP:
        return RenyiDP(CurveOf(self))


def composed_of(guarantees: Iterable[Guarantee]) -> ComposedDP:
    """Return guarantees of any kinds as one composition."""
    parts: list[tuple[Guarantee, int]] = []
    for one in guarantees:
        parts.extend(one.parts if isinstance(one, ComposedDP) else ((one, 1),))
    return ComposedDP(tuple(parts))


def reach_of(guarantee: Guarantee) -> float:
    """Return the largest epsilon at which the profile is used: its pure bound, or a faint delta."""
    pure = guarantee.epsilon(0.0)
    return min(pure if math.isfinite(pure) else guarantee.epsilon(FAINT), LARGEST_LOSS)


def dots_of(guarantee: Guarantee, interval: float, reach: float, points: int) -> DiscreteLosses:
    """Return the guarantee's losses on dots, from at most so many points of the profile."""
    last = max(math.ceil(reach / interval), 1)
    gap = max(1, -(-last // points))
    places = np.append(np.arange(0, last, gap), last)
    deltas = np.asarray(guarantee.deltas([float(place) * interval for place in places]))
    return profile_dots(places, deltas, interval)


def own_dots(guarantee: Guarantee) -> tuple[DiscreteLosses, float] | None:
    """Return the losses of one use and their interval; None if nothing leaks."""
    reach = reach_of(guarantee)
    if not reach > 0.0:
        return None
    # The last dot lies on the reach, so that a pure bound is not rounded to a coarser one.
    interval = inflate(reach, 4e-16) / guarantee.profile_points
    return dots_of(guarantee, interval, reach, guarantee.profile_points), interval


def convolved(parts: tuple[tuple[Guarantee, int], ...]) -> ComposedLosses | None:
    """Return the account of all parts, or None if it would be too wide or a delta is one."""
    reaching = [(part, times, reach_of(part)) for part, times in parts]
    reaching = [(part, times, reach) for part, times, reach in reaching if reach > 0.0]
    if not reaching or any(part.deltas([reach])[0] >= 1.0 for part, _, reach in reaching):
        return None
    variance = math.fsum(times * _variance(part, reach) for part, times, reach in reaching)
    steps = sum(times for _, times, _ in reaching)
    if not 1e-200 < variance < math.inf:
        return None
    widest, spread = max(reach for _, _, reach in reaching), 20.0 * math.sqrt(variance)
    fine = min(_INTERVAL * math.sqrt(variance / steps), widest / _FEWEST)
    wished = max(fine, widest / _MOST, spread / _MOST_OF_SUM)
    # A dot on the largest loss: a pure bound would be rounded up to the next one.
    interval = inflate(widest, 4e-16) / math.ceil(widest / wished)
    return ComposedLosses(
        [
            (dots_of(part, interval, reach, part.profile_points), times)
            for part, times, reach in reaching
        ],
        interval,
    )


def _variance(guarantee: Guarantee, reach: float) -> float:
    """Return an estimate of the variance of the loss, from a few points of the profile."""
    points = min(_ROUGH, guarantee.profile_points // 2)
    interval = reach / points
    dots = dots_of(guarantee, interval, reach, points)
    losses = dots.places * interval
    mean = float(np.sum(dots.masses * losses))
    return float(np.sum(dots.masses * (losses - mean) ** 2))


def _counted(parts: Iterable[tuple[Guarantee, int]]) -> tuple[tuple[Guarantee, int], ...]:
    """Return the parts with equal guarantees counted together."""
    counted: list[tuple[Guarantee, int]] = []
    for part, given in parts:
        times = arguments.count("times", given)
        places = [i for i, (earlier, _) in enumerate(counted) if earlier == part]
        if places:
            counted[places[0]] = (part, counted[places[0]][1] + times)
        else:
            counted.append((part, times))
    return tuple(counted)
