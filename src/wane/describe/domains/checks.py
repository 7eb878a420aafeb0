"""Parameters are checked once, when a domain is described; a bad one is named with its cure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wane.errors import InvalidDescription

T = TypeVar("T")


def shown(value: object) -> str:
    """A value as it is quoted in a message: its repr, cut where it would hide the message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def real(name: str, value: object) -> float:
    """A finite number; booleans, text, NaN and infinities are refused."""
    # bool is an int to Python, but radius=True is a slip of the keyboard and not a size.
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidDescription(
            f"{name}={shown(value)} is not a number; give one, such as {name}=1.0"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidDescription(
            f"{name}={shown(value)} is not finite; give a finite number, such as {name}=1.0"
        )
    return number


def positive(name: str, value: object) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0.0:
        raise InvalidDescription(
            f"{name}={shown(value)} is not positive; give a number above 0, such as {name}=1.0"
        )
    return number


def nonnegative(name: str, value: object) -> float:
    """A finite number, zero allowed: a weight of zero is no penalty at all."""
    number = real(name, value)
    if number < 0.0:
        raise InvalidDescription(
            f"{name}={shown(value)} is negative; give 0 or more, such as {name}=1.0"
        )
    return number


def whole(name: str, value: object, *, least: int) -> int:
    """A whole number, not below `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidDescription(
            f"{name}={shown(value)} is not a whole number of at least {least}; "
            f"give one, such as {name}={max(least, 1)}"
        )
    return int(value)


def sequence(name: str, values: object) -> tuple[Any, ...]:
    """A list, tuple or array as a tuple, so that descriptions compare and hash."""
    if isinstance(values, np.ndarray) and values.ndim:
        return tuple(values.tolist())
    if isinstance(values, (list, tuple)):
        return tuple(values)
    raise InvalidDescription(
        f"{name}={shown(values)} is not a sequence; give a list, such as {name}=[...]"
    )


def each(name: str, values: object, check: Callable[[str, object], T]) -> tuple[T, ...]:
    """A non-empty sequence whose every entry passes `check`."""
    entries = sequence(name, values)
    if not entries:
        raise InvalidDescription(f"{name}={shown(values)} is empty; give at least one entry")
    return tuple(check(f"{name}[{place}]", entry) for place, entry in enumerate(entries))


def vector(name: str, values: object) -> tuple[float, ...]:
    """A non-empty tuple of finite numbers."""
    return each(name, values, real)


def matrix(name: str, rows: object) -> tuple[tuple[float, ...], ...]:
    """A non-empty tuple of rows of equal length."""
    table = each(name, rows, vector)
    lengths = sorted({len(row) for row in table})
    if len(lengths) > 1:
        raise InvalidDescription(
            f"{name}={shown(rows)} has rows of lengths {lengths}; give every row the same length"
        )
    return table
