"""Softmax residuals, compiled: plain, clamped, and by the envelope.

The same numbers as `wane.run.softmax` and `wane.run.envelope` give, whose words say what is solved
and why it may be believed.  NumPy calls on a few hundred rows spend their time in the interpreter,
for which threads must wait; these do not.  All records take the same number of Newton steps here
too, a hundred or so at a time, which stay in cache.  A record whose solution is not certified,
or that leaves the floats, is handed to the link's own code.

Functions that are to be compiled see numbers and arrays only; arrays of a chunk are (classes,
WIDTH), or (WIDTH,) where there is one number for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.run import compiling
from wane.run.envelope import LARGEST_CAP, NO_SHARE, TOLERANCE
from wane.run.links import Link
from wane.run.multi_links import Softmax, SoftmaxClamp, SoftmaxEnvelope
from wane.run.softmax import LONGEST

Array = NDArray[np.float64]
Residuals = Callable[[Array, Array, Array], Array]
Kernel = Callable[..., None]
"""Margins, labels and bounds; writes residuals, and which of them are done."""

WIDTH = 128
STEPS = 8
"""Enough for ten classes at almost any scale of the margins."""
LARGEST_MISS = 1.0 - 2.0**-26
TINY = float(np.finfo(np.float64).tiny)


def faster(link: Link, numbers: int) -> Residuals:
    """Return the residuals of this link, compiled if a table of so many numbers is worth it."""
    kernel = _kernels().get(type(link)) if numbers >= compiling.COMPILED_FROM else None
    return link.residuals if kernel is None else partial(_checked, link, kernel)


def _checked(link: Link, kernel: Kernel, margins: Array, targets: Array, bounds: Array) -> Array:
    made, done = np.empty_like(margins), np.empty(len(margins), dtype=np.bool_)
    kernel(margins, targets.astype(np.intp), bounds, made, done)
    left = np.flatnonzero(~done)
    if left.size:
        made[left] = link.residuals(margins[left], targets[left], bounds[left])
    return made


@cache
def _kernels() -> Mapping[type, Kernel]:
    """Compile, or return nothing where numba is not installed."""
    compiled = compiling.compiler()
    if compiled is None:
        return {}
    spread, cut, solved, shortened, written = (
        compiled(f) for f in (_spread, _cut, _solved, _shortened, _written)
    )
    # Newton's method forgives the order of additions, and its result is certified without.
    power = compiled(_power, fastmath=compiling.ANY_ORDER, inline="always")
    summed, shifts, moved = (
        compiled(f, fastmath=compiling.ANY_ORDER) for f in (_summing(power), _shifts, _moved)
    )
    steps = compiled(_stepping(summed, shifts, moved, cut))
    return {
        Softmax: compiled(_clamping(spread, written, unbounded=True)),
        SoftmaxClamp: compiled(_clamping(spread, written, unbounded=False)),
        SoftmaxEnvelope: compiled(_bending(spread, steps, solved, shortened, written)),
    }


def _clamping(spread: Any, written: Any, *, unbounded: bool) -> Kernel:
    """Softmax as it is, or with what the label lacks cut at bound/sqrt(2)."""

    def kernel(margins: Any, labels: Any, bounds: Any, made: Any, done: Any) -> None:
        others, share = np.empty((margins.shape[1], 1)), np.empty((margins.shape[1], 1))
        for i in range(len(margins)):
            _, _, miss = spread(margins[i], labels[i], others, share, 0)
            if not unbounded:
                miss = min(miss, bounds[i] / LONGEST)
            done[i] = written(share, 0, miss, labels[i], made[i])

    return kernel


def _bending(spread: Any, steps: Any, solved: Any, shortened: Any, written: Any) -> Kernel:
    """Softmax by its envelope."""

    def kernel(margins: Any, labels: Any, bounds: Any, made: Any, done: Any) -> None:
        # the last chunk may be short: what is left over in it is computed in vain
        classes = margins.shape[1]
        others, gap, caps = np.zeros((classes, WIDTH)), np.ones(WIDTH), np.ones(WIDTH)
        logs, level, pull = np.zeros((classes, WIDTH)), np.ones(WIDTH), np.ones(WIDTH)
        share, miss = np.zeros((classes, WIDTH)), np.ones(WIDTH)
        bent, room = np.zeros((classes, WIDTH)), np.empty((9, WIDTH))
        problem, state = (others, gap, caps), (logs, level, pull)
        for first in range(0, len(margins), WIDTH):
            width = min(WIDTH, len(margins) - first)
            for i in range(width):
                at = first + i
                gap[i], total, miss[i] = spread(margins[at], labels[at], others, share, i)
                caps[i] = min(bounds[at], LARGEST_CAP)
                level[i], pull[i] = np.log(total), 0.0
                for j in range(classes):
                    logs[j, i] = others[j, i] - level[i]
            steps(problem, state, bent, room)
            for i in range(width):
                at = first + i
                bent_miss, near = solved(problem, state, bent, i)
                long = shortened(share, i, miss[i], caps[i]) < miss[i]
                if long and 0.0 < bounds[at] < LONGEST:
                    kept = shortened(bent, i, bent_miss, bounds[at])
                    done[at] = written(bent, i, kept, labels[at], made[at]) and near
                else:
                    kept = shortened(share, i, miss[i], bounds[at])
                    done[at] = written(share, i, kept, labels[at], made[at])

    return kernel


def _spread(margins: Any, label: Any, others: Any, share: Any, i: Any) -> Any:
    """Fill in the other margins below their largest, and how these classes share what is missing.

    Returns how far below their largest the label is, the sum of the shares before division, and
    what is missing.
    """
    top = -np.inf
    for j in range(len(margins)):
        if j != label:
            top = max(top, margins[j])
    total = 0.0
    for j in range(len(margins)):
        others[j, i] = NO_SHARE if j == label else margins[j] - top
        share[j, i] = np.exp(others[j, i])
        total += share[j, i]
    for j in range(len(margins)):
        share[j, i] /= total
    gap = top - margins[label]
    return gap, total, 1.0 / (1.0 + np.exp(-gap) / total)


def _shortened(share: Any, i: Any, miss: Any, bound: Any) -> Any:
    """Return the miss, or less, with which miss (share - e_y) is no longer than the bound."""
    squares = 1.0
    for j in range(len(share)):
        squares += share[j, i] * share[j, i]
    length = miss * np.sqrt(squares)
    return miss * (bound / length) if length > bound else miss


def _written(share: Any, i: Any, miss: Any, label: Any, made: Any) -> Any:
    """Write miss (share - e_y); return whether that is finite."""
    total = 0.0
    for j in range(len(share)):
        made[j] = miss * share[j, i]
        total += made[j]
    made[label] = -miss
    return total < np.inf


def _stepping(summed: Any, shifts: Any, moved: Any, cut: Any) -> Callable[..., None]:
    def steps(problem: Any, state: Any, share: Any, room: Any) -> None:
        """Take Newton steps, each but the last cut from above."""
        for step in range(STEPS):
            summed(problem, state, share, room)
            shifts(problem, state, room)
            moved(problem, state, share, room)
            if step < STEPS - 1:
                cut(problem, state)

    return steps


def _power(x: Any) -> Any:
    """Return exp(x) to 12 digits, fewer where it is tiny, in operations on several at a time."""
    t = max(min(x, 300.0), -300.0) * 2.0**-10
    low = 1.0 + t * (1.0 + t * (1 / 2 + t / 6))
    high = 1 / 24 + t * (1 / 120 + t * (1 / 720 + t / 5040))
    p = low + t * t * t * t * high
    p *= p  # ten times: exp(x) = exp(t)^1024
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p


# Each loop below writes one array or two: these are told apart when it is entered, after which it
# takes several records at a time.  The rows of `room` are the sums of r, r^2, the three of weight
# r^k, the two that become the shifts, and two for a class at a time.


def _summing(power: Any) -> Callable[..., None]:
    def summed(problem: Any, state: Any, share: Any, room: Any) -> None:
        """Fill in the shares, and what the equations need of them."""
        (others, _, _), (logs, level, pull) = problem, state
        over, height, a0, a1, a2 = room[0], room[1], room[2], room[3], room[4]
        first, second, weight, off = room[5], room[6], room[7], room[8]
        room[:7] = 0.0
        for j in range(len(logs)):
            log, other, r = logs[j], others[j], share[j]
            for i in range(WIDTH):
                r[i] = power(log[i])
            for i in range(WIDTH):
                weight[i] = r[i] / (1.0 + pull[i] * r[i])
            for i in range(WIDTH):
                off[i] = other[i] - level[i] - log[i] - pull[i] * r[i]
            for i in range(WIDTH):
                over[i] += r[i]
                height[i] += r[i] * r[i]
            for i in range(WIDTH):
                a0[i] += weight[i]
                first[i] += weight[i] * off[i]
            for i in range(WIDTH):
                a1[i] += weight[i] * r[i]
                a2[i] += weight[i] * r[i] * r[i]
            for i in range(WIDTH):
                second[i] += weight[i] * r[i] * off[i]

    return summed


def _shifts(problem: Any, state: Any, room: Any) -> None:
    """Solve for the change of level and of pull, which take the place of the two sums."""
    (_, gap, caps), (_, level, pull) = problem, state
    over, height, a0, a1, a2 = room[0], room[1], room[2], room[3], room[4]
    first, second = room[5], room[6]
    for i in range(WIDTH):
        miss = min(caps[i] / np.sqrt(1.0 + height[i]), LARGEST_MISS)
        slope = 1.0 / ((1.0 + height[i]) * (1.0 - miss))
        one = over[i] - 1.0 + first[i]
        two = np.log((1.0 - miss) / miss) - pull[i] + level[i] + gap[i] + slope * second[i]
        low, high = slope * a1[i] - 1.0, slope * a2[i] + 1.0
        det = a0[i] * high - a1[i] * low
        first[i] = (one * high - a1[i] * two) / det
        second[i] = (a0[i] * two - low * one) / det


def _moved(problem: Any, state: Any, share: Any, room: Any) -> None:
    """Change the state."""
    (others, _, _), (logs, level, pull) = problem, state
    up, more, off = room[5], room[6], room[8]
    for j in range(len(logs)):
        log, other, r = logs[j], others[j], share[j]
        for i in range(WIDTH):
            off[i] = other[i] - level[i] - log[i] - pull[i] * r[i]
        for i in range(WIDTH):
            log[i] += (off[i] - up[i] - r[i] * more[i]) / (1.0 + pull[i] * r[i])
    for i in range(WIDTH):
        level[i] += up[i]
        pull[i] = max(pull[i] + more[i], TINY)


def _cut(problem: Any, state: Any) -> None:
    """Cut log r from above, as `envelope._ceiling` does; most are below what needs no logarithm."""
    (others, _, _), (logs, level, pull) = problem, state
    for i in range(WIDTH):
        log_pull = np.log(pull[i])
        for j in range(len(logs)):
            height = others[j, i] - level[i]
            if logs[j, i] > min(height, -log_pull):
                top = np.log(max(height + log_pull, 1.0)) - log_pull
                logs[j, i] = min(logs[j, i], height, top)


def _solved(problem: Any, state: Any, share: Any, i: Any) -> Any:
    """Fill in the normalised shares; return the miss, and whether the solution is certified."""
    (others, gap, caps), (logs, level, pull) = problem, state
    total = 0.0
    for j in range(len(logs)):
        share[j, i] = np.exp(logs[j, i])
        total += share[j, i]
    log_total, height, distance = np.log(total), 1.0, 0.0
    for j in range(len(logs)):
        share[j, i] /= total
        height += share[j, i] * share[j, i]
        if share[j, i] > 0.0:
            off = others[j, i] - level[i] - (logs[j, i] - log_total) - pull[i] * share[j, i]
            distance += off * off
    miss = caps[i] / np.sqrt(height)
    label = np.log1p(-miss) - np.log(miss) - pull[i] + level[i] + gap[i]
    distance += label * label
    return miss, np.sqrt(distance) <= TOLERANCE * (1.0 + abs(gap[i]))
