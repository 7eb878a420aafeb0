"""The in-toto statement of a release: hashes of its files, with the certificate as predicate."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from wane.certificates import certificate_schema, is_sealed
from wane.describe.files import read_json, sha256_of
from wane.errors import InvalidDescription

STATEMENT = "https://in-toto.io/Statement/v1"
DOCUMENT = "certificate.json"
MOST_BYTES = 64 * 2**20
"""Of a certificate document."""


def predicate_type() -> str:
    """Return the name of the predicate: the `$id` of the published schema of certificates."""
    return str(certificate_schema()["$id"])


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the statement; its predicate is a certificate's."""
    raw = (files("wane.signing") / "release-statement.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = read_json(raw, "the schema")
    return schema


def release_statement(folder: Path, *, without: str) -> dict[str, Any]:
    """Return the statement of a release folder as it lies there, but for the file `without`.

    A folder whose files are not those that its certificate names is refused.
    """
    digests = digests_of(folder, without=without)
    if DOCUMENT not in digests:
        raise InvalidDescription(
            f"{folder!s:.120} must be a release, got a folder without {DOCUMENT}; make one with "
            "wane fit or wane sample."
        )
    with (folder / DOCUMENT).open("rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise InvalidDescription(f"{DOCUMENT} must be at most {MOST_BYTES} bytes, got more.")
    digests[DOCUMENT] = hashlib.sha256(raw).hexdigest()  # of the very bytes that are read
    document = read_json(raw, DOCUMENT)
    _require_whole(document, digests)
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()
        ],
        "predicateType": predicate_type(),
        "predicate": document,
    }


def digests_of(folder: Path, *, without: str) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder but one, by name, in order."""
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_symlink() or not entry.is_file():
                raise InvalidDescription(
                    f"{folder!s:.120} must hold plain files only, got {entry.name!a:.80}; a link "
                    "or a folder cannot be signed."
                )
        return {entry.name: sha256_of(entry) for entry in entries if entry.name != without}
    except OSError as error:
        reason = error.strerror or "the system refuses it"
        raise InvalidDescription(f"{folder!s:.120} cannot be read: {reason}.") from None


def _require_whole(document: Any, digests: dict[str, str]) -> None:
    """Refuse a document whose own hashes contradict it: it must not be signed."""
    if not isinstance(document, dict) or not is_sealed(document):
        raise InvalidDescription(
            f"{DOCUMENT} must be as wane wrote it, got one that was damaged or edited; make the "
            "release again."
        )
    named = document.get("files")
    if not isinstance(named, dict):
        raise InvalidDescription(
            f"{DOCUMENT} must name the files that it is released with, got none; make the release "
            "again with this version of wane."
        )
    for name, digest in named.items():
        if digests.get(name) != digest:
            raise InvalidDescription(
                f"{name!a:.80} must be the file that {DOCUMENT} names, got another or none; make "
                "the release again."
            )
