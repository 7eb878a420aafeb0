"""Arguments are checked once, with a message that says which, what was given and what to do."""

from __future__ import annotations

import math
from numbers import Integral, Real

from wane.errors import InvalidDescription


def non_negative(value: float, name: str, cure: str = "use inf for no privacy at all") -> float:
    """`value` as a float >= 0; infinity is allowed."""
    number = _number(value, name)
    if not number >= 0.0:
        raise InvalidDescription(f"{name} must be a number >= 0, got {value!r}; {cure}")
    return number


def probability(value: float, name: str) -> float:
    """`value` as a float between 0 and 1."""
    number = _number(value, name)
    if not 0.0 <= number <= 1.0:
        raise InvalidDescription(
            f"{name} must be a probability between 0 and 1, got {value!r}; typical values of a "
            "delta are far below 1/records"
        )
    return number


def renyi_order(value: float) -> float:
    """`value` as a float > 1."""
    number = _number(value, "order")
    if not number > 1.0:
        raise InvalidDescription(
            f"order must be a number > 1, got {value!r}; use 1 + 1e-6 to come close to Kullback-"
            "Leibler"
        )
    return number


def count(value: object, name: str) -> int:
    """`value` as an integer >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidDescription(f"{name} must be an integer >= 1, got {value!r}; use int(...)")
    return int(value)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        raise InvalidDescription(f"{name} must be a number, got {value!r}; pass a plain float")
    return float(value)
