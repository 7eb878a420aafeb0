"""Targets in the words of whoever must approve a release: what an attacker may achieve.

The attacker knows all other records, sees the release, and tells which of two neighbouring data
sets was used.  `docs/sharp-edges.md` says how such numbers are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from wane import arguments
from wane.certificates.certificate import Certificate
from wane.certificates.targets import PrivacyGoal
from wane.guarantees import GaussianDP
from wane.numerics.rounding import inflate

_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class AdvantageGoal(PrivacyGoal):
    """True-positive rate minus false-positive rate of any attack: at most `advantage`.

    Claim.  The largest advantage is delta at epsilon 0.
    """

    advantage: float

    def __post_init__(self) -> None:
        arguments.real("advantage", self.advantage, above=0.0, most=1.0)

    @property
    def level(self) -> float:
        """The advantage."""
        return float(self.advantage)

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

    @property
    def level(self) -> float:
        """The true-positive rate."""
        return float(self.true_positive_rate)

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

    prior: float
    success: float

    def __post_init__(self) -> None:
        p = arguments.real("prior", self.prior, above=0.0, most=_BELOW_ONE)
        cure = "the prior alone is right as often as max(prior, 1 - prior)"
        arguments.real("success", self.success, above=max(p, 1.0 - p), most=1.0, cure=cure)

    @property
    def level(self) -> float:
        """The probability of a right guess."""
        return float(self.success)

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
