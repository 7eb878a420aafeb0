"""Enclosures of the suprema in the definitions of `wane.describe.constants`, for concrete losses.

Every number is enclosed: its lower end is attained at points that were found, so it can refute a
declared bound; its upper end comes from interval evaluation over cells that cover the set, so it
can prove one.  Losses that offer no intervals have no upper end.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from wane.arrays import Array
from wane.audit.concrete import ConcreteLoss, Enclosed, Family, Valued

CELLS = 1024
"""Cells of a cover; covers by pairs of cells are made of fewer."""


class Enclosure(NamedTuple):
    """Two numbers with a supremum between them; an infimum is minus the supremum of minus it."""

    lower: float
    upper: float = math.inf


ROUNDING = 1e-13
"""Relative error of a computed gradient or Hessian; lower ends are made smaller by it."""
LESS = 1.0 - ROUNDING
"""What a lower end is multiplied by, so that it refutes no constant by a rounding error."""
CANCELLATION = 1e-10
"""Relative error of a quotient of differences."""
LAPLACIAN_ROUNDING = 1e-12
"""Error of a trace of a Hessian, relative to the entries that may have cancelled in it."""
HUGE = 1e100
"""Second derivatives beyond this count as this, so that sums of them stay finite."""
PLACES = 1e-14
"""Rounding error of a point inside an evaluation, relative to the width of the window."""
NEAR = 10.0 ** np.arange(-6.5, -1.5, 0.5)
"""Distances of near pairs, as shares of the window's width."""


def clip(gradients: Array, threshold: float) -> Array:
    """Return each row projected onto the ball of this radius."""
    norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(gradients * np.minimum(1.0, threshold / norms))


def clipped_jacobian(loss: ConcreteLoss, x: Array, threshold: float) -> Array:
    """Return the derivative of the clipped gradient, wherever it exists."""
    gradient, hessian = loss.gradient(x), loss.hessian(x)
    norm = np.linalg.norm(gradient, axis=1)
    out = norm >= threshold
    jacobians = np.array(hessian)
    unit = gradient[out] / norm[out, None]
    across = np.eye(x.shape[1]) - unit[:, :, None] * unit[:, None, :]
    jacobians[out] = (threshold / norm[out])[:, None, None] * (across @ hessian[out])
    return jacobians


def _contribution(loss: ConcreteLoss, x: Array, threshold: float | None) -> Array:
    gradient = loss.gradient(x)
    return gradient if threshold is None else clip(gradient, threshold)


def _derivative(loss: ConcreteLoss, x: Array, threshold: float | None) -> Array:
    return loss.hessian(x) if threshold is None else clipped_jacobian(loss, x, threshold)


