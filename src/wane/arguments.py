"""What arguments must be: every refusal names the argument, the value and the cure.

A constraint is data, such as `positive`.  It checks one argument when it is called, and the fields
of a frozen description when it annotates them:

    @dataclass(frozen=True)
    class Ball(Checked):
        radius: Positive
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from wane.errors import InvalidDescription

E = TypeVar("E", bound=Enum)
T = TypeVar("T")
Constraint = Callable[[str, object], Any]
"""Returns the checked value, or refuses it by the argument's name."""


@dataclass(frozen=True)
class Real:
    """A number inside a range; booleans, text and NaN are refused.

    Attributes:
        above: the number must be larger.
        least, most: the number must not be smaller, not larger.
        finite: whether infinities are refused.
        cure: what to do about a number that is refused.
    """

    above: float | None = None
    least: float | None = None
    most: float | None = None
    finite: bool = True
    cure: str = ""

    def __call__(self, name: str, value: object, /) -> float:
        """Return the value as a float, or refuse it by name."""
        # bool is an int to Python, but radius=True is a slip of the keyboard and not a size
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise refused(name, value, "a number", self.cure)
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond 1e308
            raise refused(name, value, "a finite number", self.cure) from None
        if math.isnan(number) or (self.finite and math.isinf(number)):
            raise refused(name, value, "a finite number" if self.finite else "a number", self.cure)
        if self.above is not None and not number > self.above:
            raise refused(name, value, f"> {self.above:g}", self.cure)
        if self.least is not None and not number >= self.least:
            raise refused(name, value, f"at least {self.least:g}", self.cure)
        if self.most is not None and not number <= self.most:
            raise refused(name, value, f"at most {self.most:g}", self.cure)
        return number


@dataclass(frozen=True)
class Whole:
    """A whole number inside a range; booleans and floats are refused."""

    least: int
    most: int | None = None
    cure: str = ""

    def __call__(self, name: str, value: object, /) -> int:
        """Return the value as an int, or refuse it by name."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise refused(name, value, "a whole number", self.cure)
        number = int(value)
        if number < self.least:
            raise refused(name, value, f"at least {self.least}", self.cure)
        if self.most is not None and number > self.most:
            raise refused(name, value, f"at most {self.most}", self.cure)
        return number


@dataclass(frozen=True)
class Each:
    """A sequence whose entries all meet one constraint, kept as a tuple."""

    entry: Constraint
    fewest: int = 1

    def __call__(self, name: str, values: object, /) -> tuple[Any, ...]:
        """Return the checked entries, or refuse them by name and place."""
        entries = sequence(name, values)
        if len(entries) < self.fewest:
            wanted = f"a sequence of at least {self.fewest}"
            raise refused(name, values, wanted)
        return tuple(self.entry(f"{name}[{place}]", value) for place, value in enumerate(entries))


@dataclass(frozen=True)
class Kind:
    """An object of one of these classes."""

    kinds: tuple[type, ...]

    def __call__(self, name: str, value: T, /) -> T:
        """Return the value itself, or refuse it by name."""
        kind(name, value, self.kinds)
        return value


finite = Real()
positive = Real(above=0.0)
nonnegative = Real(least=0.0)
probability = Real(least=0.0, most=1.0)
count = Whole(least=1)
vector = Each(finite)

Finite = Annotated[float, finite]
Positive = Annotated[float, positive]
NonNegative = Annotated[float, nonnegative]
Probability = Annotated[float, probability]
Count = Annotated[int, count]


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
    return Real(above, least, most, finite, cure)(name, value)


def whole(name: str, value: object, *, least: int, most: int | None = None, cure: str = "") -> int:
    """Return `value` as an int inside the stated range, or refuse it by name."""
    return Whole(least, most, cure)(name, value)


def kind(name: str, value: object, kinds: tuple[type, ...]) -> None:
    """Refuse a value that is none of these kinds."""
    if not isinstance(value, kinds):
        names = ", ".join(k.__name__ for k in kinds)
        raise refused(name, value, f"one of {names}")


def member(name: str, value: object, kind: type[E]) -> E:
    """Return the member of an enumeration that has this value, or refuse it by name."""
    for one in kind:
        if value == one.value:
            return one
    names = ", ".join(f'"{one.value}"' for one in kind)
    raise InvalidDescription(f"{name} must be one of {names}, got {value!r:.60}.")


def choice(name: str, value: object, kind: type[E]) -> E:
    """Return the member itself, or the one that a word names, with `-` or `_` between its parts."""
    if isinstance(value, kind):
        return value
    return member(name, value.replace("_", "-") if isinstance(value, str) else value, kind)


def sequence(name: str, values: object) -> tuple[Any, ...]:
    """Return a list, tuple or array as a tuple, so that descriptions compare and hash."""
    if isinstance(values, np.ndarray) and values.ndim:
        return tuple(values.tolist())
    if isinstance(values, (list, tuple)):
        return tuple(values)
    raise refused(name, values, "a sequence", f"give a list, {name}=[...]")


def table(name: str, value: object) -> dict[str, Any]:
    """Return a copy of a table of keys and values, or refuse it by name."""
    if not isinstance(value, Mapping):
        raise InvalidDescription(f"{name} must be a table of keys and values, got {value!r:.60}.")
    return {str(key): entry for key, entry in value.items()}


def known_keys(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a table with a key that is not known: a misspelt bound must not be ignored."""
    names = tuple(known)
    for key in given:
        if key not in names:
            raise InvalidDescription(
                f"{name} has the unknown key {key!r:.60}; known keys are {', '.join(names)}."
            )


