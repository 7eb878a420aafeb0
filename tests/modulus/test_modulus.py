"""Moduli of one's own: against brute force, closed forms and exact Gaussian laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import wane
from wane import InvalidDescription
from wane.modulus import (
    BestPath,
    best_path,
    bounded_change,
    descent_ascent,
    from_values,
    hoelder,
    smooth,
    smooth_convex,
    sum_of_parts,
)

Phi = Callable[[int, float], float]


def brute_force(phi: Phi, shifts: Sequence[float], noises: Sequence[float], start: float) -> float:
    """Mu by plain dynamic programming on a fine even grid; nothing is shared with the search.

    Distances are rounded up to the grid, so that the value is that of a feasible path: no less than
    the optimum, and near it.
    """
    far, u = start, start
    for t, shift in enumerate(shifts, 1):
        u = (phi(t, u) if u > 0.0 else 0.0) + shift
        far = max(far, u)
    grid = np.linspace(0.0, far, 1201)
    step = grid[1]
    costs = np.full(len(grid), math.inf)
    costs[0] = 0.0
    for t in range(len(shifts), 0, -1):
        new = np.empty(len(grid))
        for i, v in enumerate(grid.tolist()):
            reached = (phi(t, v) if v > 0.0 else 0.0) + shifts[t - 1]
            top = min(math.ceil(reached / step - 1e-12), len(grid) - 1)
            paid = np.maximum(reached - grid[: top + 1], 0.0) / noises[t - 1]
            new[i] = float(np.min(paid**2 + costs[: top + 1]))
        costs = new
    return math.sqrt(float(costs[min(math.ceil(start / step - 1e-12), len(grid) - 1)]))


def bent(rng: np.random.Generator, count: int) -> Phi:
    """A nondecreasing modulus of no special shape for each step: kinks, flats and jumps."""
    kinks = np.sort(rng.uniform(0.0, 4.0, (count, 4)), axis=1)
    slopes = rng.uniform(0.0, 1.3, (count, 5))
    jumps = rng.choice([0.0, 0.0, 0.2], (count, 5))

    def phi(t: int, u: float) -> float:
        edges = [0.0, *kinks[t - 1].tolist(), math.inf]
        total = 0.0
        for i in range(5):
            if u > edges[i]:
                total += slopes[t - 1, i] * (min(u, edges[i + 1]) - edges[i]) + jumps[t - 1, i]
        return total

    return phi


def test_any_modulus_against_brute_force() -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        count = int(rng.integers(1, 7))
        phi = bent(rng, count)
        shifts = rng.choice([0.0, 0.1, 0.4], count).tolist()
        noises = (10.0 ** rng.uniform(-0.5, 0.5, count)).tolist()
        start = float(rng.choice([0.5, 2.0, 3.0]))
        found = best_path(modulus=phi, shifts=shifts, noise_stds=noises, distance=start)
        check_feasible(found, phi, shifts)
        brute = brute_force(phi, shifts, noises, start)
        assert found.mu <= brute * 1.02 + 1e-9  # and both are values of feasible paths
        assert found.mu >= brute * 0.93 - 0.02  # the grid rounds distances up by a part in 1200


def check_feasible(found: BestPath, phi: Phi, shifts: Sequence[float]) -> None:
    """The constraints of the programme and mu, from the words of the theorem alone."""
    total = 0.0
    for i, paid in enumerate(found.payments):
        u, after = found.distances[i], found.distances[i + 1]
        t = found.first_step + i
        reached = (phi(t, u) if u > 0.0 else 0.0) + shifts[t - 1]
        assert paid >= 0.0 and after >= 0.0
        assert after + paid >= reached * (1.0 - 1e-15)
        total += (paid / found.noise_stds[i]) ** 2
    assert found.distances[-1] == 0.0
    assert math.sqrt(total) <= found.mu <= math.sqrt(total) * (1.0 + 1e-10)


def test_contractions_meet_the_exact_gaussian_law() -> None:
    """x' = c x + s + N(0, v) against the same without s: the laws are Gaussians."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        count, c = int(rng.integers(1, 40)), float(rng.uniform(0.3, 1.0))
        shift, noise, start = 0.3, 0.7, float(rng.choice([0.0, 1.0]))
        mean, variance = start, 0.0
        for _ in range(count):
            mean, variance = c * mean + shift, c * c * variance + noise**2
        exact = mean / math.sqrt(variance)
        found = best_path(
            modulus=lambda _, u, c=c: c * u,
            shifts=[shift] * count,
            noise_stds=[noise] * count,
            distance=start,
        )
        assert exact * (1.0 - 1e-12) <= found.mu <= exact * (1.0 + 1e-5)
        assert found.renyi(3.0) == pytest.approx(1.5 * found.mu**2)
        assert found.epsilon(1e-5) == wane.GaussianDP(found.mu).epsilon(1e-5)


