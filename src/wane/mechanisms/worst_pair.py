"""The adjacent pair of starting points with the largest divergence, by branch and bound.

Over a cell of pairs the divergence is bounded by its value and gradient at the centre and by how
fast they can change: with l = log h, tilted means E and variances V,

    (order - 1) dR   = order E[l_x] dx - (order - 1) E[l_x'] dx',
    second order     <= sup|l''| (order dx^2 + (order - 1) dx'^2) + V[order l_x dx - ...],

or, if that is less, by the largest slope alone.  Cells are split until the bound is close to a
value attained; the bound is what is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.mechanisms.spectral import ReflectedDiffusion
from wane.numerics.rounding import inflate

CLOSE = 5e-3
"""Relative distance between the returned bound and a value attained at which splitting stops."""

_MOST_CELLS = 20_000
_SLOPE_GRID = 193
_SLOPE_MARGIN = 1.1


@dataclass(frozen=True, eq=False)
class WorstPair:
    """Divergences of one process at one time, with the error of its kernel."""

    process: ReflectedDiffusion
    time: float
    error: float

    @cached_property
    def steepest(self) -> tuple[float, float]:
        """Bounds on |d/dx log h(x, y)| and |d^2/dx^2 log h(x, y)|, read off a grid and raised."""
        grid = np.linspace(self.process.low, self.process.high, _SLOPE_GRID)
        h = self.process.ratio(self.time, grid, grid)
        slope = (self.process.ratio_slope(self.time, grid, grid) / h).T
        bend = np.diff(slope, axis=0) / (grid[1] - grid[0])
        return (
            _SLOPE_MARGIN * float(np.max(np.abs(slope))),
            _SLOPE_MARGIN * float(np.max(np.abs(bend))),
        )

    @cached_property
    def _kernel(self) -> Callable[[Array], tuple[Array, Array]]:
        return self.process.from_starts(self.time)

    def divergences(self, order: float, first: Array, second: Array, weights: Array) -> Array:
        """Renyi divergences of rows, with the error taken against us on both sides."""
        terms = self._terms(order, first, second)
        found = special.logsumexp(terms, axis=1, b=weights) / (order - 1.0)
        return np.asarray(np.maximum(found, 0.0))

    def _terms(self, order: float, first: Array, second: Array) -> Array:
        above, below = np.log(first + self.error), np.log(second - self.error)
        return np.asarray(order * above + (1.0 - order) * below)

    def largest(self, order: float, sensitivity: float) -> float:
        """A bound on the divergence of every ordered pair at most `sensitivity` apart."""
        low, high = self.process.low, self.process.high
        reach = min(sensitivity, high - low)
        rx, rd = (high - low) / 48.0, reach / 16.0
        x, d = np.meshgrid(
            low + rx * (2 * np.arange(24) + 1.0), rd * (2 * np.arange(8) + 1.0), indexing="ij"
        )
        x, d, best, settled = x.reshape(-1), d.reshape(-1), 0.0, 0.0
        while x.size:
            inside = x - rx + d - rd <= high
            x, d = x[inside], d[inside]
            values, bounds = self._cells(order, np.minimum(x, high - d), d, rx, rd)
            best = max(best, float(values.max(initial=0.0)))
            waiting = bounds > best * (1.0 + CLOSE) + 1e-13
            settled = max(settled, float(bounds[~waiting].max(initial=0.0)))
            x, d, bounds = x[waiting], d[waiting], bounds[waiting]
            if 4 * x.size > _MOST_CELLS or max(rx, rd) < 1e-7 * (high - low):
                settled = max(settled, float(bounds.max(initial=0.0)))
                break
            rx, rd = rx / 2.0, rd / 2.0
            x = np.concatenate([x - rx, x - rx, x + rx, x + rx])
            d = np.concatenate([d - rd, d + rd, d - rd, d + rd])
        return inflate(max(settled, best), 1e-9)

    def _cells(self, order: float, x: Array, d: Array, rx: float, rd: float) -> tuple[Array, Array]:
        """The larger direction at each centre (x, x + d), and a bound over its cell."""
        values, bounds = np.empty(x.size), np.empty(x.size)
        for start in range(0, x.size, 1024):
            part = slice(start, start + 1024)
            near, far = self._kernel(x[part]), self._kernel((x + d)[part])
            out = self._expanded(order, near, far)
            back = self._expanded(order, far, near)
            # A centre moved inside may be rx + rd from points of its cell.
            rise = self._rise(order, out.by_first, out.by_second, rx + rd, rd)
            fall = self._rise(order, back.by_second, back.by_first, rx + rd, rd)
            values[part] = np.maximum(out.value, back.value)
            bounds[part] = np.maximum(out.value + rise, back.value + fall)
        return values, bounds

    def _expanded(
        self, order: float, first: tuple[Array, Array], second: tuple[Array, Array]
    ) -> _Expansion:
        """Divergences and their derivatives by the two starts."""
        terms = self._terms(order, first[0], second[0])
        top = terms.max(axis=1, keepdims=True)
        tilted = np.exp(terms - top) * self.process.weights
        total = tilted.sum(axis=1)
        value = np.maximum((np.log(total) + top[:, 0]) / (order - 1.0), 0.0)
        tilted /= total[:, None]
        mean_first = (tilted * (first[1] / first[0])).sum(axis=1)
        mean_second = (tilted * (second[1] / second[0])).sum(axis=1)
        return _Expansion(value, order / (order - 1.0) * mean_first, -mean_second)

    def _rise(self, order: float, by_near: Array, by_far: Array, rx: float, rd: float) -> Array:
        """How much the divergence grows at most while x moves by rx and d by rd."""
        slope, bend = self.steepest
        far_by = rx + rd
        linear = np.abs(by_near + by_far) * rx + np.abs(by_far) * rd
        spread = ((order * rx + (order - 1.0) * far_by) * slope) ** 2
        spread = max(spread, ((order * far_by + (order - 1.0) * rx) * slope) ** 2)
        curved = bend * (2.0 * order - 1.0) * far_by**2
        rise = linear + (spread + curved) / (2.0 * (order - 1.0))
        return np.asarray(np.minimum(rise, slope * (2.0 * order - 1.0) / (order - 1.0) * far_by))


class _Expansion(NamedTuple):
    value: Array
    by_first: Array
    by_second: Array
