"""The multinomial logistic loss without clipping."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.errors import InvalidDescription
from wane.losses import softmax_residuals
from wane.losses.base import CLASSES_NOISE, LITTLE_DATA_FOR_CLASSES, RESIDUAL, ClassesLoss, Prior


@dataclass(frozen=True)
class SoftmaxLoss(ClassesLoss):
    """The base class of multinomial logistic losses, in whichever way they are bounded."""

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss, log(sum exp u) - u_y."""
        top = margins.max(axis=1)
        total = np.log(np.exp(margins - top[:, None]).sum(axis=1))
        return np.asarray(total + top - margins[np.arange(len(margins)), targets.astype(np.intp)])


@dataclass(frozen=True)
class Softmax(SoftmaxLoss):
    """Multinomial logistic loss without clipping: its residual is shorter than sqrt(2)."""

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return probabilities minus the label's indicator; `bounds` are at least sqrt(2)."""
        return softmax_residuals.plain(margins, targets.astype(np.intp))

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants; a bound below sqrt(2) R is refused, as clipping is not monotone."""
        constants = softmax(feature_norm, ridge=ridge)
        if gradient_bound is not None and gradient_bound < math.sqrt(2.0) * feature_norm:
            raise InvalidDescription(
                "gradient_bound must be at least sqrt(2) * feature_norm = "
                f"{constants.gradient_bound:g} for softmax, got {gradient_bound:g}; clipping it is "
                "not monotone, use SoftmaxEnvelope or SoftmaxClamp."
            )
        return constants

    def unclipped(self, feature_norm: float) -> Objective:
        """Return the constants of the loss as it is."""
        return softmax(feature_norm)

    @property
    def prior(self) -> Prior:
        """The prior of the clamped losses, adapted to a residual of sqrt(2)."""
        noise = CLASSES_NOISE * math.sqrt(RESIDUAL / math.sqrt(2.0))
        return Prior((None,), noise, enough=LITTLE_DATA_FOR_CLASSES)

    @property
    def third_derivative(self) -> float:
        """A bound on the gradient of 1 - |p|^2: see docs/proofs/softmax-laplacian.md."""
        return 8.0 / 27.0 * (1.0 + 1e-15)

    def height(self, target_bound: float | None) -> float:
        """Return the logarithm of the number of classes, rounded up."""
        return math.log(self.outputs) * (1.0 + 1e-15)


def softmax(feature_norm: float, *, ridge: float = 0.0) -> Objective:
    """Return the constants of unclipped softmax: gradient at most sqrt(2) R, curvature R^2/2."""
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    bound = math.nextafter(math.sqrt(2.0) * R, math.inf)
    return Objective(gradient_bound=bound, smoothness=R * R / 2, strong_convexity=0.0, ridge=ridge)
