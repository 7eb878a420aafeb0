"""The pinball loss of a quantile with its corner rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from wane import arguments
from wane.arguments import Positive, Real
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.losses.base import (
    ROUNDINGS,
    TARGET_NOISE,
    UNIT,
    Prior,
    ScalarLoss,
    linear_objective,
    rounded_up,
)


@dataclass(frozen=True)
class Quantile(ScalarLoss):
    """Pinball loss of the quantile `level`, its corner at the target rounded over `width`."""

    level: Annotated[float, Real(above=0.0, most=1.0)] = 0.5
    width: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level == 1.0:
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
        """Return a bound on the roundings of the distance to the target, over the width."""
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
        """The prior of a loss that bounds its own slope."""
        return Prior((None,), TARGET_NOISE)


def quantile(
    feature_norm: float,
    *,
    level: float,
    width: float,
    clip: float | None = None,
    ridge: float = 0.0,
) -> Objective:
    """Return the constants of rounded pinball loss: gradient at most R, curvature <= R^2/width.

    The slope is (<a, x> - y)/width, clamped to [-level, 1 - level]; so the gradient is at most
    max(level, 1 - level) R.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    w = arguments.real("width", width, above=0.0)
    q = arguments.real("level", level, above=0.0, most=1.0)
    bound = rounded_up(max(q, 1.0 - q) * R)
    return linear_objective(rounded_up(R * R / w), gradient_bound=bound, clip=clip, ridge=ridge)
