"""The search over couplings against exact divergences and against all couplings on a grid."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.mechanisms import best_coupling, coupled_renyi


def exact(order: float, p: np.ndarray, q: np.ndarray) -> float:
    return math.log(float(np.sum(p**order * q ** (1.0 - order)))) / (order - 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_never_below_the_truth_nor_above_a_plain_coupling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, order = int(rng.integers(2, 7)), float(rng.choice([1.3, 2.0, 5.0]))
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    kernel = rng.dirichlet(np.ones(size), size=size)
    found = best_coupling(order, first=p, second=q, kernel=kernel)
    assert found.divergence >= exact(order, p @ kernel, q @ kernel)
    assert found.divergence <= exact(order, p, q) * (1.0 + 1e-9) + 1e-9
    plain = coupled_renyi(order, first=p, second=q, coupling=np.outer(q, p), kernel=kernel)
    assert found.divergence <= plain
    assert np.allclose(found.coupling.sum(axis=0), p, atol=1e-12)
    assert np.allclose(found.between, found.coupling.sum(axis=1))


@pytest.mark.parametrize("order", [1.5, 4.0])
def test_two_states_reach_the_best_of_all_couplings(order: float) -> None:
    p, q = np.array([0.85, 0.15]), np.array([0.3, 0.7])
    kernel = np.array([[0.7, 0.3], [0.4, 0.6]])
    found = best_coupling(order, first=p, second=q, kernel=kernel)
    shares = np.linspace(0.0, 1.0, 161)
    best = math.inf
    for a, b in itertools.product(shares, shares):
        joint = np.array([[a * p[0], b * p[1]], [(1 - a) * p[0], (1 - b) * p[1]]])
        between = joint.sum(axis=1)
        if between.min() <= 0.0:
            continue
        local = [exact(order, joint[x] / between[x] @ kernel, kernel[x]) for x in range(2)]
        best = min(best, exact(order, between, q) + max(local))
    assert found.divergence <= best * 1.001
    assert found.divergence < 0.95 * exact(order, p, q)


def test_states_without_mass_and_kernels_with_holes() -> None:
    found = best_coupling(
        2.0, first=[0.5, 0.5, 0.0], second=[0.4, 0.6, 0.0], kernel=[[0.9, 0.1], [0.2, 0.8], [1, 0]]
    )
    assert math.isfinite(found.divergence)
    holes = best_coupling(2.0, first=[0.5, 0.5], second=[0.4, 0.6], kernel=np.eye(2))
    assert holes.divergence == pytest.approx(exact(2.0, np.array([0.5, 0.5]), np.array([0.4, 0.6])))
    away = best_coupling(2.0, first=[0.5, 0.5], second=[1.0, 0.0], kernel=np.eye(2))
    assert math.isinf(away.divergence)
    with pytest.raises(InvalidDescription):
        best_coupling(2.0, first=[0.5, 0.5], second=[1.0], kernel=np.eye(2))
