"""What one record can add to a step, in balls, read anew from the definitions of the constants.

The contribution of a record is what it adds to the sum of a step.  A null or absent record adds
nothing.  Where nothing was declared that bounds a number, it is infinite.
"""

from __future__ import annotations

import math

from flint import arb

from wane.balls.arithmetic import ball
from wane.describe import Adjacency, NoisyDescent, Objective, Poisson


def _least(*values: arb | None) -> arb:
    found = arb.pos_inf()
    for value in values:
        if value is not None:
            found = found.min(value)
    return found


def longest(losses: Objective) -> arb:
    """The longest contribution."""
    return _least(None if losses.gradient_bound is None else ball(losses.gradient_bound))


def difference(losses: Objective) -> arb:
    """The longest difference of two real records' contributions at one point."""
    declared = losses.gradient_difference_bound
    return _least(None if declared is None else ball(declared), 2 * longest(losses))


def sensitivity(run: NoisyDescent) -> arb:
    """How far one record moves the averaged gradient at one point."""
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    return (difference(run.objective) if replaced else longest(run.objective)) / run.batch_size


def change(run: NoisyDescent) -> arb:
    """How far one record's contribution moves between two points of the domain."""
    losses, width = run.objective, run.domain.diameter
    known = [2 * longest(losses)]
    bends = [(losses.smoothness, 1.0), (losses.holder_constant, losses.holder_exponent)]
    for constant, power in bends:
        if constant is None or power is None:
            continue
        if constant == 0.0 or power == 0.0:
            known.append(ball(constant))
        elif math.isfinite(width):
            known.append(ball(constant) * ball(width) ** ball(power))
    return _least(*known)


def apart(run: NoisyDescent) -> arb:
    """How far the differing record's versions are apart at two points, as parts of an average."""
    losses = run.objective
    if run.adjacency is not Adjacency.REPLACE_ONE:
        return longest(losses) / run.batch_size
    return _least(2 * longest(losses), difference(losses) + change(run)) / run.batch_size


def member(run: NoisyDescent) -> arb:
    """How far the average moves when the record enters a random batch, or takes a place in it."""
    losses = run.objective
    if isinstance(run.batches, Poisson):
        return longest(losses) / run.batch_size
    if run.adjacency is Adjacency.REPLACE_ONE:
        return difference(losses) / run.batch_size
    return difference(losses).max(longest(losses)) / run.batch_size


def bounded(run: NoisyDescent) -> bool:
    """Whether what the theorems for this kind of batches need of a record is bounded at all."""
    return bool(sensitivity(run).is_finite() and member(run).is_finite())
