"""What wane certifies for a run whose guarantee is Gaussian."""

from __future__ import annotations

from wane.certificates import Certificate, certify
from wane.describe import NoisyDescent


def certified_mu(run: NoisyDescent) -> float:
    """The mu of the run's certificate."""
    return gaussian_mu(certify(run))


def gaussian_mu(certificate: Certificate) -> float:
    """The mu of a certificate that is known to have one."""
    assert certificate.mu is not None, "only asked of Gaussian guarantees"
    return certificate.mu
