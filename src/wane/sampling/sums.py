"""Sums of bounded gradients for many chains at once: one pass over the records serves them all.

Parameters have the chains as first axis.  Records are prepared once: rows are scaled down to their
declared norm, with a margin that covers the rounding of the sums, and records that mean nothing (a
number that is not finite, a target outside the declared ones) become null records.  What is known
of the losses, whatever a record is, comes first.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.arrays import Array
from wane.describe import LossForm, Objective
from wane.describe.posterior import Losses, stacked_bound
from wane.errors import InvalidDescription
from wane.losses import LOSSES, Logistic, Loss, SampledLoss
from wane.losses.huber import huber_height
from wane.run import Rows
from wane.run.descent import blocks


def linear_losses(
    link: Loss, *, columns: int, feature_norm: float, target_bound: float | None = None
) -> Losses:
    """Return what is known of a linear model's loss; `feature_norm` includes the intercept."""
    if not isinstance(link, SampledLoss):
        names = ", ".join(kind.__name__ for kind in LOSSES if hasattr(kind, "third_derivative"))
        raise InvalidDescription(
            f"link must be a loss that can be sampled, one of {names}, got {type(link).__name__}."
        )
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    third = link.third_derivative
    return Losses(
        objective=link.unclipped(R),
        dimension=columns * link.outputs,
        laplacian_lipschitz=None if third is None else third * R**3,
        height_at_start=link.height(target_bound),
    )


def mean_losses(*, dimension: int, norm: float) -> Losses:
    """Return what is known of |x - record|^2/2: linear but for a quadratic that all share."""
    objective = Objective(gradient_bound=norm, smoothness=0.0, strong_convexity=0.0)
    return Losses(
        objective=objective, dimension=dimension, shared_curvature=1.0, laplacian_lipschitz=0.0
    )


def location_losses(*, dimension: int, norm: float, width: float) -> Losses:
    """Return what is known of Huber's loss of the distance to a record."""
    return Losses(
        objective=Objective(gradient_bound=width, smoothness=1.0, strong_convexity=0.0),
        dimension=dimension,
        height_at_start=huber_height(norm, width),
    )


def total_norm(feature_norm: float, intercept: float) -> float:
    """Return the norm of a row with its intercept, rounded up."""
    if not intercept:
        return feature_norm
    return math.hypot(feature_norm, intercept) * (1.0 + 4e-16)


_UNIT = 2.0**-53
_LONG_BLOCK, _SHORT_BLOCK, _MANY_CHAINS = 1024, 256, 64
"""Records of one block, which is read twice while it is in the cache; fewer for many chains."""
_SPARSE_SHARE, _SPARSE_ROWS, _SPARSE_CHAINS = 0.3, 10**6, 8
"""Rows with fewer non-zero entries than this share, such as encoded categories, are kept sparse.

In tables of up to so many rows, whose sum in one go still rounds harmlessly, and for few chains:
for many, dense products are faster.
"""


