"""Drawing what a mechanism releases of a statistic, whatever kind of mechanism it is."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate
from typing import Any

import numpy as np

from wane import arguments
from wane.arrays import Array
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
    state = _row_number(statistic, mechanism.matrix.shape[0])
    if mechanism.power > MOST_APPLICATIONS:
        raise InvalidDescription(
            f"power must be at most {MOST_APPLICATIONS} to be drawn step by step, got "
            f"{mechanism.power}; describe the power of the kernel as one matrix."
        )
    rng, known = noise_generator(seed), dict[int, list[int]]()
    for _ in range(mechanism.power):
        if state not in known:
            known[state] = cumulated(mechanism.matrix[state])
        state = bisect_right(known[state], whole_below(known[state][-1], rng))
    return state


def _row_number(statistic: Any, rows: int) -> int:
    """Return the state as a row's number, or a refusal that does not quote it."""
    try:
        return arguments.whole("statistic", statistic, least=0, most=rows - 1)
    except InvalidDescription:
        pass
    raise InvalidDescription(
        f"statistic must be a row's number, from 0 to {rows - 1}, got something else (keep this "
        "message from readers)."
    )


def cumulated(row: Array) -> list[int]:
    """Return the sums of the first probabilities of a row, as whole numbers of one unit.

    Doubles are fractions of powers of two, so that nothing is rounded: a probability of 1e-17 may
    be all that tells two rows apart, and sums in doubles would lose it.
    """
    ratios = [value.as_integer_ratio() for value in row.tolist()]
    unit = max(denominator for _, denominator in ratios)
    return list(accumulate(part * (unit // denominator) for part, denominator in ratios))


def whole_below(end: int, rng: np.random.Generator) -> int:
    """Return a whole number from 0 on below the end, all of them equally likely."""
    bits = (end - 1).bit_length()
    size = -(-bits // 8)
    while True:
        found = int.from_bytes(rng.bytes(size), "big") >> (8 * size - bits)
        if found < end:
            return found


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
