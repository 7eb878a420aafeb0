"""One statistic published at several levels of privacy along one path.

Along a path each later position is made from the earlier one and fresh noise alone, so whoever
holds several positions knows no more than the holder of the earliest: a coalition costs what its
least private member costs, and nothing is added up.  This is true of points of one path only; for
branches see `BranchedRelease`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from wane.arrays import Array
from wane.describe import check
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.mechanisms.diffusions import GaussianDiffusion, shifted
from wane.mechanisms.statistics import Outside
from wane.randomness import noise_generator, refuse_to_be_copied


@dataclass(frozen=True)
class CoalitionCertificate:
    """What readers who pool all they were given know together, and why."""

    members: tuple[str, ...]
    guarantee: GaussianDP
    because: str

    @property
    def mu(self) -> float:
        """The exact Gaussian DP parameter of everything they hold."""
        return self.guarantee.mu


@dataclass(frozen=True)
class Reading:
    """What one reader may see: the published positions at the reader's level or stricter."""

    level: str
    points: Mapping[str, Array]
    guarantee: GaussianDP


@dataclass(frozen=True)
class NestedRelease:
    """Levels of privacy along one path; each level is a time, later is stricter.

    Attributes:
        mechanism: the process; no level may come before its `time`.
        levels: name -> time.
    """

    mechanism: GaussianDiffusion
    levels: Mapping[str, float]

    def __post_init__(self) -> None:
        check.kind("mechanism", self.mechanism, (GaussianDiffusion,))
        times = checked_levels(self.levels, least=self.mechanism.time)
        object.__setattr__(self, "levels", MappingProxyType(times))

    @classmethod
    def for_mu(cls, mechanism: GaussianDiffusion, mus: Mapping[str, float]) -> NestedRelease:
        """Levels placed as early as their own mu allows."""
        times = {name: mechanism.time_for(mu) for name, mu in checked_levels(mus).items()}
        return cls(mechanism.at(min(times.values())), times)

    def guarantee(self, level: str) -> GaussianDP:
        """What a reader of this level alone learns, exactly."""
        return GaussianDP(self.mechanism.mu_at(self._time(level)))

    def coalition(self, members: Iterable[str]) -> CoalitionCertificate:
        """What these readers learn together: what the least strict of them learns, exactly."""
        names = distinct(members)
        loosest = min(names, key=self._time)
        because = f"all other positions are made from the one at level {loosest!r} and fresh noise"
        return CoalitionCertificate(names, self.guarantee(loosest), because)

    @property
    def worst_case(self) -> CoalitionCertificate:
        """What everybody together learns once every level is out.

        If whether or when to publish a level depends on earlier releases, this is the certificate.
        """
        return self.coalition(self.levels)

    def open(
        self,
        statistic: Any,
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> OpenPath:
        """Fix the statistic; levels can then be published in any order."""
        return OpenPath(self, statistic, outside=outside, seed_voids_privacy=seed_voids_privacy)

    def _time(self, level: str) -> float:
        return level_of(self.levels, level)


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
        self._points: dict[float, Array] = {0.0: plan.mechanism.checked(statistic, outside)}
        self._published: set[str] = set()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_to_be_copied("an open path")

    def __repr__(self) -> str:
        return f"OpenPath(published={sorted(self._published)})"

    @property
    def published(self) -> tuple[str, ...]:
        """The levels that are out, loosest first."""
        return tuple(sorted(self._published, key=self.plan.levels.__getitem__))

    def publish(self, level: str) -> Array:
        """The position at this level; the same one however often it is asked for."""
        time = level_of(self.plan.levels, level)
        if self._process != os.getpid():
            refuse_to_be_copied("an open path")
        if time not in self._points:
            self._points[time] = self._draw(time)
        self._published.add(level)
        return self._shown(time)

    def reader(self, level: str) -> Reading:
        """Everything published that a reader of this level may see, and nothing looser."""
        time = level_of(self.plan.levels, level)
        names = [name for name in self.published if self.plan.levels[name] >= time]
        points = {name: self._shown(self.plan.levels[name]) for name in names}
        return Reading(level, MappingProxyType(points), self.plan.guarantee(level))

    @property
    def certificate(self) -> CoalitionCertificate:
        """What everybody together has learnt so far."""
        if not self._published:
            return CoalitionCertificate((), GaussianDP(0.0), "nothing was published")
        return self.plan.coalition(self.published)

    def _shown(self, time: float) -> Array:
        """The position as readers may see it; the path itself goes on from all of its bits."""
        return self.plan.mechanism.rounded(self._points[time], time)

    def _draw(self, time: float) -> Array:
        before = max(t for t in self._points if t < time)
        later = [t for t in self._points if t > time]
        if not later:
            return self.plan.mechanism.step(self._points[before], time - before, self._rng)
        after = min(later)
        start, end = self._points[before], self._points[after]
        kept, pull, variance = bridge(self.plan.mechanism, time - before, after - time)
        noise = math.sqrt(variance) * self._rng.standard_normal(end.shape)
        return shifted(start, kept, pull * end + noise)


def bridge(
    process: GaussianDiffusion, elapsed: float, remaining: float
) -> tuple[float, float, float]:
    """Weights of two known positions in the mean of the one between them, and its variance.

    Claim.  precision 1/v(s) + b(r)^2/v(r), mean (b(s) x/v(s) + b(r) y/v(r))/precision, with decay
    b and variance v over the elapsed s and the remaining r.
    """
    v_s, v_r = process.variance_after(elapsed), process.variance_after(remaining)
    b_s, b_r = process.decay_after(elapsed), process.decay_after(remaining)
    # Multiplied through by v_s v_r, so that a short piece does not overflow.
    total = v_r + b_r * b_r * v_s
    return b_s * v_r / total, b_r * v_s / total, v_s * (v_r / total)


def checked_levels(levels: Mapping[str, float], least: float = 0.0) -> dict[str, float]:
    """Named positive numbers, none below `least`, or a refusal."""
    if not isinstance(levels, Mapping) or not levels:
        raise InvalidDescription(f"levels must name at least one level, got {levels!r:.60}.")
    return {
        _name(name): check.real(f"levels[{name!r}]", value, above=0.0, least=least)
        for name, value in levels.items()
    }


def level_of(levels: Mapping[str, float], name: str) -> float:
    """The number of a level, or a refusal that lists the names."""
    if name not in levels:
        raise InvalidDescription(f"level must be one of {', '.join(levels)}, got {name!r:.60}.")
    return levels[name]


def distinct(members: Iterable[str]) -> tuple[str, ...]:
    """The members without repetition; at least one."""
    if isinstance(members, str):
        members = (members,)
    names = tuple(dict.fromkeys(members))
    if not names:
        raise InvalidDescription("members must name at least one level, got none.")
    return names


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidDescription(f"level names must be words, got {name!r:.60}.")
    return name
