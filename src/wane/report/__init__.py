"""A document in, words out: text, page, statement and card of a certificate document."""

from wane.report.card import model_card
from wane.report.html import html_page
from wane.report.statement import privacy_statement, registry_entry
from wane.report.text import bracket_text, certificate_text, curve_text, shown

__all__ = [
    "bracket_text",
    "certificate_text",
    "curve_text",
    "html_page",
    "model_card",
    "privacy_statement",
    "registry_entry",
    "shown",
]
