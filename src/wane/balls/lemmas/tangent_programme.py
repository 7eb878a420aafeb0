"""Upper bounds of the modulus programme by lines, in balls.

Let V(w) be the least cost of hiding a squared distance w during the steps that are left.  If
`w/reach + spent` is above V after a step, and `slope w + offset` above the modulus of the step,
then `(slope w + offset)/(reach + variance) + spent` is above V before it.  So every choice of lines
proves a cost.  Choices are looked for in doubles, backwards in time, for many distances at once;
the best one is then computed in balls.  Runs that have met have reach 0, and pay each step's own
shift.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from wane.arrays import Array
from wane.balls.arithmetic import ball, top
from wane.balls.lemmas.moduli import Line, ModulusInBalls, root

Distance = Callable[[int], arb]
"""How far apart the runs can be, of how many steps are left; in units."""

KNOTS, FINER_KNOTS, PASSES = 176, 56, 2
SHARE = 128
"""Steps that are treated alike are no more than this part of those that follow."""
CHORDS = 12
MOST_PIECES = 6_000
LARGEST = 1e250
ROUNDS, MOST_POLISHED = 8, 200_000


@dataclass(frozen=True)
class StepsInBalls:
    """Equal steps, lengths in units: modulus, the record's shift, noise, how many."""

    modulus: ModulusInBalls
    shift: arb
    variance: arb
    count: int


@dataclass(frozen=True)
class _Rough:
    """A stretch in doubles, and its place in time."""

    exact: StepsInBalls
    modulus: ModulusInBalls
    shift: float
    variance: float
    count: int
    after: int

    def lines(self, w: Array) -> tuple[Array, Array]:
        """Return slopes and offsets at these distances."""
        slope, offset = _shifted(self.modulus.line(w), w, self.shift)
        return np.maximum(slope, 1e-200), np.maximum(offset, 0.0)


@dataclass(frozen=True)
class _LinesInBalls:
    reach: Array
    spent: Array
    chosen: NDArray[np.intp]


@dataclass(frozen=True)
class ProgrammeBound:
    """One sweep back in time: the cost of beginning before each stretch."""

    pieces: list[_Rough]
    knots: list[Array]
    swept: list[_LinesInBalls]
    costs: Array
    scale: arb
    distance: Distance

    @property
    def horizons(self) -> Array:
        """The numbers of last steps whose costs are known."""
        steps = [piece.after + piece.count for piece in self.pieces[: len(self.costs)]]
        return np.array(steps, dtype=np.float64)

    def proven(self, place: int) -> arb:
        """Return the cost of beginning before this stretch, in balls."""
        path = self._path(place)
        cost = self._along(place, self._polished(place, path))
        return cost if cost.is_finite() else self._along(place, path)

    def _polished(self, place: int, path: list[float]) -> list[float]:
        """Return touching points moved to where those lines let the runs be, a few times."""
        last = self.pieces[place]
        if last.after + last.count > MOST_POLISHED:
            return path
        met = place + 1 - len(path)
        pieces = self.pieces[met : place + 1]
        paid = sum(p.count * p.shift**2 / p.variance for p in self.pieces[:met])
        start = float(self.distance(last.after + last.count)) ** 2
        best, least = path, math.inf
        with np.errstate(all="ignore"):
            for _ in range(ROUNDS):
                cost, followed = _round(pieces, path[::-1], start, paid)
                if not cost < least * (1.0 - 1e-12):
                    break
                best, least, path = path, cost, followed[::-1]
        return best

    def _first(self, place: int) -> int:
        piece, lines = self.pieces[place], self.swept[place]
        apart = float(self.distance(piece.after + piece.count))
        with np.errstate(all="ignore"):
            return int(np.argmin(apart**2 / lines.reach + lines.spent))

    def _path(self, place: int) -> list[float]:
        """Return where the lines touch, from the first stretch to the last, until the runs meet."""
        touching, line = [], self._first(place)
        for j in range(place, -1, -1):
            touching.append(float(self.knots[j][line]))
            line = int(self.swept[j].chosen[line])
            if j and line >= len(self.knots[j - 1]):
                break
        return touching

    def _along(self, place: int, path: list[float]) -> arb:
        met = place + 1 - len(path)
        reach, spent = arb(0), arb(0)
        for piece in self.pieces[:met]:
            step = piece.exact
            spent += piece.count * step.shift * step.shift / step.variance
        for piece, w in zip(self.pieces[met : place + 1], reversed(path), strict=True):
            reach, spent = _back(reach, spent, piece.exact, ball(w), piece.count)
        last = self.pieces[place]
        apart = self.distance(last.after + last.count)
        return top(apart * apart / reach + spent)


