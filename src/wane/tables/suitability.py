"""Count how well a schema suits a table, for the holder of the table and nobody else.

Everything here is computed from the rows and nothing of it is private: it must not enter a release,
and a schema that is corrected by it has been chosen by looking at the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.tables import encode
from wane.tables.columns import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Column,
    NumericColumn,
    Target,
)
from wane.tables.encode import FALSE_WORDS, TRUE_WORDS, Cells
from wane.tables.read import check_names, opened, wanted_columns
from wane.tables.schema import Schema


@dataclass
class ColumnCounts:
    """The counts of one column.

    Attributes:
        missing: cells that hold nothing, or a word for nothing.
        clipped: numbers outside the declared bounds, which are moved to the nearer one.
        unknown: cells that are no number, no declared category or class, or neither true nor false.
        unknown_by_case: of these, cells that differ from a declared word by upper and lower case
            alone, the commonest slip.
        smallest, largest: extremes of the numbers.
    """

    missing: int = 0
    clipped: int = 0
    unknown: int = 0
    unknown_by_case: int = 0
    smallest: float = math.inf
    largest: float = -math.inf


@dataclass
class Suitability:
    """The counts of rows and, for each column, of cells that tell how a schema suits a table.

    Attributes:
        rows: number of records.
        columns: counts of each column, the target included.
        bounds_equal_extremes: for each column with bounds, how many of the two equal the column's
            own extremes; such bounds look as if they had been read off the rows.
        rows_shortened: rows of features longer than `feature_norm`; None if some column holds
            cells that `wane fit` would refuse.
    """

    rows: int = 0
    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    bounds_equal_extremes: dict[str, int] = field(default_factory=dict)
    rows_shortened: int | None = 0


def suitability(path: str | Path, schema: Schema) -> Suitability:
    """Return how well the schema suits the table; for its holder only, before a fit."""
    source = opened(path, schema)
    wanted = wanted_columns(schema, targets=True)
    check_names(source, wanted)
    described: list[Column | Target] = [*schema.columns, schema.target]
    counted = Suitability(columns={one.name: ColumnCounts() for one in described})
    for block in source.batches(wanted):
        counted.rows += block.num_rows
        for position, one in enumerate(described):
            cells = Cells(one.name, block.column(position), schema.missing_words)
            _COUNTS[type(one)](one, cells, counted.columns[one.name])
        _count_shortened(block, schema, counted)
    if not counted.rows:
        raise InvalidDescription("data must have at least one row, got none below the header.")
    for one in described:
        if isinstance(one, NumericColumn | BoundedTarget):
            counts = counted.columns[one.name]
            equal = (one.low == counts.smallest) + (one.high == counts.largest)
            counted.bounds_equal_extremes[one.name] = int(equal)
    return counted


def _count_numbers(one: Any, cells: Cells, counts: ColumnCounts) -> None:
    values = _numbers(cells, counts)
    present = values[~np.isnan(values)]
    counts.clipped += int(np.count_nonzero((present < one.low) | (present > one.high)))
    counts.smallest = min(counts.smallest, float(present.min(initial=math.inf)))
    counts.largest = max(counts.largest, float(present.max(initial=-math.inf)))


def _numbers(cells: Cells, counts: ColumnCounts) -> Array:
    """Return the cells as numbers, NaN where there is none; count missing cells and other text."""
    try:
        values = cells.numbers()
        counts.missing += int(np.count_nonzero(np.isnan(values)))
        return values
    except InvalidDescription:
        text = cells.text().to_pylist()  # a type that holds neither numbers nor text is refused
    read = [_number(cell, cells.missing_words, counts) for cell in text]
    return np.array(read, dtype=np.float64)


def _number(cell: str | None, missing_words: tuple[str, ...], counts: ColumnCounts) -> float:
    if cell is None or cell in missing_words:
        counts.missing += 1
        return math.nan
    try:
        return float(cell)
    except ValueError:
        counts.unknown += 1
        return math.nan


def _count_words(words: tuple[str, ...], cells: Cells, counts: ColumnCounts) -> None:
    places, missing = cells.positions(words)
    lowered = tuple(dict.fromkeys(word.lower() for word in words))
    unknown = (places < 0) & ~missing
    counts.missing += int(np.count_nonzero(missing))
    counts.unknown += int(np.count_nonzero(unknown))
    if unknown.any():
        alike, _ = cells.positions(lowered, lower=True)
        counts.unknown_by_case += int(np.count_nonzero(unknown & (alike >= 0)))


def _count_categories(one: CategoricalColumn, cells: Cells, counts: ColumnCounts) -> None:
    _count_words(one.categories, cells, counts)


def _count_classes(one: ClassTarget, cells: Cells, counts: ColumnCounts) -> None:
    _count_words(one.classes, cells, counts)


def _count_booleans(one: BooleanColumn, cells: Cells, counts: ColumnCounts) -> None:
    places, missing = cells.positions(TRUE_WORDS + FALSE_WORDS, lower=True)
    counts.missing += int(np.count_nonzero(missing))
    counts.unknown += int(np.count_nonzero((places < 0) & ~missing))


_COUNTS: dict[type[Column | Target], Callable[[Any, Cells, ColumnCounts], None]] = {
    NumericColumn: _count_numbers,
    BoundedTarget: _count_numbers,
    CategoricalColumn: _count_categories,
    ClassTarget: _count_classes,
    BooleanColumn: _count_booleans,
}


def _count_shortened(block: Any, schema: Schema, counted: Suitability) -> None:
    if counted.rows_shortened is None:
        return
    try:
        rows = encode.unshortened(block, schema, np.float64)
    except InvalidDescription:
        counted.rows_shortened = None
        return
    long = np.linalg.norm(rows, axis=1) > schema.feature_norm
    counted.rows_shortened += int(np.count_nonzero(long))
