"""The multinomial logistic loss made Lipschitz by its envelope."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.losses import envelope
from wane.losses.base import Prior, classes_prior, rounded_up
from wane.losses.softmax import SoftmaxLoss, softmax


@dataclass(frozen=True)
class BoundedSoftmax(SoftmaxLoss):
    """The base class of both ways to make softmax Lipschitz: the constants are the same."""

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the envelope, and of the clamp, which has the same."""
        if gradient_bound is None:
            return softmax(feature_norm, ridge=ridge)
        return softmax_envelope(feature_norm, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of losses of several classes."""
        return classes_prior()


@dataclass(frozen=True)
class SoftmaxEnvelope(BoundedSoftmax):
    """Softmax made Lipschitz by the infimal convolution with bound times the norm.

    The residual is the plain one where that is short enough, and elsewhere the plain one at the
    point reached by walking against it until it is.  See `wane.losses.envelope`.
    """

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative of the envelope."""
        return envelope.residuals(margins, targets.astype(np.intp), bounds)

    def error(self, margin_bound: float) -> float:
        """Return a bound on the roundings and on the error of the solver."""
        return super().error(margin_bound) + envelope.error(margin_bound)


def softmax_envelope(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Return the constants of multinomial loss made C-Lipschitz: curvature sqrt(2) C R - C^2.

    (R^2/2 if C >= R/sqrt(2).)  The bound is a property of the loss and not of a clip, so the
    objective is not `clipped`.  Why the curvature shrinks with C: docs/proofs/envelope.md.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    C = arguments.real("clip", clip, above=0.0)
    root = math.sqrt(2.0)
    M = R * R / 2 if R / root <= C else min(R * R / 2, rounded_up(root * C * R - C * C))
    bound = min(C, math.nextafter(root * R, math.inf))
    return Objective(gradient_bound=bound, smoothness=M, strong_convexity=0.0, ridge=ridge)
