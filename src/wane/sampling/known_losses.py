"""What is known of the losses of a posterior: constants that hold whatever a record is."""

from __future__ import annotations

import math

from wane import arguments
from wane.describe import Objective
from wane.describe.posterior import Losses
from wane.errors import InvalidDescription
from wane.losses import LOSSES, Loss, SampledLoss
from wane.losses.huber import huber_height


def linear_losses(
    link: Loss, *, columns: int, feature_norm: float, target_bound: float | None = None
) -> Losses:
    """Return what is known of a linear model's loss; `feature_norm` includes the intercept."""
    if not isinstance(link, SampledLoss):
        names = ", ".join(kind.__name__ for kind in LOSSES if hasattr(kind, "third_derivative"))
        raise InvalidDescription(
            f"link must be a loss that can be sampled, one of {names}, got {type(link).__name__}."
        )
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    third = link.third_derivative
    return Losses(
        objective=link.unclipped(R),
        dimension=columns * link.outputs,
        laplacian_lipschitz=None if third is None else third * R**3,
        height_at_start=link.height(target_bound),
    )


def mean_losses(*, dimension: int, norm: float) -> Losses:
    """Return what is known of |x - record|^2/2: linear but for a quadratic that all share."""
    objective = Objective(gradient_bound=norm, smoothness=0.0, strong_convexity=0.0)
    return Losses(
        objective=objective, dimension=dimension, shared_curvature=1.0, laplacian_lipschitz=0.0
    )


def location_losses(*, dimension: int, norm: float, width: float) -> Losses:
    """Return what is known of Huber's loss of the distance to a record."""
    return Losses(
        objective=Objective(gradient_bound=width, smoothness=1.0, strong_convexity=0.0),
        dimension=dimension,
        height_at_start=huber_height(norm, width),
    )


def total_norm(feature_norm: float, intercept: float) -> float:
    """Return the norm of a row with its intercept, rounded up."""
    if not intercept:
        return feature_norm
    return math.hypot(feature_norm, intercept) * (1.0 + 4e-16)
