"""Releasing a statistic as the position of a linear diffusion that starts there, as data.

Both processes are Gaussian: X_t = b f + N(0, v I), which is the Gaussian mechanism with noise
sqrt(v)/b, scaled by b.  A sensitivity is declared for exact numbers, and doubles are none, so it is
charged with what the roundings of a statistic can add.

**What is charged.**  Let D be the sensitivity, R the bound on the norm, u = 2^-53, and let the
charge be s = max(2^-40 D, 2^-47 R).  Two adjacent statistics of d entries

1. are moved by rounding to the grid g <= s/(4 sqrt(d)) by at most g sqrt(d)/2 each: s/4 in all;
2. are moved by the projection by at most 4 u R (1 + 2^-50) each, since `math.hypot` is right to the
   last place, and a quotient and a product follow: s/4 in all, as s >= 2^-47 R.

So they are at most D + s apart.
"""

from __future__ import annotations

import enum
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

from wane import arguments
from wane.arrays import Array
from wane.describe.choices import Adjacency, adjacency_of
from wane.describe.description import Description, Row
from wane.describe.noise import FEWEST_ULPS
from wane.errors import InvalidDescription

if TYPE_CHECKING:
    from wane.guarantees import GaussianDP


@dataclass(frozen=True)
class Comparison:
    """Worst mean squared errors over statistics in the ball, all at the same mu.

    Attributes:
        mechanism: of the mechanism at hand.
        plain_gaussian: of the statistic plus Gaussian noise.
        shrunk_gaussian: of the same, scaled by the best constant.
        best_scale: that constant; no other constant has a smaller worst error.
    """

    mechanism: float
    plain_gaussian: float
    shrunk_gaussian: float
    best_scale: float


def compared(own: float, std: float, norm_bound: float, dimension: int) -> Comparison:
    """Errors beside `own`, for noise of this standard deviation on the unscaled statistic.

    Claim.  best scale R^2/(R^2 + d s^2), error R^2 d s^2/(R^2 + d s^2).
    """
    plain = dimension * std * std
    best = best_scale(std, norm_bound, dimension)
    return Comparison(own, plain, best * plain, best)


def best_scale(std: float, norm_bound: float, dimension: int) -> float:
    """The constant in front of f + N(0, std^2) with the smallest worst error over the ball."""
    ratio = std / norm_bound
    return 1.0 / (1.0 + dimension * ratio * ratio)


SHARE_OF_SENSITIVITY, SHARE_OF_BOUND = 2.0**-40, 2.0**-47


class Outside(enum.Enum):
    """What happens to a statistic whose norm exceeds the declared bound.

    REFUSE   an error.  The bound is a promise about every data set; the error itself depends on
             the data, so it must never reach a reader.
    PROJECT  the nearest point of the ball, f * min(1, bound/|f|), is released in its place.  This
             map never increases distances, but for roundings, which are charged.
    """

    REFUSE = "refuse"
    PROJECT = "project"


def rounding_charge(sensitivity: float, norm_bound: float | None) -> float:
    """Return what is added to the sensitivity for the roundings of a statistic."""
    return max(SHARE_OF_SENSITIVITY * sensitivity, SHARE_OF_BOUND * (norm_bound or 0.0))


def require_enough_noise(
    noise_std: float, largest: float, cure: str, *, secret: bool = False
) -> None:
    """Refuse noise that doubles of this size could not resolve; say nothing of a `secret` size."""
    least = FEWEST_ULPS * math.ulp(largest)
    if noise_std < least:
        known = "(keep this message from readers)" if secret else f"{least:g}"
        raise InvalidDescription(
            "noise must be at least 2^10 units in the last place of the statistic, "
            f"{known}, got {noise_std:g}; {cure}"
        )


