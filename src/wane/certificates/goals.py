"""What calibration may aim at, and the one goal that its arguments name.

Three goals are in the words of whoever must approve a release: what an attacker may achieve.  The
attacker knows all other records, sees the release, and tells which of two neighbouring data sets
was used.  `docs/sharp-edges.md` says how such numbers are read.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from scipy.special import ndtri

from wane import arguments
from wane.arguments import Checked, NonNegative, Real
from wane.certificates.certificate import Certificate
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.numerics.rounding import inflate
from wane.report.text import round_up_to

_NOISY = Real(above=0.0, cure="zero would need infinite noise")


class PrivacyGoal(Checked, ABC):
    """A promise that a certificate keeps or does not keep."""

    promised: ClassVar[str]
    """The field that holds what is promised."""

    def met_by(self, certificate: Certificate) -> bool:
        """Return whether the certificate meets the goal."""
        return self.level_of(certificate) <= self.level

    @abstractmethod
    def level_of(self, certificate: Certificate) -> float:
        """Return the certificate's level in the goal's own measure, infinite if it says nothing."""

    @abstractmethod
    def mu_of(self, level: float) -> float:
        """Return the mu of a Gaussian guarantee with this level: it only steers a search."""

    @property
    def level(self) -> float:
        """What is promised, in the goal's own measure."""
        return float(getattr(self, self.promised))


@dataclass(frozen=True)
class ApproximateGoal(PrivacyGoal):
    """At most `epsilon` at `delta`."""

    promised: ClassVar[str] = "epsilon"

    epsilon: NonNegative
    delta: Annotated[float, Real(above=0.0, most=1.0, cure="Gaussian noise is never pure")]

    def level_of(self, certificate: Certificate) -> float:
        """Return epsilon at delta."""
        return certificate.epsilon(self.delta)

    def mu_of(self, level: float) -> float:
        """Return the mu with this epsilon at delta."""
        if math.isinf(level):
            return math.inf
        return GaussianDP.from_target(epsilon=level, delta=self.delta).mu

    def __str__(self) -> str:
        return f"epsilon={round_up_to(self.epsilon)} at delta={round_up_to(self.delta)}"


@dataclass(frozen=True)
class RenyiGoal(PrivacyGoal):
    """A Renyi divergence of this order of at most `divergence`."""

    promised: ClassVar[str] = "divergence"

    order: Annotated[float, Real(above=1.0)]
    divergence: Annotated[float, _NOISY]

    def level_of(self, certificate: Certificate) -> float:
        """Return the divergence of this order."""
        return certificate.renyi(self.order)

    def mu_of(self, level: float) -> float:
        """Return the mu with this divergence."""
        return math.sqrt(2.0 * level / self.order)

    def __str__(self) -> str:
        return f"a Renyi divergence of {self.divergence:g} at order {self.order:g}"


@dataclass(frozen=True)
class ConcentratedGoal(PrivacyGoal):
    """Zero-concentrated privacy with this rho."""

    promised: ClassVar[str] = "zcdp"

    zcdp: Annotated[float, _NOISY]

    def level_of(self, certificate: Certificate) -> float:
        """Return the least rho, infinite where no theorem gives one."""
        found = certificate.zcdp
        return math.inf if found is None else found

    def mu_of(self, level: float) -> float:
        """Return the mu with this rho."""
        return math.sqrt(2.0 * level)

    def __str__(self) -> str:
        return f"zero-concentrated privacy with rho={self.zcdp:g}"


@dataclass(frozen=True)
class GaussianGoal(PrivacyGoal):
    """Gaussian privacy with this mu."""

    promised: ClassVar[str] = "mu"

    mu: Annotated[float, _NOISY]

    def level_of(self, certificate: Certificate) -> float:
        """Return the least mu, infinite where no theorem gives one."""
        found = certificate.least_mu
        return math.inf if found is None else found

    def mu_of(self, level: float) -> float:
        """Return the level itself, which is mu."""
        return level

    def __str__(self) -> str:
        return f"Gaussian privacy with mu={round_up_to(self.mu)}"


_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class AdvantageGoal(PrivacyGoal):
    """True-positive rate minus false-positive rate of any attack: at most `advantage`.

    Claim.  The largest advantage is delta at epsilon 0.
    """

    promised: ClassVar[str] = "advantage"

    advantage: Annotated[float, Real(above=0.0, most=1.0)]

    def level_of(self, certificate: Certificate) -> float:
        """Return the largest advantage, never rounded down."""
        return certificate.delta(0.0)

    def mu_of(self, level: float) -> float:
        """Return the mu with this advantage."""
        return _gaussian_mu(0.0, level)

    def __str__(self) -> str:
        return f"an attacker's advantage of {self.advantage:g}"


