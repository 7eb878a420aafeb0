"""Products of stored rows with double-precision vectors, one block at a time.

Rows may be stored in single precision; every operation is in double precision all the same.  NumPy
must copy such a block before it can multiply it, which takes longer than the products.  Compiled by
numba (extra `fast`), large tables are widened as they are read, without a copy.  Both add in an
order of their own, which the bound of `wane.run.linear` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask
from wane.run import compiling
from wane.run.descent import Rows

TOGETHER = 4
"""Rows that are widened at a time: they stay in the nearest cache."""


class Window(Protocol):
    """A view of one block of rows after another."""

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        ...

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        ...


def read_in_place(features: NDArray[Any]) -> bool:
    """Return whether a table is worth compiling for: its rows are then widened as they are read."""
    worth = features.dtype == np.float32 and features.size >= compiling.COMPILED_FROM
    return worth and compiling.compiler() is not None


def window(features: NDArray[Any], blank: Mask | None, rows: int, outputs: int) -> Window:
    """Return the fastest window on these features; rows that are `blank` count as zero."""
    kernels = _kernels() if blank is None and read_in_place(features) else None
    if kernels is None:
        return CopiedRows(features, blank, rows)
    return CompiledRows(features, kernels) if outputs == 1 else CompiledPairs(features, kernels)


class _Blocks:
    """Blocks of rows, read again only when others are asked for, since listed rows are copied."""

    def __init__(self, features: NDArray[Any]) -> None:
        self._features = features
        self._part: Rows | None = None
        self._block = features[:0]

    def _read(self, part: Rows) -> NDArray[Any]:
        if part is not self._part:
            self._part, self._block = part, self._taken(part)
        return self._block

    def _taken(self, part: Rows) -> NDArray[Any]:
        return self._features[part]


class CopiedRows(_Blocks):
    """Blocks in double precision: in place if they can be, else copied."""

    def __init__(self, features: NDArray[Any], blank: Mask | None, rows: int) -> None:
        super().__init__(features)
        self._blank = blank
        self._room = np.empty((rows, features.shape[1]))

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        return np.asarray(self._read(part) @ weights)

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        return np.asarray(self._read(part).T @ residuals)

    def _taken(self, part: Rows) -> Array:
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
    """The compiled products, for one output and for several; each writes its last argument."""

    times: Callable[[NDArray[Any], Array, Array], None]
    gathered: Callable[[NDArray[Any], Array, Array], None]
    pair_times: Callable[[NDArray[Any], Array, Array, Array], None]
    pair_gathered: Callable[[NDArray[Any], Array, Array, Array], None]


class CompiledRows(_Blocks):
    """Blocks in single precision, widened as they are read, for one output."""

    def __init__(self, features: NDArray[Any], kernels: Kernels) -> None:
        super().__init__(features)
        self._kernels = kernels

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        block = self._read(part)
        products = np.empty(len(block))
        self._kernels.times(block, weights, products)
        return products

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        total = np.zeros(self._features.shape[1])
        self._kernels.gathered(self._read(part), residuals, total)
        return total


class CompiledPairs(_Blocks):
    """Blocks for several outputs: four rows and two outputs at a time, padded with zeros."""

    def __init__(self, features: NDArray[Any], kernels: Kernels) -> None:
        super().__init__(features)
        self._kernels = kernels
        self._room = np.empty((TOGETHER, features.shape[1]))

    def times(self, part: Rows, weights: Array) -> Array:
        """Return the products of these rows with the weights."""
        block = self._read(part)
        columns, outputs = weights.shape
        flipped = np.zeros((_up_to(2, outputs), columns))
        flipped[:outputs] = weights.T
        products = np.empty((_up_to(TOGETHER, len(block)), len(flipped)))
        self._kernels.pair_times(block, flipped, self._room, products)
        return np.ascontiguousarray(products[: len(block), :outputs])

    def gathered(self, part: Rows, residuals: Array) -> Array:
        """Return the sum of these rows, each times its residual."""
        count, outputs = residuals.shape
        padded = np.zeros((_up_to(TOGETHER, count), _up_to(2, outputs)))
        padded[:count, :outputs] = residuals
        totals = np.zeros((padded.shape[1], self._features.shape[1]))
        self._kernels.pair_gathered(self._read(part), padded, self._room, totals)
        return totals[:outputs].T


def _up_to(multiple: int, count: int) -> int:
    return -(-count // multiple) * multiple


@cache
def _kernels() -> Kernels | None:
    """Return the compiled products, or None where numba is not installed."""
    compiled = compiling.compiler()
    if compiled is None:
        return None
    free = partial(compiled, fastmath=compiling.ANY_ORDER)
    widened = free(_widened)
    return Kernels(
        times=free(_times),
        gathered=free(_gathered),
        pair_times=free(_by_fours(widened, free(_pair_times))),
        pair_gathered=free(_by_fours(widened, free(_pair_gathered))),
    )


def _times(rows: Any, weights: Any, products: Any) -> None:
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * weights[j]
        products[i] = total


def _gathered(rows: Any, residuals: Any, total: Any) -> None:
    """Add four rows at a time, so that the sums are loaded and stored a quarter as often."""
    count = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, count, 4):
        a, b, c, d = residuals[i], residuals[i + 1], residuals[i + 2], residuals[i + 3]
        for j in range(rows.shape[1]):
            two = a * np.float64(rows[i, j]) + b * np.float64(rows[i + 1, j])
            total[j] += two + (c * np.float64(rows[i + 2, j]) + d * np.float64(rows[i + 3, j]))
    for i in range(count, rows.shape[0]):
        for j in range(rows.shape[1]):
            total[j] += residuals[i] * np.float64(rows[i, j])


def _widened(rows: Any, first: Any, room: Any) -> None:
    """Fill the room with the next rows, and with zeros behind the last."""
    for r in range(TOGETHER):
        wide = room[r]
        if first + r < len(rows):
            row = rows[first + r]
            for j in range(len(row)):
                wide[j] = row[j]
        else:
            wide[:] = 0.0


def _by_fours(widened: Any, each: Any) -> Callable[..., None]:
    """Return a kernel that widens four rows at a time and calls `each` with them."""

    def kernel(rows: Any, given: Any, room: Any, result: Any) -> None:
        for first in range(0, len(rows), TOGETHER):
            widened(rows, first, room)
            each(room, given, result, first)

    return kernel


def _pair_times(room: Any, weights: Any, products: Any, i: Any) -> None:
    a, b, c, d = room[0], room[1], room[2], room[3]
    for k in range(0, len(weights), 2):
        one, two = weights[k], weights[k + 1]
        a1, b1, c1, d1 = 0.0, 0.0, 0.0, 0.0
        a2, b2, c2, d2 = 0.0, 0.0, 0.0, 0.0
        for j in range(len(one)):
            a1 += a[j] * one[j]
            b1 += b[j] * one[j]
            c1 += c[j] * one[j]
            d1 += d[j] * one[j]
            a2 += a[j] * two[j]
            b2 += b[j] * two[j]
            c2 += c[j] * two[j]
            d2 += d[j] * two[j]
        products[i, k], products[i, k + 1] = a1, a2
        products[i + 1, k], products[i + 1, k + 1] = b1, b2
        products[i + 2, k], products[i + 2, k + 1] = c1, c2
        products[i + 3, k], products[i + 3, k + 1] = d1, d2


def _pair_gathered(room: Any, residuals: Any, totals: Any, i: Any) -> None:
    a, b, c, d = room[0], room[1], room[2], room[3]
    for k in range(0, len(totals), 2):
        one, two = totals[k], totals[k + 1]
        a1, a2 = residuals[i, k], residuals[i, k + 1]
        b1, b2 = residuals[i + 1, k], residuals[i + 1, k + 1]
        c1, c2 = residuals[i + 2, k], residuals[i + 2, k + 1]
        d1, d2 = residuals[i + 3, k], residuals[i + 3, k + 1]
        for j in range(len(one)):
            one[j] += (a1 * a[j] + b1 * b[j]) + (c1 * c[j] + d1 * d[j])
            two[j] += (a2 * a[j] + b2 * b[j]) + (c2 * c[j] + d2 * d[j])
