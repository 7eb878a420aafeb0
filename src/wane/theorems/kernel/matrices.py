"""Primitives on matrices of probabilities, dense or sparse, that `wane.describe` has checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from wane.arrays import Array
from wane.errors import InvalidDescription

TINY = 1e-150
"""Smaller entries are dropped before a product: the product of two kept ones is a normal double."""

FAINT = 1e-290
"""Smaller entries of a kernel count as lost: near the smallest double they have few digits."""

MOST_DENSE = 1 << 26
"""Sparse matrices with more entries than this, zeros included, are not made dense (512 MiB)."""

_STRIP = 128  # rows that are multiplied together
_WIDE = 0.7  # share of the columns that a row of such a walk reaches
_FILLED = 0.1  # share of non-zero entries from which a sparse matrix is treated as dense


@dataclass(frozen=True)
class Trusted:
    """A matrix made by this library: its rows need no check and no division by their sum."""

    rows: Any


def thinned(rows: Any) -> Any:
    """The matrix in sparse form, if most of its entries are zero."""
    if sparse.issparse(rows) or np.count_nonzero(rows) > 0.5 * _FILLED * rows.size:
        return rows
    return sparse.csr_array(rows)


def dense(rows: Any) -> Array:
    """The matrix as an array, unless it is too large for that."""
    if not sparse.issparse(rows):
        return np.asarray(rows)
    if rows.shape[0] * rows.shape[1] > MOST_DENSE:
        raise InvalidDescription(
            f"matrix must have at most {MOST_DENSE} entries, zeros included, for this coefficient, "
            f"got {rows.shape[0]} x {rows.shape[1]}; merge states that behave alike."
        )
    return np.asarray(rows.toarray())


def dense_row(rows: Any, number: int) -> Array:
    """One row as an array."""
    if sparse.issparse(rows):
        return np.asarray(rows[[number], :].toarray()).reshape(-1)
    return np.asarray(rows[number])


def most_terms(rows: Any) -> int:
    """The largest number of entries of a row that are not zero: sums of a row round as often."""
    counts = np.diff(rows.indptr) if sparse.issparse(rows) else np.count_nonzero(rows, axis=1)
    return int(np.max(counts))


def rows_agree(rows: Any) -> bool:
    """Whether all rows are bit for bit the same."""
    if not sparse.issparse(rows):
        return bool(np.all(rows == rows[:1]))
    if np.any(np.diff(rows.indptr) != rows.indptr[1]):
        return False
    rows.sort_indices()
    columns = rows.indices.reshape(rows.shape[0], -1)
    values = rows.data.reshape(rows.shape[0], -1)
    return bool(np.all(columns == columns[:1]) and np.all(values == values[:1]))


def has_disjoint_rows(rows: Any) -> bool:
    """Whether two rows of a sparse matrix surely share no output (then every coefficient is 1)."""
    if not sparse.issparse(rows):
        return False
    support = sparse.csr_array(
        (np.ones(rows.data.size, dtype=np.float32), rows.indices, rows.indptr), rows.shape
    )
    first = support[[0], :]
    return bool((support @ first.T).nnz < rows.shape[0])


def column_minima(rows: Any) -> Array:
    """The smallest entry of each column."""
    if not sparse.issparse(rows):
        return np.asarray(rows.min(axis=0))
    return np.asarray(rows.min(axis=0).toarray(), dtype=np.float64).reshape(-1)


def column_maxima(rows: Any) -> Array:
    """The largest entry of each column."""
    if not sparse.issparse(rows):
        return np.asarray(rows.max(axis=0))
    return np.asarray(rows.max(axis=0).toarray(), dtype=np.float64).reshape(-1)


def flushed(rows: Any, below: float = TINY) -> tuple[Any, float]:
    """The matrix without its tiniest entries, and how much probability a row lost at most."""
    values = rows.data if sparse.issparse(rows) else rows
    tiny = (values < below) & (values > 0.0)
    if not np.any(tiny):
        return rows, 0.0
    kept = rows.copy()
    if sparse.issparse(rows):
        kept.data[tiny] = 0.0
        kept.eliminate_zeros()
    else:
        kept[tiny] = 0.0
    return kept, rows.shape[1] * below


def product(first: Any, second: Any) -> Any:
    """The product, dense as soon as many entries are filled."""
    if not sparse.issparse(first) and sparse.issparse(second):
        made = (second.T @ first.T).T
    elif sparse.issparse(first):
        made = first @ second
    else:
        made = _dense_product(first, second)
    if sparse.issparse(made):
        cells = made.shape[0] * made.shape[1]
        if made.nnz <= _FILLED * cells or cells > MOST_DENSE:
            return sparse.csr_array(made)
        return np.ascontiguousarray(made.toarray())
    return np.ascontiguousarray(made)


def is_wide(rows: Array) -> bool:
    """Whether a walk has come so far that its products are made of whole matrices."""
    starts, ends = _extents(rows)
    return bool(np.mean(ends - starts) > _WIDE * rows.shape[1])


def _dense_product(first: Array, second: Array) -> Array:
    """The product; of walks that have not come far yet, only where they can be."""
    (starts, ends), (lows, highs) = _extents(first), _extents(second)
    boxes, cells = [], 0
    for row in range(0, len(first), _STRIP):
        strip = slice(row, row + _STRIP)
        middle = slice(int(starts[strip].min()), int(ends[strip].max()))
        across = slice(int(lows[middle].min()), int(highs[middle].max()))
        boxes.append((strip, middle, across))
        cells += len(starts[strip]) * (middle.stop - middle.start) * (across.stop - across.start)
    if cells > 0.5 * first.size * second.shape[1]:
        if first is second and np.array_equal(first, first.T):
            return np.asarray(first @ first.T)  # the same sums, of which BLAS then makes half
        return np.asarray(first @ second)
    made = np.zeros((len(first), second.shape[1]))
    for strip, middle, across in boxes:
        made[strip, across] = first[strip, middle] @ second[middle, across]
    return made


def _extents(rows: Array) -> tuple[Array, Array]:
    """For each row the column of the first entry that is not zero, and the one after the last."""
    filled = rows != 0.0
    return filled.argmax(axis=1), rows.shape[1] - filled[:, ::-1].argmax(axis=1)
