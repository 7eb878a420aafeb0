"""Check the folder of a release: its document, and that the files beside it are those it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wane.describe.files import read_table, sha256_of
from wane.documents import statistics
from wane.documents.checking import DocumentCheck, check_document
from wane.errors import InvalidDescription
from wane.report import html_page
from wane.signing import ENVELOPE

MOST_BYTES = 64 * 2**20
DOCUMENT = "certificate.json"
PAGE = "certificate.html"
DESCRIPTION, SCHEMA = "description.json", "schema.json"


def check_folder(folder: Path) -> DocumentCheck:
    """Check the document of a release, and that the files beside it are those it names."""
    document = _read(folder, DOCUMENT)
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
    there: dict[str, dict[str, Any]] = {}
    for name in sorted(present & set(named)):
        try:
            if name.endswith(".json"):
                there[name] = _read(folder, name)
        except InvalidDescription:
            yield f"{name!a} must hold one JSON object"
    if DESCRIPTION in there and there[DESCRIPTION] != document["description"]:
        yield f"{DESCRIPTION} is not the description in the document"
    if SCHEMA in there:
        yield from _too_few_rows(there[SCHEMA], document)
    if any(map(statistics.belongs, there)):
        yield from statistics.disagreements(document, there, SCHEMA)


def _too_few_rows(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    """Where one person may have more rows than the certificate protects together."""
    rows = schema.get("rows_per_person", 1)
    if not isinstance(rows, int) or rows > document.get("rows_per_person", 1):
        yield f"rows_per_person of {SCHEMA} is more than the document protects"


def _read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_table(folder / name, most_bytes=MOST_BYTES)
    return found
