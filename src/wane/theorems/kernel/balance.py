"""Walks in detailed balance: a square of one needs half of the sums of products.

Weights w with w_i K_ij = w_j K_ji, up to a fraction, make K_lj = (w_j / w_l) K_jl.  Then

    (K^2)_ij = sum_l K_il K_lj = w_j sum_l K_il K_jl / w_l,

a matrix times its own transpose, of which one half is the other one mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from wane.arrays import Array
from wane.theorems.kernel.pairs import UNIT

_UNEVEN = 1e6  # products of entries above 1e-150, times so much, are normal doubles
_NEAR = 64.0 * UNIT  # walks that are farther from balance are none


@dataclass(frozen=True, eq=False)
class Balance:
    """Weights, and by which fraction w_i K_ij and w_j K_ji differ at most."""

    weights: Array
    error: float

    @classmethod
    def of(cls, rows: Any, relative_error: float) -> Balance | None:
        """Return the balance of a square sparse matrix all of whose states meet, or None.

        The weights are whatever doubles they are: the fraction is computed with them.  Entries are
        known within the relative error.
        """
        there, back = rows.copy(), rows.T.tocsr()
        there.sort_indices()
        back.sort_indices()
        if not (
            np.array_equal(there.indptr, back.indptr)
            and np.array_equal(there.indices, back.indices)
        ):
            return None
        order, before = csgraph.breadth_first_order(there, 0, directed=True)
        if len(order) < rows.shape[0] or not np.all(there.data > 0.0):
            return None
        later, sooner = order[1:], before[order[1:]]
        ratios = np.asarray(there[sooner, later]) / np.asarray(there[later, sooner])
        weights = np.ones(rows.shape[0])
        with np.errstate(over="ignore"):
            for state, known, ratio in zip(later, sooner, ratios.reshape(-1), strict=True):
                weights[state] = weights[known] * ratio
        if not weights.max() <= _UNEVEN * weights.min():
            return None
        out = np.repeat(weights, np.diff(there.indptr)) * there.data
        home = weights[there.indices] * back.data
        error = float(np.max(np.abs(out - home) / np.minimum(out, home))) * 1.01 + 4.0 * UNIT
        known = (1.0 + error) * ((1.0 + relative_error) / (1.0 - relative_error)) - 1.0
        return cls(weights, known * (1.0 + 1e-9) + UNIT) if error <= _NEAR else None

    @property
    def unevenness(self) -> float:
        """The largest ratio of two weights, raised."""
        return float(self.weights.max() / self.weights.min()) * (1.0 + 4.0 * UNIT)

    def times(self, other: Balance | None) -> Balance | None:
        """Return the balance of a product of powers of one walk."""
        if other is None or other.weights is not self.weights:
            return None
        grown = (1.0 + self.error) * (1.0 + other.error) - 1.0
        return Balance(self.weights, grown * (1.0 + 1e-9) + UNIT)

    def square(self, rows: Array) -> Array:
        """Return the rows times themselves, each product with four more roundings."""
        roots = np.sqrt(self.weights)
        even = (roots[:, None] * rows) / roots
        made = even @ even.T  # of which BLAS makes half
        made *= roots
        made /= roots[:, None]
        return np.asarray(made)
