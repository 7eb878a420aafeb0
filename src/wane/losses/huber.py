"""Huber's loss: quadratic near the target, linear beyond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arguments import Positive
from wane.arrays import Array
from wane.describe.objective import Objective
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
class Huber(ScalarLoss):
    """Quadratic within `width` of the target, linear beyond."""

    width: Positive = 1.0

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        apart = np.abs(margins - targets)
        near = np.minimum(apart, self.width)
        return near * (apart - near / 2.0)

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return u - y, clamped to the width."""
        return np.clip(margins - targets, -self.width, self.width)

    def error(self, margin_bound: float) -> float:
        """Return a bound on the rounding of a difference of at most the width."""
        return ROUNDINGS * UNIT * max(1.0, margin_bound, self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return huber(feature_norm, width=self.width, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of a loss that bounds its own slope."""
        return Prior((None,), TARGET_NOISE)

    @property
    def third_derivative(self) -> None:
        """None, since the curvature jumps."""
        return None

    def height(self, target_bound: float | None) -> float | None:
        """Return the loss of the largest target, rounded up."""
        return None if target_bound is None else huber_height(target_bound, self.width)


def huber(
    feature_norm: float, *, width: float, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Return the constants of Huber's loss: gradient at most width R, curvature at most R^2.

    phi' clamps the residual to [-width, width], so phi'' is 1 or 0; clipping narrows the width.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    w = arguments.real("width", width, above=0.0)
    return linear_objective(R * R, gradient_bound=rounded_up(w * R), clip=clip, ridge=ridge)


def huber_height(distance: float, width: float) -> float:
    """Return Huber's loss at this distance, rounded up."""
    near = min(distance, width)
    return near * (distance - near / 2.0) * (1.0 + 1e-15)
