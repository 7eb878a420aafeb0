"""Annexes B to F: the guarantee in numbers, its reading, its theory, its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape as escape_html
from typing import Any

from wane.report.markup import (
    annex,
    blank,
    bullets,
    code,
    escape,
    figure,
    paragraph,
    table,
    titled,
    two,
    value_text,
)
from wane.report.svg import Chart, Line, Mark, drawn
from wane.report.text import (
    cited,
    earlier_words,
    in_words,
    is_descent,
    shown,
    shown_delta,
    shown_down,
)
from wane.report.verdict import leaks_by_delta, records_of

HASH = "SHA-256 of "
"""How the names of hashes begin among the facts of the context."""
TO_CHECK = (
    "wane verify certificate.json proves every number again with other code, and compares every "
    "word that follows from the description. In the folder of a release, wane verify FOLDER "
    "compares every file with its hash as well, and with --identity KEY the signature. None of "
    "this needs a network."
)
CLAIMS_NOTHING = "This certificate is void: what follows claims nothing."


def numbers_annex(document: dict[str, Any]) -> str:
    """Return Annex B: the guarantee in every measure, at every delta, and of every part."""
    points = [(row["delta"], row["epsilon"]) for row in document["curve"]]
    rows = [(shown_delta(d), shown(e)) for d, e in points]
    whole = table(
        "\u03b5 at each \u03b4; all of them hold at once",
        ("\u03b4", "\u03b5, at most"),
        rows,
        numbers=True,
        here=shown_delta(document["delta"]),
    )
    return annex(
        "B",
        "The guarantee in numbers",
        _meaning(document),
        _measures(document),
        two(
            whole,
            figure(_curve(document), "\u03b5 falls as \u03b4 grows; the table has every point."),
        ),
        _parts(document),
    )


def _meaning(document: dict[str, Any]) -> str:
    rows = document.get("rows_per_person", 1)
    changed = "any one record" if rows == 1 else f"any {rows} records"
    return paragraph(
        f"Change {changed}, and the probability of anything that can be seen changes by a factor "
        f"of at most exp(\u03b5), up to \u03b4. Unit: {document['unit']}. Neighbouring data sets "
        f"({document['adjacency']}): {document['adjacency_meaning']}"
    )


def _measures(document: dict[str, Any]) -> str:
    at = f"at \u03b4 = {shown_delta(document['delta'])}"
    every = f"{at}, for the same run with every iterate released; what keeping them secret is worth"
    lower = f"{at}: a run of the described kind is known that leaks this much"
    composed = document["composition_epsilon"] if is_descent(document) else None
    rows = [
        ("epsilon", document["epsilon"], shown, f"{at}, never rounded down"),
        ("mu", document["mu"], shown, "Gaussian differential privacy"),
        ("rho", document["zcdp"], shown, "zero-concentrated differential privacy (zCDP)"),
        ("advantage", document.get("advantage"), shown, "true minus false alarms of any attack"),
        ("epsilon under composition", composed, shown, every),
        ("lower bound on epsilon", document["lower_bound_epsilon"], shown_down, lower),
    ]
    known = [(name, said(value), words) for name, value, said, words in rows if value is not None]
    return table("The same guarantee in other measures", ("measure", "value", "meaning"), known)


def _curve(document: dict[str, Any]) -> str:
    points = [(row["delta"], row["epsilon"]) for row in document["curve"]]
    finite = tuple((d, e) for d, e in points if not isinstance(e, str))
    marks: tuple[Mark, ...] = ()
    if not isinstance(document["epsilon"], str) and 0.0 < document["delta"] < 1.0 and finite:
        marks = (Mark("", (document["delta"], document["epsilon"])),)
    return drawn(
        Chart(
            key="curve",
            title="Epsilon against delta",
            words="Epsilon falls as delta grows. The ring is the certificate of page one.",
            across="\u03b4, logarithmic",
            up="\u03b5",
            lines=(Line("", finite),),
            marks=marks,
        )
    )


def _parts(document: dict[str, Any]) -> str:
    if len(document["releases"]) < 2:
        return ""
    rows = [(r["what"], shown(r["epsilon"]), cited(r["source"])) for r in document["releases"]]
    return table(
        "Releases that are charged together; \u03b5 of each alone",
        ("release", "\u03b5", "source"),
        rows,
    )


def reading_annex(document: dict[str, Any]) -> str:
    """Return Annex C: where the word on page one comes from, and what NIST asks beside it."""
    rows = "".join(
        f'<tr><th scope="row">{escape(part)}</th><td>{answer}</td><td>{escape(who)}</td></tr>'
        for part, answer, who in _pyramid(document)
    )
    caption = "What the pyramid of NIST SP 800-226 asks for, from the top down"
    return annex(
        "C",
        "How strong is \u201cstrong\u201d?",
        paragraph(
            "No \u03b5 is safe everywhere. NIST SP 800-226 (March 2025) asks to judge it together "
            "with the unit that it protects, and below them the algorithm, the implementation and "
            "the handling of the data: a weak part makes those above it weak. The three words on "
            'page one are those of practice (the tiers of "How to DP-fy ML", Ponomareva et al., '
            "2023): \u03b5 of at most 1 is strong, at most 10 reasonable, here called moderate, "
            "and above that weak. A \u03b4 that is not below one over the number of records counts "
            "as weak here, whatever \u03b5 is. None of these limits is NIST's, and a small "
            "\u03b5 does not mend a wrong unit."
        ),
        f'<div class="wide" role="region" aria-label="{caption}" tabindex="0"><table>'
        f"<caption>{caption}</caption>"
        '<thead><tr><th scope="col">part</th><th scope="col">answer</th>'
        f'<th scope="col">who answers</th></tr></thead><tbody>{rows}</tbody></table></div>',
    )


def _pyramid(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Parts, answers as markup, and who answers."""
    records, rows = records_of(document), document.get("rows_per_person", 1)
    small = "" if records is None else f"; \u03b4 times the number of records: {_product(document)}"
    unit = document["unit"].partition(":")[0]
    numbers = f"{shown(document['epsilon'])} at {shown_delta(document['delta'])}, for {unit}{small}"
    person = blank("to be declared") if rows == 1 else f"at most {rows}"
    return [
        ("\u03b5, \u03b4 and the unit", escape(numbers), "wane"),
        ("rows of one person", person, "the holder declares it"),
        ("algorithm and proof", "Annex D; computed twice, by two programs", "wane, wane verify"),
        ("utility and bias", blank("for whom it was checked, on data that may be shown"), "holder"),
        ("side channels", "running time and memory are not covered", "nobody: not promised"),
        ("access to rows and machine", blank("to be filled in"), "holder"),
        ("collection and retention", blank("to be filled in"), "holder"),
    ]


