"""The row groups of Parquet files, each of which can be read alone, also on another machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wane.errors import InvalidDescription
from wane.tables.read import Table, check_names, encoded, opened, wanted_columns
from wane.tables.schema import Schema
from wane.tables.source import ParquetSource


@dataclass(frozen=True)
class Part:
    """One row group of a Parquet file.

    Attributes:
        file: where it is.
        group: its place in the file.
        rows: how many records it holds, according to the file's own summary.
    """

    file: Path
    group: int
    rows: int


def parquet_parts(path: str | Path, schema: Schema, *, targets: bool = True) -> tuple[Part, ...]:
    """Return the row groups of a Parquet file, or of a directory's in the order of their names.

    Looks at the files' summaries only, and refuses a file without the schema's columns.
    """
    parts = []
    for file in _files(Path(path)):
        source = _source(file, schema)
        check_names(source, wanted_columns(schema, targets=targets))
        sizes = source.group_rows
        parts += [Part(file, group, rows) for group, rows in enumerate(sizes) if rows]
    if not parts:
        raise InvalidDescription("data must have at least one row, got none.")
    return tuple(parts)


def parquet_bytes(path: str | Path, schema: Schema) -> int | None:
    """Return the size in memory of the encoded features; None for a file that is not Parquet."""
    source = opened(path, schema)
    if not isinstance(source, ParquetSource):
        return None
    return sum(source.group_rows) * len(schema.names) * np.dtype(np.float64).itemsize


def read_part_blocks(
    part: Part,
    schema: Schema,
    *,
    targets: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Iterator[Table]:
    """Yield the part in blocks of consecutive rows; only one block is in memory at a time."""
    source = _source(part.file, schema)
    for block in source.batches(wanted_columns(schema, targets=targets), part.group):
        if block.num_rows:
            yield encoded(block, schema, targets=targets, dtype=dtype)


def read_part(
    part: Part,
    schema: Schema,
    *,
    targets: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Table:
    """Return the part as one table."""
    blocks = list(read_part_blocks(part, schema, targets=targets, dtype=dtype))
    target_blocks = [block.targets for block in blocks if block.targets is not None]
    return Table(
        np.concatenate([block.features for block in blocks]),
        np.concatenate(target_blocks) if target_blocks else None,
        schema.names,
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in {".parquet", ".pq"})
    if not files:
        raise InvalidDescription(f"{path!s:.120} must hold Parquet files, got none.")
    return files


def _source(file: Path, schema: Schema) -> ParquetSource:
    source = opened(file, schema)
    if not isinstance(source, ParquetSource):
        raise InvalidDescription(
            f"{file!s:.120} must be a Parquet file, got another kind; only row groups can be "
            "read one by one."
        )
    return source
