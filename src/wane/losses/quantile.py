"""The pinball loss of a quantile with its corner rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.describe import check
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.losses.base import ROUNDINGS, UNIT, ScalarLoss, linear_objective, rounded_up
from wane.losses.priors import TARGET_NOISE, Prior


@dataclass(frozen=True)
class Quantile(ScalarLoss):
    """Pinball loss of the quantile `level`, its corner at the target rounded over `width`."""

    level: float = 0.5
    width: float = 1.0

    def __post_init__(self) -> None:
        check.real("width", self.width, above=0.0)
        if check.real("level", self.level, above=0.0, most=1.0) == 1.0:
            raise InvalidDescription(f"level must be below 1, got {self.level!r}.")

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        apart = margins - targets
        near = np.clip(apart, -self.level * self.width, (1.0 - self.level) * self.width)
        return near / self.width * (apart - near / 2.0)

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return (u - y)/width, clamped to [-level, 1 - level]."""
        return np.clip((margins - targets) / self.width, -self.level, 1.0 - self.level)

    def error(self, margin_bound: float) -> float:
        """Roundings of the distance to the target, over the width."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound / self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return quantile(
            feature_norm, level=self.level, width=self.width, clip=gradient_bound, ridge=ridge
        )

    @property
    def prior(self) -> Prior:
        """The loss bounds its slope by itself."""
        return Prior((None,), TARGET_NOISE)


def quantile(
    feature_norm: float,
    *,
    level: float,
    width: float,
    clip: float | None = None,
    ridge: float = 0.0,
) -> Objective:
    """Pinball loss with its corner rounded: gradient at most R, curvature at most R^2/width.

    The slope is (<a, x> - y)/width, clamped to [-level, 1 - level]; so the gradient is at most
    max(level, 1 - level) R.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    w = check.real("width", width, above=0.0)
    q = check.real("level", level, above=0.0, most=1.0)
    bound = rounded_up(max(q, 1.0 - q) * R)
    return linear_objective(rounded_up(R * R / w), gradient_bound=bound, clip=clip, ridge=ridge)
