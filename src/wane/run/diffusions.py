"""Drawing positions of linear diffusions: the noise of mechanisms comes from here.

What is released is a multiple of a power of two, 2^-10 of the noise or less, which comes from the
description alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.diffusion import GaussianDiffusion, Outside, Process
from wane.describe.linear_diffusion import LinearDiffusion
from wane.errors import InvalidDescription
from wane.randomness import noise_generator
from wane.run import declared_diffusions, linear_diffusions
from wane.run.safeguards import grid_below, to_grid
from wane.run.statistics import checked_statistic


@dataclass(frozen=True)
class GaussianLaw:
    """Independent normal entries around `mean`, all with standard deviation `std`."""

    mean: Array
    std: float


@singledispatch
def law_of(process: Process, statistic: Any, *, outside: Outside = Outside.REFUSE) -> Any:
    """Return the law of the release before it is rounded (secret: it holds the statistic)."""
    raise InvalidDescription(
        f"mechanism must be a linear diffusion to have a known law, got {type(process).__name__}."
    )


@law_of.register
def _linear_law(
    process: LinearDiffusion, statistic: Any, *, outside: Outside = Outside.REFUSE
) -> tuple[Array, Array]:
    return linear_diffusions.law_of(process, statistic, outside)


@law_of.register
def _gaussian_law(
    process: GaussianDiffusion, statistic: Any, *, outside: Outside = Outside.REFUSE
) -> GaussianLaw:
    return GaussianLaw(process.scale * start_of(process, statistic, outside), process.noise_std)


def draw(
    process: Process,
    statistic: Any,
    *,
    outside: Outside = Outside.REFUSE,
    seed_voids_privacy: int | None = None,
) -> Array:
    """Return one private release of the statistic, in its own shape.

    Every number is a multiple of a power of two that comes from the description alone.
    `seed_voids_privacy` makes it repeatable, for tests.
    """
    rng = noise_generator(seed_voids_privacy)
    start = start_of(process, statistic, outside)
    return rounded(process, step(process, start, process.time, rng), process.time)


def path(
    process: Process,
    statistic: Any,
    times: Sequence[float],
    *,
    outside: Outside = Outside.REFUSE,
    seed_voids_privacy: int | None = None,
) -> list[Array]:
    """Return positions of one path at several times, none before the process's `time`."""
    wanted = [arguments.real("times", t, least=process.time) for t in times]
    for t in wanted:
        process.require_on_path(t)
    position = start_of(process, statistic, outside)
    rng, now, positions = noise_generator(seed_voids_privacy), 0.0, {}
    for t in sorted(set(wanted)):
        position = onwards(process, position, now, t, rng)
        now, positions[t] = t, rounded(process, position, t)
    return [positions[t] for t in wanted]


@singledispatch
def start_of(process: Process, statistic: Any, outside: Outside) -> Array:
    """Return the statistic as the process may start from it: inside its set, on its grid."""
    raise _unknown(process)


start_of.register(LinearDiffusion, linear_diffusions.start_of)
start_of.register(DeclaredDiffusion, declared_diffusions.start_of)


@start_of.register
def _gaussian_start(process: GaussianDiffusion, statistic: Any, outside: Outside) -> Array:
    values = checked_statistic(
        statistic,
        process.norm_bound,
        process.dimension,
        outside,
        charge=process.rounding_charge,
    )
    if process.norm_bound is None:
        process.require_enough_noise(float(np.max(np.abs(values), initial=0.0)), secret=True)
    return values


@singledispatch
def step(process: Process, position: Array, duration: float, rng: np.random.Generator) -> Array:
    """Return where the process is, a duration after this position."""
    raise _unknown(process)


step.register(LinearDiffusion, linear_diffusions.step)
step.register(DeclaredDiffusion, declared_diffusions.step)


@step.register
def _gaussian_step(
    process: GaussianDiffusion, position: Array, duration: float, rng: np.random.Generator
) -> Array:
    noise = rng.standard_normal(position.shape)
    noise *= math.sqrt(process.variance_after(duration))
    return shifted(position, process.decay_after(duration), noise)


@singledispatch
def onwards(
    process: Process, position: Array, since: float, until: float, rng: np.random.Generator
) -> Array:
    """Return where a path is at `until` that was at this position at `since`."""
    return step(process, position, until - since, rng)


onwards.register(DeclaredDiffusion, declared_diffusions.onwards)


def _unknown(process: object) -> InvalidDescription:
    return InvalidDescription(f"mechanism must be a diffusion, got {type(process).__name__}.")


@singledispatch
def rounded(process: Process, position: Array, time: float) -> Array:
    """Return a position as it may be shown: on the grid that belongs to its time."""
    raise _unknown(process)


rounded.register(LinearDiffusion, linear_diffusions.rounded)
rounded.register(DeclaredDiffusion, declared_diffusions.rounded)


@rounded.register
def _gaussian_rounded(process: GaussianDiffusion, position: Array, time: float) -> Array:
    return to_grid(position, grid_at(process, time))


def grid_at(process: GaussianDiffusion, time: float) -> float:
    """Return the spacing of what is shown at a time; it comes from the description alone."""
    return grid_below(math.sqrt(process.variance_after(time)))


def shifted(position: Array, factor: float, noise: Array) -> Array:
    """Return factor * position + noise, with the noise added before anything is multiplied.

    So whatever is rounded is a function of the noisy position.  A factor that is lost in the noise
    counts as zero.
    """
    with np.errstate(all="ignore"):
        scaled = noise / factor
    if not np.isfinite(scaled).all():
        return noise
    return np.asarray(factor * (position + scaled))
