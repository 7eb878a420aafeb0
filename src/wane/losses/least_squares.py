"""The squared loss, its residuals clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.losses.base import (
    ROUNDINGS,
    UNIT,
    Prior,
    ScalarLoss,
    linear_objective,
    needed,
    regression_prior,
)


@dataclass(frozen=True)
class Squared(ScalarLoss):
    """(u - y)^2/2."""

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.square(margins - targets) / 2.0

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return u - y."""
        return margins - targets

    def error(self, margin_bound: float) -> float:
        """Return a bound on the rounding of the difference, where it is not clamped."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; a squared loss has no bound of its own, so one must be given."""
        return least_squares(feature_norm, clip=needed(gradient_bound), ridge=ridge)

    def unclipped(self, feature_norm: float) -> Objective:
        """Return the curvature, which is all that is known of the loss as it is."""
        R = arguments.real("feature_norm", feature_norm, above=0.0)
        return Objective(smoothness=R * R, strong_convexity=0.0)

    @property
    def prior(self) -> Prior:
        """The prior of regressions on targets within [-1, 1]."""
        return regression_prior()

    @property
    def third_derivative(self) -> float:
        """Zero, as of every parabola."""
        return 0.0

    def height(self, target_bound: float | None) -> float | None:
        """Return y^2/2 of the largest target, rounded up."""
        return None if target_bound is None else 0.5 * target_bound**2 * (1.0 + 1e-15)


def least_squares(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Return the constants of the squared loss with clipped residuals: curvature at most R^2."""
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    return linear_objective(R * R, gradient_bound=math.inf, clip=clip, ridge=ridge)
