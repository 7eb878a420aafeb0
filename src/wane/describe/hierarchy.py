"""One statistic published at several levels of privacy, along one path or along a tree of them.

Along a path each later position is made from the earlier one and fresh noise alone, so whoever
holds several positions knows no more than the holder of the earliest: a coalition costs what its
least private member costs, and nothing is added up.  This is true of points of one path only.  Two
branches of a tree are two noisy looks at the point they left from.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from wane import arguments
from wane.describe.choices import Adjacency
from wane.describe.description import Description, Row
from wane.describe.diffusion import SECRET_NOISE, SECRET_STATISTIC, Process
from wane.describe.fields import class_of
from wane.errors import InvalidDescription

if TYPE_CHECKING:
    from wane.guarantees import GaussianDP


class Branch(NamedTuple):
    """Where a position comes from: another position (None is the statistic), and how much later."""

    parent: str | None
    duration: float


class Hierarchy(Description):
    """What a path and a tree of positions of one process share."""

    mechanism: Process

    @property
    def adjacency(self) -> Adjacency | None:
        """Which data sets the sensitivity of the process compares."""
        return self.mechanism.adjacency

    @abstractmethod
    def seen_by(self, members: Iterable[str]) -> Self:
        """Return the description of what these readers hold together, ready to be certified."""

    def guarantee(self, position: str) -> GaussianDP:
        """Return what a reader of this position alone learns, exactly."""
        return self.coalition([position])

    @abstractmethod
    def coalition(self, members: Iterable[str]) -> GaussianDP:
        """Return what these readers learn together; `wane.certify(seen_by(...))` proves it."""

    def mechanism_fields(self) -> dict[str, Any]:
        """Return the process as plain data."""
        return {"kind": self.mechanism.kind, **self.mechanism.parameters()}

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [
            SECRET_STATISTIC,
            "Positions of the path that are not listed, and the bits that a shown one lacks.",
            SECRET_NOISE,
        ]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers of the process."""
        return self.mechanism.constants()