def _norms(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _spectral(matrices: Array) -> Array:
    if matrices.shape[-1] == 1:
        return np.abs(matrices[:, 0, 0])
    return np.asarray(np.linalg.norm(matrices, ord=2, axis=(1, 2)))


def _least_eigenvalue(matrices: Array) -> Array:
    """Return the least eigenvalues of the symmetric parts."""
    if matrices.shape[-1] == 1:
        return matrices[:, 0, 0]
    symmetric = (matrices + np.swapaxes(matrices, 1, 2)) / 2
    return np.asarray(np.linalg.eigvalsh(symmetric)[:, 0])


def _enclosed(family: Family) -> list[Enclosed]:
    """Return the losses if all of them offer intervals, else none."""
    enclosed: list[Enclosed] = [loss for loss in family.losses if isinstance(loss, Enclosed)]
    return enclosed if len(enclosed) == len(family.losses) else []


def longest_contribution(family: Family, threshold: float | None) -> Enclosure:
    """Enclose the largest norm of a record's contribution."""
    lower = family.worst(lambda loss, x: _norms(_contribution(loss, x, threshold))) * LESS
    upper = math.inf if threshold is None else threshold
    cells = family.cells(CELLS)
    ranges = [loss.gradient_within(*cells) for loss in _enclosed(family)]
    if ranges:
        upper = min(upper, max(float(np.max(_norms(np.maximum(-a, b)))) for a, b in ranges))
    return Enclosure(lower, upper)


def furthest_contributions(family: Family, threshold: float | None) -> Enclosure:
    """Enclose the largest distance of two records' contributions at one point."""
    if len(family.losses) == 1:
        return Enclosure(0.0, 0.0)
    lower = 0.0
    for one, two in combinations(family.losses, 2):

        def gap(x: Array, one: ConcreteLoss = one, two: ConcreteLoss = two) -> Array:
            first, second = (_contribution(loss, x, threshold) for loss in (one, two))
            return _norms(first - second) - ROUNDING * (_norms(first) + _norms(second))

        lower = max(lower, family.search(gap))
    upper = math.inf if threshold is None else 2.0 * threshold
    cells = family.cells(CELLS)
    ranges = [loss.gradient_within(*cells) for loss in _enclosed(family)]
    if ranges:  # clipping does not increase distances
        with np.errstate(invalid="ignore"):  # on infinite cells nothing may be known
            gaps = [np.maximum(b - c, d - a) for (a, b), (c, d) in combinations(ranges, 2)]
        widest = np.nan_to_num(gaps, nan=math.inf, posinf=math.inf, neginf=math.inf)
        upper = min(upper, float(np.max(np.linalg.norm(widest, axis=-1))))
    return Enclosure(lower, upper)


def largest_derivative(family: Family, threshold: float | None) -> Enclosure:
    """Enclose the Lipschitz constant of the gradients, or of the clipped gradients."""
    lower = family.worst(lambda loss, x: _spectral(_derivative(loss, x, threshold))) * LESS
    below, above = _curvature(family, threshold)
    return Enclosure(lower, max(-below, above))


def least_curvature(family: Family, threshold: float | None) -> Enclosure:
    """Enclose minus the largest m with which every loss, or clamped loss, is convex."""

    def downward(loss: ConcreteLoss, x: Array) -> Array:
        derivative = _derivative(loss, x, threshold)
        return -_least_eigenvalue(derivative) - ROUNDING * _spectral(derivative)

    return Enclosure(family.worst(downward), -_curvature(family, threshold)[0])


def _curvature(family: Family, threshold: float | None) -> tuple[float, float]:
    """Return bounds of all eigenvalues over the box; of clamped losses in one dimension only."""
    losses = _enclosed(family)
    if not losses or (threshold is not None and family.dimension > 1):
        return -math.inf, math.inf
    low, high = family.cells(CELLS)
    least, most = math.inf, -math.inf
    for loss in losses:
        below, above = loss.curvature_within(low, high)
        if threshold is not None:
            a, b = (end[:, 0] for end in loss.gradient_within(low, high))
            out = (a > threshold) | (b < -threshold)
            inside = (a >= -threshold) & (b <= threshold)
            below = np.where(out, 0.0, np.where(inside, below, np.minimum(below, 0.0)))
            above = np.where(out, 0.0, np.where(inside, above, np.maximum(above, 0.0)))
        least, most = min(least, float(np.min(below))), max(most, float(np.max(above)))
    return least, most


def holder_quotient(family: Family, exponent: float) -> Enclosure:
    """Enclose the least Hoelder constant of the gradients for this exponent."""

    def quotient(loss: ConcreteLoss, x: Array, y: Array) -> Array:
        change = _norms(loss.gradient(x) - loss.gradient(y))
        return np.asarray(change / _norms(x - y) ** exponent)

    above = [_holder_above(family, loss, exponent) for loss in _enclosed(family)]
    lower = family.worst_pair(quotient) * (1.0 - CANCELLATION)
    if exponent == 1.0:  # near pairs come as close to the derivative as one likes
        lower = max(lower, largest_derivative(family, None).lower)
    return Enclosure(lower, max(above, default=math.inf))


def _pairs_of_cells(family: Family) -> tuple[Array, Array, Array, Array]:
    low, high = family.cells(2 * math.isqrt(CELLS))
    first, second = (i.ravel() for i in np.meshgrid(range(len(low)), range(len(low))))
    return low[first], high[first], low[second], high[second]


def _holder_above(family: Family, loss: Enclosed, exponent: float) -> float:
    """Return a bound over pairs of cells: change over least distance, or curvature between them."""
    a, b, c, d = _pairs_of_cells(family)
    (ga, gb), (gc, gd) = loss.gradient_within(a, b), loss.gradient_within(c, d)
    change = _norms(np.maximum(gb - gc, gd - ga))
    nearest = _norms(np.maximum(np.maximum(a - d, c - b), 0.0))
    furthest = _norms(np.maximum(d - a, b - c))
    below, above = loss.curvature_within(np.minimum(a, c), np.maximum(b, d))
    bent = np.maximum(-below, above)
    with np.errstate(divide="ignore", invalid="ignore"):
        straight = change / nearest**exponent
        curved = np.where(bent == 0.0, 0.0, bent * furthest ** (1.0 - exponent))
    straight = np.where(np.isnan(straight), math.inf, straight)
    return float(np.max(np.minimum(straight, curved)))


def least_dissipation(family: Family, kappa: float) -> Enclosure:
    """Enclose the least lambda with which every loss is dissipative at this kappa."""

    def lacking(loss: ConcreteLoss, x: Array, y: Array) -> Array:
        d = x - y
        product = np.sum((loss.gradient(x) - loss.gradient(y)) * d, axis=1)
        square = kappa * np.sum(d * d, axis=1)
        return np.asarray(square - product - ROUNDING * (square + np.abs(product)))

    lower = max(family.worst_pair(lacking), 0.0)
    if not np.all(np.isfinite(family.high - family.low)):
        return Enclosure(lower)
    above = [_dissipation_above(family, loss, kappa) for loss in _enclosed(family)]
    return Enclosure(lower, max(above, default=math.inf))


def _dissipation_above(family: Family, loss: Enclosed, kappa: float) -> float:
    a, b, c, d = _pairs_of_cells(family)
    (ga, gb), (gc, gd) = loss.gradient_within(a, b), loss.gradient_within(c, d)
    corners = [g * x for g in (ga - gd, gb - gc) for x in (a - d, b - c)]
    product = np.sum(np.min(corners, axis=0), axis=1)
    furthest = np.sum(np.maximum(d - a, b - c) ** 2, axis=1)
    return float(np.max(kappa * furthest - product))


def laplacian_quotient(family: Family) -> Enclosure:
    """Enclose the Lipschitz constant of the losses' Laplacians, from below only.

    Far pairs see jumps and kinks; near ones, along the steepest way, see what is smooth.
    """
    low, high = family.window
    span = float(np.linalg.norm(high - low))
    widths = span * NEAR

    def quotient(loss: ConcreteLoss, x: Array, y: Array) -> Array:
        (one, size), (two, other) = (_laplacian(loss, at) for at in (x, y))
        apart = _norms(x - y)
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = (np.abs(one - two) - LAPLACIAN_ROUNDING * (size + other)) / apart
            quotients *= 1.0 - PLACES * span / apart  # the points themselves are rounded within
        return np.asarray(np.where(apart > 0.0, quotients, -math.inf))

    def steepest(loss: ConcreteLoss, x: Array) -> Array:
        best = np.full(len(x), -math.inf)
        for width in widths:
            step = width * _steepest(loss, x, width)
            ends = (np.clip(x + sign * step, low, high) for sign in (1.0, -1.0))
            best = np.maximum(best, quotient(loss, *ends))
        return best

    return Enclosure(max(family.worst_pair(quotient), family.worst(steepest)))


def _laplacian(loss: ConcreteLoss, x: Array) -> tuple[Array, Array]:
    """Return the trace of the Hessian, and the size of its terms."""
    hessian = loss.hessian(x)
    hessian = np.clip(hessian, -HUGE, HUGE)  # what has no Laplacian may answer with anything
    size = np.abs(hessian).sum(axis=(1, 2))
    return np.asarray(np.trace(hessian, axis1=1, axis2=2)), np.asarray(size)


def _steepest(loss: ConcreteLoss, x: Array, width: float) -> Array:
    """Return roughly the direction in which the Laplacian grows: any direction gives a witness."""
    changes = [
        _laplacian(loss, x + width * axis)[0] - _laplacian(loss, x - width * axis)[0]
        for axis in np.eye(x.shape[1])
    ]
    slope = np.stack(changes, axis=1)
    norms = np.linalg.norm(slope, axis=1, keepdims=True)
    first = np.eye(x.shape[1])[0]
    return np.asarray(np.where(norms > 0.0, slope / np.where(norms > 0.0, norms, 1.0), first))


def height_at_origin(family: Family) -> Enclosure:
    """Enclose how far the losses at the origin are above their infimum, from below only."""
    zero = np.zeros((1, family.dimension))
    return Enclosure(family.worst(lambda loss, x: _above(_value(loss, zero), _value(loss, x))))


def range_of_values(family: Family) -> Enclosure:
    """Enclose the largest range of a loss, from below only."""
    return Enclosure(family.worst_pair(lambda loss, x, y: _above(_value(loss, x), _value(loss, y))))


def _above(one: Array, two: Array) -> Array:
    return np.asarray(one - two - ROUNDING * (np.abs(one) + np.abs(two)))


def _value(loss: ConcreteLoss, x: Array) -> Array:
    if not isinstance(loss, Valued):
        raise TypeError(f"losses must know their value to be judged by it, got {loss!r}.")
    return loss.value(x)
