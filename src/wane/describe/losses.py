"""Objectives of common losses on records with bounded features, constants worked out.

`feature_norm` (R below) bounds the norm of one record's feature vector a, intercept coordinate
included, and `clip` (C) is the threshold of per-record clipping.  A loss phi(<a, x>) has the
gradient phi' a and the Hessian phi'' a a^T; clipping clamps phi' to C/|a| and leaves curvature only
where the clamp is inactive, so that smoothness is the largest |a|^2 phi'' with |phi'| |a| <= C and
|a| <= R.
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
    C = R if clip is None else min(check.real("clip", clip, above=0.0), R)
    M = R * R / 4 if C >= R / 2 else C * (R - C)
    return _linear(R, M, natural=R, clip=clip, ridge=ridge)


def huber(
    feature_norm: float, *, width: float, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Huber's loss, quadratic near the target: gradient at most width R, curvature R^2.

    phi' clamps the residual to [-width, width], so phi'' is 1 or 0; clipping narrows the width.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    w = check.real("width", width, above=0.0)
    return _linear(R, R * R, natural=_up(w * R), clip=clip, ridge=ridge)


def smoothed_hinge(
    feature_norm: float, *, width: float = 1.0, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """Hinge loss with its corner rounded over `width`: gradient at most R, curvature R^2/width.

    At the margin m = y <a, x> the slope is -1 up to m = 1 - width, 0 from m = 1 on, and a straight
    line between, which rises by 1 over the width.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    w = check.real("width", width, above=0.0)
    return _linear(R, _up(R * R / w), natural=R, clip=clip, ridge=ridge)


def quantile(
    feature_norm: float,
    *,
    level: float,
    width: float,
    clip: float | None = None,
    ridge: float = 0.0,
) -> Objective:
    """Pinball loss with its corner rounded: gradient at most R, curvature at most R^2/width.

    The slope is (<a, x> - y)/width, clamped to [-level, 1 - level]; so the gradient is at most
    max(level, 1 - level) R.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    w = check.real("width", width, above=0.0)
    q = check.real("level", level, above=0.0, most=1.0)
    return _linear(R, _up(R * R / w), natural=_up(max(q, 1.0 - q) * R), clip=clip, ridge=ridge)


def least_squares(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Squared loss with clipped residuals: curvature at most R^2; clipping keeps it convex."""
    R = check.real("feature_norm", feature_norm, above=0.0)
    return _linear(R, R * R, natural=math.inf, clip=clip, ridge=ridge)


def poisson(
    feature_norm: float, *, clip: float, largest_count: float, ridge: float = 0.0
) -> Objective:
    """Poisson regression with clipped gradients: curvature at most C R + y_max R^2.

    phi' = e^z - y and phi'' = e^z = phi' + y, which is at most C/|a| + y where the clamp is
    inactive.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    y = check.real("largest_count", largest_count, least=0.0)
    C = check.real("clip", clip, above=0.0)
    return _linear(R, C * R + y * R * R, natural=math.inf, clip=clip, ridge=ridge)


def softmax(feature_norm: float, *, ridge: float = 0.0) -> Objective:
    """Multinomial logistic loss, never clipped: gradient at most sqrt(2) R, curvature R^2/2."""
    R = check.real("feature_norm", feature_norm, above=0.0)
    bound = math.nextafter(math.sqrt(2.0) * R, math.inf)
    return Objective(gradient_bound=bound, smoothness=R * R / 2, strong_convexity=0.0, ridge=ridge)


def softmax_envelope(feature_norm: float, *, clip: float, ridge: float = 0.0) -> Objective:
    """Multinomial logistic loss made C-Lipschitz by an envelope: curvature sqrt(2) C R - C^2.

    (R^2/2 if C >= R/sqrt(2).)  The bound is a property of the loss and not of a clip, so the
    objective is not `clipped`.  Why the curvature shrinks with C: docs/proofs/envelope.md.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    C = check.real("clip", clip, above=0.0)
    root = math.sqrt(2.0)
    M = R * R / 2 if R / root <= C else min(R * R / 2, _up(root * C * R - C * C))
    bound = min(C, math.nextafter(root * R, math.inf))
    return Objective(gradient_bound=bound, smoothness=M, strong_convexity=0.0, ridge=ridge)


def one_vs_rest(
    feature_norm: float, *, classes: int, clip: float | None = None, ridge: float = 0.0
) -> Objective:
    """One logistic loss for each class, each clamped at C/sqrt(K): together at most C.

    The classes have parameters of their own, so the Hessian is block diagonal and the curvature is
    that of one of them.  Clamped row by row each loss is convex and C/sqrt(K)-Lipschitz; the bound
    is a property of the clamped losses, so the objective is not `clipped`.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    K = check.whole("classes", classes, least=2)
    root = math.sqrt(K)
    C = _up(root * R) if clip is None else check.real("clip", clip, above=0.0)
    M = logistic(R, clip=C / root).smoothness
    assert M is not None
    return Objective(
        gradient_bound=min(C, _up(root * R)),
        smoothness=min(R * R / 4, _up(M)),
        strong_convexity=0.0,
        ridge=ridge,
    )


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


def _linear(R: float, M: float, *, natural: float, clip: float | None, ridge: float) -> Objective:
    """A loss of one linear predictor: clipped if the clip is below the bound it has anyway."""
    C = natural if clip is None else check.real("clip", clip, above=0.0)
    return Objective(
        gradient_bound=min(C, natural),
        smoothness=M,
        strong_convexity=0.0,
        clipped=natural > C,
        form=LossForm.GLM,
        ridge=ridge,
    )


def _up(value: float) -> float:
    """Not below the exact value, after a few roundings."""
    return value * (1.0 + 2.0**-50)
