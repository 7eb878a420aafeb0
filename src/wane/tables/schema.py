"""The public schema of a table: the facts that may be used without looking at a row.

All mistakes of a schema are reported at once, each with its line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING as REQUIRED, dataclass, fields
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from wane import arguments
from wane.describe import files
from wane.errors import InvalidDescription
from wane.tables.columns import (
    COLUMNS,
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
    distinct_strings,
)

T = TypeVar("T")
Declared = TypeVar("Declared", bound=Column | Target)
MOST = 20
"""Mistakes that are told; a file with more is probably not a schema."""


class Mistakes(InvalidDescription):
    """Several refusals of one schema."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__(_told(self.messages))


class Collector:
    """A reader of a schema's parts that collects every refusal."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def read(self, part: Callable[[], T]) -> T | None:
        """Return the part, or None if it was refused."""
        try:
            return part()
        except Mistakes as several:
            self.messages += several.messages
        except InvalidDescription as error:
            self.messages.append(str(error))
        return None

    def refuse(self) -> None:
        """Refuse all of them, if there are any."""
        if self.messages:
            raise Mistakes(self.messages)


def with_lines(error: InvalidDescription, text: str, name: str) -> InvalidDescription:
    """Return the refusal with the line of each mistake in this text."""
    messages = error.messages if isinstance(error, Mistakes) else (str(error),)
    located = []
    for words in messages:
        line = line_of(text, words.partition(" ")[0])
        located.append(words if line is None else f"line {line}: {words}")
    return InvalidDescription(f"{name}: {_told(located)}")


def line_of(text: str, place: str) -> int | None:
    """Return the line of a key such as `columns.age.low`, or of the nearest table around it."""
    position, located = 0, False
    for part in place.split("."):
        key = re.compile(rf"[\"'\[.\s]{re.escape(part)}[\"'\].\s]*?(?=[\s\]\"'.=:])")
        match = key.search("\n" + text, position)
        if match is None:
            break
        position, located = match.start() + 1, True
    return ("\n" + text)[: position + 1].count("\n") if located else None


def _told(messages: Iterable[str]) -> str:
    rows = list(messages)
    shown = " ".join(rows[:MOST])
    if len(rows) > MOST:
        return f"{len(rows)} mistakes, of which {MOST} are told: {shown}"
    return shown if len(rows) == 1 else f"{len(rows)} mistakes: {shown}"


MOST_BYTES = 64 * 2**20
"""Enough for a schema of some hundred thousand columns."""

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "None", "null", "NULL")
"""Cells of text that mean that nothing is known, unless the schema says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Columns, target and norm bound, declared by a person and never computed from rows.

    Attributes:
        columns: the features, in order; other columns of a file are not read.
        target: the column to predict.
        feature_norm: rows of features longer than this are scaled down to it.
        missing_words: text that stands for a missing cell.
        delimiter: what separates the cells of a CSV file.
        rows_per_person: the most rows that one person may have.
        header: names of the columns of a CSV file that has no header line; None if it has one.
        newlines_in_cells: quoted cells of a CSV file may hold ends of lines.  If not, a quote that
            is open at the end of its line is refused, because it would swallow other records.
    """

    columns: tuple[Column, ...]
    target: Target
    feature_norm: float = 1.0
    missing_words: tuple[str, ...] = MISSING_WORDS
    delimiter: str = ","
    header: tuple[str, ...] | None = None
    newlines_in_cells: bool = False
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        for column in self.columns:
            arguments.kind("columns", column, COLUMNS)
        arguments.kind("target", self.target, (ClassTarget, BoundedTarget))
        norm = arguments.real("feature_norm", self.feature_norm, above=0.0)
        object.__setattr__(self, "feature_norm", norm)
        object.__setattr__(
            self, "missing_words", distinct_strings("missing_words", self.missing_words)
        )
        arguments.whole("rows_per_person", self.rows_per_person, least=1)
        if not isinstance(self.delimiter, str) or len(self.delimiter.encode()) != 1:
            raise InvalidDescription(
                f"delimiter must be one ASCII character, got {self.delimiter!r:.60}."
            )
        if self.header is not None:
            object.__setattr__(self, "header", distinct_strings("header", self.header))
        if not isinstance(self.newlines_in_cells, bool):
            raise InvalidDescription(
                f"newlines_in_cells must be true or false, got {self.newlines_in_cells!r:.60}."
            )
        self._check_names()

    def _check_names(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidDescription("columns must list at least one feature, got none.")
        if len(set(names)) < len(names):
            raise InvalidDescription("columns must have distinct names, got one name twice.")
        if self.target.name in names:
            raise InvalidDescription(
                f"target.name must not be among the columns, got {self.target.name!r:.60}; "
                "remove it from columns, or it would predict itself."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(label for column in self.columns for label in column.labels)

    @property
    def hash(self) -> str:
        """The SHA-256 of the schema, which a model records."""
        text = json.dumps(self.to_fields(), separators=(",", ":"))  # the order of columns counts
        return hashlib.sha256(text.encode()).hexdigest()

    def rows_of_a_person(self, asked: int | None, name: str = "rows_per_person") -> int:
        """Return the declared number, or what is asked: more protection than declared, never less.

        `name` is the argument by which it is asked for.
        """
        if asked is None:
            return self.rows_per_person
        if arguments.whole(name, asked, least=1) < self.rows_per_person:
            raise InvalidDescription(
                f"{name} must be at least {self.rows_per_person}, as the schema says, got {asked}; "
                "correct the schema if nobody has as many."
            )
        return int(asked)

    @classmethod
    def from_file(cls, path: str | Path) -> Schema:
        """Return the schema in a TOML or JSON file; all its mistakes are told, with their lines."""
        given = files.read_table(path, most_bytes=MOST_BYTES)
        try:
            return cls.from_fields(given)
        except InvalidDescription as error:
            raise with_lines(error, Path(path).read_text(encoding="utf-8"), str(path)) from None

    @classmethod
    def from_fields(cls, given: object) -> Schema:
        """Return the schema that `to_fields` wrote; a refusal names every mistake."""
        table = arguments.table("schema", given)
        allowed = [field.name for field in fields(cls)]
        collected = Collector()
        collected.read(lambda: arguments.known_keys("schema", table, allowed))
        for name in ("columns", "target"):
            if name not in table:
                raise InvalidDescription(f"{name} must be given in the schema, got nothing.")
        table["target"] = collected.read(lambda: target_from_fields(table["target"]))
        columns = arguments.table("columns", table["columns"])
        table["columns"] = tuple(
            collected.read(partial(column_from_fields, name, one)) for name, one in columns.items()
        )
        collected.refuse()
        return cls(**table)

    def to_fields(self) -> dict[str, Any]:
        """Return the schema as JSON-ready data."""
        fields: dict[str, Any] = {
            "feature_norm": self.feature_norm,
            "missing_words": list(self.missing_words),
            "delimiter": self.delimiter,
        }
        if self.header is not None:
            fields["header"] = list(self.header)
        if self.newlines_in_cells:  # left out otherwise, so that older schemas keep their hash
            fields["newlines_in_cells"] = True
        if self.rows_per_person != 1:
            fields["rows_per_person"] = self.rows_per_person
        fields["target"] = target_to_fields(self.target)
        fields["columns"] = {column.name: column_to_fields(column) for column in self.columns}
        return fields


TYPES: dict[str, type[Column]] = {
    "numeric": NumericColumn,
    "categorical": CategoricalColumn,
    "boolean": BooleanColumn,
}
RULES: dict[str, Missing] = {"zero": Zero(), "indicator": Indicate()}


def column_from_fields(name: str, given: object) -> Column:
    """Return the column of this name."""
    table = arguments.table(f"columns.{name}", given)
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
    table = arguments.table("target", given)
    kind: type[Target] = ClassTarget if "classes" in table else BoundedTarget
    if not {"classes", "low", "high"} & set(table):
        raise InvalidDescription(
            "target must have its public classes, or low and high, got neither; fill them in."
        )
    return _built("target", kind, {}, table)


def target_to_fields(target: Target) -> dict[str, Any]:
    """Return the table that `target_from_fields` turns back into this target."""
    return {field.name: _plain(getattr(target, field.name)) for field in fields(target)}


def _built(
    where: str, kind: type[Declared], fixed: dict[str, Any], table: dict[str, Any]
) -> Declared:
    declared = [field for field in fields(kind) if field.name not in fixed]
    arguments.known_keys(where, table, [field.name for field in declared])
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
