"""Distances that are followed from the start, and the programme of concave moduli, step by step."""

import math
from dataclasses import replace

import numpy as np
import pytest
from staircases import least_cost, mp, near

from runs import make_run
from wane.describe import (
    Adjacency,
    Cyclic,
    GradientNoise,
    Objective,
    Phase,
    Poisson,
    Schedule,
    WithoutReplacement,
)
from wane.describe.descent import PublicRecords
from wane.theorems.lemmas import tracking
from wane.theorems.lemmas.loss_moduli import Batch, step_modulus
from wane.theorems.lemmas.moduli import IDENTITY, AffineSquare, HolderOnDomain, Triangle
from wane.theorems.lemmas.tangent_programme import Stretch, profile, solve, split
from wane.theorems.lemmas.tracking import repeated, tracked_distances

CONVEX = Objective(gradient_bound=1.5, smoothness=0.5, strong_convexity=0.0)
ROUGH = Objective(gradient_bound=1.5, strong_convexity=0.0)


@pytest.mark.parametrize("log_factor", [-40.0, -0.3, -1e-9, 0.0, 1e-9, 0.2, 3.0])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_equal_steps_with_a_shift(log_factor, count):
    distance, factor = mp.mpf(0.7), mp.exp(mp.mpf(log_factor))
    for _ in range(count):
        distance = factor * distance + mp.mpf(0.2)
    assert repeated(0.7, log_factor, 0.2, count) == pytest.approx(float(distance), rel=1e-12)


def test_distances_beyond_the_doubles_are_infinite():
    assert repeated(1.0, 701.0, 1.0, 1) == math.inf
    assert math.isfinite(repeated(1.0, 350.0, 1.0, 2))
    assert repeated(0.0, 0.0, 0.0, 5) == 0.0


def lipschitz(losses, eta, divisor, sizes):
    """How much the worst batch of such a size stretches, or None."""
    if losses.smoothness is None:
        return None
    m = -losses.smoothness if losses.strong_convexity is None else losses.strong_convexity
    curvatures = [n / divisor * x + losses.ridge for n in sizes for x in (m, losses.smoothness)]
    return max(abs(1.0 - eta * x) for x in curvatures)


def followed(run, sizes, moved, steps):
    """The distance after the first steps: by the Lipschitz constant, or step by step."""
    d = 0.0
    for phase in run.plan:
        count, eta = min(phase.repeat, steps), phase.step_size
        steps -= count
        losses, divisor, used, shift = run.objective, run.batch_size, sizes, eta * moved
        if phase.cool_down:
            d *= abs(1.0 - eta * losses.ridge) ** count
            continue
        if phase.public:
            divisor, shift = run.public.records, 0.0
            losses, used = run.on_public.objective, (divisor, divisor)
        L = lipschitz(losses, eta, divisor, used)
        ways = []
        if L is not None:
            straight = d
            for _ in range(count):
                straight = L * straight + shift
            ways.append(straight)
        if L is None or L > 1.0:
            phi = step_modulus(losses, Batch(eta, divisor, *used))
            bent = d
            for _ in range(count):
                bent = (phi(bent) if bent > 0.0 else 0.0) + shift
            ways.append(bent)
        d = min(ways)
    return d


def expected(run, least, most, steps):
    found = []
    C = run.objective.gradient_bound
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    if C is not None:
        moved = (2.0 if replaced else 1.0) * C / run.batch_size
        found.append(followed(run, (least, most), moved, steps))
    if replaced:
        apart = run.objective.gradient_difference_bound or 2.0 * C
        sizes = (least, most + 1) if isinstance(run.batches, Poisson) else (least + 1, most)
        found.append(followed(run, sizes, apart / run.batch_size, steps))
    return min(found)


PHASES = [
    Phase(3, 0.5, GradientNoise(0.3)),
    Phase(2, 1.5, GradientNoise(0.3), cool_down=True),
    Phase(4, 4.5, GradientNoise(0.3)),
    Phase(2, 3.0, GradientNoise(0.3)),
]
PUBLIC = [*PHASES[:2], Phase(3, 0.75, GradientNoise(0.3), public=True), PHASES[0]]


