"""High powers of a kernel through a few of its rows, with a bound on every entry's error.

A high power T of a sparse kernel has a low numerical rank: T is nearly Z S, where S holds a few
rows of T.  Then T^k is nearly Z G S with a small square matrix G, and two such powers multiply as
G, (S Z), G.  Only norms of largest row sums are used.  T and its powers have norm one, so that
errors add: if |Z G S - T^a| <= e and |Z H S - T^b| <= f, then the product is within e + f + e f of
T^(a+b), and rounding G (S Z) H by D adds |Z| |D| |S|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from wane.arrays import Array
from wane.theorems.kernel.pairs import rounding

_SKETCH = 320  # irregular combinations of the columns, more than the rows that are kept
_DIGITS = 1e-14  # rows that matter less than this are not kept
_BLOCK = 64  # columns summed at a time: the sums of blocks are few, and so are their roundings
_AGREEMENT = 1e-7  # relative difference of rows that may be taken for the same
_RAISED = 1.0 + 1e-9  # covers the rounding of the bounds themselves


@dataclass(frozen=True)
class Core:
    """A small matrix G and a bound on the norm of Z G S - T^k."""

    small: Array
    error: float


@dataclass(frozen=True)
class FewRows:
    """A kernel T as Z S, S being its rows `chosen`; `error` bounds the norm of T - Z S."""

    chosen: Array
    weights: Array
    rows: Array
    error: float

    @classmethod
    def of(cls, matrix: Array, error: float) -> FewRows | None:
        """Return a matrix, within `error` of T, as combinations of few rows, or None if it is not.

        Irregular waves choose the rows only: whatever they are, the error is computed.
        """
        columns = matrix.shape[1]
        squares, roots = np.arange(1.0, columns + 1) ** 2, np.sqrt(np.arange(2.0, _SKETCH + 2))
        sketch = matrix @ np.cos(np.outer(squares, roots))
        upper, order = linalg.qr(sketch.T, mode="r", pivoting=True)
        size = np.abs(np.diagonal(upper))
        kept = int(np.count_nonzero(size > _DIGITS * size[0]))
        if kept == _SKETCH:
            return None
        weights = np.empty((matrix.shape[0], kept))
        weights[order] = linalg.solve_triangular(upper[:kept, :kept], upper[:kept]).T
        rows = matrix[order[:kept]]
        left = norm(matrix - weights @ rows) * (1.0 + rounding(columns))
        left += rounding(kept + 2) * (norm(weights) * norm(rows) + norm(matrix))
        return cls(order[:kept], weights, rows, (left + error) * _RAISED)

    @cached_property
    def _between(self) -> tuple[Array, float]:
        """S Z and a bound on the norm of its error."""
        return _in_blocks(self.rows, self.weights)

    def power(self, times: int) -> tuple[Core, int]:
        """Return the core of T to this power, or to a smaller one from which its rows agree."""
        digits = bin(times)[2:]
        first = core = Core(np.eye(self.rows.shape[0]), self.error)
        for place, digit in enumerate(digits[1:], start=2):
            core = self._product(core, core)
            core = self._product(core, first) if digit == "1" else core
            if self._agrees(core):
                return core, int(digits[:place], 2)
        return core, times

    def _agrees(self, core: Core) -> bool:
        rows = core.small @ self.rows
        least, most = rows.min(axis=0), rows.max(axis=0)
        return bool(np.all(most - least <= _AGREEMENT * least))

    def _product(self, first: Core, second: Core) -> Core:
        between, error = self._between
        made = first.small @ between @ second.small
        doubt = error + 2.1 * rounding(made.shape[0]) * (norm(between) + error)
        doubt *= norm(first.small) * norm(second.small)
        e, f = first.error, second.error
        total = e + f + e * f + norm(self.weights) * doubt * norm(self.rows)
        return Core(made, total * _RAISED)

    def applied(
        self, core: Core, last: Array, *, last_error: Array, largest: Array
    ) -> tuple[Array, Array]:
        """Return T^k X, and a bound on the error of all entries of each column.

        No entry of a column of X exceeds `largest`, and `last` is S X within `last_error`.
        """
        kept = last.shape[0]
        inner = core.small @ last
        made = self.weights @ inner
        z, g = norm(self.weights), norm(core.small)
        doubt = g * (last_error + rounding(kept) * np.abs(last).max(axis=0))
        total = core.error * largest + z * doubt
        total += z * rounding(kept) * np.abs(inner).max(axis=0)
        return made, total * _RAISED


def norm(matrix: Array) -> float:
    """The largest sum of absolute values in a row, raised."""
    return float(np.abs(matrix).sum(axis=1).max()) * (1.0 + rounding(matrix.shape[1]))


def _in_blocks(first: Array, second: Array) -> tuple[Array, float]:
    """The product, summed in blocks, and a bound on the norm of its error."""
    starts = range(0, first.shape[1], _BLOCK)
    made = np.zeros((first.shape[0], second.shape[1]))
    for start in starts:
        made += first[:, start : start + _BLOCK] @ second[start : start + _BLOCK]
    terms = norm(np.abs(first) @ np.abs(second)) * (1.0 + rounding(first.shape[1]))
    return made, terms * rounding(_BLOCK + len(starts))
