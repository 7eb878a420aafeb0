"""The joint programme for long arrays of different steps: isotonic regression, in C.

In coordinates divided by the running product of Lipschitz constants the pooling rule of
`programme` is weighted isotonic regression.  That product over- or underflows on long runs, so the
array is cut into chunks over which it stays in range, and the chunks' blocks are pooled at their
junctions with the logarithmic rule.  `programme.Pool` computes the same number one block at a time;
the tests hold the two against each other.
"""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array
from wane.theorems.lemmas.programme import LEAST, Block

RANGE = 200.0
"""Chunks end before the logarithm of the running product has moved this far."""


def mu_squared(log_shift: Array, log_variance: Array, log_product: Array) -> float:
    """Value of the programme for one block per entry (`S`, `U`, `G` as logarithms), rounded up."""
    left = _Chain()
    running = np.cumsum(log_product)
    start = 0
    while start < len(log_product):
        stop = _chunk_end(running, log_product, start)
        left.extend(_chunk(log_shift, log_variance, log_product, start, stop))
        start = stop
    return left.mu_squared


def running_sums(logs: Array) -> tuple[Array, Array]:
    """Running sums in two parts, a coarse one that is exact and what is left, which is small.

    The rounding of a plain running sum is that of its largest value, and equal steps repeat it;
    differences of these parts are known to an ulp of their own.
    """
    size = float(np.sum(np.abs(logs)))
    if not 1e-280 < size < 1e280:
        return np.zeros_like(logs), np.cumsum(logs)
    unit = 2.0 ** (math.frexp(size)[1] - 51)
    coarse = np.round(logs / unit) * unit  # multiples of a unit that doubles of this size hold
    return np.cumsum(coarse), np.cumsum(logs - coarse)


def _chunk_end(running: Array, log_product: Array, start: int) -> int:
    base = running[start] - log_product[start]
    low, window = start, 256
    while low < len(running):
        far = np.abs(running[low : low + window] - base) > RANGE
        first = int(np.argmax(far))
        if far[first]:
            return max(low + first, start + 1)
        low, window = low + window, 2 * window
    return len(running)


def _chunk(
    log_shift: Array, log_variance: Array, log_product: Array, start: int, stop: int
) -> tuple[Array, Array, Array, Array]:
    """Pool inside one chunk; returns offset, log S, log U, log G of its blocks."""
    from scipy.optimize import isotonic_regression

    shift, variance = log_shift[start:stop], log_variance[start:stop]
    coarse, fine = running_sums(log_product[start:stop])
    local = coarse + fine
    if stop - start == 1:
        return np.zeros(1), shift, variance, local
    scale_s, scale_u = float(np.max(shift)), float(np.max(variance))
    s = np.exp(shift - scale_s - local)
    u = np.exp(variance - scale_u - 2.0 * local)
    ends = isotonic_regression(s / u, weights=u).blocks
    firsts = ends[:-1]
    S, U = np.add.reduceat(s, firsts), np.add.reduceat(u, firsts)
    at_end = local[ends[1:] - 1]
    products = np.diff(at_end, prepend=0.0)
    # S and U are measured at the chunk's start; the offset carries them to each block's end.
    return at_end, np.log(S) + scale_s, np.log(U) + scale_u, products


class _Chain:
    """Pooled blocks of the chunks so far; only the junction is ever touched again."""

    def __init__(self) -> None:
        self._done: list[tuple[Array, Array, Array, Array]] = []
        self._doubt = 0.0

    def extend(self, chunk: tuple[Array, Array, Array, Array]) -> None:
        offset, shift, variance, product = chunk
        first = _block(chunk, 0)
        pooled = first
        used = 1
        while self._done:
            left = self._done[-1]
            top = _block(left, len(left[0]) - 1)
            if top.log_slope > pooled.log_slope + pooled.log_product:
                pooled = top.then(pooled)
                self._pop()
            elif used < len(offset) and _follows(pooled, _block(chunk, used)):
                pooled = pooled.then(_block(chunk, used))
                used += 1
            else:
                break
        while used < len(offset) and pooled is not first and _follows(pooled, _block(chunk, used)):
            pooled = pooled.then(_block(chunk, used))
            used += 1
        self._done.append(_arrays(pooled))
        self._doubt = max(self._doubt, pooled.doubt)
        if used < len(offset):
            self._done.append((offset[used:], shift[used:], variance[used:], product[used:]))

    def _pop(self) -> None:
        rest = tuple(column[:-1] for column in self._done.pop())
        if len(rest[0]):
            self._done.append((rest[0], rest[1], rest[2], rest[3]))

    @property
    def mu_squared(self) -> float:
        pieces = [_values(shift, variance) for _, shift, variance, _ in self._done]
        pieces.append(math.fsum(pieces) * self._doubt)
        total = float(math.fsum(pieces)) * (1.0 + 1e-15)
        return math.inf if math.isnan(total) else max(total, LEAST)


def _follows(left: Block, right: Block) -> bool:
    return left.log_slope > right.log_slope + right.log_product


def _block(columns: tuple[Array, Array, Array, Array], index: int) -> Block:
    offset, shift, variance, product = columns
    return Block(
        float(offset[index]), float(shift[index]), float(variance[index]), float(product[index])
    )


def _arrays(block: Block) -> tuple[Array, Array, Array, Array]:
    return (
        np.array([block.offset]),
        np.array([block.log_shift]),
        np.array([block.log_variance]),
        np.array([block.log_product]),
    )


def _values(shift: Array, variance: Array) -> float:
    """Return the sum of `S^2 / U`, widened by what exp, log and the sums may have lost."""
    size = float(np.max(2.0 * np.abs(shift) + np.abs(variance)))
    margin = 4e-16 * (64.0 + size + 2.0 * RANGE)
    return float(np.sum(np.exp(2.0 * shift - variance))) * (1.0 + margin)
