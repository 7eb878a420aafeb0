"""Matrices of probabilities, dense or sparse: checked on the way in, small primitives after."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wane.arrays import Array
from wane.errors import InvalidDescription

ROW_SUM_TOLERANCE = 1e-9
"""How far the sum of a row may be from one; beyond, the matrix is refused."""

TINY = 1e-150
"""Smaller entries are dropped before a product: the product of two kept ones is a normal double."""

MOST_DENSE = 1 << 26
"""Sparse matrices with more entries than this, zeros included, are not made dense (512 MiB)."""

_FILLED = 0.1  # share of non-zero entries from which a sparse matrix is treated as dense


@dataclass(frozen=True)
class Trusted:
    """A matrix made by this library: its rows need no check and no division by their sum."""

    rows: Any


def checked(matrix: Any) -> Any:
    """The matrix as doubles with rows that sum to one, or a refusal that names the row."""
    rows = as_doubles(matrix)
    if rows.ndim != 2 or 0 in rows.shape:
        shape = " x ".join(map(str, rows.shape)) or "a single number"
        raise InvalidDescription(f"matrix must have rows and columns, got {shape}.")
    values = rows.data if sparse.issparse(rows) else rows
    if not np.all(np.isfinite(values)) or np.any(values < 0.0):
        _refuse_entry(rows)
    sums = np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1)
    distance = np.abs(sums - 1.0)
    worst = int(np.argmax(distance))
    if not distance[worst] <= ROW_SUM_TOLERANCE:
        raise InvalidDescription(
            f"matrix row {worst} must sum to 1 within {ROW_SUM_TOLERANCE:g}, got "
            f"{sums[worst]:.12g}; rows are inputs, columns are outputs, counted from 0."
        )
    return normalised(rows)


def normalised(rows: Any) -> Any:
    """Every row divided by its sum."""
    sums = np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1)
    if sparse.issparse(rows):
        return sparse.csr_array(sparse.diags_array(1.0 / sums) @ rows)
    return rows / sums[:, None]


def thinned(rows: Any) -> Any:
    """The matrix in sparse form, if most of its entries are zero."""
    if sparse.issparse(rows) or np.count_nonzero(rows) > 0.5 * _FILLED * rows.size:
        return rows
    return sparse.csr_array(rows)


def as_doubles(matrix: Any) -> Any:
    """A copy of the matrix as doubles, dense or in compressed rows, its values not yet checked."""
    if sparse.issparse(matrix):
        rows = sparse.csr_array(matrix)
        if rows.dtype.kind not in "fiub":
            raise InvalidDescription(f"matrix must hold real numbers, got {rows.dtype}.")
        rows = rows.astype(np.float64)
        rows.sum_duplicates()
        return rows
    try:
        found = np.asarray(matrix)
    except ValueError:
        raise InvalidDescription("matrix must have rows of equal length.") from None
    if found.dtype.kind not in "fiub":
        raise InvalidDescription(f"matrix must hold real numbers, got {found.dtype}.")
    return np.array(found, dtype=np.float64, order="C")


def _refuse_entry(rows: Any) -> None:
    entries = sparse.coo_array(rows) if sparse.issparse(rows) else None
    values = rows if entries is None else entries.data
    bad = np.argwhere(~np.isfinite(values) | (values < 0.0))[0]
    if entries is None:
        row, column, value = int(bad[0]), int(bad[1]), float(values[tuple(bad)])
    else:
        row, column = int(entries.row[bad[0]]), int(entries.col[bad[0]])
        value = float(values[bad[0]])
    raise InvalidDescription(
        f"matrix entry in row {row}, column {column} must be a probability, got {value:g}."
    )


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


def flushed(rows: Any) -> tuple[Any, float]:
    """The matrix without its tiniest entries, and how much probability a row lost at most."""
    values = rows.data if sparse.issparse(rows) else rows
    tiny = (values < TINY) & (values > 0.0)
    if not np.any(tiny):
        return rows, 0.0
    kept = rows.copy()
    if sparse.issparse(rows):
        kept.data[tiny] = 0.0
        kept.eliminate_zeros()
    else:
        kept[tiny] = 0.0
    return kept, rows.shape[1] * TINY


def product(first: Any, second: Any) -> Any:
    """The product, dense as soon as many entries are filled."""
    if not sparse.issparse(first) and sparse.issparse(second):
        made = (second.T @ first.T).T
    elif first is second and not sparse.issparse(first) and np.array_equal(first, first.T):
        made = first @ first.T  # the same sums, of which BLAS then makes half
    else:
        made = first @ second
    if sparse.issparse(made):
        cells = made.shape[0] * made.shape[1]
        if made.nnz <= _FILLED * cells or cells > MOST_DENSE:
            return sparse.csr_array(made)
        return np.ascontiguousarray(made.toarray())
    return np.ascontiguousarray(made)


def read(path: str) -> Any:
    """A matrix from a CSV, NPY or NPZ file (an array, or what `scipy.sparse.save_npz` writes)."""
    source = Path(path)
    readers = {".csv": _read_csv, ".npy": _read_numpy, ".npz": _read_numpy}
    reader = readers.get(source.suffix.lower())
    if reader is None:
        raise InvalidDescription(f"matrix must be a .csv, .npy or .npz file, got {source.name!r}.")
    try:
        return reader(source)
    except InvalidDescription:
        raise
    except OSError as error:
        reason = error.strerror or "it is not such a file"
        raise InvalidDescription(f"matrix {source.name!r} cannot be read: {reason}.") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else "it is damaged"
        raise InvalidDescription(f"matrix {source.name!r} cannot be read: {reason}") from None


def _read_csv(source: Path) -> Array:
    lines = [line for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise InvalidDescription(f"matrix {source.name!r} must hold numbers, got an empty file.")
    return np.loadtxt(lines, delimiter=",", dtype=np.float64, ndmin=2)


def _read_numpy(source: Path) -> Any:
    with source.open("rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        names = list(loaded.files)
        if "format" in names and "shape" in names:
            stream.seek(0)
            return sparse.load_npz(stream)
        if len(names) == 1 or "matrix" in names:
            return loaded["matrix" if "matrix" in names else names[0]]
    raise InvalidDescription(
        f"matrix {source.name!r} must hold one array or one named 'matrix', got {len(names)}."
    )
