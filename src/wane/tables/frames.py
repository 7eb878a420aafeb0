"""Read data frames of any library as tables, bounded by the schema exactly as files are."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.errors import InvalidDescription, MissingExtra
from wane.tables.read import Table, encoded, wanted_columns
from wane.tables.schema import Schema
from wane.tables.source import quietly


def read_frame(
    frame: Any,
    schema: Schema,
    *,
    targets: bool = True,
    dtype: type[np.floating[Any]] = np.float64,
) -> Table:
    """Return a data frame of pandas, polars, pyarrow or another library as bounded numbers.

    Use it where the rows are in memory already; `read_table` takes files.  `targets=False` leaves
    the target column unread.
    """
    block = frame_block(frame, wanted_columns(schema, targets=targets))
    if not block.num_rows:
        raise InvalidDescription("frame must have at least one row, got none.")
    return encoded(block, schema, targets=targets, dtype=dtype)


def frame_block(frame: Any, wanted: tuple[str, ...]) -> Any:
    """Return these columns of a data frame as one block of Arrow's."""
    try:
        import narwhals.stable.v1 as nw
        import pyarrow  # noqa: F401  (the cells are read as Arrow's)
    except ImportError:
        raise MissingExtra("Data frames need narwhals and pyarrow; install wane[learn].") from None
    wrapped = nw.from_native(frame, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect()
    if not isinstance(wrapped, nw.DataFrame):
        raise InvalidDescription(
            f"frame must be a data frame of pandas, polars or pyarrow, got "
            f"{type(frame).__name__!r:.60}; read_table takes files."
        )
    absent = [name for name in wanted if name not in wrapped.columns]
    if absent:
        raise InvalidDescription(
            f"frame must have the column {absent[0]!r:.60} that the schema names, got "
            f"{len(wrapped.columns)} other columns ({len(absent)} missing); correct the schema."
        )
    complaint = "frame must have columns that Arrow knows, got one of another type; convert it."
    import pyarrow as pa

    def read() -> Any:
        try:
            return wrapped.select(list(wanted)).to_arrow().combine_chunks()
        except (OverflowError, TypeError, ValueError):  # of cells that no type of Arrow's holds
            raise pa.ArrowInvalid from None

    table = quietly(read, lambda _: complaint)

    blocks = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    return blocks[0]