def test_a_start_that_differs_is_a_distance() -> None:
    """Neighbours whose starts are tau apart: one step of a rotation shows the whole of it."""
    found = best_path(modulus=lambda _, u: u, shifts=[0.0], noise_stds=[2.0], distance=3.0)
    assert found.mu == pytest.approx(1.5) and found.payments == (3.0,)


def test_a_step_without_noise_hides_nothing_but_may_be_followed() -> None:
    found = best_path(
        modulus=lambda _, u: 0.5 * u, shifts=[1.0, 0.0], noise_stds=[0.0, 1.0], distance=0.0
    )
    assert found.mu == pytest.approx(0.5) and found.payments[0] == 0.0
    last = best_path(modulus=lambda _, u: u, shifts=[1.0], noise_stds=[0.0], distance=0.0)
    assert last.mu == math.inf


def test_nothing_differs_and_nothing_is_told() -> None:
    found = best_path(modulus=lambda _, u: u, shifts=[0.0] * 3, noise_stds=[1.0] * 3, distance=0.0)
    assert found.mu == 0.0


def test_in_a_bounded_set_a_path_may_begin_late() -> None:
    """With a shift at every step, long runs level off at that of the last steps from D apart."""
    given = {"modulus": lambda _, u: u, "distance": 0.0}
    free = best_path(shifts=[0.1] * 400, noise_stds=[1.0] * 400, **given)
    bounded = best_path(shifts=[0.1] * 400, noise_stds=[1.0] * 400, diameter=2.0, **given)
    exact = min((2.0 + 0.1 * k) / math.sqrt(k) for k in range(1, 401))
    assert free.mu == pytest.approx(2.0, rel=1e-5)
    assert exact * (1.0 - 1e-12) <= bounded.mu <= exact * (1.0 + 1e-4) < free.mu
    assert bounded.first_step > 300 and bounded.distances[0] == 2.0


def test_the_saddle_modulus_beats_the_lipschitz_row() -> None:
    """Exact for linear fields: z' = z - eta J z + noise, J a quarter turn: a known gain."""
    phi = descent_ascent(0.1, smoothness=1.0)
    found = best_path(modulus=phi, shifts=[0.01] * 60, noise_stds=[0.2] * 60, distance=0.5)
    step = np.array([[1.0, -0.1], [0.1, 1.0]])
    gain = math.sqrt(1.01)
    assert np.linalg.norm(step, 2) == pytest.approx(gain)
    # the worst shift always points along the difference, which turns by a fixed angle
    mean, variance = 0.5, 0.0
    for _ in range(60):
        mean, variance = gain * mean + 0.01, gain**2 * variance + 0.04
    exact = mean / math.sqrt(variance)
    assert exact * (1.0 - 1e-9) <= found.mu
    lipschitz = best_path(
        modulus=smooth(0.1, 1.0), shifts=[0.01] * 60, noise_stds=[0.2] * 60, distance=0.5
    )
    assert found.mu < 0.6 * lipschitz.mu


