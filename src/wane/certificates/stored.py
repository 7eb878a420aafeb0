"""Certificates as plain data: the releases they speak of, certified anew when read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wane import arguments
from wane.certificates.analyse import certify
from wane.certificates.certificate import Certificate, together
from wane.certificates.parts import CertifiedRelease
from wane.describe import Adjacency, Fact, StatedRelease
from wane.describe.facts import without_facts
from wane.describe.fields import description_from_fields, description_to_fields
from wane.guarantees import Guarantee
from wane.guarantees.fields import guarantee_to_fields


def stated_release(
    name: str, guarantee: Guarantee, source: str, adjacency: Adjacency, rows_per_person: int = 1
) -> StatedRelease:
    """Return the description of a release of which this guarantee is known, and nothing else.

    A guarantee by a formula is written down at some orders, so that what is read back from a file
    is what was stated.
    """
    cost = guarantee_to_fields(guarantee)
    return _release(name, cost, source, adjacency, rows_per_person)


def certificate_to_fields(certificate: Certificate) -> dict[str, Any]:
    """Return the releases and what voids them; no number that would have to be believed."""
    return {
        "releases": [_part_out(part) for part in certificate.parts],
        "voids": list(certificate.void_because),
    }


def certificate_from_fields(given: Mapping[str, Any]) -> Certificate:
    """Return the certificate of these releases, computed again."""
    return together(_part_in(part) for part in given["releases"]).void(given["voids"])


def _part_out(part: CertifiedRelease) -> dict[str, Any]:
    persons = {} if part.rows_per_person == 1 else {"rows_per_person": part.rows_per_person}
    if isinstance(part.description, StatedRelease):
        return persons | {
            "name": part.description.name,
            "guarantee": part.description.cost,
            "source": part.description.source,
            "adjacency": part.adjacency.value,
        }
    facts = [fact.to_fields() for fact in part.facts]
    described = description_to_fields(part.sampled or part.description)
    return {"run": described} | ({"facts": facts} if facts else {}) | persons


def _part_in(part: Mapping[str, Any]) -> Certificate:
    rows = arguments.whole("rows_per_person", part.get("rows_per_person", 1), least=1)
    if "run" in part:
        facts = [Fact.from_fields(fact) for fact in part.get("facts", ())]
        described = description_from_fields(without_facts(part["run"]))
        return certify(described, facts=facts).for_persons(rows)
    adjacency = arguments.member("adjacency", part["adjacency"], Adjacency)
    return certify(
        _release(str(part["name"]), part["guarantee"], str(part["source"]), adjacency, rows)
    )


def _release(
    name: str, cost: Mapping[str, Any], source: str, adjacency: Adjacency, rows: int
) -> StatedRelease:
    """Numbers that a reader knows stand for themselves; all else is kept as it was written."""
    words: dict[str, Any] = {"name": name, "source": source, "adjacency": adjacency}
    inner, failure = cost, 0.0
    if "inner" in cost:
        inner, failure = cost["inner"], cost["probability"]
    known = {"mu", "epsilon", "delta"}
    numbers = inner if set(inner) <= known else {"other": json.dumps(inner, allow_nan=False)}
    return StatedRelease(**words, **numbers, failure=failure, rows_per_person=rows)
