"""The linear diffusion of least error that meets a privacy target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from wane import arguments
from wane.arrays import Array
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.diffusion import SHARE_OF_SENSITIVITY
from wane.describe.linear_diffusion import LinearDiffusion
from wane.describe.shapes import Row, Rows, as_matrix, entries, positive_rows, same_size
from wane.errors import InvalidDescription, Unreachable
from wane.mechanisms.calibration import PrivacyTarget

_SLACKS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4)


def calibrated_linear_diffusion(
    target: PrivacyTarget,
    *,
    sensitivity: float | Any,
    box: Sequence[float] | None = None,
    ellipsoid: Any = None,
    centre: Sequence[float] | None = None,
    time: float = 1.0,
    adjacency: Adjacency | str | None = None,
) -> LinearDiffusion:
    """Return the linear diffusion of least mean squared error that meets the target at `time`.

    `sensitivity` is a number or a matrix, as in `LinearDiffusion`; exactly one of `box` and
    `ellipsoid` bounds the statistic of every data set.

    Claim.  With C the second moments of the box or ellipsoid and N = M/mu^2, the factor
    A = C (C + N)^-1 and the noise T = N are the best of all linear Gaussian releases, and those of
    a diffusion, with reversion -log(A)/time.
    """
    arguments.kind("target", target, (PrivacyTarget,))
    if (box is None) == (ellipsoid is None):
        raise InvalidDescription("box or ellipsoid must be given, exactly one of them.")
    half = None if box is None else entries("box", box, above=0.0)
    shape = None if ellipsoid is None else positive_rows("ellipsoid", ellipsoid)
    moments = as_matrix(tuple(b * b for b in half) if half is not None else shape)
    size = moments.shape[0]
    given, squares = _sensitivity(sensitivity, size)
    time, mu = arguments.real("time", time, above=0.0), target.largest_mu
    moments = moments if half is not None else moments / size
    for slack in _SLACKS:
        # `mu_at` charges the roundings of a statistic: the noise is that much larger
        noise = squares / (mu * (1.0 - SHARE_OF_SENSITIVITY * 1.001 - slack)) ** 2
        best = _best(moments, noise, time)
        made = LinearDiffusion(
            reversion=best.reversion,
            covariance=best.covariance,
            basis=best.basis,
            sensitivity=given,
            time=time,
            centre=centre,
            box=half,
            ellipsoid=shape,
            adjacency=None if adjacency is None else adjacency_of("adjacency", adjacency),
        )
        if made.mu <= mu:
            return made
    raise Unreachable(
        f"mu = {mu:g} cannot be met in doubles; choose coordinates in which box or ellipsoid and "
        "sensitivity are of one size"
    )


def _sensitivity(sensitivity: Any, size: int) -> tuple[float | Row | Rows, Array]:
    """The sensitivity as it is described, and its matrix."""
    if isinstance(sensitivity, (int, float)):
        number = arguments.real("sensitivity", sensitivity, above=0.0)
        return number, number * number * np.eye(size)
    given = positive_rows("sensitivity", sensitivity)
    same_size("sensitivity", given, size)
    return given, as_matrix(given)


@dataclass(frozen=True)
class _Best:
    reversion: Row
    covariance: Row
    basis: Rows | None


def _best(moments: Array, noise: Array, time: float) -> _Best:
    """The process whose factor at `time` is C (C + N)^-1 and whose noise T is N.

    In a basis G with N = G G' and C = G diag(c) G' it is a process for each coordinate by itself,
    with factor c/(c + 1) and noise one.
    """
    if np.count_nonzero(moments) == np.count_nonzero(noise) == moments.shape[0]:
        basis, scales = None, np.diag(noise)
        values = np.diag(moments) / scales
    else:
        values, vectors = linalg.eigh(moments, noise)
        made = noise @ vectors
        basis, scales = tuple(map(tuple, made.tolist())), np.ones(values.size)
    if not np.all(values > 0.0) or not np.all(np.isfinite(1.0 / values)):
        raise Unreachable(
            "the noise that this target needs is out of proportion to the box or ellipsoid"
        )
    rates = np.log1p(1.0 / values) / time
    # T = covariance (e^(2 rate time) - 1)/rate
    spread = scales * rates / np.expm1(2.0 * rates * time)
    return _Best(tuple(rates.tolist()), tuple(spread.tolist()), basis)
