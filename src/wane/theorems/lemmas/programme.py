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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
