"""Composition of sampled steps: grids convolved by Fourier transforms, with bounded errors.

The masses are tilted first: multiplied by e^(theta loss), so that the losses near the epsilon asked
for become likely and rounding errors are small beside them.  To the sum over losses above epsilon
are added: what may lie beyond the transform's window (Chernoff's bound), what lies beyond the grids
(a union bound), and an a-priori bound on the transforms' rounding errors, with a generous constant
(Higham, Accuracy and Stability, section 24.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from flint import arb
from scipy.signal import lfilter

from wane.arrays import Array
from wane.balls.arithmetic import as_float_up, ball, top
from wane.balls.bounds import Bound, Gaussian, Mixture
from wane.balls.lemmas.positions import TooLarge
from wane.balls.lemmas.sampled_steps import (
    Extent,
    Grid,
    PairOrder,
    PlainStep,
    StepLosses,
    exceeding,
    on_grid,
)

UNIT = 2.0**-53
TRANSFORM_ERROR = 16.0
"""Rounding errors of one transform, in units of 2^-53 log2(n)."""
WINDOW = 9.0
MOST_POINTS = 1 << 19
TILTS = (0.0, *(2.0 ** (place / 2.0) for place in range(-6, 13)))
"""How much likelier losses are made that are one deviation of the sum above."""
COARSE, COARSEST = 0.015, 0.06
"""Spacing of the grid as a share of the deviation of one step's loss."""
FEWEST_POINTS = 1 << 16
JOINED = 0.0003
"""Cells are joined up to this share of the deviation of the sum."""
TURNS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""How much steeper tilts are tried for what lies beyond a window."""
LARGE = 300.0
"""Weights beyond the exponential of this are not formed."""
LEAST = 1e-150
"""More than what underflow can take away."""


@dataclass(frozen=True)
class Single:
    """The account of one step, which needs no grid."""

    step: StepLosses
    direction: PairOrder

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        return exceeding(self.step, self.direction, epsilon)


@dataclass(frozen=True)
class ComposedAccount:
    """Counted grids of one spacing."""

    parts: tuple[tuple[Grid, int], ...]
    _moments: dict[float, float] = field(default_factory=dict, compare=False, repr=False)
    _known: dict[float, _Tilted] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def steps(self) -> int:
        """The number of steps."""
        return sum(count for _, count in self.parts)

    @cached_property
    def lost(self) -> float:
        """A bound on the mass beyond the grids."""
        return sum(grid.lost * count for grid, count in self.parts) * (1.0 + 1e-12)

    @cached_property
    def largest(self) -> float:
        """A bound on every sum of losses on the grids."""
        tops = [(grid.first + len(grid.mass)) * grid.spacing * n for grid, n in self.parts]
        return sum(tops) + 1e-9 * sum(abs(top) for top in tops)

    def log_moment(self, theta: float) -> float:
        """Return the logarithm of E e^(theta loss), of all steps."""
        if theta not in self._moments:
            logarithms = (count * _log_moment(grid, theta) for grid, count in self.parts)
            self._moments[theta] = math.fsum(logarithms)
        return self._moments[theta]

    def saddle(self, epsilon: float) -> float:
        """Return the tilt on a ladder that makes epsilon most likely; any tilt is valid."""
        return min(self.tilts, key=lambda theta: self.log_moment(theta) - theta * epsilon)

    @cached_property
    def tilts(self) -> list[float]:
        """The ladder of tilts."""
        return [tilt / self.deviation for tilt in TILTS]

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the sum of all losses."""
        moments = [(_mean_and_variance(grid.mass, grid)[1], n) for grid, n in self.parts]
        return math.sqrt(sum(n * variance for variance, n in moments))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        if epsilon > self.largest:
            return min(self.lost, 1.0)
        theta = self.saddle(epsilon)
        if theta not in self._known:
            self._known[theta] = _Tilted.around(self, theta)
        return min(self._known[theta].delta(epsilon) + self.lost, 1.0)


