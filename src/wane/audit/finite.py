"""Finite Markov kernels: the exact divergences after post-processing, by direct summation.

A law is a vector of probabilities, a kernel a matrix whose rows are laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike

from wane import arguments
from wane.arrays import Array
from wane.audit.divergence import hockey_stick_of_masses, renyi_of_masses
from wane.errors import InvalidDescription

STOCHASTIC = 1e-9
FEASIBLE = 1e-12


def _laws(values: ArrayLike) -> Array:
    """Return rows of non-negative numbers adding to one, or refuse them."""
    laws = np.asarray(values, dtype=float)
    if not (np.all(laws >= 0.0) and np.all(np.abs(laws.sum(axis=-1) - 1.0) <= STOCHASTIC)):
        raise InvalidDescription("probabilities must be non-negative and add to 1")
    return laws


def _logs(law: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(law), dtype=float)


def push(law: ArrayLike, kernel: ArrayLike) -> Array:
    """Return the law after one application of the kernel."""
    return _laws(_laws(law) @ _laws(kernel))


def finite_hockey_stick(first: ArrayLike, second: ArrayLike, epsilon: float) -> float:
    """Return the exact delta of one finite law against another at an epsilon."""
    return hockey_stick_of_masses(_logs(_laws(first)), _logs(_laws(second)), epsilon)


def finite_renyi(first: ArrayLike, second: ArrayLike, order: float) -> float:
    """Return the exact Renyi divergence of one finite law from another."""
    return renyi_of_masses(_logs(_laws(first)), _logs(_laws(second)), order)


def pushed_hockey_stick(
    first: ArrayLike, second: ArrayLike, kernel: ArrayLike, epsilon: float
) -> float:
    """Return the exact delta of two laws after the kernel has acted on both."""
    return finite_hockey_stick(push(first, kernel), push(second, kernel), epsilon)


def pushed_renyi(first: ArrayLike, second: ArrayLike, kernel: ArrayLike, order: float) -> float:
    """Return the exact Renyi divergence of two laws after the kernel has acted on both."""
    return finite_renyi(push(first, kernel), push(second, kernel), order)


def worst_rows(kernel: ArrayLike, epsilon: float) -> float:
    """Return the largest delta between any two rows of the kernel."""
    rows = _laws(kernel)
    pairs = permutations(range(rows.shape[0]), 2)
    return max(
        (finite_hockey_stick(rows[i], rows[j], epsilon) for i, j in pairs),
        default=0.0,
    )


@dataclass(frozen=True)
class TwoPoint:
    """The two-point mechanism that a kernel protects least.

    Attributes:
        delta: what remains after the kernel.
        states: the two inputs of the kernel it uses.
        first: the probability of the first state under the first law.
        second: the probability of the first state under the second law.
    """

    delta: float
    states: tuple[int, int]
    first: float
    second: float


def private_vertices(epsilon: float, delta: float) -> tuple[tuple[float, float], ...]:
    """Return the extreme pairs of two-point laws that are (epsilon, delta)-close in both orders.

    A pair of laws on two points is (a, b), the masses of the first point.  The convex delta of
    anything computed from it is largest at a corner of the polygon of such pairs.
    """
    arguments.nonnegative("epsilon", epsilon)
    arguments.probability("delta", delta)
    e = math.exp(epsilon)
    slack = delta + e - 1.0
    # Rows (u, v, w) stand for u a + v b <= w.
    sides = np.array(
        [
            (1.0, -e, delta),
            (-e, 1.0, delta),
            (-1.0, e, slack),
            (e, -1.0, slack),
            (-1.0, 0.0, 0.0),
            (1.0, 0.0, 1.0),
            (0.0, -1.0, 0.0),
            (0.0, 1.0, 1.0),
        ]
    )
    corners = set()
    for i, j in combinations(range(len(sides)), 2):
        pair = sides[[i, j]]
        if abs(np.linalg.det(pair[:, :2])) > FEASIBLE:
            a, b = np.linalg.solve(pair[:, :2], pair[:, 2])
            if np.all(sides[:, :2] @ (a, b) <= sides[:, 2] + FEASIBLE * e):
                corners.add((min(1.0, max(0.0, float(a))), min(1.0, max(0.0, float(b)))))
    return tuple(sorted(corners))


def worst_two_point(
    kernel: ArrayLike, epsilon: float, *, mechanism_epsilon: float, mechanism_delta: float
) -> TwoPoint:
    """Return the worst delta after the kernel, over all private mechanisms with two outcomes.

    Brute force: every ordered pair of states, every corner of the polygon of private pairs.
    """
    rows = _laws(kernel)
    corners = private_vertices(mechanism_epsilon, mechanism_delta)
    worst = TwoPoint(0.0, (0, 0), 1.0, 1.0)
    for i, j in permutations(range(rows.shape[0]), 2):
        for a, b in corners:
            one, two = a * rows[i] + (1.0 - a) * rows[j], b * rows[i] + (1.0 - b) * rows[j]
            delta = finite_hockey_stick(one, two, epsilon)
            if delta > worst.delta:
                worst = TwoPoint(delta, (i, j), a, b)
    return worst
