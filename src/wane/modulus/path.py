"""The cheapest path of distances between two runs, for any nondecreasing modulus.

A search on grids of distances proposes, and a rollout disposes: whatever the search came up with,
mu is recomputed from payments that satisfy the constraints, and rounded up.  Theorem 1 of
docs/proofs/modulus-programme.md makes every such path a certificate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

UserModulus = Callable[[int, float], float]
"""How far apart two points can be after step t = 1, 2, ..., if they were u apart before it."""


class GridModulus(ABC):
    """A modulus that answers for many distances at once; faster than a function of one."""

    @abstractmethod
    def __call__(self, step: int, distance: float) -> float:
        """Return the modulus of a step at one distance > 0."""

    @abstractmethod
    def on_grid(self, step: int, grid: Array) -> Array:
        """Return a new array of the values at these distances, of which one may be zero."""


MOST_STEPS = 20_000
_POINTS = 160
_FAN = 24
_PASSES = 4
_DECADES = 1e-10
_WIDEST = 1e3


@dataclass(frozen=True)
class BestPath:
    """A path on which two runs become equal, and the mu that it certifies.

    Attributes:
        distances: how far apart the runs are before the first step, ..., after the last (zero).
        payments: how much of the distance each step's noise hides.
        noise_stds: the deviation of each step's noise on the iterate.
        first_step: the first step that counts; the runs were `distances[0]` apart before it.
        mu: the last iterates are no easier to tell apart than N(0, 1) from N(mu, 1).
    """

    distances: tuple[float, ...]
    payments: tuple[float, ...]
    noise_stds: tuple[float, ...]
    first_step: int
    mu: float

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee that the path certifies."""
        return GaussianDP(self.mu)

    def renyi(self, order: float) -> float:
        """Return an upper bound on the Renyi divergence in both directions: order * mu^2/2."""
        return self.guarantee.renyi(order)

    def epsilon(self, delta: float) -> float:
        """Return epsilon at this delta, never rounded down."""
        return self.guarantee.epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """Return delta at this epsilon, never rounded down."""
        return self.guarantee.delta(epsilon)


def best_path(
    *,
    modulus: UserModulus,
    shifts: Sequence[float],
    noise_stds: Sequence[float],
    distance: float,
    diameter: float | None = None,
) -> BestPath:
    """Return the path of least mu for two runs that are `distance` apart before the first step.

    Before its noise, step t sends points of the two runs that are u apart to points that are at
    most `modulus(t, u) + shifts[t-1]` apart; at one point the two steps differ by `shifts[t-1]` at
    most.  The modulus must not fall as u grows, and is only asked at u > 0.  `noise_stds` are the
    deviations on the iterate, per coordinate.  After the noise any map may follow that moves no two
    points apart.  With a `diameter`, no two iterates are ever further apart, and the path may begin
    at any step.
    """
    steps = _Steps.read(modulus, shifts, noise_stds)
    start = arguments.real("distance", distance, least=0.0)
    widest = math.inf if diameter is None else arguments.real("diameter", diameter, above=0.0)
    start = min(start, widest)
    grid = _first_grid(steps, start, widest)
    rows = [grid] * len(steps)
    spread = math.log(grid[-1] / grid[-2]) if len(grid) > 2 else 1.0
    best: BestPath | None = None
    for _ in range(_PASSES):
        candidate = _rolled_out(steps, rows, start, widest)
        best = candidate if best is None or candidate.mu < best.mu else best
        rows = _around(best, spread, grid, len(steps))
        spread *= 0.2
    assert best is not None
    return best


@dataclass(frozen=True)
class _Steps:
    """The checked arguments of `best_path`, with a modulus that is checked at every call."""

    modulus: UserModulus
    shifts: tuple[float, ...]
    noise_stds: tuple[float, ...]

    @classmethod
    def read(cls, modulus: object, shifts: Sequence[float], noise_stds: Sequence[float]) -> _Steps:
        if not callable(modulus):
            raise InvalidDescription(
                f"modulus must be a function of the step and the distance, got {modulus!r:.60}; "
                "wane.modulus.from_values makes one of numbers."
            )
        moved = tuple(arguments.real("shifts", s, least=0.0) for s in shifts)
        noises = tuple(arguments.real("noise_stds", s, least=0.0) for s in noise_stds)
        if len(moved) != len(noises) or not 1 <= len(noises) <= MOST_STEPS:
            raise InvalidDescription(
                f"shifts and noise_stds must have one number for each of 1 to {MOST_STEPS} steps, "
                f"got {len(moved)} and {len(noises)}."
            )
        return cls(modulus, moved, noises)

    def __len__(self) -> int:
        return len(self.shifts)

    def reached(self, step: int, distance: float) -> float:
        """Return the largest distance of the runs before the noise of step number `step` from 0."""
        if distance == 0.0:
            return self.shifts[step]
        try:
            value = float(self.modulus(step + 1, float(distance)))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidDescription(
                f"modulus must return a number >= 0, got {type(error).__name__} at step "
                f"{step + 1} and distance {distance:g}."
            ) from None
        if not value >= 0.0:
            raise InvalidDescription(
                f"modulus must return a number >= 0, got {value!r} at step {step + 1} and "
                f"distance {distance:g}."
            )
        return value + self.shifts[step]

    def reached_from(self, step: int, grid: Array) -> Array:
        """Return `reached` for an increasing grid of distances; refuse a modulus that decreases."""
        if isinstance(self.modulus, GridModulus):
            values = self.modulus.on_grid(step + 1, grid) + self.shifts[step]
            values[grid == 0.0] = self.shifts[step]
        else:
            values = np.array([self.reached(step, u) for u in grid.tolist()])
        before = np.maximum.accumulate(values)
        falling = np.flatnonzero(values[1:] < before[:-1] * (1.0 - 1e-9))
        if len(falling) and grid[falling[0]] > 0.0:
            low, high = grid[falling[0]], grid[falling[0] + 1]
            raise InvalidDescription(
                f"modulus must not fall as the distance grows, got a smaller value at "
                f"{high:.6g} than at {low:.6g} in step {step + 1}; return the largest value up to "
                "each distance."
            )
        return before


