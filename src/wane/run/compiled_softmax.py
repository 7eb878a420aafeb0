"""Compiled residuals of softmax: plain, clamped, and by the envelope.

The same numbers as `wane.losses.softmax_residuals` and `wane.losses.envelope` give, whose words say
what is solved and why it may be believed.  NumPy calls on a few hundred rows spend their time in
the interpreter, for which threads must wait; these do not.  All records take the same number of
Newton steps here too, a hundred or so at a time, which stay in cache.  A record whose solution is
not certified, or that leaves the floats, is handed to the loss's own code.

Functions that are to be compiled see numbers and arrays only.  A chunk of WIDTH records has two: a
table with a row for each class, and a line.  Each holds several numbers for every record, one kind
behind the other, at the places named below.  Loops over records can then be told to be safe for
several at a time with one comparison of addresses, as their distances are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.losses import Loss, Softmax, SoftmaxClamp, SoftmaxEnvelope
from wane.losses.envelope import LARGEST_CAP, NO_SHARE, TOLERANCE
from wane.losses.softmax_residuals import LONGEST
from wane.run import compiled_functions, compiling

Residuals = Callable[[Array, Array, Array], Array]
Kernel = Callable[..., None]
"""Margins, labels and bounds; writes residuals, and which of them are done."""

WIDTH = 128
STEPS = 8
"""Enough for ten classes at almost any scale of the margins."""
LARGEST_MISS = 1.0 - 2.0**-26
LEAST_PULL = 2.0**-500
"""Has a logarithm, and products with it are not below the normal floats, which would be slow."""

OTHER, SHARE, LOG, BENT, SLOPE, OFF, CLASS_END = range(0, 7 * WIDTH, WIDTH)
"""Of a class: its margin below the largest of the others, its share of what is missing by plain
softmax, then its share by the envelope as a logarithm and as it is, and two that Newton needs."""
GAP, CAP, MISS, LEVEL, PULL, BENT_MISS, DISTANCE, A, B, C, D, E, F, G, LINE_END = range(
    0, 15 * WIDTH, WIDTH
)
"""Of a record; A to G are sums over its classes."""


def faster(link: Loss, numbers: int) -> Residuals:
    """Return the residuals of this link, compiled if a table of so many numbers is worth it."""
    kernel = _kernels().get(type(link)) if numbers >= compiling.COMPILED_FROM else None
    return link.residuals if kernel is None else partial(_checked, link, kernel)


def _checked(link: Loss, kernel: Kernel, margins: Array, targets: Array, bounds: Array) -> Array:
    residuals, done = np.empty_like(margins), np.empty(len(margins), dtype=np.bool_)
    kernel(margins, targets.astype(np.intp), bounds, residuals, done)
    left = np.flatnonzero(~done)
    if left.size:
        residuals[left] = link.residuals(margins[left], targets[left], bounds[left])
    return residuals


@cache
def _kernels() -> Mapping[type, Kernel]:
    """Return the compiled kernel of each loss, or none where numba is not installed."""
    compiler = compiling.compiler()
    if compiler is None:
        return {}
    exp, log, log_above = compiled_functions.compiled(compiler)
    # Newton's method forgives the order of additions, and its result is certified without.
    free = partial(compiler, fastmath=compiling.ANY_ORDER)
    begun = compiler(_beginning(compiler(_placed), exp))
    steps = (_summing(exp), _shifting(log), _moved, _cutting(log, log_above))
    stepped = compiler(_stepping(*(free(step) for step in steps)))
    solved = compiler(_solving(log, stepped, compiler(_certifying(exp, log))))
    shortened, written = compiler(_shortened), compiler(_written)
    return {
        Softmax: compiler(_plainly(begun, written, unbounded=True)),
        SoftmaxClamp: compiler(_plainly(begun, written, unbounded=False)),
        SoftmaxEnvelope: compiler(_bending(begun, solved, shortened, written)),
    }


def _plainly(begun: Any, written: Any, *, unbounded: bool) -> Kernel:
    """Return the kernel of softmax as it is, or with the label's residual cut at bound/sqrt(2)."""

    def kernel(margins: Any, labels: Any, bounds: Any, residuals: Any, done: Any) -> None:
        # the last chunk may be short: what is left over in it is computed in vain
        table, line = np.zeros((margins.shape[1], CLASS_END)), np.ones(LINE_END)
        for first in range(0, len(margins), WIDTH):
            width = begun(margins, labels, first, table, line)
            for i in range(width):
                at, miss = first + i, line[MISS + i]
                if not unbounded:
                    miss = min(miss, bounds[at] / LONGEST)
                done[at] = written(table, SHARE + i, miss, labels[at], residuals[at])

    return kernel


