"""A private mean, or a robust centre, as a sample from its Gibbs posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from wane.arrays import Array
from wane.describe.posterior import Losses
from wane.errors import InvalidDescription
from wane.learn.inputs import validated
from wane.sampling.estimators.base import SamplingEstimator
from wane.sampling.sums import (
    ChainSums,
    LocationChainSums,
    MeanChainSums,
    location_losses,
    mean_losses,
)


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorMean(SamplingEstimator):
    """The mean of the rows, or with `width` a centre that outliers hardly move.

    Rows are shortened to `feature_norm`, measured from `centre`.  The estimate is as cold, that is
    as sharp, as privacy allows.

    Args:
        centre: a public guess, one number for each column; None for the origin.
        width: distances beyond this count linearly (Huber's centre); None for the mean.  It needs a
            `prior_precision` above zero.

    Attributes:
        samples_: the release, one row for each sample.
        mean_: the sample itself, or the average of several.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorMean
        >>> rows = np.tile([0.3, -0.2], (5000, 1))
        >>> model = PosteriorMean(epsilon=1.0, feature_norm=1.0).fit(rows)
        >>> bool(np.linalg.norm(model.mean_ - [0.3, -0.2]) < 0.1)
        True
    """

    prior_precision: float = 0.0
    centre: Any = None
    width: float | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate privately.  Whatever is refused is refused before any noise is drawn."""
        self._check_parameters()
        X = validated(self, X, dtype=np.float64)
        middle = self._centre(X.shape[1])
        with np.errstate(all="ignore"):  # a warning would tell of a row
            losses, sums = self._model(X - middle)
        end = self._sampled(losses, sums, self._wish(coldest=0.0), ())
        self.samples_ = end + middle
        self.mean_ = self.samples_.mean(axis=0)
        return self

    def _product(self) -> str:
        return f"{self._many()} of a mean"

    def _released(self) -> str:
        return f"{self.mean_.size} numbers"

    def _centre(self, columns: int) -> Array:
        middle = np.zeros(columns) if self.centre is None else np.array(self.centre, dtype=float)
        if middle.shape != (columns,) or not np.isfinite(middle).all():
            raise InvalidDescription(
                f"centre must be {columns} finite numbers, got {self.centre!r:.60}."
            )
        return middle

    def _model(self, rows: Array) -> tuple[Losses, ChainSums]:
        columns, norm = rows.shape[1], float(self.feature_norm)
        if self.width is None:
            return mean_losses(dimension=columns, norm=norm), MeanChainSums(rows, norm=norm)
        return (
            location_losses(dimension=columns, norm=norm, width=self.width),
            LocationChainSums(rows, norm=norm, width=self.width),
        )