class Process(Description):
    """A diffusion that starts at a statistic and is shown at `time`, once or along with others.

    What its positions cost is said by `wane.theorems.lemmas.diffusions`, and how they are drawn by
    `wane.run.diffusions`, each for every kind of process.
    """

    released_as: ClassVar[str] = "position"

    time: float
    adjacency: Adjacency | None

    @property
    @abstractmethod
    def sensitivity_words(self) -> str:
        """The declared sensitivity, in a word or a number."""

    @property
    def mu(self) -> float:
        """The exact Gaussian DP parameter of the release, rounded up."""
        return self.mu_at(self.time)

    def mu_at(self, time: float) -> float:
        """Return the Gaussian DP parameter of the position at another time, rounded up."""
        return float(_privacy().mu_at(self, time))

    @property
    def guarantee(self) -> GaussianDP:
        """The exact guarantee of the release; `wane.certify` gives the certificate."""
        made: GaussianDP = _privacy().guarantee_at(self, self.time)
        return made

    def time_for(
        self, mu: float | None = None, *, epsilon: float | None = None, delta: float | None = None
    ) -> float:
        """Return the earliest time found that meets a mu, or an epsilon and a delta."""
        return float(_privacy().earliest(self, mu, epsilon, delta))

    @abstractmethod
    def at(self, time: float) -> Self:
        """Return the same process stopped at another time."""

    def require_on_path(self, time: float) -> None:
        """Refuse a time at which a path of this process cannot be shown; here none."""

    def law(self, statistic: Any, **options: Any) -> Any:
        """Return the law of the release before it is rounded (secret: it holds the statistic)."""
        return _drawing().law_of(self, statistic, **options)

    def release(self, statistic: Any, **options: Any) -> Array:
        """Return one private release of the statistic, as `wane.run.diffusions.draw` does."""
        made: Array = _drawing().draw(self, statistic, **options)
        return made

    def path(self, statistic: Any, times: Sequence[float], **options: Any) -> list[Array]:
        """Return positions of one path at several times, none before `time`; they cost `mu` in all.

        The whole path has the privacy of its earliest point, because the rest is made from it.
        """
        made: list[Array] = _drawing().path(self, statistic, times, **options)
        return made

    def parameters(self) -> dict[str, Any]:
        """Return what is declared, by name; what is absent is left out."""
        listed = fields(self)  # type: ignore[arg-type]
        named = {f.name: getattr(self, f.name) for f in listed if f.name != "adjacency"}
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Return the process of these parameters."""
        return cls(**given)

    def summary(self) -> str:
        """Return the release in one line."""
        adjacency = "none declared" if self.adjacency is None else self.adjacency.value
        return (
            f"{self.kind} at time {self.time:g} from a statistic of sensitivity "
            f"{self.sensitivity_words}, adjacency {adjacency}"
        )

    def released_words(self) -> str:
        """Return what is released, in words."""
        return f"The position of the diffusion at time {self.time:.6g}, and nothing before it."

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [SECRET_STATISTIC, "The position at every earlier time.", SECRET_NOISE]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers."""
        return list(self.parameters().items())