def matrix(name: str, rows: object) -> tuple[tuple[float, ...], ...]:
    """Return a non-empty tuple of rows of equal length, or refuse them by name."""
    found: tuple[tuple[float, ...], ...] = Each(vector)(name, rows)
    lengths = sorted({len(row) for row in found})
    if len(lengths) > 1:
        raise refused(name, rows, "rows of equal length", f"these have lengths {lengths}")
    return found


def flag(name: str, value: object) -> bool:
    """Return a truth value, or refuse what is none by name."""
    if not isinstance(value, bool):
        raise refused(name, value, "true or false")
    return value


Flag = Annotated[bool, flag]
Vector = Annotated[tuple[float, ...], vector]
Matrix = Annotated[tuple[tuple[float, ...], ...], matrix]


def shown(value: object) -> str:
    """Return a value as messages quote it: its repr, cut where it would hide the message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def refusal(name: str, value: object, wanted: str, cure: str = "") -> str:
    """Return the one wording in which arguments are refused."""
    return f"{name} must be {wanted}, got {shown(value)}" + (f"; {cure}" if cure else "") + "."


def refused(name: str, value: object, wanted: str, cure: str = "") -> InvalidDescription:
    """Return the error that refuses an argument."""
    return InvalidDescription(refusal(name, value, wanted, cure))


class Checked:
    """A frozen dataclass whose annotated fields meet their constraints."""

    fields_of: ClassVar[str] = ""
    """What messages put before the name of a field, such as "objective."."""

    def __post_init__(self) -> None:
        described: Any = type(self)
        for name, (constraint, optional) in _constraints(described).items():
            value = getattr(self, name)
            if not (optional and value is None):
                self._keep(**{name: constraint(self.fields_of + name, value)})

    def _keep(self, **checked: object) -> None:
        # Frozen: only __post_init__ may put the checked value in the place of the given one.
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@cache
def _constraints(description: Any) -> dict[str, tuple[Constraint, bool]]:
    """Return the constraint of each annotated field, and whether None stands for "not given"."""
    constraints = {}
    for name, hint in get_type_hints(description, include_extras=True).items():
        choices = (hint,) if get_origin(hint) is Annotated else get_args(hint)
        for choice in choices:
            if get_origin(choice) is Annotated:
                constraints[name] = (get_args(choice)[1], NoneType in choices)
    return constraints
