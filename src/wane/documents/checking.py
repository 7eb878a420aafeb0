"""Check a document, and the folder that it was released in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wane.describe.files import read_table, sha256_of
from wane.documents.reading import FieldComparison, read_again
from wane.errors import InvalidDescription
from wane.report import html_page
from wane.signing import ENVELOPE
from wane.verify import Verification, verify

MOST_BYTES = 64 * 2**20
DOCUMENT = "certificate.json"
PAGE = "certificate.html"
DESCRIPTION = "description.json"
STATISTIC, SCHEMA = "statistic.json", "schema.json"
OF_STATISTIC = ("value", "noise_std", "noise", "levels")
"""What a file of values holds beside the statistic itself."""


@dataclass(frozen=True)
class DocumentCheck:
    """The result of checking a document.

    Attributes:
        numbers: every upper bound, held against an independent computation.
        reading: all other fields, held against what wane writes.
        files: where the files of the folder are not those that the document names.
        compared: the files that are.
    """

    numbers: Verification
    reading: FieldComparison
    files: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def void(self) -> bool:
        """Whether the document claims nothing."""
        return self.numbers.void

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Every disagreement between the document and the checks."""
        disagreements = (*self.numbers.contradictions, *self.reading.contradictions, *self.files)
        return tuple(dict.fromkeys(disagreements))

    @property
    def verified(self) -> bool:
        """Whether something is claimed, all of it is proven, and nothing is contradicted."""
        return self.numbers.verified and not self.contradictions


def check_document(document: object) -> DocumentCheck:
    """Return what can be proven of a certificate document, what contradicts it, what it states."""
    if not isinstance(document, Mapping):
        raise InvalidDescription("the file must hold one JSON object, a certificate document.")
    return DocumentCheck(verify(document), read_again(document))


def check_folder(folder: Path) -> DocumentCheck:
    """Check the document of a release, and that the files beside it are those it names."""
    document = read_table(folder / DOCUMENT, most_bytes=MOST_BYTES)
    checked = check_document(document)
    named = document.get("files")
    if named is None:
        return checked
    reading = checked.reading
    checked_now = tuple(row for row in reading.stated if row.where != "files")
    wrong = tuple(_wrong_files(folder, document, named))
    return DocumentCheck(checked.numbers, replace(reading, stated=checked_now), wrong, tuple(named))


def _wrong_files(folder: Path, document: dict[str, Any], named: Mapping[str, str]) -> Iterator[str]:
    """Yield each way in which a folder is not the one that its document describes."""
    present = {entry.name for entry in folder.iterdir()}
    for name in sorted(present - {*named, DOCUMENT, PAGE, ENVELOPE}):
        yield f"{name!a} is not named by the document"
    for name, expected in named.items():
        if name not in present:
            yield f"{name!a} is missing"
        elif sha256_of(folder / name) != expected:
            yield f"{name!a} is not the file that was released with the document"
    if PAGE in present and (folder / PAGE).read_bytes() != html_page(document).encode():
        yield f"{PAGE} is not the page of the document"
    if STATISTIC in present & set(named):
        yield from _wrong_statistic(folder, document["description"])
    if DESCRIPTION in present & set(named):
        described = read_table(folder / DESCRIPTION, most_bytes=MOST_BYTES)
        if described != document["description"]:
            yield f"{DESCRIPTION} is not the description in the document"


def _wrong_statistic(folder: Path, described: Mapping[str, Any]) -> Iterator[str]:
    """Where the mechanism is not the one that the statistic needs under the released schema."""
    from wane.statistics import statistic_from_fields  # slow to import
    from wane.tables import Schema

    try:
        schema = Schema.from_fields(read_table(folder / SCHEMA, most_bytes=MOST_BYTES))
        given = read_table(folder / STATISTIC, most_bytes=MOST_BYTES)
        kept = {name: value for name, value in given.items() if name not in OF_STATISTIC}
        made = statistic_from_fields(kept, schema)
        process = described.get("mechanism", described)
        asked = made.sensitivity, made.dimension, made.adjacency.value
        found = process["sensitivity"], process["dimension"], described["adjacency"]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        yield f"{STATISTIC} and {SCHEMA} do not describe a statistic: {error!a:.80}"
        return
    if not math.isclose(found[0], asked[0], rel_tol=1e-12) or found[1:] != asked[1:]:
        yield "sensitivity, dimension or adjacency is not that of the statistic under its schema"
