"""Ask every theorem, keep every answer; turn targets into settings."""

from wane.certify.analyse import certify, composition_of, recalled
from wane.certify.calibrate import Calibrated, Over, calibrate
from wane.certify.certificate import Certificate
from wane.certify.curve import Axis, Curve, curve
from wane.certify.joint import JointCertificate, SideRelease, delta_for
from wane.certify.positions import mu_by_position, mu_of_group

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
    "recalled",
]