def test_moduli_bound_steps_on_drawn_functions() -> None:
    """Each builder against steps that are taken: distances after, over many pairs of points."""
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(2, 800, 3)) * 10.0 ** rng.uniform(-3, 1, (800, 1))
    apart = np.linalg.norm(x - y, axis=1)
    A = rng.normal(size=(3, 3))
    H = A @ A.T
    M = float(np.linalg.eigvalsh(H)[-1])
    p = 0.5

    def quadratic(z: np.ndarray) -> np.ndarray:
        return z @ H

    def power(z: np.ndarray) -> np.ndarray:  # gradient of sum |z_i|^(1+p)/(1+p), 2^(1-p)-Hoelder
        return np.sign(z) * np.abs(z) ** p

    def absolute(z: np.ndarray) -> np.ndarray:
        return np.sign(z)

    hoelder_constant = 2.0 ** (1.0 - p) * 3.0 ** ((1.0 - p) / 2.0)
    for eta in (0.05, 0.5, 1.9):
        size = eta / M
        cases = [
            (quadratic, smooth_convex(size, M)),
            (quadratic, smooth(size, M)),
            (power, hoelder(size, p, hoelder_constant)),
            (absolute, bounded_change(size, 2.0 * math.sqrt(3.0))),
            (
                lambda z: quadratic(z) + power(z),
                sum_of_parts(
                    size,
                    [
                        lambda e: smooth_convex(e, M),
                        lambda e: hoelder(e, p, hoelder_constant),
                    ],
                ),
            ),
        ]
        for field, phi in cases:
            after = np.linalg.norm(x - y - size * (field(x) - field(y)), axis=1)
            bound = np.array([phi(1, float(u)) for u in apart])
            assert np.all(after <= bound * (1.0 + 1e-9))


def test_a_sum_of_parts_is_better_than_its_worst_part_alone() -> None:
    """|Ax - b|^2 + |Bx|^(3/2): nothing Lipschitz, yet contracted apart from a bounded offset."""
    parts = [lambda e: smooth_convex(e, 1.0), lambda e: hoelder(e, 0.5, 1.0)]
    phi = sum_of_parts(0.2, parts)
    assert phi(1, 5.0) < 5.0 * 1.001
    assert phi(1, 1e-4) > 1e-4  # near zero a Hoelder gradient drives points apart
    varying = smooth_convex([0.5, 3.0], 1.0)
    assert varying(1, 1.0) == pytest.approx(1.0) and varying(2, 1.0) == pytest.approx(2.0)


def test_parts_of_a_sum_may_differ_from_step_to_step() -> None:
    """Nothing moves after the first step: shifts and noise add up, whatever that one contracts."""
    steps = 6

    def part(eta: float) -> Callable[[int, float], float]:
        return lambda t, u: (0.1 if t == 1 else 1.0) * u

    rows = from_values([1e9], [[1e8]] + [[1e9]] * (steps - 1))
    for parts in ([part], [part, part], [lambda e: smooth([1e-9, *[2.0] * (steps - 1)], 1.0)]):
        phi = sum_of_parts(0.1, parts)
        assert phi(2, 1.0) >= 1.0
        found = best_path(modulus=phi, shifts=[1.0] * steps, noise_stds=[1.0] * steps, distance=0.0)
        assert found.mu >= math.sqrt(steps)  # exact for x' = c_t x + noise, c_1 = 0.1, else 1
    assert sum_of_parts(0.1, [lambda e: rows])(2, 1.0) == pytest.approx(1e9)


def test_values_are_read_upwards() -> None:
    phi = from_values([1.0, 2.0], [0.5, 0.8])
    assert [phi(1, u) for u in (0.1, 1.0, 1.1, 2.0)] == [0.5, 0.5, 0.8, 0.8]
    assert phi(1, 2.1) == math.inf
    rows = from_values([1.0, 2.0], [[0.5, 0.8], [0.1, 0.2]])
    assert rows(2, 1.5) == 0.2
    found = best_path(modulus=rows, shifts=[0.0, 0.0], noise_stds=[1.0, 1.0], distance=2.0)
    # staying within the first value costs nothing more: 0.8 is left, then at most 0.1
    assert found.mu <= math.hypot(0.0, 0.1) * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"modulus": 3.0}, "modulus must be a function"),
        ({"modulus": lambda _, u: -u}, "modulus must return a number >= 0"),
        ({"modulus": lambda _, u: math.nan}, "modulus must return a number >= 0"),
        ({"modulus": lambda _, u: "far"}, "modulus must return a number >= 0"),
        ({"modulus": lambda _, u: 1.0 / u}, "must not fall"),
        ({"shifts": [0.0]}, "shifts and noise_stds must have one number"),
        ({"noise_stds": [1.0, -1.0]}, "noise_stds must be"),
        ({"distance": -1.0}, "distance must be"),
        ({"diameter": 0.0}, "diameter must be"),
    ],
)
def test_bad_questions_are_refused(change: dict[str, object], words: str) -> None:
    good = {
        "modulus": lambda _, u: u,
        "shifts": [0.0, 0.0],
        "noise_stds": [1.0, 1.0],
        "distance": 1.0,
    }
    with pytest.raises(InvalidDescription, match=words):
        best_path(**(good | change))