def _log_moment(grid: Grid, theta: float) -> float:
    """Return the log moment, rounded up by more than the rounding errors of the sum."""
    losses = (grid.first + np.arange(len(grid.mass))) * grid.spacing
    top = theta * float(losses[-1])
    moment = float(np.sum(grid.mass * np.exp(theta * losses - top)))
    return top + math.log(moment) + 8.0 * UNIT * (2.0 + abs(top)) if moment > 0.0 else math.inf


@dataclass(frozen=True)
class _Tilted:
    """Composed masses on a window of losses, summed from the top without any subtraction.

    Attributes:
        start, spacing: the first loss is the product of both.
        above: at each grid point, the mass of losses l above it times `1 - e^(point - l)`.
        here: the mass of losses from it on times `e^(point - l)`.
        doubt: a bound on what the transforms' rounding errors do to `above`.
        rounding: a bound on the relative error of all else.
        beyond: a bound on the probability of losses above the window.
    """

    start: int
    spacing: float
    above: Array
    here: Array
    doubt: Array
    rounding: float
    beyond: float

    @classmethod
    def around(cls, account: ComposedAccount, theta: float) -> _Tilted:
        """Return the convolution, on a window around the tilted mean."""
        spacing = account.parts[0][0].spacing
        tilted = [(_tilt(grid, theta), grid, count) for grid, count in account.parts]
        moments = [_mean_and_variance(m, grid) for m, grid, _ in tilted]
        mean = sum(c * m for (m, _), (_, _, c) in zip(moments, tilted, strict=True))
        deviation = math.sqrt(sum(c * v for (_, v), (_, _, c) in zip(moments, tilted, strict=True)))
        widest = max(len(m) for m, _, _ in tilted)
        n = 2 * WINDOW * deviation / spacing + 2 * widest + 64
        size = min(1 << math.ceil(math.log2(n)), 4 * MOST_POINTS)
        start = round(mean / spacing) - size // 2
        mass, error = _convolved([(m, g.first, c) for m, g, c in tilted], size, start)
        top = (start + size) * spacing
        steeper = (theta + turn / deviation for turn in TURNS)
        beyond = math.exp(min(0.0, *(account.log_moment(t) - t * top for t in steeper)))
        losses: Array = (start + np.arange(size, dtype=np.float64)) * spacing
        log_weight: Array = account.log_moment(theta) - theta * losses
        slip = sum(count * _tilt_error(grid, theta) for _, grid, count in tilted)
        # no epsilon is negative, and far below any of interest weights would overflow
        low = max(int(np.searchsorted(-log_weight, -LARGE)), -start - 1, 0)
        low = min(low, size - 1)
        weight = np.exp(np.minimum(log_weight[low:], LARGE))
        # no mass is negative, so that zero is nearer to the truth than what rounding left below it
        sums = _sums(weight * np.maximum(mass[low:], 0.0), spacing)
        doubt = 1.01 * error * _norms(weight, spacing) + LEAST
        return cls(start + low, spacing, *sums, doubt, _rounding(losses, log_weight, slip), beyond)

    def delta(self, epsilon: float) -> float:
        """Return the sum over the window, plus a bound on all that may be missing."""
        place = math.ceil(epsilon / self.spacing) - self.start  # exact: a power of two
        if place < 1:
            return 1.0
        if place >= len(self.above):
            return self.beyond
        # losses are exact; their difference from epsilon is rounded once
        gap = (self.start + place) * self.spacing - epsilon
        share = -math.expm1(-gap) + 4.0 * UNIT * (epsilon + gap)
        total = float(self.above[place]) + share * float(self.here[place])
        # the doubt of the point below is that of a smaller epsilon, which is larger
        return total * (1.0 + self.rounding) + float(self.doubt[place - 1]) + self.beyond


def _sums(mass: Array, spacing: float) -> tuple[Array, Array]:
    """Return the masses above each point times `1 - e^(point - loss)`, and from it on the rest.

    With `1 - e^(-x-h) = (1 - e^-x) + e^-x (1 - e^-h)` both follow from the point above.
    """
    here = _faded(mass, math.exp(-spacing))
    return -math.expm1(-spacing) * _before(_from_top(here)), here


