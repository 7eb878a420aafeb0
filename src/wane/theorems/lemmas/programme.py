"""The joint programme of shifted interpolation, solved exactly by pooling blocks.

One record's influence on a run of `T` steps is described by shifts `s_t` (how far the two runs'
maps differ; zero where the record is not used), Lipschitz constants `c_t` and noise deviations
`sigma_t`.  The last iterate is mu-GDP with

    mu^2 = min sum_t (a_t / sigma_t)^2   over   w_t = c_t w_{t-1} + s_t - a_t >= 0,  w_0 = w_T = 0,

and the minimum is a sum over blocks of steps (see docs/proofs/joint-programme.md).  A block is
described by what it does to the distance and to the variance:

    S  the shift it has accumulated at its end,
    U  the noise variance it has accumulated at its end,
    G  the product of its Lipschitz constants,

and contributes `S^2 / U`.  Two neighbours `A`, `B` are pooled while `S_A/U_A > (S_B/U_B) G_B`.

Everything is kept in logarithms relative to an offset, `S = exp(offset + log_shift)`,
`U = exp(2 offset + log_variance)`, so that neither 1e15 expanding steps nor noise of 1e-300
overflow, cancel, or silently return zero.

A run is a few segments of equal steps.  The record at `position` p of the cyclic order is used at
the data steps p, p + l, p + 2l, ... (counted from 0; l steps per epoch); cool-down steps and steps
on public records use no private record and do not advance the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array, Mask
from wane.describe.choices import Iterates
from wane.describe.descent import NoisyDescent
from wane.numerics.search import least_over_integers
from wane.theorems.lemmas.lipschitz import log_phase_lipschitz, log_prox_lipschitz

LEAST = 1e-300
"""Stands in for smaller values of mu^2, which doubles do not hold to full precision."""
ROUNDED = 2.5e-16
"""Relative error, at most, of two sums in a row."""


@dataclass(frozen=True)
class Block:
    """A pooled stretch of steps."""

    offset: float
    log_shift: float
    log_variance: float
    log_product: float
    doubt: float = 0.0
    """Relative error that pooling, and offsets in particular, may have left in S^2 / U."""

    @property
    def log_slope(self) -> float:
        """`ln (S / U)`, what the pooling rule compares."""
        return self.log_shift - self.log_variance - self.offset

    @property
    def value(self) -> float:
        """`S^2 / U`, rounded up."""
        if self.log_shift == -math.inf:
            return 0.0
        exponent = 2.0 * self.log_shift - self.log_variance
        margin = 4e-16 * (16.0 + 2.0 * abs(self.log_shift) + abs(self.log_variance)) + self.doubt
        if exponent > 709.0:
            return math.inf
        return max(math.exp(exponent) * (1.0 + margin), LEAST)

    def then(self, other: Block) -> Block:
        """Pool with the block that follows."""
        ours = self.offset + other.log_product
        offset = max(ours, other.offset)
        # the brackets matter: an offset of 1e6 would round the logarithms it is added to
        shifts = (self.log_shift + (ours - offset), other.log_shift + (other.offset - offset))
        variances = (
            self.log_variance + 2.0 * (ours - offset),
            other.log_variance + 2.0 * (other.offset - offset),
        )
        log_shift, log_variance = _log_add(*shifts), _log_add(*variances)
        # offsets are known to an ulp of their size; that matters where both sides do
        blur = 8e-16 * (abs(ours) + abs(other.offset))
        blur *= _share(*shifts) + _share(*variances)
        if log_shift > -math.inf:  # each sum is rounded, and long runs are pooled a step at a time
            blur += ROUNDED * (2.0 + 2.0 * abs(log_shift) + abs(log_variance))
        return Block(
            offset,
            log_shift,
            log_variance,
            self.log_product + other.log_product,
            max(self.doubt, other.doubt) + blur,
        )

    def repeated(self, count: int) -> Block:
        """Pool `count` copies of this block."""
        if count == 1:
            return self
        g = self.log_product
        return Block(
            self.offset + max(0.0, (count - 1) * g),
            self.log_shift + log_geometric_sum(g, count),
            self.log_variance + log_geometric_sum(2.0 * g, count),
            count * g,
            self.doubt,
        )


def constant_block(log_shift: float, log_constant: float, log_noise: float, length: int) -> Block:
    """One visit followed by `length - 1` steps without, all with the same constants."""
    growth = (length - 1) * log_constant
    return Block(
        max(growth, 0.0),
        log_shift + min(growth, 0.0),
        2.0 * log_noise + log_geometric_sum(2.0 * log_constant, length),
        length * log_constant,
    )


def quiet_block(log_constant: float, log_noise: float, length: int) -> Block:
    """`length` steps that do not use the record."""
    block = constant_block(0.0, log_constant, log_noise, length)
    return Block(block.offset, -math.inf, block.log_variance, block.log_product)


def log_geometric_sum(log_ratio: float, count: int) -> float:
    """`ln sum_{i<count} exp(-i |log_ratio|)`, the geometric sum divided by its largest term."""
    y = abs(log_ratio)
    if count == 1:
        return 0.0
    if count * y < 1e-17:
        return math.log(count)
    return math.log(math.expm1(-count * y) / math.expm1(-y))


def _log_add(a: float, b: float) -> float:
    high, low = (a, b) if a >= b else (b, a)
    if high == -math.inf:
        return -math.inf
    return high + math.log1p(math.exp(low - high))


def _share(a: float, b: float) -> float:
    """Return how much the smaller of two logarithms contributes to their sum."""
    return math.exp(-abs(a - b)) if math.isfinite(a) and math.isfinite(b) else 0.0


class Pool:
    """The blocks of one record so far; equal neighbours that stay apart are kept as a count."""

    def __init__(self) -> None:
        self._stack: list[tuple[Block, int]] = []

    def push(self, block: Block, count: int = 1) -> None:
        """Append `count` equal blocks, pooling whatever the rule asks for."""
        if count <= 0:
            return
        if block.log_product < 0.0:  # each would pool with the next: pool them all at once
            block, count = block.repeated(count), 1
        pooled, rest = block, count - 1
        while True:
            if self._stack and _must_pool(self._stack[-1][0], pooled):
                top, copies = self._stack.pop()
                taken = _count_pooled(copies, partial(_left_more, top, pooled))
                pooled = top.repeated(taken).then(pooled)
                if taken < copies:
                    self._stack.append((top, copies - taken))
            elif rest and pooled is not block and _must_pool(pooled, block):
                taken = _count_pooled(rest, partial(_right_more, pooled, block))
                pooled = pooled.then(block.repeated(taken))
                rest -= taken
            else:
                break
        if pooled is block:
            self._stack.append((block, count))
            return
        self._stack.append((pooled, 1))
        if rest:
            self._stack.append((block, rest))

    @property
    def mu_squared(self) -> float:
        """The programme's value, rounded up."""
        total = math.fsum(block.value * count for block, count in self._stack)
        return math.inf if math.isnan(total) else total * (1.0 + 1e-15)


def _must_pool(left: Block, right: Block) -> bool:
    return left.log_slope > right.log_slope + right.log_product


def _left_more(top: Block, pooled: Block, count: int) -> bool:
    return _must_pool(top, top.repeated(count).then(pooled))


def _right_more(pooled: Block, block: Block, count: int) -> bool:
    return _must_pool(pooled.then(block.repeated(count)), block)


def _count_pooled(copies: int, more: Callable[[int], bool]) -> int:
    """How many of `copies` equal blocks are pooled, at least one; `more(n)`: n are not enough.

    Chord slopes towards a fixed point are unimodal along a convex chain, so `more` changes its
    answer once and bisection finds where.
    """
    low, high = 1, copies
    while low < high:
        middle = (low + high) // 2
        if more(middle):
            low = middle + 1
        else:
            high = middle
    return low


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
