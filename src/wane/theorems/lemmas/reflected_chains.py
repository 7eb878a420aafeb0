"""Likelihood ratios of a chain between two mirrors, from its drift at equally spaced points.

Let v be linear between the nodes.  One step of the chain, seen from its start, makes of v another
function; at the nodes it is P v exactly, P holding the means of hats under reflected normal laws.
Between the nodes it is a line but for its own curvature and for what a drift may do there whose
slopes are declared.  Nothing is hidden at the nodes, so a later step, which takes means, sees what
is hidden by its mean over each cell; errors are carried along like the densities themselves.
Proofs: `docs/proofs/declared-diffusion.md`, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.describe.declared_diffusion import LARGEST_NOISE, UNIT, DeclaredDiffusion
from wane.numerics.rounding import inflate

FAR = 10.0
"""One deviation short of it, less than TAIL of a normal law lies beyond."""
TAIL = 1e-18
MOST_ENDS = 400
"""At no more places between the mirrors are densities computed, at most a deviation apart."""
WIDEST = 4.0
"""Steps whose noise is more widths of the interval than this are not followed."""
LONGER = 16
"""Times as many steps are tried at most to meet an epsilon."""
MOST_WORK = 2**30
"""Steps times the square of the number of nodes: some minutes."""
_ROOT = math.sqrt(2.0 * math.pi)
_CAUTION = 1.0 + 1e-6  # for the roundings of the errors themselves


def pure_level(process: DeclaredDiffusion) -> float:
    """Return the largest log ratio of the densities of two ends of the chain, rounded up.

    Claim.  Of starts at most the sensitivity apart, at every point of the interval.  Infinite
    where the errors of the cells leave nothing of the smaller density.
    """
    low, high = (float(corner[0]) for corner in process.corners)
    slope, start = process.drift_lipschitz, process.drift_at_centre
    contraction = process.least_contraction
    assert slope is not None and contraction is not None
    assert start is not None and process.drift_values is not None
    eta = process.step_size
    largest = max(abs(low), abs(high)) + 3.0 * (high - low) + LARGEST_NOISE * process.noise_std
    chain = Chain(
        low=low,
        high=high,
        std=process.noise_std,
        steps=process.steps,
        pulls=tuple(eta * value for value in process.drift_values),
        slopes=(-eta * slope, -eta * contraction),
        rounding=32.0 * UNIT * (largest + eta * (start + slope * (high - low))),
    )
    return _level(chain, min(process.sensitivity, high - low))


def time_without_delta(process: DeclaredDiffusion, epsilon: float) -> float | None:
    """Return the earliest time found whose `pure_level` is at most epsilon, or None if none is.

    Steps are doubled as long as that helps: beyond, the errors of the cells outgrow what is hidden.
    """
    eta, least = process.step_size, math.inf
    low, high = 0, 1
    while (level := pure_level(process.at(high * eta))) > epsilon:
        if least < level or 2 * high > LONGER * process.steps:
            return None
        least, low, high = level, high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        met = pure_level(process.at(middle * eta)) <= epsilon
        low, high = (low, middle) if met else (middle, high)
    return high * eta


@lru_cache(maxsize=32)
def _level(chain: Chain, sensitivity: float) -> float:
    from scipy import ndimage  # slow to load, and seldom needed

    if not chain.is_followed:
        return math.inf
    densities, errors = chain.ends()
    most, least = densities + errors, densities - errors
    if not float(least.min()) > 0.0:
        return math.inf
    width = Fraction(chain.high) - Fraction(chain.low)
    cells = math.ceil(Fraction(sensitivity) * (len(chain.pulls) - 1) / width)
    lowest = ndimage.minimum_filter1d(least, 2 * cells + 1, axis=0, mode="nearest")
    # raised by more than the roundings of a second computation
    return inflate(math.log(float(np.max(most / lowest))) + 1e-9, 1e-7)


@dataclass(frozen=True)
class Chain:
    """The chain z -> fold(z + pull(z) + N(0, std^2)) on [low, high].

    Attributes:
        pulls: pull at equally spaced nodes, both ends included.
        slopes: pull(z') - pull(z) is between these two times z' - z, for z < z'.
        rounding: how far the mean of a step may be off besides.
    """

    low: float
    high: float
    std: float
    steps: int
    pulls: tuple[float, ...]
    slopes: tuple[float, float]
    rounding: float

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    @property
    def is_followed(self) -> bool:
        """Whether the cells are fine, and the interval wide enough, for the noise of a step.

        The work is bounded, too.
        """
        work = self.steps * len(self.pulls) ** 2
        fine = self._near <= self.std and self.width <= MOST_ENDS * self.std
        return fine and self.std <= WIDEST * self.width and work <= MOST_WORK

    @property
    def cell(self) -> float:
        """The distance of two nodes."""
        return self.width / (len(self.pulls) - 1)

    @cached_property
    def _means(self) -> Array:
        """Where the nodes are moved, before the noise."""
        nodes = np.linspace(self.low, self.high, len(self.pulls))
        return np.asarray(nodes + np.array(self.pulls))

    @cached_property
    def _detour(self) -> tuple[Array, Array]:
        """How far the mean may be, in each cell, from the line through those of its nodes.

        At most, and on average over the cell.  A pull whose slopes lie in `slopes` and that rises
        by a share of their range from node to node peaks at that share of the cell, at most.
        """
        least, most = self.slopes
        span = most - least
        rise = np.diff(np.array(self.pulls)) / self.cell
        share = np.clip((rise - least) / span, 0.0, 1.0) if span > 0.0 else np.zeros(rise.size)
        peak = self.cell * span * share * (1.0 - share)
        # one rounding of the chain's means, one of those here, and one of the rise
        off = self.rounding * (2.0 + max(-least, most))
        return peak + off, peak * np.maximum(share, 1.0 - share) + off

    @cached_property
    def _strides(self) -> Array:
        """How far apart the means of neighbouring nodes are, for each cell."""
        return np.asarray(np.abs(np.diff(self._means)) + self.rounding)

    @cached_property
    def _reach(self) -> float:
        """How far the mean of a point may be from that of either node beside it."""
        return float(np.max(self._strides) + np.max(self._detour[0]))

    @property
    def _near(self) -> float:
        """How far a point of a cell may be from a node of it, both seen from means so near."""
        return self._reach + self.cell + self.rounding

    def _images(self) -> Iterator[tuple[float, bool]]:
        """Where the mirrors show the low end, and whether the picture is turned round."""
        away = float(np.max(np.abs(self._means - 0.5 * (self.low + self.high))))
        count = math.ceil((away + (FAR + 1.0) * self.std) / self.width) + 1
        for image in range(-count, count + 1):
            yield self.low + image * self.width, image % 2 == 1

    @cached_property
    def hats(self) -> Array:
        """The mean of each hat (columns) after a step from each node (rows)."""
        nodes, h = len(self.pulls), self.cell
        total = np.zeros((nodes, nodes))
        for start, turned in self._images():
            t = start + h * np.arange(-1, nodes + 1) - self._means[:, None]
            # a hat is a second difference of (z - t)_+, whose mean is that of |t|, and -t if t < 0
            u = np.abs(t) / self.std
            ramp = self.std * (np.exp(-0.5 * u * u) / _ROOT - u * special.ndtr(-u))
            bent = ramp[:, 2:] - 2.0 * ramp[:, 1:-1] + ramp[:, :-2]
            hat = (bent + np.maximum(h - np.abs(t[:, 1:-1]), 0.0)) / h
            hat[:, [0, -1]] *= 0.5  # a node on a mirror belongs to two pictures
            total += hat[:, ::-1] if turned else hat
        return np.asarray(np.maximum(total, 0.0))

    @cached_property
    def lost(self) -> float:
        """How much a row of `hats` may be off in all, by rounding."""
        size = max(abs(self.low), abs(self.high)) + float(np.max(np.abs(self._means)))
        size += 2.0 * self.width + (FAR + 2.0) * self.std
        entries = 2.0 * FAR * self.std / self.cell + 5.0
        return 64.0 * UNIT * size / self.cell * entries + TAIL

    @cached_property
    def dense(self) -> Array:
        """A cell times the largest density near each node (columns), from near each row."""
        nodes, h = len(self.pulls), self.cell
        total = np.zeros((nodes, nodes))
        for start, turned in self._images():
            t = start + h * np.arange(nodes) - self._means[:, None]
            u = np.maximum(np.abs(t) - self._near, 0.0) / self.std
            normal = h * np.exp(-0.5 * u * u) / (_ROOT * self.std)
            normal[:, [0, -1]] *= 0.5  # a node on a mirror belongs to two pictures
            total += normal[:, ::-1] if turned else normal
        return total

    def first(self, ends: Array) -> tuple[Array, Array, _Between]:
        """Return the density of one step from nodes (rows) at `ends`, and its errors.

        Those of lines between ends, for every start and end within a cell of theirs; and those of
        lines between nodes, at the ends.
        """
        gap = float(ends[1] - ends[0])
        shift = (self._reach + gap) / self.std
        density, steep, bent = (np.zeros((len(self.pulls), ends.size)) for _ in range(3))
        for start, turned in self._images():
            place = start + (self.high - ends if turned else ends - self.low)
            u = np.abs(place - self._means[:, None]) / self.std
            density += np.exp(-0.5 * u * u) / (_ROOT * self.std)
            near = np.exp(-0.5 * np.maximum(u - shift, 0.0) ** 2) / (_ROOT * self.std)
            steep += (u + shift) / self.std * near
            bent += np.maximum((u + shift) ** 2 - 1.0, 1.0) / self.std**2 * near
        errors = gap * gap / 8.0 * bent + self.lost * float(density.max())
        return density, errors, self._between(density, steep[:-1], bent[:-1], np.zeros(ends.size))

    def _between(self, after: Array, steep: Array, bent: Array, again: Array) -> _Between:
        """Return how far a step may lead off lines between nodes, whose values are `after`.

        Its derivatives, by the mean, are at most `steep` and `bent`, and not much more than between
        two nodes; `again` is the largest slope of the errors before it.
        """
        apart, least = self._strides - 2.0 * self.rounding, self.cell / 1000.0
        rise = np.abs(np.diff(after, axis=0)) + 4.0 * self.lost * np.max(after, axis=0)
        rise /= np.maximum(apart, least)[:, None]
        chord = np.where(apart[:, None] > least, rise + self._reach * bent, math.inf)
        steep = np.minimum(steep, chord) + again
        most, mean = self._detour
        bent = bent + math.sqrt(2.0 / math.pi) / self.std * again
        curve = (self._strides**2 / 8.0)[:, None] * bent
        return _Between(
            most=most[:, None] * steep + curve,
            mean=mean[:, None] * steep + curve * (2.0 / 3.0),  # as a parabola is
        )

    def ends(self) -> tuple[Array, Array]:
        """Return the densities of the end of the chain, from nodes (rows), and their errors."""
        count = min(MOST_ENDS, max(64, math.ceil(12.0 * self.width / self.std)))
        values, errors, between = self.first(np.linspace(self.low, self.high, count + 1))
        for _ in range(self.steps - 1):
            slopes = np.diff(values, axis=0) / self.cell
            kinks, after = _kinks(slopes), self.hats @ values
            bent = ((self.dense @ kinks)[:-1] + TAIL * np.max(kinks, axis=0)) / self.cell
            again = np.max(np.abs(np.diff(errors, axis=0)), axis=0) / self.cell
            later = self._between(after, np.max(np.abs(slopes), axis=0), bent, again)
            lost = np.max(values, axis=0) + np.max(errors, axis=0) + np.max(between.mean, axis=0)
            carried = self.hats @ errors + self.dense @ _mean_beside(between.mean)
            errors = _CAUTION * (carried + self.lost * lost)
            values, between = after, later
        # products of numbers that are not negative: their roundings are relative
        relative = 4.0 * UNIT * self.steps * (len(self.pulls) + 16.0)
        return values, _CAUTION * (errors + _beside(between.most)) + relative * values


@dataclass(frozen=True)
class _Between:
    """How far a function may be, in each cell, from the line through its values at the nodes."""

    most: Array
    mean: Array


def _mean_beside(cells: Array) -> Array:
    """At each node the mean of the two cells beside it; mirrors show the same cell again."""
    return 0.5 * (np.vstack([cells[:1], cells]) + np.vstack([cells, cells[-1:]]))


def _beside(cells: Array) -> Array:
    """At each node the larger of the two cells beside it."""
    return np.maximum(np.vstack([cells[:1], cells]), np.vstack([cells, cells[-1:]]))


def _kinks(slopes: Array) -> Array:
    """How much the slope changes at each node; mirrors turn it round."""
    inner = np.abs(np.diff(slopes, axis=0))
    return np.vstack([2.0 * np.abs(slopes[:1]), inner, 2.0 * np.abs(slopes[-1:])])
