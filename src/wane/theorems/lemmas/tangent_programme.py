"""The programme of privacy amplification by iteration for any concave modulus, from above.

Backwards in time the least cost V(w) from squared distance w is concave, so it is kept as a set of
lines `w/q + B`, each a valid upper bound for all w.  A step with noise sigma^2 turns a line into
`psi(w)/(q + sigma^2) + B`, and psi lies below its tangents: one tangent per knot, joined with the
line that is best there, gives the new set.  Stretches of many steps use one tangent throughout,
which is again valid and has a closed form.  A second pass puts the knots around the path that the
first one found.  See docs/proofs/modulus-programme.md.

The line with q = 0 stands for runs that have met: from there each step costs its own shift only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.numerics.rounding import SMALLEST_POSITIVE
from wane.theorems.lemmas.moduli import SMALLEST_DISTANCE, AffineSquare, Modulus, Shifted

Distance = float | Callable[[int], float]

KNOTS = 160
REFINED_KNOTS = 48
PASSES = 2
SHARE = 64
"""A stretch is no longer than this fraction of the steps that follow it."""
SUBDIVISIONS = 8
_ROUNDING = 1e-12
_PROGRESS = 1e-9  # a cost that falls by less has levelled off
_LARGEST = 1e300
_LARGEST_GROWTH = 600.0  # logarithm of the growth of a reach that is followed; more is more private


@dataclass(frozen=True)
class Stretch:
    """Equal steps: their common modulus, how far the two runs' maps differ, noise, how many."""

    modulus: Modulus
    shift: float
    variance: float
    count: int = 1

    @property
    def total(self) -> Modulus:
        """The modulus with the shift added."""
        return Shifted(self.modulus, self.shift) if self.shift > 0.0 else self.modulus


@dataclass(frozen=True)
class _Lines:
    reach: Array
    spent: Array
    chosen: NDArray[np.intp]


@dataclass(frozen=True)
class Found:
    """An upper bound on mu^2, and for how many of the last steps it was found."""

    value: float
    steps: int


def solve(
    stretches: Sequence[Stretch], distance: Distance, *, knots: int = KNOTS, passes: int = PASSES
) -> Found:
    """Bound mu^2 for the stretches in order of time, the runs being `distance` apart before them.

    `distance` is a number, or a function of how many of the last steps are used.
    """
    at = _followed(distance)
    pieces = split(stretches)
    if not pieces:
        return Found(math.inf, 0)
    widest = max(at(1), at(sum(p.count for p in pieces)))
    if widest == 0.0:
        met = sum(p.count * p.shift**2 / p.variance for p in pieces)
        return Found(met * (1.0 + _ROUNDING), 0)
    grid = _first_knots(pieces, widest, knots)
    rows: list[Array] = [grid] * len(pieces)
    best = Found(math.inf, 0)
    spread = math.log(grid[1] / grid[0]) if len(grid) > 1 else 1.0
    for _ in range(passes):
        found, path = _pass(pieces, rows, at)
        best = min(best, found, key=lambda f: f.value)
        fan = np.exp(np.linspace(-1.5 * spread, 1.5 * spread, REFINED_KNOTS))
        rows = [w * fan for w in path]
        pieces = pieces[: len(path)]
        spread *= 3.0 / (REFINED_KNOTS - 1)
    return best


def profile(stretches: Sequence[Stretch], distance: Distance) -> tuple[Array, Array]:
    """Return numbers of last steps, and a bound on mu^2 for using just those."""
    at = _followed(distance)
    pieces = split(stretches)
    counts = np.cumsum([p.count for p in pieces]).astype(np.float64)
    widest = max(at(int(n)) for n in (counts[0], counts[-1]))
    grid = _first_knots(pieces, max(widest, 1e-150), KNOTS)
    # of equal steps, more can only help after long if they already do
    costs, _, _ = _sweep(pieces, [grid] * len(pieces), at, patient=len(stretches) > 1)
    return counts[: len(costs)], np.array(costs) * (1.0 + _ROUNDING + 4e-15 * len(costs))


def _followed(distance: Distance) -> Callable[[int], float]:
    """Return the distance as a function of the last steps, raised where its square underflows."""
    at = distance if callable(distance) else (lambda _: distance)

    def raised(steps: int) -> float:
        found = at(steps)
        return max(found, SMALLEST_DISTANCE) if found > 0.0 else found

    return raised


