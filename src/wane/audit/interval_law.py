"""Affine noisy chains on an interval, on one grid for the whole set, with a cell for each outcome.

    x -> clip(keep x + shift + noise),   the shift drawn at random, perhaps

`wane.audit.grid` follows any map with all the precision there is.  Here every map is affine and
runs are long, so both laws live on fixed Gauss-Legendre nodes with an atom at each end, and the
release is rounded to cells, which can only hide something.  Two resolutions bound the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from wane.arrays import Array
from wane.audit.bracket import Bracketed, bracket
from wane.audit.quadrature import gauss_panels

NODES = 12
CELLS_PER_STD = 12
WIDTHS = (1.6, 1.2)
"""Panels of the coarse and of the fine grid, in noise deviations."""
ABSOLUTE = 1e-14
"""Masses this small are not resolved; the second law's count e^epsilon times."""
NEGLIGIBLE = 1e-120
"""Far below what is resolved; processors are slow with the smallest numbers they can hold."""


@dataclass(frozen=True)
class AffineStep:
    """One step of one run: x -> keep x + shift + noise, each shift with its probability."""

    keep: float
    shifts: tuple[tuple[float, float], ...]
    noise_std: float


@dataclass(frozen=True)
class IntervalPair:
    """Two chains of affine steps on [-radius, radius], from one start."""

    radius: float
    steps: Sequence[tuple[AffineStep, AffineStep]]
    start: float

    def hockey_stick(self, epsilon: float, *, reverse: bool = False) -> Bracketed:
        """Return the delta of the rounded release at an epsilon, with its error."""
        values = []
        for first, second in self._laws:
            p, q = (second, first) if reverse else (first, second)
            values.append(float(np.sum(np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0))))
        floor = ABSOLUTE * (1.0 + math.exp(min(epsilon, 700.0)))
        return bracket(values[0], values[1], floor=floor)

    @cached_property
    def _laws(self) -> tuple[tuple[Array, Array], ...]:
        with np.errstate(over="ignore", under="ignore"):
            return tuple(IntervalGrid(self, width).laws() for width in WIDTHS)


class IntervalGrid:
    """Nodes, weights and the kernels between them, computed once each."""

    def __init__(self, pair: IntervalPair, width: float) -> None:
        least = min(step.noise_std for both in pair.steps for step in both)
        count = max(4, math.ceil(2.0 * pair.radius / (width * least)))
        edges = np.linspace(-pair.radius, pair.radius, count + 1)
        panels = gauss_panels(edges[:-1], edges[1:], NODES)
        self.pair = pair
        self.nodes, self.weights = panels.nodes.ravel(), panels.weights.ravel()
        self.states = np.concatenate([self.nodes, [-pair.radius, pair.radius]])
        cells = max(50, math.ceil(CELLS_PER_STD * 2.0 * pair.radius / least))
        self.edges = np.linspace(-pair.radius, pair.radius, min(cells, 4000) + 1)
        self.kernels: dict[AffineStep, Array] = {}

    def laws(self) -> tuple[Array, Array]:
        """Return the masses both laws give to the cells and to both ends."""
        first, second = (self._law([both[i] for both in self.pair.steps]) for i in (0, 1))
        return first, second

    def _law(self, steps: list[AffineStep]) -> Array:
        law, source = np.ones(1), np.array([self.pair.start])
        for step in steps[:-1]:
            if len(source) == 1:
                law = self.kernel(step, source) @ law
                source = self.states
                continue
            if step not in self.kernels:
                self.kernels[step] = self.kernel(step, self.states)
            law = self.kernels[step] @ law
            law[law < NEGLIGIBLE] = 0.0
        return np.asarray(self._last(steps[-1], source) @ law, dtype=np.float64)

    def kernel(self, step: AffineStep, source: Array) -> Array:
        """Return the kernel to the nodes and both ends."""
        out = np.zeros((len(self.states), len(source)))
        for chance, shift in step.shifts:
            centre = step.keep * source + shift
            z = (self.nodes[:, None] - centre) / step.noise_std
            bell = np.exp(-0.5 * z * z) * (self.weights[:, None] / step.noise_std)
            out[:-2] += chance / math.sqrt(2.0 * math.pi) * bell
            out[-2:] += chance * self._ends(centre, step.noise_std)
        out[out < NEGLIGIBLE] = 0.0
        return out

    def _last(self, step: AffineStep, source: Array) -> Array:
        """Return the kernel to the cells and both ends."""
        out = np.zeros((len(self.edges) + 1, len(source)))
        for chance, shift in step.shifts:
            centre = step.keep * source + shift
            z = (self.edges[:, None] - centre) / step.noise_std
            # measured from the nearer tail, so that small masses keep their digits
            left, right = np.diff(ndtr(z), axis=0), -np.diff(ndtr(-z), axis=0)
            out[:-2] += chance * np.where(z[:-1] > 0.0, right, left)
            out[-2:] += chance * self._ends(centre, step.noise_std)
        return out

    def _ends(self, centre: Array, noise_std: float) -> Array:
        radius = self.pair.radius
        return np.stack([ndtr((-radius - centre) / noise_std), ndtr((centre - radius) / noise_std)])
