"""A smooth robust loss: Huber's with its kinks rounded, so that its third derivative is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wane.describe import LossForm, Objective, check

Array = NDArray[Any]


@dataclass(frozen=True)
class LogCosh:
    """w^2 ln cosh((u - y)/w), w the width: quadratic near the target, linear beyond.

    As a likelihood it is the hyperbolic secant's.  The slope w tanh stays within (-w, w), the
    curvature within (0, 1], and the third derivative within 4/(3 sqrt(3) w).
    """

    width: float = 1.0
    outputs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a width that is not positive."""
        check.real("width", self.width, above=0.0)

    @property
    def bend(self) -> float:
        """The largest third derivative, rounded up."""
        return 4.0 / (3.0 * math.sqrt(3.0)) / self.width * (1.0 + 1e-15)

    def usable(self, targets: Array) -> NDArray[np.bool_]:
        """Every finite number is a target."""
        return np.isfinite(targets)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        z = np.abs(margins - targets) / self.width
        return np.asarray(self.width**2 * (z + np.log1p(np.exp(-2.0 * z)) - math.log(2.0)))

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the slopes; the loss bounds them by itself, so `bounds` must not be smaller."""
        slopes = (margins - targets) / self.width
        np.tanh(slopes, out=slopes)
        slopes *= self.width
        return np.minimum(np.maximum(slopes, -bounds, out=slopes), bounds, out=slopes)

    def error(self, margin_bound: float) -> float:
        """Return the rounding of a residual: a difference and a tanh of slope at most one."""
        return 16.0 * 2.0**-53 * max(1.0, margin_bound, self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None = None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants: gradient at most width R, curvature at most R^2."""
        R = check.real("feature_norm", feature_norm, above=0.0)
        return Objective(
            gradient_bound=self.width * R * (1.0 + 1e-15),
            smoothness=R * R,
            strong_convexity=0.0,
            form=LossForm.GLM,
            ridge=ridge,
        )

    def height(self, target_bound: float) -> float:
        """The loss at margin zero of a target within the bound, rounded up."""
        found = float(self.losses(np.array(0.0), np.array(target_bound)))
        return found * (1.0 + 1e-12)
