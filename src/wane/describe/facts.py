"""Facts that belong to one run: a number, what it bounds, and the run that it was stated for.

A constant of the losses is true of every run on them and lives in `Objective`.  A fact is true of
one run only: another number of steps, another noise, another start, and it may be false.  So it is
never a field of a description.  It names its run by the hash of the whole description, and is
unknown to every other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wane import arguments
from wane.describe.constants import defined
from wane.describe.descent import NoisyDescent
from wane.describe.fields import FACTS_OF_ONE_RUN, run_from_fields, run_to_fields
from wane.errors import InvalidDescription


class FactKind(Enum):
    """What a fact of a run bounds."""

    LOG_SOBOLEV = "log_sobolev"
    AVERAGE_SMOOTHNESS = "average_smoothness"

    @property
    def meaning(self) -> str:
        """The fact in a sentence."""
        return defined("fact", self.value).sentence


def fingerprint(run: NoisyDescent) -> str:
    """Return SHA-256 of the whole description, in canonical JSON: what a fact is bound to."""
    arguments.kind("run", run, (NoisyDescent,))
    text = json.dumps(run_to_fields(run), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Fact:
    """A number that is true of one run, and the user's to prove; make it with `Fact.of`.

    Attributes:
        kind: what the number bounds.
        value: the number.
        about: the fingerprint of the run that it was stated for.
    """

    kind: FactKind
    value: float
    about: str

    def __post_init__(self) -> None:
        arguments.kind("kind", self.kind, (FactKind,))
        object.__setattr__(self, "value", arguments.real(self.kind.value, self.value, above=0.0))
        if not isinstance(self.about, str) or len(self.about) != 64:
            raise InvalidDescription(
                f"about must be the fingerprint of a run, got {self.about!r:.80}; "
                "make the fact with Fact.of(run, kind, value)."
            )

    @classmethod
    def of(cls, run: NoisyDescent, kind: FactKind, value: float) -> Fact:
        """Return the fact that this number is true of this very run."""
        return cls(kind, value, fingerprint(run))

    def to_fields(self) -> dict[str, Any]:
        """Return the fact as documents hold it."""
        return {"kind": self.kind.value, "value": self.value, "about": self.about}

    @classmethod
    def from_fields(cls, given: Any) -> Fact:
        """Return the fact that `to_fields` wrote."""
        if not isinstance(given, Mapping) or set(given) != {"kind", "value", "about"}:
            raise InvalidDescription(
                f"a fact must have the keys kind, value and about, got {given!r:.80}."
            )
        kind = arguments.member("kind", given["kind"], FactKind)
        return cls(kind, given["value"], given["about"])


@dataclass(frozen=True)
class StatedRun:
    """A run, and the facts that a file states beside it."""

    run: NoisyDescent
    facts: tuple[Fact, ...] = ()


def stated_from_fields(given: object) -> StatedRun:
    """Return the described run with the facts that stand beside it, at the top level."""
    if not isinstance(given, Mapping):
        return StatedRun(run_from_fields(given))
    names = {name: FactKind(name) for name in FACTS_OF_ONE_RUN}
    run = run_from_fields({key: value for key, value in given.items() if key not in names})
    facts = (Fact.of(run, kind, given[name]) for name, kind in names.items() if name in given)
    return StatedRun(run, tuple(facts))


def without_facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description of version 0.1.0 less the facts that its objective held.

    They were kept for runs of which nobody had stated them.  What is left is true and proves less.
    """
    objective = given.get("objective")
    if not isinstance(objective, Mapping):
        return dict(given)
    kept = {name: value for name, value in objective.items() if name not in FACTS_OF_ONE_RUN}
    return {**given, "objective": kept}


def stated_to_fields(run: NoisyDescent, facts: Iterable[Fact] = ()) -> dict[str, Any]:
    """Return the dictionary that `stated_from_fields` turns back into this run and its facts."""
    known = tuple(facts)
    about = fingerprint(run) if known else ""
    mine = {fact.kind.value: fact.value for fact in known if fact.about == about}
    return run_to_fields(run) | {k: v for k, v in mine.items() if k in FACTS_OF_ONE_RUN}
