"""Guarantees as JSON fields of a ledger's row: what is read back is at least what was spent.

Most kinds are written down whole.  A guarantee that chooses its parameters when it is asked, or is
known as a function only, is written down as its answers at the deltas that matter, and as the plain
guarantee that takes its place in compositions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wane.certificates.measures import DEFAULT_DELTA, epsilon_of
from wane.guarantees import ChainDP, Guarantee, RenyiDP, WithFailure
from wane.guarantees.fields import ListedCurve, guarantee_from_fields, guarantee_to_fields
from wane.guarantees.renyi import LinearCurve
from wane.theorems.lemmas.family import REFERENCE, Profile, Tuned

ALWAYS = (DEFAULT_DELTA, REFERENCE)
"""Deltas at which answers are kept, whatever the budget."""


@dataclass(frozen=True)
class ListedProfile:
    """A privacy profile given by points; between two, the smaller epsilon's delta is used."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, epsilon: float) -> float:
        """Return a bound at this epsilon: deltas fall as epsilon grows."""
        return min((delta for at, delta in self.points if at <= epsilon), default=1.0)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon of the points that this delta allows."""
        return min((epsilon for epsilon, at in self.points if at <= delta), default=math.inf)


def to_fields(guarantee: Guarantee, deltas: Iterable[float]) -> dict[str, Any]:
    """Return a guarantee as JSON-ready data, exact at these deltas."""
    plain = _plain(guarantee)
    fields = guarantee_to_fields(plain)
    if plain is guarantee:
        return fields
    asked = sorted({*ALWAYS, *deltas})
    pairs = [(epsilon_of(guarantee, delta), delta) for delta in asked]
    points = [[epsilon, delta] for epsilon, delta in pairs if epsilon < math.inf]
    return {"points": points, "plain": fields}


def from_fields(given: Mapping[str, Any]) -> tuple[Guarantee, ...]:
    """Return what `to_fields` wrote down: guarantees that all hold."""
    if "points" not in given:
        return (guarantee_from_fields(given),)
    plain = guarantee_from_fields(given["plain"])
    points = tuple((float(epsilon), float(delta)) for epsilon, delta in given["points"])
    listed = ListedProfile(points)
    return Profile(listed, plain, listed.epsilon), plain


def _plain(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee if it can be written as fields, else the one that it composes as."""
    if isinstance(guarantee, Tuned):
        return _plain(guarantee.suited_to(REFERENCE))
    if isinstance(guarantee, Profile):
        return _plain(guarantee.fallback)
    if isinstance(guarantee, ChainDP | WithFailure):
        inner = _plain(guarantee.inner)
        if inner is guarantee.inner:
            return guarantee
        if isinstance(guarantee, ChainDP):
            return ChainDP(inner, guarantee.size)
        return WithFailure(inner, guarantee.probability)
    if isinstance(guarantee, RenyiDP) and not _is_listed(guarantee):
        return guarantee_from_fields(guarantee_to_fields(guarantee))
    return guarantee


def _is_listed(guarantee: RenyiDP) -> bool:
    linear = isinstance(guarantee.curve, LinearCurve) and math.isinf(guarantee.max_order)
    return linear or isinstance(guarantee.curve, ListedCurve)
