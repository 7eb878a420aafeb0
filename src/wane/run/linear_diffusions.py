"""Drawing positions of linear diffusions with a matrix of reversions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.describe.diffusion import Outside, require_enough_noise
from wane.describe.linear_diffusion import LinearDiffusion
from wane.describe.shapes import as_matrix
from wane.errors import InvalidDescription
from wane.run.safeguards import grid_below, to_grid
from wane.run.statistics import checked_statistic


def law_of(process: LinearDiffusion, statistic: Any, outside: Outside) -> tuple[Array, Array]:
    """Return the mean and covariance of the release (secret: they hold the statistic)."""
    centre = process.centre_point
    away = start_of(process, statistic, outside).reshape(-1) - centre
    return centre + process.shrinkage @ away, process.noise_covariance


def start_of(process: LinearDiffusion, statistic: Any, outside: Outside) -> Array:
    """Return the statistic as the process may start from it: inside its set, on its grid."""
    values = checked_statistic(
        statistic, None, process.dimension, outside, charge=process.rounding_charge
    )
    values = _inside(process, values, outside)
    noise = process.columns @ process.noise_after(process.time).matrix @ process.columns.T
    least = math.sqrt(max(float(np.linalg.eigvalsh(noise)[0]), 0.0)) * 0.99
    largest = float(np.max(np.abs(values), initial=0.0))
    require_enough_noise(least, largest, "choose a later time.", secret=True)
    return values


def _inside(process: LinearDiffusion, values: Array, outside: Outside) -> Array:
    away = values.reshape(-1) - process.centre_point
    fits = True
    if process.box is not None:
        # the statistic was rounded to its grid, perhaps away from the centre
        fits = bool(np.all(np.abs(away) <= np.array(process.box) + process.rounding_charge))
    elif process.ellipsoid is not None:
        shape = as_matrix(process.ellipsoid)
        fits = bool(away @ np.linalg.solve(shape, away) <= 1.0 + 1e-9)
    if fits:
        return values
    if outside is Outside.REFUSE:
        raise InvalidDescription(
            "statistic must lie in the declared box or ellipsoid; declare the true one, or "
            "pass outside=Outside.PROJECT (and keep this message from readers)."
        )
    return _projected(process, values)


def _projected(process: LinearDiffusion, values: Array) -> Array:
    """Return every entry moved into its interval, which moves no two statistics apart.

    In doubles this is exact.  It is no contraction for a slanted ellipsoid of sensitivities, and
    the nearest point of an ellipsoid is not exact.
    """
    slanted = process.sensitivity_matrix - np.diag(np.diag(process.sensitivity_matrix))
    if process.box is None or np.any(slanted):
        raise InvalidDescription(
            "outside must be Outside.REFUSE unless a box is declared and the sensitivity is a "
            "number or diagonal; move the statistic into the set before its sensitivity is "
            "declared."
        )
    half, centre = np.array(process.box), process.centre_point
    moved = np.clip(values.reshape(-1), centre - half, centre + half)
    return np.asarray(moved.reshape(values.shape))


def step(
    process: LinearDiffusion, position: Array, duration: float, rng: np.random.Generator
) -> Array:
    """Return where the process is, a duration after this position.

    Noise is added before anything is multiplied: whatever is rounded looks at the noisy position
    alone.
    """
    factor, centre = process.drawn_factor(duration), process.centre_point
    noise = process.columns @ (factor @ rng.standard_normal(process.dimension)) - centre
    away = process.factor_after(duration) @ (position.reshape(-1) + noise)
    return np.asarray((away + centre).reshape(position.shape))


def rounded(process: LinearDiffusion, position: Array, time: float) -> Array:
    """Return a position as it may be shown: on the grids that belong to its time."""
    flat, variances = position.reshape(-1), np.diag(process.covariance_at(time)).tolist()
    grids = [grid_below(math.sqrt(variance)) for variance in variances]
    shown = [to_grid(flat[i : i + 1], grid) for i, grid in enumerate(grids)]
    return np.concatenate(shown).reshape(position.shape)