@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
@pytest.mark.parametrize("batches", [Poisson(4), WithoutReplacement(4)])
@pytest.mark.parametrize(
    "losses",
    [
        CONVEX,
        ROUGH,
        replace(CONVEX, ridge=0.1),
        replace(ROUGH, ridge=0.1),
        replace(CONVEX, gradient_difference_bound=0.4),
        replace(CONVEX, strong_convexity=None),
    ],
)
def test_distances_without_a_bounded_set(losses, batches, adjacency):
    run = make_run(
        objective=losses,
        records=12,
        schedule=Schedule(PHASES),
        batches=batches,
        adjacency=adjacency,
    )
    for least, most in ((0, 5), (3, 4)):
        found = tracked_distances(run, least, most)
        for steps in range(12):
            exact = expected(run, least, most, steps)
            assert exact * (1.0 - 1e-13) <= found(steps) <= exact * (1.0 + 1e-10)


def test_public_steps_move_no_two_runs_apart_by_a_record():
    run = make_run(
        objective=replace(CONVEX, ridge=0.1),
        records=12,
        schedule=Schedule(PUBLIC),
        batches=Poisson(4),
        public=PublicRecords(records=7, objective=ROUGH),
    )
    found = tracked_distances(run, 0, 5)
    for steps in range(12):
        exact = expected(run, 0, 5, steps)
        assert exact * (1.0 - 1e-13) <= found(steps) <= exact * (1.0 + 1e-10)


def test_only_a_difference_of_gradients_is_enough_for_replaced_records():
    only = Objective(gradient_difference_bound=0.4, smoothness=0.5, strong_convexity=0.2)
    noise = GradientNoise(1.0)
    run = make_run(objective=only, records=12, batches=Poisson(4), steps=9, noise=noise)
    found = tracked_distances(run, 0, 5)
    for steps in range(10):
        exact = followed(run, (0, 6), 0.4 / 4, steps)
        assert exact * (1.0 - 1e-13) <= found(steps) <= exact * (1.0 + 1e-10)


def test_bent_moduli_are_followed_so_far_and_no_further(monkeypatch):
    monkeypatch.setattr(tracking, "MOST_STEPS", 5)
    rough = make_run(objective=ROUGH, records=12, steps=9, batches=Cyclic(4))
    found = tracked_distances(rough, 4, 4)
    assert math.isfinite(found(5)) and found(6) == math.inf and found(0) == 0.0
    expanding = replace(rough, objective=CONVEX, step_size=5.0)
    known = tracked_distances(expanding, 4, 4)
    straight = followed(replace(expanding, steps=9), (4, 4), 3.0 / 4, 5)
    assert known(5) == pytest.approx(straight, rel=1e-9)
    assert known(6) == pytest.approx(repeated(0.0, math.log(1.5), 5.0 * 3.0 / 4, 6), rel=1e-9), (
        "by the Lipschitz constant alone"
    )


def test_long_distances_are_not_rounded_down():
    """A fixed point is reached by powers of a factor near one, which lose some digits."""
    for k in range(60):
        ridge, steps = 0.001 * (1.0 + k / 61.0), 5000
        losses = Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0, ridge=ridge)
        noise = GradientNoise(1.0)
        run = make_run(objective=losses, records=1, steps=steps, step_size=1.0, noise=noise)
        c = 1 - mp.mpf(ridge)
        exact = 2 * (1 - c**steps) / (1 - c)
        assert near(tracked_distances(run, 0, 0)(steps), exact)


# the programme of concave moduli


def backwards(steps, distance):
    """The least cost of all affine squares (c, h, variance), from the last step back."""
    q = B = mp.mpf(0)
    for c, h, variance in reversed(steps):
        g = q + mp.mpf(variance)
        B += mp.mpf(h) / g
        q = g / mp.mpf(c)
    return mp.mpf(distance) ** 2 / q + B


@pytest.mark.parametrize("h", [0.0, 0.05])
@pytest.mark.parametrize("log_c", [-0.02, 0.0, 0.02])
@pytest.mark.parametrize("count", [1, 40, 300])
def test_affine_squares_over_any_number_of_last_steps(count, log_c, h):
    c, variance, distance = mp.exp(mp.mpf(log_c)), 0.6, 1.3
    stretch = Stretch(AffineSquare(log_c, h), 0.0, variance, count)
    horizons, costs = profile([stretch], distance)
    assert horizons[0] == 1.0 and np.all(np.diff(horizons) > 0.0)
    few = slice(len(horizons) % 30, None, 30)
    for n, cost in zip(horizons[few].tolist(), costs[few].tolist(), strict=True):
        exact = backwards([(c, h, variance)] * int(n), distance)
        assert near(cost, exact, "2e-3")
        assert h or near(cost, exact, "1e-9")
    found = solve([stretch], distance)
    assert near(found.value, backwards([(c, h, variance)] * found.steps, distance), "2e-3")
    assert found.value <= float(np.min(costs)) * (1.0 + 1e-9)


