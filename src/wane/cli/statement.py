"""`wane statement`: a certificate in the words that auditors and registries ask for."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from wane import arguments
from wane.certificates import is_sealed
from wane.certificates.document import FORMAT, VERSION, certificate_document
from wane.cli.commands import certified, proper
from wane.cli.options import Verb, add_delta
from wane.describe.facts import without_facts
from wane.describe.fields import description_from_fields
from wane.describe.files import read_table
from wane.errors import InvalidDescription
from wane.report.statement import privacy_statement, registry_entry

Result = tuple[dict[str, Any], str]


MOST_BYTES = 64 * 2**20


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb(
        "statement",
        statement,
        "privacy statement in Markdown; with --json, a draft for the Deployments Registry",
        spec=False,
    )
    made.add_argument(
        "source", metavar="FILE", help="a description, or a certificate.json that wane wrote"
    )
    add_delta(made)


def statement(options: Namespace) -> Result:
    """`wane statement`."""
    found = read_table(options.source, most_bytes=MOST_BYTES)
    if isinstance(found, dict) and "format" in found:
        _check(found)
    else:
        found = certificate_document(certified(found), delta=proper(options.delta))
    if options.json:
        return registry_entry(found), ""
    return {}, privacy_statement(found)


def _check(document: dict[str, Any]) -> None:
    """Refuse a document that was damaged or edited; `wane verify` also proves its numbers."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise InvalidDescription(
            f'the file must be a "{FORMAT}" document of version {VERSION}, got '
            f"{document.get('format')!a:.60} of version {document.get('version')!a:.20}."
        )
    if not is_sealed(document):
        raise InvalidDescription(
            "document_sha256 must be that of the document, got another; it was damaged or edited "
            "after it was written. Make it again with wane certify --json."
        )
    described = document.get("description")
    if not isinstance(described, dict):
        raise InvalidDescription("description must be in the document, got nothing.")
    description_from_fields(without_facts(described))
    arguments.real("delta", document.get("delta"), least=0.0, most=1.0)
    if document.get("epsilon") != "infinity":
        arguments.real("epsilon", document.get("epsilon"), least=0.0)
    if document.get("status") not in ("certified", "void"):
        raise InvalidDescription(
            f"status must be certified or void, got {document.get('status')!a:.60}."
        )
