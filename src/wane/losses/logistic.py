"""The logistic loss of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array, Mask
from wane.describe.objective import Objective
from wane.losses.base import MARGIN_NOISE, Prior, ScalarLoss, linear_objective, residual_bounds


@dataclass(frozen=True)
class Logistic(ScalarLoss):
    """log(1 + exp(-y u)), targets -1 and +1."""

    def usable(self, targets: Array) -> Mask:
        """Return which targets are -1 or +1."""
        return np.asarray(np.abs(targets) == 1.0)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.logaddexp(0.0, -targets * margins)

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return -y/(1 + exp(y u))."""
        return -targets / (1.0 + np.exp(targets * margins))

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return logistic(feature_norm, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of a loss that is best clamped early."""
        return Prior(residual_bounds(), MARGIN_NOISE, 0.5)

    @property
    def third_derivative(self) -> float:
        """The largest slope of p(1 - p) as a function of the margin."""
        return 1.0 / (6.0 * math.sqrt(3.0)) * (1.0 + 1e-15)

    def height(self, target_bound: float | None) -> float:
        """Return log 2, rounded up, whatever the target."""
        return math.log(2.0) * (1.0 + 1e-15)


def logistic(feature_norm: float, *, clip: float | None = None, ridge: float = 0.0) -> Objective:
    """Return the constants of binary logistic loss: gradient at most R, curvature at most R^2/4.

    Clipping at C clamps the residual to C/R, where the curvature p(1-p) R^2 is at most C (R - C).
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    C = R if clip is None else min(arguments.real("clip", clip, above=0.0), R)
    M = R * R / 4 if C >= R / 2 else C * (R - C)
    return linear_objective(M, gradient_bound=R, clip=clip, ridge=ridge)