def _round(
    pieces: list[_Rough], touch: list[float], start: float, paid: float
) -> tuple[float, list[float]]:
    """Return the cost of lines that touch there, and where the runs then are; backwards in time."""
    slopes, offsets = [], []
    reach, spent = 0.0, paid
    reaches: list[list[float]] = []
    for piece, w in zip(pieces, touch, strict=True):
        slope, offset = (float(x[0]) for x in piece.lines(np.array([w])))
        slopes.append(slope)
        offsets.append(offset)
        reaches.append([])
        for _ in range(piece.count):
            reaches[-1].append(reach)
            spent += offset / (reach + piece.variance)
            reach = min((reach + piece.variance) / slope, LARGEST)
    w, followed = start, [0.0] * len(pieces)
    for j in range(len(pieces) - 1, -1, -1):
        first = w
        for q in reversed(reaches[j]):
            middle = w
            w = (slopes[j] * w + offsets[j]) * (q / (q + pieces[j].variance)) ** 2
        followed[j] = max(first if pieces[j].count == 1 else math.sqrt(first * middle), 1e-280)
    return start / reach + spent, followed


def meet(
    stretches: list[StepsInBalls], distance: Distance, *, every: bool = False
) -> list[ProgrammeBound]:
    """Return sweeps with finer and finer knots; with `every`, one sweep over all horizons."""
    scale = _largest([s.variance for s in stretches])
    pieces = _pieces(stretches, scale)
    widest = max(float(distance(1)), float(distance(sum(s.count for s in stretches))), 1e-100)
    if not math.isfinite(widest):
        return []
    knots = [_first_knots(pieces, widest)] * len(pieces)
    spread = math.log(knots[0][1] / knots[0][0])
    sweeps: list[ProgrammeBound] = []
    for _ in range(1 if every else PASSES):
        sweeps.append(_sweep(pieces, knots, distance, scale, every))
        place = int(np.argmin(sweeps[-1].costs))
        if not math.isfinite(sweeps[-1].costs[place]):
            break
        path = sweeps[-1]._path(place)[::-1]
        fan = np.exp(np.linspace(-1.5 * spread, 1.5 * spread, FINER_KNOTS))
        met = place + 1 - len(path)
        knots = [path[max(j - met, 0)] * fan for j in range(place + 1)]
        pieces = pieces[: place + 1]
        spread *= 3.0 / (FINER_KNOTS - 1)
    return sweeps


def least_cost(stretches: list[StepsInBalls], distance: Distance) -> arb:
    """Return the least cost found of bringing together runs that are so far apart."""
    sweeps = meet(stretches, distance)
    if not sweeps:
        return arb.pos_inf()
    best = min(sweeps, key=lambda sweep: float(np.min(sweep.costs)))
    return best.proven(int(np.argmin(best.costs)))


def _largest(values: list[arb]) -> arb:
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return top(largest)


