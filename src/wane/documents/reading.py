"""Compare the fields of a document that are no upper bounds with what wane writes for its run.

A field that follows from the description must be what follows.  What only the holder of the data
can know, such as how the settings were chosen, is listed as stated and not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wane._version import __version__
from wane.describe.domains import OwnProx
from wane.documents.comparing import LOWER, Difference, DifferenceKind, differences
from wane.documents.rewriting import rewritten
from wane.errors import InvalidDescription, WaneError
from wane.verify.claims import ADDED, has_none_added, outdated

EARLIER = ("0.1.0",)
"""Releases whose documents may put things in other words; what any other wrote is for it to check.

Whoever changes a document can also change the version that it names.
"""
HOLDERS = (
    "description",
    "facts",
    "void_because",
    "noise.source",
    "released_as",
    "tuning",
    "rounding",
    "earlier_releases",
    "context",
    "files",
    "particulars",
    "sampler",
    "bases.declared",
    "versions",
)
"""Fields that only the holder of the data, or who ran the program, can know to be true."""
NEVER_WORDS = (
    "status",
    "theorem",
    "adjacency",
    "adjacency_meaning",
    "release",
    "unit",
    "secret",
    "versions",
)
"""Fields whose words are the same in every version of wane that is known here."""
HASHES = ("document_sha256", "configuration_sha256")
WORDY = ("verdicts", "symbols", "constants", "statement", "bases", "roc")
"""Parts of a document that other versions put in other words, or more or fewer of them."""


@dataclass(frozen=True)
class Stated:
    """A field that is believed, not checked."""

    where: str
    value: Any


@dataclass(frozen=True)
class FieldComparison:
    """The comparison of the fields that are no upper bounds.

    Attributes:
        contradictions: fields that differ from what follows from the description.
        stated: fields that only the holder of the data can know; nobody checked them.
        worded: fields that another version of wane put in other words, which nobody checked.
        lacks: fields that the document does not have because an older version wrote it.
    """

    contradictions: tuple[str, ...]
    stated: tuple[Stated, ...]
    worded: tuple[Stated, ...] = ()
    lacks: tuple[str, ...] = ()


def read_again(document: Mapping[str, Any]) -> FieldComparison:
    """Write a document again from its description, and compare every field but its seal."""
    try:
        lacks = ADDED if has_none_added(document) else ()
        if outdated(document):  # the verifier says why
            return FieldComparison(
                (), tuple(Stated(name, document[name]) for name in document), (), lacks
            )
        expected = rewritten(document)
        other = _is_known(document["versions"].get("wane"))
        stated = [*_stated(document), *_sides(document)]
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, WaneError):
            raise
        raise InvalidDescription(
            f"the file must be a whole certificate document, got none or a part: {error!a:.80}."
        ) from None
    unheld = [d for d in differences(document, expected) if not _held(d, document)]
    words = [d for d in unheld if other and _is_wording(d)]
    contradictions = tuple(str(d) for d in unheld if d not in words)
    worded = tuple(Stated(d.where, d.found) for d in words)
    return FieldComparison(contradictions, tuple(stated), worded)


def _is_known(version: object) -> bool:
    """Return whether this is an earlier release, whose words may differ from ours."""
    return version != __version__ and version in EARLIER


def _held(difference: Difference, document: Mapping[str, Any]) -> bool:
    """Return whether a difference is no contradiction: it tells of another machine or release."""
    where = difference.where
    if where.startswith("versions.") and difference.kind is DifferenceKind.WORDS:
        return where != "versions.wane" or _is_known(difference.found)
    taken_back = any(row.get("guarantee", 0) is None for row in document["releases"])
    return where == HASHES[0] or (where == HASHES[1] and taken_back)


def _is_wording(difference: Difference) -> bool:
    """Return whether another version of wane may have written the same content in these words."""
    where, kind = difference.where, difference.kind
    # the verifier checks that a lower bound is below epsilon
    if kind is DifferenceKind.LARGER or where == LOWER:
        return True
    if kind is DifferenceKind.WORDS:
        return where.partition(".")[0] not in NEVER_WORDS and where not in HASHES
    parts = where.partition(".")[0] in WORDY
    version_dependent = kind is DifferenceKind.MISSING or (
        kind is DifferenceKind.UNKNOWN and where.count(".") > 1
    )
    return parts and (version_dependent or where.endswith((".holds", ".remedy")))


def _stated(document: Mapping[str, Any]) -> Iterator[Stated]:
    for where in HOLDERS:
        value: Any = document
        for name in where.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value not in (None, {}, [], ""):
            yield Stated(where, value)
    origins = dict.fromkeys(str(row["origin"]) for row in document["constants"])
    yield Stated("constants.*.origin", list(origins))
    yield from _own_proxes("description", document.get("description"))


def _own_proxes(where: str, value: Any) -> Iterator[Stated]:
    """Yield every prox of the user's own, of which the facts are declared."""
    if isinstance(value, Mapping):
        if value.get("kind") == OwnProx.kind:
            yield Stated(where, dict(value))
        for name, part in value.items():
            yield from _own_proxes(f"{where}.{name}", part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _own_proxes(f"{where}[{place}]", part)


def _sides(document: Mapping[str, Any]) -> Iterator[Stated]:
    """Yield what is only stated of the other releases: no check of theirs is possible here."""
    for place, row in enumerate(document["releases"]):
        if "guarantee" in row:
            yield Stated(f"releases.{place}", dict(row))
        elif "description" in row:
            yield Stated(f"releases.{place}.description", row["description"])
