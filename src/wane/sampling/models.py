"""Posteriors that are built in: what is known of each loss, and its records made ready.

linear_posterior      logistic, softmax, Huber, log-cosh or squared loss of a linear model; the
                      squared one is ridge regression, and Bayesian linear regression with T the
                      variance of the noise
mean_posterior        the mean of vectors of bounded norm
location_posterior    a robust (Huber) centre of vectors
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.describe import Adjacency, Objective, check
from wane.errors import InvalidDescription
from wane.run.links import Huber, Link, Logistic, Softmax, Squared
from wane.sampling.chain import Target
from wane.sampling.log_cosh import LogCosh
from wane.sampling.posterior import Losses, Posterior
from wane.sampling.potentials import Potential
from wane.sampling.sums import ChainSums, LinearChainSums, LocationChainSums, MeanChainSums

Array = NDArray[np.float64]

_LOGISTIC_BEND = 1.0 / (6.0 * math.sqrt(3.0)) * (1.0 + 1e-15)
"""The largest slope of p(1 - p) as a function of the margin."""
_SOFTMAX_BEND = 2.0 * math.sqrt(0.8**4 * 0.2) * (1.0 + 1e-15)
"""Bounds the length of the gradient of 1 - |p|^2, which is -2 p_j (p_j - |p|^2).

Its square is at most 4 P Var(p_J) with P the largest p and J drawn from p, and Var(p_J) is at most
(P - s) s, s = |p|^2 >= P^2: at most P^4 (1 - P) for P >= 1/2, largest at 4/5, and less below.
"""


class DataPotential(Potential):
    """A posterior's potential on actual records: average loss plus ridge, as a descent runs it.

    Sample it at temperature `posterior.descent_temperature`.
    """

    def __init__(self, posterior: Posterior, sums: ChainSums) -> None:
        """Keep both; the number of records must be the described one."""
        if sums.records != posterior.records:
            raise InvalidDescription(
                f"records must be the described {posterior.records}, got {sums.records} rows."
            )
        self.posterior, self.sums = posterior, sums

    @property
    def target(self) -> Target:
        """The posterior's constants."""
        return self.posterior.target

    def gradient(self, states: Array) -> Array:
        """Return the average gradient plus the ridge's, at every chain."""
        shaped = states.reshape(len(states), *self.sums.single_shape)
        made = self.sums(shaped, slice(0, self.sums.records)).reshape(states.shape)
        made /= self.sums.records
        made += self.posterior.ridge * states
        return made


def linear_posterior(
    features: NDArray[Any],
    targets: NDArray[Any],
    link: Link,
    *,
    feature_norm: float,
    prior_precision: float,
    temperature: float = 1.0,
    intercept: float = 0.0,
    target_bound: float | None = None,
    adjacency: Adjacency = Adjacency.ZERO_OUT,
) -> DataPotential:
    """Return the posterior of a linear model with normal prior N(0, I/prior_precision).

    Rows are scaled down to `feature_norm`; `intercept` is the constant beside them, 0 for none.
    `target_bound` bounds numeric targets, and is only needed for a distance certificate.
    """
    losses = linear_losses(
        link,
        columns=np.shape(features)[1] + (intercept > 0.0),
        feature_norm=total_norm(feature_norm, intercept),
        target_bound=target_bound,
    )
    sums = LinearChainSums(
        features,
        targets,
        link,
        feature_norm=feature_norm,
        intercept=intercept,
        gradient_bound=losses.objective.gradient_bound,
    )
    return _potential(losses, sums, prior_precision, temperature, adjacency)


def mean_posterior(
    rows: NDArray[Any],
    *,
    norm: float,
    prior_precision: float = 0.0,
    temperature: float = 1.0,
    adjacency: Adjacency = Adjacency.ZERO_OUT,
) -> DataPotential:
    """Return the posterior of the mean of vectors, rows longer than `norm` being scaled down."""
    losses = mean_losses(dimension=np.shape(rows)[1], norm=norm)
    sums = MeanChainSums(rows, norm=norm)
    return _potential(losses, sums, prior_precision, temperature, adjacency)


def location_posterior(
    rows: NDArray[Any],
    *,
    norm: float,
    width: float,
    prior_precision: float,
    temperature: float = 1.0,
    adjacency: Adjacency = Adjacency.ZERO_OUT,
) -> DataPotential:
    """Return the posterior of a robust centre: distances beyond `width` count linearly."""
    losses = location_losses(dimension=np.shape(rows)[1], norm=norm, width=width)
    sums = LocationChainSums(rows, norm=norm, width=width)
    return _potential(losses, sums, prior_precision, temperature, adjacency)


def _potential(
    losses: Losses, sums: ChainSums, prior: float, temperature: float, adjacency: Adjacency
) -> DataPotential:
    posterior = Posterior(
        losses=losses,
        records=sums.records,
        prior_precision=prior,
        temperature=temperature,
        adjacency=adjacency,
    )
    return DataPotential(posterior, sums)


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