@dataclass(frozen=True, kw_only=True)
class GaussianDiffusion(Process):
    """A linear diffusion stopped at `time`; use one of its two kinds.

    Attributes:
        sensitivity: largest Euclidean distance between the statistics of adjacent data sets.
        time: when the position is released; later is more private.
        diffusion_scale: the process is driven by sqrt(2) * diffusion_scale * dW.
        norm_bound: bound on the Euclidean norm of the statistic of every data set, if any.
        dimension: number of entries of the statistic, if declared.
        adjacency: which data sets the sensitivity compares; needed to certify.
    """

    sensitivity: float
    time: float
    diffusion_scale: float = 1.0
    norm_bound: float | None = None
    dimension: int | None = None
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        if self.adjacency is not None:
            object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        for name in ("sensitivity", "time", "diffusion_scale"):
            self._keep(name, arguments.real(name, getattr(self, name), above=0.0))
        if self.norm_bound is not None:
            self._keep("norm_bound", arguments.real("norm_bound", self.norm_bound, above=0.0))
        if self.dimension is not None:
            arguments.whole("dimension", self.dimension, least=1)
        if not (0.0 < self.variance_after(self.time) < math.inf):
            raise InvalidDescription(
                f"time must leave a noise that doubles can hold, got {self.time:g}; choose time or "
                "diffusion_scale nearer to 1."
            )
        if self.norm_bound is not None:
            self.require_enough_noise(self.norm_bound)

    def _keep(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    @abstractmethod
    def decay_after(self, duration: float) -> float:
        """The factor on the position after a duration."""

    @abstractmethod
    def variance_after(self, duration: float) -> float:
        """The variance of each entry gained over a duration."""

    @abstractmethod
    def signal_at(self, time: float) -> float:
        """Return decay divided by noise at a time, up to rounding."""

    @abstractmethod
    def time_near(self, noise: float) -> float:
        """Return the time at which noise divided by decay is this, up to rounding."""

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
    def intrinsic_sensitivity(self) -> float:
        """The Renyi divergence of every order, divided by the order: mu^2/2, rounded up."""
        return float(_privacy().intrinsic_sensitivity(self))

    def at(self, time: float) -> Self:
        """The same process stopped at another time."""
        return replace(self, time=time)

    def require_enough_noise(self, largest: float, *, secret: bool = False) -> None:
        """Refuse a statistic of this size that the noise could not cover in doubles."""
        noise = self.noise_std / self.scale if self.scale > 0.0 else math.inf
        cure = "choose a later time, or a smaller norm_bound."
        require_enough_noise(noise, largest, cure, secret=secret)

    def mean_squared_error(self, norm: float | None = None, dimension: int | None = None) -> float:
        """Expected squared distance to a statistic of this norm; the largest, if left out."""
        d = self._dimension(dimension)
        lost = 1.0 - self.scale
        if norm is None and lost > 0.0:
            norm = self._norm_bound()
        size = 0.0 if norm is None else arguments.real("norm", norm, least=0.0)
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
        return arguments.whole("dimension", chosen, least=1)

    @property
    def sensitivity_words(self) -> str:
        """The declared number."""
        return f"{self.sensitivity:g}"

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for."""
        return [
            (
                "D",
                "sensitivity: largest Euclidean distance of adjacent statistics",
                self.sensitivity,
            ),
            ("s", "charge for rounding the statistic", self.rounding_charge),
            ("t", "time of the release", self.time),
            ("b", "factor on the statistic at that time", self.scale),
            ("v", "variance of each entry at that time", self.variance_after(self.time)),
        ]


SECRET_STATISTIC = "The records, the exact statistic, and every number computed from either."
SECRET_NOISE = "The noise, its key, its seed, and the state of the generator."


def _privacy() -> Any:
    # the package of theorems stands above this one, so that its lemma is asked for by its name
    return import_module("wane.theorems.lemmas.diffusions")


def _drawing() -> Any:
    # as above: whoever draws noise stands above whoever describes it
    return import_module("wane.run.diffusions")


@final
@dataclass(frozen=True, kw_only=True)
class BrownianMechanism(GaussianDiffusion):
    """Brownian motion from the statistic: X_t = f + N(0, 2 diffusion_scale^2 t).

    The theorem `diffusion_release` gives mu = sensitivity/(diffusion_scale * sqrt(2 t)), exactly.
    """

    kind: ClassVar[str] = "brownian-motion"

    def decay_after(self, duration: float) -> float:
        """One: Brownian motion forgets by spreading only."""
        return 1.0

    def variance_after(self, duration: float) -> float:
        """2 diffusion_scale^2 duration."""
        return 2.0 * self.diffusion_scale * self.diffusion_scale * duration

    def signal_at(self, time: float) -> float:
        """Return 1/(diffusion_scale sqrt(2 time))."""
        return 1.0 / (self.diffusion_scale * math.sqrt(2.0 * time))

    def time_near(self, noise: float) -> float:
        """Return the time, from noise^2 = v(t)/b(t)^2."""
        ratio = noise / self.diffusion_scale
        return ratio * ratio / 2.0


@final
@dataclass(frozen=True, kw_only=True)
class OrnsteinUhlenbeckMechanism(GaussianDiffusion):
    """Brownian motion pulled to the origin: dX = -reversion X dt + sqrt(2) diffusion_scale dW.

    The theorem `diffusion_release` gives mu = sensitivity/s, exactly, with
    s^2 = diffusion_scale^2 (e^(2 reversion t) - 1)/reversion.
    Translation.  paper theta -> reversion;  paper rho -> diffusion_scale.
    Differs from the paper.  The equation there has sqrt(2 rho) in front of dW; its kernel,
    generator and privacy all belong to sqrt(2) rho.
    """

    kind: ClassVar[str] = "ornstein-uhlenbeck"
    reversion: float

    def __post_init__(self) -> None:
        self._keep("reversion", arguments.real("reversion", self.reversion, above=0.0))
        super().__post_init__()

    def decay_after(self, duration: float) -> float:
        """e^(-reversion duration)."""
        return math.exp(-self.reversion * duration)

    def variance_after(self, duration: float) -> float:
        """diffusion_scale^2 (1 - e^(-2 reversion duration))/reversion."""
        lost = -math.expm1(-2.0 * self.reversion * duration)
        return self.diffusion_scale * (self.diffusion_scale * (lost / self.reversion))

    def signal_at(self, time: float) -> float:
        """Return the same in a form that neither overflows nor loses digits."""
        x = 2.0 * self.reversion * time
        own = math.sqrt(self.reversion) / self.diffusion_scale * (1.0 + 4e-16 * x)
        return own * (math.exp(-x / 2.0) if x > 700.0 else 1.0 / math.sqrt(math.expm1(x)))

    def time_near(self, noise: float) -> float:
        """Return the time, from noise^2 = v(t)/b(t)^2."""
        ratio = noise / self.diffusion_scale
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
