"""How every record fares, by its position in the order, and which one is worst off.

All functions return `mu^2`, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from wane.arrays import Array
from wane.describe.choices import EveryIterate, Iterates, LastIterate
from wane.describe.descent import NoisyDescent
from wane.theorems.lemmas import isotonic as pooling
from wane.theorems.lemmas.programme import (
    LEAST,
    Columns,
    Timeline,
    bounded_record_mu_squared,
    columns_of,
    record_mu_squared,
    timelines_of,
)

FEW_ROWS = 5_000
"""Up to this many segments are pooled one at a time; beyond, as arrays."""
MANY_POSITIONS = 10_000_000
"""Beyond this many positions composition charges every record for the most visits any can have."""


def composed(run: NoisyDescent) -> float:
    """Worst record's sum over its visits of `(sensitivity / noise)^2`: every iterate is seen."""
    by_position = composed_by_position(run)
    return float(np.max(by_position))


def composed_by_position(run: NoisyDescent) -> Array:
    """Return mu^2 of composition by position; one entry for all where there are too many."""
    assert run.gradient_sensitivity is not None
    data = run.plan.uses_records
    counts = run.plan.repeat[data]
    with np.errstate(divide="ignore", over="ignore"):
        cost = (run.gradient_sensitivity / run.gradient_noise_stds[data]) ** 2
    cost = np.maximum(cost, LEAST)  # a square that underflows is not zero
    period = run.steps_per_epoch
    rounding = 1.0 + 4e-16 * (len(counts) + 64.0)
    if not np.all(np.isfinite(cost)):
        return np.full(min(period, MANY_POSITIONS), math.inf)
    if period > MANY_POSITIONS:
        most = -(-counts // period)
        return np.array([float(np.sum(most * cost)) * rounding])
    everyone = float(np.sum((counts // period) * cost))
    if period == 1:
        return np.array([everyone * rounding])
    # the remainder of each phase visits an interval of positions, perhaps around the end
    start = (np.cumsum(counts) - counts) % period
    stop = start + counts % period
    extra = np.zeros(2 * period + 1)
    np.add.at(extra, start, cost)
    np.add.at(extra, stop, -cost)
    extra = np.cumsum(extra)[: 2 * period]
    return (everyone + np.maximum(extra[:period] + extra[period:], 0.0)) * rounding


def hidden(run: NoisyDescent, *, diameter: float = math.inf) -> float:
    """Return the joint programme's value for the worst record, over all that is released."""
    if isinstance(run.release, EveryIterate):
        return composed(run)
    if len(run.plan) > FEW_ROWS and not isinstance(run.release, Iterates):
        return float(np.max(_hidden_arrays(run)))
    timelines = timelines_of(run)
    values = [_record(timelines, p, diameter) for p in _suspects(run, timelines)]
    return float(np.max(values))  # which, unlike max(), does not overlook a NaN


def hidden_by_position(run: NoisyDescent, *, diameter: float = math.inf) -> Array:
    """Return the joint programme's value for each position in the order."""
    if isinstance(run.release, EveryIterate):
        return composed_by_position(run)
    if len(run.plan) > FEW_ROWS and not isinstance(run.release, Iterates):
        return _hidden_arrays(run)
    timelines = timelines_of(run)
    return np.array([_record(timelines, p, diameter) for p in range(run.steps_per_epoch)])


def group(run: NoisyDescent, batches: Sequence[int]) -> float:
    """Records that change together, one batch number (from 0) each: their shifts add up."""
    columns = columns_of(run)
    steps = columns.taken(np.repeat(np.arange(len(columns.count)), columns.count))
    used = np.flatnonzero(steps.uses_records)
    changed = np.bincount(batches, minlength=run.steps_per_epoch)[
        np.arange(len(used)) % run.steps_per_epoch
    ]
    visits, times = used[changed > 0], changed[changed > 0]
    log_shift = steps.log_shift.copy()
    log_shift[visits] += np.log(times)
    steps = replace(steps, log_shift=log_shift)
    looks = run.release.steps if isinstance(run.release, Iterates) else ()
    borders = [0, *(s for s in looks if s < len(log_shift)), len(log_shift)]
    pieces = [
        _array_value(
            steps.taken(np.arange(first, last)),
            visits[(visits >= first) & (visits < last)] - first,
        )
        for first, last in pairwise(borders)
    ]
    return math.fsum(pieces) * (1.0 + 1e-15 * len(pieces))


def _record(timelines: tuple[Timeline, ...], position: int, diameter: float) -> float:
    if math.isinf(diameter):
        values = [record_mu_squared(t, position) for t in timelines]
    else:
        values = [bounded_record_mu_squared(t, position, diameter) for t in timelines]
    return math.fsum(values) * (1.0 + 1e-15 * len(values))


def _suspects(run: NoisyDescent, timelines: tuple[Timeline, ...]) -> range:
    """Return positions among which that of the worst record is sure to be.

    With equal data steps the record used last has the fewest steps after it, and each further step
    is post-processing; a cool-down keeps that order unless the data steps expand.
    """
    period = run.steps_per_epoch
    data = [s for t in timelines for s in t.segments if s.uses_records]
    if isinstance(run.release, LastIterate) and len(data) == 1:
        ends_with_data = timelines[0].segments[-1].uses_records
        if ends_with_data or data[0].log_constant <= 0.0:
            last = (data[0].count - 1) % period
            return range(last, last + 1)
    return range(period)


def _hidden_arrays(run: NoisyDescent) -> Array:
    """Every position's value for a long schedule of different steps."""
    columns = columns_of(run)
    if np.any(np.isinf(columns.log_noise)):
        return np.full(run.steps_per_epoch, math.inf)  # a noiseless step: not worth a promise
    steps = columns
    if np.any(columns.count > 1):
        steps = columns.taken(np.repeat(np.arange(len(columns.count)), columns.count))
    period = run.steps_per_epoch
    used = np.flatnonzero(steps.uses_records)
    return np.array([_array_value(steps, used[p::period]) for p in range(period)])


def _array_value(steps: Columns, visits: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    if not len(visits):
        return 0.0
    start = int(visits[0])
    log_c = steps.log_constant[start:]
    if len(visits) == len(log_c):
        return pooling.mu_squared(steps.log_shift[start:], 2.0 * steps.log_noise[start:], log_c)
    firsts = visits - start
    lengths = np.diff(firsts, append=len(log_c))
    coarse, fine = pooling.running_sums(log_c)
    # what the steps of each block, from the one that visits on, have done to the distance
    local = coarse - np.repeat(coarse[firsts], lengths)
    local += fine - np.repeat(fine[firsts], lengths)
    ends = local[firsts + lengths - 1]
    terms = 2.0 * (steps.log_noise[start:] - local)
    top = np.maximum(np.maximum.reduceat(terms, firsts), -1e300)  # finite also without noise
    sums = np.add.reduceat(np.exp(terms - np.repeat(top, lengths)), firsts)
    with np.errstate(divide="ignore"):
        variance = np.log(sums) + top + 2.0 * ends
    found = pooling.mu_squared(steps.log_shift[visits] + ends, variance, ends + log_c[firsts])
    size, rest = (float(np.max(np.abs(part))) for part in (local, fine))
    # by sums over each block: of logarithms, of what is left of them, and of variances
    lost = 4e-15 * size + 5e-16 * len(log_c) * rest + 2.5e-16 * float(np.max(lengths))
    return found * (1.0 + lost)
