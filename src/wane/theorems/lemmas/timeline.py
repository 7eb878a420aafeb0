"""From a description to the joint programme: when each record is used, and by how much.

A run is a few segments of equal steps.  The record at `position` p of the cyclic order is used at
the data steps p, p + l, p + 2l, ... (counted from 0; l steps per epoch); cool-down steps and steps
on public records use no private record and do not advance the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask
from wane.describe.choices import Iterates
from wane.describe.descent import NoisyDescent
from wane.numerics.roots import least_over_integers
from wane.theorems.lemmas.lipschitz import log_phase_lipschitz, log_prox_lipschitz
from wane.theorems.lemmas.programme import Block, Pool, constant_block, quiet_block

LOST = 4e-16
"""Relative rounding error of a logarithm."""


@dataclass(frozen=True)
class Columns:
    """The run's steps as columns of equal length: counts, and logarithms of their constants."""

    count: NDArray[np.int64]
    log_constant: Array  # of the step together with the prox before it
    log_gradient_constant: Array  # of the step alone
    log_shift: Array
    log_noise: Array
    uses_records: Mask

    def taken(self, rows: NDArray[np.int64]) -> Columns:
        """Return these rows, in this order."""
        return Columns(*(getattr(self, f.name)[rows] for f in fields(self)))

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The same, row by row."""
        names = [getattr(self, f.name).tolist() for f in fields(self)]
        return tuple(Segment(*row) for row in zip(*names, strict=True))


@dataclass(frozen=True)
class Segment:
    """Equal steps: how many, and the logarithms of their constants."""

    count: int
    log_constant: float
    log_gradient_constant: float
    log_shift: float
    log_noise: float
    uses_records: bool


@dataclass(frozen=True)
class Timeline:
    """Segments between two looks at the iterate, and where the cyclic order stands."""

    segments: tuple[Segment, ...]
    period: int
    data_steps_before: int = 0

    @property
    def data_steps(self) -> int:
        """Number of steps that use records."""
        return sum(s.count for s in self.segments if s.uses_records)

    def visits(self, position: int) -> int:
        """Return how often the record at `position` is used."""
        first = (position - self.data_steps_before) % self.period
        return max(0, -(-(self.data_steps - first) // self.period))


def columns_of(run: NoisyDescent) -> Columns:
    """Return the run's steps; the first step of a phase follows the prox of the phase before."""
    plan, eta = run.plan, run.plan.step_size
    gradient = log_phase_lipschitz(run)
    prox = log_prox_lipschitz(run, eta)
    before = np.concatenate([prox[:1], prox[:-1]])
    assert run.gradient_sensitivity is not None
    log_eta, log_delta = np.log(eta), math.log(run.gradient_sensitivity)
    with np.errstate(divide="ignore"):
        log_std = np.log(run.gradient_noise_stds)
    # large logarithms that cancel leave the rounding errors of both behind
    shift = log_eta + log_delta + LOST * (np.abs(log_eta) + abs(log_delta))
    seen = np.where(np.isinf(log_std), 0.0, np.abs(log_eta) + np.abs(log_std))
    log_noise = log_eta + log_std - LOST * seen
    whole = Columns(
        plan.repeat,
        gradient + prox,
        gradient,
        shift,
        log_noise,
        plan.uses_records,
    )
    changed = before != prox
    if not changed.any():
        return whole
    # split off the first step of each phase whose predecessor's prox was another
    split = changed & (plan.repeat > 1)
    rows = np.repeat(np.arange(len(plan)), 1 + split)
    first = np.concatenate([[True], rows[1:] != rows[:-1]])
    made = whole.taken(rows)
    entering = np.where(first & changed[rows], (gradient + before)[rows], made.log_constant)
    count = np.where(split[rows], np.where(first, 1, made.count - 1), made.count)
    return replace(made, count=count, log_constant=entering)


def timelines_of(run: NoisyDescent) -> tuple[Timeline, ...]:
    """Return the run cut at every released iterate but the last."""
    segments, period = columns_of(run).segments, run.steps_per_epoch
    if not isinstance(run.release, Iterates):
        return (Timeline(segments, period),)
    cuts = [step for step in run.release.steps if step < run.total_steps]
    made, before = [], 0
    for piece in _cut(segments, cuts):
        made.append(Timeline(piece, period, before))
        before += made[-1].data_steps
    return tuple(made)


