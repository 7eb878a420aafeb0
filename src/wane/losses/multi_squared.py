"""The squared loss of several outputs, its residual vector shortened."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arguments import Checked, Count
from wane.arrays import Array, Mask
from wane.describe.objective import LossForm, Objective
from wane.losses import softmax_residuals
from wane.losses.base import ROUNDINGS, UNIT, Prior, needed, regression_prior


@dataclass(frozen=True)
class MultiSquared(Checked):
    """|u - y|^2/2 of several outputs; the residual vector is shortened as a whole."""

    outputs: Count

    def usable(self, targets: Array) -> Mask:
        """Return which targets are finite in every output."""
        return np.asarray(np.isfinite(targets).all(axis=1))

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.asarray(np.square(margins - targets).sum(axis=1) / 2.0)

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the differences, shortened to `bounds`."""
        return softmax_residuals.shortened(margins - targets, bounds)

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings of the differences and of their length."""
        return (ROUNDINGS + self.outputs) * UNIT * max(1.0, margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; the loss has no bound of its own, so one must be given."""
        return multi_squared(feature_norm, clip=needed(gradient_bound), ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of regressions, with the residuals of all outputs bounded together."""
        return regression_prior(math.sqrt(self.outputs))


def multi_squared(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Return the constants of squared loss of several outputs, residuals shortened to C/|a|.

    f = |W a - y|^2/2 depends on the length of W a - y only, so clipping keeps it convex.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    return Objective(
        gradient_bound=arguments.real("clip", clip, above=0.0),
        smoothness=R * R,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.RADIAL,
        ridge=ridge,
    )
