"""Long powers of sparse walks face the eigenvalues of the walk, which they do not use."""

import numpy as np
import pytest
from scipy import sparse

from wane.mechanisms import MarkovKernel
from wane.theorems.kernel import low_rank, pairs, powers

STATES = 500


def lazy_walk(*, cycle: bool) -> np.ndarray:
    """Stay with probability 1/2, else go left or right; a line stays put at its ends."""
    rows = 0.5 * np.eye(STATES) + 0.25 * np.eye(STATES, k=1) + 0.25 * np.eye(STATES, k=-1)
    if cycle:
        rows[0, -1] = rows[-1, 0] = 0.25
    else:
        rows[0, 0] = rows[-1, -1] = 0.75
    return rows


def exact_power(times: int, *, cycle: bool) -> np.ndarray:
    """The power by its known eigenvectors, cosines, in long doubles."""
    k = np.arange(STATES, dtype=np.longdouble)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    if cycle:
        eigenvalues = ((1 + np.cos(2 * pi * k / STATES)) / 2) ** times
        row = np.cos(2 * pi * (np.outer(k, k) % STATES) / STATES) @ eigenvalues / STATES
        return np.stack([np.roll(row, i) for i in range(STATES)])
    eigenvalues = ((1 + np.cos(pi * k / STATES)) / 2) ** times
    waves = np.cos(pi * np.outer(2 * k + 1, k) / (2 * STATES)) * np.sqrt(np.longdouble(2) / STATES)
    waves[:, 0] = 1 / np.sqrt(np.longdouble(STATES))
    return (waves * eigenvalues) @ waves.T


def refuse(*_: object) -> None:
    raise AssertionError("the power was made by squaring whole matrices")


@pytest.mark.parametrize("cycle", [True, False])
@pytest.mark.parametrize("times", [10**5, 10**5 + 777, 10**6, 10**9])
def test_long_powers_are_within_their_error_of_the_truth(monkeypatch, cycle, times):
    monkeypatch.setattr(powers, "raised", refuse)
    made = MarkovKernel(sparse.csr_array(lazy_walk(cycle=cycle))).power(times)
    exact = exact_power(times, cycle=cycle)
    assert made.lost_mass == 0.0
    assert np.max(np.abs(made.matrix - exact) / made.matrix) <= made.relative_error < 1e-3
    far = STATES // 2 if cycle else STATES - 1
    apart = float(np.maximum(exact[0] - exact[far], 0).sum())
    # Long doubles know the difference of the rows to about 1e-17 a state.
    assert apart - 1e-14 <= made.dobrushin <= apart + 5.0 * made.relative_error
    assert times < 10**9 or made.dobrushin < 1e-100


def test_few_rows_bound_their_own_error():
    """The bound covers a matrix that is not of low rank as well, and says how bad it is."""
    rng = np.random.default_rng(3)
    low = rng.dirichlet(np.ones(400), size=20)
    rows = rng.dirichlet(np.ones(20), size=400) @ low
    few = low_rank.FewRows.of(rows, 0.0)
    assert few is not None and 20 <= len(few.chosen) < 60
    precise = rows.astype(np.longdouble)
    left = np.abs(precise - few.weights.astype(np.longdouble) @ few.rows.astype(np.longdouble))
    assert left.sum(axis=1).max() <= few.error < 1e-10
    core, reached = few.power(3)
    product = few.weights.astype(np.longdouble) @ core.small @ few.rows
    exact = precise @ precise if reached == 2 else precise @ precise @ precise
    assert np.abs(product - exact).sum(axis=1).max() <= core.error < 1e-9
    assert low_rank.FewRows.of(np.eye(400), 0.0) is None


@pytest.mark.parametrize("m", [1.0, 1.3, 20.0])
def test_rows_that_are_the_first_one_turned_give_the_largest_gap_of_all_pairs(m):
    """Walks on a circle, with noise below the tolerance and above it, face all pairs."""
    rng = np.random.default_rng(5)
    first = rng.dirichlet(np.ones(120))
    rows = np.stack([np.roll(first, i) for i in range(120)])
    for noise in (0.0, 1e-9, 1e-3):
        shaken = rows * (1.0 + noise * rng.uniform(-1.0, 1.0, rows.shape))
        exact = np.maximum(shaken[:, None, :] - m * shaken[None, :, :], 0.0).sum(axis=2)
        np.fill_diagonal(exact, 0.0)
        found = pairs.largest_gap(shaken, m, tolerance=1e-8).value
        assert exact.max() * (1.0 - 1e-13) <= found <= exact.max() * (1.0 + 1e-8) + 3e-8 * m
