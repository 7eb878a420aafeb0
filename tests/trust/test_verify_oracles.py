"""The verifier's own derivations against oracles of another kind.

`tangent_programme` and `shifted_girsanov` of `balls.lemmas` follow the same proofs as the theorems
that they check, so that a mistake of a proof would be in both.  Here they face what needs no proof:
the programme by brute force on few steps, and Gaussian chains whose laws are known exactly.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize

pytest.importorskip("flint")

from flint import arb

from twins.samplers import exact_divergences
from wane.balls.lemmas.moduli import AffineModulus, ModulusInBalls
from wane.balls.lemmas.shifted_girsanov import OverdampedChain, UnitTemperatureInBalls
from wane.balls.lemmas.tangent_programme import StepsInBalls, least_cost
from wane.describe.chain import Direction, Overdamped, PointStart, Question, Target


def modulus(*lines: tuple[float, float]) -> ModulusInBalls:
    """The least of some lines, as a bound on the squared distance after a step."""
    rows = tuple(AffineModulus(arb(slope), arb(offset)) for slope, offset in lines)
    return ModulusInBalls(rows, (), arb(1))


def brute(
    lines: list[list[tuple[float, float]]],
    shifts: list[float],
    variances: list[float],
    start: float,
) -> float:
    """The least cost over all ways to hide a distance, from any step on, by plain minimisation."""

    def after(u: float, step: int) -> float:
        return math.sqrt(min(a * u * u + b for a, b in lines[step])) if u > 0.0 else 0.0

    def cost(hidden: np.ndarray, first: int) -> float:
        u, total = start, 0.0
        for place, share in enumerate(hidden):
            reached = after(u, first + place) + shifts[first + place]
            moved = reached * min(max(share, 0.0), 1.0)
            total, u = total + moved**2 / variances[first + place], reached - moved
        last = len(lines) - 1
        return total + (after(u, last) + shifts[last]) ** 2 / variances[last]

    steps, best = len(lines), math.inf
    for first in range(steps):
        free = steps - 1 - first
        if free == 0:
            best = min(best, cost(np.zeros(0), first))
            continue
        for begin in product((0.3, 0.8, 1.2), repeat=free):
            found = optimize.minimize(
                cost, np.array(begin), args=(first,), method="Nelder-Mead", options={"xatol": 1e-9}
            )
            best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_meetings_are_above_the_programme_and_near_it(seed):
    """Two to four steps, each with one or two lines, a shift of its own, and its own noise."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(2, 5))
    lines = [
        [(float(rng.uniform(0.4, 1.8)), float(rng.uniform(0.0, 0.5))) for _ in range(count)]
        for count in rng.integers(1, 3, size=steps)
    ]
    shifts = [float(rng.choice([0.0, rng.uniform(0.0, 0.5)])) for _ in range(steps)]
    variances = [float(rng.uniform(0.3, 3.0)) for _ in range(steps)]
    start = float(rng.uniform(0.3, 3.0))
    stretches = [
        StepsInBalls(modulus(*rows), arb(shift), arb(variance), 1)
        for rows, shift, variance in zip(lines, shifts, variances, strict=True)
    ]
    proven = float(least_cost(stretches, lambda _: arb(start)))
    exact = brute(lines, shifts, variances, start)
    assert exact * (1.0 - 1e-6) <= proven <= exact * 1.02


CHAINS = [
    (m, M, eta, steps, far)
    for m, M in ((1.0, 1.0), (0.5, 2.0))
    for eta, steps, far in ((0.01, 300, 0.0), (0.01, 600, 1000.0), (0.05, 40, 3.0))
]


@pytest.mark.parametrize("described", CHAINS)
@pytest.mark.parametrize("order", [1.5, 2.0])
def test_closeness_is_above_exact_gaussian_chains(described, order):
    m, M, eta, steps, far = described
    chain = Overdamped(Target(m, M, 1, laplacian_lipschitz=0.0), eta, steps, PointStart(far))
    constants = UnitTemperatureInBalls(1, arb(m), arb(M), arb(0), arb(eta), steps, arb(far))
    for way in Direction:
        claimed = OverdampedChain(constants).divergence(
            order, chain_first=way is Direction.CHAIN_FIRST
        )
        exact = max(exact_divergences(Question(chain, order, way)))
        assert float(claimed) >= exact
        if m == M and far == 1000.0:
            assert float(claimed) <= 1.2 * exact, "from afar the theorem is sharp"
