"""Walks that look the same from every state of a circle or of a torus.

States are numbered along the circle, or along the rows of the torus.  Every row of such a kernel is
the first one turned, and so is every row of its powers: one row is multiplied in place of all, by
direct sums of products of probabilities, so that entries keep a small relative error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.theorems.kernel import amplification, matrices
from wane.theorems.kernel.known import Known
from wane.theorems.kernel.pairs import UNIT, shapes, turned

_SAME = 16.0 * UNIT  # rows of one walk, each divided by its own sum, differ by less


@dataclass(frozen=True)
class TurnedWalk:
    """The first row of a kernel, as an array with one axis for each way to turn it."""

    row: Array
    known: Known
    ceiling: float = 1.0

    @classmethod
    def of(cls, rows: Any, known: Known) -> TurnedWalk | None:
        """Return a square sparse matrix as one row, or None if its rows are not that row turned."""
        size, cells = rows.shape[0], rows.tocoo()
        if cells.nnz % size or np.any(np.diff(rows.indptr) != cells.nnz // size):
            return None
        for shape in shapes(size):
            apart = [
                (there - here) % length
                for there, here, length in zip(
                    np.unravel_index(cells.col, shape),
                    np.unravel_index(cells.row, shape),
                    shape,
                    strict=True,
                )
            ]
            place = np.ravel_multi_index(tuple(apart), shape)
            order = np.lexsort((place, cells.row))
            places, values = place[order].reshape(size, -1), cells.data[order].reshape(size, -1)
            near = np.abs(values - values[0]) <= _SAME * values[0]
            if np.all(places == places[0]) and np.all(near):
                row = np.zeros(size)
                row[places[0]] = values[0]
                error = (known.relative_error + 1.1 * _SAME) * (1.0 + known.relative_error)
                return cls(row.reshape(shape), Known(error, known.lost_mass))
        return None

    def then(self, following: TurnedWalk) -> TurnedWalk:
        """Return the walk that takes both steps."""
        first, dropped = self._without_dust
        second, also = following._without_dust
        known = self.known.times(
            following.known,
            terms=int(np.count_nonzero(first)) + len(self.row.shape),
            dropped=dropped + also,
        )
        made = _folded(first, second)
        made = made / made.sum() if known.says_nothing else made
        bounds = (self._cheap_ceiling, following._cheap_ceiling)
        return TurnedWalk(made, known, min(1.0, amplification.product_up(*bounds)))

    def settled(self, times: int) -> TurnedWalk | None:
        """Return this walk in place of so many of it or more, once its entries hardly differ."""
        least, most = self.row.min(keepdims=True), self.row.max(keepdims=True)
        spread = self.known.spread(least, most)
        if spread is None:
            return None
        ceiling = amplification.power_up(self._cheap_ceiling, times)
        return TurnedWalk(self.row, Known(spread, self.known.lost_mass), ceiling)

    @property
    def _without_dust(self) -> tuple[Array, float]:
        row, dropped = matrices.flushed(self.row.reshape(1, -1))
        return row.reshape(self.row.shape), dropped

    @property
    def _cheap_ceiling(self) -> float:
        """A bound on the Dobrushin coefficient: every column has the same smallest entry."""
        return min(self.ceiling, self.known.doeblin(self.row.reshape(-1), self.row.min()))

    def all_rows(self) -> Array:
        """Return the matrix."""
        return np.stack(list(_turnings(self.row)))


def _turnings(row: Array) -> Iterator[Array]:
    return (turned(row, number).reshape(-1) for number in range(row.size))


def _folded(first: Array, second: Array) -> Array:
    """Return the circular convolution along both axes, as one long direct one.

    Rows are kept apart by zeros, so that what runs over an edge is found there, and is added.
    """
    high, wide = first.shape
    apart = 2 * wide - 1
    padded = np.zeros((2, high, apart))
    padded[0, :, :wide], padded[1, :, :wide] = first, second
    flat = padded.reshape(2, -1)[:, : (high - 1) * apart + wide]
    made = np.convolve(flat[0], flat[1]).reshape(2 * high - 1, apart)
    for length in (high, wide):
        kept = made[:length].copy()
        kept[: length - 1] += made[length:]
        made = kept.T
    return np.ascontiguousarray(made)
