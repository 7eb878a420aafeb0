"""Objectives of common losses on records with bounded features, constants worked out.

`feature_norm` bounds the norm of one record's feature vector, intercept coordinate included.
"""

from __future__ import annotations

import math

from wane.describe import check
from wane.describe.objective import LossForm, Objective


def logistic(feature_norm: float, *, clip: float | None = None, ridge: float = 0.0) -> Objective:
    """Binary logistic loss: gradient at most R, curvature at most R^2/4, less when clipped.

    Clipping at C clamps the residual to C/R, where the curvature p(1-p) R^2 is at most C (R - C).
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    if clip is None or check.real("clip", clip, above=0.0) >= R:
        return Objective(
            gradient_bound=R,
            smoothness=R * R / 4,
            strong_convexity=0.0,
            form=LossForm.GLM,
            ridge=ridge,
        )
    M = R * R / 4 if clip >= R / 2 else clip * (R - clip)
    return Objective(
        gradient_bound=clip,
        smoothness=M,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.GLM,
        ridge=ridge,
    )


def softmax(feature_norm: float, *, ridge: float = 0.0) -> Objective:
    """Multinomial logistic loss, never clipped: gradient at most sqrt(2) R, curvature R^2/2."""
    R = check.real("feature_norm", feature_norm, above=0.0)
    bound = math.nextafter(math.sqrt(2.0) * R, math.inf)
    return Objective(gradient_bound=bound, smoothness=R * R / 2, strong_convexity=0.0, ridge=ridge)


def least_squares(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Squared loss with clipped residuals: curvature at most R^2; clipping keeps it convex."""
    R = check.real("feature_norm", feature_norm, above=0.0)
    return Objective(
        gradient_bound=clip,
        smoothness=R * R,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.GLM,
        ridge=ridge,
    )


def poisson(
    feature_norm: float, *, clip: float, largest_count: float, ridge: float = 0.0
) -> Objective:
    """Poisson regression with clipped gradients: curvature at most C R + y_max R^2."""
    R = check.real("feature_norm", feature_norm, above=0.0)
    y = check.real("largest_count", largest_count, least=0.0)
    C = check.real("clip", clip, above=0.0)
    return Objective(
        gradient_bound=C,
        smoothness=C * R + y * R * R,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.GLM,
        ridge=ridge,
    )