def split(stretches: Sequence[Stretch]) -> list[Stretch]:
    """The stretches from the end of time, cut so that each is short against what follows it."""
    pieces: list[Stretch] = []
    done = 0
    for stretch in reversed(stretches):
        left = stretch.count
        while left:
            taken = min(left, max(1, done // SHARE))
            pieces.append(Stretch(stretch.modulus, stretch.shift, stretch.variance, taken))
            left -= taken
            done += taken
    return pieces


def _first_knots(pieces: Sequence[Stretch], widest: float, knots: int) -> Array:
    """Squared distances up to the widest; independent of the noise, so that mu scales with it."""
    if all(isinstance(p.modulus, AffineSquare) and p.shift == 0.0 for p in pieces):
        return np.array([widest**2])  # all tangents are the same
    shift = min((p.shift for p in pieces if p.shift > 0.0), default=widest) / widest
    return np.geomspace(max(min(1e-11, 0.01 * shift**2), 1e-18), 1.0, knots) * widest**2


def _pass(
    pieces: Sequence[Stretch], rows: Sequence[Array], at: Callable[[int], float]
) -> tuple[Found, list[Array]]:
    """One sweep backwards in time; also the knots on the best path, from the end of time."""
    costs, firsts, history = _sweep(pieces, rows, at)
    last = int(np.argmin(costs))
    path, line = [], firsts[last]
    for j in range(last, -1, -1):
        path.append(rows[j][line])
        line = int(history[j].chosen[line])
        if j and line >= len(rows[j - 1]):
            path.extend(rows[k][0] for k in range(j - 1, -1, -1))  # the runs have met
            break
    rounding = 1.0 + _ROUNDING + 4e-15 * len(history)
    steps = sum(p.count for p in pieces[: last + 1])
    return Found(max(costs[last] * rounding, SMALLEST_POSITIVE), steps), path[::-1]


def _sweep(
    pieces: Sequence[Stretch],
    rows: Sequence[Array],
    at: Callable[[int], float],
    *,
    patient: bool = False,
) -> tuple[list[float], list[int], list[_Lines]]:
    """Return the cost of starting before each piece, the line it comes from, and all lines."""
    lines = _Lines(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp))
    costs: list[float] = []
    firsts: list[int] = []
    history: list[_Lines] = []
    met, done, best_at, least = 0.0, 0, 0, math.inf
    tangents: dict[tuple[int, int, float], tuple[Array, Array]] = {}
    for piece, knots in zip(pieces, rows, strict=True):
        key = (id(piece.modulus), id(knots), piece.shift)
        if key not in tangents:
            tangents[key] = piece.total.tangents(knots)
        lines = _advanced(lines, met, piece, knots, tangents[key])
        history.append(lines)
        met += piece.count * piece.shift**2 / piece.variance
        done += piece.count
        with np.errstate(divide="ignore", over="ignore"):
            cost = np.float64(at(done)) ** 2 / lines.reach + lines.spent
        firsts.append(int(np.argmin(cost)))
        costs.append(float(cost[firsts[-1]]))
        if costs[-1] <= least * (1.0 - _PROGRESS):
            best_at, least = done, costs[-1]
        elif not patient and done > 8 * best_at + 64:
            break  # it has not fallen for long
    return costs, firsts, history


def _advanced(
    lines: _Lines, met: float, piece: Stretch, knots: Array, tangents: tuple[Array, Array]
) -> _Lines:
    """Return the lines before a stretch, one for each knot."""
    slope, intercept = tangents
    reach = np.append(lines.reach, 0.0)
    spent = np.append(lines.spent, met)
    m, s2 = piece.count, piece.variance
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        chosen = _choice(reach, spent, piece, knots, tangents)
        q, b = reach[chosen], spent[chosen]
        if m == 1:
            g = q + s2
            return _Lines(np.minimum(g / slope, _LARGEST), b + intercept / g, chosen)
        return _Lines(*_many(q, b, piece, tangents), chosen)


def _choice(
    reach: Array, spent: Array, piece: Stretch, knots: Array, tangents: tuple[Array, Array]
) -> NDArray[np.intp]:
    """For every knot, the line after the stretch that seems best; any would be valid."""
    slope, intercept = tangents
    m, s2 = piece.count, piece.variance
    if m == 1:
        guess = np.outer(slope * knots + intercept, 1.0 / (reach + s2)) + spent
    else:
        far = np.outer(slope**m, 1.0 / (reach + m * s2))  # only a guess, to choose by
        guess = knots[:, None] * far + spent
        guess += np.outer(intercept * m, 1.0 / (reach + 0.5 * m * s2))
    chosen: NDArray[np.intp] = np.argmin(guess, axis=1)
    return chosen


def _many(q: Array, b: Array, piece: Stretch, tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """`m` equal affine steps: `q_j = q c^-j + s2 (c^-1 + ... + c^-j)`, and the sum of 1/g_j.

    1/g is convex in j where g grows and is bounded by its last value where g falls, so chords (or
    that value) are above the sum.
    """
    (slope, intercept), m, s2 = tangents, piece.count, piece.variance
    if not intercept.any():
        return _reaches(q, slope, s2, [m])[0], b
    cuts = min(m - 1, SUBDIVISIONS)
    places = [i * (m - 1) // cuts for i in range(cuts + 1)]
    reaches = _reaches(q, slope, s2, [*places, m])
    heights = 1.0 / (reaches[:-1] + s2)
    inner = np.diff(np.array(places, dtype=np.float64))[:, None]
    left, right = heights[:-1], heights[1:]
    chords = 0.5 * inner * (left + right) + 0.5 * (left - right)  # steps a .. z-1 of each part
    total = np.sum(np.where(right > left, inner * right, chords), axis=0) + heights[-1]
    return reaches[-1], b + intercept * total


def _reaches(q: Array, slope: Array, s2: float, places: Sequence[int]) -> Array:
    """Return q after each of these numbers of steps, rounded down.

    Growth is cut at a finite number, because a reach of zero times an infinite one is none at all.
    """
    j = np.array(places, dtype=np.float64)[:, None]
    k = -np.log(slope)
    flat = np.abs(k) * j < 1e-12
    safe = np.where(k == 0.0, 1.0, k)
    growth = np.minimum(j * safe, _LARGEST_GROWTH)
    total = np.where(flat, j * (1.0 - 1e-12), np.expm1(growth) / -np.expm1(-safe))
    grown = np.where(flat, 1.0 - 1e-12, np.exp(np.minimum(j * k, _LARGEST_GROWTH)))
    return np.minimum(q * grown + s2 * total, _LARGEST)