def _first_grid(steps: _Steps, start: float, widest: float) -> Array:
    """Return zero and geometrically spaced distances up to the largest that a path could use."""
    scale = start + math.fsum(steps.shifts)
    if math.isfinite(widest):
        scale = max(scale, widest)
    if scale == 0.0:
        return np.zeros(1)
    furthest, u = scale, start
    for step in range(len(steps)):
        u = steps.reached(step, u)
        if not u <= _WIDEST * scale:
            furthest = _WIDEST * scale
            break
        furthest = max(furthest, u)
    positive = [s for s in (*steps.shifts, start) if s > 0.0]
    smallest = max(min([scale, *positive]) * 1e-6, _DECADES * scale)
    return np.concatenate([[0.0], np.geomspace(smallest, furthest, _POINTS)])


def _around(best: BestPath, spread: float, grid: Array, count: int) -> list[Array]:
    """Return finer grids around the best path; where the runs are equal, the first grid again."""
    fan = np.exp(np.linspace(-2.0 * spread, 2.0 * spread, _FAN))
    distances = dict(zip(range(best.first_step - 1, count), best.distances, strict=False))
    return [
        np.concatenate([[0.0], distances[step] * fan]) if distances.get(step, 0.0) > 0.0 else grid
        for step in range(count)
    ]


def _rolled_out(steps: _Steps, rows: list[Array], start: float, widest: float) -> BestPath:
    """Return the path that the values on these grids suggest, with payments that are feasible."""
    ahead = _ahead(steps, rows)
    first, begun = 0, start
    if math.isfinite(widest):
        costs = [_choice(steps, t, widest, ahead)[1] for t in range(len(steps))]
        late = int(np.argmin(costs))
        if costs[late] < _choice(steps, 0, start, ahead)[1]:
            first, begun = late, widest
    distances, payments, total = [begun], [], 0.0
    for step in range(first, len(steps)):
        u = distances[-1]
        following, _ = _choice(steps, step, u, ahead)
        paid = steps.reached(step, u) - following
        if paid > 0.0:
            noise = steps.noise_stds[step]
            weight = paid / noise if noise > 0.0 else math.inf
            total += weight * weight  # infinite where a power would raise
        distances.append(following)
        payments.append(paid)
    mu = math.sqrt(total) if total < math.inf else math.inf
    if mu == 0.0 and any(payments):
        mu = SMALLEST_POSITIVE
    return BestPath(
        distances=tuple(distances),
        payments=tuple(payments),
        noise_stds=steps.noise_stds[first:],
        first_step=first + 1,
        mu=inflate(mu, 1e-15 * (8 + 4 * len(steps))) if 0.0 < mu < math.inf else mu,
    )


@dataclass(frozen=True)
class _Segments:
    """The cost to come after a step: lines `A v^2 + B` for distances from `low` to `high`."""

    low: Array
    high: Array
    slope: Array
    offset: Array

    @classmethod
    def of(cls, grid: Array, values: Array) -> _Segments:
        """Return zero as a segment of its own, where the cost may jump, and the lines after it."""
        low = np.concatenate([[0.0, 0.0], grid[1:-1]]) if len(grid) > 1 else np.zeros(1)
        high = grid
        squares = grid * grid
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = np.diff(values[1:]) / np.diff(squares[1:])
        slope = np.concatenate([np.zeros(min(2, len(grid))), rise])
        slope = np.where(np.isfinite(slope), np.maximum(slope, 0.0), 0.0)
        return cls(low, high, slope, values - slope * squares)

    def choose(self, reached: Array, noise: float) -> tuple[Array, Array]:
        """Return the best distance after a step from each reached one, and the cost from there."""
        far = reached[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            wanted = far / (1.0 + noise * noise * self.slope)
            wanted = np.minimum(np.clip(wanted, self.low, self.high), far)
            paid = np.where(np.isfinite(far), far - wanted, math.inf)
            due = (paid / noise) ** 2 if noise > 0.0 else np.where(paid > 0.0, math.inf, 0.0)
            cost = due + self.slope * wanted * wanted + self.offset
        cost[(self.low > far) | np.isnan(cost)] = math.inf
        place = np.argmin(cost, axis=1)
        rows = np.arange(len(reached))
        return wanted[rows, place], cost[rows, place]


def _ahead(steps: _Steps, rows: list[Array]) -> list[_Segments]:
    """Return the cost to come after each step; at the end the distance must be zero.

    Lines between grid points are a guess, above or below the truth: they only choose where to go.
    """
    after = [_Segments.of(np.zeros(1), np.zeros(1))]
    for step in range(len(steps) - 1, 0, -1):
        reached = steps.reached_from(step, rows[step])
        values = after[-1].choose(reached, steps.noise_stds[step])[1]
        after.append(_Segments.of(rows[step], values))
    return after[::-1]


def _choice(
    steps: _Steps, step: int, distance: float, ahead: list[_Segments]
) -> tuple[float, float]:
    """Return the distance to choose after this step, and an estimate of the cost from here on."""
    reached = np.array([steps.reached(step, distance)])
    following, cost = ahead[step].choose(reached, steps.noise_stds[step])
    return float(following[0]), float(cost[0])
