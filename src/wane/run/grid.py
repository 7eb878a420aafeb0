"""The grid to which a release is rounded: a power of two, far below the noise.

A number of double precision has low-order bits that no noise of the same precision covers: which
of them can occur depends on what was added to what, and that depends on the records.  So a release
is rounded to a grid.  Its spacing comes from the description alone, and rounding looks at nothing
but the release, so it is post-processing and costs no privacy.

**Which noise.**  The grid must be far above the last bits of every noise that the guarantee rests
on.  The last one may be far too small for that: after a step of size 1e-30 an iterate still has the
bits of the step before.  So each step's noise is followed to the release, times the largest factor
by which every later step may shrink a distance, never more than one; the grid is 2^-FINER of the
largest that is left.  Where a description says less of its losses the factor is one and the grid
coarser, which is the safe side.  In a bounded set no noise counts for more than the diameter.

**What this cures.**  The released numbers have no bits below the grid, so those bits tell nothing.
Between two neighbours on the grid lie at least 2^(52 - FINER) numbers of the size of the noise,
whose irregular gaps are averaged out.

**What it does not cure.**  The noise inside the run is still drawn in double precision; its law is
not exactly Gaussian, and how much that costs is not proven.  Sums of gradients are another matter:
their rounding is covered by a margin, see `wane.run.linear`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from wane.arrays import Array
from wane.describe import NoisyDescent, Phase

FINER = 10
"""The grid is 2^-FINER of the noise: rounding adds less than 1e-7 of its variance."""
_SMALLEST = -1074


def protecting_noise(run: NoisyDescent) -> float:
    """Return the largest deviation of a step's noise that may be left in the last iterate.

    It is 0 if no step adds noise.
    """
    return protecting_noises(run, [run.total_steps])[0]


def protecting_noises(run: NoisyDescent, after: Iterable[int]) -> list[float]:
    """Return `protecting_noise` for the iterates after these numbers of steps, increasing."""
    phases = iter(zip(run.plan, run.gradient_noise_stds.tolist(), strict=True))
    noises: list[float] = []
    left = own = 0.0
    factor, done, end = 1.0, 0, 0
    for wanted in after:
        while done < wanted:
            if done == end:
                phase, noise_std = next(phases)
                own = min(phase.step_size * noise_std, float(run.domain.diameter))
                own = own if math.isfinite(own) else 0.0
                factor = _largest_factor(run, phase)
                end += phase.repeat
            count = min(end, wanted) - done
            left = max(left * factor**count, own)
            done += count
        noises.append(left)
    return noises


def _largest_factor(run: NoisyDescent, phase: Phase) -> float:
    """Return a bound, at most one, on the factor by which a step can change a distance."""
    step_size = phase.step_size
    factor = abs(1.0 - step_size * run.objective.ridge)
    if not phase.cool_down:
        losses = run.on_public.objective if phase.public else run.objective
        m, M = losses.strong_convexity, losses.smoothness
        if m is None or M is None or m < 0.0 or losses.clipped:
            return 1.0
        factor = max(factor, abs(1.0 - step_size * (run.objective.ridge + M)))
    return min(1.0, factor * run.domain.lipschitz(step_size))


def release_grid(run: NoisyDescent) -> float:
    """Return the spacing for the last iterate of this run; 0 if no step adds noise."""
    return grid_below(protecting_noise(run))


def grid_below(noise_std: float) -> float:
    """Return the spacing for a release with noise of this deviation; 0 if there is none."""
    return math.ldexp(power_of_two_below(noise_std), -FINER) or power_of_two_below(noise_std)


def power_of_two_below(value: float) -> float:
    """Return the largest power of two that is not above the value; 0 for 0."""
    if not value:
        return 0.0
    _, exponent = math.frexp(value)  # 2^(exponent - 1) <= value
    return math.ldexp(1.0, max(exponent - 1, _SMALLEST))


def to_grid(values: Array, spacing: float) -> Array:
    """Return the nearest multiples of a power of two; spacing 0 leaves the values as they are."""
    if spacing == 0.0:
        return values
    with np.errstate(all="ignore"):
        rounded = np.rint(values / spacing) * spacing
    # a number of at least 2^52 spacings is one of their multiples already
    return np.where(np.abs(values) < 2.0**52 * spacing, rounded, values)
