"""The hinge loss with its corner rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arguments import Positive
from wane.arrays import Array, Mask
from wane.describe.objective import Objective
from wane.losses.base import (
    MARGIN_NOISE,
    ROUNDINGS,
    UNIT,
    Prior,
    ScalarLoss,
    linear_objective,
    rounded_up,
)


@dataclass(frozen=True)
class SmoothedHinge(ScalarLoss):
    """Hinge loss of y u whose corner at 1 is rounded over `width`, targets -1 and +1."""

    width: Positive = 1.0

    def usable(self, targets: Array) -> Mask:
        """Return which targets are -1 or +1."""
        return np.asarray(np.abs(targets) == 1.0)

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss."""
        short = np.maximum(1.0 - targets * margins, 0.0)
        near = np.minimum(short, self.width)
        return near / self.width * (short - near / 2.0)

    def slopes(self, margins: Array, targets: Array) -> Array:
        """Return -y times how far the margin falls short of 1, over the width, at most 1."""
        return -targets * np.clip((1.0 - targets * margins) / self.width, 0.0, 1.0)

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings of the margin's distance to 1, over the width."""
        return ROUNDINGS * UNIT * max(1.0, (1.0 + margin_bound) / self.width)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the bounded loss."""
        return smoothed_hinge(feature_norm, width=self.width, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """A prior with less noise than logistic regression's: its margins need not pass 1."""
        return Prior((None,), MARGIN_NOISE / math.log(4.0))


def smoothed_hinge(
    feature_norm: float, *, width: float = 1.0, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Return the constants of rounded hinge loss: gradient at most R, curvature R^2/width.

    At the margin m = y <a, x> the slope is -1 up to m = 1 - width, 0 from m = 1 on, and a straight
    line between, which rises by 1 over the width.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    w = arguments.real("width", width, above=0.0)
    return linear_objective(rounded_up(R * R / w), gradient_bound=R, clip=clip, ridge=ridge)
