"""The worst linear chain whose factors may be chosen step by step, and its exact mu.

A chain x_t = a_t x_{t-1} + s_t + noise of deviation d_t ends with the mean sum s_t w_t and the
variance sum (d_t w_t)^2, where w_t is the product of the factors after step t.  If every |a_t| may
be chosen between two ends, the worst mu is the largest value of

    <s, w> / |d w|   over   low_t w_t <= w_{t-1} <= high_t w_t,

the projection of a vector onto a cone.  It is found by dynamic programming over the derivative of
a convex piecewise quadratic; whatever the search finds is then evaluated as the chain it is, so an
inexact search gives a smaller value and never a false one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wane.arrays import Array

Pieces = tuple[Array, Array, Array]

NEAR, FAR = 1e-12, 1e12
"""Weights this far from the best one never matter in double precision."""


@dataclass(frozen=True)
class FactorPath:
    """Steps whose factors may be chosen, one entry each, in order.

    Attributes:
        shifts: how far the step moves the two runs apart.
        noise_stds: its noise on the iterate.
        low: the least size of its factor.
        high: the largest.
    """

    shifts: Array
    noise_stds: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class PathSoFar:
    """The law before a path, per unit of weight: mean `shift`, variance `variance`."""

    shift: float = 0.0
    variance: float = 0.0


EMPTY_PATH = PathSoFar()


def worst_mu_squared(path: FactorPath, past: PathSoFar = EMPTY_PATH) -> float:
    """Return the exact squared mu of the worst chain found."""
    weights = _weights(path, past)
    mean = past.shift * weights[0] + float(np.dot(path.shifts, weights[1:]))
    variance = past.variance * weights[0] ** 2 + float(np.dot(path.noise_stds**2, weights[1:] ** 2))
    return float(mean * mean / variance)


def _weights(path: FactorPath, past: PathSoFar) -> Array:
    """Return the weights after each step, and before the first; the last one is one."""
    if np.array_equal(path.low, path.high):  # nothing to choose
        return np.concatenate([np.cumprod(path.high[::-1])[::-1], [1.0]])
    roots = _roots(path, past)
    best, weights = roots[-1], np.empty(len(roots))
    if not best > 0.0:
        best = 1.0
    weights[-1] = 1.0
    for t in range(len(roots) - 1, 0, -1):
        wish = roots[t - 1] / best
        weights[t - 1] = min(max(wish, path.low[t - 1] * weights[t]), path.high[t - 1] * weights[t])
    return weights


def _roots(path: FactorPath, past: PathSoFar) -> list[float]:
    """Return for each step the weight that would be best if the run ended there.

    The cost of the steps so far is a convex function of the weight after them; only its derivative
    is kept: piece i has this slope and intercept between knot i and the next.
    """
    scale = float(np.max(path.noise_stds)) ** 2
    top = float(np.max(path.shifts, initial=past.shift)) or 1.0
    knots, slope = np.zeros(1), np.array([past.variance / scale])
    intercept = np.array([-past.shift / top])
    root = _root(slope, intercept, 0)
    roots = [root]
    for t in range(len(path.shifts)):
        low, high = float(path.low[t]), float(path.high[t])
        knots, slope, intercept = _pulled((knots, slope, intercept), root, low, high)
        slope = slope + path.noise_stds[t] ** 2 / scale
        intercept = intercept - path.shifts[t] / top
        at_knots = slope * knots + intercept
        place = max(int(np.searchsorted(at_knots, 0.0)) - 1, 0)
        root = _root(slope, intercept, place)
        roots.append(root)
        if 0.0 < root < np.inf:
            first = max(int(np.searchsorted(knots, NEAR * root, side="right")) - 1, 0)
            reachable = slice(first, int(np.searchsorted(knots, FAR * root)) + 1)
            knots, slope, intercept = knots[reachable], slope[reachable], intercept[reachable]
            knots[0] = 0.0
    return roots


def _root(slope: Array, intercept: Array, place: int) -> float:
    if intercept[place] >= 0.0:
        return 0.0
    return float(-intercept[place] / slope[place]) if slope[place] > 0.0 else np.inf


def _pulled(pieces: Pieces, root: float, low: float, high: float) -> Pieces:
    """Return the derivative seen through the next factor: the best of all its allowed sizes.

    Below root/high the largest factor is best, above root/low the smallest, between them a factor
    that leads to the root, at no cost.
    """
    knots, slope, intercept = pieces
    if high == 0.0:
        return np.zeros(1), np.zeros(1), np.zeros(1)
    left, right = knots < root, slice(int(np.searchsorted(knots, root, side="right")) - 1, None)
    parts = [(knots[left] / high, slope[left] * high * high, intercept[left] * high)]
    if low < high:
        parts.append((np.array([root / high]), np.zeros(1), np.zeros(1)))
    if low > 0.0 and np.isfinite(root):
        begin = np.maximum(knots[right], root) / low
        parts.append((begin, slope[right] * low * low, intercept[right] * low))
    first, second, third = (np.concatenate(column) for column in zip(*parts, strict=True))
    return first, second, third
