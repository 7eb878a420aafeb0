"""Positions of linear diffusions with a matrix of reversions, again and in balls.

The noise comes from one exponential of a matrix of twice the size, the bound from an elimination
whose pivots are all certainly positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from wane.balls.arithmetic import ball
from wane.balls.lemmas.positions import TooLarge
from wane.describe.hierarchy import BranchedRelease
from wane.describe.linear_diffusion import LinearDiffusion

MOST_ROWS = 200
_TRIES = 48


def mu_squared(process: LinearDiffusion, times: Sequence[Sequence[float]]) -> arb:
    """A number r, never below mu^2, for positions whose noises have these times in common."""
    size, places = process.dimension, len(times)
    if size * places > MOST_ROWS:
        raise TooLarge(f"{size * places} rows are not computed again")
    change, known = _change(process), {t: _noise(process, t) for row in times for t in row if t}
    whole = range(size * places)
    above = [[change[i % size, j % size] for j in whole] for i in whole]
    below = [
        [_entry(known, times[i // size][j // size], i % size, j % size) for j in whole]
        for i in whole
    ]
    return _largest_ratio(above, below)


def tree_mu_squared(release: BranchedRelease, process: LinearDiffusion) -> arb:
    """The same for the seen positions of a tree: paths share what their last common point has."""

    def line(name: str) -> list[str]:
        found: list[str] = [name]
        while (parent := release.branches[found[-1]].parent) is not None:
            found.append(parent)
        return found

    def meeting(first: str, second: str) -> float:
        shared = [name for name in line(first) if name in line(second)]
        return release.times[shared[0]] if shared else 0.0

    names = release.seen_names
    return mu_squared(process, [[meeting(a, b) for b in names] for a in names])


def _matrix(given: object, size: int) -> arb_mat:
    rows = np.array(given, dtype=np.float64)
    rows = np.diag(rows) if rows.ndim == 1 else rows
    return arb_mat(size, size, [ball(float(x)) for x in rows.reshape(-1)])


def _change(process: LinearDiffusion) -> arb_mat:
    """The sensitivity's matrix, with what rounding the statistic adds to it."""
    size, longer = process.dimension, (1 + arb(2) ** -40) ** 2
    if isinstance(process.sensitivity, float):
        one = arb_mat(size, size, [ball(int(i == j)) for i in range(size) for j in range(size)])
        return one * (ball(process.sensitivity) ** 2 * longer)
    return _matrix(process.sensitivity, size) * longer


def _noise(process: LinearDiffusion, time: float) -> arb_mat:
    """The noise on the statistic: exp((Q, 2K; 0, -Q') t) holds what is needed, transposed."""
    size = process.dimension
    pull, drive = _matrix(process.reversion, size), _matrix(process.covariance, size)
    both = arb_mat(2 * size, 2 * size)
    for i in range(size):
        for j in range(size):
            both[i, j] = pull[i, j] * ball(time)
            both[i, size + j] = 2 * drive[i, j] * ball(time)
            both[size + i, size + j] = -pull[j, i] * ball(time)
    grown = both.exp()
    corner, growth = arb_mat(size, size), arb_mat(size, size)
    for i in range(size):
        for j in range(size):
            corner[i, j] = grown[i, size + j]
            growth[i, j] = grown[j, i]
    found = corner * growth
    if process.basis is not None:
        basis = _matrix(process.basis, size)
        found = basis * found * basis.transpose()
    return found


def _entry(known: dict[float, arb_mat], time: float, i: int, j: int) -> arb:
    return known[time][i, j] if time else ball(0)


def _largest_ratio(above: list[list[arb]], below: list[list[arb]]) -> arb:
    """The smallest r found for which r below - above is certainly positive."""
    first, second = (np.array([[float(x.mid()) for x in row] for row in m]) for m in (above, below))
    size = np.sqrt(np.diag(second))
    white = np.linalg.inv(np.linalg.cholesky(second / np.outer(size, size)))
    scaled = white @ (first / np.outer(size, size)) @ white.T
    guess = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[-1])
    for places in range(_TRIES):
        r = ball(guess) * (1 + arb(2) ** (places - 52))
        rows = [
            [r * b - a for a, b in zip(*pair, strict=True)]
            for pair in zip(above, below, strict=True)
        ]
        if _positive(rows):
            return r
    raise TooLarge("the noise covers the sensitivity by less than can be told")


def _positive(rows: list[list[arb]]) -> bool:
    """Whether all pivots are certainly positive."""
    for k in range(len(rows)):
        if not rows[k][k] > 0:
            return False
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True
