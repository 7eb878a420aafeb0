"""The modulus programme of a run in a bounded set, for records in a fixed order."""

from __future__ import annotations

from flint import arb

from wane.describe import FullBatch, NoisyDescent
from wane.describe.schedule import Phase
from wane.verify.balls import ball
from wane.verify.meeting import Stretch, least_cost
from wane.verify.moduli import Modulus, Sizes, modulus_of
from wane.verify.reach import sensitivity
from wane.verify.steps import iterate_variance

MOST_EPOCHS = 500
"""Of cyclic batches only the last epochs are followed, which is valid, too."""


def plan_cost(run: NoisyDescent) -> arb | None:
    """The least cost found of bringing two runs together; None if no modulus is known."""
    unit = ball(run.domain.diameter)
    if not unit > 0:
        return None
    moduli: dict[Phase, Modulus | None] = {}
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
        stretches.append(Stretch(modulus, shift, variance, count))
    return least_cost(stretches, arb(1))


def _timeline(run: NoisyDescent) -> list[tuple[Phase, int, bool]]:
    """Phases and counts in order of time, and whether the worst record is used: the last one."""
    period, phases = run.steps_per_epoch, list(run.plan)
    if isinstance(run.batches, FullBatch) or period == 1:
        return [(phase, phase.repeat, not phase.cool_down) for phase in phases]
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
