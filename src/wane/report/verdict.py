"""The verdict on page one: how strong the guarantee is, and what an attacker can reach at most."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from wane.report.text import odds_up, round_up_to, share_up, shown_delta

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
