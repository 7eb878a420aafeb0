"""Bounds on one record's part in a step, in balls, from the definitions of the constants.

The contribution of a record is what it adds to the sum of a step.  A null or absent record adds
nothing.  Where nothing was declared that bounds a number, it is infinite.
"""

from __future__ import annotations

import math

from flint import arb

from wane.balls.arithmetic import ball
from wane.describe import Adjacency, NoisyDescent, Objective, Poisson


def _least(*values: arb | None) -> arb:
    smallest = arb.pos_inf()
    for value in values:
        if value is not None:
            smallest = smallest.min(value)
    return smallest


def longest(losses: Objective) -> arb:
    """Return a bound on the longest contribution."""
    return _least(None if losses.gradient_bound is None else ball(losses.gradient_bound))


def difference(losses: Objective) -> arb:
    """Return a bound on the difference of two real records' contributions at one point."""
    declared = losses.gradient_difference_bound
    return _least(None if declared is None else ball(declared), 2 * longest(losses))


def sensitivity(run: NoisyDescent) -> arb:
    """Return a bound on the change of the averaged gradient by one record at one point."""
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    return (difference(run.objective) if replaced else longest(run.objective)) / run.batch_size


def change(run: NoisyDescent) -> arb:
    """Return a bound on the change of one record's contribution between points of the domain."""
    losses, width = run.objective, run.domain.diameter
    bounds = [2 * longest(losses)]
    bends = [(losses.smoothness, 1.0), (losses.holder_constant, losses.holder_exponent)]
    for constant, power in bends:
        if constant is None or power is None:
            continue
        if constant == 0.0 or power == 0.0:
            bounds.append(ball(constant))
        elif math.isfinite(width):
            bounds.append(ball(constant) * ball(width) ** ball(power))
    return _least(*bounds)


def apart(run: NoisyDescent) -> arb:
    """Return a bound on the distance of the record's versions at two points, in an average."""
    losses = run.objective
    if run.adjacency is not Adjacency.REPLACE_ONE:
        return longest(losses) / run.batch_size
    return _least(2 * longest(losses), difference(losses) + change(run)) / run.batch_size


def member(run: NoisyDescent) -> arb:
    """Return the change of the average when the record enters a random batch, or takes a place."""
    losses = run.objective
    if isinstance(run.batches, Poisson):
        return longest(losses) / run.batch_size
    if run.adjacency is Adjacency.REPLACE_ONE:
        return difference(losses) / run.batch_size
    return difference(losses).max(longest(losses)) / run.batch_size


def bounded(run: NoisyDescent) -> bool:
    """Return whether all that the theorems for such batches need of a record is bounded."""
    return bool(sensitivity(run).is_finite() and member(run).is_finite())
