"""Words for adjacency, batches and release, as the command line and files spell them.

Whatever takes one of these objects takes its word as well, and reads it here:
`adjacency="zero-out"`, `batches="poisson:250"`, `release="every-iterate"`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from wane.arguments import kind, known_keys, member, table
from wane.describe.batches import BATCHES, Batches
from wane.describe.threat import RELEASES, Adjacency, EveryIterate, Iterates, LastIterate, Release
from wane.errors import InvalidDescription


def adjacency_of(name: str, value: Any) -> Adjacency:
    """Return the adjacency that a word names, or the value itself; anything else is refused."""
    if isinstance(value, str):
        return member(name, value, Adjacency)
    kind(name, value, (Adjacency,))
    found: Adjacency = value
    return found


def batches_of(name: str, value: Any) -> Batches:
    """Return the batches that a word such as "poisson:250" names, or the value itself."""
    if isinstance(value, str):
        return batches_from_fields(_spelled_batches(name, value))
    kind(name, value, BATCHES)
    found: Batches = value
    return found


def release_of(name: str, value: Any) -> Release:
    """Return the release that a word names, or the value itself; anything else is refused."""
    if isinstance(value, str):
        return release_from_fields(value)
    kind(name, value, RELEASES)
    found: Release = value
    return found


def batches_from_fields(value: Any) -> Batches:
    """Return the batches that a table of `kind` and `size` describes."""
    given = table("batches", value)
    kinds = {one.kind: one for one in BATCHES}
    found = kinds.get(given.pop("kind", None))
    if found is None:
        names = ", ".join(f'"{name}"' for name in kinds)
        raise InvalidDescription(f"batches.kind must be one of {names}.")
    wanted = {f.name: f for f in fields(found)}
    known_keys("batches", given, wanted)
    for name in wanted:
        if name not in given:
            raise InvalidDescription(f"batches.{name} must be given for {found.kind} batches.")
    return found(**given)


def release_from_fields(value: Any) -> Release:
    """Return the release that a word or a list of step numbers describes."""
    simple = {one.name: one for one in (LastIterate, EveryIterate)}
    if isinstance(value, list):
        return Iterates(tuple(value))
    if not isinstance(value, str) or value not in simple:
        names = ", ".join(f'"{name}"' for name in simple)
        raise InvalidDescription(
            f"release must be {names} or a list of step numbers, got {value!r:.60}."
        )
    return simple[value]()


def _spelled_batches(name: str, text: str) -> dict[str, Any]:
    """The table that "poisson:250" stands for."""
    word, colon, size = text.partition(":")
    if not colon:
        return {"kind": word}
    if not (size.isascii() and size.isdigit() and len(size) <= 18):
        raise InvalidDescription(
            f'{name} must be a kind and a size such as "poisson:250", got {text!r:.60}.'
        )
    return {"kind": word, "size": int(size)}
