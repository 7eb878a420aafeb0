"""Exact discrete Gaussian noise on a release: integers, drawn without any rounding.

The law gives the whole number k the weight exp(-k^2 / (2 v)).  It is sampled in whole numbers and
fractions from the operating system's randomness, by rejection from a discrete Laplace law (Canonne,
Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", 2020), so no floating point
comes between the law and the draw.

**What may be claimed.**  Noise on the end of a run is post-processing: whatever the run's own
certificate says still holds, and nothing is to be added to it.  Moreover, if the ends of two runs
on neighbouring data with the same inner noise are never farther apart than D, the release has a
guarantee that does not lean on the inner noise at all, nor on how it was drawn.  Fix the inner
noise.  Rounded to a grid of spacing g, two ends in p coordinates are at most D/g + sqrt(p) steps
apart, and a shift by s steps costs Renyi divergence order s^2/(2 v) at every order, which is zCDP
with s^2/(2 v).  The inner noise has the same law for both data sets, and a mixture of pairs is no
farther apart than the worst pair.  D is the caller's to prove; for steps that move no two iterates
apart, the sum of the steps' sensitivities is one.

Of the two guarantees the better one counts.  They speak of one release and are not composed.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription
from wane.guarantees import RenyiDP
from wane.run.safeguards import FINER, protecting_noise, release_grid, to_grid

_ROUNDED_UP = 1.0 + 1e-14
_EXACT = 2.0**52
_LARGEST_STEPS = 2.0**900


@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise on a grid.

    Attributes:
        std: its standard deviation, or rather the law's parameter, which is at least that.
        spacing: of the grid, a power of two; `wane.run.release_grid` gives one.
    """

    std: float
    spacing: float

    def __post_init__(self) -> None:
        arguments.real("std", self.std, above=0.0)
        arguments.real("spacing", self.spacing, above=0.0)
        if math.frexp(self.spacing)[0] != 0.5:
            raise InvalidDescription(
                f"spacing must be a power of two, got {self.spacing!r}; see release_grid."
            )
        if not self.spacing <= self.std <= _EXACT * self.spacing:
            raise InvalidDescription(
                f"std must be between one spacing and 2^52 of them, got {self.std!r} for "
                f"{self.spacing!r}."
            )

    @classmethod
    def on_release(cls, run: NoisyDescent, times: float) -> DiscreteGaussian:
        """Return the noise for what this run releases, so many times the noise that protects it.

        On the run's own `release_grid`; both come from the description alone.
        """
        factor = arguments.real("release_noise", times, above=0.0)
        spacing = release_grid(run)
        if not spacing:
            raise InvalidDescription("release_noise must be None for a run that adds no noise.")
        std = factor * protecting_noise(run)
        if not spacing <= std <= _EXACT * spacing:
            raise InvalidDescription(
                f"release_noise must be between {2.0**-FINER:g} and {2.0**40:g} times the noise "
                f"that protects the release, got {factor:g}."
            )
        return cls(std, spacing)

    def add(self, values: Array) -> Array:
        """Return the values, rounded to the grid, plus noise that nobody can repeat.

        Nothing is refused, whatever the values are: what leaves the floats counts as very large.
        """
        variance = (Fraction(self.std) / Fraction(self.spacing)) ** 2
        with np.errstate(all="ignore"):
            steps = to_grid(np.asarray(values, dtype=np.float64), self.spacing) / self.spacing
        steps = np.clip(np.nan_to_num(steps, nan=0.0), -_LARGEST_STEPS, _LARGEST_STEPS).ravel()
        moved = [int(step) + sample(variance) for step in steps.tolist()]
        return np.array([float(k) * self.spacing for k in moved]).reshape(np.shape(values))

    def guarantee(self, sensitivity: float, dimension: int) -> RenyiDP:
        """Return what this noise alone gives ends that are never farther apart than this.

        For every outcome of the noise inside the run; the module proves it.
        """
        D = arguments.real("sensitivity", sensitivity, least=0.0)
        p = arguments.whole("dimension", dimension, least=1)
        shift = (D + self.spacing * math.sqrt(p)) / self.std * _ROUNDED_UP
        return RenyiDP.zcdp(shift * shift / 2.0 * _ROUNDED_UP)


def sample(variance: Fraction) -> int:
    """Return a whole number k with probability proportional to exp(-k^2 / (2 variance))."""
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        k = discrete_laplace(scale)
        if _happens_exp((abs(k) - variance / scale) ** 2 / (2 * variance)):
            return k


def discrete_laplace(scale: int) -> int:
    """Return k with probability proportional to exp(-|k| / scale)."""
    while True:
        low = secrets.randbelow(scale)
        if not _happens_exp(Fraction(low, scale)):
            continue
        high = 0
        while _happens_exp(Fraction(1)):
            high += 1
        size = low + scale * high
        negative = secrets.randbelow(2)
        if size or not negative:  # zero has one sign only
            return -size if negative else size


def _happens_exp(rate: Fraction) -> bool:
    """Return True with probability exp(-rate), for a rate of at least zero."""
    while rate > 1:
        if not _happens_exp_small(Fraction(1)):
            return False
        rate -= 1
    return _happens_exp_small(rate)


def _happens_exp_small(rate: Fraction) -> bool:
    """Return true with probability e^-rate, rate <= 1: an odd first failure of 1/k."""
    k = 1
    while secrets.randbelow(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1
