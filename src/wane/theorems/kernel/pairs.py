"""The worst ordered pair of rows, found without looking at every pair.

For a multiplier m >= 0 the divergence D_m(P, Q) = sum (P - m Q)_+ = sup_A P(A) - m Q(A) obeys

    D_m(P, Q) <= D_1(P, R) + D_m(R, Q)    and    D_m(P, Q) <= D_m(P, R) + m D_1(R, Q)

for every R, so that a few pivots R rule most pairs out, and clusters of rows rule out others.
Where the worst rows share next to nothing, pairs with a larger affinity are ruled out as well.
No pair is skipped unless its bound is below a value that another pair attains; the answer is the
maximum over all pairs, computed from the given doubles with a relative error below
`rounding(columns)`.  Rows that are themselves known to a tolerance only may ask for no more: what
is found is then raised by it, and pairs that could not change it are skipped, of which walks with
many symmetries have millions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from wane.arrays import Array
from wane.theorems.kernel import clusters
from wane.theorems.kernel.clusters import Numbers

UNIT = 2.0**-53
"""Largest relative error of one rounded operation on doubles."""

_SMALL = 1 << 20  # up to this many numbers, all pairs are looked at in one go
_BLOCK = 1 << 17  # numbers per block, so that a block stays in the processor's cache
_ROUNDS = 6
_PATIENCE = 4  # times the number of rows: so many pairs are looked at before bounds are changed

Forms: TypeAlias = Iterator[tuple[Array, Array]]


class Gap(NamedTuple):
    """The largest divergence and an ordered pair of rows that has it."""

    value: float
    first: int
    second: int


def rounding(terms: int) -> float:
    """Relative error, never exceeded, of a sum of so many non-negative doubles and their making."""
    return (terms + 8) * 1.01 * UNIT


def largest_gap(
    rows: Array, multiplier: float, hint: Gap | None = None, tolerance: float = 0.0
) -> Gap:
    """The largest sum of (P - m Q)_+ over ordered pairs of rows P, Q, or up to a tolerance more."""
    if rows.shape[0] < 2:
        return Gap(0.0, 0, 0)
    scaled = multiplier * rows
    if rows.shape[0] * rows.size <= _SMALL:
        return _all_pairs(rows, scaled)
    ceiling = rows.max(axis=0) - scaled.min(axis=0)
    if not np.any(ceiling > 0.0):
        return Gap(0.0, 0, 1)
    alike = _all_turned(rows, tolerance)
    if alike is not None:
        return _from_first_row(alike[0], multiplier, alike[1])
    best = _climb(rows, scaled, hint)
    # No divergence exceeds the mass of a row; where rows are disjoint all pairs would be looked at.
    most = float(rows.sum(axis=1).max())
    if best.value >= most * (1.0 - rounding(rows.shape[1]) - tolerance):
        return Gap(most, best.first, best.second)
    raised = best._replace(value=best.value * (1.0 + tolerance))
    return _search(rows, multiplier, raised, _forms(rows, scaled, multiplier, best), tolerance)


def gaps_from(row: Array, scaled: Array) -> Array:
    """The divergence of one row from each of the (already multiplied) others."""
    result = np.empty(scaled.shape[0])
    step = max(1, _BLOCK // max(1, scaled.shape[1]))
    for start in range(0, scaled.shape[0], step):
        part = row - scaled[start : start + step]
        np.maximum(part, 0.0, out=part)
        result[start : start + step] = part.sum(axis=1)
    return result


def gaps_to(rows: Array, scaled_row: Array) -> Array:
    """The divergence of each row from one (already multiplied) other."""
    result = np.empty(rows.shape[0])
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step] - scaled_row
        np.maximum(part, 0.0, out=part)
        result[start : start + step] = part.sum(axis=1)
    return result


def _all_pairs(rows: Array, scaled: Array) -> Gap:
    difference = rows[:, None, :] - scaled[None, :, :]
    table = np.maximum(difference, 0.0, out=difference).sum(axis=2)
    np.fill_diagonal(table, -1.0)
    first, second = divmod(int(np.argmax(table)), rows.shape[0])
    return Gap(float(table[first, second]), first, second)


def shapes(size: int) -> Iterator[tuple[int, int]]:
    """Yield the circle of so many states, then the tori whose rows hold them in order."""
    return ((high, size // high) for high in range(1, size // 2 + 1) if size % high == 0)


def turned(row: Array, number: int) -> Array:
    """Return the row of this state, if every row is the first one turned."""
    place = np.unravel_index(number, row.shape)
    return np.roll(row, tuple(map(int, place)), axis=tuple(range(row.ndim)))


def _all_turned(rows: Array, tolerance: float) -> tuple[Array, float] | None:
    """The first row turned, and how far rows are from it, relatively; None beyond a tolerance.

    Walks on a circle or torus are such: every row has its own worst partner, and all pairs are as
    bad.
    """
    size = rows.shape[0]
    if rows.shape[1] != size or not tolerance > 0.0:
        return None
    for shape in shapes(size):
        first, spread = rows[0].reshape(shape), 0.0
        made = np.empty_like(rows)
        for number, row in enumerate(rows):
            made[number] = turned(first, number).reshape(-1)
            away = np.abs(row - made[number])
            if not np.all(away <= tolerance * made[number]):
                break
            reached = made[number] > 0.0
            spread = max(spread, float(np.max(away[reached] / made[number][reached])))
        else:
            return made, spread * (1.0 + 8.0 * UNIT)
    return None


def _from_first_row(turns: Array, multiplier: float, spread: float) -> Gap:
    """The largest divergence of the first row from itself turned, if rows are within `spread`.

    D_m(P, Q) <= (1 + s) D_n(P', Q') with n = m (1 - s)/(1 + s), where P' and Q' are within s of P
    and Q; both are turned until P' is the first row.
    """
    lowered = multiplier * ((1.0 - spread) / (1.0 + spread)) * (1.0 - 8.0 * UNIT)
    values = (1.0 + spread) * gaps_from(turns[0], lowered * turns)
    second = 1 + int(np.argmax(values[1:]))
    return Gap(float(values[second]), 0, second)


def _climb(rows: Array, scaled: Array, hint: Gap | None) -> Gap:
    """A pair that neither end can improve alone: a good value to prune with."""
    if hint is None or max(hint.first, hint.second) >= rows.shape[0]:
        first = int(np.argmax(gaps_to(rows, scaled.mean(axis=0))))
        best = Gap(-1.0, first, first)
    else:
        best = Gap(-1.0, hint.first, hint.second)
    for _ in range(_ROUNDS):
        values = gaps_from(rows[best.first], scaled)
        values[best.first] = -1.0
        second = int(np.argmax(values))
        values = gaps_to(rows, scaled[second])
        values[second] = -1.0
        found = Gap(float(values.max()), int(np.argmax(values)), second)
        if found.value <= best.value:
            break
        best, before = found, best
        if found[1:] == before[1:]:
            break
    return best


def _forms(rows: Array, scaled: Array, multiplier: float, best: Gap) -> Forms:
    """Pairs (a, b) with D_m(row i, row j) <= a[i] + b[j], up to rounding; cheapest help first."""
    none, raised = np.zeros(rows.shape[0]), 1.0 + 8.0 * rounding(rows.shape[1])
    for pivot in (0.5 * (rows[best.first] + rows[best.second]), rows.mean(axis=0)):
        yield raised * gaps_to(rows, pivot), raised * gaps_from(pivot, scaled)
        ends = multiplier * gaps_from(pivot, rows)
        yield raised * gaps_to(rows, multiplier * pivot), raised * ends
    yield raised * gaps_to(rows, scaled.min(axis=0)), none
    yield none, raised * gaps_from(rows.max(axis=0), scaled)


def _search(rows: Array, multiplier: float, best: Gap, forms: Forms, tolerance: float) -> Gap:
    """Every pair whose bound exceeds the best value found is looked at.

    Bounds by clusters cost more than those of the forms: they are asked if these leave many pairs,
    and given up if they leave many themselves.
    """
    size, values, scaled = rows.shape[0], [best.value], multiplier * rows
    plain = _likely_pairs(forms, size, values)
    clustered = clusters.likely_pairs(rows, scaled, values, rounding(rows.shape[1]))
    left = _with_little_in_common(rows, multiplier, plain, values)
    for source, patience in ((plain, _PATIENCE), (clustered, _PATIENCE), (left, math.inf)):
        looked_at = 0
        for first, found in source:
            everyone = found.size > 0.7 * size
            gaps = gaps_from(rows[first], scaled if everyone else scaled[found])
            gaps = gaps[found] if everyone else gaps
            place = int(np.argmax(gaps))
            if gaps[place] > best.value:
                best = Gap(float(gaps[place]) * (1.0 + tolerance), first, int(found[place]))
                values.append(best.value)
            looked_at += found.size
            if looked_at > patience * size:
                break
        else:
            break
    return best


def _with_little_in_common(
    rows: Array, multiplier: float, pairs: Iterator[tuple[int, Numbers]], best: list[float]
) -> Iterator[tuple[int, Numbers]]:
    """Yield of these pairs the ones whose affinity allows a divergence above the last of `best`."""
    if rows.shape[0] > 2 * rows.shape[1]:  # a table of all pairs would be larger than the rows
        yield from pairs
        return
    table = by_affinity(rows, multiplier)
    for first, found in pairs:
        kept = found[table[first, found] > best[-1]]
        if kept.size:
            yield first, kept


def by_affinity(rows: Array, multiplier: float) -> Array:
    """Return bounds on the divergences of all ordered pairs of rows, sharp if they share little.

    With masses p and q, D_m(P, Q) = p - sum min(P, m Q), and by Cauchy and Schwarz

        m (sum sqrt(P Q))^2  <=  sum min(P, m Q) sum max(P, m Q)  <=  (p + m q) sum min(P, m Q).
    """
    doubt = rounding(rows.shape[1])
    mass = float(rows.sum(axis=1).max()) * (1.0 + 2.0 * doubt)
    roots = np.sqrt(rows)
    table = np.asarray(roots @ roots.T)  # of which BLAS makes half
    table *= table
    table *= -multiplier / ((1.0 + multiplier) * mass) * (1.0 - 4.0 * doubt)
    table += mass
    return table


def _likely_pairs(more: Forms, size: int, best: list[float]) -> Iterator[tuple[int, Numbers]]:
    """Yield a row and others, of all pairs whose bound by forms exceeds the last of `best`."""
    forms: list[tuple[Array, Array]] = []
    ceilings = reachable = np.full(size, np.inf)
    for a, b in more:
        forms.append((a, b))
        ceilings = np.minimum(ceilings, a + b.max())
        reachable = np.minimum(reachable, b + a.max())
        alive = np.count_nonzero(ceilings > best[-1]) * np.count_nonzero(reachable > best[-1])
        if alive <= size:
            break
    for first in np.argsort(-ceilings):
        if not ceilings[first] > best[-1]:
            break
        bound = np.min([a[first] + b for a, b in forms] + [reachable], axis=0)
        bound[first] = -1.0
        found = np.flatnonzero(bound > best[-1])
        if found.size:
            yield int(first), found
