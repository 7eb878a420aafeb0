"""Laws that every domain of the catalogue obeys, parametrised over the registry."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import wane.describe.domains as catalogue
from wane.describe.domains import (
    DOMAINS,
    MCP,
    SCAD,
    Affine,
    Ball,
    Box,
    Diameter,
    Domain,
    ElasticNet,
    GroupLasso,
    Halfspace,
    Lasso,
    LInfinityNorm,
    LogBarrier,
    LOneBall,
    LTwoNorm,
    NuclearNorm,
    Orthant,
    OwnProx,
    PositiveSemidefiniteCone,
    Product,
    Ridge,
    SecondOrderCone,
    Simplex,
    SortedLOne,
    TotalVariation,
    Unbounded,
    WithRidge,
    from_fields,
    to_fields,
)
from wane.describe.domains.base import ConvexSet

FEW = settings(max_examples=12, deadline=None)

sizes = st.floats(0.01, 10.0)
weights = st.one_of(st.just(0.0), st.floats(0.01, 5.0))
dimensions = st.integers(1, 6)
steps = st.floats(0.01, 4.0)


def vectors(n: int, low: float = -3.0, high: float = 3.0) -> st.SearchStrategy[tuple[float, ...]]:
    return st.tuples(*[st.floats(low, high).map(lambda v: round(v, 3))] * n)


@st.composite
def anywhere(draw, domains):
    return draw(domains), draw(dimensions)


@st.composite
def boxes(draw):
    n = draw(dimensions)
    if draw(st.booleans()):
        low = draw(st.floats(-5.0, 5.0))
        return Box(low, low + draw(sizes), dimension=n), n
    low = draw(vectors(n))
    sides = draw(st.lists(st.one_of(st.just(0.0), sizes), min_size=n, max_size=n).filter(any))
    high = tuple(a + b for a, b in zip(low, sides, strict=True))
    assume(any(a < b for a, b in zip(low, high, strict=True)))
    return Box(low, high), n


@st.composite
def balls(draw):
    n = draw(dimensions)
    return Ball(draw(sizes), draw(st.one_of(st.none(), vectors(n)))), n


@st.composite
def halfspaces(draw):
    n = draw(dimensions)
    return Halfspace(draw(vectors(n).filter(any)), draw(st.floats(-2.0, 2.0))), n


@st.composite
def affines(draw):
    n = draw(dimensions)
    rows = draw(st.lists(vectors(n).filter(any), min_size=1, max_size=n))
    rows += rows[: draw(st.integers(0, 1))]  # sometimes a redundant row
    inside = np.asarray(draw(vectors(n)))
    return Affine(tuple(rows), tuple((np.asarray(rows) @ inside).tolist())), n


@st.composite
def groupings(draw):
    n = draw(dimensions)
    order = draw(st.permutations(range(n)))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    groups = tuple(
        tuple(i for i, label in zip(order, labels, strict=True) if label == g) for g in range(3)
    )
    weight = draw(st.one_of(weights, st.tuples(weights, weights, weights)))
    return GroupLasso(weight, groups), n


@st.composite
def slopes(draw):
    costs = draw(st.lists(weights, min_size=1, max_size=6))
    return SortedLOne(tuple(sorted(costs, reverse=True))), len(costs)


@st.composite
def nuclears(draw):
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return NuclearNorm(draw(weights), rows, columns), rows * columns


@st.composite
def with_ridges(draw):
    domain, n = draw(st.one_of(*(CASES[k] for k in (Ball, Box, Lasso, MCP, ElasticNet, Simplex))))
    return WithRidge(domain, draw(weights)), n


@st.composite
def products(draw):
    kinds = (Ball, Box, Unbounded, Ridge, SCAD, Simplex, GroupLasso)
    parts = draw(st.lists(st.one_of(*(CASES[k] for k in kinds)), min_size=1, max_size=3))
    return Product(tuple(p for p, _ in parts), tuple(n for _, n in parts)), sum(n for _, n in parts)


CASES: dict[type[Domain], st.SearchStrategy[tuple[Domain, int]]] = {
    Unbounded: anywhere(st.builds(Unbounded)),
    Ball: balls(),
    Box: boxes(),
    LOneBall: anywhere(st.builds(LOneBall, sizes)),
    Simplex: anywhere(st.builds(Simplex, sizes)),
    Diameter: anywhere(st.builds(Diameter, sizes)),
    Orthant: anywhere(st.builds(Orthant)),
    SecondOrderCone: anywhere(st.builds(SecondOrderCone)),
    Halfspace: halfspaces(),
    Affine: affines(),
    PositiveSemidefiniteCone: st.integers(1, 3).map(lambda k: (PositiveSemidefiniteCone(k), k * k)),
    Ridge: anywhere(st.builds(Ridge, weights)),
    Lasso: anywhere(st.builds(Lasso, weights)),
    ElasticNet: anywhere(st.builds(ElasticNet, weights, weights)),
    LTwoNorm: anywhere(st.builds(LTwoNorm, weights)),
    LInfinityNorm: anywhere(st.builds(LInfinityNorm, weights)),
    LogBarrier: anywhere(st.builds(LogBarrier, sizes)),
    GroupLasso: groupings(),
    SortedLOne: slopes(),
    TotalVariation: anywhere(st.builds(TotalVariation, weights)),
    NuclearNorm: nuclears(),
    MCP: anywhere(st.builds(MCP, weights, st.floats(0.2, 8.0))),
    SCAD: anywhere(st.builds(SCAD, weights, st.floats(1.2, 8.0))),
    WithRidge: with_ridges(),
    Product: products(),
    OwnProx: anywhere(st.builds(OwnProx, st.just("mine"), weights)),
}

KINDS = [pytest.param(c, id=c.kind) for c in DOMAINS]
RUNNABLE = [pytest.param(c, id=c.kind) for c in DOMAINS if c not in (Diameter, OwnProx)]
SETS = [pytest.param(c, id=c.kind) for c in DOMAINS if issubclass(c, ConvexSet) and c != Diameter]


@st.composite
def clouds(draw, n: int, count: int):
    """Points that are ordinary, tied, sparse or zero, at several scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cloud = rng.normal(size=(count, n)) * draw(st.sampled_from([1e-3, 1.0, 3.0, 1e3]))
    style = draw(st.sampled_from(["plain", "plain", "tied", "sparse", "zero", "equal"]))
    if style == "tied":
        cloud = np.round(cloud)
    if style == "sparse":
        cloud *= rng.random(cloud.shape) < 0.5
    if style == "zero":
        cloud[: count // 2] = 0.0
    if style == "equal":
        cloud[:] = cloud[:, :1]
    return cloud


@st.composite
def situations(draw, kind: type[Domain], count: int):
    domain, n = draw(CASES[kind])
    return domain, draw(clouds(n, count)), draw(steps)


def test_every_domain_is_registered_once_and_generated_here():
    assert set(CASES) == set(DOMAINS)
    assert len({c.kind for c in DOMAINS}) == len(DOMAINS)
    exported = {getattr(catalogue, name) for name in catalogue.__all__}
    assert set(DOMAINS) <= exported
    assert catalogue.__all__ == sorted(
        catalogue.__all__, key=lambda s: (not s.isupper(), s[0].islower(), s)
    )


@pytest.mark.parametrize("kind", RUNNABLE)
def test_prox_moves_no_two_points_apart_by_more_than_its_constant(kind):
    @FEW
    @given(situations(kind, 12))
    def law(situation):
        domain, cloud, step = situation
        factor = domain.lipschitz(step)
        x, y = cloud[::2], cloud[1::2]
        near = x + 1e-4 * (y - x)  # short pairs find kinks that long ones average away
        for a, b in ((x, y), (x, near)):
            p, q = domain.prox(a, step), domain.prox(b, step)
            moved, apart = np.linalg.norm(p - q, axis=-1), np.linalg.norm(a - b, axis=-1)
            rounding = 1e-13 * (np.abs(a).max() + np.abs(p).max()) * min(factor, 1e9)
            if math.isfinite(factor):
                assert (moved <= factor * apart * (1 + 1e-9) + rounding).all()
                # Co-coercivity, which is stronger: <p - q, a - b> >= |p - q|^2 / factor.
                inner = ((p - q) * (a - b)).sum(axis=-1)
                slack = rounding * (apart + moved) * 4
                assert (inner * (1 + 1e-9) + slack >= moved**2 / factor).all()

    law()


@pytest.mark.parametrize("kind", RUNNABLE)
def test_prox_is_the_minimiser(kind):
    @FEW
    @given(situations(kind, 4), st.integers(0, 2**32 - 1))
    def law(situation, seed):
        domain, cloud, step = situation
        best = domain.prox(cloud, step)
        rng = np.random.default_rng(seed)

        def cost(z):
            return domain.penalty(z) + ((z - cloud) ** 2).sum(axis=-1) / (2 * step)

        least = cost(best)
        assert np.isfinite(least).all()
        size = 1.0 + np.abs(cloud).max()
        rounding = 1e-9 * (1.0 + np.abs(least)) + 1e-11 * size**2 / step
        for scale in (1e-2, 1.0, size):
            away = best + scale * rng.normal(size=cloud.shape)
            back = domain.prox(away, step)
            candidates = [back, (best + back) / 2]
            if not isinstance(domain, ConvexSet | WithRidge | Product):
                # Other points may lie outside a set by less than `penalty` can tell.
                candidates += [away, 0.9 * best, best * (rng.random(cloud.shape) < 0.5)]
            for z in candidates:
                assert (cost(z) >= least - rounding).all()

    law()


@pytest.mark.parametrize("kind", SETS)
def test_projections_stay_where_they_are(kind):
    @FEW
    @given(situations(kind, 6))
    def law(situation):
        domain, cloud, step = situation
        once = domain.prox(cloud, step)
        scale = 1.0 + np.abs(cloud).max()
        np.testing.assert_allclose(domain.prox(once, step), once, rtol=0, atol=1e-12 * scale)
        np.testing.assert_array_equal(domain.prox(cloud, step * 2), once)
        assert (domain.penalty(once) == 0.0).all()

    law()


def excess(domain: Domain, x: np.ndarray) -> float:
    """By how much points break the definition of the set, written out once more."""
    n = x.shape[-1]
    flat = x.reshape(-1, n)
    square = math.isqrt(n)
    rules = {
        Ball: lambda d: np.linalg.norm(flat - np.asarray(d.center or 0.0), axis=1) - d.radius,
        Box: lambda d: np.maximum(np.asarray(d.lower) - flat, flat - np.asarray(d.upper)),
        LOneBall: lambda d: np.abs(flat).sum(axis=1) - d.radius,
        Simplex: lambda d: np.maximum(-flat.min(axis=1), abs(flat.sum(axis=1) - d.total)),
        Orthant: lambda d: -flat,
        SecondOrderCone: lambda d: np.linalg.norm(flat[:, :-1], axis=1) - flat[:, -1],
        Halfspace: lambda d: (flat @ d.normal - d.offset) / np.linalg.norm(d.normal),
        Affine: lambda d: abs(flat @ np.transpose(d.matrix) - d.offset),
        PositiveSemidefiniteCone: lambda d: [
            max(-np.linalg.eigvals(m).real.min(), abs(m - m.T).max())
            for m in flat.reshape(-1, square, square)
        ],
    }
    return float(np.max(rules[type(domain)](domain)))


@pytest.mark.parametrize("kind", SETS)
def test_projections_lie_in_the_set(kind):
    @FEW
    @given(situations(kind, 6), st.sampled_from([np.float64, np.float32]))
    def law(situation, dtype):
        domain, cloud, step = situation
        landed = domain.prox(cloud.astype(dtype), step)
        rounding = 100 * np.finfo(dtype).eps * (10.0 + np.abs(cloud).max())
        assert excess(domain, landed.astype(np.float64)) <= rounding
        assert (domain.penalty(landed) == 0.0).all()

    law()


@pytest.mark.parametrize("kind", SETS)
def test_points_of_the_set_are_at_most_a_diameter_apart(kind):
    @FEW
    @given(situations(kind, 8))
    def law(situation):
        domain, cloud, step = situation
        landed = domain.prox(cloud * 1e3, step)
        gaps = np.linalg.norm(landed[:, None] - landed[None], axis=-1)
        assert gaps.max() <= domain.diameter * (1 + 1e-12)

    law()


def far_apart(domain: Domain, n: int) -> np.ndarray:
    """Two points far out, whose projections should be a diameter apart."""
    axes = 1e6 * np.eye(n)
    if isinstance(domain, Simplex):
        return axes[[0, -1]]
    if isinstance(domain, Box):
        return np.outer([1e6, -1e6], np.ones(n))
    center = getattr(domain, "center", None) or np.zeros(n)
    return np.asarray(center) + np.stack([axes[0], -axes[0]])


@pytest.mark.parametrize("kind", [Ball, Box, LOneBall, Simplex])
def test_the_diameter_is_attained(kind):
    @FEW
    @given(CASES[kind])
    def law(case):
        domain, n = case
        assume(n > 1 or kind is not Simplex)  # in one dimension a simplex is a point
        a, b = domain.prox(far_apart(domain, n), 1.0)
        assert np.linalg.norm(a - b) == pytest.approx(domain.diameter, rel=1e-9)
        assert WithRidge(domain, 0.5).diameter == domain.diameter

    law()


@FEW
@given(boxes())
def test_box_diameter_is_never_rounded_down(case):
    box, n = case
    lower, upper = np.broadcast_to(box.lower, n), np.broadcast_to(box.upper, n)
    sides = [Fraction(u) - Fraction(v) for u, v in zip(upper.tolist(), lower.tolist(), strict=True)]
    assert Fraction(box.diameter) ** 2 >= sum(s * s for s in sides)


@FEW
@given(sizes)
def test_simplex_diameter_is_never_rounded_down(total):
    assert Fraction(Simplex(total).diameter) ** 2 >= 2 * Fraction(total) ** 2


def test_product_diameter_joins_its_parts():
    both = Product((Ball(1.5), Box(0.0, 4.0, dimension=1)), (2, 1))
    assert both.diameter == pytest.approx(5.0, rel=1e-12)
    assert both.diameter >= 5.0
    ends = both.prox(np.array([[9.0, 0.0, 9.0], [-9.0, 0.0, -9.0]]), 1.0)
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(5.0)
    assert Product((Ball(1.5), Unbounded()), (2, 1)).diameter == math.inf


@pytest.mark.parametrize("kind", RUNNABLE)
def test_a_batch_is_its_points_one_by_one(kind):
    @FEW
    @given(situations(kind, 6))
    def law(situation):
        domain, cloud, step = situation
        batch = cloud.reshape(2, 3, -1)
        together = domain.prox(batch, step)
        costs = domain.penalty(batch)
        assert together.shape == batch.shape
        assert costs.shape == batch.shape[:-1]
        atol = 1e-13 * (1 + np.abs(cloud).max())
        for i, j in np.ndindex(2, 3):
            alone = domain.prox(batch[i, j], step)
            np.testing.assert_allclose(together[i, j], alone, rtol=1e-10, atol=atol)
            np.testing.assert_allclose(costs[i, j], domain.penalty(batch[i, j]), rtol=1e-10)
        assert domain.prox(batch[:0], step).shape == batch[:0].shape

    law()


@pytest.mark.parametrize("kind", RUNNABLE)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_is_kept_and_input_is_not_touched(kind, dtype):
    @settings(max_examples=5, deadline=None)
    @given(situations(kind, 4))
    def law(situation):
        domain, cloud, step = situation
        cloud = np.clip(cloud, -1e3, 1e3).astype(dtype)
        before = cloud.copy()
        cloud.flags.writeable = False
        moved = domain.prox(cloud, step)
        assert moved.dtype == dtype
        assert not np.shares_memory(moved, cloud)
        assert moved.flags.writeable
        np.testing.assert_array_equal(cloud, before)
        assert domain.penalty(cloud).dtype == np.float64

    law()


@pytest.mark.parametrize("kind", RUNNABLE)
def test_views_and_whole_numbers_are_points_too(kind):
    @settings(max_examples=5, deadline=None)
    @given(situations(kind, 4))
    def law(situation):
        domain, cloud, step = situation
        padded = np.repeat(cloud, 2, axis=-1)
        close = {"rtol": 1e-10, "atol": 1e-13 * (1 + np.abs(cloud).max())}
        here, there = domain.prox(cloud, step), domain.prox(padded[:, ::2], step)
        np.testing.assert_allclose(there, here, **close)
        whole = np.round(np.clip(cloud, -9, 9))
        counted = domain.prox(whole.astype(np.int64), step)
        assert counted.dtype == np.float64
        np.testing.assert_allclose(counted, domain.prox(whole, step), rtol=1e-10, atol=1e-12)

    law()


@pytest.mark.parametrize("kind", KINDS)
def test_fields_round_trip(kind):
    @FEW
    @given(CASES[kind])
    def law(case):
        domain, _ = case
        written = to_fields(domain)
        assert from_fields(domain.kind, written) == domain
        assert hash(from_fields(domain.kind, written)) == hash(domain)
        assert pickle.loads(pickle.dumps(domain)) == domain
        if fields(domain):
            with pytest.raises(FrozenInstanceError):
                setattr(domain, fields(domain)[0].name, 1.0)

    law()


@pytest.mark.parametrize("kind", KINDS)
def test_the_constant_is_the_exact_one_rounded_up(kind):
    @FEW
    @given(CASES[kind], steps)
    def law(case, step):
        domain, _ = case
        stretch = 1 + Fraction(step) * domain.strong_convexity
        factor = domain.lipschitz(step)
        if stretch <= 0:
            assert factor == math.inf
        else:
            assert Fraction(factor) >= 1 / stretch
            assert Fraction(math.nextafter(factor, 0.0)) < 1 / stretch
        if domain.strong_convexity == 0:
            assert factor == 1.0

    law()


@pytest.mark.parametrize(
    ("domain", "a", "b"),
    [
        (Ridge(0.7), 1.0, 2.0),
        (ElasticNet(0.3, 0.7), 1.0, 2.0),
        (WithRidge(Lasso(0.3), 0.7), 1.0, 2.0),
        (WithRidge(Ball(9.0), 0.7), 1.0, 2.0),
        (WithRidge(ElasticNet(0.3, 0.2), 0.5), 1.0, 2.0),
        (MCP(1.0, 1.5), 0.6, 1.4),
        (SCAD(1.0, 2.5), 1.6, 2.4),
        (WithRidge(MCP(1.0, 1.5), 0.25), 0.6, 1.6),
        (WithRidge(SCAD(1.0, 2.5), 0.25), 1.8, 2.7),
        (Product((Unbounded(), Ridge(2.0)), (1, 1)), 1.0, 2.0),
        (Lasso(0.1), 1.0, 2.0),
    ],
    ids=lambda v: v.kind if isinstance(v, Domain) else None,
)
def test_the_constant_is_attained(domain, a, b):
    step = 0.5
    pair = np.array([[a, 0.0], [b, 0.0]])
    moved = domain.prox(pair, step)
    assert moved[1, 0] - moved[0, 0] == pytest.approx(domain.lipschitz(step) * (b - a), rel=1e-9)


@pytest.mark.parametrize("make", [lambda: MCP(1.0, 1.5), lambda: SCAD(1.0, 2.5)])
def test_weakly_convex_steps_just_below_and_above_the_limit(make):
    domain = make()
    below, above = math.nextafter(1.5, 0.0), math.nextafter(1.5, 2.0)
    assert 1e14 < domain.lipschitz(below) < math.inf
    assert domain.lipschitz(1.5) == math.inf
    assert domain.lipschitz(above) == math.inf
    x = np.linspace(-6.0, 6.0, 1001)[:, None]
    for step in (below, 1.5, above, 100.0):
        moved = domain.prox(x, step)
        assert (np.abs(moved) <= np.abs(x)).all()
        assert (np.diff(moved[:, 0]) >= -1e-12).all()
        np.testing.assert_array_equal(moved, -domain.prox(-x, step))
    # A ridge that outweighs the concave part makes every step safe again.
    assert WithRidge(domain, 1.0).lipschitz(100.0) < 1.0


def test_has_interior_is_known_where_it_matters():
    flat = [
        Simplex(),
        Affine(((1.0, 2.0),), (0.0,)),
        PositiveSemidefiniteCone(2),
        Box((0.0, 1.0), (1.0, 1.0)),
        WithRidge(Simplex(), 1.0),
        Product((Simplex(), Diameter(1.0)), (2, 1)),
    ]
    solid = [Ball(1.0), Box(0.0, 1.0, 3), LOneBall(1.0), Lasso(1.0), PositiveSemidefiniteCone(1)]
    unknown = [Diameter(1.0), Product((Ball(1.0), Diameter(1.0)), (2, 1))]
    assert [d.has_interior for d in flat] == [False] * len(flat)
    assert [d.has_interior for d in solid] == [True] * len(solid)
    assert [d.has_interior for d in unknown] == [None] * len(unknown)


@pytest.mark.parametrize("kind", SETS)
def test_a_set_has_interior_exactly_if_its_points_span_the_space(kind):
    @FEW
    @given(situations(kind, 3))
    def law(situation):
        domain, cloud, step = situation
        n = cloud.shape[-1]
        spread = domain.prox(np.vstack([1e5 * np.eye(n), -1e5 * np.eye(n), cloud]), step)
        singular = np.linalg.svd(spread - spread[0], compute_uv=False)
        spanned = int((singular > 1e-9 * max(singular.max(), 1.0)).sum())
        assert (spanned == n) == domain.has_interior

    law()
