"""Ask every theorem, keep every answer, write it down; turn targets into settings."""

from wane.certificates.analyse import certify, composition_of, recalled
from wane.certificates.calibration import Calibrated, Over, calibrate
from wane.certificates.certificate import Certificate, JointCertificate, delta_for, together
from wane.certificates.changes import Change, change_fields, changes
from wane.certificates.curves import Axis, Curve, curve
from wane.certificates.document import (
    Circumstances,
    Particulars,
    bracket_fields,
    calibrated_fields,
    certificate_document,
    certificate_fields,
    certificate_schema,
    composition_epsilon,
    configuration_hash,
    is_sealed,
    verdict_fields,
    with_files,
)
from wane.certificates.parts import CertifiedRelease
from wane.certificates.positions import mu_by_position, mu_of_group
from wane.certificates.presented import curve_fields, in_html, in_lines, save_document
from wane.certificates.released import Released, release
from wane.certificates.stored import certificate_from_fields, certificate_to_fields, stated_release
from wane.certificates.wording import EarlierReleases, ExactNoise, NoiseSource

__all__ = [
    "Axis",
    "Calibrated",
    "Certificate",
    "CertifiedRelease",
    "Change",
    "Circumstances",
    "Curve",
    "EarlierReleases",
    "ExactNoise",
    "JointCertificate",
    "NoiseSource",
    "Over",
    "Particulars",
    "Released",
    "bracket_fields",
    "calibrate",
    "calibrated_fields",
    "certificate_document",
    "certificate_fields",
    "certificate_from_fields",
    "certificate_schema",
    "certificate_to_fields",
    "certify",
    "change_fields",
    "changes",
    "composition_epsilon",
    "composition_of",
    "configuration_hash",
    "curve",
    "curve_fields",
    "delta_for",
    "in_html",
    "in_lines",
    "is_sealed",
    "mu_by_position",
    "mu_of_group",
    "recalled",
    "release",
    "save_document",
    "stated_release",
    "together",
    "verdict_fields",
    "with_files",
]
