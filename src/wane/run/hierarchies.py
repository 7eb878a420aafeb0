"""Drawing one path of a statistic level by level, or a tree of paths; who may see which of it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

from wane.arrays import Array
from wane.describe.diffusion import GaussianDiffusion, Outside
from wane.describe.hierarchy import BranchedRelease, NestedRelease, distinct, level_of
from wane.guarantees import GaussianDP
from wane.randomness import noise_generator, refuse_to_be_copied
from wane.run.diffusions import onwards, rounded, shifted, start_of, step


@dataclass(frozen=True)
class Reading:
    """What one reader may see: the published positions at the reader's level or stricter."""

    level: str
    points: Mapping[str, Array]
    guarantee: GaussianDP


class OpenPath:
    """One path of one fixed statistic, published level by level in any order.

    A level stricter than those out is reached by running on, a looser one by sampling the bridge
    from the statistic to what is out; either way the joint law is that of one path.  The object is
    secret: it holds the statistic.  Hand out `reader(level)`.
    """

    def __init__(
        self,
        plan: NestedRelease,
        statistic: Any,
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> None:
        self.plan = plan
        self._rng = noise_generator(seed_voids_privacy)
        self._process = os.getpid()
        self._points: dict[float, Array] = {0.0: start_of(plan.mechanism, statistic, outside)}
        self._published: set[str] = set()
        if not isinstance(plan.mechanism, GaussianDiffusion):
            # no bridge is known, so the levels are drawn at once, in the order of their times
            for time in sorted(set(plan.levels.values())):
                self._points[time] = self._draw(time)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_to_be_copied("an open path")

    def __repr__(self) -> str:
        return f"OpenPath(published={sorted(self._published)})"

    @property
    def published(self) -> tuple[str, ...]:
        """The levels that are out, loosest first."""
        return tuple(sorted(self._published, key=self.plan.levels.__getitem__))

    def publish(self, level: str) -> Array:
        """Return the position at this level; the same one however often it is asked for."""
        time = level_of(self.plan.levels, level)
        if self._process != os.getpid():
            refuse_to_be_copied("an open path")
        if time not in self._points:
            self._points[time] = self._draw(time)
        self._published.add(level)
        return self._shown(time)

    def reader(self, level: str) -> Reading:
        """Return everything published that a reader of this level may see, and nothing looser."""
        time = level_of(self.plan.levels, level)
        names = [name for name in self.published if self.plan.levels[name] >= time]
        points = {name: self._shown(self.plan.levels[name]) for name in names}
        return Reading(level, MappingProxyType(points), self.plan.guarantee(level))

    @property
    def guarantee(self) -> GaussianDP:
        """What everybody together has learnt so far."""
        return self.plan.coalition(self.published) if self._published else GaussianDP(0.0)

    def _shown(self, time: float) -> Array:
        """Return the position as readers may see it; the path goes on from all of its bits."""
        return rounded(self.plan.mechanism, self._points[time], time)

    def _draw(self, time: float) -> Array:
        before = max(t for t in self._points if t < time)
        later = [t for t in self._points if t > time]
        if not later:
            return onwards(self.plan.mechanism, self._points[before], before, time, self._rng)
        after, process = min(later), self.plan.mechanism
        assert isinstance(process, GaussianDiffusion)  # all others were drawn in order
        start, end = self._points[before], self._points[after]
        share, pull, variance = bridge(process, time - before, after - time)
        noise = math.sqrt(variance) * self._rng.standard_normal(end.shape)
        return shifted(start, share, pull * end + noise)


def bridge(
    process: GaussianDiffusion, elapsed: float, remaining: float
) -> tuple[float, float, float]:
    """Return weights of two known positions in the mean of the one between, and its variance.

    Claim.  precision 1/v(s) + b(r)^2/v(r), mean (b(s) x/v(s) + b(r) y/v(r))/precision, with decay
    b and variance v over the elapsed s and the remaining r.
    """
    v_s, v_r = process.variance_after(elapsed), process.variance_after(remaining)
    b_s, b_r = process.decay_after(elapsed), process.decay_after(remaining)
    # Multiplied through by v_s v_r, so that a short piece does not overflow.
    total = v_r + b_r * b_r * v_s
    return b_s * v_r / total, b_r * v_s / total, v_s * (v_r / total)


@dataclass(frozen=True, eq=False)
class PublishedTree:
    """A drawn tree (secret as a whole); hand out `reader(position)`."""

    plan: BranchedRelease
    _points: Mapping[str, Array] = field(repr=False)

    def reader(self, position: str) -> Reading:
        """Return the position and those made from it, and nothing less private."""
        names = self.plan.descendants(position)
        points = {name: self._points[name].copy() for name in names}
        return Reading(position, MappingProxyType(points), self.plan.guarantee(position))

    def coalition(self, members: Iterable[str]) -> dict[str, Array]:
        """Return the positions of these members; they cost `plan.coalition(members)`."""
        return {name: self._points[name].copy() for name in distinct(members)}


def drawn_tree(
    plan: BranchedRelease,
    statistic: Any,
    *,
    outside: Outside = Outside.REFUSE,
    seed_voids_privacy: int | None = None,
) -> PublishedTree:
    """Return the whole tree, drawn."""
    process, rng = plan.mechanism, noise_generator(seed_voids_privacy)
    points: dict[str | None, Array] = {None: start_of(process, statistic, outside)}
    for name, (parent, duration) in plan.branches.items():
        points[name] = step(process, points[parent], duration, rng)
    drawn = {name: rounded(process, points[name], time) for name, time in plan.times.items()}
    return PublishedTree(plan, drawn)
