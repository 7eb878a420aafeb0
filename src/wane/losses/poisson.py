"""The loss of Poisson regression, its gradients clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arguments import NonNegative
from wane.arrays import Array, Mask
from wane.describe.objective import Objective
from wane.losses.base import (
    RESIDUAL,
    ROUNDINGS,
    TARGET_NOISE,
    UNIT,
    Prior,
    ScalarLoss,
    linear_objective,
    needed,
)


@dataclass(frozen=True)
class PoissonCounts(ScalarLoss):
    """exp(u) - y u for counts y from 0 to `largest_count`."""

    largest_count: NonNegative

    def usable(self, targets: Array) -> Mask:
        """Return which targets lie between 0 and the largest count."""
        return (targets >= 0.0) & (targets <= self.largest_count)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        return np.exp(margins) - targets * margins

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return exp(u) - y."""
        return np.exp(margins) - targets

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings of exp, at most count plus cap where not clamped."""
        return ROUNDINGS * UNIT * max(1.0, self.largest_count)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; the loss has no bound of its own, so one must be given."""
        clip = needed(gradient_bound)
        return poisson(feature_norm, clip=clip, largest_count=self.largest_count, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of a loss that is clamped at a share of the largest count."""
        return Prior((max(1.0, RESIDUAL * self.largest_count),), TARGET_NOISE)


def poisson(
    feature_norm: float, *, clip: float, largest_count: float, ridge: float = 0.0
) -> Objective:
    """Return the constants of clipped Poisson regression: curvature at most C R + y_max R^2.

    phi' = e^z - y and phi'' = e^z = phi' + y, which is at most C/|a| + y where the clamp is
    inactive.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    y = arguments.real("largest_count", largest_count, least=0.0)
    C = arguments.real("clip", clip, above=0.0)
    return linear_objective(C * R + y * R * R, gradient_bound=math.inf, clip=clip, ridge=ridge)
