"""One statistic published along the branches of a tree, which costs more than along one path.

Two branches are two noisy looks at the point they left from.  What a coalition knows follows from
the leaves upwards: a held position pins itself; knowledge of precision J about the end of a branch
with decay b and variance v is knowledge of precision b^2/(v + 1/J) about its beginning; knowledge
through different branches adds up.  At the root this is mu^2 = sensitivity^2 * J, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from wane.arrays import Array
from wane.describe import check
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.mechanisms.diffusions import GaussianDiffusion
from wane.mechanisms.hierarchy import CoalitionCertificate, Reading, distinct, level_of
from wane.mechanisms.pairs import UNIT
from wane.mechanisms.statistics import Outside
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.randomness import noise_generator

_FLOOR = 1e-140  # smaller signals are raised to this: their squares could underflow on the way


class Branch(NamedTuple):
    """Where a position comes from: another position (None is the statistic), and how much later."""

    parent: str | None
    duration: float


@dataclass(frozen=True)
class BranchedRelease:
    """Positions on a tree of paths that share their beginnings.

    Attributes:
        mechanism: the process; no position may come before its `time`.
        branches: name -> Branch(parent, duration); parents come before their children.
    """

    mechanism: GaussianDiffusion
    branches: Mapping[str, Branch]
    times: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        check.kind("mechanism", self.mechanism, (GaussianDiffusion,))
        if not isinstance(self.branches, Mapping) or not self.branches:
            raise InvalidDescription("branches must name at least one position, got none.")
        made: dict[str, Branch] = {}
        times: dict[str, float] = {}
        for name, (parent, duration) in self.branches.items():
            if parent is not None and parent not in times:
                raise InvalidDescription(
                    f"branches[{name!r}] must start at None or at a position named before it, got "
                    f"{parent!r:.60}."
                )
            span = check.real(f"branches[{name!r}].duration", duration, above=0.0)
            start = 0.0 if parent is None else times[parent]
            times[name] = check.real(
                f"time of branches[{name!r}]", start + span, least=self.mechanism.time
            )
            made[name] = Branch(parent, span)
        object.__setattr__(self, "branches", MappingProxyType(made))
        object.__setattr__(self, "times", MappingProxyType(times))

    def guarantee(self, position: str) -> GaussianDP:
        """What a reader of this position alone learns, exactly."""
        return self.coalition([position]).guarantee

    def coalition(self, members: Iterable[str]) -> CoalitionCertificate:
        """What these readers learn together, exactly."""
        names = distinct(members)
        for name in names:
            level_of(self.times, name)
        signal = max(math.sqrt(self._precision(set(names))), _FLOOR)
        # Each position on the way adds about eight roundings; decays add their exponent's.
        reach = max(-math.log(max(self._decay(name), SMALLEST_POSITIVE)) for name in names)
        slack = (16.0 * (len(self.branches) + 2) + 4.0 * reach) * UNIT
        raised = inflate(max(self.mechanism.charged_sensitivity * signal, SMALLEST_POSITIVE), slack)
        ancestor = self.common_ancestor(names)
        start = "the statistic" if ancestor is None else f"position {ancestor!r}"
        because = f"independent looks at {start} add up, positions further down the same way do not"
        return CoalitionCertificate(names, GaussianDP(raised), because)

    def ancestor_bound(self, members: Iterable[str]) -> float:
        """The mu of the nearest common ancestor, which bounds the coalition; inf at the root."""
        ancestor = self.common_ancestor(members)
        return math.inf if ancestor is None else self.mechanism.mu_at(self.times[ancestor])

    def common_ancestor(self, members: Iterable[str]) -> str | None:
        """The last position all members descend from (or are); None is the statistic itself."""
        lines = [self._line(name) for name in distinct(members)]
        shared = [name for name in lines[0] if all(name in line for line in lines[1:])]
        return shared[0] if shared else None

    @property
    def worst_case(self) -> CoalitionCertificate:
        """What everybody together learns once every position is out."""
        return self.coalition(self.branches)

    def publish(
        self,
        statistic: Any,
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> PublishedTree:
        """Draw the whole tree."""
        process, rng = self.mechanism, noise_generator(seed_voids_privacy)
        points: dict[str | None, Array] = {None: process.checked(statistic, outside)}
        for name, (parent, duration) in self.branches.items():
            points[name] = process.step(points[parent], duration, rng)
        drawn = {name: process.rounded(points[name], time) for name, time in self.times.items()}
        return PublishedTree(self, drawn)

    def descendants(self, position: str) -> tuple[str, ...]:
        """The position and all that are made from it."""
        level_of(self.times, position)
        return tuple(name for name in self.branches if position in self._line(name))

    def _line(self, name: str) -> list[str]:
        """The position and its ancestors, nearest first."""
        level_of(self.times, name)
        line, here = [], name
        while True:
            line.append(here)
            parent = self.branches[here].parent
            if parent is None:
                return line
            here = parent

    def _decay(self, name: str) -> float:
        return self.mechanism.decay_after(self.times[name])

    def _precision(self, held: set[str]) -> float:
        """Knowledge of the statistic, gathered from the leaves upwards."""
        known: dict[str | None, float] = dict.fromkeys(self.branches, 0.0)
        known[None] = 0.0
        for name in reversed(list(self.branches)):
            parent, duration = self.branches[name]
            doubt = 0.0 if name in held else math.inf
            if name not in held and known[name] > 0.0:
                doubt = 1.0 / known[name]
            decay = self.mechanism.decay_after(duration)
            known[parent] += decay * decay / (self.mechanism.variance_after(duration) + doubt)
        return known[None]


@dataclass(frozen=True, eq=False)
class PublishedTree:
    """A drawn tree (secret as a whole); hand out `reader(position)`."""

    plan: BranchedRelease
    _points: Mapping[str, Array] = field(repr=False)

    def reader(self, position: str) -> Reading:
        """The position and those made from it, and nothing less private."""
        names = self.plan.descendants(position)
        points = {name: self._points[name].copy() for name in names}
        return Reading(position, MappingProxyType(points), self.plan.guarantee(position))

    def coalition(self, members: Iterable[str]) -> dict[str, Array]:
        """The positions of these members; their certificate is `plan.coalition(members)`."""
        return {name: self._points[name].copy() for name in distinct(members)}
