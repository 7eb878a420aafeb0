"""Compare two documents field by field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

CLAIMS = frozenset(
    {"epsilon", "mu", "zcdp", "composition_epsilon", "true_positive_rate", "advantage"}
)
"""Upper bounds, which another machine may compute a little differently."""
LOWER = "lower_bound_epsilon"
AGREEMENT = 1e-6
"""How nearly two computations of one bound agree."""
SAME = 1e-12
"""Within this two numbers are the same, rounded in another order."""
NAMED = {
    "verdicts": "theorem",
    "constants": "name",
    "symbols": "symbol",
    "roc": "false_positive_rate",
}
"""Lists whose rows have names: they are compared row by row, whatever their order."""


class DifferenceKind(Enum):
    """The ways in which a field of two documents can differ."""

    MISSING = "is missing"
    UNKNOWN = "is not a field that wane writes"
    WORDS = "says something else"
    NUMBER = "is another number"
    SMALLER = "claims more than wane computes"
    LARGER = "claims less than wane computes"


@dataclass(frozen=True)
class Difference:
    """A field in which a document differs from the one that wane writes.

    Attributes:
        where: its place, as in `verdicts.last_iterate.epsilon`.
        kind: in what it differs.
        found, expected: both values, None where there is none.
    """

    where: str
    kind: DifferenceKind
    found: Any = None
    expected: Any = None

    def __str__(self) -> str:
        words = f"{self.where} {self.kind.value}"
        if self.kind in (DifferenceKind.MISSING, DifferenceKind.UNKNOWN):
            return words
        return f"{words}: {_shown(self.found)}, where wane writes {_shown(self.expected)}"


def differences(found: Any, expected: Any, where: str = "") -> Iterator[Difference]:
    """Yield every field in which `found` is not `expected`."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for name in dict.fromkeys((*expected, *found)):
            place = f"{where}.{name}" if where else str(name)
            if name not in found:
                yield Difference(place, DifferenceKind.MISSING)
            elif name not in expected:
                yield Difference(place, DifferenceKind.UNKNOWN)
            else:
                yield from differences(found[name], expected[name], place)
    elif isinstance(found, list) and isinstance(expected, list):
        yield from _of_lists(found, expected, where)
    elif not _same(found, expected):
        yield from _of_leaves(found, expected, where)


def _of_lists(found: list[Any], expected: list[Any], where: str) -> Iterator[Difference]:
    rows, wanted = _by_name(found, where), _by_name(expected, where)
    if len(rows) < len(found):
        yield Difference(where, DifferenceKind.UNKNOWN)
    yield from differences(rows, wanted, where)


def _by_name(rows: list[Any], where: str) -> dict[str, Any]:
    """Return rows by their name where they have one, by their index otherwise."""
    key = NAMED.get(where)
    if key is None:
        return {str(place): row for place, row in enumerate(rows)}
    return {str(row.get(key) if isinstance(row, Mapping) else row): row for row in rows}


def _of_leaves(found: Any, expected: Any, where: str) -> Iterator[Difference]:
    name = where.rpartition(".")[2]
    one, other = _number(found), _number(expected)
    if one is None or other is None:
        both = isinstance(found, str) and isinstance(expected, str)
        yield Difference(
            where, DifferenceKind.WORDS if both else DifferenceKind.NUMBER, found, expected
        )
    elif name in CLAIMS or name == LOWER:
        if not math.isclose(one, other, rel_tol=AGREEMENT, abs_tol=1e-15):
            bold = one > other if name == LOWER else one < other
            yield Difference(
                where, DifferenceKind.SMALLER if bold else DifferenceKind.LARGER, found, expected
            )
    else:
        yield Difference(where, DifferenceKind.NUMBER, found, expected)


def _same(found: Any, expected: Any) -> bool:
    """Return whether two values are equal, where true is not the number one."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=SAME)
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def _number(value: Any) -> float | None:
    if value == "infinity":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."
