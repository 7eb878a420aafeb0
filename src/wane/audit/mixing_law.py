"""How long one concrete chain on an interval takes to forget its start: no mixing time is shorter.

The member has the flattest losses that the description allows, the same for all records, so that
batches make no difference to it; two copies start at the two ends of the longest side of the set.
Their laws live on the grid of `wane.audit.interval_law`, at two resolutions, whose gap is taken off
the total variation.
"""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array
from wane.audit.bounded_members import is_centred, longest_side
from wane.audit.bracket import bracket
from wane.audit.interval_law import ABSOLUTE, WIDTHS, AffineStep, IntervalGrid, IntervalPair
from wane.audit.members import curvatures
from wane.describe import Cyclic, NoisyDescent, Poisson, ShuffledOnce
from wane.describe.domains import Ball, Box, Diameter, LOneBall, WithRidge

WIDEST = 200.0
"""Noise deviations the interval may be wide."""
MOST_DOUBLINGS = 40


def fewest_mixing_steps(run: NoisyDescent, tv: float) -> int | None:
    """Return a number of steps that no sound mixing time is below; None if no member is known."""
    chain = _member(run)
    if chain is None:
        return None
    radius, passed = chain
    if 2.0 * radius > WIDEST * min(step.noise_std for step in passed):
        return None
    with np.errstate(under="ignore"):
        passes = _fewest_passes(radius, passed, tv)
    return None if passes is None else passes * len(passed)


def _member(run: NoisyDescent) -> tuple[float, list[AffineStep]] | None:
    """Return the radius of the interval, and the steps of one pass of the member."""
    domain, shrunk = run.domain, 0.0
    if isinstance(run.domain, WithRidge):
        domain, shrunk = run.domain.domain, run.domain.ridge
    side, allowed = longest_side(domain), curvatures(run.objective)
    plain = isinstance(domain, Box | Ball | LOneBall | Diameter)
    if side is None or not plain or allowed is None or len(run.plan) != 1 or side <= 0.0:
        return None
    if run.objective.ridge + shrunk > 0.0 and not is_centred(domain):
        return None
    std = float(run.plan.step_size[0]) * float(run.gradient_noise_stds[0])
    bend = _bend(run, allowed.low, allowed.high, side)
    if bend is None or std == 0.0 or run.objective.dimension not in (None, 1):
        return None
    fills = [1.0]
    if isinstance(run.batches, Cyclic | ShuffledOnce) and bend != 0.0:
        partial = run.last_batch_size / run.batch_size
        fills = [1.0] * (run.steps_per_epoch - 1) + [partial]
    eta = float(run.plan.step_size[0])
    # the prox of the ridge comes before the projection, and shrinks the noise as well
    prox_factor = 1.0 / (1.0 + eta * shrunk)
    steps = [
        AffineStep(
            prox_factor * (1.0 - eta * (fill * bend + run.objective.ridge)),
            ((1.0, 0.0),),
            prox_factor * std,
        )
        for fill in fills
    ]
    return 0.5 * side, steps


def _bend(run: NoisyDescent, low: float, high: float, side: float) -> float | None:
    """Return the least curvature of the class that leaves gradients within their bound."""
    bound = run.objective.gradient_bound
    if run.objective.clipped or isinstance(run.batches, Poisson) or math.isinf(low):
        return 0.0 if run.objective.clipped or low <= 0.0 <= high else None
    if bound is not None and abs(low) * 0.5 * side > bound:
        return 0.0 if low <= 0.0 <= high else None
    eta = float(run.plan.step_size[0])
    return low if abs(1.0 - eta * (low + run.objective.ridge)) <= 4.0 else None


def _fewest_passes(radius: float, passed: list[AffineStep], tv: float) -> int | None:
    """Return one more than the largest number of passes that leave the ends provably apart."""
    powers = [[_pass(radius, passed, width)] for width in WIDTHS]
    ends = [_ends(len(power[0])) for power in powers]
    for _ in range(MOST_DOUBLINGS):
        if not _apart([power[-1] @ end for power, end in zip(powers, ends, strict=True)], tv):
            break
        for power in powers:
            power.append(power[-1] @ power[-1])
    else:
        return None
    laws, count = ends, 0
    for place in range(len(powers[0]) - 2, -1, -1):
        tried = [power[place] @ law for power, law in zip(powers, laws, strict=True)]
        if _apart(tried, tv):
            laws, count = tried, count + 2**place
    return count + 1


def _pass(radius: float, passed: list[AffineStep], width: float) -> Array:
    grid = IntervalGrid(IntervalPair(radius, [(step, step) for step in passed], 0.0), width)
    product = np.eye(len(grid.states))
    kernels = {step: grid.kernel(step, grid.states) for step in set(passed)}
    for step in passed:
        product = kernels[step] @ product
    return product


def _ends(states: int) -> Array:
    """Return all mass at either end, which are the last two states."""
    both = np.zeros((states, 2))
    both[-2, 0] = both[-1, 1] = 1.0
    return both


def _apart(laws: list[Array], tv: float) -> bool:
    """Return whether the total variation exceeds this, less the grid's own error."""
    coarse, fine = (0.5 * float(np.sum(np.abs(law[:, 0] - law[:, 1]))) for law in laws)
    return bracket(coarse, fine, floor=2.0 * ABSOLUTE).lower > tv
