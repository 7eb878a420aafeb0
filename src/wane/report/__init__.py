"""A certificate as plain data, as text and as a page; renders, never computes a bound."""

from wane.report.account import Account, Sampler
from wane.report.document import (
    certificate_document,
    certificate_schema,
    configuration_hash,
    is_sealed,
    with_files,
)
from wane.report.fields import (
    bracket_fields,
    calibrated_fields,
    certificate_fields,
    composition_epsilon,
    curve_fields,
    verdict_fields,
)
from wane.report.html import certificate_html, html_page
from wane.report.statement import privacy_statement, registry_entry
from wane.report.text import bracket_text, certificate_text, curve_text, shown
from wane.report.wording import EarlierReleases, ExactNoise, NoiseSource

__all__ = [
    "Account",
    "EarlierReleases",
    "ExactNoise",
    "NoiseSource",
    "Sampler",
    "bracket_fields",
    "bracket_text",
    "calibrated_fields",
    "certificate_document",
    "certificate_fields",
    "certificate_html",
    "certificate_schema",
    "certificate_text",
    "composition_epsilon",
    "configuration_hash",
    "curve_fields",
    "curve_text",
    "html_page",
    "is_sealed",
    "privacy_statement",
    "registry_entry",
    "shown",
    "verdict_fields",
    "with_files",
]
