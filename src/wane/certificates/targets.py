"""What a calibrated run must meet, in the measures of privacy; `goals` has those of attackers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from wane.arguments import Checked, NonNegative, Real
from wane.certificates.certificate import Certificate
from wane.guarantees import GaussianDP
from wane.report.text import round_up_to

_NOISY = Real(above=0.0, cure="zero would need infinite noise")


class PrivacyGoal(Checked, ABC):
    """A promise that a certificate keeps or does not keep."""

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
    @abstractmethod
    def level(self) -> float:
        """What is promised, in the goal's own measure."""


@dataclass(frozen=True)
class ApproximateGoal(PrivacyGoal):
    """At most `epsilon` at `delta`."""

    epsilon: NonNegative
    delta: Annotated[float, Real(above=0.0, most=1.0, cure="Gaussian noise is never pure")]

    @property
    def level(self) -> float:
        """Epsilon."""
        return float(self.epsilon)

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

    order: Annotated[float, Real(above=1.0)]
    divergence: Annotated[float, _NOISY]

    @property
    def level(self) -> float:
        """The divergence."""
        return float(self.divergence)

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

    zcdp: Annotated[float, _NOISY]

    @property
    def level(self) -> float:
        """The parameter rho."""
        return float(self.zcdp)

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

    mu: Annotated[float, _NOISY]

    @property
    def level(self) -> float:
        """The parameter mu."""
        return float(self.mu)

    def level_of(self, certificate: Certificate) -> float:
        """Return the least mu, infinite where no theorem gives one."""
        found = certificate.least_mu
        return math.inf if found is None else found

    def mu_of(self, level: float) -> float:
        """Return the level itself, which is mu."""
        return level

    def __str__(self) -> str:
        return f"Gaussian privacy with mu={round_up_to(self.mu)}"