def _norms(weight: Array, spacing: float) -> Array:
    """Return the root of the sum of squares of `weight (1 - e^(point - loss))` above each point.

    The squares follow from the point above in the same way, by way of the mixed products.
    """
    less, share = -math.expm1(-spacing), math.exp(-spacing)
    squares = _faded(weight * weight, share * share)
    mixed = _faded(share * less * _before(squares), share)
    return np.asarray(np.sqrt(_from_top(_before(2.0 * less * mixed + less * less * squares))))


def _rounding(losses: Array, log_weight: Array, slip: float) -> float:
    """Return the relative error of weights, of sums of this length, and of the tilted masses."""
    size = float(np.max(np.abs(log_weight)) + np.max(np.abs(losses)))
    return 8.0 * UNIT * (len(losses) + size + 64.0) + 2.0 * slip


def _from_top(values: Array) -> Array:
    return np.cumsum(values[::-1])[::-1]


def _faded(values: Array, share: float) -> Array:
    """Return sums from the top, of which each point passes on a share to the one below."""
    return np.asarray(lfilter([1.0], [1.0, -share], values[::-1])[::-1])


def _before(values: Array) -> Array:
    """Return every value moved to the point below."""
    return np.append(values[1:], 0.0)


def _tilt(grid: Grid, theta: float) -> Array:
    losses = (grid.first + np.arange(len(grid.mass))) * grid.spacing
    return np.asarray(grid.mass * np.exp(theta * losses - _log_moment(grid, theta)))


def _tilt_error(grid: Grid, theta: float) -> float:
    """Return the relative rounding error of a tilted mass."""
    widest = max(abs(grid.first), abs(grid.first + len(grid.mass))) * grid.spacing
    return 4.0 * UNIT * (4.0 + theta * widest + abs(_log_moment(grid, theta)))


def _mean_and_variance(mass: Array, grid: Grid) -> tuple[float, float]:
    losses = (grid.first + np.arange(len(mass))) * grid.spacing
    mean = float(mass @ losses)
    return mean, float(mass @ (losses - mean) ** 2)


