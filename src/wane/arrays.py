"""The types of arrays that wane passes around: one name for each, wherever it is used."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Numbers in double precision, of any shape."""

Mask: TypeAlias = NDArray[np.bool_]
"""One truth value for each entry."""


A = TypeVar("A", bound=NDArray[Any])


def read_only(array: A) -> A:
    """Return the array, closed for writing: use it for every array that outlives its function."""
    array.setflags(write=False)
    return array


def read_only_rows(matrix: Any) -> Any:
    """Return a matrix, dense or in compressed rows, closed for writing in all its parts."""
    parts = (
        (matrix,)
        if isinstance(matrix, np.ndarray)
        else (matrix.data, matrix.indices, matrix.indptr)
    )
    for part in parts:
        read_only(part)
    return matrix
