"""The log-cosh loss: Huber's with its kinks rounded, so that its third derivative is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arguments import Positive
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.losses.base import ROUNDINGS, TARGET_NOISE, UNIT, Prior, ScalarLoss, linear_objective


@dataclass(frozen=True)
class LogCosh(ScalarLoss):
    """w^2 ln cosh((u - y)/w), w the width: quadratic near the target, linear beyond.

    As a likelihood it is the hyperbolic secant's.  The slope w tanh stays within (-w, w), the
    curvature within (0, 1], and the third derivative within 4/(3 sqrt(3) w).
    """

    width: Positive = 1.0

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        z = np.abs(margins - targets) / self.width
        return np.asarray(self.width**2 * (z + np.log1p(np.exp(-2.0 * z)) - math.log(2.0)))

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return w tanh((u - y)/w)."""
        slopes = (margins - targets) / self.width
        np.tanh(slopes, out=slopes)
        slopes *= self.width
        return slopes

    def error(self, margin_bound: float) -> float:
        """Return the rounding of a residual: a difference and a tanh of slope at most one."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound, self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None = None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return log_cosh(feature_norm, width=self.width, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of Huber's loss, from which it differs at the kinks only."""
        return Prior((None,), TARGET_NOISE)

    @property
    def third_derivative(self) -> float:
        """4/(3 sqrt(3) w), rounded up."""
        return 4.0 / (3.0 * math.sqrt(3.0)) / self.width * (1.0 + 1e-15)

    def height(self, target_bound: float | None) -> float | None:
        """Return the loss of the largest target, rounded up."""
        if target_bound is None:
            return None
        return float(self.losses(np.array(0.0), np.array(target_bound))) * (1.0 + 1e-12)


def log_cosh(
    feature_norm: float, *, width: float, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Return the constants of the log-cosh loss: gradient at most width R, curvature at most R^2.

    The slope is width tanh((<a, x> - y)/width), whose derivative is at most 1.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    w = arguments.real("width", width, above=0.0)
    return linear_objective(R * R, gradient_bound=w * R * (1.0 + 1e-15), clip=clip, ridge=ridge)
