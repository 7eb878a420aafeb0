"""Check what a statistic's folder says: the mechanism, and the files of each level of readers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from wane.documents.checking import check_document
from wane.errors import InvalidDescription

STATISTIC = "statistic.json"
OF_STATISTIC = ("value", "noise_std", "noise", "levels")
"""What a file of values holds beside the statistic itself."""
PATH, EUCLIDEAN = "nested-release", "brownian-motion"
"""What statistics are released through: sensitivities of other kinds have another meaning."""

Files = Mapping[str, Mapping[str, Any]]


def belongs(name: str) -> bool:
    """Return whether a file of this name is one that a statistic's release has."""
    return name == STATISTIC or _is_of_level(name)


def disagreements(document: Mapping[str, Any], files: Files, schema: str) -> Iterator[str]:
    """Yield each way in which a document is not that of the statistic and of the levels beside it.

    `files` are the JSON files of the folder that the document names.
    """
    if STATISTIC not in files:
        yield f"{STATISTIC} is missing"
        return
    yield from _wrong_mechanism(document["description"], files, schema)
    yield from _wrong_levels(document, files)


def _wrong_mechanism(described: Mapping[str, Any], files: Files, schema: str) -> Iterator[str]:
    """Where the mechanism is not the one that the statistic needs under the released schema."""
    from wane.statistics import statistic_from_fields  # slow to import
    from wane.tables import Schema

    try:
        given = files[STATISTIC]
        kept = {name: value for name, value in given.items() if name not in OF_STATISTIC}
        made = statistic_from_fields(kept, Schema.from_fields(files[schema]))
        process = described["mechanism"] if described["kind"] == PATH else described
        asked = EUCLIDEAN, made.dimension, made.adjacency.value
        found = process["kind"], process["dimension"], described["adjacency"]
        same = math.isclose(process["sensitivity"], made.sensitivity, rel_tol=1e-12)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        yield f"{STATISTIC} and {schema} do not describe a statistic: {error!a:.80}"
        return
    if not same or found != asked:
        yield (
            "mechanism, sensitivity, dimension or adjacency is not that of the statistic under its "
            "schema"
        )


def _wrong_levels(document: Mapping[str, Any], files: Files) -> Iterator[str]:
    """Where the levels that were given away are not those that the document speaks of."""
    described, given = document["description"], files[STATISTIC].get("levels", {})
    times = described["levels"] if described.get("kind") == PATH else {}
    if not isinstance(given, Mapping) or set(given) != set(times):
        yield f"the levels in {STATISTIC} are not those of the description"
        return
    expected = {f"{kind}-{name}.json" for name in times for kind in ("statistic", "certificate")}
    for name in sorted(expected.symmetric_difference(filter(_is_of_level, files))):
        yield f"{name!a} is not a file of one of the levels, or is missing"
    for name, time in times.items():
        seen = {one: at for one, at in times.items() if at >= time}
        values, certificate = f"statistic-{name}.json", f"certificate-{name}.json"
        if files.get(values, {}) != given[name]:
            yield f"{values} is not the level in {STATISTIC}"
        if certificate in files:
            whole = {**described, "levels": seen}
            yield from _wrong_level(certificate, files[certificate], whole, document, values)


def _is_of_level(name: str) -> bool:
    return name.startswith(("statistic-", "certificate-"))


def _wrong_level(
    name: str,
    level: Mapping[str, Any],
    described: Mapping[str, Any],
    document: Mapping[str, Any],
    values: str,
) -> Iterator[str]:
    """Where a level's certificate is false, or is not that of what its reader holds."""
    expected = {
        "description": described,
        "rows_per_person": document["rows_per_person"],
        "files": {values: document["files"].get(values)},
    }
    for field, value in expected.items():
        if level.get(field) != value:
            yield f"{field} of {name} is not that of the level"
    try:
        checked = check_document(level)
    except InvalidDescription as error:
        yield f"{name} is no certificate document: {error!s:.80}"
        return
    for reason in checked.contradictions:
        yield f"{name}: {reason}"
    if not (checked.verified or checked.void):
        yield f"{name} is not verified"
