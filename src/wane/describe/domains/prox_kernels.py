"""Vectorised computations that several proximal operators share.

Points run along the last axis.  Nothing here knows a domain, a step size or a description.
"""

from __future__ import annotations

import numpy as np

from wane.arrays import Array, Mask


def lengths(points: Array) -> Array:
    """Return Euclidean lengths, last axis kept, without overflow or underflow of the squares."""
    scale = np.abs(points).max(axis=-1, keepdims=True, initial=0.0)
    safe = np.where(scale > 0.0, scale, 1.0)
    return np.asarray(scale * np.sqrt(np.square(points / safe).sum(axis=-1, keepdims=True)))


def soften(points: Array, threshold: Array | float) -> Array:
    """Return every entry moved towards zero by the threshold, and stopped there."""
    return np.copysign(np.maximum(np.abs(points) - threshold, 0.0), points)


def shrinkage(lengths: Array, threshold: Array | float) -> Array:
    """Return the factors that shorten vectors of these lengths by the threshold."""
    longer = lengths > threshold
    lost = np.divide(threshold, lengths, out=np.ones_like(lengths), where=longer)
    return 1.0 - lost


def simplex_levels(points: Array, total: float) -> tuple[Array, Array]:
    """Return the top entry t and the level c <= 0 with sum of (x - t - c)_+ = total.

    Two numbers instead of their sum, since x - t is exact where x - (t + c) would cancel.
    """
    top = points.max(axis=-1, keepdims=True)
    # c >= -total, so whatever lies deeper than total below the top gets nothing; raising it
    # to that depth keeps the sums at the scale of the answer.
    descending = -np.sort(-np.maximum(points - top, -total), axis=-1)
    counts = np.arange(1, points.shape[-1] + 1)
    levels = (np.cumsum(descending, axis=-1) - total) / counts
    active = np.maximum((descending > levels).sum(axis=-1, keepdims=True), 1)
    return top, np.take_along_axis(levels, active - 1, axis=-1)


def onto_simplex(points: Array, total: float) -> Array:
    """Return the nearest points with non-negative entries of this sum."""
    top, level = simplex_levels(points, total)
    return np.maximum(points - top - level, 0.0)


def fused_levels(targets: Array, rise: float, fall: float) -> Array:
    """Return the minimiser of the fused-lasso problem on a chain, with costs of rises and falls.

    It minimises |x - y|^2/2 + rise*(sum of rises of x) + fall*(sum of falls of x).

    rise = fall gives one-dimensional total variation; rise = inf, fall = 0 gives regression
    by non-increasing sequences.

    Exact by splitting.  On a stretch, let v be the mean of y.  Either x = v there, or x is at
    least v on some part and at most v on the rest, where the part is a smallest cut of the
    chain at level v.  The signs of the jumps at the cut are then known, so their cost is linear
    and moves into y, and the pieces are independent.  All open stretches of all points are cut
    at once, so the number of rounds is that of nested cuts, not the length of the chain.
    """
    y = targets.reshape(-1).copy()
    result = np.empty_like(y)
    place = np.arange(y.size)
    first = place % targets.shape[-1] == 0
    while place.size:
        starts = np.flatnonzero(first)
        counts = np.diff(starts, append=place.size)
        level = np.repeat(np.add.reduceat(y, starts) / counts, counts)
        above = _above_level(level - y, first, int(counts.max()), rise, fall)
        cut = np.zeros_like(first)
        cut[1:] = (above[1:] != above[:-1]) & ~first[1:]
        up, down = np.flatnonzero(cut & above), np.flatnonzero(cut & ~above)
        y[up] -= rise
        y[up - 1] += rise
        y[down] += fall
        y[down - 1] -= fall
        split = np.repeat(np.logical_or.reduceat(cut, starts), counts)
        result[place[~split]] = level[~split]
        place, y, first = place[split], y[split], (first | cut)[split]
    return result.reshape(targets.shape)


def _above_level(costs: Array, first: Mask, longest: int, rise: float, fall: float) -> Mask:
    """Return which entries lie above the level in a cheapest labelling of every stretch.

    An entry above pays its cost, a jump between neighbours pays rise or fall.  The advantage
    of `above` before entry k is d[k] = costs[k] + clip(d[k-1], -fall, rise).  Such maps compose
    to maps of the same form x -> clip(x + shift, low, high), so prefixes double in length.
    """
    shift, low, high = costs.copy(), costs - fall, costs + rise
    low[first] = high[first] = costs[first]
    reach = 1
    while reach < longest:
        before, here = slice(None, -reach), slice(reach, None)
        new_low = np.minimum(np.maximum(low[before] + shift[here], low[here]), high[here])
        new_high = np.minimum(np.maximum(high[before] + shift[here], low[here]), high[here])
        shift[here] += shift[before].copy()
        low[here], high[here] = new_low, new_high
        reach *= 2
    advantage = low
    last = np.append(first[1:], True)
    settled = last | (advantage > rise) | (advantage < -fall)
    verdict = advantage < 0.0
    # An entry that is not settled by what lies before it agrees with the next one.
    decider = np.where(settled, np.arange(costs.size), costs.size)
    return np.asarray(verdict[np.minimum.accumulate(decider[::-1])[::-1]])
