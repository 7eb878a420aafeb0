"""The modulus programme of a run in a bounded set, again and in balls."""

from __future__ import annotations

import math

from flint import arb

from wane.balls.arithmetic import ball
from wane.balls.bounds import Bound, Searched
from wane.balls.lemmas import positions
from wane.balls.lemmas.hypotheses import fixed_order, smooth
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.balls.lemmas.moduli import ModulusInBalls, Sizes, modulus_of
from wane.balls.lemmas.reach import sensitivity
from wane.balls.lemmas.tangent_programme import StepsInBalls, least_cost
from wane.balls.verifier import verifier
from wane.describe import FullBatch, LastIterate, NoisyDescent
from wane.describe.schedule import Phase

MOST_EPOCHS = 500
"""Of cyclic batches only the last epochs are followed, which is valid, too."""


@verifier()
def last_iterate_modulus(run: NoisyDescent) -> Bound | None:
    """The modulus programme, composition, or the joint programme: whichever is least."""
    plain = isinstance(run.batches, FullBatch) or len(run.plan) == 1
    bounded = math.isfinite(run.domain.diameter) and run.domain.strong_convexity >= 0
    noisy = all(iterate_variance(run, phase) > 0 for phase in run.plan)
    last = isinstance(run.release, LastIterate)
    if not (fixed_order(run) and last and plain and bounded and noisy):
        return None
    known = [positions.composed(run)]
    if smooth(run):
        pieces = positions.pieces_of(run)
        assert pieces is not None
        known.append(positions.worst_hidden(run, pieces, run.domain.diameter))
    return Searched(positions.least(known), longer=lambda: plan_cost(run))


def plan_cost(run: NoisyDescent) -> arb | None:
    """The least cost found of bringing two runs together; None if no modulus is known."""
    unit = ball(run.domain.diameter)
    if not unit > 0:
        return None
    moduli: dict[Phase, ModulusInBalls | None] = {}
    sizes = Sizes(run.last_batch_size, run.batch_size, run.batch_size)
    for phase in run.plan:
        moduli[phase] = modulus_of(run, phase, sizes, unit)
    stretches = []
    for phase, count, visited in _timeline(run):
        modulus = moduli[phase]
        if modulus is None:
            return None
        shift = ball(phase.step_size) * sensitivity(run) / unit if visited else arb(0)
        variance = iterate_variance(run, phase) / unit**2
        stretches.append(StepsInBalls(modulus, shift, variance, count))
    return least_cost(stretches, arb(1))


def _timeline(run: NoisyDescent) -> list[tuple[Phase, int, bool]]:
    """Phases and counts in order of time, and whether the worst record is used: the last one."""
    period, phases = run.steps_per_epoch, list(run.plan)
    if isinstance(run.batches, FullBatch) or period == 1:
        return [(phase, phase.repeat, phase.uses_records) for phase in phases]
    (phase,) = phases
    made: list[tuple[Phase, int, bool]] = []
    left = phase.repeat
    while left and len(made) < 2 * MOST_EPOCHS:
        made.append((phase, 1, True))
        quiet = min(left, period) - 1
        if quiet:
            made.append((phase, quiet, False))
        left -= 1 + quiet
    return made[::-1]