def _bending(begun: Any, solved: Any, shortened: Any, written: Any) -> Kernel:
    """Return the kernel of softmax by its envelope."""

    def kernel(margins: Any, labels: Any, bounds: Any, residuals: Any, done: Any) -> None:
        table, line = np.zeros((margins.shape[1], CLASS_END)), np.ones(LINE_END)
        for first in range(0, len(margins), WIDTH):
            width = begun(margins, labels, first, table, line)
            for i in range(width):
                line[CAP + i] = min(bounds[first + i], LARGEST_CAP)
            solved(table, line)
            for i in range(width):
                at = first + i
                miss, place, near = line[MISS + i], SHARE + i, True
                long = shortened(table, place, miss, line[CAP + i]) < miss
                if long and 0.0 < bounds[at] < LONGEST:
                    miss, place = line[BENT_MISS + i], BENT + i
                    near = line[DISTANCE + i] <= TOLERANCE * (1.0 + abs(line[GAP + i]))
                miss = shortened(table, place, miss, bounds[at])
                done[at] = written(table, place, miss, labels[at], residuals[at]) and near

    return kernel


def _placed(margins: Any, labels: Any, first: Any, table: Any, line: Any) -> Any:
    """Fill in the margins of a chunk; return how many records it has."""
    width = min(WIDTH, len(margins) - first)
    for i in range(width):
        row, label, top = margins[first + i], labels[first + i], -np.inf
        for j in range(len(row)):
            if j != label:
                top = max(top, row[j])
        for j in range(len(row)):
            table[j, OTHER + i] = row[j] - top
        table[label, OTHER + i] = NO_SHARE
        line[GAP + i] = top - row[label]
    return width


def _written(table: Any, place: Any, miss: Any, label: Any, residual: Any) -> Any:
    """Write miss (share - e_y); return whether that is finite."""
    total = 0.0
    for j in range(len(table)):
        residual[j] = miss * table[j, place]
        total += residual[j]
    residual[label] = -miss
    return total < np.inf


def _shortened(table: Any, place: Any, miss: Any, bound: Any) -> Any:
    """Return the miss, or less, with which miss (share - e_y) is no longer than the bound."""
    squares = 1.0
    for j in range(len(table)):
        squares += table[j, place] * table[j, place]
    length = miss * np.sqrt(squares)
    return miss * (bound / length) if length > bound else miss


def _beginning(placed: Any, exp: Any) -> Callable[..., Any]:
    def begun(margins: Any, labels: Any, first: Any, table: Any, line: Any) -> Any:
        """Fill in how the other classes share what is missing, and how much that is.

        A holds the sum of the shares before division.  Returns how many records the chunk has.
        """
        width = placed(margins, labels, first, table, line)
        line[A : A + WIDTH] = 0.0
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                share = exp(one[OTHER + i])
                one[SHARE + i] = share
                line[A + i] += share
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                one[SHARE + i] /= line[A + i]
        for i in range(WIDTH):
            line[MISS + i] = 1.0 / (1.0 + exp(-line[GAP + i]) / line[A + i])
        return width

    return begun


def _solving(log: Any, stepped: Any, certified: Any) -> Callable[..., None]:
    def solved(table: Any, line: Any) -> None:
        """Solve from the shares of plain softmax and no pull, and say how near the solution is."""
        for i in range(WIDTH):
            line[LEVEL + i] = log(line[A + i])
            line[PULL + i] = 0.0
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                one[LOG + i] = one[OTHER + i] - line[LEVEL + i]
        stepped(table, line)
        certified(table, line)

    return solved


def _stepping(summed: Any, shifted: Any, moved: Any, cut: Any) -> Callable[..., None]:
    def stepped(table: Any, line: Any) -> None:
        """Take Newton steps, each but the last cut from above."""
        for step in range(STEPS):
            summed(table, line)
            shifted(table, line)
            moved(table, line)
            if step < STEPS - 1:
                cut(table, line)

    return stepped


