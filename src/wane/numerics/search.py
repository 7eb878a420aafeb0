"""Searches: for the end of a bracket at which a claim is true, for least values, for parameters.

Every search evaluates the predicate at the number it returns; nothing is interpolated and then
trusted.  The predicates are assumed monotone, but if they are not, the returned number still
satisfies the predicate: only its extremality is lost.  Searches for a least value return one that
was seen: every answer is valid, and a better one is tighter.  So it is with the free parameters of
a bound: whoever asks evaluates it at whatever a search comes back with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from wane.arrays import Array
from wane.errors import Unreachable
from wane.numerics.rounding import SMALLEST_POSITIVE

RELATIVE = 1e-13
"""Default relative width at which a search over the reals stops."""


def smallest_satisfying(
    predicate: Callable[[float], bool],
    low: float,
    high: float = math.inf,
    *,
    relative: float = RELATIVE,
) -> float:
    """Return a number with an upward-closed property, at most `relative` above the smallest.

    `0 <= low <= high`; an infinite `high` is replaced by doubling.  Raises `Unreachable` if no
    number up to `high` satisfies the predicate.
    """
    if predicate(low):
        return low
    if math.isinf(high):
        low, high = _double_until(predicate, low)
    elif not predicate(high):
        raise Unreachable(f"no value between {low:g} and {high:g} satisfies the condition")
    return _bisected(predicate, high, low, relative)


def largest_satisfying(
    predicate: Callable[[float], bool],
    low: float,
    high: float,
    *,
    relative: float = RELATIVE,
) -> float:
    """Return a number with a downward-closed property, at most `relative` below the largest.

    `0 <= low <= high < inf`.  Raises `Unreachable` if not even `low` satisfies the predicate.
    """
    if predicate(high):
        return high
    if not predicate(low):
        raise Unreachable(f"no value between {low:g} and {high:g} satisfies the condition")
    return _bisected(predicate, low, high, relative)


def first_at_most(
    function: Callable[[float], float],
    goal: float,
    low: float,
    high: float,
    *,
    relative: float = RELATIVE,
) -> float:
    """Return where a non-increasing positive function reaches `goal`, from the safe side.

    `0 <= low <= high`, and the function must be at most `goal` at `high`.  The returned number is
    a place where it was seen to be at most `goal`.  The chord through the logarithms is tried
    first (Illinois rule), so smooth functions need about ten evaluations; else it bisects.
    """
    at_low, at_high = (math.log(max(function(end), SMALLEST_POSITIVE)) for end in (low, high))
    log_goal = math.log(goal)
    if at_low <= log_goal:
        return low
    if at_high > log_goal:
        raise Unreachable(f"the function does not fall to {goal:g} before {high:g}")
    above, below = at_low - log_goal, at_high - log_goal  # the ordinates of the chord
    moved = 0
    for round_number in range(200):
        if high - low <= relative * high:
            break
        if round_number % 8 == 7 or not above > below:
            middle = _between(low, high)
        else:
            # Not closer to an end than this, so that the bracket shrinks from both sides.
            margin = 0.4 * relative * high
            chord = low + (high - low) * above / (above - below)
            middle = min(max(chord, low + margin), high - margin)
        if not low < middle < high:
            break
        value = function(middle)
        ordinate = math.log(max(value, SMALLEST_POSITIVE)) - log_goal
        # An end that stays twice in a row has its ordinate halved.
        if value <= goal:
            high, below, above = middle, min(ordinate, 0.0), above * (0.5 if moved > 0 else 1.0)
            moved = 1
        else:
            low, above, below = middle, max(ordinate, 0.0), below * (0.5 if moved < 0 else 1.0)
            moved = -1
    return high


def smallest_integer_satisfying(
    predicate: Callable[[int], bool], low: int, high: int | None = None
) -> int:
    """Return the smallest integer in `[low, high]` with an upward-closed property.

    Raises `Unreachable` if not even `high` has it; without `high` some integer must have it, and
    `low >= 1` is doubled until it does.
    """
    if predicate(low):
        return low
    if high is None:
        high = 2 * low
        while not predicate(high):
            low, high = high, 2 * high
    elif not predicate(high):
        raise Unreachable(f"no integer between {low} and {high} satisfies the condition")
    while high - low > 1:
        middle = (low + high) // 2
        if predicate(middle):
            high = middle
        else:
            low = middle
    return high


def minimise_scalar_bounded(
    function: Callable[[float], float], low: float, high: float, *, steps: int = 60
) -> tuple[float, float]:
    """Return the best argument of a golden-section search, and the value there.

    The returned value is the function at the returned argument, so a caller for whom every
    argument is valid loses only tightness if the function is not unimodal.
    """
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    best = min((at_left, left), (at_right, right))
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
            best = min(best, (at_left, left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
            best = min(best, (at_right, right))
    return best[1], best[0]


def _double_until(predicate: Callable[[float], bool], low: float) -> tuple[float, float]:
    """Return a bracket (fails, satisfies) found by doubling."""
    high = max(2.0 * low, 1.0)
    while not predicate(high):
        low, high = high, 2.0 * high
        if math.isinf(high):
            raise Unreachable("no finite value satisfies the condition")
    return low, high


def _bisected(
    predicate: Callable[[float], bool], holds: float, fails: float, relative: float
) -> float:
    """Return a number where the predicate holds, near one where it fails, by bisection."""
    while abs(holds - fails) > relative * max(holds, fails):
        low, high = min(holds, fails), max(holds, fails)
        middle = _between(low, high)
        if not low < middle < high:
            break
        if predicate(middle):
            holds = middle
        else:
            fails = middle
    return holds


def _between(low: float, high: float) -> float:
    """Return a point that halves the bracket in orders of magnitude, or in length if narrow."""
    if low < 0.5 * high:
        # A zero end counts as the smallest double: about ten steps find the right magnitude.
        return math.sqrt(max(low, SMALLEST_POSITIVE)) * math.sqrt(high)
    return low + 0.5 * (high - low)


def least_over_integers(f: Callable[[int], float], low: int, high: int) -> float:
    """Return the smallest `f` seen on [low, high]: all integers if few, else by search.

    The search looks at a geometric grid from `low` and walks downhill from its best point; it finds
    the minimum of a unimodal function, and some value of any other.
    """
    seen: dict[int, float] = {}

    def at(n: int) -> float:
        if n not in seen:
            seen[n] = f(n)
        return seen[n]

    if high - low < 64:
        return min(at(n) for n in range(low, high + 1))
    grid = sorted({low + round(math.expm1(i * math.log1p(high - low) / 47)) for i in range(48)})
    best = min(grid, key=at)
    stride = max(b - a for a, b in pairwise(grid) if best in (a, b))
    while stride:
        near = [n for n in (best, best - stride, best + stride) if low <= n <= high]
        moved = min(near, key=at)
        if moved == best:
            stride //= 2
        best = moved
    return at(best)


Objective = Callable[[Array], float]

_HOPELESS = 1e4  # stands for an infinite logarithm, which the simplex cannot order


def log_or_worst(value: float) -> float:
    """ln(value), with a finite stand-in for infinity."""
    return math.log(value) if 0.0 < value < math.inf else _HOPELESS


def descend(
    objective: Objective, start: Array, *, evaluations: int, width: float = 0.5
) -> tuple[float, Array]:
    """Return the least value met by one simplex search from `start`, and where."""
    from scipy.optimize import minimize  # slow to load, and seldom needed

    simplex = np.vstack([start, start + width * np.eye(len(start))])
    found = minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={
            "maxfev": evaluations,
            "xatol": 1e-3,
            "fatol": 1e-6,
            "initial_simplex": simplex,
            "adaptive": True,
        },
    )
    return float(found.fun), np.asarray(found.x)


def minimise(
    objective: Objective,
    starts: Sequence[Array],
    *,
    keep: int = 2,
    evaluations: int = 600,
    restarts: int = 2,
) -> tuple[float, Array]:
    """The least value met from the best `keep` starts, each search restarted where it ended."""
    ranked = sorted(((objective(z), i) for i, z in enumerate(starts)), key=lambda pair: pair[0])
    best = (ranked[0][0], starts[ranked[0][1]])
    if best[0] >= _HOPELESS:
        return best  # a simplex cannot leave a plain
    for value, place in ranked[:keep]:
        current = (value, starts[place])
        for _ in range(1 + restarts):
            found = descend(objective, current[1], evaluations=evaluations)
            improved = current[0] - found[0]
            current = min(current, found, key=lambda pair: pair[0])
            if improved < 1e-5:
                break
        best = min(best, current, key=lambda pair: pair[0])
    return best


@dataclass(frozen=True)
class Found:
    """A bound, and the free parameters it was evaluated at."""

    value: float
    parameters: Mapping[str, float]

    def __post_init__(self) -> None:
        """Refuse what is not a number, which bounds nothing."""
        if math.isnan(self.value):
            raise FloatingPointError("the bound is not a number")


@dataclass(frozen=True)
class Coordinate:
    """How a free parameter is written as a real number without bounds, and back."""

    name: str
    to_real: Callable[[float], float]
    from_real: Callable[[float], float]


def positive_from(z: float) -> float:
    """Return e^z, within the range of doubles."""
    return math.exp(min(max(z, -40.0), 40.0))


def above_one(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (1, inf)."""
    return Coordinate(name, lambda v: math.log(v - 1.0), lambda z: 1.0 + positive_from(z))


