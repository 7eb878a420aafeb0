"""From a table and its schema to a published statistic: calibrated, certified, spent, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.certificates import Certificate, Released, certify, release
from wane.describe.diffusion import BrownianMechanism
from wane.describe.hierarchy import NestedRelease
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.mechanisms import PrivacyTarget, calibrated_brownian
from wane.statistics.cells import blocks
from wane.statistics.kinds import Statistic
from wane.tables import Schema

MOST_ROWS = 1 << 28
"""Sums of more rows would not be exact in doubles."""
LARGEST = 2.0**29
"""No entry of a statistic of so many rows is larger."""
ROOM, TRIES = 1e-12, 100
ONLY = "value"
"""The name of the one level of a release without levels."""


@dataclass(frozen=True)
class Level:
    """What one reader gets.

    Attributes:
        value: the statistic, by column.
        noise_std: the largest deviation of noise on an entry, in the entry's own unit.
        noise: the deviation of noise, by column.
        certificate: what a reader of this level and of all stricter ones learns.
    """

    value: dict[str, Any]
    noise_std: float
    noise: dict[str, Any]
    certificate: Certificate


@dataclass(frozen=True)
class Published:
    """A statistic of a table, with its certificate.

    Attributes:
        statistic: what was computed.
        value, noise_std: of the most accurate level.
        released: the noisy vector, and the certificate of everything together.
        levels: what each reader gets, by name; None if there is one level only.
        delta: at which delta it was asked for.
        records: how many rows the table has; None where that number is not public.
    """

    statistic: Statistic
    value: dict[str, Any]
    noise_std: float
    noise: dict[str, Any]
    released: Released
    levels: dict[str, Level] | None
    delta: float
    records: int | None

    @property
    def certificate(self) -> Certificate:
        """What is claimed of all levels together."""
        return self.released.certificate


def publish(
    statistic: Statistic,
    data: Any,
    schema: Schema,
    *,
    epsilon: float,
    delta: float,
    levels: Mapping[str, float] | None = None,
    account: Any = None,
    rows_per_person: int | None = None,
    seed_voids_privacy: int | None = None,
) -> Published:
    """Return a statistic of a table, released through Brownian motion from its exact value.

    The table is read and everything is checked, calibrated and certified first; then the release is
    entered in the account, and only then noise is drawn.
    """
    persons = schema.rows_of_a_person(rows_per_person)
    plan = planned(statistic, epsilon=epsilon, delta=delta, levels=levels, rows_per_person=persons)
    exact, rows = _computed(statistic, data, schema)
    public = rows if statistic.in_place else None
    found = release(
        plan,
        exact,
        account=account,
        rows_per_person=persons,
        seed_voids_privacy=seed_voids_privacy,
    )
    times = plan.levels if isinstance(plan, NestedRelease) else {ONLY: plan.time}
    points = found.value if isinstance(plan, NestedRelease) else {ONLY: found.value}
    made = {}
    for name, time in times.items():
        std = _process(plan).at(time).noise_std
        noise = statistic.noise(std, points[name], public)
        seen = certify(_seen(plan, name)).for_persons(persons).void(found.certificate.void_because)
        made[name] = Level(statistic.value(points[name], public), _largest(noise), noise, seen)
    first = made[next(iter(times))]
    several = made if isinstance(plan, NestedRelease) else None
    return Published(
        statistic, first.value, first.noise_std, first.noise, found, several, float(delta), public
    )


def planned(
    statistic: Statistic,
    *,
    epsilon: float,
    delta: float,
    levels: Mapping[str, float] | None = None,
    rows_per_person: int = 1,
) -> BrownianMechanism | NestedRelease:
    """Return the mechanism that meets the target with the least noise; it sees no data."""
    arguments.real("epsilon", epsilon, above=0.0)
    arguments.real("delta", delta, above=0.0, most=0.5)
    if levels is None:
        return _calibrated(statistic, epsilon, delta, rows_per_person)
    named = _ordered(levels, epsilon)
    steps = {n: _calibrated(statistic, e, delta, rows_per_person) for n, e in named.items()}
    times = {name: process.time for name, process in steps.items()}
    return NestedRelease(next(iter(steps.values())), times)


def _calibrated(
    statistic: Statistic, epsilon: float, delta: float, rows_per_person: int
) -> BrownianMechanism:
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu / rows_per_person
    for _ in range(TRIES):
        found = calibrated_brownian(
            PrivacyTarget(mu=mu), sensitivity=statistic.sensitivity, dimension=statistic.dimension
        )
        found = replace(found, adjacency=statistic.adjacency)
        if certify(found).for_persons(rows_per_person).epsilon(delta) <= epsilon:
            found.require_enough_noise(LARGEST)
            return found
        mu *= 1.0 - ROOM
    raise Unreachable(f"no noise meets epsilon {epsilon:g} at delta {delta:g}")


def _ordered(levels: Mapping[str, float], epsilon: float) -> dict[str, float]:
    """Levels from the most accurate to the strictest, none beyond the whole."""
    if not isinstance(levels, Mapping) or not levels:
        raise InvalidDescription(f"levels must name at least one level, got {levels!r:.60}.")
    named = {}
    for name, value in levels.items():
        if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidDescription(
                f"levels must have names of letters, digits, - and _, got {name!r:.60}."
            )
        named[name] = arguments.real(f"levels.{name}", value, above=0.0)
    values = list(named.values())
    if any(later >= earlier for earlier, later in pairwise(values)):
        raise InvalidDescription(
            "levels must be listed from the largest epsilon to the smallest, got "
            f"{', '.join(f'{n}={v:g}' for n, v in named.items())!r:.120}; put the most accurate "
            "level first."
        )
    if values[0] > epsilon:
        raise InvalidDescription(
            f"levels must stay within epsilon = {epsilon:g}, which all of them cost together, got "
            f"{values[0]:g}; raise epsilon, or lower the level."
        )
    return named


def _computed(statistic: Statistic, data: Any, schema: Schema) -> tuple[Array, int]:
    """The exact vector, and the number of rows."""
    total: Any = None
    rows = 0
    for cells in blocks(data, schema, statistic.columns):
        count = len(next(iter(cells.values())).array)
        rows += count
        if count:
            part = statistic.summed(cells, count)
            total = part if total is None else total + part
    if total is None:
        if statistic.in_place:
            raise InvalidDescription("data must have at least one row, got none below the header.")
        return np.zeros(statistic.dimension), 0
    if rows > MOST_ROWS:
        raise InvalidDescription(f"data must have at most {MOST_ROWS} rows, got more.")
    return statistic.finished(total), rows


def _process(plan: BrownianMechanism | NestedRelease) -> Any:
    return plan.mechanism if isinstance(plan, NestedRelease) else plan


def _seen(plan: BrownianMechanism | NestedRelease, name: str) -> Any:
    """What the reader of a level holds: its own position and all later ones."""
    if not isinstance(plan, NestedRelease):
        return plan
    return plan.seen_by([n for n, time in plan.levels.items() if time >= plan.levels[name]])


def _largest(noise: Any) -> float:
    if isinstance(noise, Mapping):
        return max(_largest(one) for one in noise.values())
    return float(noise)
