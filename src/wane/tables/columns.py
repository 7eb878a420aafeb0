"""The public description of the target and of each feature column: how many features it becomes.

Every column is encoded into features of norm at most one, whatever its cells hold.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from wane import arguments
from wane.errors import InvalidDescription


class Scale(enum.Enum):
    """The interval onto which the bounds of a numeric column are mapped."""

    SYMMETRIC = "symmetric"
    UNIT = "unit"


@dataclass(frozen=True)
class Zero:
    """The rule that a missing cell becomes zeros."""


@dataclass(frozen=True)
class Indicate:
    """The rule that a missing cell becomes zeros, and a one in a feature of its own."""


@dataclass(frozen=True)
class Fill:
    """The rule that a missing cell is read as this public value."""

    value: float | str | bool


Missing = Zero | Indicate | Fill
MISSING: tuple[type[Missing], ...] = (Zero, Indicate, Fill)


@dataclass(frozen=True, kw_only=True)
class NumericColumn:
    """A number between public bounds; a value outside is moved to the nearer bound."""

    name: str
    low: float
    high: float
    scale: Scale = Scale.SYMMETRIC
    missing: Missing = Zero()

    def __post_init__(self) -> None:
        _common(self.name, self.missing)
        arguments.kind(f"columns.{self.name}.scale", self.scale, (Scale,))
        low, high = interval(f"columns.{self.name}", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if isinstance(self.missing, Fill):
            filled = arguments.real(f"columns.{self.name}.missing.fill", self.missing.value)
            object.__setattr__(self, "missing", Fill(filled))

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per feature."""
        return (self.name, *_indicator(self))


@dataclass(frozen=True, kw_only=True)
class CategoricalColumn:
    """One of the published categories; anything else becomes zeros."""

    name: str
    categories: tuple[str, ...]
    missing: Missing = Zero()

    def __post_init__(self) -> None:
        _common(self.name, self.missing)
        categories = distinct_strings(f"columns.{self.name}.categories", self.categories)
        object.__setattr__(self, "categories", categories)
        if isinstance(self.missing, Fill) and self.missing.value not in categories:
            raise InvalidDescription(
                f"columns.{self.name}.missing.fill must be one of the declared categories, "
                f"got {self.missing.value!r:.60}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per feature."""
        return (*(f"{self.name}={category}" for category in self.categories), *_indicator(self))


@dataclass(frozen=True, kw_only=True)
class BooleanColumn:
    """True or false, as one or zero."""

    name: str
    missing: Missing = Zero()

    def __post_init__(self) -> None:
        _common(self.name, self.missing)
        if isinstance(self.missing, Fill) and not isinstance(self.missing.value, bool):
            raise InvalidDescription(
                f"columns.{self.name}.missing.fill must be true or false, "
                f"got {self.missing.value!r:.60}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per feature."""
        return (self.name, *_indicator(self))


Column = NumericColumn | CategoricalColumn | BooleanColumn
COLUMNS: tuple[type[Column], ...] = (NumericColumn, CategoricalColumn, BooleanColumn)


def interval(name: str, low: object, high: object) -> tuple[float, float]:
    """Return public bounds as floats, or refuse them by name."""
    bottom, top = arguments.real(f"{name}.low", low), arguments.real(f"{name}.high", high)
    if not (top > bottom and math.isfinite(top - bottom)):
        raise InvalidDescription(
            f"{name}.high must be above low={bottom:g} by a finite amount, got {top:g}; "
            "declare bounds that are known without the data."
        )
    return bottom, top


def distinct_strings(name: str, given: object) -> tuple[str, ...]:
    """Return published names (of categories or classes) as a tuple of distinct strings."""
    if not isinstance(given, tuple | list) or not given:
        raise InvalidDescription(f"{name} must be a list of public names, got {given!r:.60}.")
    strings = tuple(_word(name, one) for one in given)
    if len(set(strings)) < len(strings):
        twice = next(one for one in strings if strings.count(one) > 1)
        raise InvalidDescription(f"{name} must be distinct, got {twice!r:.60} twice.")
    return strings


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | str):
        return str(value).strip()
    raise InvalidDescription(
        f"{name} must be words or whole numbers, got {value!r:.60}; put it in quotes."
    )


def _common(name: object, missing: object) -> None:
    named(name)
    arguments.kind(f"columns.{name}.missing", missing, MISSING)


def named(name: object, what: str = "columns") -> None:
    """Refuse a column name that is not a word."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidDescription(f"{what} must have a name, got {name!r:.60}.")


def _indicator(column: Column) -> tuple[str, ...]:
    return (f"{column.name} missing",) if isinstance(column.missing, Indicate) else ()


@dataclass(frozen=True, kw_only=True)
class ClassTarget:
    """One of the declared classes, in this order."""

    name: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        named(self.name, "target")
        classes = distinct_strings("target.classes", self.classes)
        if len(classes) < 2:
            raise InvalidDescription(
                f"target.classes must list at least two classes, got {len(classes)}; "
                "list every class that could occur."
            )
        object.__setattr__(self, "classes", classes)


@dataclass(frozen=True, kw_only=True)
class BoundedTarget:
    """A number between public bounds; a value outside is moved to the nearer bound."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        named(self.name, "target")
        low, high = interval("target", self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


Target = ClassTarget | BoundedTarget
