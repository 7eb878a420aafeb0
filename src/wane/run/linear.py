"""Sums of bounded gradients of linear models, over records that are never copied as a whole.

A record is a row a of features, followed by a constant coordinate if there is an intercept, and a
target.  Its gradient is s a r(s W^T a)^T with the residual r of a link, where s = min(1, R/|a|)
brings the record to the declared feature norm R.  Neither the scaled rows nor the gradients are
ever stored: what is kept is one scale and one cap for each record.  Rows are read in blocks that
stay in cache.  If rows are short a block is used for both of its products, so that a step is little
more than one pass; if they are long several blocks share one call of the link, which costs most for
few rows, and are read again while they are still near.

**A row that holds no record.**  A row with a value that is not finite, of a length above 1e140 or
below 1e-140, or with a target that means nothing to the link counts as the zero record: its
gradient is zero. Nothing is raised here for what rows hold, since an error would be a release.

**The bound holds in floating point.**  Features may be stored in single precision; arithmetic is in
double precision always, u = 2^-53.  (In single precision the rounding of a sum would swamp what one
of many records can do to it, and no bound would survive.)  Let C be the declared bound, n the
number of records, d of columns, K of outputs, B of rows of a block and Q = B + n/B + 32.

1. The length of a row is computed with at most (d + 8) u relative error and rounded up by as much;
   scale and cap are computed from that, with R (1 - m) and C (1 - m) in place of R and C.
2. The residual meets its cap up to (K + 16) u relative, by the link.  So the product of the rounded
   scaled residual and the row, taken exactly, has length at most C (1 - m) (1 + (K + 32) u).
3. The computed sum adds these products with some relative error g <= Q u/(1 - Q u) each, whatever
the
   order inside a block: coordinate by coordinate |computed - exact| <= g sum |products|, hence
   at most g n C in norm.  Division by the batch size is counted in Q.
4. Sums over neighbouring records, at equal parameters, therefore differ by at most
   2 C (1 - m)(1 + (K + 32) u) + 2 g n C (replaced) or half the first term (zeroed, added, removed).
   With m = 2.5 Q n u + (K + 64) u both are at most the declared 2 C and C.

A sum that is one part of a larger one keeps a `reserve` r as well: R (1 - m - r) and C (1 - m - r)
are at most R (1 - r) (1 - m) and C (1 - r) (1 - m), so the four points hold with C (1 - r) in place
of C.  See `wane.run.parts`.

Underflow adds less than 1e-180 to this and is covered by m, as C and R must be at least 1e-100.

**Away from equal parameters.**  Theorems on hidden iterates also use that a step does not move two
iterates apart.  The exact sum has this property; the computed one has it up to twice its distance
from the exact one, for which `rounding` gives a proven bound.  A step that carries the error e
shifts two runs by at most 2 e.  Certificates do not charge it (docs/proofs/rounding.md, section 5):
for double precision e/C is about n d 1e-16 |W| R.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.losses import Loss
from wane.run.compiled_softmax import faster
from wane.run.descent import Rows, blocks
from wane.run.rows import read_in_place, window

UNIT = 2.0**-53
BLOCK_BYTES = 2**21
IN_PLACE_BYTES = 2**22
"""The same where nothing is copied."""
FEWEST_ROWS = 32
LINK_ROWS = 1024
"""A link is asked about so many rows at once, or more."""
LINK_BYTES = 2**20
"""Unless their margins take more than this."""
LANES = 4
"""Parts of a large batch for threads; fixed, so that sums do not depend on the machine."""
LANE_BYTES = 2**21
"""Below so much work for each lane, threads cost more than they save."""
SHORTEST, LONGEST = 1e-140, 1e140
LARGEST_MARGIN = 0.01


class LinearSums:
    """Records with a linear model's loss: sums of gradients, none longer than `gradient_bound`.

    Parameters have the shape (d,) for one output, else (d, outputs), with one more coordinate, the
    last, if `intercept` is not 0.  That coordinate of every record has the value `intercept`, which
    counts in its norm.
    """

    def __init__(
        self,
        features: NDArray[Any],
        targets: NDArray[Any],
        link: Loss,
        *,
        feature_norm: float,
        gradient_bound: float | None = None,
        intercept: float = 0.0,
        reserve: float = 0.0,
        capacity: int | None = None,
    ) -> None:
        """Bound every record; reads the features once, and copies them only if they must be.

        Args:
            features: one row for each record, float32 or float64 in C order to be used in place.
            targets: one for each record; for several numeric outputs one row for each record.
            link: the loss as a function of the margins.
            feature_norm: longer records, intercept included, are scaled down to this length.
            gradient_bound: cap on the length of a record's gradient, below the link's own.
            intercept: value of the constant coordinate, 0 for none.
            reserve: share of both bounds kept free for roundings after the sum is returned.
            capacity: the margin is that of so many records, for batches whose number of records
                must not show in how the others are bounded; None for as many as there are.
        """
        self._features = _matrix(features)
        self._link = link
        self._intercept = arguments.real("intercept", intercept, least=0.0, most=1e100)
        self._norm = arguments.real("feature_norm", feature_norm, least=1e-100, most=1e100)
        self._objective = link.objective(self._norm, gradient_bound, 0.0)
        self._bound = arguments.real(
            "gradient_bound", self._objective.gradient_bound, least=1e-100, most=1e100
        )
        self._targets = _aligned(targets, self.records, link.outputs)
        self._rows, self._group = _block_sizes(self._features, link.outputs)
        self._capacity = capacity
        self._margin = self._checked_margin(reserve)
        with np.errstate(all="ignore"):
            self._bound_records()

    makes_null_records: ClassVar[bool] = True
    """A row that holds no record counts as the null record."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self._features)

    def __sizeof__(self) -> int:
        """Return the size with the records, or a scheduler would move this at will."""
        return super().__sizeof__() + self._features.nbytes + self._targets.nbytes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        columns = self._features.shape[1] + (self._intercept > 0.0)
        return (columns,) if self._link.outputs == 1 else (columns, self._link.outputs)

    @property
    def gradient_bound(self) -> float:
        """A bound on every record's gradient, whatever the record is, rounding included."""
        return self._bound

    @property
    def objective(self) -> Objective:
        """The constants of the bounded losses, without ridge."""
        return self._objective

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed hash of the records in their order, their loss and their bounds.

        It says nothing without the key.
        """
        digest = hashlib.blake2b(key=key, digest_size=32, person=b"wane-records")
        bounds = (self._norm, self._bound, self._intercept, self._margin)
        digest.update(f"{self._link!r} {[bound.hex() for bound in bounds]}\n".encode())
        for array in (self._features, self._targets):
            digest.update(f"{array.shape} {array.dtype}\n".encode())
            digest.update(array.data)
        return digest.digest()

    def rounding(self, parameter_norm: float) -> float:
        """Return how far the sum over all records can be from the exact one, by rounding alone.

        For parameters of at most this norm.  A margin is off by at most (d + 8) u R |W|, which
        moves the gradient by at most M (d + 8) u |W|; then come the link's own error and the
        summation.
        """
        size = arguments.real("parameter_norm", parameter_norm, least=0.0)
        M = self._objective.smoothness
        assert M is not None
        margins = M * (self._features.shape[1] + 8) * UNIT * size
        link = self._norm * self._link.error(self._norm * size)
        summed = self._bound * (self._terms + self._link.outputs + 32) * UNIT
        return float(1.01 * self.records * (margins + link + summed))

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sum of these records' bounded gradients, without any ridge term.

        Zero for parameters beyond 1e140, where margins leave the floats.
        """
        x = np.ascontiguousarray(parameters, dtype=np.float64)
        lanes = self._lanes(rows)
        if not np.abs(x).max() < LONGEST or not lanes:
            return np.zeros(self.shape)
        with _one_thread_each():
            if len(lanes) == 1:
                return self._lane_sum(x, lanes[0])
            sums = _workers(os.getpid()).map(lambda lane: self._lane_sum(x, lane), lanes)
            return reduce(np.add, sums)

    @property
    def _terms(self) -> int:
        """The number of additions that a record's term can go through: Q in the module docstring.

        The 32 also cover the short block at the end of each lane, and the sum over lanes.
        """
        if self._capacity is None:
            return int(self._rows + self.records // self._rows + 32)
        shortest, longest = _rows_read(self._features, self._link.outputs)
        return int(longest + self._room // shortest + 32)

    @property
    def _room(self) -> int:
        """The number of records that the margin is made for."""
        return max(self.records, self._capacity or 0)

    def _checked_margin(self, reserve: float) -> float:
        margin = (2.5 * self._terms * self._room + self._link.outputs + 64) * UNIT
        margin += arguments.real("reserve", reserve, least=0.0)
        if margin > LARGEST_MARGIN:
            raise InvalidDescription(
                f"features must have fewer rows for a bound that survives rounding, "
                f"got {self.records}; split them into several fits."
            )
        return margin

    def _bound_records(self) -> None:
        count, columns = self._features.shape
        squares = np.empty(count)
        for part in blocks(slice(0, count), self._rows):
            block = self._features[part].astype(np.float64, copy=False)
            squares[part] = np.einsum("ij,ij->i", block, block)
        norms = np.sqrt(squares + self._intercept**2) * (1.0 + (columns + 8) * UNIT)
        short = norms < LONGEST  # not so for NaN
        live = short & (norms > SHORTEST) & self._link.usable(self._targets)
        norms[~live] = 1.0
        factors = np.minimum(1.0, self._norm * (1.0 - self._margin) / norms)
        caps = self._bound * (1.0 - self._margin) / (factors * norms)
        self._factors = np.where(live, factors, 0.0)
        self._caps = np.where(live, caps, 0.0)
        self._targets[~live] = 0.0
        # These would turn a product with zero into NaN, and are blanked whenever they are read.
        self._blank = None if short.all() else ~short

    def _lanes(self, rows: Rows) -> list[Rows]:
        """Return the rows cut into equal parts for the threads, in order."""
        if isinstance(rows, slice):
            first, last, _ = rows.indices(self.records)
        else:
            first, last = 0, len(rows)
        size, columns = last - first, self._features.shape[1]
        count = LANES if size * columns * 8 >= LANES * LANE_BYTES else 1
        step = -(-size // count)
        cuts: list[Rows] = [
            slice(at, min(at + step, last)) for at in range(first, last, max(step, 1))
        ]
        return cuts if isinstance(rows, slice) else [rows[cut] for cut in cuts]

    def _lane_sum(self, x: Array, rows: Rows) -> Array:
        columns = self._features.shape[1]
        total = np.zeros(self.shape)
        weights = x[:columns]
        view = window(self._features, self._blank, self._rows, self._link.outputs)
        with np.errstate(all="ignore"):
            for group in blocks(rows, self._group):
                parts = tuple(blocks(group, self._rows))
                margins = [view.times(part, weights) for part in parts]
                residuals = self._residuals(_joined(margins), x, group)
                spots = tuple(blocks(slice(0, len(residuals)), self._rows))
                # from the last, which is still at hand
                for part, spot in zip(parts[::-1], spots[::-1], strict=True):
                    total[:columns] += view.gathered(part, residuals[spot])
                    if self._intercept:
                        total[-1] += self._intercept * residuals[spot].sum(axis=0)
        return total

    def _residuals(self, margins: Array, x: Array, part: Rows) -> Array:
        """Return the link's residuals at the scaled margins, scaled for the product to come."""
        factors = self._factors[part]
        if self._link.outputs > 1:
            factors = factors[:, None]
        if self._intercept:
            margins += self._intercept * x[-1]
        margins *= factors
        residuals_of = faster(self._link, self._features.size)
        residuals = residuals_of(margins, self._targets[part], self._caps[part])
        residuals *= factors
        return residuals


def _block_sizes(features: NDArray[Any], outputs: int) -> tuple[int, int]:
    """Return how many rows are read at once, and how many residuals a link computes at once."""
    copied, in_place = _rows_read(features, outputs)
    rows = in_place if read_in_place(features) else copied
    return rows, max(1, _rows_asked(outputs) // rows) * rows


def _rows_asked(outputs: int) -> int:
    return min(LINK_ROWS, LINK_BYTES // (8 * outputs))


def _rows_read(features: NDArray[Any], outputs: int) -> tuple[int, int]:
    """Return how many rows are read at once if they are copied, and if they are read in place."""
    columns = features.shape[1]
    copied = max(FEWEST_ROWS, BLOCK_BYTES // (8 * columns))
    most = IN_PLACE_BYTES // (features.itemsize * columns)
    return copied, max(copied, min(_rows_asked(outputs), most))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _matrix(features: NDArray[Any]) -> NDArray[Any]:
    given = np.asarray(features)
    if given.ndim != 2 or 0 in given.shape:
        raise InvalidDescription(
            f"features must be a matrix with at least one row and column, got shape {given.shape}."
        )
    suitable = given.dtype in (np.float32, np.float64)
    return np.ascontiguousarray(given if suitable else given.astype(np.float64))


def _aligned(targets: NDArray[Any], records: int, outputs: int) -> Array:
    given = np.array(targets, dtype=np.float64, order="C")
    if given.shape not in ((records,), (records, outputs)):
        raise InvalidDescription(
            f"targets must be one for each of the {records} records, got shape {given.shape}."
        )
    return given.reshape(records) if outputs == 1 else given


@cache
def _workers(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; a process forked from it makes its own."""
    return ThreadPoolExecutor(min(LANES, os.cpu_count() or 1))


def _one_thread_each() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses no threads, so that sums keep their order."""
    controller = _thread_controller()
    return nullcontext() if controller is None else controller.limit(limits=1)


@cache
def _thread_controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return None
    return ThreadpoolController()
