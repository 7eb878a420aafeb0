"""Proximal operators against solvers and certificates that share no code with them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize

from wane.describe.domains import (
    MCP,
    SCAD,
    Affine,
    Ball,
    Box,
    ElasticNet,
    GroupLasso,
    Halfspace,
    Lasso,
    LInfinityNorm,
    LogBarrier,
    LOneBall,
    LTwoNorm,
    NuclearNorm,
    PositiveSemidefiniteCone,
    SecondOrderCone,
    Simplex,
    SortedLOne,
    TotalVariation,
    WithRidge,
)

SOME = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 2**32 - 1)
steps = st.floats(0.05, 3.0)
weights = st.sampled_from([0.0, 0.1, 0.7, 2.0])


def draw_point(seed: int, n: int, ties: bool) -> np.ndarray:
    point = np.random.default_rng(seed).normal(size=n) * 2.0
    return np.round(point) if ties else point


# Total variation -----------------------------------------------------------------------------


def string_is_taut(y: np.ndarray, x: np.ndarray, tension: float) -> bool:
    """Sum of y - x stays within the tube, touches its wall at every jump, and ends at 0."""
    tube = np.cumsum(y - x)
    close = 1e-10 * (1.0 + tension + np.abs(y).sum())
    jumps = np.diff(x)
    inside = (np.abs(tube[:-1]) <= tension + close).all() and abs(tube[-1]) <= close
    moving = np.abs(jumps) > 1e-9 * (1.0 + np.abs(y).max())
    wall = -np.sign(jumps[moving]) * tension
    return bool(inside and np.allclose(tube[:-1][moving], wall, rtol=0, atol=close))


@SOME
@given(seeds, st.integers(1, 40), st.booleans(), weights, steps)
def test_total_variation_pulls_the_string_taut(seed, n, ties, weight, step):
    y = draw_point(seed, n, ties)
    assert string_is_taut(y, TotalVariation(weight).prox(y, step), step * weight)


@pytest.mark.parametrize("seed", range(8))
def test_total_variation_agrees_with_its_dual_program(seed):
    y = draw_point(seed, 6, ties=seed % 2 == 0)
    slopes = np.diff(np.eye(6), axis=0).T
    dual = optimize.lsq_linear(slopes, y, bounds=(-0.6, 0.6), method="bvls", tol=1e-14)
    x = TotalVariation(1.2).prox(y, 0.5)
    np.testing.assert_allclose(x, y - slopes @ dual.x, atol=1e-9)


@pytest.mark.parametrize(
    "y",
    [
        2.0 ** np.arange(60),
        -(1.5 ** np.arange(200)),
        np.cumsum(np.random.default_rng(0).normal(size=3000)),
        np.tile([1.0, -1.0], 500),
        np.zeros(100),
        np.full(77, 0.1),
        np.r_[np.arange(500.0), -1e6],
        np.sin(np.arange(2000) / 50.0) + np.random.default_rng(1).normal(size=2000),
    ],
    ids=["doubling", "falling", "walk", "sawtooth", "zero", "equal", "cliff", "signal"],
)
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_total_variation_on_long_and_awkward_strings(y, weight):
    assert string_is_taut(y, TotalVariation(weight).prox(y, 1.0), weight)


def test_total_variation_of_one_large_weight_is_the_mean_and_none_is_the_point():
    y = draw_point(3, 9, ties=False)
    np.testing.assert_allclose(TotalVariation(1e300).prox(y, 1.0), np.full(9, y.mean()), rtol=1e-12)
    np.testing.assert_allclose(TotalVariation(0.0).prox(y, 1.0), y, rtol=1e-14)
    np.testing.assert_array_equal(TotalVariation(1.0).prox(y[:1], 1.0), y[:1])


# Norms: x = prox(y) exactly if y - x lies in the dual ball and <y - x, x> = step * norm(x) ---


def sorted_l1_dual_fits(gap: np.ndarray, costs: np.ndarray) -> bool:
    return bool((np.cumsum(-np.sort(-np.abs(gap))) <= np.cumsum(costs) + 1e-10).all())


@SOME
@given(seeds, st.integers(1, 12), st.booleans(), st.booleans(), steps)
def test_sorted_l1_is_certified_by_its_dual_norm(seed, n, ties, steep, step):
    rng = np.random.default_rng(seed)
    y = draw_point(seed, n, ties)
    costs = np.sort(rng.random(n))[::-1] * (rng.random() < 0.9)
    if steep:
        costs = np.where(np.arange(n) < n // 2, costs.max(), 0.0)
    slope = SortedLOne(tuple(costs.tolist()))
    x = slope.prox(y, step)
    assert sorted_l1_dual_fits(y - x, step * costs)
    assert (y - x) @ x == pytest.approx(step * slope.penalty(x), abs=1e-10)
    order = np.argsort(-np.abs(y), kind="stable")
    fitted = optimize.isotonic_regression(np.abs(y)[order] - step * costs, increasing=False).x
    np.testing.assert_allclose(np.abs(x)[order], np.maximum(fitted, 0.0), atol=1e-12)


def test_sorted_l1_with_equal_weights_is_the_lasso_and_with_one_weight_the_largest():
    y = np.random.default_rng(5).normal(size=(20, 7))
    equal, single = SortedLOne((0.4,) * 7), SortedLOne((0.4,) + (0.0,) * 6)
    np.testing.assert_allclose(equal.prox(y, 0.5), Lasso(0.4).prox(y, 0.5), atol=1e-14)
    np.testing.assert_allclose(single.prox(y, 0.5), LInfinityNorm(0.4).prox(y, 0.5), atol=1e-14)


def test_sorted_l1_survives_a_long_cascade_of_merges():
    n = 4000
    costs = np.r_[np.ones(n - 1), 0.0]
    y = np.linspace(2.0, 1.0, n)
    x = SortedLOne(tuple(costs.tolist())).prox(y, 0.9)
    fitted = optimize.isotonic_regression(y - 0.9 * costs, increasing=False).x
    np.testing.assert_allclose(x, np.maximum(fitted, 0.0), atol=1e-10)


DUALS = [
    (Lasso(0.5), lambda g: np.abs(g).max()),
    (LTwoNorm(0.5), np.linalg.norm),
    (LInfinityNorm(0.5), lambda g: np.abs(g).sum()),
    (NuclearNorm(0.5, 2, 3), lambda g: np.linalg.norm(g.reshape(2, 3), 2)),
    (GroupLasso(0.5, ((0, 3), (5, 1), (2,), (), (4,))), None),
]


@pytest.mark.parametrize(("norm", "dual"), DUALS, ids=lambda v: getattr(v, "kind", ""))
@pytest.mark.parametrize("ties", [False, True])
def test_norms_are_certified_by_their_dual_norm(norm, dual, ties):
    if dual is None:
        groups = [list(g) for g in norm.groups if g]

        def dual(gap):
            return max(np.linalg.norm(gap[g]) for g in groups)

    for seed, step in itertools.product(range(20), [0.1, 1.0, 5.0]):
        y = draw_point(seed, 6, ties)
        x = norm.prox(y, step)
        assert dual(y - x) <= 0.5 * step * (1 + 1e-12)
        assert (y - x) @ x == pytest.approx(step * norm.penalty(x), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_group_lasso_agrees_with_a_search_of_the_plane(seed):
    y = draw_point(seed, 5, ties=False)
    groups, costs, step = ((3, 0), (1, 4)), (0.8, 0.3), 0.7
    x = GroupLasso(costs, groups).prox(y, step)
    for group, weight in zip(groups, costs, strict=True):
        target, middle, width = y[list(group)], np.zeros(2), 2 * np.abs(y).max()
        for _ in range(12):
            ticks = middle[:, None] + np.linspace(-width, width, 81)
            plane = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
            plane = np.vstack([plane, np.zeros(2)])  # the kink, which no grid finds
            cost = weight * np.linalg.norm(plane, axis=1)
            cost += ((plane - target) ** 2).sum(axis=1) / (2 * step)
            middle, width = plane[cost.argmin()], width / 8
        np.testing.assert_allclose(x[list(group)], middle, atol=1e-6)
    assert x[2] == y[2]  # in no group


def test_empty_groups_cost_nothing():
    y = draw_point(0, 4, ties=False)
    with_empty = GroupLasso((0.5, 9.0, 0.7, 9.0), ((0, 1), (), (3,), ()))
    without = GroupLasso((0.5, 0.7), ((0, 1), (3,)))
    np.testing.assert_array_equal(with_empty.prox(y, 1.0), without.prox(y, 1.0))
    assert with_empty.penalty(y) == without.penalty(y)
    np.testing.assert_array_equal(GroupLasso(1.0, ((),)).prox(y, 1.0), y)
    assert GroupLasso(1.0, ((),)).penalty(y) == 0.0


# Sets: p = projection of y exactly if <y - p, v - p> <= 0 for every extreme point v ----------


@SOME
@given(seeds, st.integers(1, 8), st.booleans(), st.floats(0.05, 6.0))
def test_polytopes_are_certified_by_their_corners(seed, n, ties, size):
    y = draw_point(seed, n, ties)
    corners = np.array(list(itertools.product([-size, 2 * size], repeat=min(n, 5))))
    for domain, extremes in (
        (LOneBall(size), size * np.vstack([np.eye(n), -np.eye(n)])),
        (Simplex(size), size * np.eye(n)),
        (Box(-size, 2 * size, dimension=min(n, 5)), corners),
    ):
        point = y[: extremes.shape[-1]]
        p = domain.prox(point, 1.0)
        assert ((extremes - p) @ (point - p)).max() <= 1e-11 * (1 + size) ** 2
        assert domain.penalty(p) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_l1_ball_agrees_with_a_quadratic_program(seed):
    y = draw_point(seed, 4, ties=False)
    # x = u - v with u, v >= 0 and sum(u + v) <= radius
    budget = {"type": "ineq", "fun": lambda w: 1.3 - w.sum(), "jac": lambda w: -np.ones(8)}
    found = optimize.minimize(
        lambda w: ((w[:4] - w[4:] - y) ** 2).sum(),
        np.zeros(8),
        jac=lambda w: np.r_[2 * (w[:4] - w[4:] - y), -2 * (w[:4] - w[4:] - y)],
        bounds=[(0.0, None)] * 8,
        constraints=[budget],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 300},
    )
    p = LOneBall(1.3).prox(y, 1.0)
    np.testing.assert_allclose(p, found.x[:4] - found.x[4:], atol=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e12])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e16])
def test_simplex_and_l1_ball_keep_their_sum_at_any_scale(size, spread):
    y = np.random.default_rng(2).normal(size=(50, 30)) * spread
    assert Simplex(size).prox(y, 1.0).sum(axis=-1) == pytest.approx(size, rel=1e-13)
    assert (np.abs(LOneBall(size).prox(y, 1.0)).sum(axis=-1) <= size * (1 + 1e-13)).all()
    assert Simplex(size).prox(y + 7 * spread, 1.0) == pytest.approx(
        Simplex(size).prox(y, 1.0), abs=1e-14 * spread + 1e-13 * size
    )


@pytest.mark.parametrize("seed", range(6))
def test_cones_are_certified_by_their_polar(seed):
    """p = projection onto a self-dual cone exactly if p and p - y lie in it and are orthogonal."""
    rng = np.random.default_rng(seed)
    for cone, y in (
        (SecondOrderCone(), rng.normal(size=4)),
        (SecondOrderCone(), np.array([0.0, 0.0, rng.normal()])),
        (SecondOrderCone(), rng.normal(size=1)),
        (PositiveSemidefiniteCone(3), _symmetric(rng)),
    ):
        p = cone.prox(y, 1.0)
        assert cone.penalty(p) == 0.0
        assert cone.penalty(p - y) == 0.0
        assert p @ (p - y) == pytest.approx(0.0, abs=1e-13)


def _symmetric(rng: np.random.Generator) -> np.ndarray:
    m = rng.normal(size=(3, 3))
    return (m + m.T).reshape(-1)


def test_positive_semidefinite_cone_forgets_the_antisymmetric_part():
    m = np.random.default_rng(1).normal(size=(4, 3, 3))
    cone = PositiveSemidefiniteCone(3)
    both = (m + m.swapaxes(1, 2)) / 2
    np.testing.assert_allclose(
        cone.prox(m.reshape(4, 9), 1.0), cone.prox(both.reshape(4, 9), 1.0), atol=1e-14
    )


def test_affine_agrees_with_the_normal_equations():
    rng = np.random.default_rng(4)
    rows, y = rng.normal(size=(2, 5)), rng.normal(size=5)
    offset = np.array([1.0, -2.0])
    kkt = np.block([[np.eye(5), rows.T], [rows, np.zeros((2, 2))]])
    expected = np.linalg.solve(kkt, np.r_[y, offset])[:5]
    plain = Affine(tuple(map(tuple, rows)), tuple(offset))
    doubled = Affine(tuple(map(tuple, np.vstack([rows, 3 * rows[:1]]))), (1.0, -2.0, 3.0))
    np.testing.assert_allclose(plain.prox(y, 1.0), expected, atol=1e-13)
    np.testing.assert_allclose(doubled.prox(y, 1.0), expected, atol=1e-13)


def test_nothing_overflows_far_out():
    wall = Halfspace((1e308,) * 9, 1e308)
    assert wall.prox(np.ones(9), 1.0) == pytest.approx(np.full(9, 1 / 9))
    far = np.array([[1e300, -1e300, 1e299], [1e-300, 2e-300, -1e-300]])
    ball = Ball(2.0).prox(far, 1.0)
    assert np.linalg.norm(ball[0]) == pytest.approx(2.0)
    np.testing.assert_array_equal(ball[1], far[1])
    np.testing.assert_array_equal(LTwoNorm(1.0).prox(far, 1.0)[0], far[0])
    np.testing.assert_array_equal(LTwoNorm(1.0).prox(far, 1.0)[1], 0.0)
    tiny = LTwoNorm(1e-300).prox(far[1], 0.5)
    assert tiny == pytest.approx(far[1] * (1 - 0.5 / math.sqrt(6)), rel=1e-12)


# One dimension: grid search ------------------------------------------------------------------


def grid_minimum(h, y: float, step: float) -> tuple[float, float]:
    """The least cost on a grid around [0, y], refined; and where it is."""
    low, high = min(0.0, y) - 0.1, max(0.0, y) + 0.1
    for _ in range(6):
        grid = np.r_[np.linspace(low, high, 4001), 0.0, y][:, None]
        cost = h(grid) + (grid[:, 0] - y) ** 2 / (2 * step)
        best = float(grid[cost.argmin(), 0])
        width = (high - low) / 1000
        low, high = best - width, best + width
    return float(cost.min()), best


PENALTIES = [
    MCP(0.8, 1.5),
    MCP(0.8, 0.3),
    SCAD(0.8, 2.5),
    SCAD(0.8, 1.2),
    SCAD(0.5),
    ElasticNet(0.4, 1.3),
    Lasso(0.4),
    WithRidge(MCP(0.8, 1.5), 0.4),
    WithRidge(SCAD(0.8, 1.5), 0.4),
    WithRidge(Lasso(0.7), 2.0),
    WithRidge(WithRidge(LTwoNorm(0.3), 0.5), 0.5),
]


@pytest.mark.parametrize("h", PENALTIES, ids=repr)
@pytest.mark.parametrize("step", [0.05, 0.49, 1.0, 1.499999, 1.5, 1.500001, 3.0, 30.0])
def test_one_dimensional_prox_is_the_global_minimum(h, step):
    for y in [0.0, 1e-3, 0.1, 0.4, 0.81, -0.79, 1.2, -1.7, 2.0, 2.3, 5.0, -9.0, 30.0]:
        least, place = grid_minimum(h.penalty, y, step)
        x = h.prox(np.array([y]), step)
        cost = float(h.penalty(x) + (x[0] - y) ** 2 / (2 * step))
        assert cost <= least + 1e-12 * (1 + abs(least))
        assert cost >= least - 1e-9 * (1 + abs(least))
        if h.lipschitz(step) < 100:
            assert x[0] == pytest.approx(place, abs=2e-4)


@pytest.mark.parametrize(
    ("h", "step"),
    [(MCP(0.8, 1.5), 3.0), (SCAD(0.8, 2.5), 2.0), (SCAD(0.8, 2.5), 30.0), (MCP(1.0, 2.0), 2.0)],
)
def test_uncertified_steps_really_jump(h, step):
    x = np.linspace(0.0, 12.0, 120001)[:, None]
    gaps = np.diff(h.prox(x, step)[:, 0])
    assert gaps.max() > 0.1
    assert h.lipschitz(step) == math.inf


def test_penalties_are_continuous_and_as_bent_as_claimed():
    t = np.linspace(-4.0, 4.0, 4001)
    for h in (MCP(0.8, 1.5), SCAD(0.8, 2.5), SCAD(1.0, 1.1)):
        values = h.penalty(t[:, None])
        assert np.abs(np.diff(values)).max() <= h.weight * (t[1] - t[0]) * (1 + 1e-9)
        repaired = values - float(h.strong_convexity) / 2 * t**2
        assert np.diff(repaired, 2).min() >= -1e-12
        weaker = values - 0.99 * float(h.strong_convexity) / 2 * t**2
        assert np.diff(weaker, 2).min() < -1e-9  # the claimed weak convexity is the least one


@SOME
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3), steps)
def test_log_barrier_solves_its_quadratic(y, weight, step):
    x = float(LogBarrier(weight).prox(np.array([y]), step)[0])
    assert x > 0.0
    # x - y = step*weight/x, without the cancellation that a naive root suffers for y << 0
    assert x * (x - y) == pytest.approx(step * weight, rel=1e-9, abs=1e-15 * y * y)
