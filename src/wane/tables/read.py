"""Read a table with its public schema into a bounded matrix, at once or in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.errors import InvalidDescription
from wane.tables import encode
from wane.tables.schema import Schema
from wane.tables.source import Source, open_source


@dataclass(frozen=True, eq=False)
class Table:
    """Bounded features, targets, and the public names of the features.

    Attributes:
        features: one row per record, of norm at most the schema's `feature_norm`.
        targets: positions of the classes, or bounded numbers; None if they were not asked for.
        names: one per feature.
    """

    features: NDArray[np.floating[Any]]
    targets: NDArray[Any] | None
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Table({len(self.names)} features)"  # cells and row counts are not for logs


def read_table(
    path: str | Path,
    schema: Schema,
    *,
    targets: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Table:
    """Return the whole table; `targets=False` leaves the target column unread."""
    blocks = list(read_blocks(path, schema, targets=targets, dtype=dtype))
    try:
        wanted = [block.targets for block in blocks if block.targets is not None]
        return Table(
            np.concatenate([block.features for block in blocks]),
            np.concatenate(wanted) if wanted else None,
            schema.names,
        )
    except MemoryError:
        pass
    raise InvalidDescription("data must fit into memory, got too much; use read_blocks.")


def read_blocks(
    path: str | Path,
    schema: Schema,
    *,
    targets: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Iterator[Table]:
    """Yield the table in blocks of consecutive rows; only one block is in memory at a time."""
    source = opened(path, schema)
    wanted = wanted_columns(schema, targets=targets)
    check_names(source, wanted)
    rows = 0
    for block in source.batches(wanted):
        if block.num_rows:
            rows += block.num_rows
            yield encoded(block, schema, targets=targets, dtype=dtype)
    if not rows:
        raise InvalidDescription("data must have at least one row, got none below the header.")


def opened(path: str | Path, schema: Schema) -> Source:
    """Return the file as a source of columns, read as the schema says."""
    return open_source(
        path,
        delimiter=schema.delimiter,
        header=schema.header,
        newlines=schema.newlines_in_cells,
    )


def wanted_columns(schema: Schema, *, targets: bool) -> tuple[str, ...]:
    """Return the columns to read: the features in order, and then the target."""
    features = tuple(column.name for column in schema.columns)
    return (*features, schema.target.name) if targets else features


def encoded(block: Any, schema: Schema, *, targets: bool, dtype: type[np.floating[Any]]) -> Table:
    """Return a block of the wanted columns as bounded numbers."""
    return Table(
        encode.features(block, schema, dtype),
        encode.targets(block, schema) if targets else None,
        schema.names,
    )


def check_names(source: Source, wanted: tuple[str, ...]) -> None:
    """Refuse a source without these columns, or with one of them twice."""
    names = source.names
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in first and name in wanted:
            raise InvalidDescription(
                f"column {name!r:.60} must occur once, got columns {first[name]} and {number}; "
                "rename one of them."
            )
        first.setdefault(name, number)
    absent = [name for name in wanted if name not in first]
    if absent:
        raise InvalidDescription(
            f"data must have the column {absent[0]!r:.60} that the schema names, got {len(names)} "
            f"other columns ({len(absent)} missing); {source.expected(tuple(wanted))}."
        )
