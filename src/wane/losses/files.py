"""Read descriptions from files that may name a loss in place of the constants of its objective."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from wane import arguments
from wane.describe.descent import NoisyDescent
from wane.describe.fields import (
    FACTS_OF_ONE_RUN,
    objective_to_fields,
    run_from_fields,
)
from wane.describe.files import read_table
from wane.errors import InvalidDescription
from wane.losses.registry import constants


def read_run(path: str | Path) -> NoisyDescent:
    """Return the run described in a TOML or JSON file."""
    return run_from_fields(spelled_out(read_table(path)))


def spelled_out(given: object) -> object:
    """Return the description with its named loss, if it names one, replaced by the constants."""
    if not isinstance(given, Mapping):
        return given
    with_constants = _with_constants(given)
    public = with_constants.get("public")
    return (
        {**with_constants, "public": _with_constants(public)}
        if isinstance(public, Mapping)
        else with_constants
    )


def _with_constants(given: Mapping[str, Any]) -> dict[str, Any]:
    objective = given.get("objective")
    if not isinstance(objective, Mapping) or "loss" not in objective:
        return dict(given)
    if any(name in objective for name in FACTS_OF_ONE_RUN):  # refused with a better reason
        return dict(given)
    return {**given, "objective": _constants_of(dict(objective))}


def _constants_of(table: dict[str, Any]) -> dict[str, Any]:
    name = table.pop("loss")
    makers = constants()
    make = makers.get(name) if isinstance(name, str) else None
    if make is None:
        names = ", ".join(f'"{loss}"' for loss in makers)
        raise InvalidDescription(f"objective.loss must be one of {names}, got {name!r:.60}.")
    wanted = signature(make).parameters
    arguments.known_keys("objective", table, wanted)
    for key, parameter in wanted.items():
        if parameter.default is Parameter.empty and key not in table:
            raise InvalidDescription(f"objective.{key} must be given for the loss {name!r}.")
    return objective_to_fields(make(**table))