class ChainSums(ABC):
    """Gradient sums as `wane.run.descend` takes them, for `chains` chains side by side."""

    def __init__(self, rows: Array, single: Objective, shape: tuple[int, ...]) -> None:
        self._rows = rows
        self._single = single
        self._single_shape = shape
        self.chains = 1

    def with_chains(self, chains: int) -> Self:
        """Return the same records for this many chains."""
        made = copy.copy(self)
        made.chains = arguments.whole("chains", chains, least=1)
        return made

    makes_null_records: ClassVar[bool] = True
    """A row that holds no record counts as the null record."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self._rows)

    @property
    def single_shape(self) -> tuple[int, ...]:
        """The shape of one chain's parameters."""
        return self._single_shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Chains, and one chain's parameters."""
        return (self.chains, *self._single_shape)

    @property
    def gradient_bound(self) -> float:
        """No record's gradient, of all chains together, is longer; infinite if it has no bound."""
        if self._single.gradient_bound is None:
            return math.inf
        return stacked_bound(self._single.gradient_bound, self.chains)

    @property
    def objective(self) -> Objective:
        """The constants of one record's loss, for all chains together, without any ridge."""
        bound = self.gradient_bound
        return replace(
            self._single,
            gradient_bound=None if math.isinf(bound) else bound,
            form=LossForm.GENERAL,
        )

    @abstractmethod
    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sum of these records' gradients at every chain's parameters."""


def _blocks(rows: Rows, width: int) -> Iterator[Rows]:
    size = _LONG_BLOCK if width < _MANY_CHAINS else _SHORT_BLOCK
    return blocks(rows, size)


@final
class LinearChainSums(ChainSums):
    """A linear model's loss; parameters are (chains, columns) or (chains, columns, outputs)."""

    def __init__(
        self,
        features: NDArray[Any],
        targets: NDArray[Any],
        link: Loss,
        *,
        feature_norm: float,
        intercept: float = 0.0,
    ) -> None:
        """Prepare the records; `feature_norm` is that of the features, without the intercept."""
        made = _matrix(features)
        labels = np.array(targets, dtype=np.float64)
        if len(labels) != len(made):
            raise InvalidDescription(
                f"targets must have one entry for each of {len(made)} rows, got {len(labels)}."
            )
        arguments.real("intercept", intercept, least=0.0)
        usable = link.usable(labels) & np.isfinite(made).all(axis=1)
        made[~usable] = 0.0
        labels[~usable] = 0.0
        # one margin for both ways to add, since a row's own entries decide which of them it takes
        whole = len(made) <= _SPARSE_ROWS
        sparse = _sparse_rows(made) if whole else np.zeros(len(made), dtype=bool)
        rows = _shortened(made, feature_norm, whole=whole)
        if intercept > 0.0:
            constant = intercept * (1.0 - _margin(*rows.shape, whole=whole))
            rows = np.column_stack([rows, np.where(usable, constant, 0.0)])
        outputs = () if link.outputs == 1 else (link.outputs,)
        known = linear_losses(
            link, columns=rows.shape[1], feature_norm=total_norm(feature_norm, intercept)
        )
        super().__init__(np.ascontiguousarray(rows), known.objective, (rows.shape[1], *outputs))
        self._link, self._targets = link, labels
        self._kept_sparse = sparse
        self._sparse = _compressed(rows, sparse) if sparse.any() else None

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sums; margins and gradients are matrix products over all chains.

        Sparse and dense products round a margin differently.  So a row's own entries decide which
        of them it takes, and it keeps its place in either: if one record could change how the
        margins of all others are rounded, no bound on one record's gradient would have room for it.
        """
        k, p = len(parameters), self._single_shape[0]
        # one column for each chain and output
        columns = np.moveaxis(parameters, 1, 0).reshape(p, -1)
        with np.errstate(over="ignore"):
            everything = isinstance(rows, slice) and rows == slice(0, self.records)
            if self._sparse is not None and everything and columns.shape[1] <= _SPARSE_CHAINS:
                done = self._kept_sparse
                residuals = self._residuals(self._sparse @ columns, rows, k)
                total = np.array((self._sparse.T @ residuals).T)
            else:
                done = np.zeros(self.records, dtype=bool)
                total = np.zeros((columns.shape[1], p))
            for part in _blocks(rows, columns.shape[1]):
                if not done[part].all():
                    block = self._rows[part]
                    residuals = self._residuals(block @ columns, part, k)
                    residuals[done[part]] = 0.0
                    total += residuals.T @ block
        return np.moveaxis(total.reshape(k, -1, p), 2, 1).reshape(parameters.shape)

    def _residuals(self, margins: Array, part: Rows, chains: int) -> Array:
        labels = self._targets[part]
        if isinstance(self._link, Logistic):
            return _logistic(margins, labels)
        caps = np.full(len(margins), math.inf)  # the bounds are those of the losses themselves
        if self._link.outputs == 1:
            return self._link.residuals(margins, labels[:, None], caps[:, None])
        flat = self._link.residuals(
            margins.reshape(-1, self._link.outputs),
            np.repeat(labels, chains, axis=0),
            np.repeat(caps, chains),
        )
        return flat.reshape(len(margins), -1)


def _logistic(margins: Array, labels: Array) -> Array:
    """(tanh(u/2) - y)/2 = -y/(1 + e^(y u)), in place and without overflow."""
    margins *= 0.5
    np.tanh(margins, out=margins)
    margins -= labels[:, None]
    margins *= 0.5
    return margins


@final
class MeanChainSums(ChainSums):
    """Losses -<record, x>, whose shared part |x|^2/2 is a ridge; the sum needs no pass at all."""

    def __init__(self, rows: NDArray[Any], *, norm: float) -> None:
        """Prepare the records and add them up."""
        made = _matrix(rows)
        made[~np.isfinite(made).all(axis=1)] = 0.0
        made = _shortened(made, norm)
        known = mean_losses(dimension=made.shape[1], norm=norm)
        super().__init__(made, known.objective, (made.shape[1],))
        self._total = self._summed(slice(0, len(made)))

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return minus the sum of these records, for every chain."""
        everything = isinstance(rows, slice) and rows == slice(0, self.records)
        total = self._total if everything else self._summed(rows)
        return np.broadcast_to(-total, parameters.shape).copy()

    def _summed(self, rows: Rows) -> Array:
        """Block by block, as the margin counts it: in one go each row would round the whole sum."""
        total = np.zeros(self._single_shape)
        for part in _blocks(rows, 1):
            total += self._rows[part].sum(axis=0)
        return total


