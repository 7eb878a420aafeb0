"""The squared loss of several outputs, its residual vector shortened."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.arrays import Array, Mask
from wane.describe import check
from wane.describe.objective import LossForm, Objective
from wane.losses import softmax_residuals
from wane.losses.base import ROUNDINGS, UNIT, needed
from wane.losses.priors import Prior, regression_prior


@dataclass(frozen=True)
class MultiSquared:
    """|u - y|^2/2 of several outputs; the residual vector is shortened as a whole."""

    outputs: int

    def __post_init__(self) -> None:
        check.whole("outputs", self.outputs, least=1)

    def usable(self, targets: Array) -> Mask:
        """Every output is a number."""
        return np.asarray(np.isfinite(targets).all(axis=1))

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.asarray(np.square(margins - targets).sum(axis=1) / 2.0)

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the differences, shortened to `bounds`."""
        return softmax_residuals.shortened(margins - targets, bounds)

    def error(self, margin_bound: float) -> float:
        """Roundings of the differences and of their length."""
        return (ROUNDINGS + self.outputs) * UNIT * max(1.0, margin_bound)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; the loss has no bound of its own, so one must be given."""
        return multi_squared(feature_norm, clip=needed(gradient_bound), ridge=ridge)

    @property
    def prior(self) -> Prior:
        """As any regression, with the residuals of all outputs bounded together."""
        return regression_prior(math.sqrt(self.outputs))


def multi_squared(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Squared loss of several outputs, residual vector shortened to C/|a|: curvature at most R^2.

    f = |W a - y|^2/2 depends on the length of W a - y only, so clipping keeps it convex.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    return Objective(
        gradient_bound=check.real("clip", clip, above=0.0),
        smoothness=R * R,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.RADIAL,
        ridge=ridge,
    )
