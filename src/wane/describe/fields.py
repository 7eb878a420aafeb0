"""Descriptions as plain dictionaries, as TOML and JSON hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from importlib import import_module
from typing import Any

from wane import arguments
from wane.describe import domains
from wane.describe.choices import (
    Adjacency,
    FullBatch,
    Iterates,
    Release,
    batches_from_fields,
    release_from_fields,
)
from wane.describe.descent import NoisyDescent, PublicRecords
from wane.describe.description import Description
from wane.describe.domains import Diameter, Domain, Unbounded
from wane.describe.noise import NOISES, Noise
from wane.describe.objective import LossForm, Objective
from wane.describe.schedule import Phase, Schedule
from wane.errors import InvalidDescription

KIND = "noisy-descent"
MOST_PHASES_WRITTEN = 100_000

FACTS_OF_ONE_RUN = ("log_sobolev",)
"""Keys that stand beside a run, at the top level of a file; see `wane.describe.facts`.

A bound on the average's curvature is none of them: it is released, and paid for, by a fit.
"""


def run_from_fields(given: object) -> NoisyDescent:
    """Return the described run; every complaint names the key, its value and the cure."""
    table = arguments.table("description", given)
    kind = table.pop("kind", KIND)
    if kind != KIND:
        raise InvalidDescription(f'kind must be "{KIND}", got {kind!r}.')
    readers: dict[str, Callable[[Any], Any]] = {
        "objective": objective_from_fields,
        "records": _same,
        "steps": _same,
        "step_size": _same,
        "noise": _noise,
        "batches": batches_from_fields,
        "domain": _domain,
        "adjacency": lambda v: arguments.member("adjacency", v, Adjacency),
        "release": release_from_fields,
        "schedule": _schedule,
        "cool_down": _same,
        "public": _public,
    }
    for name in FACTS_OF_ONE_RUN:
        if name in table:
            raise InvalidDescription(
                f"{name} must be absent here, got {table[name]!r:.60}: it is a fact of one run, "
                "which `certify` and `explain` use and no other command may carry to other runs; "
                "leave it out."
            )
    arguments.known_keys("description", table, readers)
    for name in ("objective", "records"):
        if name not in table:
            raise InvalidDescription(f"{name} must be given, got nothing.")
    return NoisyDescent(**{name: readers[name](value) for name, value in table.items()})


def run_to_fields(run: NoisyDescent) -> dict[str, Any]:
    """Return the dictionary that `run_from_fields` turns back into this run."""
    made: dict[str, Any] = {"kind": KIND, "records": run.records}
    if run.schedule is None:
        made |= {"steps": run.steps, "step_size": run.step_size, "noise": _noise_out(run.noise)}
        if run.cool_down:
            made["cool_down"] = run.cool_down
    made["release"] = _release_out(run.release)
    made["adjacency"] = run.adjacency.value
    made["batches"] = {"kind": run.batches.kind}
    if not isinstance(run.batches, FullBatch):
        made["batches"]["size"] = run.batches.size
    made["objective"] = objective_to_fields(run.objective)
    if not isinstance(run.domain, Unbounded):
        made["domain"] = _domain_out(run.domain)
    if run.schedule is not None:
        made["schedule"] = _schedule_out(run.schedule)
    if run.public is not None:
        made["public"] = {"records": run.public.records}
        assert run.public.objective is not None, "a run spells the constants out"
        made["public"]["objective"] = objective_to_fields(run.public.objective)
    return made


def _same(value: Any) -> Any:
    return value


def objective_from_fields(value: Any) -> Objective:
    """Return the declared constants of the losses; every complaint names the key."""
    table = arguments.table("objective", value)
    for name in FACTS_OF_ONE_RUN:
        if name in table:
            raise InvalidDescription(
                f"objective.{name} must be absent, got {table[name]!r:.60}: it is true of one run "
                f"and not of the losses; write {name} at the top level, beside the run, after "
                "checking it for the law before the prox (docs/proofs/log-sobolev.md)."
            )
    if "loss" in table:
        raise InvalidDescription(
            f"objective.loss must be absent here, got {table['loss']!r:.60}; write the constants "
            "of the loss, or read a file that names it with wane.read_run."
        )
    arguments.known_keys("objective", table, [f.name for f in fields(Objective)])
    if "form" in table:
        table["form"] = arguments.member("objective.form", table["form"], LossForm)
    if isinstance(table.get("dissipativity"), list):
        table["dissipativity"] = tuple(table["dissipativity"])
    return Objective(**table)


def _public(value: Any) -> PublicRecords:
    table = arguments.table("public", value)
    arguments.known_keys("public", table, [f.name for f in fields(PublicRecords)])
    if "records" not in table:
        raise InvalidDescription("public.records must be given, got nothing.")
    if "objective" in table:
        table["objective"] = objective_from_fields(table["objective"])
    return PublicRecords(**table)


def objective_to_fields(objective: Objective) -> dict[str, Any]:
    """Return the constants that are declared, as a description holds them."""
    made: dict[str, Any] = {}
    for field in fields(Objective):
        value = getattr(objective, field.name)
        if value == field.default:
            continue
        made[field.name] = value.value if isinstance(value, Enum) else value
    if objective.dissipativity is not None:
        made["dissipativity"] = list(objective.dissipativity)
    return made


def _noise(value: Any) -> Noise:
    table = arguments.table("noise", value)
    known = {kind.key: kind for kind in NOISES}
    arguments.known_keys("noise", table, known)
    if len(table) != 1:
        got = ", ".join(table) or "none"
        raise InvalidDescription(
            f"noise must have exactly one of the keys {', '.join(known)}, got {got}."
        )
    ((key, number),) = table.items()
    return known[key](number)


def _noise_out(noise: Noise | None) -> dict[str, float]:
    assert noise is not None
    return {noise.key: noise.value}


def _domain(value: Any) -> Domain:
    table = arguments.table("domain", value)
    if "kind" not in table:
        arguments.known_keys("domain", table, ("diameter", "kind"))
        if "diameter" not in table:
            raise InvalidDescription("domain must have a kind or a diameter, got neither.")
        return Diameter(table["diameter"])
    kind = table.pop("kind")
    return domains.from_fields(kind, table)


def _domain_out(domain: Domain) -> dict[str, Any]:
    return {"kind": domain.kind, **domains.to_fields(domain)}


def _release_out(release: Release) -> str | list[int]:
    return list(release.steps) if isinstance(release, Iterates) else release.name


def _schedule(value: Any) -> Schedule:
    if not isinstance(value, list):
        raise InvalidDescription(f"schedule must be a list of phases, got {value!r:.60}.")
    return Schedule(_phase(entry) for entry in value)


def _phase(value: Any) -> Phase:
    table = arguments.table("schedule", value)
    wanted = {f.name: f for f in fields(Phase)}
    arguments.known_keys("schedule", table, wanted)
    for name in ("repeat", "step_size", "noise"):
        if name not in table:
            raise InvalidDescription(f"{name} must be given in every phase of the schedule.")
    table["noise"] = _noise(table["noise"])
    return Phase(**table)


def _schedule_out(schedule: Schedule) -> list[dict[str, Any]]:
    if len(schedule) > MOST_PHASES_WRITTEN:
        raise InvalidDescription(
            f"schedule must have at most {MOST_PHASES_WRITTEN} phases to be written down, "
            f"got {len(schedule)}."
        )
    made = []
    for phase in schedule:
        row: dict[str, Any] = {
            "repeat": phase.repeat,
            "step_size": phase.step_size,
            "noise": _noise_out(phase.noise),
        }
        if phase.cool_down:
            row["cool_down"] = True
        if phase.public:
            row["public"] = True
        made.append(row)
    return made


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
