"""`wane statement`: a certificate in the words that auditors and registries ask for."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from wane.certify import certify
from wane.cli.commands import proper
from wane.cli.options import Verb, add_delta
from wane.describe.fields import run_from_fields
from wane.describe.files import read_table
from wane.report.document import FORMAT, certificate_document
from wane.report.statement import privacy_statement, registry_entry

Result = tuple[dict[str, Any], str]


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
    found = read_table(options.source)
    if not (isinstance(found, dict) and found.get("format") == FORMAT):
        run = run_from_fields(found)
        found = certificate_document(certify(run), delta=proper(options.delta))
    if options.json:
        return registry_entry(found), ""
    return {}, privacy_statement(found)
