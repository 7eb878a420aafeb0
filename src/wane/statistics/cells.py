"""Columns as a statistic sees them: every cell becomes a number or a cell of a count, row by row.

Nothing here looks at more than one record at a time, and whatever a cell holds, its coordinate
stays within public bounds: sensitivities follow from the schema alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask
from wane.errors import InvalidDescription
from wane.tables import BooleanColumn, CategoricalColumn, Fill, Indicate, NumericColumn, Scale
from wane.tables.columns import ClassTarget, Column, Target
from wane.tables.encode import FALSE_WORDS, TRUE_WORDS, Cells
from wane.tables.frames import frame_block
from wane.tables.read import check_names, opened
from wane.tables.schema import Schema

OTHER = "(other)"
"""The cell of records that have none of the published words, or nothing at all."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers between public bounds, mapped to [-1, 1].

    Attributes:
        low, high: the public bounds; what lies outside is moved to the nearer one.
        absent: the coordinate of a missing cell, by the schema's rule.
        filled: the rule gives a missing cell a value of its own, so that it counts as that.
        indicated: the rule counts missing cells.
    """

    name: str
    low: float
    high: float
    absent: float = 0.0
    filled: bool = False
    indicated: bool = False

    @property
    def half(self) -> float:
        """Half of the distance of the bounds: what a coordinate of one is worth."""
        return (self.high - self.low) / 2.0

    @property
    def middle(self) -> float:
        """The value at the coordinate zero."""
        return self.low + self.half

    def coordinates(self, cells: Cells) -> tuple[Array, Mask]:
        """Return the cells in [-1, 1], and which of them are missing."""
        values = cells.numbers()
        missing = np.isnan(values)
        share = (np.clip(values, self.low, self.high) - self.low) / (self.high - self.low)
        made = np.clip(2.0 * share - 1.0, -1.0, 1.0)
        return np.where(missing, self.absent, made), missing


@dataclass(frozen=True)
class Words:
    """A column of published words; whatever is none of them has a cell of its own.

    Attributes:
        words: as they are shown.
        filled: the place of the word that a missing cell counts as; None if it has its own cell.
        boolean: the words are those for true and false.
        indicated: the rule counts missing cells.
    """

    name: str
    words: tuple[str, ...]
    filled: int | None = None
    boolean: bool = False
    indicated: bool = False

    @property
    def other(self) -> str:
        """The name of the cell for everything else."""
        name = OTHER
        while name in self.words:
            name = f"({name})"
        return name

    def places(self, cells: Cells) -> tuple[NDArray[np.int64], Mask]:
        """Return the place of each cell's word, behind the last for none, and what is missing."""
        if self.boolean:
            found, missing = cells.positions(TRUE_WORDS + FALSE_WORDS, lower=True)
            found = np.where(found < 0, -1, np.where(found < len(TRUE_WORDS), 0, 1))
        else:
            found, missing = cells.positions(self.words)
        if self.filled is not None:
            found = np.where(missing, self.filled, found)
        made = np.where(found < 0, len(self.words), found)
        return np.asarray(made, dtype=np.int64), np.asarray(missing)


Seen = Numbers | Words


def seen_columns(schema: Schema) -> dict[str, Seen]:
    """Return every column of the schema, the target included, as a statistic sees it."""
    made = {column.name: _of_column(column) for column in schema.columns}
    return made | {schema.target.name: _of_target(schema.target)}


def chosen(schema: Schema, names: tuple[str, ...] | None, kind: type[Any], why: str) -> Any:
    """Return the named columns, or all of this kind; refuse a name that is none, or of another."""
    known = seen_columns(schema)
    if names is None:
        found = tuple(column for column in known.values() if isinstance(column, kind))
        if not found:
            raise InvalidDescription(f"schema must have a column for this, got none: {why}.")
        return found
    if not names:
        raise InvalidDescription("columns must name at least one column, got none.")
    for name in names:
        if name not in known:
            raise InvalidDescription(
                f"columns must be among those of the schema ({', '.join(known)}), got {name!r:.60}."
            )
        if not isinstance(known[name], kind):
            raise InvalidDescription(f"column {name!r:.60} must be of another kind here: {why}.")
    if len(set(names)) < len(names):
        raise InvalidDescription(f"columns must be distinct, got {', '.join(names)!r:.80}.")
    return tuple(known[name] for name in names)


def blocks(data: Any, schema: Schema, columns: tuple[Seen, ...]) -> Iterator[dict[str, Cells]]:
    """Yield the cells of these columns, block by block, from a file or a data frame."""
    wanted = tuple(column.name for column in columns)
    if isinstance(data, str | Path):
        source = opened(data, schema)
        check_names(source, wanted)
        found = source.batches(wanted)
    else:
        found = iter([frame_block(data, wanted)])
    for block in found:
        yield {
            name: Cells(name, block.column(place), schema.missing_words)
            for place, name in enumerate(wanted)
        }


def _of_column(column: Column) -> Seen:
    filled = column.missing.value if isinstance(column.missing, Fill) else None
    indicated = isinstance(column.missing, Indicate)
    if isinstance(column, NumericColumn):
        absent = 0.0 if column.scale is Scale.SYMMETRIC or indicated else -1.0
        if filled is not None:
            inside = min(max(float(filled), column.low), column.high)
            absent = 2.0 * (inside - column.low) / (column.high - column.low) - 1.0
        return Numbers(column.name, column.low, column.high, absent, filled is not None, indicated)
    if isinstance(column, CategoricalColumn):
        place = None if filled is None else column.categories.index(str(filled))
        return Words(column.name, column.categories, place, indicated=indicated)
    assert isinstance(column, BooleanColumn)
    place = None if filled is None else int(not filled)
    return Words(column.name, ("true", "false"), place, boolean=True, indicated=indicated)


def _of_target(target: Target) -> Seen:
    if isinstance(target, ClassTarget):
        return Words(target.name, target.classes)
    return Numbers(target.name, target.low, target.high)