def _cut(segments: tuple[Segment, ...], cuts: list[int]) -> Iterator[tuple[Segment, ...]]:
    piece: list[Segment] = []
    done, todo = 0, list(cuts)
    for segment in segments:
        left = segment.count
        while todo and todo[0] < done + left:
            taken = todo.pop(0) - done
            if taken:
                piece.append(replace(segment, count=taken))
            yield tuple(piece)
            piece, done, left = [], done + taken, left - taken
        piece.append(replace(segment, count=left))
        done += left
        if todo and todo[0] == done:
            todo.pop(0)
            yield tuple(piece)
            piece = []
    if piece:
        yield tuple(piece)


def record_mu_squared(timeline: Timeline, position: int) -> float:
    """Return mu^2 of the record at `position` between two releases, in any domain, rounded up."""
    return _pooled(
        timeline.segments,
        timeline.period,
        (position - timeline.data_steps_before) % timeline.period,
        None,
    )


def _pooled(
    segments: tuple[Segment, ...], period: int, first_visit: int, opening: Block | None
) -> float:
    """Feed the segments to a pool; `first_visit` counts data steps."""
    pool = Pool()
    open_block = opening
    wait = first_visit
    for segment in segments:
        if not segment.uses_records:
            open_block = _extended(open_block, segment, segment.count)
            continue
        if wait >= segment.count:
            open_block = _extended(open_block, segment, segment.count)
            wait -= segment.count
            continue
        open_block = _extended(open_block, segment, wait)
        if open_block is not None:
            pool.push(open_block)
        left = segment.count - wait
        whole = (left - 1) // period
        pool.push(_visit(segment, period), whole)
        left -= whole * period
        open_block = _visit(segment, left)
        wait = period - left
    if open_block is not None:
        pool.push(open_block)
    return pool.mu_squared


def _visit(segment: Segment, length: int) -> Block:
    return constant_block(segment.log_shift, segment.log_constant, segment.log_noise, length)


def _extended(block: Block | None, segment: Segment, steps: int) -> Block | None:
    if block is None or steps == 0:
        return block
    return block.then(quiet_block(segment.log_constant, segment.log_noise, steps))


def bounded_record_mu_squared(timeline: Timeline, position: int, diameter: float) -> float:
    """As `record_mu_squared`, the two runs being at most `diameter` apart at all times.

    The interpolation may start after any step with that distance.  Only starts after a visit are
    tried, which loses nothing where steps do not expand; any start is sound.
    """
    best = record_mu_squared(timeline, position)
    visits = timeline.visits(position)
    if visits == 0:
        return best

    def started(back: int) -> float:
        return _started_after_visit(timeline, position, visits - 1 - back, diameter)

    # `back` visits follow the start; 0 means: start after the last visit
    return min(best, least_over_integers(started, 0, visits - 1))


def _started_after_visit(timeline: Timeline, position: int, visit: int, diameter: float) -> float:
    first = (position - timeline.data_steps_before) % timeline.period
    skipped = _after_data_step(timeline.segments, first + visit * timeline.period + 1)
    if not skipped:
        return math.inf  # the run ends with that visit
    head, *tail = skipped
    log_start = head.log_gradient_constant + math.log(diameter)
    visited_now = timeline.period == 1 and head.uses_records
    if visited_now:
        log_start = float(np.logaddexp(log_start, head.log_shift))
    opening = Block(0.0, log_start, 2.0 * head.log_noise, head.log_constant)
    rest = (replace(head, count=head.count - 1), *tail) if head.count > 1 else tuple(tail)
    wait = timeline.period - 1 - (1 if head.uses_records and not visited_now else 0)
    if visited_now:
        wait = 0
    return _pooled(rest, timeline.period, wait, opening)


def _after_data_step(segments: tuple[Segment, ...], data_steps: int) -> tuple[Segment, ...]:
    """Return what follows the first `data_steps` steps that use records."""
    left = data_steps
    for i, segment in enumerate(segments):
        if not segment.uses_records:
            continue
        if left < segment.count:
            return (replace(segment, count=segment.count - left), *segments[i + 1 :])
        left -= segment.count
        if left == 0:
            return segments[i + 1 :]
    return ()
