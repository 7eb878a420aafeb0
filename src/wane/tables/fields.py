"""Columns and targets to and from dictionaries, as TOML and JSON hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING as REQUIRED, fields
from enum import Enum
from typing import Any, TypeVar

from wane import arguments
from wane.errors import InvalidDescription
from wane.tables.columns import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Column,
    Fill,
    Indicate,
    Missing,
    NumericColumn,
    Scale,
    Target,
    Zero,
)

T = TypeVar("T", bound=Column | Target)

TYPES: dict[str, type[Column]] = {
    "numeric": NumericColumn,
    "categorical": CategoricalColumn,
    "boolean": BooleanColumn,
}
RULES: dict[str, Missing] = {"zero": Zero(), "indicator": Indicate()}


def table_of(name: str, value: object) -> dict[str, Any]:
    """Return a table of keys and values, or refuse it by name."""
    if not isinstance(value, Mapping):
        raise InvalidDescription(f"{name} must be a table of keys and values, got {value!r:.60}.")
    return {str(key): entry for key, entry in value.items()}


def refuse_unknown(name: str, table: Mapping[str, Any], allowed: object) -> None:
    """Refuse keys that are not allowed: a misspelt bound must not be ignored."""
    names = [str(key) for key in allowed]  # type: ignore[attr-defined]
    for key in table:
        if key not in names:
            raise InvalidDescription(
                f"{name} has the unknown key {key!r:.60}; known keys are {', '.join(names)}."
            )


def column_from_fields(name: str, given: object) -> Column:
    """Return the column of this name."""
    table = table_of(f"columns.{name}", given)
    kind = table.pop("type", None)
    if not isinstance(kind, str) or kind not in TYPES:
        allowed = ", ".join(f'"{word}"' for word in TYPES)
        raise InvalidDescription(
            f"columns.{name}.type must be one of {allowed}, got {kind!r:.60}; "
            "fill it in, or remove the column from the schema to leave it unread."
        )
    readers: dict[str, Callable[[str, Any], Any]] = {
        "missing": _missing,
        "scale": lambda name, value: arguments.member(name, value, Scale),
    }
    arguments_of = {
        key: readers[key](f"columns.{name}.{key}", value) if key in readers else value
        for key, value in table.items()
    }
    return _built(f"columns.{name}", TYPES[kind], {"name": name}, arguments_of)


def column_to_fields(column: Column) -> dict[str, Any]:
    """Return the table that `column_from_fields` turns back into this column."""
    kind = next(word for word, kind_class in TYPES.items() if isinstance(column, kind_class))
    table: dict[str, Any] = {"type": kind}
    for field in fields(column):
        value = getattr(column, field.name)
        if field.name != "name":
            table[field.name] = _plain(value)
    return table


def target_from_fields(given: object) -> Target:
    """Return the target: one with classes, or one with bounds."""
    table = table_of("target", given)
    kind: type[Target] = ClassTarget if "classes" in table else BoundedTarget
    if not {"classes", "low", "high"} & set(table):
        raise InvalidDescription(
            "target must have its public classes, or low and high, got neither; fill them in."
        )
    return _built("target", kind, {}, table)


def target_to_fields(target: Target) -> dict[str, Any]:
    """Return the table that `target_from_fields` turns back into this target."""
    return {field.name: _plain(getattr(target, field.name)) for field in fields(target)}


def _built(where: str, kind: type[T], fixed: dict[str, Any], table: dict[str, Any]) -> T:
    declared = [field for field in fields(kind) if field.name not in fixed]
    refuse_unknown(where, table, [field.name for field in declared])
    for field in declared:
        if field.default is REQUIRED and field.name not in table:
            raise InvalidDescription(
                f"{where}.{field.name} must be given, got nothing; "
                "declare what is known without the data."
            )
    return kind(**fixed, **table)


def _missing(name: str, value: object) -> Missing:
    if isinstance(value, str) and value in RULES:
        return RULES[value]
    if isinstance(value, Mapping) and set(value) == {"fill"}:
        return Fill(value["fill"])
    raise InvalidDescription(
        f'{name} must be "zero", "indicator" or a table with the key fill, got {value!r:.60}.'
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Fill):
        return {"fill": value.value}
    if isinstance(value, Zero | Indicate):
        return next(word for word, rule in RULES.items() if rule == value)
    return value