@dataclass(frozen=True)
class NestedRelease(Hierarchy):
    """Levels of privacy along one path; each level is a time, later is stricter.

    Attributes:
        mechanism: the process; no level may come before its `time`.
        levels: name -> time.
    """

    kind: ClassVar[str] = "nested-release"
    released_as: ClassVar[str] = "levels"

    mechanism: Process
    levels: Mapping[str, float]

    def __post_init__(self) -> None:
        _require_process(self.mechanism)
        times = checked_levels(self.levels, least=self.mechanism.time)
        for time in times.values():
            self.mechanism.require_on_path(time)
        object.__setattr__(self, "levels", MappingProxyType(times))

    @classmethod
    def for_mu(cls, mechanism: Process, mus: Mapping[str, float]) -> NestedRelease:
        """Return levels placed as early as their own mu allows."""
        times = {name: mechanism.time_for(mu) for name, mu in checked_levels(mus).items()}
        return cls(mechanism.at(min(times.values())), times)

    def seen_by(self, members: Iterable[str]) -> NestedRelease:
        """Return the release of these levels alone."""
        return replace(self, levels={name: self.time_of(name) for name in distinct(members)})

    def coalition(self, members: Iterable[str]) -> GaussianDP:
        """Return what these readers learn together: what the least strict of them learns."""
        made: GaussianDP = _privacy().path_guarantee(self.seen_by(members))
        return made

    @property
    def worst_case(self) -> GaussianDP:
        """What everybody together learns once every level is out.

        If whether or when to publish a level depends on earlier releases, this is the guarantee.
        """
        return self.coalition(self.levels)

    def open(self, statistic: Any, **options: Any) -> Any:
        """Return a `wane.mechanisms.OpenPath`, whose levels can be published in any order."""
        return import_module("wane.run.hierarchies").OpenPath(self, statistic, **options)

    def time_of(self, level: str) -> float:
        """Return the time of a level, or refuse a name that is none."""
        return level_of(self.levels, level)

    def parameters(self) -> dict[str, Any]:
        """Return the process and the times of the levels."""
        return {"mechanism": self.mechanism_fields(), "levels": dict(self.levels)}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> NestedRelease:
        """Return the release of these parameters."""
        return cls(**_with_mechanism(given))

    def summary(self) -> str:
        """Return the release in one line."""
        return f"levels {', '.join(self.levels)} along one path: {self.mechanism.summary()}"

    def released_words(self) -> str:
        """Return what is released, in words."""
        listed = ", ".join(f"{name} at time {time:.6g}" for name, time in self.levels.items())
        return f"Positions of one path of the diffusion: {listed}."

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for: those of the earliest level."""
        return self.mechanism.at(min(self.levels.values())).symbols()


@dataclass(frozen=True)
class BranchedRelease(Hierarchy):
    """Positions on a tree of paths that share their beginnings.

    Attributes:
        mechanism: the process; no position may come before its `time`.
        branches: name -> Branch(parent, duration); parents come before their children.
        seen: the positions that are given away; None for all of them.
    """

    kind: ClassVar[str] = "branched-release"
    released_as: ClassVar[str] = "positions"

    mechanism: Process
    branches: Mapping[str, Branch]
    seen: tuple[str, ...] | None = None
    times: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        _require_process(self.mechanism)
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
            span = arguments.real(f"branches[{name!r}].duration", duration, above=0.0)
            start = 0.0 if parent is None else times[parent]
            times[name] = arguments.real(
                f"time of branches[{name!r}]", start + span, least=self.mechanism.time
            )
            made[name] = Branch(parent, span)
        object.__setattr__(self, "branches", MappingProxyType(made))
        object.__setattr__(self, "times", MappingProxyType(times))
        if self.seen is not None:
            object.__setattr__(self, "seen", distinct(self.seen))
            for name in self.seen:
                level_of(times, name)

    @property
    def seen_names(self) -> tuple[str, ...]:
        """The positions that are given away."""
        return tuple(self.branches) if self.seen is None else self.seen

    def seen_by(self, members: Iterable[str]) -> BranchedRelease:
        """Return the same tree, of which these positions are given away."""
        return BranchedRelease(self.mechanism, self.branches, distinct(members))

    def coalition(self, members: Iterable[str]) -> GaussianDP:
        """Return what these readers learn together, exactly."""
        made: GaussianDP = _privacy().tree_guarantee(self.seen_by(members))
        return made

    def ancestor_bound(self, members: Iterable[str]) -> float:
        """Return the mu of the nearest common ancestor, which bounds the whole; inf at the root."""
        ancestor = self.common_ancestor(members)
        return math.inf if ancestor is None else self.mechanism.mu_at(self.times[ancestor])

    def common_ancestor(self, members: Iterable[str]) -> str | None:
        """Return the last position all members descend from (or are); None is the statistic."""
        lines = [self._line(name) for name in distinct(members)]
        shared = [name for name in lines[0] if all(name in line for line in lines[1:])]
        return shared[0] if shared else None

    @property
    def worst_case(self) -> GaussianDP:
        """What everybody together learns once every position is out."""
        return self.coalition(self.branches)

    def publish(self, statistic: Any, **options: Any) -> Any:
        """Return the whole tree, drawn: a `wane.mechanisms.PublishedTree`."""
        return import_module("wane.run.hierarchies").drawn_tree(self, statistic, **options)

    def descendants(self, position: str) -> tuple[str, ...]:
        """Return the position and all that are made from it."""
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

    def parameters(self) -> dict[str, Any]:
        """Return the process, the tree, and what of it is given away."""
        tree = [[name, parent, span] for name, (parent, span) in self.branches.items()]
        made: dict[str, Any] = {"mechanism": self.mechanism_fields(), "branches": tree}
        return made if self.seen is None else made | {"seen": list(self.seen)}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> BranchedRelease:
        """Return the release of these parameters."""
        table = _with_mechanism(given)
        rows = table.pop("branches")
        tree = {str(name): Branch(parent, span) for name, parent, span in rows}
        if len(tree) < len(rows):
            raise InvalidDescription("branches must have one row for each position, got two.")
        seen = table.pop("seen", None)
        return cls(branches=tree, seen=None if seen is None else tuple(seen), **table)

    def summary(self) -> str:
        """Return the release in one line."""
        return (
            f"{len(self.seen_names)} of {len(self.branches)} positions on a tree of paths: "
            f"{self.mechanism.summary()}"
        )

    def released_words(self) -> str:
        """Return what is released, in words."""
        seen = ", ".join(f"{name} at time {self.times[name]:.6g}" for name in self.seen_names)
        return f"Positions on a tree of paths of the diffusion: {seen}."

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for: those of the process."""
        return self.mechanism.symbols()


def _with_mechanism(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the process as an object; the adjacency is the process's."""
    table = dict(given)
    process = dict(table.pop("mechanism"))
    kind = class_of(process.pop("kind", None))
    if not issubclass(kind, Process):
        raise InvalidDescription(f"mechanism.kind must be that of a diffusion, got {kind.kind!r}.")
    made = kind.from_parameters(process | {"adjacency": table.pop("adjacency", None)})
    return table | {"mechanism": made}


def _require_process(mechanism: object) -> None:
    if not isinstance(mechanism, Process):
        raise InvalidDescription(f"mechanism must be a diffusion, got {mechanism!r:.60}.")


def _privacy() -> Any:
    # the package of theorems stands above this one, so that its lemma is asked for by its name
    return import_module("wane.theorems.lemmas.diffusions")


def checked_levels(levels: Mapping[str, float], least: float = 0.0) -> dict[str, float]:
    """Return named positive numbers, none below `least`, or refuse them."""
    if not isinstance(levels, Mapping) or not levels:
        raise InvalidDescription(f"levels must name at least one level, got {levels!r:.60}.")
    return {
        _name(name): arguments.real(f"levels[{name!r}]", value, above=0.0, least=least)
        for name, value in levels.items()
    }


def level_of(levels: Mapping[str, float], name: str) -> float:
    """Return the number of a level, or refuse with the names that there are."""
    if name not in levels:
        raise InvalidDescription(f"level must be one of {', '.join(levels)}, got {name!r:.60}.")
    return levels[name]


def distinct(members: Iterable[str]) -> tuple[str, ...]:
    """Return the members without repetition; at least one."""
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