@final
class LocationChainSums(ChainSums):
    """Huber's loss of the distance to each record: quadratic within `width`, linear beyond."""

    def __init__(self, rows: NDArray[Any], *, norm: float, width: float) -> None:
        """Prepare the records."""
        made = _matrix(rows)
        idle = ~np.isfinite(made).all(axis=1)
        made[idle] = 0.0
        made = _shortened(made, norm)
        known = location_losses(dimension=made.shape[1], norm=norm, width=width)
        super().__init__(made, known.objective, (made.shape[1],))
        self._weights = np.where(idle, 0.0, 1.0)
        self._width = width * (1.0 - _margin(*made.shape))

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sums, chain by chain within each block of records."""
        total = np.zeros(parameters.shape)
        for part in _blocks(rows, 1):
            block, weights = self._rows[part], self._weights[part]
            for chain, x in enumerate(parameters):
                apart = x - block
                lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
                pull = weights * np.minimum(1.0, self._width / np.maximum(lengths, 1e-300))
                total[chain] += pull @ apart
        return total


def _margin(records: int, columns: int, *, whole: bool = False) -> float:
    """Relative room for the rounding of a sum over the records, as `wane.run.linear` proves it.

    In blocks, or, if `whole`, perhaps over the whole table in one go.
    """
    terms = _LONG_BLOCK + records / _SHORT_BLOCK
    if whole:
        terms = max(terms, records)
    return (2.5 * records * (terms + 32.0) + columns + 128.0) * _UNIT


def _sparse_rows(rows: Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.count_nonzero(rows, axis=1) < _SPARSE_SHARE * rows.shape[1]
    return found


def _compressed(rows: Array, which: NDArray[np.bool_]) -> Any:
    """Return these of the rows, each in its place; the places of all others are empty."""
    from scipy import sparse

    return sparse.csr_array(rows if which.all() else np.where(which[:, None], rows, 0.0))


def _matrix(rows: NDArray[Any]) -> Array:
    made = np.array(rows, dtype=np.float64)
    if made.ndim != 2 or 0 in made.shape:
        raise InvalidDescription(
            f"rows must be a matrix with at least one row and column, got shape {made.shape}."
        )
    return made


def _shortened(rows: Array, norm: float, *, whole: bool = False) -> Array:
    """Scale rows down to within the norm; huge entries do not overflow."""
    limit = arguments.real("feature_norm", norm, above=0.0) * (
        1.0 - _margin(*rows.shape, whole=whole)
    )
    largest = np.abs(rows).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):  # a warning would tell of a row
        unit = rows / np.where(largest > 0.0, largest, 1.0)
        lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))[:, None]
        long = (lengths > limit / np.where(largest > 0.0, largest, 1.0))[:, 0]
        rows[long] = unit[long] * (limit / lengths[long])
    return rows
