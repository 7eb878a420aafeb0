"""How rows and targets become sums of bounded gradients; knows no row, so it may be sent around."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from wane.describe import Objective
from wane.errors import InvalidDescription
from wane.learn.scaling import Coordinates, FeatureScaler
from wane.losses import Loss
from wane.run.linear import LinearSums


@dataclass(frozen=True)
class Bounding:
    """Every public number that bounds a record.

    Attributes:
        scaler: what is done to each row.
        link: the loss.
        feature_norm: no scaled row is longer, the intercept's constant included.
        gradient_bound: no record's gradient is longer.
        intercept: the constant in each row; 0 for none.
        reserve: share of both bounds kept free, for rows that are a part of more.
    """

    scaler: FeatureScaler
    link: Loss
    feature_norm: float
    gradient_bound: float | None
    intercept: float
    reserve: float = 0.0

    @property
    def objective(self) -> Objective:
        """The constants of the bounded losses, without ridge."""
        return self.link.objective(self.feature_norm, self.gradient_bound, 0.0)

    def __call__(self, rows: NDArray[Any], targets: NDArray[Any]) -> LinearSums:
        """Return the sums over these rows; targets are as the loss takes them."""
        return LinearSums(
            self.scaler(rows),
            targets,
            self.link,
            feature_norm=self.feature_norm,
            gradient_bound=self.gradient_bound,
            intercept=self.intercept,
            reserve=self.reserve,
        )


def row_norm(scaler: FeatureScaler, coordinates: Coordinates) -> float:
    """No scaled row is longer, the intercept's constant included; never rounded down."""
    if not coordinates.intercept:
        return scaler.feature_norm
    return math.nextafter(math.hypot(scaler.feature_norm, coordinates.intercept), math.inf)


def require_described(described: Objective, actual: Objective) -> None:
    """Refuse a plan that claims more of the losses than the gradients that would run can keep."""
    if replace(described, ridge=0.0, dimension=None) != actual:
        raise InvalidDescription(
            "The plan's objective must be that of the loss with the plan's clipping, got "
            f"{described}; nothing was run."
        )
