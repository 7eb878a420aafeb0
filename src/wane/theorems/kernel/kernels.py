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
from scipy import sparse

from wane import arguments
from wane.arrays import Array, read_only, read_only_rows
from wane.describe import matrices as given_matrices
from wane.errors import InvalidDescription
from wane.theorems.kernel import amplification, classes, low_rank, matrices, powers
from wane.theorems.kernel.amplification import ApproximateDP
from wane.theorems.kernel.amplifying import AmplifyingKernel
from wane.theorems.kernel.balance import Balance
from wane.theorems.kernel.known import Known
from wane.theorems.kernel.pairs import UNIT, Gap, largest_gap, rounding
from wane.theorems.kernel.turns import TurnedWalk

_MANY = 500  # states from which long powers of sparse kernels go through few rows
_LONG = 1 << 10  # the power of which rows are taken
_SOON = 1 << 7  # the power of which they are taken if these few are enough
_MORE = 1 << 5  # how many times the power is taken for one that may settle
_LITTLE = 1e-30  # lost mass that a mirrored factor may have
_FORGETFUL = 0.7  # the Doeblin coefficient from which one row is multiplied in place of all
_PATIENCE = 120  # such products at most
_FEW_TIMES = 8  # how often it is multiplied at least
_FEW_ROWS_ERROR = 1e-4  # the largest relative error that is accepted of it
_FAR = 1e-6  # rows whose likelihoods differ by more than this say more than any lost mass hides


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


