"""The class of verifiers: a theorem's bound in balls, and the facts that the judge needs of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wane.balls.bounds import Bound
from wane.describe import NoisyDescent

Bounds = Callable[..., Bound | None]
"""Takes the run, and the number of a fact where it rests on one; None where a hypothesis fails."""


@dataclass(frozen=True)
class Verifier:
    """A theorem computed again, by the name that certificates use.

    Attributes:
        name: the theorem's.
        bound: its bound of a description, in balls.
        all_steps_seen: it holds for a run all of whose iterates are seen.
        never_worse_than: theorems that support whatever this one claims.
        fact: the kind of the fact that it rests on, whose number is its second argument.
        of: the kind of description that the theorem speaks of.
    """

    name: str
    bound: Bounds
    all_steps_seen: bool = False
    never_worse_than: tuple[str, ...] = ()
    fact: str | None = None
    of: type[Any] = NoisyDescent

    def __call__(self, run: Any, k: float | None = None) -> Bound | None:
        """Return the bound of a run, k being the number of the fact it rests on."""
        return self.bound(run) if self.fact is None else self.bound(run, k)


def verifier(
    *,
    all_steps_seen: bool = False,
    never_worse_than: tuple[str, ...] = (),
    fact: str | None = None,
    of: type[Any] = NoisyDescent,
) -> Callable[[Bounds], Verifier]:
    """Make a verifier of a function that has the theorem's name."""

    def made(bound: Bounds) -> Verifier:
        return Verifier(bound.__name__, bound, all_steps_seen, never_worse_than, fact, of)

    return made
