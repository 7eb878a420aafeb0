"""High powers of a kernel through a few of its rows, with a bound on every entry's error.

A high power T of a sparse kernel has a low numerical rank: T is nearly Z S, where S holds a few
rows of T.  Then T^k is nearly Z G S with a small square matrix G, and two such powers multiply as
G, (S Z), G.  Only norms of largest row sums are used.  T and its powers have norm one, so that
errors add: if |Z G S - T^a| <= e and |Z H S - T^b| <= f, then the product is within e + f + e f of
T^(a+b), and rounding G (S Z) H by D adds |Z| |D| |S|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg

from wane.arrays import Array
from wane.theorems.kernel.pairs import rounding

_SKETCH = 320  # irregular combinations of the columns, more than the rows that are kept
_DIGITS = 1e-14  # rows that matter less than this are not kept
_BLOCK = 64  # columns summed at a time: the sums of blocks are few, and so are their roundings
_AGREEMENT = 1e-7  # relative difference of rows that may be taken for the same
_RAISED = 1.0 + 1e-9  # covers the rounding of the bounds themselves


Factor: TypeAlias = tuple[Any, float, float]
"""A matrix, its relative error, and how much of a row it lacks at most."""


@dataclass(frozen=True)
class Core:
    """A small matrix G, which stands for Z G S in place of T^k.

    Attributes:
        small: G.
        error: a bound on the norm of the difference.
        columns: the same for the largest entry of each of its columns.
        largest: bounds on the largest entries of the columns of T^k.
    """

    small: Array
    error: float
    columns: Array
    largest: Array


@dataclass(frozen=True)
class FewRows:
    """A kernel T as Z S, S being its rows `chosen`; what is wrong is bounded as in a `Core`."""

    chosen: Array
    weights: Array
    rows: Array
    error: float
    columns: Array
    largest: Array

    @classmethod
    def of(cls, matrix: Array, *, relative: float, lost: float) -> FewRows | None:
        """Return a kernel T as combinations of few rows, or None if it is not.

        The matrix is within the relative error of T, but for so much lost in a row.  Irregular
        waves choose the rows only: whatever they are, the error is computed.
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
        z, doubt = norm(weights), rounding(kept + 2)
        left, most = np.abs(matrix - weights @ rows), matrix.max(axis=0)
        whole = norm(left) + doubt * (z * norm(rows) + norm(matrix))
        single = left.max(axis=0) + doubt * (z * rows.max(axis=0) + most)
        return cls(
            order[:kept],
            weights,
            rows,
            (whole + relative * norm(matrix) + lost) * _RAISED,
            (single + relative * most + lost) * _RAISED,
            ((1.0 + relative) * most + lost) * _RAISED,
        )

    @cached_property
    def _between(self) -> tuple[Array, float]:
        """S Z and a bound on the norm of its error."""
        return _in_blocks(self.rows, self.weights)

    @cached_property
    def _norm(self) -> float:
        return norm(self.weights)

    @cached_property
    def _most(self) -> Array:
        """The largest entries of the columns of S."""
        return np.asarray(self.rows.max(axis=0))

    def power(self, times: int) -> tuple[Core, int]:
        """Return the core of T to this power, or to a smaller one from which its rows agree."""
        digits = bin(times)[2:]
        first = core = Core(np.eye(self.rows.shape[0]), self.error, self.columns, self.largest)
        for place, digit in enumerate(digits[1:], start=2):
            core = self._product(core, core)
            core = self._product(first, core) if digit == "1" else core
            rows = core.small @ self.rows
            if _agree(rows):
                return core, int(digits[:place], 2)
            if place % 2 == 0:  # the bounds of a power serve for the next one as well
                seen = self._highest(rows, core) * _RAISED
                core = replace(core, largest=np.minimum(core.largest, seen))
        return core, times

    def _highest(self, rows: Array, core: Core) -> Array:
        """Bounds on the largest entries of the columns of T^k, of which G S is `rows`."""
        doubt = 2.1 * rounding(len(self.rows)) * self._norm * self._above(rows, core)
        return np.asarray((self.weights @ rows).max(axis=0) + doubt + core.columns)

    def _above(self, rows: Array, core: Core) -> Array:
        """Bounds on the absolute entries of each column of G S, which was computed as `rows`."""
        doubt = rounding(len(self.rows)) * norm(core.small)
        return np.asarray(np.abs(rows).max(axis=0) + doubt * self._most)

    def _product(self, first: Core, second: Core) -> Core:
        """T^a T^b - A B = T^a (T^b - B) + (T^a - A) B: columns of B shrink as powers grow."""
        between, error = self._between
        made = first.small @ between @ second.small
        doubt = error + 2.1 * rounding(made.shape[0]) * (norm(between) + error)
        doubt *= norm(first.small) * norm(second.small) * self._norm
        e, f = first.error, second.error
        total = e + f + e * f + doubt * norm(self.rows)
        single = second.columns + e * (second.largest + second.columns) + doubt * self._most
        return Core(made, total * _RAISED, single * _RAISED, second.largest)

    def applied(self, core: Core, factors: list[Factor]) -> tuple[Array, Array]:
        """Return F T^k, and a bound on the error of all entries of each column.

        F is the product of the factors, stochastic matrices that commute with T: each with its
        relative error and with what is lost of a row.  Its columns are F Z times G S.
        """
        weights, wrong, z = self.weights, 0.0, self._norm
        for matrix, relative, lost in factors:
            weights = np.asarray(matrix @ weights)
            own = relative + lost + rounding(matrix.shape[1])
            wrong += own * (1.0 + relative) * (z + wrong) * 1.01
        rows = core.small @ self.rows
        above = self._above(rows, core)
        made = weights @ rows
        doubt = rounding(len(self.rows)) * (norm(core.small) * self._most + 1.01 * above)
        total = core.columns + wrong * above + (z + wrong) * doubt
        return made, total * _RAISED


def _agree(rows: Array) -> bool:
    least, most = rows.min(axis=0), rows.max(axis=0)
    return bool(np.all(most - least <= _AGREEMENT * least))


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
