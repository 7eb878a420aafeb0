"""Drawing what a mechanism releases of a statistic, whatever kind of mechanism it is."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from wane import arguments
from wane.describe.description import Description
from wane.describe.diffusion import Outside, Process
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.describe.kernel import KernelRelease
from wane.describe.laplace import LaplaceRelease
from wane.errors import InvalidDescription
from wane.randomness import noise_generator
from wane.run.diffusions import draw, path
from wane.run.discrete_gaussian import discrete_laplace
from wane.run.hierarchies import drawn_tree
from wane.run.statistics import checked_statistic

MOST_APPLICATIONS = 1_000_000


@singledispatch
def drawn(mechanism: Description, statistic: Any, outside: Outside, seed: int | None) -> Any:
    """Return what the mechanism releases of the statistic; each kind registers how."""
    raise InvalidDescription(
        f"mechanism must be one that can be drawn, got {type(mechanism).__name__}."
    )


@drawn.register
def _(mechanism: Process, statistic: Any, outside: Outside, seed: int | None) -> Any:
    return draw(mechanism, statistic, outside=outside, seed_voids_privacy=seed)


@drawn.register
def _(mechanism: NestedRelease, statistic: Any, outside: Outside, seed: int | None) -> Any:
    times = list(mechanism.levels.values())
    points = path(mechanism.mechanism, statistic, times, outside=outside, seed_voids_privacy=seed)
    return dict(zip(mechanism.levels, points, strict=True))


@drawn.register
def _(mechanism: BranchedRelease, statistic: Any, outside: Outside, seed: int | None) -> Any:
    tree = drawn_tree(mechanism, statistic, outside=outside, seed_voids_privacy=seed)
    return tree.coalition(mechanism.seen_names)


@drawn.register
def _(mechanism: KernelRelease, statistic: Any, outside: Outside, seed: int | None) -> Any:
    """The kernel's state in, a state out; the state before it is a release of its own."""
    rows, columns = mechanism.matrix.shape
    state = arguments.whole(
        "statistic", statistic, least=0, most=rows - 1, cure="give a row's number"
    )
    if mechanism.power > MOST_APPLICATIONS:
        raise InvalidDescription(
            f"power must be at most {MOST_APPLICATIONS} to be drawn step by step, got "
            f"{mechanism.power}; describe the power of the kernel as one matrix."
        )
    rng = noise_generator(seed)
    for _ in range(mechanism.power):
        row = mechanism.matrix[state]
        state = int(rng.choice(columns, p=np.asarray(row / row.sum())))
    return state


@drawn.register
def _(mechanism: LaplaceRelease, statistic: Any, outside: Outside, seed: int | None) -> Any:
    """Whole multiples of the unit throughout, so that nothing is rounded after the first time."""
    if seed is not None:
        raise InvalidDescription(
            "seed_voids_privacy must be None, got a seed: this noise is drawn exactly, from the "
            "randomness of the operating system, which nothing repeats."
        )
    values = checked_statistic(statistic, None, mechanism.dimension, outside, charge=0.0)
    unit = Fraction(mechanism.unit)
    found = [
        (round(Fraction(value) / unit) + sum_of_noises(mechanism)) * unit
        for value in values.reshape(-1).tolist()
    ]
    made = np.asarray([float(number) for number in found], dtype=np.float64)
    return made.reshape(values.shape)


def sum_of_noises(mechanism: LaplaceRelease) -> int:
    """Return the sum of all noises on one number, in units."""
    return sum(discrete_laplace(scale) for scale in mechanism.scales_in_units)
