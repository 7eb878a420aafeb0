"""What is known of each loss that can be sampled: constants that hold whatever a record is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wane.describe import Objective, check
from wane.errors import InvalidDescription
from wane.run.links import Huber, Link, Logistic, Softmax, Squared
from wane.sampling.log_cosh import LogCosh
from wane.sampling.posterior import Losses

_LOGISTIC_BEND = 1.0 / (6.0 * math.sqrt(3.0)) * (1.0 + 1e-15)
"""The largest slope of p(1 - p) as a function of the margin."""
_SOFTMAX_BEND = 8.0 / 27.0 * (1.0 + 1e-15)
"""Bounds the gradient of 1 - |p|^2 in the scores; proof: docs/proofs/softmax-laplacian.md."""


@dataclass(frozen=True)
class _Known:
    """What a link's loss adds to its objective."""

    objective: Objective
    laplacian_lipschitz: float | None
    height: float | None


def linear_losses(
    link: Link, *, columns: int, feature_norm: float, target_bound: float | None = None
) -> Losses:
    """Return what is known of a linear model's loss; `feature_norm` includes the intercept."""
    build = _LINKS.get(type(link))
    if build is None:
        names = ", ".join(kind.__name__ for kind in _LINKS)
        raise InvalidDescription(f"link must be one of {names}, got {type(link).__name__}.")
    known = build(link, check.real("feature_norm", feature_norm, above=0.0), target_bound)
    return Losses(
        objective=known.objective,
        dimension=columns * link.outputs,
        laplacian_lipschitz=known.laplacian_lipschitz,
        height_at_start=known.height,
    )


def _logistic(link: Any, R: float, target_bound: float | None) -> _Known:
    return _Known(link.objective(R, None), _LOGISTIC_BEND * R**3, math.log(2.0) * (1.0 + 1e-15))


def _softmax(link: Any, R: float, target_bound: float | None) -> _Known:
    height = math.log(link.outputs) * (1.0 + 1e-15)
    return _Known(link.objective(R, None), _SOFTMAX_BEND * R**3, height)


def _huber(link: Any, R: float, target_bound: float | None) -> _Known:
    height = None if target_bound is None else huber_height(target_bound, link.width)
    return _Known(link.objective(R, None), None, height)


def _log_cosh(link: Any, R: float, target_bound: float | None) -> _Known:
    height = None if target_bound is None else link.height(target_bound)
    return _Known(link.objective(R), link.bend * R**3, height)


def _squared(link: Any, R: float, target_bound: float | None) -> _Known:
    height = None if target_bound is None else 0.5 * target_bound**2 * (1.0 + 1e-15)
    return _Known(Objective(smoothness=R * R, strong_convexity=0.0), 0.0, height)


_LINKS: dict[type[Any], Callable[[Any, float, float | None], _Known]] = {
    Logistic: _logistic,
    Softmax: _softmax,
    Huber: _huber,
    LogCosh: _log_cosh,
    Squared: _squared,
}


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


def huber_height(distance: float, width: float) -> float:
    """Huber's loss at this distance, rounded up."""
    near = min(distance, width)
    return near * (distance - near / 2.0) * (1.0 + 1e-15)


def total_norm(feature_norm: float, intercept: float) -> float:
    """The norm of a row with its intercept, rounded up."""
    if not intercept:
        return feature_norm
    return math.hypot(feature_norm, intercept) * (1.0 + 4e-16)
