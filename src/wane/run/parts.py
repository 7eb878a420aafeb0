"""Sums over records in parts: read in turn from a file, or held on other machines.

The records of part 1 come first, then those of part 2, and so on; rows of a batch are counted
through all of them.  Somebody else returns the sum over the wanted rows of each part; here a batch
is cut at the borders of the parts, and the parts' sums are added in their order, however and
whenever they arrive.  Nothing is kept between steps, so a sum that had to be worked out twice is
still added once.

**The bound holds in floating point.**  Let C be the declared bound, n the number of records, P the
number of parts, u = 2^-53.  Each part is a `LinearSums` with the reserve r = 2.5 (P + 2) n u.

1. Neighbouring records differ in one record of one part.  By the proof in `wane.run.linear` its
   computed sums differ by at most D (1 - r), where D is C for a record zeroed and 2 C for one
   replaced; all other parts return the same floats.  The sum S_p of a part is no longer than C
   times its number of records.
2. The term of a record goes through at most P additions here and one division by the batch size.
   The result differs from the exact sum of the S_p, coordinate by coordinate, by at most
   g sum |S_p| with g <= (P + 1) u/(1 - (P + 1) u), hence by at most g n C in norm.
3. The results of neighbours therefore differ by at most D (1 - r) + 2 g n C, which is at most D,
   since D >= C and r >= 2 g n.

A reserve shrinks caps and norms, as the margin of `LinearSums` does; neither makes a loss steeper
or more bent than the constants of the objective say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import ClassVar

import numpy as np

from wane.arrays import Array
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.run.descent import Rows

Wanted = tuple[int, Rows]
"""A part, by its place, and rows in it, counted from the part's own first."""
Evaluate = Callable[[Array, list[Wanted]], Iterable[Array]]
"""The sums at these parameters over the wanted rows, one for each entry, in the same order."""

UNIT = 2.0**-53


def reserve(sizes: tuple[int, ...]) -> float:
    """Return what each part must keep free for the additions of all parts."""
    return 2.5 * (len(sizes) + 2) * sum(sizes) * UNIT


class PartedSums:
    """Gradient sums over parts; `evaluate` finds each part's own, made with `reserve(sizes)`."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        evaluate: Evaluate,
        *,
        shape: tuple[int, ...],
        objective: Objective,
    ) -> None:
        """Join parts of these numbers of records; `objective` holds the parts' constants."""
        if not sizes or min(sizes) < 1:
            raise InvalidDescription("data must have at least one row in every part, got none.")
        if objective.gradient_bound is None:
            raise InvalidDescription("gradient_bound must be known for sums over parts, got None.")
        self._starts = np.array([0, *accumulate(sizes)], dtype=np.intp)
        self._evaluate = evaluate
        self._shape = shape
        self._objective = objective
        self._bound = float(objective.gradient_bound)

    makes_null_records: ClassVar[bool] = True
    """A row that holds no record counts as the null record."""

    @property
    def records(self) -> int:
        """The number of records in all parts."""
        return int(self._starts[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self._shape

    @property
    def gradient_bound(self) -> float:
        """A bound on every record's gradient, whatever the record is, rounding included."""
        return self._bound

    @property
    def objective(self) -> Objective:
        """The constants of the bounded losses, without ridge."""
        return self._objective

    def fingerprint(self, key: bytes) -> bytes | None:
        """Return a keyed hash of the records, if whoever evaluates can tell; else None."""
        find: Callable[[bytes], bytes] | None = getattr(self._evaluate, "fingerprint", None)
        return None if find is None else find(key)

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sum of these records' bounded gradients, without any ridge term."""
        total = np.zeros(self._shape)
        for part in self._evaluate(parameters, self._cut(rows)):
            total += part
        return total

    def _cut(self, rows: Rows) -> list[Wanted]:
        """Return the rows of each part that has any, in the order of the parts."""
        if not isinstance(rows, slice):
            homes = np.searchsorted(self._starts, rows, side="right") - 1
            return [
                (int(part), rows[homes == part] - self._starts[part]) for part in np.unique(homes)
            ]
        first, last, _ = rows.indices(self.records)
        wanted: list[Wanted] = []
        for part, (low, high) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            begin, end = max(first, int(low)), min(last, int(high))
            if begin < end:
                wanted.append((part, slice(begin - int(low), end - int(low))))
        return wanted
