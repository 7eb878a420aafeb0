"""Products of stored rows with double-precision vectors, a block at a time.

Rows may be stored in single precision; every operation is in double precision all the same.  NumPy
must copy such a block before it can multiply it, which takes longer than the products.  Compiled by
numba (extra `fast`), large tables are widened as they are read, without a copy.  Both add in an
order of their own, which the bound of `wane.run.linear` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wane.run.batching import Rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

COMPILED_FROM = 2**24
"""Numbers in a table from which compiling, a second or two for each process, is worth it."""


class Window(Protocol):
    """Looks at one block of rows after another."""

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        ...

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        ...


def window(features: NDArray[Any], blank: Mask | None, rows: int, outputs: int) -> Window:
    """Return the fastest window on these features; rows that are `blank` count as zero."""
    kernels = _kernels() if blank is None and _worth_compiling(features, outputs) else None
    return CopiedRows(features, blank, rows) if kernels is None else CompiledRows(features, kernels)


class CopiedRows:
    """Blocks in double precision: in place if they can be, else copied."""

    def __init__(self, features: NDArray[Any], blank: Mask | None, rows: int) -> None:
        self._features, self._blank = features, blank
        self._room = np.empty((rows, features.shape[1]))
        self._part: Rows | None = None
        self._block = self._room

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        return np.asarray(self._read(part) @ weights)

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        return np.asarray(self._read(part).T @ residuals)

    def _read(self, part: Rows) -> Array:
        """The same rows twice in a row are read once."""
        if part is not self._part:
            self._part, self._block = part, self._copied(part)
        return self._block

    def _copied(self, part: Rows) -> Array:
        given = self._features[part]
        blank = None if self._blank is None else self._blank[part]
        spoiled = blank is not None and blank.any()
        if given.dtype == np.float64 and not spoiled:
            return given
        block = self._room[: len(given)]
        np.copyto(block, given)
        if spoiled:
            block[blank] = 0.0
        return block


@dataclass(frozen=True)
class Kernels:
    """The two products, compiled; each writes into its last argument."""

    times: Callable[[NDArray[Any], Array, Array], None]
    gathered: Callable[[NDArray[Any], Array, Array], None]


class CompiledRows:
    """Blocks in single precision, widened as they are read; for one output."""

    def __init__(self, features: NDArray[Any], kernels: Kernels) -> None:
        self._features, self._kernels = features, kernels

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        block = self._features[part]
        made = np.empty(len(block))
        self._kernels.times(block, weights, made)
        return made

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        made = np.zeros(self._features.shape[1])
        self._kernels.gathered(self._features[part], residuals, made)
        return made


def _worth_compiling(features: NDArray[Any], outputs: int) -> bool:
    return outputs == 1 and features.dtype == np.float32 and features.size >= COMPILED_FROM


@cache
def _kernels() -> Kernels | None:
    """Compile, or return None where numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    # The order of additions is free, so that they can be done several at a time; nothing is said
    # about infinities and NaN, which are to come out as they are.
    free = njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
    return Kernels(times=free(_times), gathered=free(_gathered))


def _times(rows: Any, weights: Any, made: Any) -> None:
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * weights[j]
        made[i] = total


def _gathered(rows: Any, residuals: Any, made: Any) -> None:
    """Four rows at a time, so that the sums are loaded and stored a quarter as often."""
    count = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, count, 4):
        a, b, c, d = residuals[i], residuals[i + 1], residuals[i + 2], residuals[i + 3]
        for j in range(rows.shape[1]):
            two = a * np.float64(rows[i, j]) + b * np.float64(rows[i + 1, j])
            made[j] += two + (c * np.float64(rows[i + 2, j]) + d * np.float64(rows[i + 3, j]))
    for i in range(count, rows.shape[0]):
        for j in range(rows.shape[1]):
            made[j] += residuals[i] * np.float64(rows[i, j])
