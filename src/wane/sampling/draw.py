"""Draw samples on private records: what runs is what was certified, and only the end comes back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wane.describe import check
from wane.errors import InvalidDescription
from wane.run import descend, private_generator
from wane.sampling.models import DataPotential
from wane.sampling.posterior import stacked_bound
from wane.sampling.runs import OverdampedRun, UnderdampedRun
from wane.sampling.simulate import Progress, simulate
from wane.sampling.sums import ChainSums

Array = NDArray[np.float64]


def draw(
    run: OverdampedRun | UnderdampedRun,
    sums: ChainSums,
    *,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Array:
    """Return the last state of every chain, samples first; nothing else about the run is kept.

    The noise comes from the operating system unless a generator is given, and whoever can repeat
    that generator can subtract the noise.
    """
    check.kind("run", run, (OverdampedRun, UnderdampedRun))
    check.kind("sums", sums, (ChainSums,))
    chance = private_generator() if generator is None else generator
    stacked = sums.with_chains(run.samples)
    if isinstance(run, OverdampedRun):
        return descend(run.descent, stacked, generator=chance, progress=progress)
    bound = run.posterior.losses.objective.gradient_bound
    if bound is None or stacked.gradient_bound > stacked_bound(bound, run.samples):
        raise InvalidDescription(
            f"gradients must be bounded by the described gradient_bound={bound}, "
            "got more; describe what will run."
        )
    potential = DataPotential(run.posterior, sums)
    with np.errstate(all="ignore"):  # a warning would depend on the records
        end = simulate(
            run.chain, potential, generator=chance, chains=run.samples, progress=progress
        )
    return end.reshape(stacked.shape)
