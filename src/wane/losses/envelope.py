"""The Lipschitz envelope of softmax, solved for all records of a block at once.

For the multinomial logistic loss g(u) = log(sum exp u) - u_y and a cap c the envelope is

    g_c(u) = inf over v of  g(v) + c |u - v| ,

convex, c-Lipschitz, as smooth as g, and equal to g where the residual p - e_y is no longer than c.
Elsewhere its gradient is q = p - e_y with  |q| = c,  u = log p + t q + constant,  t > 0.

**Two unknowns.**  Write q = miss (r - e_y), with r a distribution on the classes other than y.
Then |q| = c says miss = c/sqrt(1 + |r|^2), and with the pull tau = t miss the rest of the equations
are

    log r_j + tau r_j + level = u_j  (j not y),   sum r_j = 1,
    log((1 - miss)/miss) - tau + level = u_y .

For fixed tau the first line has one solution; the difference of the two sides of the last line then
falls in tau at least as fast as -tau does, so the solution is unique.  Newton's method on (log r,
level, tau) costs O(classes) for each record: the matrix is diagonal with a border of two.

**What is returned is certified.**  Any r makes the returned q, by construction, a residual of
length c: the exact gradient of the envelope at the margins  log p + t q.  How far these are from
the margins that were asked for is computed; the envelope is 1/2-smooth, so the returned residual is
off by at most half as much.  All records take the same number of Newton steps, enough for ten
classes at any scale of the margins; the first ones, in which every digit is still to come, are in
single precision, where exp and log cost a fraction.  A record whose distance is still above
TOLERANCE (1 + |gap|) takes many in double precision, and if that does not help goes through a
bracketing solver.  The proof, and what the error costs: docs/proofs/envelope.md.

Arrays are (classes, records) here, so that sums over classes add long rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import wrightomega

from wane.arrays import Mask
from wane.losses import softmax_residuals as softmax
from wane.losses.softmax_residuals import Index

Array = NDArray[Any]
"""Of single or double precision."""

TOLERANCE = 2.0**-38
ROUGH_STEPS = 7
"""In single precision, from the plain softmax."""
NEWTON_STEPS = 2
"""In double precision, from there; each doubles the number of digits."""
MORE_STEPS = 32
POLISHING_STEPS = 4
BRACKET_STEPS = 64
LEVEL_STEPS = 24
NO_SHARE = -1e30
"""Margin of a class that takes no part: its share vanishes, and it is still a number."""
LARGEST_CAP = 1.0
"""A record's cap between 1 and sqrt(2) is taken as 1, where the miss is below 1 whatever r is."""

State = tuple[Array, Array, Array]
"""log r, level and pull of every record."""


def residuals(margins: Array, labels: Index, bounds: Array) -> Array:
    """Return the derivative of the envelope of each record, of length at most its bound."""
    with np.errstate(all="ignore"):
        return _residuals(margins, labels, bounds)


def _residuals(margins: Array, labels: Index, bounds: Array) -> Array:
    others, gap, pick = softmax.split(margins, labels)
    miss, rest = softmax.miss_and_rest(others, gap)
    caps = np.minimum(bounds, LARGEST_CAP)
    active = (miss * np.sqrt(1.0 + _dot(rest, rest)) > caps) & (bounds < softmax.LONGEST)
    active &= bounds > 0.0  # a cap of zero leaves nothing to solve for
    others[pick] = NO_SHARE
    level = -np.log(rest.max(axis=0))  # the largest of the others is 0
    state = _rough(others, gap, caps, level)
    for _ in range(NEWTON_STEPS):
        state = _step(others, gap, caps, state)
    failed = np.flatnonzero(active & ~_certified(others, gap, caps, state))
    if failed.size:
        repaired = _repair(others[:, failed], gap[failed], caps[failed], level[failed])
        for part, better in zip(state, repaired, strict=True):
            part[..., failed] = better
    share = np.exp(state[0])
    share /= share.sum(axis=0)
    bent = caps / np.sqrt(1.0 + _dot(share, share))
    rest, miss = np.where(active, share, rest), np.where(active, bent, miss)
    result = softmax.shortened(softmax.assemble(miss, rest, pick), bounds)
    # Margins beyond 1e100 may leave the floats; any short residual is within the stated error
    # there.
    result[~np.isfinite(result)] = 0.0
    return result


def _rough(others: Array, gap: Array, caps: Array, level: Array) -> State:
    """Return a few digits of the state, in single precision; wrong for margins beyond its range."""
    others, gap, caps, level = (part.astype(np.float32) for part in (others, gap, caps, level))
    state = _from_plain(others, gap, caps, level, ROUGH_STEPS)
    logs, level, pull = (part.astype(np.float64) for part in state)
    return logs, level, pull


def _from_plain(others: Array, gap: Array, caps: Array, level: Array, count: int) -> State:
    """Return the state after Newton steps from the plain softmax, which has this level."""
    return _steps(others, gap, caps, (others - level, level, np.zeros_like(gap)), count)


def error(margin_bound: float) -> float:
    """Return how far a residual may be from that of the exact envelope, for margins this long."""
    return 2.0 * TOLERANCE * max(1.0, margin_bound)


def _repair(others: Array, gap: Array, caps: Array, level: Array) -> State:
    """Return the state after many steps in double precision, bracketed where these do not help."""
    result = _from_plain(others, gap, caps, level, MORE_STEPS)
    left = np.flatnonzero(~_certified(others, gap, caps, result))
    if left.size:
        problem = (others[:, left], gap[left], caps[left])
        better = _steps(*problem, _bracket(*problem), POLISHING_STEPS)
        for entry, part in zip(result, better, strict=True):
            entry[..., left] = part
    return result


