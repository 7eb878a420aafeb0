"""Draw samples on private records: what runs is what was certified, and only the end comes back.

Samples are rounded to a grid, as every release is (`wane.run.grid`).  Of an underdamped chain the
noise that protects a position is at least what the free motion gains over the whole run, or what
the target has in its steepest direction if that is less.
"""

from __future__ import annotations

import math

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.chain import Underdamped
from wane.describe.posterior import stacked_bound
from wane.describe.samples import OverdampedRun, UnderdampedRun
from wane.errors import InvalidDescription
from wane.run import descend, private_generator
from wane.run.admission import refuse_add_remove, require_constants, require_room_for_null
from wane.run.grid import grid_below, to_grid
from wane.sampling.integrator import exact_step
from wane.sampling.models import DataPotential
from wane.sampling.simulation import Progress, simulate
from wane.sampling.sums import ChainSums


def draw(
    run: OverdampedRun | UnderdampedRun,
    sums: ChainSums,
    *,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Array:
    """Return the last state of every chain, rounded, samples first; nothing else is kept.

    The noise comes from the operating system unless a generator is given, and whoever can repeat
    that generator can subtract the noise.
    """
    arguments.kind("run", run, (OverdampedRun, UnderdampedRun))
    arguments.kind("sums", sums, (ChainSums,))
    chance = private_generator() if generator is None else generator
    refuse_add_remove(run.posterior.adjacency)
    require_room_for_null(run.posterior.losses.objective)
    stacked = sums.with_chains(run.samples)
    if isinstance(run, OverdampedRun):
        return descend(run.descent, stacked, generator=chance, progress=progress)
    bound = run.posterior.losses.objective.gradient_bound
    if bound is None or stacked.gradient_bound > stacked_bound(bound, run.samples):
        raise InvalidDescription(
            f"gradients must be bounded by the described gradient_bound={bound}, "
            "got more; describe what will run."
        )
    require_constants(run.posterior.losses.objective, sums.with_chains(1).objective)
    potential = DataPotential(run.posterior, sums)
    with np.errstate(all="ignore"):  # a warning would depend on the records
        end = simulate(
            run.chain, potential, generator=chance, chains=run.samples, progress=progress
        )
    return to_grid(end.reshape(stacked.shape), kinetic_grid(run.chain))


def kinetic_grid(chain: Underdamped) -> float:
    """Return the spacing for the last position of an underdamped chain."""
    free = exact_step(
        friction=chain.friction,
        step_size=chain.step_size * chain.steps,
        inverse_mass=chain.inverse_mass,
        temperature=chain.temperature,
    )
    steepest = math.sqrt(chain.temperature / chain.target.smoothness)
    return grid_below(min(math.sqrt(free.noise_covariance[0]), steepest))
