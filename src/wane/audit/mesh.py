"""Grids for the law of one iterate, and the exact kernels between them.

The grid lives before the prox: there the density is a smooth mixture of Gaussians on the whole
line.  Flats of the prox are not gridded; they carry atoms whose masses are exact.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from wane.arguments import Checked, Positive, Real, Whole
from wane.arrays import Array
from wane.audit.maps import WHOLE_LINE, MonotoneMap, ScalarMap
from wane.audit.quadrature import Panels, cut, gauss_panels, last_coefficients, refine
from wane.errors import InvalidDescription

Span = tuple[float, float]

SMOOTH = 1e-9
"""A drift is smooth on a panel if its last Legendre coefficients are this small against noise."""

HALVINGS = 40
SHORTEST = 1e-12
DEEPEST = 600.0
"""Laws are propagated in linear space, where exp(-745) is zero."""

LONGEST = math.sqrt(2.0 * DEEPEST)
COLUMNS = 64
CACHED_ENTRIES = 30_000_000


@dataclass(frozen=True)
class Branch:
    """One of the maps a step may draw, and its probability."""

    probability: float
    drift: ScalarMap


Mixture = tuple[Branch, ...]


@dataclass(frozen=True, eq=False)
class PairStep(Checked):
    """One step x -> prox(drift(x) + noise) of both runs, which share the noise and the prox."""

    first: Mixture
    second: Mixture
    noise_std: Positive
    prox: MonotoneMap = WHOLE_LINE

    def __post_init__(self) -> None:
        super().__post_init__()
        for mixture in (self.first, self.second):
            total = math.fsum(b.probability for b in mixture)
            if abs(total - 1.0) > 1e-9 or any(b.probability < 0.0 for b in mixture):
                raise InvalidDescription(f"probabilities of branches must add to 1, got {total}.")

    @property
    def drifts(self) -> tuple[ScalarMap, ...]:
        """Every map either run may use."""
        return tuple(b.drift for b in (*self.first, *self.second))


def pair_step(
    first: ScalarMap | Mixture,
    second: ScalarMap | Mixture | None = None,
    *,
    noise_std: float,
    prox: MonotoneMap = WHOLE_LINE,
) -> PairStep:
    """Return one step of both runs; without a second map both runs use the same."""
    one = (Branch(1.0, first),) if isinstance(first, ScalarMap) else first
    if second is None:
        return PairStep(one, one, noise_std, prox)
    two = (Branch(1.0, second),) if isinstance(second, ScalarMap) else second
    return PairStep(one, two, noise_std, prox)


@dataclass(frozen=True)
class Resolution(Checked):
    """How finely a law is resolved.

    Attributes:
        panels_per_std: panels in one standard deviation of the noise.
        nodes_per_panel: Gauss-Legendre nodes in a panel.
        reach: standard deviations of tail that are kept where nothing bounds the iterate.
    """

    panels_per_std: Positive = 0.5
    nodes_per_panel: Annotated[int, Whole(least=4)] = 12
    reach: Annotated[float, Real(least=8.0)] = 16.0

    @property
    def depth(self) -> float:
        """The depth to which densities are kept: exp(-depth) of their peak."""
        return min(0.5 * self.reach * self.reach, DEEPEST)

    @property
    def band(self) -> float:
        """The number of standard deviations beyond which one step of noise is negligible."""
        return self.reach + 4.0

    @property
    def trusted(self) -> float:
        """The density above which what the band leaves out has no influence."""
        return max(1e-250, math.exp(40.0 - 0.5 * self.band**2))

    def refined(self) -> Resolution:
        """Return the same resolution with panels half as long."""
        return replace(self, panels_per_std=2.0 * self.panels_per_std)

    def widened(self) -> Resolution:
        """Return the same resolution with longer tails, as long as doubles can hold them."""
        return replace(self, reach=max(self.reach, min(1.5 * self.reach, LONGEST)))


DEFAULT = Resolution()


@dataclass(frozen=True, eq=False)
class Mesh:
    """Nodes before the prox, the points after it, and the flats that hold atoms."""

    panels: Panels
    points: Array
    flats: tuple[Span, ...]

    @property
    def nodes(self) -> Array:
        """All nodes in a row."""
        return self.panels.nodes.ravel()

    @property
    def weights(self) -> Array:
        """Their quadrature weights."""
        return self.panels.weights.ravel()


def make_mesh(step: PairStep, following: tuple[PairStep, ...], span: Span, at: Resolution) -> Mesh:
    """Return panels short against this noise, and the next noise seen through the next maps."""
    kinks = _kinks(step.prox, following)
    lower, upper = [np.empty(0)], [np.empty(0)]
    for begin, end in step.prox.moving:
        low, high = max(begin, span[0]), min(end, span[1])
        if low < high:
            edges = cut(low, high, step.noise_std / at.panels_per_std, kinks)
            lower.append(edges[:-1])
            upper.append(edges[1:])
    panels = gauss_panels(np.concatenate(lower), np.concatenate(upper), at.nodes_per_panel)
    for _ in range(HALVINGS):
        pieces = _pieces(panels, step.prox, following, at)
        # Across an undeclared jump the drift never settles; what is left there has no mass.
        pieces[panels.upper - panels.lower < SHORTEST * step.noise_std] = 1
        if pieces.max(initial=1) == 1:
            break
        panels = gauss_panels(*refine(panels.lower, panels.upper, pieces), at.nodes_per_panel)
    points = np.concatenate([step.prox(panels.nodes.ravel()), np.array(step.prox.atoms)])
    return Mesh(panels, points, step.prox.flats)


def _kinks(prox: MonotoneMap, following: tuple[PairStep, ...]) -> list[float]:
    """Return where the next drift, seen before the prox, is declared not to be smooth."""
    places = {p for step in following for drift in step.drifts for p in drift.kinks}
    ends = {end for place in places for end in prox.preimage(place) if math.isfinite(end)}
    return sorted(ends.union(prox.corners))


def _pieces(
    panels: Panels, prox: MonotoneMap, following: tuple[PairStep, ...], at: Resolution
) -> NDArray[np.int64]:
    """Return how many pieces each panel needs: on each the next drift is short and smooth.

    Halving closes in on a kink nobody declared, or on an unbounded slope, until what is left is
    too short to matter.
    """
    pieces = np.ones(panels.count)
    images = prox(panels.nodes.ravel())
    for step in following:
        for drift in set(step.drifts):
            values = drift(images).reshape(panels.nodes.shape)
            swing = np.ptp(values, axis=1) * at.panels_per_std / step.noise_std
            pieces = np.maximum(pieces, np.ceil(swing * (1.0 - 1e-9)))
            grain = SMOOTH * step.noise_std + 1e-13 * np.abs(values).max(axis=1)
            pieces = np.where(last_coefficients(values) > grain, np.maximum(pieces, 2.0), pieces)
    return pieces.astype(np.int64)


def interval_masses(flat: Span, centres: Array, noise_std: float) -> Array:
    """Return the mass a Gaussian around each centre gives to an interval, precise in both tails."""
    low, high = (flat[0] - centres) / noise_std, (flat[1] - centres) / noise_std
    mirrored = low > 0.0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    return np.asarray(ndtr(high) - ndtr(low), dtype=float)


def transition(points: Array, step: tuple[Mixture, float], mesh: Mesh, band: float) -> Array:
    """Return the kernel from points to the masses of the next mesh (nodes first, atoms last).

    Entries more than a band of standard deviations out are left at zero.
    """
    mixture, noise_std = step
    nodes, size = mesh.nodes, mesh.nodes.size
    kernel = np.zeros((size + len(mesh.flats), points.size))
    for branch in mixture:
        centres = branch.drift(points)
        for begin in range(0, points.size, COLUMNS):
            part = centres[begin : begin + COLUMNS]
            low, high = np.searchsorted(
                nodes, [part.min() - band * noise_std, part.max() + band * noise_std]
            )
            bell = (nodes[low:high] / noise_std)[:, None] - (part / noise_std)[None, :]
            # In place, because this is where the time goes.
            np.multiply(bell, bell, out=bell)
            np.multiply(bell, -0.5, out=bell)
            np.exp(bell, out=bell)
            np.multiply(bell, branch.probability, out=bell)
            kernel[low:high, begin : begin + COLUMNS] += bell
        for row, flat in enumerate(mesh.flats):
            kernel[size + row] += branch.probability * interval_masses(flat, centres, noise_std)
    kernel[:size] *= mesh.weights[:, None] / (noise_std * math.sqrt(2.0 * math.pi))
    return kernel


class KernelCache:
    """A cache of meshes and kernels: a stationary chain then costs one product a step."""

    def __init__(self, resolution: Resolution) -> None:
        self.resolution = resolution
        self._meshes: dict[object, tuple[object, Mesh]] = {}
        self._shapes: dict[object, Mesh] = {}
        self._kernels: OrderedDict[object, tuple[object, Array]] = OrderedDict()

    def mesh(self, step: PairStep, following: tuple[PairStep, ...], span: Span) -> Mesh:
        """Return the mesh after a step; equal meshes are one object, so that kernels are shared."""
        key = (id(step), tuple(map(id, following)), span)
        if key not in self._meshes:
            mesh = make_mesh(step, following, span, self.resolution)
            shape = (id(step.prox), mesh.nodes.tobytes())
            # The key holds ids, so the entry must keep their owners alive.
            keep = (step, following)
            self._meshes[key] = (keep, self._shapes.setdefault(shape, mesh))
        return self._meshes[key][1]

    def kernel(self, source: Array, mixture: Mixture, noise_std: float, target: Mesh) -> Array:
        """Return the kernel from the points of one mesh to the masses of another."""
        key = (id(source), id(mixture), noise_std, id(target))
        if key not in self._kernels:
            kernel = transition(source, (mixture, noise_std), target, self.resolution.band)
            self._kernels[key] = ((source, mixture, target), kernel)
            while sum(k.size for _, k in self._kernels.values()) > CACHED_ENTRIES:
                if len(self._kernels) == 1:
                    break
                self._kernels.popitem(last=False)
        self._kernels.move_to_end(key)
        return self._kernels[key][1]