def _pieces(stretches: list[StepsInBalls], scale: arb) -> list[_Rough]:
    """Return the stretches backwards in time, cut so that each is short against what follows it."""
    pieces: list[_Rough] = []
    done = 0
    for stretch in reversed(stretches):
        left, rough = stretch.count, stretch.modulus.rough
        variance = float(stretch.variance / scale)
        while left and len(pieces) < MOST_PIECES:
            count = min(left, max(1, done // SHARE))
            pieces.append(_Rough(stretch, rough, float(stretch.shift), variance, count, done))
            left -= count
            done += count
    return pieces


def _first_knots(pieces: list[_Rough], widest: float) -> Array:
    shift = min((p.shift for p in pieces if p.shift > 0.0), default=1.0)
    least = max(min(1e-11, 0.01 * (shift / widest) ** 2), 1e-22)
    return np.asarray(np.geomspace(least, 2.0, KNOTS) * widest**2)


def _sweep(
    pieces: list[_Rough], knots: list[Array], distance: Distance, scale: arb, every: bool
) -> ProgrammeBound:
    lines = _LinesInBalls(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp))
    swept: list[_LinesInBalls] = []
    costs: list[float] = []
    met, best_at, best = 0.0, 0, math.inf
    lines_of: dict[tuple[int, int, float], tuple[Array, Array]] = {}
    with np.errstate(all="ignore"):
        for piece, places in zip(pieces, knots, strict=True):
            key = (id(piece.modulus), id(places), piece.shift)
            if key not in lines_of:
                lines_of[key] = piece.lines(places)
            lines = _advanced(lines, met, piece, places, lines_of[key])
            swept.append(lines)
            met += piece.count * piece.shift**2 / piece.variance
            done = piece.after + piece.count
            cost = float(np.nanmin(float(distance(done)) ** 2 / lines.reach + lines.spent))
            costs.append(cost if cost >= 0.0 else math.inf)
            if costs[-1] <= best:
                best, best_at = costs[-1], done
            elif not every and done > 8 * best_at + 64:
                break
    size = len(costs)
    return ProgrammeBound(pieces[:size], knots[:size], swept, np.array(costs), scale, distance)


def _advanced(
    lines: _LinesInBalls, met: float, piece: _Rough, knots: Array, tangents: tuple[Array, Array]
) -> _LinesInBalls:
    slope, offset = tangents
    reach, spent = np.append(lines.reach, 0.0), np.append(lines.spent, met)
    m, v = piece.count, piece.variance
    if m == 1:
        guess = np.outer(slope * knots + offset, 1.0 / (reach + v)) + spent
    else:
        guess = knots[:, None] * np.outer(slope**m, 1.0 / (reach + m * v)) + spent
        guess += np.outer(offset * m, 1.0 / (reach + 0.5 * m * v))
    chosen = np.argmin(np.where(np.isnan(guess), math.inf, guess), axis=1)
    q, b = _back_rough(reach[chosen], spent[chosen], tangents, v, m)
    return _LinesInBalls(np.minimum(q, LARGEST), b, chosen)


def _back_rough(q: Array, b: Array, line: Line, v: float, m: int) -> tuple[Array, Array]:
    """Return the line `m` equal steps back, in doubles."""
    slope, offset = line
    if m == 1:
        return (q + v) / slope, b + offset / (q + v)
    places = _places(m)
    reaches = [_reach(q, slope, v, j) for j in (*places, m)]
    heights = [1.0 / (reach + v) for reach in reaches[:-1]]
    return reaches[-1], b + offset * _chords(places, heights, np.maximum)


def _reach(q: Any, slope: Array, v: float, steps: int) -> Array:
    k = -np.log(slope)
    flat = np.abs(k) * max(steps, 1) < 1e-9
    safe = np.where(flat, 1.0, k)
    total = np.where(flat, float(steps), np.expm1(steps * safe) / -np.expm1(-safe))
    return np.asarray(np.minimum(q * np.exp(steps * k) + v * total, LARGEST))


def _places(m: int) -> list[int]:
    cuts = min(m - 1, CHORDS)
    return [i * (m - 1) // cuts for i in range(cuts + 1)] if cuts else [0]


def _chords(places: list[int], heights: list[Any], larger: Callable[[Any, Any], Any]) -> Any:
    """Return a sum over 0 .. last of heights that are convex, or growing, between these places."""
    total = heights[-1]
    for i in range(len(places) - 1):
        inner, left, right = places[i + 1] - places[i], heights[i], heights[i + 1]
        chord = (inner * (left + right) + (left - right)) / 2
        # where heights grow they need not be convex, but then the last of them is the largest
        total = total + larger(chord, inner * right)
    return total


def _back(q: arb, b: arb, step: StepsInBalls, w: arb, m: int) -> tuple[arb, arb]:
    """Return the line `m` equal steps back, by the line that touches at `w`."""
    slope, offset = _shifted(step.modulus.line(w), w, step.shift)
    v = step.variance
    if m == 1:
        return (q + v) / slope, b + offset / (q + v)
    inverse = 1 / slope
    places = _places(m)
    reaches = [_reached(q, inverse, v, j) for j in (*places, m)]
    if not offset > 0:
        return reaches[-1], b + abs(offset) * m / v
    heights = [1 / (reach + v) for reach in reaches[:-1]]
    return reaches[-1], b + offset * _chords(places, heights, lambda a, c: a.max(c))


def _reached(q: arb, inverse: arb, v: arb, steps: int) -> arb:
    """Return `q x^n + v (x + ... + x^n)`, where x is the inverse of the slope."""
    if steps == 0:
        return q
    power = inverse**steps
    if inverse.overlaps(arb(1)):
        return q * power + v * steps * arb(1).min(power)
    return q * power + v * inverse * (power - 1) / (inverse - 1)


def _shifted(line: Line, w: Any, shift: Any) -> Line:
    """Return a line for maps that differ by `shift`: (sqrt y + s)^2 <= (1 + s/r) y + s (r + s)."""
    slope, offset = line
    if isinstance(shift, arb) and shift.is_zero():
        return line
    r = root(slope * w + offset)
    tilt = 1 + shift / r
    return tilt * slope, tilt * offset + shift * (r + shift)
