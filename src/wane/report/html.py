"""The certificate as one self-contained page: no script, no outside asset, fit to print and sign.

Page one is for whoever signs.  Annex A speaks of the attacker, B and C of the numbers and how they
are read, D to F of the theory and the evidence.  Everything on the page is in the document.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from wane.report.annexes import (
    answers_annex,
    attack_annex,
    conduct_annex,
    numbers_annex,
    reading_annex,
    theory_annex,
)
from wane.report.markup import blank, bullets, code, escape
from wane.report.text import (
    BANDS,
    band_of,
    earlier_words,
    heading,
    ran,
    records_of,
    released_words,
    sentence_of,
    shown,
    tiles_of,
    title_of,
)

NOT_PROMISED = (
    "That nothing can be concluded about a person from facts about people in general.",
    "Anything about households, firms or persons with more rows than the unit above.",
    "Anything about another release from the same records: costs add up.",
    "The safety of the machine and the files on which the rows are kept.",
)
MOST_PARTS = 4
"""Releases of a joint certificate that page one lists one by one."""


def front_page(document: dict[str, Any]) -> str:
    """Return page one; a void certificate has no scale, no numbers and nothing to sign."""
    void = document["status"] == "void"
    parts = [
        _top(document),
        f"<h1>{escape(name_of(document))}</h1>",
        f'<p class="sub">{escape(_subtitle(document))}</p>',
        _void(document) if void else _verdict(document),
        "" if void else _numbers(document),
        _facts(document),
        _columns(document),
        "" if void else _approval(document),
    ]
    body = "\n".join(part for part in parts if part)
    kind = "page void" if void else "page"
    return f'<section class="{kind}" aria-label="Page one">\n{body}\n</section>'


def number_of(document: dict[str, Any]) -> str:
    """Return the number of a certificate: the beginning of its own hash."""
    text = str(document.get("document_sha256", ""))[:12]
    return "-".join(text[place : place + 4] for place in range(0, len(text), 4))


def name_of(document: dict[str, Any]) -> str:
    """Return what was made of which records, as far as the particulars say, to head the page."""
    particulars = document.get("particulars", {})
    product, dataset = particulars.get("product", ""), particulars.get("dataset", "")
    named = f"{product[:1].upper()}{product[1:]}"
    if named and dataset:
        return f"{named} from {dataset}"
    return named or dataset or heading(document)


def _top(document: dict[str, Any]) -> str:
    date = document.get("particulars", {}).get("date", "")
    day = f"Date {escape(date)}" if date else f"Date {blank('to be filled in')}"
    return (
        f'<div class="top"><span><strong>wane</strong> {escape(heading(document))}</span>'
        f"<span>No. {escape(number_of(document))} \u00b7 {day}</span></div>"
    )


def _subtitle(document: dict[str, Any]) -> str:
    if document["status"] == "void":
        return "Nothing is claimed of this release, and nothing on this page may be read so."
    if not ran(document):
        return "Computed from a description alone: wane ran nothing, and vouches for no run."
    return "Made with differential privacy. What is listed as released is all that may be seen."


def _void(document: dict[str, Any]) -> str:
    return (
        f'<div class="verdict weak"><h2>{escape(title_of(document))}</h2>\n'
        f"{bullets(document['void_because'])}</div>"
    )


def _verdict(document: dict[str, Any]) -> str:
    band = band_of(document)
    kind = band if ran(document) else "plain"
    scale = "".join(
        f'<li aria-current="true">{_step(name)}</li>' if name == band else f"<li>{_step(name)}</li>"
        for name in BANDS
    )
    return (
        f'<div class="verdict {kind}"><h2>{escape(title_of(document))}</h2>\n'
        f'<p class="say">{escape(sentence_of(document))}</p>\n'
        f'<ol class="scale" aria-label="Reading of epsilon">{scale}</ol>\n'
        '<p class="caveat">No \u03b5 is safe everywhere. NIST SP 800-226 asks to judge it together '
        "with the unit, the program and the handling of the rows. Annex C says where the three "
        "words come from, and answers each part.</p></div>"
    )


def _step(band: str) -> str:
    return f"<span>{band}</span> <span>{BANDS[band]}</span>"


def _numbers(document: dict[str, Any]) -> str:
    tiles = "\n".join(
        f"<div><p><em>{escape(tile.above)}</em> <strong>{escape(tile.number)}</strong></p>"
        f"<span>{escape(tile.words)}</span></div>"
        for tile in tiles_of(document)
    )
    return f'<div class="three">{tiles}</div>'


def _facts(document: dict[str, Any]) -> str:
    particulars = document.get("particulars", {})
    records = records_of(document)
    pairs = [
        ("Data set", _particular(particulars, "dataset")),
        ("Records", blank("to be filled in") if records is None else f"{records:,}"),
        ("Organisation", _particular(particulars, "organisation")),
        ("Responsible", _particular(particulars, "responsible")),
    ]
    wide = [
        ("Protected unit", _unit(document)),
        ("Released", _released(document)),
        ("Details", _details(document)),
        ("Carried out", _carried_out(document)),
        ("Spent so far", _spent(document)),
    ]
    rows = [f"<dt>{name}</dt><dd>{text}</dd>" for name, text in pairs]
    rows += [f'<dt>{name}</dt><dd class="w">{text}</dd>' for name, text in wide if text]
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _particular(particulars: dict[str, str], name: str) -> str:
    return escape(particulars[name]) if particulars.get(name) else blank("to be filled in")


def _unit(document: dict[str, Any]) -> str:
    unit = f"{document['unit'][:1].upper()}{document['unit'][1:]}."
    rows = document.get("rows_per_person", 1)
    if rows > 1:
        return escape(f"{unit} That nobody has more was declared, not checked.")
    return f"{escape(unit)} Nobody has more rows than {blank('to be declared')}."


def _released(document: dict[str, Any]) -> str:
    text = escape(released_words(document))
    if len(document["releases"]) > 1:
        parts = [
            f"{part['what'].removesuffix('.')} (alone \u03b5 = {shown(part['epsilon'])})"
            for part in document["releases"][:MOST_PARTS]
        ]
        rest = len(document["releases"]) - MOST_PARTS
        parts += [f"and {rest} more, in Annex B"] if rest > 0 else []
        text += f" {escape('Charged together: ' + '; '.join(parts) + '.')}"
    names = list(document.get("files", {}))
    if names:
        text += f" Files: {', '.join(map(code, names))} (hashes in Annex E)."
    return text


def _details(document: dict[str, Any]) -> str:
    facts = document["context"].items()
    elsewhere = ("SHA-256", "records")  # in Annex E, and in a line of its own
    return escape("; ".join(f"{k}: {v}" for k, v in facts if not k.startswith(elsewhere)))


def _carried_out(document: dict[str, Any]) -> str:
    if ran(document):
        return (
            f"By wane {escape(document['versions']['wane'])} itself, which enforced what Annex D "
            "marks as enforced."
        )
    return f"Not by wane. Who ran it, and how: {blank('to be filled in')}"


def _spent(document: dict[str, Any]) -> str:
    earlier = document.get("earlier_releases", {})
    if earlier.get("source") == "ledger":
        return escape(earlier_words(document))
    return (
        "Unknown: no ledger was kept. Earlier releases from these records: "
        f"{blank('to be filled in')}"
    )


def _columns(document: dict[str, Any]) -> str:
    secret = _listed("Must stay secret, or this is void", document["secret"])
    if document["status"] == "void":
        return f'<div class="two"><div>{secret}</div></div>'
    return (
        f'<div class="two"><div>{secret}</div>'
        f"<div>{_listed('Not promised', NOT_PROMISED)}</div></div>"
    )


def _listed(title: str, items: Iterable[str]) -> str:
    return f"<h3>{escape(title)}</h3>{bullets(items)}"


def _approval(document: dict[str, Any]) -> str:
    checked = "certificate.json" if not document.get("files") else "the folder of the release"
    boxes = [
        "The facts above are right, and the blanks are filled in.",
        "Nothing that must stay secret has left the holder.",
        "Bounds, categories and settings were known without looking at the rows.",
        f"wane verify, on {checked}, printed verified.",
    ]
    if not ran(document):
        boxes[2] = "What ran is what Annex F describes; whoever signs vouches for it."
    items = "".join(f"<li>{escape(box)}</li>" for box in boxes)
    lines = "".join(
        f"<div>{name}</div><div>Date</div><div>Signature</div>"
        for name in ("Prepared by", "Approved by")
    )
    return (
        f'<div class="sign"><h3>Approval</h3>\n<ol>{items}</ol>\n<div class="lines">{lines}</div>'
        "</div>"
    )


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
            *(annex(document) for annex in annexes),
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
    """Return the style, with the number at the foot of every page, so that none is exchanged."""
    style = (files("wane.report") / "certificate.css").read_text(encoding="utf-8")
    number = "".join(c for c in number_of(document) if c in "0123456789abcdef-")
    return style.replace("CERTIFICATE-NUMBER", f"{heading_word(document)} {number}")


def heading_word(document: dict[str, Any]) -> str:
    """Return what the foot of a printed page calls the document."""
    void = ", void" if document["status"] == "void" else ""
    kind = "calculation" if document["noise"]["source"] == "not-run" else "certificate"
    return f"wane privacy {kind}{void}"
