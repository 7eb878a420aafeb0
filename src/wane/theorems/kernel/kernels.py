"""Finite Markov kernels: how much of their input they forget, and what that does to privacy.

The numbers a kernel reports are upper bounds on the truth, not on its rounded matrix.  The matrix
is kept with two error bounds, and every coefficient is raised by both:

    relative_error    each true entry is within this fraction of the stored one,
    lost_mass         except for so much probability per row, which was dropped.

Sums and products of non-negative doubles have small relative errors whatever their order, so the
bounds stay small: K^t with n states is known to about t n 2^-53, entry by entry.  Entries below
1e-150 are dropped before a product, so that nothing underflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe import matrices as given_matrices
from wane.describe.arrays import read_only, read_only_rows
from wane.errors import InvalidDescription
from wane.theorems.kernel import amplification, low_rank, matrices, powers
from wane.theorems.kernel.amplification import ApproximateDP
from wane.theorems.kernel.amplifying import AmplifyingKernel
from wane.theorems.kernel.pairs import UNIT, Gap, largest_gap, rounding

_NO_DIGITS = 1e6  # a relative error that says nothing
_MANY = 500  # states from which long powers of sparse kernels go through few rows
_LONG = 1 << 10  # the power of which rows are taken
_FEW_ROWS_ERROR = 1e-4  # the largest relative error that is accepted of it


@dataclass(frozen=True)
class Doeblin:
    """Whatever the input, the output comes from `witness` with probability 1 - `coefficient`.

    The witness is None if the rows have nothing in common.
    """

    coefficient: float
    witness: Array | None


@dataclass(frozen=True)
class Amplification:
    """An (epsilon, delta) guarantee after the kernel, by each statement.

    Attributes:
        dobrushin: same epsilon, delta times the Dobrushin coefficient.
        threshold: same epsilon, delta times the coefficient at the matching threshold.
        doeblin: smaller epsilon, some delta.
        ultra_mixing: smaller epsilon and delta.
        exact: at the epsilon given, the exact worst case; it supersedes the others.
    """

    dobrushin: ApproximateDP
    threshold: ApproximateDP
    doeblin: ApproximateDP
    ultra_mixing: ApproximateDP
    exact: ApproximateDP


@dataclass(frozen=True, eq=False)
class MarkovKernel(AmplifyingKernel):
    """A row-stochastic matrix: row = input, column = output, dense or `scipy.sparse`.

    Rows must sum to one within `wane.describe.matrices.ROW_SUM_TOLERANCE`; they are then divided by
    their sum.
    """

    matrix: Any
    relative_error: float = field(default=0.0, kw_only=True)
    lost_mass: float = field(default=0.0, kw_only=True)
    ceiling: float = field(default=1.0, kw_only=True)
    """A bound on the Dobrushin coefficient known from the factors of a product."""

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return f"{type(self).__name__}: {rows} inputs, {columns} outputs"

    def __post_init__(self) -> None:
        # Equal rows mean something in a matrix that was given, not in one that was rounded: rows
        # that differ may become equal when each is divided by its sum.
        if not isinstance(self.matrix, matrices.Trusted):
            given = given_matrices.as_doubles(self.matrix)
            rows = given_matrices.checked(given)
            object.__setattr__(self, "ceiling", 0.0 if matrices.rows_agree(given) else self.ceiling)
        else:
            rows = self.matrix.rows
        object.__setattr__(self, "matrix", read_only_rows(rows))
        error = arguments.real("relative_error", self.relative_error, least=0.0)
        own = rounding(matrices.most_terms(rows))
        object.__setattr__(self, "relative_error", (error + own) * (1.0 + error + own))

    @classmethod
    def read(cls, path: str) -> MarkovKernel:
        """Read a CSV, NPY or NPZ file (pickles are refused)."""
        return cls(given_matrices.read(path))

    @classmethod
    def randomized_response(cls, epsilon: float, choices: int = 2) -> MarkovKernel:
        """Report the truth with odds e^epsilon against each other choice."""
        epsilon = arguments.real("epsilon", epsilon, least=0.0)
        choices = arguments.whole("choices", choices, least=2)
        wrong = math.exp(-epsilon)
        weights = np.full((choices, choices), wrong)
        np.fill_diagonal(weights, 1.0)
        return cls(weights / (1.0 + (choices - 1) * wrong))

    @property
    def inputs(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def outputs(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def forgets_everything(self) -> bool:
        """Whether all rows are surely the same: the output says nothing about the input."""
        return self.ceiling == 0.0

    def coefficients(self, multipliers: Iterable[float]) -> list[float]:
        """The largest sum of (P - m Q)_+ over ordered pairs of rows for each m >= 1, raised."""
        wanted = list(multipliers)
        if self.forgets_everything:
            return [0.0] * len(wanted)
        # What is found is raised by the lost mass: the ceiling may be the better bound already.
        useless = self.relative_error >= 1.0 or self.ceiling <= self.lost_mass
        if useless or matrices.has_disjoint_rows(self.matrix):
            return [self.ceiling] * len(wanted)
        rows = matrices.dense(self.matrix)
        r, hint, found = self.relative_error, None, {}
        for m in sorted(set(wanted)):
            lowered = m * ((1.0 - r) / (1.0 + r)) * (1.0 - 8.0 * UNIT)
            if 2.0 * self.ceiling <= 1.0 - lowered:  # even of equal rows more would be found
                found[m] = self.ceiling
                continue
            hint = largest_gap(rows, lowered, hint, tolerance=min(r, 1e-6))
            found[m] = self._raised(hint)
        return [found[m] for m in wanted]

    def _raised(self, gap: Gap) -> float:
        factor = (1.0 + self.relative_error) * (1.0 + rounding(self.outputs))
        return min(self.ceiling, gap.value * factor + self.lost_mass)

    @cached_property
    def doeblin(self) -> Doeblin:
        """The largest probability with which the output ignores the input, and its law then."""
        least = self._least
        total = float(least.sum())
        witness = read_only(least / total) if total > 0.0 else None
        if self.forgets_everything:
            return Doeblin(0.0, witness)
        # In exact arithmetic every row gives the same number; each one is an upper bound.
        row, r = matrices.dense_row(self.matrix, 0), self.relative_error
        excess = float(np.maximum((1.0 + r) * row - (1.0 - r) * least, 0.0).sum())
        raised = excess * (1.0 + rounding(self.outputs)) + self.lost_mass
        return Doeblin(raised, witness) if raised < 1.0 else Doeblin(1.0, None)

    @property
    def doeblin_coefficient(self) -> float:
        """One minus a probability with which the output ignores the input, rounded up."""
        return self.doeblin.coefficient

    @cached_property
    def ultra_mixing(self) -> float:
        """One minus the smallest likelihood ratio between two rows, rounded up."""
        if self.forgets_everything:
            return 0.0
        least, most = self._least, matrices.column_maxima(self.matrix)
        seen = most > 0.0
        if self.lost_mass > 0.0 and not np.all(seen):
            return 1.0
        r = self.relative_error
        top = (1.0 + r) * most[seen] + self.lost_mass
        share = np.max((top - (1.0 - r) * least[seen]) / top) * (1.0 + rounding(4))
        return min(1.0, float(share))

    def then(self, following: MarkovKernel) -> MarkovKernel:
        """The kernel that feeds this one's output to the next."""
        if self.outputs != following.inputs:
            raise InvalidDescription(
                f"following must have {self.outputs} rows, one for each output of the first "
                f"kernel, got {following.inputs}."
            )
        (first, dropped), (second, also) = self._without_dust, following._without_dust
        p, q, own = (
            self.relative_error,
            following.relative_error,
            rounding(matrices.most_terms(first)),
        )
        constant = self.forgets_everything or following.forgets_everything
        bounds = (self._cheap_ceiling, following._cheap_ceiling)
        grown = (1.0 + p) * (1.0 + q)
        error, made = (grown * (1.0 + own) - 1.0) * 1.000001, matrices.product(first, second)
        if error > 0.5:  # hardly a digit is known: keep the rows from drifting away, claim none
            error, made = _NO_DIGITS, given_matrices.normalised(made)
        lost = self.lost_mass + following.lost_mass + dropped + also
        return MarkovKernel(
            matrices.Trusted(made),
            relative_error=error,
            lost_mass=min(1.0, 1.01 * grown * lost),
            ceiling=0.0 if constant else min(1.0, amplification.product_up(*bounds)),
        )

    @cached_property
    def _least(self) -> Array:
        return read_only(matrices.column_minima(self.matrix))

    @cached_property
    def _without_dust(self) -> tuple[Any, float]:
        if float(self._least.min()) >= matrices.TINY:
            return self.matrix, 0.0
        return matrices.flushed(self.matrix)

    @cached_property
    def _cheap_ceiling(self) -> float:
        """A bound on the Dobrushin coefficient in one pass over the matrix."""
        return 0.0 if self.forgets_everything else min(self.ceiling, self.doeblin.coefficient)

    def power(self, times: int) -> MarkovKernel:
        """The kernel applied so many times, by repeated squaring."""
        times = arguments.whole("times", times, least=1)
        if self.inputs != self.outputs:
            raise InvalidDescription(
                f"matrix must be square to be repeated, got {self.inputs} x {self.outputs}."
            )
        base = replace(self, matrix=matrices.Trusted(matrices.thinned(self.matrix)))
        long = self.inputs >= _MANY and 8 * times >= self.inputs**2
        even = long and matrices.is_sparse_and_even(base.matrix)
        made = base._through_few_rows(times) if even else None
        return powers.raised(base, times) if made is None else made

    def _through_few_rows(self, times: int) -> MarkovKernel | None:
        """A long power by way of few rows of a shorter one, or None if that loses digits.

        It is tried only where all entries of the power are likely to be of one size.
        """
        whole, rest = divmod(times, _LONG)
        short = [self]
        while 2 ** (len(short) - 1) < _LONG:
            short.append(short[-1].then(short[-1]))
        power = short.pop()
        same = power.settled(whole)
        if same is not None or power.relative_error > 1e-6:
            return same
        r, lost = power.relative_error, power.lost_mass
        rows = matrices.dense(power.matrix)
        few = low_rank.FewRows.of(rows, r * low_rank.norm(rows) + lost)
        if few is None:
            return None
        core, reached = few.power(whole - 1)
        last = MarkovKernel(matrices.Trusted(few.rows), relative_error=r, lost_mass=lost)
        for place, factor in enumerate(short):
            if rest >> place & 1 and reached == whole - 1:
                last = last.then(factor)
        z, most = low_rank.norm(few.weights), float(np.max(last.matrix))
        wrong = few.error + z * (r * low_rank.norm(few.rows) + lost)
        wrong += z * (last.relative_error * most + last.lost_mass)
        largest = float(np.max(rows)) * (1.0 + r) + lost  # of later powers as well
        made, error = few.applied(
            core, matrices.dense(last.matrix), last_error=wrong, largest=largest
        )
        least = float(made.min())
        if not error <= _FEW_ROWS_ERROR * least:
            return None
        found = MarkovKernel(
            matrices.Trusted(made),
            relative_error=error / least * (1.0 + 1e-9),
            ceiling=amplification.power_up(power._cheap_ceiling, reached + 1),
        )
        return found if reached == whole - 1 else found.settled(whole // (reached + 1))

    def settled(self, times: int) -> MarkovKernel | None:
        """This kernel in place of itself `times` times or more, once its rows hardly differ.

        Rows of all later powers are means of these rows: they lie between the smallest and largest
        entries of the columns, and have no more than the lost mass where all entries are zero.
        """
        least, most = self._least, matrices.column_maxima(self.matrix)
        reached = most > 0.0
        least, most = least[reached], most[reached]
        if self.relative_error >= 1.0 or not np.all(least > 0.0):
            return None
        r = self.relative_error
        top = (1.0 + r) * most + self.lost_mass
        spread = (float(np.max(top / ((1.0 - r) * least))) - 1.0) * (1.0 + 1e-6)
        if spread > 8.0 * r:
            return None
        return MarkovKernel(
            matrices.Trusted(self.matrix),
            relative_error=spread,
            lost_mass=self.lost_mass,
            ceiling=amplification.power_up(self._cheap_ceiling, times),
        )

    def amplify(self, *, epsilon: float, delta: float) -> Amplification:
        """All statements about an (epsilon, delta)-private input."""
        before = amplification.checked_target(epsilon, delta)
        at_zero, at_threshold = self.coefficients([1.0, amplification.threshold(*before)])
        return Amplification(
            dobrushin=amplification.by_dobrushin(at_zero, *before),
            threshold=ApproximateDP(before.epsilon, amplification.exact(delta, at_threshold)),
            doeblin=amplification.by_doeblin(self.doeblin.coefficient, *before),
            ultra_mixing=amplification.by_ultra_mixing(self.ultra_mixing, *before),
            exact=ApproximateDP(before.epsilon, amplification.exact(delta, at_threshold)),
        )
