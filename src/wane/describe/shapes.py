"""Matrices and vectors of descriptions: rows of numbers, or one row that stands for a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wane import arguments
from wane.arrays import Array, read_only
from wane.errors import InvalidDescription

Row = tuple[float, ...]
Rows = tuple[Row, ...]


def entries(name: str, values: object, *, above: float | None = None) -> Row:
    """Return the numbers as a row, or refuse them by name and place."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InvalidDescription(f"{name} must be a row of numbers, got {values!r:.60}.")
    if len(values) == 0:
        raise InvalidDescription(f"{name} must have at least one number, got none.")
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    return tuple(arguments.real(f"{name}[{i}]", v, above=above) for i, v in enumerate(plain))


def rows_of(name: str, values: object) -> Row | Rows:
    """Return a diagonal as one row, or a square matrix as rows, or refuse it by name."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)) or not values:
        raise InvalidDescription(
            f"{name} must be a square matrix, or a row of numbers for a diagonal, got "
            f"{values!r:.60}."
        )
    if not isinstance(values[0], (Sequence, np.ndarray)):
        return entries(name, values)
    rows = tuple(entries(f"{name}[{i}]", row) for i, row in enumerate(values))
    if any(len(row) != len(rows) for row in rows):
        shape = f"{len(rows)} rows of {', '.join(str(len(row)) for row in rows[:4])} numbers"
        raise InvalidDescription(f"{name} must be a square matrix, got {shape}.")
    return rows


def positive_rows(name: str, values: object) -> Row | Rows:
    """Return a symmetric positive matrix, or refuse it by name."""
    rows = rows_of(name, values)
    matrix = as_matrix(rows)
    if not np.array_equal(matrix, matrix.T):
        raise InvalidDescription(
            f"{name} must be symmetric, got a matrix that is not; take (m + m.T)/2 if it is meant "
            "to be."
        )
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise InvalidDescription(
            f"{name} must be a positive matrix, got one with an eigenvalue of "
            f"{np.linalg.eigvalsh(matrix)[0]:g}."
        ) from None
    return rows


def as_matrix(rows: Any) -> Array:
    """Return the rows as a matrix, closed for writing; one row stands for a diagonal."""
    found = np.array(rows, dtype=np.float64)
    return read_only(np.diag(found) if found.ndim == 1 else found)


def same_size(name: str, value: object, size: int) -> None:
    """Refuse a vector or matrix of another size."""
    if isinstance(value, tuple) and len(value) != size:
        raise InvalidDescription(
            f"{name} must have {size} rows or entries like reversion, got {len(value)}."
        )
