"""Annex A: what an attacker can do, as two tables and a picture with logarithmic axes."""

from __future__ import annotations

import math
from html import escape as escape_html
from typing import Any

from wane.report.markup import annex, escape, figure, paragraph, table, two
from wane.report.text import odds_up, share_up, tick
from wane.report.verdict import RARE, Subject, subject_of

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
        figure(
            _picture(rates),
            "Every test for one record lies on or below the solid line. The dashed line is "
            "guessing without the release. Both axes are logarithmic.",
            _legend(rates),
        ),
        _opinion(said),
        new_page=True,
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


# the picture; its words stand in the triangle below blind guessing, where no bound can be


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
