"""Ask every theorem, keep every answer; turn targets into settings."""

from wane.certify.analyse import certify, composition_of
from wane.certify.calibrate import Calibrated, Over, calibrate
from wane.certify.certificate import Certificate
from wane.certify.curve import Axis, Curve, curve
from wane.certify.positions import mu_by_position, mu_of_group

__all__ = [
    "Axis",
    "Calibrated",
    "Certificate",
    "Curve",
    "Over",
    "calibrate",
    "certify",
    "composition_of",
    "curve",
    "mu_by_position",
    "mu_of_group",
]