@dataclass(frozen=True)
class DetectionGoal(PrivacyGoal):
    """At this false-positive rate no attack has a true-positive rate above `true_positive_rate`."""

    promised: ClassVar[str] = "true_positive_rate"

    false_positive_rate: float
    true_positive_rate: float

    def __post_init__(self) -> None:
        low = arguments.real(
            "false_positive_rate", self.false_positive_rate, above=0.0, most=_BELOW_ONE
        )
        cure = "guessing at random has as many true positives as false ones"
        arguments.real(
            "true_positive_rate", self.true_positive_rate, above=low, most=1.0, cure=cure
        )

    def level_of(self, certificate: Certificate) -> float:
        """Return the largest true-positive rate at this false-positive rate, never rounded down."""
        return certificate.true_positive_rate(self.false_positive_rate)

    def mu_of(self, level: float) -> float:
        """Return the mu with this true-positive rate."""
        if not level < 1.0:
            return math.inf
        return max(float(ndtri(level) - ndtri(self.false_positive_rate)), 0.0)

    def __str__(self) -> str:
        return (
            f"a true-positive rate of {self.true_positive_rate:g} at a false-positive rate of "
            f"{self.false_positive_rate:g}"
        )


@dataclass(frozen=True)
class GuessGoal(PrivacyGoal):
    """Whoever believes in the record with probability `prior` is right at most so often.

    Claim.  The best guess is right with probability max(p, 1-p) + min(p, 1-p) delta(|ln(1/p - 1)|),
    for the best test of p against 1 - p gains the hockey-stick divergence at the odds of the prior.
    """

    promised: ClassVar[str] = "success"

    prior: float
    success: float

    def __post_init__(self) -> None:
        p = arguments.real("prior", self.prior, above=0.0, most=_BELOW_ONE)
        cure = "the prior alone is right as often as max(prior, 1 - prior)"
        arguments.real("success", self.success, above=max(p, 1.0 - p), most=1.0, cure=cure)

    def level_of(self, certificate: Certificate) -> float:
        """Return the probability that the best guess is right, never rounded down."""
        rare = min(self.prior, 1.0 - self.prior)
        # delta falls in epsilon, so that rounded odds are taken a little smaller
        gained = rare * certificate.delta(self._log_odds * (1.0 - 1e-15))
        return min(1.0, inflate(1.0 - rare + gained, 1e-15))

    def mu_of(self, level: float) -> float:
        """Return the mu with which the best guess is right with this probability."""
        rare = min(self.prior, 1.0 - self.prior)
        return _gaussian_mu(self._log_odds, (level - (1.0 - rare)) / rare)

    @property
    def _log_odds(self) -> float:
        return abs(math.log(self.prior) - math.log1p(-self.prior))

    def __str__(self) -> str:
        return f"guesses that are right with {self.success:g} for a prior of {self.prior:g}"


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """Return a mu that only steers a search; infinite where delta is 1 or more."""
    if not delta < 1.0:
        return math.inf
    return GaussianDP.from_target(epsilon=epsilon, delta=max(delta, 1e-300)).mu


PAIRS: dict[str, tuple[Callable[[float, float], PrivacyGoal], str]] = {
    "renyi": (RenyiGoal, "(order, divergence)"),
    "attack": (DetectionGoal, "(false_positive_rate, true_positive_rate)"),
    "guess": (GuessGoal, "(prior, success)"),
}
NUMBERS: dict[str, Callable[[float], PrivacyGoal]] = {
    "zcdp": ConcentratedGoal,
    "mu": GaussianGoal,
    "advantage": AdvantageGoal,
}


def goal_of(
    *, epsilon: float | None = None, delta: float | None = None, **others: Any
) -> PrivacyGoal:
    """Return the one goal that these arguments name; refuse none and several."""
    given = {name: value for name, value in others.items() if value is not None}
    named = [*(["epsilon"] if epsilon is not None else []), *given]
    if len(named) != 1 or (delta is None) == (epsilon is not None):
        got = ", ".join(named + (["delta"] if delta is not None else [])) or "nothing"
        raise InvalidDescription(
            "the target must be one of epsilon and delta, renyi=(order, divergence), zcdp, mu, "
            "advantage, attack=(false_positive_rate, true_positive_rate) or guess=(prior, "
            f"success), got {got}."
        )
    if epsilon is not None:
        assert delta is not None
        return ApproximateGoal(epsilon, delta)
    ((name, value),) = given.items()
    if name in NUMBERS:
        return NUMBERS[name](value)
    goal, words = PAIRS[name]
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidDescription(f"{name} must be a pair {words}, got {value!r:.60}.")
    return goal(*value)
