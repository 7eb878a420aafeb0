"""A certificate that claims nothing: something beyond the description gives the data away."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane.certificates import Certificate, JointCertificate, SideRelease
from wane.describe import Adjacency, check


@dataclass(frozen=True)
class VoidCertificate:
    """No guarantee: epsilon is infinite, and `reasons` say why.

    Attributes:
        nominal: what could be claimed, had the reasons not been.
        reasons: what voids it, one sentence each.
    """

    nominal: Certificate | JointCertificate
    reasons: tuple[str, ...]

    def epsilon(self, delta: float) -> float:
        """Return infinity, whatever `delta` below one."""
        return math.inf if check.real("delta", delta, least=0.0, most=1.0) < 1.0 else 0.0

    def delta(self, epsilon: float) -> float:
        """Return one, whatever `epsilon`."""
        check.real("epsilon", epsilon, least=0.0)
        return 1.0

    @property
    def mu(self) -> None:
        """Always None: there is no Gaussian guarantee."""
        return None

    @property
    def parts(self) -> tuple[Certificate | SideRelease, ...]:
        """The releases that `nominal` certifies."""
        return parts_of(self.nominal)

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets `nominal` compares."""
        first = self.parts[0]
        return first.run.adjacency if isinstance(first, Certificate) else first.adjacency

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return one: an attacker may be always right."""
        check.real("false_positive_rate", false_positive_rate, least=0.0, most=1.0)
        return 1.0

    def explain(self) -> str:
        """Return the reasons as text."""
        return "\n".join(("void: no privacy is claimed", *(f"  {r}" for r in self.reasons)))


def parts_of(
    certificate: Certificate | JointCertificate | VoidCertificate,
) -> tuple[Certificate | SideRelease, ...]:
    """Return the releases that a certificate speaks of, in order."""
    return (certificate,) if isinstance(certificate, Certificate) else certificate.parts


def reasons_of(certificate: Certificate | JointCertificate | VoidCertificate) -> tuple[str, ...]:
    """Return what voids a certificate; nothing if it is valid."""
    return certificate.reasons if isinstance(certificate, VoidCertificate) else ()


def joined(
    parts: tuple[Certificate | SideRelease, ...], reasons: tuple[str, ...]
) -> Certificate | JointCertificate | VoidCertificate:
    """Return one certificate for all these releases, void if there is a reason."""
    only = parts[0]
    alone = len(parts) == 1 and isinstance(only, Certificate)
    nominal = only if alone and isinstance(only, Certificate) else JointCertificate(parts)
    return VoidCertificate(nominal, reasons) if reasons else nominal
