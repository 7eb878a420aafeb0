"""One logistic loss for each class against the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.objective import Objective
from wane.losses.base import ClassesLoss, Prior, classes_prior, rounded_up
from wane.losses.logistic import logistic


@dataclass(frozen=True)
class OneVsRest(ClassesLoss):
    """A logistic loss for each class against the others; each is clamped at bound/sqrt(classes).

    Shortening all classes' residuals together would not be monotone.
    """

    def losses(self, margins: Array, targets: Array) -> Array:
        """Return each record's loss, summed over the classes."""
        return np.asarray(np.logaddexp(0.0, -self._signs(targets) * margins).sum(axis=1))

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivatives, each clamped."""
        signs = self._signs(targets)
        slopes = -signs / (1.0 + np.exp(signs * margins))
        share = (bounds / math.sqrt(self.classes))[:, None]
        return np.minimum(np.maximum(slopes, -share, out=slopes), share, out=slopes)

    def _signs(self, targets: Array) -> Array:
        return np.where(targets[:, None] == np.arange(self.classes), 1.0, -1.0)

    def objective(
        self, feature_norm: float, gradient_bound: float | None, ridge: float = 0.0
    ) -> Objective:
        """Return the constants of the clamped losses."""
        return one_vs_rest(feature_norm, classes=self.classes, clip=gradient_bound, ridge=ridge)

    @property
    def prior(self) -> Prior:
        """The prior of losses of several classes, with the bound divided among them."""
        return classes_prior(math.sqrt(self.classes))


def one_vs_rest(
    feature_norm: float, *, classes: int, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Return the constants of a logistic loss for each class, each clamped at C/sqrt(K).

    The classes have parameters of their own, so the Hessian is block diagonal and the curvature is
    that of one of them.  Clamped row by row each loss is convex and C/sqrt(K)-Lipschitz; the bound
    is a property of the clamped losses, so the objective is not `clipped`.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    K = arguments.whole("classes", classes, least=2)
    root = math.sqrt(K)
    C = rounded_up(root * R) if clip is None else arguments.real("clip", clip, above=0.0)
    M = logistic(R, clip=C / root).smoothness
    assert M is not None
    return Objective(
        gradient_bound=min(C, rounded_up(root * R)),
        smoothness=min(R * R / 4, rounded_up(M)),
        strong_convexity=0.0,
        ridge=ridge,
    )
