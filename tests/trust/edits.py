"""Every single edit of a document, hashed again as a forger would."""

import copy
import json
from contextlib import suppress

from trust.sealed import sealed
from wane.describe.fields import description_from_fields, description_to_fields
from wane.errors import WaneError
from wane.verify.claims import fingerprint


def leaves(value, path=()):
    """Every place of a document, containers included."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from leaves(entry, (*path, name))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from leaves(entry, (*path, place))


def edits_of(value):
    """What one field can become: larger, smaller, other words, another type, gone, or more."""
    yield "gone"
    if isinstance(value, dict):
        yield value | {"pure_epsilon": 0.1}
        return
    if isinstance(value, list):
        yield value[1:] if value else [1]
        yield [*value, copy.deepcopy(value[-1])] if value else ["x"]
        return
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value * 1.5 + (1 if value == 0 else 0)
        yield value / 2
        yield -1
    elif isinstance(value, str):
        yield value + " "
        yield 0.25 if value == "infinity" else "nothing"
        yield value.replace("o", "\u043e", 1)
    else:
        yield 0.125
    yield "infinity"


def edited(document, path, value):
    """The document with one field changed, and hashed again."""
    made = copy.deepcopy(document)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if value == "gone":
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return None if made == document else resealed(made)


def resealed(document):
    """Both hashes anew; a description that cannot be read keeps its hash."""
    made = dict(document)
    if "configuration_sha256" in made:
        with suppress(WaneError, KeyError, TypeError, AttributeError, ValueError, IndexError):
            made["configuration_sha256"] = fingerprint(_described(made))
    return sealed(made)


def _described(document):
    rows = document["releases"]
    described = [_part(row, document, len(rows) == 1) for row in rows]
    if "facts" in document:
        described.append({"facts": document["facts"]})
    if document.get("sampler") is not None:
        described.append({"sampler": document["sampler"]})
    if document.get("rows_per_person", 1) != 1:
        described.append({"rows_per_person": document["rows_per_person"]})
    return described


def _part(row, document, alone):
    if "guarantee" in row:
        named = {"name": row["what"], "source": row["source"], "adjacency": document["adjacency"]}
        return named | {"guarantee": row["guarantee"]}
    given = document["description"] if alone else row.get("description", document["description"])
    return description_to_fields(description_from_fields(given))


def covered(path, stated):
    """Whether a field is among those that are named as stated and not checked."""
    where = ".".join(map(str, path))
    if path[0] == "constants" and path[-1] == "origin":
        where = "constants.*.origin"
    return any(where == row.where or where.startswith(f"{row.where}.") for row in stated)


def plain(document):
    """As it is read from a file."""
    return json.loads(json.dumps(document, allow_nan=False))
