"""How well stored probabilities are known: within a relative error, but for some lost mass."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.theorems.kernel.balance import Balance
from wane.theorems.kernel.pairs import UNIT, rounding

NO_DIGITS = 1e6
"""A relative error that says nothing."""


@dataclass(frozen=True)
class Known:
    """True entries are within this fraction of the stored ones, but for so much mass per row."""

    relative_error: float
    lost_mass: float

    def times(self, other: Known, *, terms: int, dropped: float) -> Known:
        """Return what is known of a product, whose entries sum so many terms.

        Entries of both factors with `dropped` per row were left out.
        """
        grown = (1.0 + self.relative_error) * (1.0 + other.relative_error)
        error = (grown * (1.0 + rounding(terms)) - 1.0) * 1.000001
        lost = self.lost_mass + other.lost_mass + dropped
        hardly = error > 0.5  # not a digit is known: none is claimed
        return Known(NO_DIGITS if hardly else error, min(1.0, 1.01 * grown * lost))

    def mirrored(self, balance: Balance) -> Known:
        """Return what is known of the factor K_lj = (w_j / w_l) K_jl made of these rows.

        No entry exceeds what its row lost, so that a row of it lacks that at most times the ratio
        of two weights for each of its entries.
        """
        error = (1.0 + self.relative_error) * (1.0 + balance.error) - 1.0
        lost = self.lost_mass * balance.unevenness * len(balance.weights)
        return Known(error * (1.0 + 1e-9) + UNIT, (1.0 + balance.error) * lost * (1.0 + 1e-9))

    @property
    def says_nothing(self) -> bool:
        """Whether no digit is known."""
        return self.relative_error >= NO_DIGITS

    def spread(self, least: Array, most: Array) -> float | None:
        """Return by which fraction entries of later powers differ from these columns, or None.

        They lie between the smallest and the largest entries of the columns.  None is returned
        where that is more than a few times what is known anyway.
        """
        r = self.relative_error
        if r >= 1.0 or not np.all(least > 0.0):
            return None
        top = (1.0 + r) * most + self.lost_mass
        found = (float(np.max(top / ((1.0 - r) * least))) - 1.0) * (1.0 + 1e-6)
        return None if found > 8.0 * r else found

    def absorbing(self, least: float) -> Known:
        """Return the same without lost mass, if it is little beside the smallest entry there is."""
        share = self.lost_mass / least * (1.0 + 4.0 * UNIT) if least > 0.0 else math.inf
        if not share <= self.relative_error:
            return self
        return Known((self.relative_error + share) * (1.0 + 4.0 * UNIT), 0.0)

    def doeblin(self, row: Array, least: Array) -> float:
        """Return by how much a row exceeds the smallest entries of the columns, rounded up."""
        r = self.relative_error
        excess = float(np.maximum((1.0 + r) * row - (1.0 - r) * least, 0.0).sum())
        return min(1.0, excess * (1.0 + rounding(row.size)) + self.lost_mass)
