"""What a user declares beside the data, checked before anything is planned or drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.describe import Adjacency
from wane.errors import InvalidDescription
from wane.learn.refusals import FromData, read_from_data
from wane.learn.scaling import FeatureScaler
from wane.randomness import noise_generator

ADJACENCIES = (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
Voids = tuple[str, ...]
"""Why a certificate is void, one sentence each; empty if it is not."""


def check_target(epsilon: object, delta: object, adjacency: object) -> None:
    """Refuse a privacy target that means nothing here."""
    arguments.real("epsilon", epsilon, above=0.0)
    arguments.real("delta", delta, above=0.0, cure="Gaussian noise gives no pure guarantee")
    arguments.real("delta", delta, most=0.5, cure="delta is a probability of failure")
    if adjacency not in ADJACENCIES:
        names = " or ".join(str(a) for a in ADJACENCIES)
        raise InvalidDescription(
            f"adjacency must be {names}, got {adjacency!r:.60}; the number of rows is public here."
        )


def seed_voids(seed: object) -> Voids:
    """Return what a seed does to privacy; None is no seed."""
    if seed is None:
        return ()
    arguments.whole("seed_voids_privacy", seed, least=0)
    return ("the noise came from a seed, so whoever knows the seed can subtract it",)


def generator(seed: int | None) -> np.random.Generator:
    """Return the source of noise: one that nobody can repeat, unless there is a seed."""
    return noise_generator(seed)


def feature_scaler(norm: Any, bounds: Any, rows: NDArray[Any]) -> tuple[FeatureScaler, Voids]:
    """Return the declared scaler; looks at the rows only if `FROM_DATA` asks for it."""
    columns = rows.shape[1]
    if not isinstance(bounds, FromData):
        return FeatureScaler.from_bounds(norm, bounds, columns), ()
    reason = read_from_data("feature_bounds")
    return FeatureScaler.from_bounds(norm, range_of(rows), columns), (reason,)


def range_of(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and largest value of each column, widened where they agree."""
    low, high = values.min(axis=0), values.max(axis=0)
    return np.where(low < high, low, low - 0.5), np.where(low < high, high, high + 0.5)
