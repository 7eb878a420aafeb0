"""The grid of a release: a power of two, far below the noise and far above the last bits.

A number of double precision has low-order bits that no noise of the same precision covers: which
of them can occur depends on what was added to what, and that depends on the records.  So a release
is rounded to a grid.  Its spacing comes from the description alone, and rounding looks at nothing
but the release, so it is post-processing and costs no privacy.

**What this cures.**  The released numbers have no bits below the grid, so those bits tell nothing.
Between two neighbours on the grid lie at least 2^(52 - FINER) numbers of the size of the noise,
whose irregular gaps are averaged out.

**What it does not cure.**  The noise inside the run is still drawn in double precision; its law is
not exactly Gaussian, and how much that costs is not proven.  Sums of gradients are another matter:
their rounding is covered by a margin, see `wane.run.linear`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wane.describe import NoisyDescent

Array = NDArray[np.float64]

FINER = 10
"""The grid is 2^-FINER of the last noise: rounding adds less than 1e-7 of its variance."""
_SMALLEST = -1074


def last_noise(run: NoisyDescent) -> float:
    """Return the deviation of the last noise that a step of this run adds; 0 if none adds any."""
    with np.errstate(all="ignore"):
        stds = run.plan.step_size * run.gradient_noise_stds
    noisy = stds[(stds > 0.0) & np.isfinite(stds)]
    return float(noisy[-1]) if noisy.size else 0.0


def release_grid(run: NoisyDescent) -> float:
    """Return the spacing for what this run releases; 0 if no step adds noise."""
    noise = last_noise(run)
    if not noise:
        return 0.0
    _, exponent = math.frexp(noise)  # 2^(exponent - 1) <= the last noise
    return math.ldexp(1.0, max(exponent - 1 - FINER, _SMALLEST))


def to_grid(values: Array, spacing: float) -> Array:
    """Return the nearest multiples of a power of two; spacing 0 leaves the values as they are."""
    if spacing == 0.0:
        return values
    with np.errstate(all="ignore"):
        rounded = np.rint(values / spacing) * spacing
    # a number of at least 2^52 spacings is one of their multiples already
    return np.where(np.abs(values) < 2.0**52 * spacing, rounded, values)