def _product(document: dict[str, Any]) -> str:
    said = shown(document["delta"] * (records_of(document) or 0))
    return f"{said}, not below 1" if leaks_by_delta(document) else said


def theory_annex(document: dict[str, Any]) -> str:
    """Return Annex D: the theorem, its hypotheses and who vouches for them, and the constants."""
    said = document["statement"]
    void = document["status"] == "void"
    parts = [
        paragraph(CLAIMS_NOTHING) if void else "",
        f"<p><strong>{escape(in_words(said['name']))}</strong> ({code(said['name'])}): "
        f"{escape(said['conclusion'])}</p>",
        titled("Claim:", said["claim"]) if said["claim"] else "",
        titled("Translation:", said["translation"]) if said["translation"] else "",
        titled("Differs from the source:", said["differs_from_source"])
        if said["differs_from_source"]
        else "",
        titled("Source:", f"{cited(said['citation'])}. {said['reference']}"),
        _hypotheses(document),
        _symbols(document),
        _constants(document),
    ]
    return annex("D", "What it rests on", *parts)


def _hypotheses(document: dict[str, Any]) -> str:
    found = [v for v in document["verdicts"] if v["theorem"] == document["theorem"]]
    rows = [
        (h["statement"], h["because"], document["bases"][h["basis"]])
        for verdict in found
        for h in verdict["hypotheses"]
    ]
    header = ("it needs", "here", "who vouches for it")
    return table("Every hypothesis of the theorem", header, rows) if rows else ""


def _symbols(document: dict[str, Any]) -> str:
    rows = document["symbols"]
    items = bullets(f"{r['symbol']} = {value_text(r['value'])}: {r['meaning']}" for r in rows)
    return f"<h3>What the letters stand for here</h3>{items}" if rows else ""


def _constants(document: dict[str, Any]) -> str:
    rows = [(r["name"], value_text(r["value"]), r["origin"]) for r in document["constants"]]
    header = ("constant", "value", "where it comes from")
    return table("Constants of this run", header, rows) if rows else ""


def conduct_annex(document: dict[str, Any]) -> str:
    """Return Annex E: how it was carried out, and how to check it."""
    context = document["context"]
    hashed = {k: v for k, v in context.items() if k.startswith(HASH)}
    hashes = [
        ("configuration", document["configuration_sha256"]),
        ("document", document["document_sha256"]),
        *((name.removeprefix(HASH), text) for name, text in hashed.items()),
        *document.get("files", {}).items(),
    ]
    versions = ", ".join(f"{name} {text}" for name, text in document["versions"].items())
    return annex(
        "E",
        "How it was carried out, and how to check it",
        titled("Noise:", document["noise"]["meaning"]),
        titled("Numerics:", document["numerics"]),
        titled("Tuning:", document["tuning"]),
        titled("Earlier releases:", earlier_words(document)),
        titled("To check it:", TO_CHECK),
        titled("Software:", f"{versions}."),
        table("SHA-256; no record is needed to know any of these", ("of", "SHA-256"), hashes),
    )


def answers_annex(document: dict[str, Any]) -> str:
    """Return Annex F: every theorem's answer, and the description of the run."""
    applying = [v for v in document["verdicts"] if v["applies"] and v["epsilon"] is not None]
    refusing = [v for v in document["verdicts"] if not v["applies"]]
    applying.sort(key=lambda v: float(v["epsilon"]))
    rows = [
        (f"{in_words(v['theorem'])} ({v['theorem']})", shown(v["epsilon"]), cited(v["citation"]))
        for v in applying
    ]
    header = ("theorem", "\u03b5", "source")
    described = escape_html(json.dumps(document["description"], indent=2))
    return annex(
        "F",
        "Every theorem's answer, and the description",
        table("Theorems that apply, best first, at the same \u03b4", header, rows) if rows else "",
        f"<h3>Theorems that do not apply</h3>{bullets(_refusals(refusing))}" if refusing else "",
        "<h3>Description</h3>",
        f"<pre>{described}</pre>",
    )


def _refusals(verdicts: Iterable[dict[str, Any]]) -> list[str]:
    """Why theorems do not apply; those that lack the same stand together."""
    lacking: dict[str, list[str]] = {}
    for verdict in verdicts:
        first = verdict["obstacles"][0]
        said = "not declared" if first["holds"] is None else "fails"
        cure = f"; try {first['remedy']}" if first["remedy"] else ""
        reason = f"{first['statement']}: {said} ({first['because']}){cure}"
        lacking.setdefault(reason, []).append(verdict["theorem"])
    return [f"{', '.join(names)}: {reason}" for reason, names in lacking.items()]