def _certified(others: Array, gap: Array, caps: Array, state: State) -> Mask:
    return np.asarray(_distance(others, gap, caps, state) <= TOLERANCE * (1.0 + np.abs(gap)))


def _steps(others: Array, gap: Array, caps: Array, state: State, count: int) -> State:
    """Return the state after Newton steps, each cut from above, from a start possibly far away."""
    for _ in range(count):
        logs, level, pull = _step(others, gap, caps, state)
        state = np.minimum(logs, _ceiling(others - level, np.log(pull)), out=logs), level, pull
    return state


def _step(others: Array, gap: Array, caps: Array, state: State) -> State:
    logs, level, pull = state
    share = np.exp(logs)
    pulled = pull * share
    off = others - level
    off -= logs
    off -= pulled
    pulled += 1.0
    weight = share / pulled
    squared = weight * share
    a0, a1, a2 = weight.sum(axis=0), squared.sum(axis=0), _dot(squared, share)
    height = 1.0 + _dot(share, share)
    limits = np.finfo(share.dtype)
    miss = np.minimum(caps / np.sqrt(height), 1.0 - np.sqrt(limits.eps))
    slope = 1.0 / (height * (1.0 - miss))
    first = share.sum(axis=0) - 1.0 + _dot(weight, off)
    second = _label_gap(miss, level, pull, gap) + slope * _dot(squared, off)
    # a0 dlevel + a1 dpull = first;  (slope a1 - 1) dlevel + (slope a2 + 1) dpull = second
    low, high = slope * a1 - 1.0, slope * a2 + 1.0
    det = a0 * high - a1 * low
    up, more = (first * high - a1 * second) / det, (a0 * second - low * first) / det
    off -= up
    share *= more
    off -= share
    off /= pulled
    off += logs
    return off, level + up, np.maximum(pull + more, limits.tiny)


def _ceiling(height: Array, log_pull: Array) -> Array:
    """Return an upper bound on the log r with log r + pull r = height.

    With w = pull r and y = height + log pull, w + log w = y gives w <= e^y, and w <= y if y >= 1.
    Newton's method overshoots where r has to grow by orders of magnitude; from above it does not.
    """
    y = height + log_pull
    np.maximum(y, 1.0, out=y)
    np.log(y, out=y)
    y -= log_pull
    return np.asarray(np.minimum(y, height, out=y))


def _distance(others: Array, gap: Array, caps: Array, state: State) -> Array:
    """Return the distance from the given margins to those that the state solves exactly."""
    logs, level, pull = state
    share = np.exp(logs)
    total = share.sum(axis=0)
    off = others - level - (logs - np.log(total)) - pull * (share / total)
    off[share == 0.0] = 0.0  # a class without any share has none at the exact solution either
    miss = caps / np.sqrt(1.0 + _dot(share, share) / (total * total))
    label = _label_gap(miss, level, pull, gap)
    return np.asarray(np.sqrt(_dot(off, off) + label * label))


def _label_gap(miss: Array, level: Array, pull: Array, gap: Array) -> Array:
    """Return the residual of the last equation, left minus right side, u_y being -gap."""
    return np.log1p(-miss) - np.log(miss) - pull + level + gap


def _bracket(others: Array, gap: Array, caps: Array) -> State:
    """Return the state by Newton's method on the pull, inside a bracket that always shrinks.

    The excess of the last equation falls with slope -1 or steeper, so its value at 0 is an upper
    end.
    """
    pull = np.full_like(gap, 1e-300)
    level = _level(others, pull)
    excess, slope = _excess(others, gap, caps, pull, level)
    low, high = np.zeros_like(gap), np.maximum(excess, 1e-300)
    pull = np.clip(-excess / slope, low, high)
    for step in range(BRACKET_STEPS):
        pull = np.maximum(pull, 1e-300)
        level = _level(others, pull)
        excess, slope = _excess(others, gap, caps, pull, level)
        low = np.where(excess > 0.0, pull, low)
        high = np.where(excess > 0.0, high, pull)
        moved = pull - excess / slope
        inside = (moved > low) & (moved < high) & (step % 4 != 3)
        pull = np.where(excess == 0.0, pull, np.where(inside, moved, (low + high) / 2.0))
    pull = np.maximum(pull, 1e-300)
    level = _level(others, pull)
    return others - level - pull * _share(others, pull, level), level, pull


def _share(others: Array, pull: Array, level: Array) -> Array:
    """Return the r with log r + pull r + level = others."""
    return np.asarray(wrightomega(others - level + np.log(pull)) / pull)


def _level(others: Array, pull: Array) -> Array:
    """Return the level at which the shares sum to 1.

    At level -pull the largest class alone has the share 1.  The sum is convex and falls in the
    level, so Newton's method from there rises to the solution and never passes it.
    """
    level = -pull
    for _ in range(LEVEL_STEPS):
        share = _share(others, pull, level)
        level = level + (share.sum(axis=0) - 1.0) / (share / (1.0 + pull * share)).sum(axis=0)
    return level


def _excess(
    others: Array, gap: Array, caps: Array, pull: Array, level: Array
) -> tuple[Array, Array]:
    """Return the residual of the last equation at this pull, and its derivative."""
    share = _share(others, pull, level)
    weight = share / (1.0 + pull * share)
    squared = weight * share
    a0, a1, a2 = weight.sum(axis=0), squared.sum(axis=0), _dot(squared, share)
    height = 1.0 + _dot(share, share)
    miss = caps / np.sqrt(height)
    bend = (a1 * a1 / a0 - a2) / (height * (1.0 - miss))
    return _label_gap(miss, level, pull, gap), np.minimum(bend - a1 / a0, 0.0) - 1.0


def _dot(left: Array, right: Array) -> Array:
    return np.asarray(np.einsum("kn,kn->n", left, right))
