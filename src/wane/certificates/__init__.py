"""Ask every theorem, keep every answer, write it down; turn targets into settings."""

from wane.certificates.analyse import certify, composition_of, recalled
from wane.certificates.calibrate import Calibrated, Over, calibrate
from wane.certificates.certificate import Certificate
from wane.certificates.circumstances import Circumstances, Sampler
from wane.certificates.curve import Axis, Curve, curve
from wane.certificates.document import (
    certificate_document,
    certificate_schema,
    configuration_hash,
    is_sealed,
    with_files,
)
from wane.certificates.fields import (
    bracket_fields,
    calibrated_fields,
    certificate_fields,
    composition_epsilon,
    curve_fields,
    verdict_fields,
)
from wane.certificates.joint import JointCertificate, SideRelease, delta_for
from wane.certificates.positions import mu_by_position, mu_of_group
from wane.certificates.wording import EarlierReleases, ExactNoise, NoiseSource

__all__ = [
    "Axis",
    "Calibrated",
    "Certificate",
    "Circumstances",
    "Curve",
    "EarlierReleases",
    "ExactNoise",
    "JointCertificate",
    "NoiseSource",
    "Over",
    "Sampler",
    "SideRelease",
    "bracket_fields",
    "calibrate",
    "calibrated_fields",
    "certificate_document",
    "certificate_fields",
    "certificate_schema",
    "certify",
    "composition_epsilon",
    "composition_of",
    "configuration_hash",
    "curve",
    "curve_fields",
    "delta_for",
    "is_sealed",
    "mu_by_position",
    "mu_of_group",
    "recalled",
    "verdict_fields",
    "with_files",
]
