"""What Figure 1 of ganesh2020langevin asks for, answered by our discretisation bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from wane.describe.chain import Direction
from wane.numerics.search import largest_satisfying
from wane.theorems.kinetic import optimised as kinetic_optimised
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.letters import KineticLetters, Letters


def certified_figure_one(
    dimensions: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000),
    *,
    smoothness: float = 4.0,
    gradient_bound: float = 1.0,
    order: float = 2.0,
    distance: float = 0.1,
    time: float = 3.0,
) -> dict[str, list[float]]:
    """The step sizes our bounds allow in the three rows of the figure, as columns.

    Row 1 starts from N(minimiser, I/smoothness), row 2 from anywhere, row 3 at the minimiser with
    stationary velocities, inverse mass one and friction sqrt(smoothness + 1), at least 2.  Both
    directions are at most `distance` after the time.
    """
    L, friction = smoothness, max(2.0, math.sqrt(smoothness + 1.0))
    forward = Direction.CHAIN_FIRST  # the harder direction, see docs/proofs

    def overdamped(d: int, eta: float, m: float, bound: float) -> Letters:
        N, variance = math.ceil(time / eta), 1.0 / L
        return Letters(d=d, m=m, L=L, M3=math.inf, B=bound, eta=eta, N=N, s0=variance, r0=0.0)

    def row_one(d: int, eta: float) -> float:
        return girsanov.convex(overdamped(d, eta, 1.0, math.inf), forward, order).value

    def row_two(d: int, eta: float) -> float:
        return girsanov.lipschitz(overdamped(d, eta, -L, gradient_bound), forward, order).value

    def row_three(d: int, eta: float) -> float:
        N = math.ceil(time / eta)
        x = KineticLetters(d=d, m=1.0, L=L, gam=friction, mu=1.0, eta=eta, N=N, s0=0.0, r0=0.0)
        return kinetic_optimised.kinetic_error(x, forward, order).value

    rows: tuple[Callable[[int, float], float], ...] = (row_one, row_two, row_three)
    names = ("row", "dimension", "certified_step_size", "certified_steps")
    columns: dict[str, list[float]] = {name: [] for name in names}
    for row, error in enumerate(rows, start=1):
        for d in dimensions:
            eta = _largest(error, d, distance, 1.0 / L)
            line = (float(row), float(d), eta, math.ceil(time / eta))
            for name, value in zip(names, line, strict=True):
                columns[name].append(float(value))
    return columns


def _largest(error: Callable[[int, float], float], d: int, distance: float, most: float) -> float:
    return largest_satisfying(
        lambda eta: error(d, eta) <= distance, 1e-12 * most, most, relative=1e-2
    )