def _summing(exp: Any) -> Callable[..., None]:
    def summed(table: Any, line: Any) -> None:
        """Fill in the shares, and what the equations need of them."""
        line[A:LINE_END] = 0.0
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                r = exp(one[LOG + i])
                pulled = line[PULL + i] * r
                slope = 1.0 / (1.0 + pulled)
                off = one[OTHER + i] - line[LEVEL + i] - one[LOG + i] - pulled
                weight = r * slope
                one[BENT + i] = r
                one[SLOPE + i] = slope
                one[OFF + i] = off * slope
                line[A + i] += r
                line[B + i] += r * r
                line[C + i] += weight
                line[D + i] += weight * r
                line[E + i] += weight * r * r
                line[F + i] += weight * off
                line[G + i] += weight * r * off

    return summed


def _shifting(log: Any) -> Callable[..., None]:
    def shifted(_: Any, line: Any) -> None:
        """Solve for the change of level and of pull, which take the place of the last two sums."""
        for i in range(WIDTH):
            squares = 1.0 + line[B + i]
            miss = min(line[CAP + i] / np.sqrt(squares), LARGEST_MISS)
            slope = 1.0 / (squares * (1.0 - miss))
            odds = log((1.0 - miss) / miss)
            one = line[A + i] - 1.0 + line[F + i]
            two = odds - line[PULL + i] + line[LEVEL + i] + line[GAP + i] + slope * line[G + i]
            low, high = slope * line[D + i] - 1.0, slope * line[E + i] + 1.0
            determinant = line[C + i] * high - line[D + i] * low
            line[F + i] = (one * high - line[D + i] * two) / determinant
            line[G + i] = (line[C + i] * two - low * one) / determinant

    return shifted


def _moved(table: Any, line: Any) -> None:
    """Change shares, level and pull."""
    for j in range(len(table)):
        one = table[j]
        for i in range(WIDTH):
            drop = line[F + i] + one[BENT + i] * line[G + i]
            one[LOG + i] += one[OFF + i] - one[SLOPE + i] * drop
    for i in range(WIDTH):
        line[LEVEL + i] += line[F + i]
        line[PULL + i] = max(line[PULL + i] + line[G + i], LEAST_PULL)


def _cutting(log: Any, log_above: Any) -> Callable[..., None]:
    def cut(table: Any, line: Any) -> None:
        """Cut log r from above, almost where `envelope._ceiling` does."""
        for i in range(WIDTH):
            line[A + i] = log(line[PULL + i])
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                height = one[OTHER + i] - line[LEVEL + i]
                one[OFF + i] = min(one[LOG + i], height)
                # in a loop of its own: with the 1 in sight, a branch would be made for it
                one[SLOPE + i] = max(height + line[A + i], 1.0)
            for i in range(WIDTH):
                one[LOG + i] = min(one[OFF + i], log_above(one[SLOPE + i]) - line[A + i])

    return cut


def _certifying(exp: Any, log: Any) -> Callable[..., None]:
    def certified(table: Any, line: Any) -> None:
        """Fill in the shares, what is missing, and how far away this is the exact solution.

        A is the sum of the shares before division, B its logarithm, C the sum of squares.
        """
        line[A : C + WIDTH] = 0.0
        line[DISTANCE : DISTANCE + WIDTH] = 0.0
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                r = exp(one[LOG + i])
                one[BENT + i] = r
                line[A + i] += r
        for i in range(WIDTH):
            line[B + i] = log(line[A + i])
        for j in range(len(table)):
            one = table[j]
            for i in range(WIDTH):
                r = one[BENT + i] / line[A + i]
                log_r = one[LOG + i] - line[B + i]
                off = one[OTHER + i] - line[LEVEL + i] - log_r - line[PULL + i] * r
                one[BENT + i] = r
                line[C + i] += r * r
                line[DISTANCE + i] += off * off if r > 0.0 else 0.0
        for i in range(WIDTH):
            miss = line[CAP + i] / np.sqrt(1.0 + line[C + i])
            off = log((1.0 - miss) / miss) - line[PULL + i] + line[LEVEL + i] + line[GAP + i]
            line[BENT_MISS + i] = miss
            line[DISTANCE + i] = np.sqrt(line[DISTANCE + i] + off * off)

    return certified
