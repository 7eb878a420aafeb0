"""The certificate as one self-contained page: no script, no outside asset, fit to print and sign.

Page one is for whoever signs.  Annex A speaks of the attacker, B and C of the numbers and how they
are read, D to F of the theory and the evidence.  Everything on the page is in the document.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from wane.report.annexes import (
    answers_annex,
    conduct_annex,
    numbers_annex,
    reading_annex,
    theory_annex,
)
from wane.report.attacker import attack_annex
from wane.report.front import front_page, name_of, number_of
from wane.report.markup import escape
from wane.report.text import heading, shown

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CLAIMING = (attack_annex, numbers_annex, reading_annex)
"""What a void certificate does not have."""
GROUNDS = (theory_annex, conduct_annex, answers_annex)


def html_page(document: dict[str, Any]) -> str:
    """Return a certificate document as an HTML page; everything on it is in the document."""
    void = document["status"] == "void"
    annexes = GROUNDS if void else (*CLAIMING, *GROUNDS)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(_title(document))}</title>",
            f"<style>\n{_style(document)}</style>",
            "</head>",
            "<body>",
            "<main>",
            front_page(document),
            *(made(document) for made in annexes),
            "</main>",
            f"<footer>Certificate format {document['version']}, wane "
            f"{escape(document['versions']['wane'])}. Number {escape(number_of(document))} is the "
            "beginning of the document's SHA-256.</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _title(document: dict[str, Any]) -> str:
    name = name_of(document)
    named = "" if name == heading(document) else f"{name}, "
    if document["status"] == "void":
        return f"{heading(document)}: {named}void, no privacy is claimed"
    claim = f"epsilon {shown(document['epsilon'])} at delta {shown(document['delta'])}"
    return f"{heading(document)}: {named}{claim}"


def _style(document: dict[str, Any]) -> str:
    """The style, with a foot on every printed page: no page can be exchanged unseen."""
    style = (files("wane.report") / "certificate.css").read_text(encoding="utf-8")
    number = "".join(c for c in number_of(document) if c in "0123456789abcdef-")
    return style.replace("CERTIFICATE-NUMBER", f"{heading_word(document)} {number}")


def heading_word(document: dict[str, Any]) -> str:
    """Return what the foot of a printed page calls the document."""
    void = ", void" if document["status"] == "void" else ""
    kind = "calculation" if document["noise"]["source"] == "not-run" else "certificate"
    return f"wane privacy {kind}{void}"
