"""Copy columns from one table to another, and keep text from being read as a formula."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

from wane.errors import InvalidDescription
from wane.tables.schema import Schema
from wane.tables.source import open_source

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run."""


def kept_cells(
    path: str | Path, schema: Schema, columns: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over the cells of these columns, row by row; empty rows for no columns."""
    if not columns:
        return repeat(())
    source = open_source(
        path,
        delimiter=schema.delimiter,
        header=schema.header,
        newlines=schema.newlines_in_cells,
    )
    for name in columns:
        if source.names.count(name) != 1:
            raise InvalidDescription(f"--keep must name a column of the table, got {name!a:.60}.")
    return _rows(source.batches(columns))


def _rows(batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def cell_text(cell: Any) -> Any:
    """Return a cell as a spreadsheet may show it: text that begins like a formula is quoted."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA) or is_number(cell):
        return cell
    return f"'{cell}"


def is_number(text: str) -> bool:
    """Return whether a cell of text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
