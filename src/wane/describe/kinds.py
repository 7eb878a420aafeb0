"""Descriptions of every kind as plain dictionaries, told apart by the word `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from wane.describe.descent import NoisyDescent
from wane.describe.description import Description
from wane.describe.fields import KIND, run_from_fields, run_to_fields
from wane.errors import InvalidDescription

KINDS = {
    "brownian-motion": "diffusion:BrownianMechanism",
    "ornstein-uhlenbeck": "diffusion:OrnsteinUhlenbeckMechanism",
    "linear-diffusion": "linear_diffusion:LinearDiffusion",
    "declared-diffusion": "declared_diffusion:DeclaredDiffusion",
    "nested-release": "hierarchy:NestedRelease",
    "branched-release": "hierarchy:BranchedRelease",
    "iterated-laplace": "laplace:LaplaceRelease",
    "kernel-release": "kernel:KernelRelease",
    "noisy-descent-ascent": "saddle:NoisyDescentAscent",
    "overdamped-chains": "samples:OverdampedRun",
    "underdamped-chains": "samples:UnderdampedRun",
}
"""Where each kind is described, below `wane.describe`; a module is loaded when it is asked for."""


def class_of(kind: object) -> type[Description]:
    """Return the class that describes this kind, or refuse a word that is none."""
    place = KINDS.get(kind) if isinstance(kind, str) else None
    if place is None:
        names = ", ".join(f'"{name}"' for name in (KIND, *KINDS))
        raise InvalidDescription(f"kind must be one of {names}, got {kind!r:.60}.")
    module, _, name = place.partition(":")
    found: type[Description] = getattr(import_module(f"wane.describe.{module}"), name)
    return found


def is_mechanism(given: object) -> bool:
    """Return whether a table describes a release that is no descent."""
    return isinstance(given, Mapping) and given.get("kind", KIND) != KIND


def description_from_fields(given: object) -> NoisyDescent | Description:
    """Return the described release, whatever its kind."""
    if isinstance(given, Mapping) and is_mechanism(given):
        return class_of(given["kind"]).from_fields(given)
    return run_from_fields(given)


def description_to_fields(description: NoisyDescent | Description) -> dict[str, Any]:
    """Return the dictionary that `description_from_fields` turns back into this description."""
    if isinstance(description, Description):
        return description.to_fields()
    return run_to_fields(description)
