"""Releasing a statistic as the position of a linear diffusion that starts there.

Both processes are Gaussian: X_t = b f + N(0, v I), which is the Gaussian mechanism with noise
sqrt(v)/b, scaled by b.  So the privacy is exactly Gaussian, with mu = (sensitivity + s) * b/sqrt(v)
where s is charged for roundings (`wane.mechanisms.statistics`).  What is released is a multiple of
a power of two, 2^-10 of the noise or less, which comes from the description alone.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from wane.arrays import Array
from wane.describe import check
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.mechanisms.accuracy import Comparison, compared
from wane.mechanisms.statistics import (
    Outside,
    checked_statistic,
    require_enough_noise,
    rounding_charge,
)
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.randomness import noise_generator
from wane.run.grid import grid_below, to_grid

RAISED = 2e-15
"""Relative amount by which mu is raised: more than the rounding of its formula."""


@dataclass(frozen=True)
class GaussianLaw:
    """Independent normal entries around `mean`, all with standard deviation `std`."""

    mean: Array
    std: float


def shifted(position: Array, factor: float, noise: Array) -> Array:
    """Return factor * position + noise, with the noise added before anything is multiplied.

    So whatever is rounded is a function of the noisy position.  A factor that is lost in the noise
    counts as zero.
    """
    with np.errstate(all="ignore"):
        scaled = noise / factor
    if not np.isfinite(scaled).all():
        return noise
    return np.asarray(factor * (position + scaled))


@dataclass(frozen=True, kw_only=True)
class GaussianDiffusion(ABC):
    """A linear diffusion stopped at `time`; use one of its two kinds.

    Attributes:
        sensitivity: largest Euclidean distance between the statistics of adjacent data sets.
        time: when the position is released; later is more private.
        diffusion_scale: the process is driven by sqrt(2) * diffusion_scale * dW.
        norm_bound: bound on the Euclidean norm of the statistic of every data set, if any.
        dimension: number of entries of the statistic, if declared.
    """

    sensitivity: float
    time: float
    diffusion_scale: float = 1.0
    norm_bound: float | None = None
    dimension: int | None = None

    def __post_init__(self) -> None:
        for name in ("sensitivity", "time", "diffusion_scale"):
            self._keep(name, check.real(name, getattr(self, name), above=0.0))
        if self.norm_bound is not None:
            self._keep("norm_bound", check.real("norm_bound", self.norm_bound, above=0.0))
        if self.dimension is not None:
            check.whole("dimension", self.dimension, least=1)
        if not (0.0 < self.variance_after(self.time) < math.inf):
            raise InvalidDescription(
                f"time must leave a noise that doubles can hold, got {self.time:g}; choose time or "
                "diffusion_scale nearer to 1."
            )
        if self.norm_bound is not None:
            self._require_enough_noise(self.norm_bound)

    def _keep(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    @abstractmethod
    def decay_after(self, duration: float) -> float:
        """The factor on the position after a duration."""

    @abstractmethod
    def variance_after(self, duration: float) -> float:
        """The variance of each entry gained over a duration."""

    @abstractmethod
    def _time_near(self, mu: float) -> float:
        """The time at which the release is mu-Gaussian private, up to rounding."""

    def time_for(self, mu: float) -> float:
        """The earliest time found at which the release is certified mu-Gaussian private."""
        mu = check.real("mu", mu, above=0.0)
        # a time that no double holds is replaced by the next one, which is only more private
        time, nudge = max(self._time_near(mu), sys.float_info.min), 4e-16
        while math.isfinite(time) and self.mu_at(time) > mu:
            time, nudge = inflate(time, nudge), 2.0 * nudge
        return check.real("time for mu", time, above=0.0, cure="choose a less extreme mu")

    @property
    def charged_sensitivity(self) -> float:
        """The sensitivity of what noise is added to: as declared, plus what roundings may add."""
        return self.sensitivity + self.rounding_charge

    @property
    def rounding_charge(self) -> float:
        """What roundings of the statistic may add to its sensitivity."""
        return rounding_charge(self.sensitivity, self.norm_bound)

    @property
    def scale(self) -> float:
        """The factor on the released statistic."""
        return self.decay_after(self.time)

    @property
    def noise_std(self) -> float:
        """The standard deviation of the noise on each released entry."""
        return math.sqrt(self.variance_after(self.time))

    @property
    def mu(self) -> float:
        """The exact Gaussian DP parameter of the release, rounded up."""
        return self.mu_at(self.time)

    @property
    def guarantee(self) -> GaussianDP:
        """The exact guarantee of the release."""
        return GaussianDP(self.mu)

    @property
    def intrinsic_sensitivity(self) -> float:
        """The Renyi divergence of every order, divided by the order: mu^2/2, rounded up."""
        return inflate(max(self.mu * self.mu / 2.0, SMALLEST_POSITIVE), RAISED)

    def mu_at(self, time: float) -> float:
        """The Gaussian DP parameter of the position at another time, rounded up."""
        signal = self.charged_sensitivity * self._signal(time)
        return inflate(max(signal, SMALLEST_POSITIVE), RAISED)

    @abstractmethod
    def _signal(self, time: float) -> float:
        """Decay divided by noise."""

    def at(self, time: float) -> Self:
        """The same process stopped at another time."""
        return replace(self, time=time)

    def law(self, statistic: Any, *, outside: Outside = Outside.REFUSE) -> GaussianLaw:
        """The law of the release before it is rounded (secret: it holds the statistic)."""
        values = self.checked(statistic, outside)
        return GaussianLaw(self.scale * values, self.noise_std)

    def release(
        self,
        statistic: Any,
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> Array:
        """One private release of the statistic, in its own shape.

        Every number is a multiple of a power of two that comes from the description alone.
        `seed_voids_privacy` makes it repeatable, for tests.
        """
        rng = noise_generator(seed_voids_privacy)
        position = self.step(self.checked(statistic, outside), self.time, rng)
        return self.rounded(position, self.time)

    def path(
        self,
        statistic: Any,
        times: Sequence[float],
        *,
        outside: Outside = Outside.REFUSE,
        seed_voids_privacy: int | None = None,
    ) -> list[Array]:
        """Positions of one path at several times, none before `time`; together they cost `mu`.

        The whole path has the privacy of its earliest point, because the rest is made from it.
        """
        wanted = [check.real("times", t, least=self.time) for t in times]
        position = self.checked(statistic, outside)
        rng, now, found = noise_generator(seed_voids_privacy), 0.0, {}
        for t in sorted(set(wanted)):
            position = self.step(position, t - now, rng)
            now, found[t] = t, self.rounded(position, t)
        return [found[t] for t in wanted]

    def checked(self, statistic: Any, outside: Outside) -> Array:
        """The statistic as the process may start from it: inside its ball, on its grid."""
        values = checked_statistic(
            statistic,
            self.norm_bound,
            self.dimension,
            outside,
            charge=self.rounding_charge,
        )
        if self.norm_bound is None:
            self._require_enough_noise(float(np.max(np.abs(values), initial=0.0)))
        return values

    def _require_enough_noise(self, largest: float) -> None:
        noise = self.noise_std / self.scale if self.scale > 0.0 else math.inf
        require_enough_noise(noise, largest, "choose a later time, or a smaller norm_bound.")

    def rounded(self, position: Array, time: float) -> Array:
        """A position as it may be shown: on the grid that belongs to its time."""
        return to_grid(position, grid_below(math.sqrt(self.variance_after(time))))

    def step(self, position: Array, duration: float, rng: np.random.Generator) -> Array:
        """Let the process run on from a position."""
        noise = rng.standard_normal(position.shape)
        noise *= math.sqrt(self.variance_after(duration))
        return shifted(position, self.decay_after(duration), noise)

    def mean_squared_error(self, norm: float | None = None, dimension: int | None = None) -> float:
        """Expected squared distance to a statistic of this norm; the largest, if left out."""
        d = self._dimension(dimension)
        lost = 1.0 - self.scale
        if norm is None and lost > 0.0:
            norm = self._norm_bound()
        size = 0.0 if norm is None else check.real("norm", norm, least=0.0)
        return self._shrinkage() ** 2 * size * size + d * self.variance_after(self.time)

    def comparison(self) -> Comparison:
        """The worst error beside that of the plain and the best scaled Gaussian mechanism."""
        std = self.charged_sensitivity / self.mu
        own = self.mean_squared_error()
        return compared(own, std, self._norm_bound(), self._dimension(None))

    def _shrinkage(self) -> float:
        return 1.0 - self.scale

    def _norm_bound(self) -> float:
        if self.norm_bound is None:
            raise InvalidDescription("norm_bound must be declared for this, got None.")
        return self.norm_bound

    def _dimension(self, dimension: int | None) -> int:
        chosen = self.dimension if dimension is None else dimension
        if chosen is None:
            raise InvalidDescription("dimension must be declared for this, got None.")
        return check.whole("dimension", chosen, least=1)


@final
@dataclass(frozen=True, kw_only=True)
class BrownianMechanism(GaussianDiffusion):
    """Brownian motion from the statistic: X_t = f + N(0, 2 diffusion_scale^2 t).

    Claim.  mu = sensitivity/(diffusion_scale * sqrt(2 t)), exactly.
    """

    def decay_after(self, duration: float) -> float:
        """One: Brownian motion forgets by spreading only."""
        return 1.0

    def variance_after(self, duration: float) -> float:
        """2 diffusion_scale^2 duration."""
        return 2.0 * self.diffusion_scale * self.diffusion_scale * duration

    def _signal(self, time: float) -> float:
        return 1.0 / (self.diffusion_scale * math.sqrt(2.0 * time))

    def _time_near(self, mu: float) -> float:
        ratio = self.charged_sensitivity / mu / self.diffusion_scale
        return ratio * ratio / 2.0


@final
@dataclass(frozen=True, kw_only=True)
class OrnsteinUhlenbeckMechanism(GaussianDiffusion):
    """Brownian motion pulled to the origin: dX = -reversion X dt + sqrt(2) diffusion_scale dW.

    Claim.  mu = sensitivity/s, s^2 = diffusion_scale^2 (e^(2 reversion t) - 1)/reversion, exactly.
    Translation.  paper theta -> reversion;  paper rho -> diffusion_scale.
    Differs from the paper.  The equation there has sqrt(2 rho) in front of dW; its kernel,
    generator and privacy all belong to sqrt(2) rho.
    """

    reversion: float

    def __post_init__(self) -> None:
        self._keep("reversion", check.real("reversion", self.reversion, above=0.0))
        super().__post_init__()

    def decay_after(self, duration: float) -> float:
        """e^(-reversion duration)."""
        return math.exp(-self.reversion * duration)

    def variance_after(self, duration: float) -> float:
        """diffusion_scale^2 (1 - e^(-2 reversion duration))/reversion."""
        lost = -math.expm1(-2.0 * self.reversion * duration)
        return self.diffusion_scale * (self.diffusion_scale * (lost / self.reversion))

    def _signal(self, time: float) -> float:
        x = 2.0 * self.reversion * time
        own = math.sqrt(self.reversion) / self.diffusion_scale * (1.0 + 4e-16 * x)
        return own * (math.exp(-x / 2.0) if x > 700.0 else 1.0 / math.sqrt(math.expm1(x)))

    def _time_near(self, mu: float) -> float:
        ratio = self.charged_sensitivity / mu / self.diffusion_scale
        return math.log1p(self.reversion * ratio * ratio) / (2.0 * self.reversion)

    def _shrinkage(self) -> float:
        return -math.expm1(-self.reversion * self.time)

    def beats_plain_gaussian(self) -> bool:
        """Whether the worst error at `time` is at most that of the plain Gaussian mechanism."""
        pull = self.reversion * self._norm_bound() ** 2
        reach = (1.0 + math.exp(min(self.reversion * self.time, 350.0))) ** 2
        return pull <= self._dimension(None) * self.diffusion_scale**2 * reach

    def always_beats_plain_gaussian(self) -> bool:
        """Whether it is so at every time: reversion R^2 <= 4 dimension diffusion_scale^2."""
        pull = self.reversion * self._norm_bound() ** 2
        return pull <= 4.0 * self._dimension(None) * self.diffusion_scale**2
