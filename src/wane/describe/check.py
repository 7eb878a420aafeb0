"""Argument checks: every refusal names the argument, the value and the cure."""

from __future__ import annotations

import math
import numbers
from enum import Enum
from typing import TypeVar

from wane.errors import InvalidDescription

E = TypeVar("E", bound=Enum)


def real(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    finite: bool = True,
    cure: str = "",
) -> float:
    """Return `value` as a float inside the stated range, or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidDescription(_refusal(name, value, "a number", cure))
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond 1e308
        raise InvalidDescription(_refusal(name, value, "a finite number", cure)) from None
    if math.isnan(number) or (finite and math.isinf(number)):
        raise InvalidDescription(_refusal(name, value, "a finite number", cure))
    if above is not None and not number > above:
        raise InvalidDescription(_refusal(name, value, f"> {above:g}", cure))
    if least is not None and not number >= least:
        raise InvalidDescription(_refusal(name, value, f"at least {least:g}", cure))
    if most is not None and not number <= most:
        raise InvalidDescription(_refusal(name, value, f"at most {most:g}", cure))
    return number


def whole(name: str, value: object, *, least: int, most: int | None = None, cure: str = "") -> int:
    """Return `value` as an int inside the stated range, or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidDescription(_refusal(name, value, "a whole number", cure))
    number = int(value)
    if number < least:
        raise InvalidDescription(_refusal(name, value, f"at least {least}", cure))
    if most is not None and number > most:
        raise InvalidDescription(_refusal(name, value, f"at most {most}", cure))
    return number


def kind(name: str, value: object, kinds: tuple[type, ...]) -> None:
    """Refuse a value that is none of these kinds."""
    if not isinstance(value, kinds):
        names = ", ".join(k.__name__ for k in kinds)
        raise InvalidDescription(_refusal(name, value, f"one of {names}", ""))


def member(name: str, value: object, kind: type[E]) -> E:
    """Return the member of an enumeration that has this value, or refuse it by name."""
    for one in kind:
        if value == one.value:
            return one
    names = ", ".join(f'"{one.value}"' for one in kind)
    raise InvalidDescription(f"{name} must be one of {names}, got {value!r:.60}.")


def _refusal(name: str, value: object, wanted: str, cure: str) -> str:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{name} must be {wanted}, got {shown}" + (f"; {cure}" if cure else "") + "."