def test_stretches_of_different_steps_in_order_of_time():
    steps = [(-0.1, 0.02, 0.5, 60), (0.05, 0.0, 0.1, 30), (0.0, 0.01, 2.0, 90)]
    stretches = [Stretch(AffineSquare(c, h), 0.0, v, n) for c, h, v, n in steps]
    rows = [(mp.exp(mp.mpf(c)), h, v) for c, h, v, n in steps for _ in range(n)]
    horizons, costs = profile(stretches, lambda n: 1.0 + 0.001 * n)
    assert horizons[-1] == 180.0
    few = slice(len(horizons) % 30 - 1, None, 30)
    for n, cost in zip(horizons[few].astype(int).tolist(), costs[few].tolist(), strict=True):
        assert near(cost, backwards(rows[-n:], 1.0 + 0.001 * n), "2e-3")
    found = solve(stretches, lambda n: 1.0 + 0.001 * n)
    assert near(found.value, backwards(rows[-found.steps :], 1.0 + 0.001 * found.steps), "2e-3")
    assert found.value == pytest.approx(float(np.min(costs)), rel=1e-3)


@pytest.mark.parametrize("log_c", [-0.2, 0.0, 0.03])
@pytest.mark.parametrize("shift", [0.02, 0.5])
def test_shifts_at_every_step(log_c, shift):
    """Lipschitz steps with a shift are the joint programme, begun at a distance."""
    c, std, distance = mp.exp(mp.mpf(log_c) / 2), 0.8, 0.9
    row = (mp.mpf(shift), c, mp.mpf(std))
    stretch = Stretch(AffineSquare(log_c), shift, std * std, 30)
    exact = [
        least_cost([(row[0] + c * mp.mpf(distance), *row[1:]), *[row] * (n - 1)])
        for n in range(1, 31)
    ]
    found = solve([stretch], distance)
    assert near(found.value, min(exact), "1e-2") and found.value >= exact[found.steps - 1]
    horizons, costs = profile([stretch], distance)
    for n, cost in zip(horizons.astype(int).tolist(), costs.tolist(), strict=True):
        assert near(cost, exact[n - 1], "0.5")


def test_runs_that_start_together_pay_their_own_shifts():
    stretches = [Stretch(IDENTITY, 0.3, 0.5, 7), Stretch(IDENTITY, 0.1, 0.25, 4)]
    found = solve(stretches, 0.0)
    assert near(found.value, 7 * mp.mpf(0.3) ** 2 / mp.mpf(0.5) + 4 * mp.mpf(0.1) ** 2 / 0.25)
    assert found.steps == 0
    assert solve([], 1.0).value == math.inf and solve([], 1.0).steps == 0
    assert solve([Stretch(IDENTITY, 0.0, 1.0, 3)], 1e-200).value > 0.0


def brute_force(phi, shift, variance, distance, count):
    """Least cost on an even grid of distances, each rounded up."""
    far = distance
    for _ in range(count):
        far = max(far, phi(far) + shift)
    grid = np.linspace(0.0, far, 401)
    moved = np.array([phi(u) if u > 0 else 0.0 for u in grid.tolist()]) + shift
    cost = np.where(grid == 0.0, 0.0, math.inf)
    for _ in range(count):
        gap = np.maximum(moved[:, None] - grid[None, :], 0.0)
        cost = (gap**2 / variance + cost[None, :]).min(axis=1)
    return float(np.interp(distance, grid, cost))


@pytest.mark.parametrize("shift", [0.0, 0.1])
@pytest.mark.parametrize(
    "modulus",
    [Triangle(0.3, 1.0, 2.0, 0.6), HolderOnDomain(0.5, 0.5, 1.0), Triangle(0.1, change=1.0)],
)
def test_bent_moduli_against_brute_force(modulus, shift):
    count, distance = 6, 1.0
    best = min(brute_force(modulus, shift, 0.5, distance, n) for n in range(1, count + 1))
    found = solve([Stretch(modulus, shift, 0.5, count)], distance)
    assert 0.97 * best <= found.value <= 1.03 * best


def test_pieces_are_short_against_what_follows_them():
    pieces = split([Stretch(IDENTITY, 0.0, 1.0, 50), Stretch(IDENTITY, 0.0, 2.0, 1000)])
    assert sum(p.count for p in pieces) == 1050
    done = 0
    for piece in pieces:
        assert piece.count <= max(1, done // 64)
        assert piece.variance == (2.0 if done < 1000 else 1.0)
        done += piece.count
