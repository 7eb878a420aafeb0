"""A certificate in words: the lines a person reads first, the verdict, and its numbers as text.

No number is shown as less than it claims.  What is rounded is the decimal number that identifies a
double in a document, so that a number with few digits is shown as it is written there: 0.01, and
not 0.0100001.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

DIGITS = 6
"""Significant digits that people are shown."""
_SMALLEST_PLAIN = -4  # exponents below this, or beyond the digits shown, are written as such


def round_up_to(value: float, digits: int = DIGITS) -> str:
    """An upper bound with this many significant digits, rounded towards plus infinity."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down_to(value: float, digits: int = DIGITS) -> str:
    """A lower bound with this many significant digits, rounded towards minus infinity."""
    return _rounded(value, digits, ROUND_FLOOR)


def share_up(value: float | Decimal, base: int) -> str:
    """An upper bound on a share, as so many in `base`, rounded up to one decimal."""
    most = (_exactly(value) * base).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return f"{most:,} in {base:,}" if most < base else f"{base:,} in {base:,}"


def odds_up(success: float | Decimal, failure: float | Decimal) -> str:
    """An upper bound on odds, as so many to one, rounded up to three digits."""
    if failure <= 0:
        return "any number to 1"
    context = Context(prec=DIGITS // 2, rounding=ROUND_CEILING)
    return f"{context.divide(_exactly(success), _exactly(failure)).normalize():f} to 1"


def _exactly(value: float | Decimal) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    written = Decimal(repr(float(value)))
    number = Context(prec=digits, rounding=direction).plus(written)
    exponent = number.adjusted()
    if _SMALLEST_PLAIN <= exponent < digits:
        return f"{number.normalize():f}"
    return f"{number.scaleb(-exponent).normalize():f}e{exponent:+03d}"


CERTIFICATE = "Privacy certificate"
"""The title of what accompanies a release."""
LEAST_DECIMAL = 4
"""Powers of ten from this negative one on are written as powers on the axis of a chart."""
MOST_ZEROS = 6
"""A power of ten with more of them is written as a power."""
RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
KEY = re.compile(r"^([a-z]+)(\d{4})[a-z]+")
"""How a work is called in the bibliography: its first author, the year, a word of its title."""
UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Classes of characters that are not seen, or turn others around."""
BLANK = frozenset(
    chr(place)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for place in range(first, last + 1)
)
"""Marks, fillers and selectors that are not seen either, though their classes are."""


def bracket_text(fields: dict[str, Any]) -> str:
    """Return the bracket as the lines a person reads."""
    lines = [
        f"upper  epsilon {shown(fields['upper_epsilon'])}  at delta {shown(fields['delta'])}, "
        f"by {fields['theorem']}",
        f"lower  epsilon {shown_down(fields['lower_epsilon'])}  by an exact member of the class",
        f"ratio  {shown(fields['ratio'])}",
    ]
    if fields["mu_ratio"] is not None:
        lines.append(
            f"mu     {shown_down(fields['lower_mu'])} to {shown(fields['upper_mu'])}, "
            f"ratio {shown(fields['mu_ratio'])}"
        )
    return "\n".join(lines)


def certificate_text(fields: dict[str, Any]) -> str:
    """Return the few lines that a person reads first."""
    lines = [
        f"epsilon  {shown(fields['epsilon'])}  at delta {shown(fields['delta'])}",
        f"mu       {shown(fields['mu'])}",
        f"theorem  {fields['theorem']} [{fields['citation']}]",
        f"released {release_words(fields['release'])}, adjacency {fields['adjacency']}",
    ]
    if fields["lower_bound_epsilon"] is not None:
        lower = shown_down(fields["lower_bound_epsilon"])
        lines.append(f"lower bound (an exact member of the class): epsilon {lower}")
    if is_descent(fields):
        composed = shown(fields["composition_epsilon"])
        lines.append(f"composition (every iterate released): epsilon {composed}")
    return "\n".join(lines)


def is_descent(fields: dict[str, Any]) -> bool:
    """Return whether a document speaks of a run with iterates, and not of a mechanism."""
    release = fields["release"]
    return isinstance(release, list) or release.endswith("-iterate")


def curve_text(fields: dict[str, Any]) -> str:
    """Return a curve as a table, one column per theorem that ever applies."""
    columns = {n: row for n, row in fields["theorems"].items() if any(e is not None for e in row)}
    header = [fields["over"], "epsilon", *columns]
    rows = [
        [f"{value:.6g}", *map(shown, numbers)]
        for value, *numbers in zip(
            fields["values"], fields["epsilon"], *columns.values(), strict=True
        )
    ]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [header, *rows]
    )


def shown(value: float | str | None) -> str:
    """A number as text, never rounded down."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else round_up_to(value)


def shown_delta(value: float) -> str:
    """Delta as text, never rounded down; powers of ten as people write them."""
    text = shown(value)
    power = text.removeprefix("1e-")
    if power == text:
        return text
    if int(power) <= MOST_ZEROS:
        return f"0.{'0' * (int(power) - 1)}1"
    return "10\u207b" + str(int(power)).translate(RAISED)


def tick(power: int) -> str:
    """Return a power of ten as a chart's axis has it: short ones as decimals."""
    if power > -LEAST_DECIMAL:
        return f"{10.0**power:g}"
    return "10\u207b" + str(-power).translate(RAISED)


def shown_down(value: float | str | None) -> str:
    """A lower bound as text, never rounded up."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else round_down_to(value)


def in_words(name: str) -> str:
    """Return the name of a theorem as a person reads it."""
    return name.replace("_", " ").capitalize()


def named(name: str) -> str:
    """Return the name of a theorem in words, with its identifier behind."""
    return f"{in_words(name)} ({name})"


def cited(source: str) -> str:
    """Return a source with author and year in place of its key in the bibliography."""
    return KEY.sub(lambda found: f"{found[1].capitalize()} {found[2]}", source)


def visible(text: object) -> str:
    """Return text whose unseen characters are spelled out: controls, and marks of direction."""
    return "".join(ascii(c)[1:-1] if unseen(c) else c for c in str(text))


def unseen(character: str) -> bool:
    """Return whether a character leaves nothing to see, or turns others around."""
    return unicodedata.category(character) in UNSEEN or character in BLANK


def markdown(text: object) -> str:
    """Return text that Markdown and HTML show as it is, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", visible(" ".join(str(text).split())))


def heading(document: dict[str, Any]) -> str:
    """Return the title of a document; those of wane 0.1 have none."""
    return str(document.get("title", CERTIFICATE))


def released_words(document: dict[str, Any]) -> str:
    """Return what was released: in the words of whoever released it, then in those of the proof."""
    proven, said = document["released"], document.get("released_as", "")
    return f"{said} As the proof sees it: {proven[:1].lower()}{proven[1:]}" if said else proven


def earlier_words(document: dict[str, Any]) -> str:
    """Return what is known of other releases on the same records."""
    found = document.get("earlier_releases", {"meaning": "Unknown: the document does not say."})
    if found.get("source") != "ledger":
        return str(found["meaning"])
    together = f"epsilon {shown(found['epsilon'])} at delta {shown(found['delta'])}"
    return f"{found['meaning']} All of them together: {together}."


def release_words(release: str | list[int]) -> str:
    """What is released, in words."""
    return release if isinstance(release, str) else f"{len(release)} listed iterates"


STRONG, MODERATE, WEAK = "strong", "moderate", "weak"
BANDS = {
    WEAK: "\u03b5 above 10",
    MODERATE: "\u03b5 from 1 to 10",
    STRONG: "\u03b5 of 1 or less",
}
"""The reading of epsilon that is common in practice, as in "How to DP-fy ML" (2023)."""
RARE = 1e-3
"""The rate of false alarms at which attacks are compared."""


@dataclass(frozen=True)
class Subject:
    """The words for what an attacker asks about, which depend on the neighbours compared.

    Attributes:
        whom: who is protected.
        question: what an attacker would like to know.
        found, others: whom an attacker finds, and whom he wrongly accuses.
        without: how it was guessed without the record.
    """

    whom: str
    question: str
    found: str
    others: str
    without: str


def subject_of(document: dict[str, Any]) -> Subject:
    """Return the words for these neighbours and this unit."""
    rows = document.get("rows_per_person", 1)
    unit = "record" if rows == 1 else "person's rows"
    whom = "every single record" if rows == 1 else f"every person with at most {rows} rows"
    verb = "was" if rows == 1 else "were"
    if document["adjacency"] == "replace-one":
        both = "two records" if rows == 1 else "two persons' rows"
        return Subject(
            whom,
            f"which of {both} {verb} used",
            "true records" if rows == 1 else "persons",
            "others",
            "with another in its place" if rows == 1 else "with others in their place",
        )
    return Subject(
        whom,
        f"whether a given {unit} {verb} used",
        "members",
        "others",
        "without the record" if rows == 1 else "without the rows",
    )


def ran(document: dict[str, Any]) -> bool:
    """Return whether anything was run at all, or a description was only reckoned with."""
    return bool(document["noise"]["source"] != "not-run")


def records_of(document: dict[str, Any]) -> int | None:
    """Return how many records there are; None if neither the description nor the context says."""
    found = document.get("description", {}).get("records")
    if isinstance(found, int):
        return found
    stated = str(document.get("context", {}).get("records", ""))
    return int(stated) if stated.isascii() and stated.isdecimal() else None


def leaks_by_delta(document: dict[str, Any]) -> bool:
    """Return whether delta is so large that it allows a record to be published now and then."""
    records = records_of(document)
    return records is not None and document["delta"] * records >= 1.0


def band_of(document: dict[str, Any]) -> str:
    """Return the band of epsilon; a delta of one over the number of records or more is weak."""
    epsilon = document["epsilon"]
    if isinstance(epsilon, str) or epsilon > 10.0 or leaks_by_delta(document):
        return WEAK
    return STRONG if epsilon <= 1.0 else MODERATE


def title_of(document: dict[str, Any]) -> str:
    """Return the verdict in a line."""
    if document["status"] == "void":
        return "Void: no privacy is claimed"
    words = {
        STRONG: f"Strong protection for {subject_of(document).whom}",
        MODERATE: f"Moderate protection for {subject_of(document).whom}",
        WEAK: "Weak protection: the guarantee says little",
    }[band_of(document)]
    return words if ran(document) else f"Calculation only: {words[0].lower()}{words[1:]}"


def sentence_of(document: dict[str, Any]) -> str:
    """Return what an attacker can and cannot learn, in plain words."""
    said = subject_of(document)
    what = {
        STRONG: (
            "Whoever sees the release, even someone who knows every other record and all settings, "
            f"learns little about any one of them: neither {said.question} nor what was in it can "
            "be told with any certainty."
        ),
        MODERATE: (
            "Whoever sees the release and knows every other record can guess noticeably better "
            f"than by chance {said.question}; the numbers below say how much better at most. Ask "
            "whether a smaller \u03b5 would still be useful enough."
        ),
        WEAK: (
            "Whoever sees the release and knows every other record may become nearly certain "
            f"{said.question}. Do not call the release private on the strength of this page."
        ),
    }[band_of(document)]
    if leaks_by_delta(document):
        what += (
            f" \u03b4 = {shown_delta(document['delta'])} is not below one over the number of "
            "records: so large a \u03b4 is kept even by publishing a record outright now and then."
        )
    if ran(document):
        return what
    return (
        "If someone runs exactly what Annex F describes, with noise that nobody can repeat, and "
        f"releases nothing else, then this holds. {what}"
    )


@dataclass(frozen=True)
class Tile:
    """One of the numbers on page one, with what it is compared to."""

    above: str
    number: str
    words: str


def tiles_of(document: dict[str, Any]) -> list[Tile]:
    """Return the numbers of page one; all of them bounds, rounded in the attacker's favour."""
    return [tile for tile in (_guess(document), _found(document), _epsilon(document)) if tile]


def _guess(document: dict[str, Any]) -> Tile | None:
    if "advantage" not in document:  # wane 0.1 did not write it
        return None
    right = (1 + Decimal(repr(float(document["advantage"])))) / 2
    odds = odds_up(right, 1 - right)
    return Tile(
        "at most",
        share_up(right, 100),
        f"guesses about {subject_of(document).question} come out right, if both answers were "
        f"equally likely: odds of {odds}. Tossing a coin: 50, or 1 to 1.",
    )


def _found(document: dict[str, Any]) -> Tile | None:
    rows = [r for r in document["attack"] if r["false_positive_rate"] == RARE]
    if not rows:
        return None
    said = subject_of(document)
    return Tile(
        "at most",
        share_up(rows[0]["true_positive_rate"], 1000),
        f"{said.found} are found by an attacker who wrongly accuses 1 in 1,000 {said.others} "
        "(the best true-positive rate at that rate of false alarms). Accusing blindly: 1.",
    )


def _epsilon(document: dict[str, Any]) -> Tile:
    mu = document.get("mu")
    also = "" if mu is None else f" Gaussian \u03bc = {_few(mu)}."
    return Tile(
        "differential privacy",
        f"\u03b5 = {_few(document['epsilon'])}",
        f"at \u03b4 = {shown_delta(document['delta'])}: the same guarantee as the standards state "
        f"it.{also} All numbers are rounded in the attacker's favour.",
    )


def _few(value: float | str) -> str:
    """A number in the digits that page one has room for, never rounded down; Annex B has all."""
    return value if isinstance(value, str) else round_up_to(value, 3)
