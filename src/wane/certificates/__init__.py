"""Ask every theorem, keep every answer; turn targets into settings."""

from wane.certificates.analyse import certify, composition_of
from wane.certificates.calibrate import Calibrated, Over, calibrate
from wane.certificates.certificate import Certificate
from wane.certificates.curve import Axis, Curve, curve
from wane.certificates.joint import JointCertificate, SideRelease, delta_for
from wane.certificates.positions import mu_by_position, mu_of_group

__all__ = [
    "Axis",
    "Calibrated",
    "Certificate",
    "Curve",
    "JointCertificate",
    "Over",
    "SideRelease",
    "calibrate",
    "certify",
    "composition_of",
    "curve",
    "delta_for",
    "mu_by_position",
    "mu_of_group",
]
