"""The threat model: which data sets are neighbours, and what is released."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from wane import arguments
from wane.errors import InvalidDescription


class Adjacency(enum.Enum):
    """Which pairs of data sets must be indistinguishable.

    REPLACE_ONE  one record is exchanged for another; the number of records is public.
    ZERO_OUT     in one of the two data sets, one record is a null record with zero gradient.
    ADD_REMOVE   one record more or less, all divisors staying at their public values.
    """

    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"
    ADD_REMOVE = "add-remove"

    def sensitivity(self, norm_bound: float) -> float:
        """How far one record moves a sum of vectors of norm at most `norm_bound`."""
        return (2.0 if self is Adjacency.REPLACE_ONE else 1.0) * norm_bound


@dataclass(frozen=True)
class LastIterate:
    """Only the last iterate is seen."""

    name: ClassVar[str] = "last-iterate"


@dataclass(frozen=True)
class EveryIterate:
    """Every iterate is seen, as ordinary accountants assume."""

    name: ClassVar[str] = "every-iterate"


@dataclass(frozen=True)
class Iterates:
    """The iterates after these steps are seen (the last one too, whether listed or not)."""

    steps: tuple[int, ...]
    name: ClassVar[str] = "listed-iterates"

    def __post_init__(self) -> None:
        steps = tuple(arguments.whole("release", s, least=1) for s in self.steps)
        if not steps:
            raise InvalidDescription(
                "release must list at least one step, got []; use LastIterate() to release the end."
            )
        object.__setattr__(self, "steps", tuple(sorted(set(steps))))


Release = LastIterate | EveryIterate | Iterates
RELEASES: tuple[type[Release], ...] = (LastIterate, EveryIterate, Iterates)
