"""The annexes: what an attacker can do, the guarantee in numbers, its reading, theory, evidence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape as escape_html
from typing import Any

from wane.report.markup import (
    Chart,
    Line,
    Mark,
    annex,
    blank,
    bullets,
    code,
    drawn,
    escape,
    figure,
    paragraph,
    table,
    titled,
    two,
    value_text,
)
from wane.report.text import (
    RARE,
    Subject,
    cited,
    earlier_words,
    in_words,
    is_descent,
    leaks_by_delta,
    named,
    odds_up,
    records_of,
    share_up,
    shown,
    shown_delta,
    shown_down,
    subject_of,
    tick,
)

HASH = "SHA-256 of "
"""How the names of hashes begin among the facts of the context."""
TO_CHECK = (
    "wane verify certificate.json proves every number again with other code, and compares every "
    "word that follows from the description. In the folder of a release, wane verify FOLDER "
    "compares every file with its hash as well, and with --identity KEY the signature. None of "
    "this needs a network."
)
CLAIMS_NOTHING = "This certificate is void: what follows claims nothing."
ACCUSED = (1e-4, 1e-3, 1e-2, 1e-1)
GUESSED = (0.5, 1e-1, 1e-2, 1e-3)
BASES = {0.5: 100, 1e-1: 10, 1e-2: 100, 1e-3: 1000, 1e-4: 10_000}
"""In how many a rate is counted."""
WIDTH, HEIGHT = 640.0, 400.0
LEFT, RIGHT, TOP, FLOOR = 86.0, 620.0, 16.0, 344.0
DECADES = 6
"""Both axes begin at one in a million."""

Rates = dict[float, float]


def attack_annex(document: dict[str, Any]) -> str:
    """Return Annex A of a certificate that claims something."""
    rates = rates_of(document)
    said = subject_of(document)
    return annex(
        "A",
        "What an attacker can do",
        paragraph(
            "Suppose an attacker knows every other record, all settings and the whole release, and "
            "has unlimited time. Nothing that can be computed gets above these numbers. They hold "
            "for every attack of this kind, known or not yet invented."
        ),
        two(_members(rates, said), _values(rates, said)),
        _odds(rates),
        f'<div class="beside">{_pictured(rates)}{_opinion(said)}</div>',
        new_page=True,
    )


def _pictured(rates: Rates) -> str:
    return figure(
        _picture(rates),
        "Every test for one record lies on or below the solid line. The dashed line is "
        "guessing without the release. Both axes are logarithmic.",
        _legend(rates),
    )


def rates_of(document: dict[str, Any]) -> Rates:
    """Return the largest true-positive rate at each false-positive rate that the document has."""
    rows = [*document.get("roc", ()), *document["attack"]]
    return {row["false_positive_rate"]: row["true_positive_rate"] for row in rows}


def _members(rates: Rates, said: Subject) -> str:
    rows = [(_plain(rate), share_up(rates[rate], BASES[rate])) for rate in ACCUSED if rate in rates]
    question = f"{said.question[:1].upper()}{said.question[1:]}"
    header = (
        f"{said.others.capitalize()} wrongly accused",
        f"{said.found.capitalize()} found, at most",
    )
    caption = f"{question} (membership)"
    return table(caption, header, rows, numbers=True, here=_plain(RARE))


def _values(rates: Rates, said: Subject) -> str:
    chosen = [rate for rate in GUESSED if rate in rates]
    rows = [(_plain(rate), share_up(rates[rate], BASES[rate])) for rate in chosen]
    header = (f"Guessed right {said.without}", "From the release, at most")
    return table("What was in it (extraction of a value)", header, rows, numbers=True)


def _plain(rate: float) -> str:
    """A rate as one in so many."""
    return "50 in 100" if rate == 0.5 else f"1 in {round(1 / rate):,}"


def _odds(rates: Rates) -> str:
    if RARE not in rates:
        return ""
    odds = odds_up(rates[RARE], RARE)
    times = odds.removesuffix(" to 1")
    return paragraph(
        "In odds: if both answers were equally likely beforehand, an accusation made at 1 false "
        f"alarm in 1,000 is right with odds of at most {odds}; if it was 1 to 99 beforehand, with "
        f"odds of at most {times} to 99."
    )


def _opinion(said: Subject) -> str:
    return (
        '<p class="note"><strong>For a file under EDPB Opinion 28/2024.</strong> The opinion asks '
        "that the likelihood of extracting personal data from a model, directly or through "
        "queries, be assessed and documented. The table \u201cWhat was in it\u201d is the line of "
        "this certificate that answers it: whoever guessed a value right in the share on the left "
        f"{escape(said.without)} does so with the release in at most the share on the right. It "
        "covers every query, since it covers full knowledge of the release. Whether the likelihood "
        "is insignificant is for the controller and the authority to judge, with all means that "
        "are reasonably likely to be used.</p>"
    )


def _legend(rates: Rates) -> str:
    ring = f" The ring: {_ring(rates)}." if RARE in rates else ""
    return f"Across: others wrongly accused. Up: found.{ring}"


def _ring(rates: Rates) -> str:
    return f"{share_up(rates[RARE], 1000)} found at 1 in 1,000 false alarms"


# the picture of the attack; its words stand below blind guessing, where no bound can be


def _at(rate: float, power: float) -> tuple[float, float]:
    x = LEFT + (RIGHT - LEFT) * (1 + max(math.log10(rate), -DECADES) / DECADES)
    y = FLOOR - (FLOOR - TOP) * (1 + max(math.log10(power), -DECADES) / DECADES)
    return x, y


def _picture(rates: Rates) -> str:
    pairs = sorted((a, max(b, a)) for a, b in rates.items() if a >= 10.0**-DECADES)
    if len(pairs) < 2:
        return ""
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in (_at(*pair) for pair in pairs))
    (x0, y0), (x1, y1) = _at(*(pairs[0][0],) * 2), _at(1.0, 1.0)
    words = f"The bound lies above blind guessing. {_ring(rates)}." if RARE in rates else ""
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-labelledby="roc-t roc-d">',
            '<title id="roc-t">The best attack on this release, both axes logarithmic</title>',
            f'<desc id="roc-d">{escape_html(words)}</desc>',
            *_grid(),
            f'<path class="gap" d="M{path} L{x1:.1f} {y1:.1f} L{x0:.1f} {y0:.1f} Z"/>',
            f'<line class="guess" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>',
            f'<path class="bound" d="M{path}"/>',
            *_mark(rates),
            *_key(rates),
            "</svg>",
        ]
    )


def _grid() -> list[str]:
    parts = []
    for power in range(-DECADES, 1):
        name = tick(power)
        x, y = _at(10.0**power, 10.0**power)
        odd = ' class="odd"' if power % 2 else ""
        parts += [
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP:g}" y2="{FLOOR:g}"/>',
            f'<line class="grid" x1="{LEFT:g}" x2="{RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text{odd} x="{x:.1f}" y="{FLOOR + 24:g}" text-anchor="middle">{name}</text>',
            f'<text{odd} x="{LEFT - 9:g}" y="{y + 5:.1f}" text-anchor="end">{name}</text>',
        ]
    middle, centre = (LEFT + RIGHT) / 2, (TOP + FLOOR) / 2
    parts += [
        f'<text class="lab" x="{middle:g}" y="{HEIGHT - 8:g}" text-anchor="middle">'
        "share of others wrongly accused (false alarms)</text>",
        f'<text class="lab" x="16" y="{centre:g}" text-anchor="middle" '
        f'transform="rotate(-90 16 {centre:g})">share found (true alarms)</text>',
    ]
    return parts


def _mark(rates: Rates) -> list[str]:
    if RARE not in rates:
        return []
    x, y = _at(RARE, rates[RARE])
    return [
        f'<line class="lead" x1="{x:.1f}" y1="{FLOOR:g}" x2="{x:.1f}" y2="{y:.1f}"/>',
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>',
    ]


def _key(rates: Rates) -> list[str]:
    x, y, step = 372.0, 268.0, 23.0
    rows = [
        ('<line class="bound" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>', "no attack gets above"),
        ('<line class="guess" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>', "blind guessing"),
    ]
    if RARE in rates:
        found = f"{share_up(rates[RARE], 1000)} found"
        rows.append(('<circle class="dot" cx="{m}" cy="{y}" r="5"/>', found))
    parts = []
    for place, (symbol, words) in enumerate(rows):
        at = y + place * step
        drawn = symbol.format(a=x, b=x + 34, m=x + 17, y=at)
        parts.append(drawn.replace('class="', 'class="lab '))
        parts.append(f'<text class="lab" x="{x + 44:g}" y="{at + 5:g}">{escape_html(words)}</text>')
    return parts


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
    small = (
        "; whether \u03b4 is below one over the number of records, which is not stated here, is "
        "for the holder to see"
        if records is None
        else f"; \u03b4 times the number of records: {_product(document)}"
    )
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
    rows = [(named(v["theorem"]), shown(v["epsilon"]), cited(v["citation"])) for v in applying]
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
        lacking.setdefault(reason, []).append(named(verdict["theorem"]))
    return [f"{', '.join(names)}: {reason}" for reason, names in lacking.items()]
