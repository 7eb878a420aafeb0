"""Matrices of probabilities as they are given: read from files, checked, their rows divided."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wane.arrays import Array
from wane.errors import InvalidDescription

ROW_SUM_TOLERANCE = 1e-9
"""How far the sum of a row may be from one; beyond, the matrix is refused."""


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