def _product(factors: list[MarkovKernel]) -> MarkovKernel:
    """These kernels in a row."""
    made = factors[0]
    for factor in factors[1:]:
        made = made.then(factor)
    return made


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
    balance: Balance | None = field(default=None, kw_only=True, repr=False)
    """Detailed balance, where a power was found to have it; it saves half of a square."""

    def __repr__(self) -> str:
        rows, columns = self.matrix.shape
        return f"{type(self).__name__}: {rows} inputs, {columns} outputs"

    def __post_init__(self) -> None:
        # Equal rows mean something in a matrix that was given, not in one that was rounded: rows
        # that differ may become equal when each is divided by its sum.
        if not isinstance(self.matrix, matrices.Trusted):
            given = given_matrices.as_doubles(self.matrix)
            rows, faint = matrices.flushed(given_matrices.checked(given), matrices.FAINT)
            object.__setattr__(self, "lost_mass", self.lost_mass + faint)
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
    def known(self) -> Known:
        """How well the stored entries are known."""
        return Known(self.relative_error, self.lost_mass)

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
        vague = min(max(r, self.lost_mass), 1e-6)
        for m in sorted(set(wanted)):
            lowered = m * ((1.0 - r) / (1.0 + r)) * (1.0 - 8.0 * UNIT)
            if 2.0 * self.ceiling <= 1.0 - lowered:  # even of equal rows more would be found
                found[m] = self.ceiling
                continue
            hint = largest_gap(rows, lowered, hint, tolerance=vague)
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
        raised = self.known.doeblin(matrices.dense_row(self.matrix, 0), least)
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
        constant = self.forgets_everything or following.forgets_everything
        bounds = (self._cheap_ceiling, following._cheap_ceiling)
        terms = matrices.most_terms(first)
        mirrored = self._mirrored(first, dropped) if following is self else None
        if self.balance is None or mirrored is None:
            known = self.known.times(following.known, terms=terms, dropped=dropped + also)
            made = matrices.product(first, second)
        else:
            known = self.known.times(mirrored, terms=terms + 8, dropped=dropped)
            made = self.balance.square(first)
        if known.says_nothing:  # keep the rows from drifting away
            made = given_matrices.normalised(made)
        return MarkovKernel(
            matrices.Trusted(made),
            relative_error=known.relative_error,
            lost_mass=known.lost_mass,
            ceiling=0.0 if constant else min(1.0, amplification.product_up(*bounds)),
            balance=self.balance.times(following.balance) if self.balance else None,
        )

    def _mirrored(self, rows: Any, dropped: float) -> Known | None:
        """What is known of the rows as a mirrored second factor, if that saves much."""
        if self.balance is None or sparse.issparse(rows):
            return None
        known = Known(self.relative_error, self.lost_mass + dropped).mirrored(self.balance)
        return known if known.lost_mass <= _LITTLE and matrices.is_wide(rows) else None

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
        made = base._turned_power(times) or base._by_classes(times)
        if made is None:
            base = replace(base, matrix=matrices.Trusted(base.matrix), balance=base._own_balance)
            made = base._through_few_rows(times) or powers.raised(base, times)
        return made._without_little_mass()

    @property
    def _own_balance(self) -> Balance | None:
        many = self.inputs >= _MANY and sparse.issparse(self.matrix)
        return Balance.of(self.matrix, self.relative_error) if many and not self.lost_mass else None

    def _by_classes(self, times: int) -> MarkovKernel | None:
        """The power of a walk from class to class, by that of its rounds, or None."""
        cells = self.inputs * self.outputs
        if self.inputs < _MANY or not sparse.issparse(self.matrix) or cells > matrices.MOST_DENSE:
            return None
        found = classes.of(self.matrix)
        if found is None or times < 3 * len(found):
            return None
        steps = [
            replace(self, matrix=matrices.Trusted(self.matrix[states][:, following]))
            for states, following in zip(found, found[1:] + found[:1], strict=True)
        ]
        around, fewest = _product(steps), times // len(found) - 1
        rounds = {fewest: around.power(fewest)}
        made = np.zeros(self.matrix.shape)
        error = lost = 0.0
        for place, states in enumerate(found):
            home, last = -place % len(found), (place + times) % len(found)
            more = (times - home - last) // len(found)
            if more not in rounds:
                rounds[more] = rounds[fewest].then(around)
            part = _product([*(steps[place:] if place else []), rounds[more], *steps[:last]])
            made[np.ix_(states, found[last])] = matrices.dense(part.matrix)
            error, lost = max(error, part.relative_error), max(lost, part.lost_mass)
        return MarkovKernel(matrices.Trusted(made), relative_error=error, lost_mass=lost)

    def _turned_power(self, times: int) -> MarkovKernel | None:
        """The power by that of its first row, if the others are that row turned; else None."""
        cells = self.inputs * self.outputs
        if not sparse.issparse(self.matrix) or cells > matrices.MOST_DENSE:
            return None
        walk = TurnedWalk.of(self.matrix, self.known)
        if walk is None or self.forgets_everything:
            return None
        made = powers.raised(walk, times)
        rows = matrices.thinned(made.all_rows())
        return MarkovKernel(
            matrices.Trusted(rows),
            relative_error=made.known.relative_error,
            lost_mass=made.known.lost_mass,
            ceiling=min(made.ceiling, self.ceiling),
        )

    def _without_little_mass(self) -> MarkovKernel:
        """The same kernel; lost mass is an error of its entries where these are all larger."""
        if self.lost_mass == 0.0:
            return self
        known = self.known.absorbing(float(self._least.min()))
        return replace(
            self,
            matrix=matrices.Trusted(self.matrix),
            relative_error=known.relative_error,
            lost_mass=known.lost_mass,
        )

    def _through_few_rows(self, times: int) -> MarkovKernel | None:
        """A long power of a sparse kernel by way of few rows of a shorter one, or None.

        Kernels that forget much at once have few rows that matter soon; others are squared until
        they do, and some more times where these are too vague, should the power settle.
        """
        if self.inputs < _MANY or times < _FEW_TIMES * _LONG or not sparse.issparse(self.matrix):
            return None
        short, until, trying = [self], times // _FEW_TIMES, True
        while True:
            length, last = 1 << (len(short) - 1), short[-1]
            whole, rest = divmod(times, length)
            factors = [factor for place, factor in enumerate(short[:-1]) if rest >> place & 1]
            if length > until:  # the factors first: they are the sparser ones
                return _product([*factors, powers.raised(last, whole)])
            soon = length == _SOON and not sparse.issparse(last.matrix)
            if trying and (soon or length >= _LONG):
                few = last._few_rows()
                found = None if few is None else last._by_rows(few, whole, factors)
                if found is not None:
                    return found
                if few is not None and not soon:
                    trying, until = False, min(until, _MORE * length)
            short.append(last.then(last))
            same = short[-1].settled(times >> (len(short) - 1))
            if same is not None:
                return same

    def _few_rows(self) -> low_rank.FewRows | None:
        rows = matrices.dense(self.matrix)
        return low_rank.FewRows.of(rows, relative=self.relative_error, lost=self.lost_mass)

    def _by_rows(
        self, few: low_rank.FewRows, times: int, factors: list[MarkovKernel]
    ) -> MarkovKernel | None:
        """This kernel to a power, times the factors, which are powers of the same; None if vague.

        Powers of one kernel may be multiplied in any order: F T^k, where T^k is known by few rows.
        """
        core, reached = few.power(times)
        used = factors if reached == times else []
        made, error = few.applied(core, [(f.matrix, f.relative_error, f.lost_mass) for f in used])
        ceiling = amplification.power_up(self._cheap_ceiling, reached)
        least = matrices.column_minima(made)
        if np.all(error <= _FEW_ROWS_ERROR * least):
            found = MarkovKernel(
                matrices.Trusted(made),
                relative_error=float(np.max(error / least)) * (1.0 + 1e-9),
                ceiling=ceiling,
            )
            return found if reached == times else found.settled(times // reached)
        far_apart = np.any(least + error <= _FAR * (matrices.column_maxima(made) - error))
        if reached < times or not far_apart:
            return None
        made -= error
        np.maximum(made, 0.0, out=made)
        missing = 1.0 - made.sum(axis=1) * (1.0 - 3.0 * rounding(self.outputs))
        return MarkovKernel(
            matrices.Trusted(made), lost_mass=float(np.max(missing)), ceiling=ceiling
        )

    def settled(self, times: int) -> MarkovKernel | None:
        """This kernel in place of itself `times` times or more, once its rows hardly differ.

        Rows of all later powers are means of these rows: they lie between the smallest and largest
        entries of the columns, and have no more than the lost mass where all entries are zero.
        """
        least, most = self._least, matrices.column_maxima(self.matrix)
        reached = most > 0.0
        spread = self.known.spread(least[reached], most[reached])
        if spread is None:
            return self._forgotten(times)
        return MarkovKernel(
            matrices.Trusted(self.matrix),
            relative_error=spread,
            lost_mass=self.lost_mass,
            ceiling=amplification.power_up(self._cheap_ceiling, times),
        )

    def _forgotten(self, times: int) -> MarkovKernel | None:
        """One row of a power in place of all, once what rows differ by has shrunk to nothing.

        Every product shrinks the range of a column by the Dobrushin coefficient, of which the
        cheap bound is used.  Later powers stay within the range.
        """
        share, r = self._cheap_ceiling, self.relative_error
        if self.inputs < _MANY:
            return None
        if not (0.0 < share <= _FORGETFUL and (times - 1) * math.log(share) < math.log(r)):
            return None
        most, least = matrices.column_maxima(self.matrix), self._least
        seen = most > 0.0
        apart = ((1.0 + r) * most + self.lost_mass - (1.0 - r) * least)[seen]
        first = matrices.dense_row(self.matrix, 0).reshape(1, -1)
        row = MarkovKernel(matrices.Trusted(first), relative_error=r, lost_mass=self.lost_mass)
        for _ in range(min(times, _PATIENCE) - 1):
            row = row.then(self)
            apart *= share * (1.0 + 4.0 * UNIT)
            values = np.asarray(row.matrix).reshape(-1)[seen]
            if np.all(apart <= row.relative_error * values):
                return MarkovKernel(
                    matrices.Trusted(np.tile(row.matrix, (self.inputs, 1))),
                    relative_error=2.01 * row.relative_error,
                    lost_mass=min(1.0, row.lost_mass + self.lost_mass),
                    ceiling=amplification.power_up(share, times),
                )
        return None

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
