"""The choices of a description: which data sets are neighbours, what is released, which batches.

Whatever takes one of these objects takes the word as well that names it in files and on the
command line: `adjacency="zero-out"`, `release="every-iterate"`, `batches="poisson:250"`.

A step uses the sum of the chosen records' gradients divided by the stated size of a batch, which is
public; an incomplete last batch keeps that divisor.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from wane import arguments
from wane.arguments import Checked, Count, kind, known_keys, member, table
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


@dataclass(frozen=True)
class FullBatch:
    """Every record at every step."""

    kind: ClassVar[str] = "full"


@dataclass(frozen=True)
class _Sized(Checked):
    fields_of: ClassVar[str] = "batches."
    kind: ClassVar[str]
    size: Count


@dataclass(frozen=True)
class Cyclic(_Sized):
    """Fixed disjoint batches, visited in the same public order each epoch."""

    kind: ClassVar[str] = "cyclic"


@dataclass(frozen=True)
class ShuffledOnce(_Sized):
    """As `Cyclic`, after one uniformly random permutation that stays secret for ever."""

    kind: ClassVar[str] = "shuffled-once"


@dataclass(frozen=True)
class Poisson(_Sized):
    """Each record joins each batch independently with probability `size / records`."""

    kind: ClassVar[str] = "poisson"


@dataclass(frozen=True)
class WithoutReplacement(_Sized):
    """A fresh uniformly random set of exactly `size` records at each step."""

    kind: ClassVar[str] = "without-replacement"


Batches = FullBatch | Cyclic | ShuffledOnce | Poisson | WithoutReplacement
BATCHES: tuple[type[Batches], ...] = (FullBatch, Cyclic, ShuffledOnce, Poisson, WithoutReplacement)


def adjacency_of(name: str, value: Any) -> Adjacency:
    """Return the adjacency that a word names, or the value itself; anything else is refused."""
    if isinstance(value, str):
        return member(name, value, Adjacency)
    kind(name, value, (Adjacency,))
    found: Adjacency = value
    return found


def batches_of(name: str, value: Any) -> Batches:
    """Return the batches that a word such as "poisson:250" names, or the value itself."""
    if isinstance(value, str):
        return batches_from_fields(_spelled_batches(name, value))
    kind(name, value, BATCHES)
    found: Batches = value
    return found


def release_of(name: str, value: Any) -> Release:
    """Return the release that a word names, or the value itself; anything else is refused."""
    if isinstance(value, str):
        return release_from_fields(value)
    kind(name, value, RELEASES)
    found: Release = value
    return found


def batches_from_fields(value: Any) -> Batches:
    """Return the batches that a table of `kind` and `size` describes."""
    given = table("batches", value)
    kinds = {one.kind: one for one in BATCHES}
    found = kinds.get(given.pop("kind", None))
    if found is None:
        names = ", ".join(f'"{name}"' for name in kinds)
        raise InvalidDescription(f"batches.kind must be one of {names}.")
    wanted = {f.name: f for f in fields(found)}
    known_keys("batches", given, wanted)
    for name in wanted:
        if name not in given:
            raise InvalidDescription(f"batches.{name} must be given for {found.kind} batches.")
    return found(**given)


def release_from_fields(value: Any) -> Release:
    """Return the release that a word or a list of step numbers describes."""
    simple = {one.name: one for one in (LastIterate, EveryIterate)}
    if isinstance(value, list):
        return Iterates(tuple(value))
    if not isinstance(value, str) or value not in simple:
        names = ", ".join(f'"{name}"' for name in simple)
        raise InvalidDescription(
            f"release must be {names} or a list of step numbers, got {value!r:.60}."
        )
    return simple[value]()


def _spelled_batches(name: str, text: str) -> dict[str, Any]:
    """The table that "poisson:250" stands for."""
    word, colon, size = text.partition(":")
    if not colon:
        return {"kind": word}
    if not (size.isascii() and size.isdigit() and len(size) <= 18):
        raise InvalidDescription(
            f'{name} must be a kind and a size such as "poisson:250", got {text!r:.60}.'
        )
    return {"kind": word, "size": int(size)}
