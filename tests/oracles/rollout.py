"""Feasible points of the programme of moduli, for any modulus.

Whatever a search comes up with, its value is recomputed at a path that satisfies the constraints:
`0 <= u_{t+1} <= phi_t(u_t)` and `u_T = 0`.  That value is a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from wane.numerics.rounding import inflate
from wane.theorems.lemmas.moduli import Modulus
from wane.theorems.lemmas.modulus_programme import Steps, optimal_path

Phi = Callable[[float], float]


def certificate(
    moduli: Sequence[Phi], variances: Sequence[float], distance: float, path: Sequence[float]
) -> float:
    """Return mu^2 at the path u_1, ..., u_{T-1}, pulled back into the constraints, rounded up.

    Each `phi` must be nondecreasing; a wild path costs tightness, never validity.
    """
    total, u = 0.0, distance
    for t, (phi, variance) in enumerate(zip(moduli, variances, strict=True)):
        reached = phi(u) if u > 0.0 else 0.0
        wanted = path[t] if t < len(path) else 0.0
        following = min(max(wanted, 0.0), reached) if t + 1 < len(moduli) else 0.0
        total += (reached - following) ** 2 / variance
        u = following
    return inflate(total, 1e-15 * (8 + 4 * len(moduli)))


def shifts_spent(
    moduli: Sequence[Phi], variances: Sequence[float], distance: float, spent: Sequence[float]
) -> tuple[float, float]:
    """Return the distance left after giving up `a_1, ..., a_T` of it, and `sum (a_t/sigma_t)^2`."""
    u, total = distance, 0.0
    for phi, variance, a in zip(moduli, variances, spent, strict=True):
        u = phi(u) - min(a, phi(u))
        total += a * a / variance
    return u, total


def grid_path(
    moduli: Sequence[Phi], variances: Sequence[float], distance: float, *, points: int = 200
) -> list[float]:
    """A good path for any nondecreasing moduli, by dynamic programming on a grid of distances."""
    widest = distance
    for phi in moduli:
        widest = max(widest, min(phi(widest), 4.0 * distance))
    grid = np.concatenate([[0.0], np.geomspace(1e-6 * widest, widest, points - 1)])
    cost = np.where(grid == 0.0, 0.0, math.inf)
    choices = []
    for phi, variance in zip(reversed(moduli), reversed(variances), strict=True):
        reached = np.array([phi(u) if u > 0.0 else 0.0 for u in grid.tolist()])
        spent = np.maximum(reached[:, None] - grid[None, :], 0.0) ** 2 / variance + cost
        spent[grid[None, :] > reached[:, None]] = math.inf
        choices.append(np.argmin(spent, axis=1))
        cost = np.min(spent, axis=1)
    path, place = [], int(np.argmin(np.abs(grid - distance)))
    for choice in reversed(choices):
        place = int(choice[place])
        path.append(float(grid[place]))
    return path[:-1]


def least_by_grid(
    moduli: Sequence[Phi], variances: Sequence[float], distance: float, *, points: int = 200
) -> float:
    """Return mu^2, rounded up, at the path that a search on a grid finds."""
    path = grid_path(moduli, variances, distance, points=points)
    return certificate(moduli, variances, distance, path)


def polished(
    moduli: Sequence[Modulus],
    variances: Sequence[float],
    distance: float,
    path: Sequence[float],
    *,
    rounds: int = 100,
) -> tuple[float, list[float]]:
    """Improve a path for concave moduli: tangents at it, their exact optimum, and again.

    Tangents are above the moduli and touch them at the path, so no round is worse than the last.
    """
    sigma2 = np.asarray(variances, dtype=np.float64)
    points = [float(u) for u in path]
    best = certificate(moduli, variances, distance, points)
    for _ in range(rounds):
        squares = np.maximum(np.square([distance, *points]), 1e-30 * distance**2)
        lines = [m.tangents(np.array([w])) for m, w in zip(moduli, squares, strict=True)]
        steps = Steps(
            np.log(np.array([float(slope[0]) for slope, _ in lines])),
            np.array([float(intercept[0]) for _, intercept in lines]),
            sigma2,
        )
        points = optimal_path(steps, distance)
        found = certificate(moduli, variances, distance, points)
        if found > best * (1.0 - 1e-12):
            return min(found, best), points
        best = found
    return best, points
