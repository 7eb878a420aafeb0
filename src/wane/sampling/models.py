"""Posteriors that are built in, on records made ready.

linear_posterior      logistic, softmax, Huber, log-cosh or squared loss of a linear model; the
                      squared one is ridge regression, and Bayesian linear regression with T the
                      variance of the noise
mean_posterior        the mean of vectors of bounded norm
location_posterior    a robust (Huber) centre of vectors
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.describe import Adjacency
from wane.describe.chain import Target
from wane.describe.posterior import Losses, Posterior
from wane.errors import InvalidDescription
from wane.losses import Loss
from wane.sampling.potentials import Potential
from wane.sampling.sums import (
    ChainSums,
    LinearChainSums,
    LocationChainSums,
    MeanChainSums,
    linear_losses,
    location_losses,
    mean_losses,
    total_norm,
)


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
    link: Loss,
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