def test_bad_values_are_refused() -> None:
    for distances, values in (
        ([1.0, 1.0], [1.0, 2.0]),
        ([1.0, 2.0], [2.0, 1.0]),
        ([1.0], [1.0, 2.0]),
        ([0.0, 1.0], [1.0, 2.0]),
    ):
        with pytest.raises(InvalidDescription):
            from_values(distances, values)
    with pytest.raises(InvalidDescription, match="row for each step"):
        from_values([1.0], [[1.0]])(2, 0.5)


def tuned(rng, curvature):
    return wane.NoisyDescent(
        objective=wane.Objective(
            gradient_difference_bound=float(rng.uniform(0.5, 3.0)),
            smoothness=curvature[1],
            strong_convexity=curvature[0],
        ),
        records=10,
        steps=int(rng.integers(1, 12)),
        step_size=float(rng.uniform(0.05, 0.6)),
        noise=wane.GradientNoise(float(rng.uniform(0.1, 2.0))),
    )


@pytest.mark.parametrize("seed", range(25))
def test_no_chain_of_quadratics_leaks_more_than_runs_certified_jointly(seed):
    """Each run has quadratics of its own; the end is followed number by number."""
    rng = np.random.default_rng(seed)
    ends = [np.sort(rng.uniform(0.0, 3.0, 2)).tolist() for _ in range(3)]
    runs = [tuned(rng, curvature) for curvature in ends]
    claim = wane.modulus.fine_tuned(*runs)
    for share in np.linspace(0.0, 1.0, 5):
        gap = variance = 0.0
        for run, (low, high) in zip(runs, ends, strict=True):
            keep = 1.0 - run.step_size * (low + share * (high - low))
            shift = run.step_size * run.objective.gradient_difference_bound / run.records
            for _ in range(run.steps):
                gap = keep * gap + shift
                variance = keep**2 * variance + (run.step_size * run.noise.value) ** 2
        assert gap / math.sqrt(variance) <= claim.mu * (1.0 + 1e-9)
    composed = math.hypot(*(wane.certify(run).mu for run in runs))
    assert claim.mu <= composed * (1.0 + 1e-3)


def test_runs_certified_jointly_attain_the_exact_number_and_agree_with_one_run():
    flat = wane.Objective(gradient_difference_bound=2.0, smoothness=1.0, strong_convexity=1.0)
    one = wane.NoisyDescent(
        objective=flat, records=10, steps=20, step_size=0.2, noise=wane.GradientNoise(0.5)
    )
    halves = replace(one, steps=8), replace(one, steps=12)
    joint = wane.modulus.fine_tuned(*halves)
    assert joint.mu == pytest.approx(wane.certify(one).mu, rel=1e-4)
    assert joint.mu >= wane.certify(one).mu * (1.0 - 1e-12)  # which quadratics attain
    with pytest.raises(wane.NoTheoremApplies, match="every step uses every record"):
        wane.modulus.fine_tuned(replace(one, batches=wane.Cyclic(5)))
    with pytest.raises(wane.InvalidDescription, match="same number of records"):
        wane.modulus.fine_tuned(one, replace(one, records=11))
    with pytest.raises(wane.NoTheoremApplies, match="drives two points apart"):
        wane.modulus.fine_tuned(
            replace(one, objective=wane.Objective(gradient_difference_bound=1.0))
        )