def _convolved(parts: list[tuple[Array, int, int]], size: int, start: int) -> tuple[Array, float]:
    """Return the composition on `size` points from `start` on, and a bound on its error's norm.

    Mass outside the window comes back in at its other end, which can only add to a bound.
    """
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    error, offset = TRANSFORM_ERROR * UNIT * math.log2(size), 0
    # masses sum to one at most, so each frequency of a transform is off by no more than `error`;
    # what that does to a product is bounded frequency by frequency
    log_most, relative = np.zeros(size // 2 + 1), np.zeros(size // 2 + 1)
    for mass, first, count in parts:
        padded = np.zeros(size)
        padded[: len(mass)] = mass
        factor = np.fft.rfft(padded)
        transform *= _power(factor, count)
        most = np.abs(factor) + error
        log_most += count * np.log(most)
        relative += count * (error / most + 8.0 * UNIT)
        offset += count * first
    masses = np.roll(np.fft.irfft(transform, size), (offset - start) % size)
    spread = np.exp(np.minimum(log_most, 1.0)) * (relative + 2.0 * error)
    return masses, 1.01 * math.sqrt(2.0 * float(np.sum(spread * spread)) / size)


def _power(values: np.ndarray, count: int) -> np.ndarray:
    power = np.ones_like(values)
    square = values
    while count:
        if count & 1:
            power = power * square
        square = square * square if count > 1 else square
        count >>= 1
    return power


@dataclass(frozen=True)
class Sampled(Bound):
    """The worse of several directions, with a probability of failure.

    `used` bounds the probability that any step uses the record; otherwise both runs are the same.
    `shown` is what they leak if they show whether they used it: no less, as both laws of a sampled
    step are mixtures, with the same weights, of a Gaussian step's laws and of one that both share.
    `steps` are what the accounts were made of, direction by direction, to be composed with others.
    """

    accounts: tuple[ComposedAccount | Single, ...]
    failure: float = 0.0
    used: arb = field(default_factory=lambda: arb(1))
    shown: Mixture | None = None
    steps: tuple[tuple[StepLosses, int], ...] = ()
    directions: tuple[PairOrder, ...] = ()
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """Return the largest of the accounts."""
        at = float(epsilon)
        worst = ball(max(account.delta(at) for account in self.accounts))
        delta = top(worst + ball(self.failure)).min(self.used)
        return delta if self.shown is None else delta.min(top(self.shown.delta(epsilon)))


Counted = list[tuple[StepLosses, int]]


@dataclass
class AccountBuilder:
    """A builder of accounts that reuses the grids of steps."""

    known: dict[tuple[StepLosses, PairOrder, float, int], Grid] = field(default_factory=dict)

    def bound(
        self, steps: Counted, directions: tuple[PairOrder, ...], failure: float = 0.0
    ) -> Sampled:
        """Return the composition of the steps, in each direction by itself."""
        single = [count for _, count in steps] == [1]
        accounts = (_single(steps, w) if single else self.account(steps, w) for w in directions)
        return Sampled(tuple(accounts), failure, steps=tuple(steps), directions=directions)

    def account(self, steps: Counted, direction: PairOrder) -> ComposedAccount:
        """Return the composition of the steps on grids."""
        extents = [step.extent(direction) for step, _ in steps]
        deviation = math.sqrt(
            sum(n * e.deviation**2 for e, (_, n) in zip(extents, steps, strict=True))
        )
        spacing = _spacing(steps, extents, deviation)
        widest = 2 ** max(0, math.floor(math.log2(JOINED * deviation / spacing)))
        grids = []
        for step, count in steps:
            # what joining cells adds grows with the number of steps
            way = PairOrder.REMOVE if isinstance(step, PlainStep) else direction  # all are alike
            key = step, way, spacing, 4 * widest if count == 1 else widest
            if key not in self.known:
                self.known[key] = on_grid(*key)
            grids.append((self.known[key], count))
        return ComposedAccount(tuple(grids))


def composed(bounds: Sequence[Gaussian | Sampled], failure: arb) -> Sampled | None:
    """Return the joint bound of releases of which some are sampled; None if it is not known.

    Each direction compares the same two data sets in every release, and a Gaussian one is alike in
    all of them.  Releases that are sampled in different ways name different directions.
    """
    ways = {bound.directions for bound in bounds if isinstance(bound, Sampled)}
    if len(ways) != 1:
        return None
    steps: Counted = []
    for bound in bounds:
        if isinstance(bound, Sampled):
            steps += bound.steps
            failure += ball(bound.failure)
        elif bound.mu_squared > 0:
            steps.append((PlainStep(bound.mu), 1))
    return AccountBuilder().bound(steps, ways.pop(), as_float_up(top(failure)))


def _single(steps: Counted, direction: PairOrder) -> Single:
    ((step, _),) = steps
    extent = step.extent(direction)
    _check_size([extent], extent.deviation)
    return Single(step, direction)


def _check_size(extents: list[Extent], deviation: float) -> None:
    usable = all(math.isfinite(e.largest - e.least) and e.deviation > 0.0 for e in extents)
    if not (deviation > 1e-100 and usable):
        raise TooLarge("steps whose losses are too small or too large")


def _spacing(steps: Counted, extents: list[Extent], total: float) -> float:
    """Return a spacing fine against the losses of the steps that matter, and against their sum."""
    variances = [n * e.deviation**2 for e, (_, n) in zip(extents, steps, strict=True)]
    _check_size(extents, total)
    widest = max(e.largest - e.least for e in extents)
    # of a kind of steps that adds little to the sum, a coarse grid adds little
    fine = min(
        e.deviation * math.sqrt(total * total / (len(steps) * v))
        for e, v in zip(extents, variances, strict=True)
        if v > 0.0  # a step that is so rarely seen that its square underflows asks for no grid
    )
    reach = max(widest, 2.2 * WINDOW * total)
    spacing = max(min(COARSE * fine, reach / FEWEST_POINTS), reach / MOST_POINTS)
    if spacing > COARSEST * fine:
        raise TooLarge("a grid that would be too coarse")
    # powers of two: exact, and grids of steps can be used again
    return float(2.0 ** math.floor(math.log2(spacing)))