def positive(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (0, inf)."""
    return Coordinate(name, math.log, positive_from)


def share(name: str) -> Coordinate:
    """Return the coordinate of a parameter in (0, 1)."""
    return Coordinate(
        name, lambda v: math.log(v / (1.0 - v)), lambda z: 1.0 / (1.0 + positive_from(-z))
    )


def encode(coordinates: tuple[Coordinate, ...], values: Mapping[str, float]) -> Array:
    """Return the point of these values, where a search may start."""
    return np.array([c.to_real(values[c.name]) for c in coordinates])


def grid(coordinates: tuple[Coordinate, ...], *values: Sequence[float]) -> list[Array]:
    """Return the points of all combinations of values, one row of them for each parameter."""
    names = [c.name for c in coordinates]
    return [encode(coordinates, dict(zip(names, v, strict=True))) for v in product(*values)]


def decode(coordinates: tuple[Coordinate, ...], point: Array) -> dict[str, float]:
    """Return the parameters at a point."""
    return {c.name: c.from_real(z) for c, z in zip(coordinates, point.tolist(), strict=True)}


def least(
    bound: Callable[..., float],
    read: Callable[[Array], Mapping[str, float]],
    starts: Sequence[Array],
) -> Found:
    """Return the bound at the best parameters met; `read` turns a point into the parameters."""
    _, point = minimise(lambda z: log_or_worst(bound(**read(z))), starts)
    values = read(point)
    return Found(bound(**values), values)
