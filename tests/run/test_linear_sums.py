"""Gradient sums of linear models: right, bounded in floating point, lean and repeatable."""

import tracemalloc

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.run import LinearSums, linear, links

BOUND = 0.3
CASES = (
    (links.Logistic(), BOUND),
    (links.Logistic(), None),
    (links.Squared(), BOUND),
    (links.Huber(0.7), BOUND),
    (links.SmoothedHinge(0.5), BOUND),
    (links.Quantile(0.3, 0.2), BOUND),
    (links.PoissonCounts(5.0), BOUND),
    (links.Softmax(3), None),
    (links.SoftmaxClamp(3), BOUND),
    (links.SoftmaxEnvelope(3), BOUND),
    (links.OneVsRest(3), BOUND),
    (links.MultiSquared(3), BOUND),
)
ids = [f"{link!r}-{bound}" for link, bound in CASES]


def targets_for(link, rng, n):
    if isinstance(link, links.Logistic | links.SmoothedHinge):
        return rng.choice([-1.0, 1.0], n)
    if isinstance(link, links.MultiSquared):
        return rng.normal(size=(n, link.outputs))
    if isinstance(link, links.PoissonCounts):
        return rng.integers(0, 6, n).astype(float)
    return rng.integers(0, 3, n).astype(float) if link.outputs > 1 else rng.normal(size=n)


def by_hand(features, targets, link, x, *, norm, bound, intercept):
    """One record at a time, from the definition."""
    total = np.zeros(x.shape)
    rows = np.hstack([features.astype(np.float64), np.full((len(features), 1), intercept)])
    rows = rows if intercept else rows[:, :-1]
    for row, y in zip(rows, targets, strict=True):
        a = row * min(1.0, norm / np.linalg.norm(row))
        cap = np.array([bound / np.linalg.norm(a)])
        r = link.residuals(
            np.atleast_1d(a @ x)[None] if x.ndim == 2 else np.array([a @ x]), np.array([y]), cap
        )[0]
        total += np.multiply.outer(a, r)
    return total


@pytest.mark.parametrize(("link", "bound"), CASES, ids=ids)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_sums_are_those_of_the_definition(link, bound, dtype, intercept, monkeypatch):
    monkeypatch.setattr(linear, "BLOCK_BYTES", 0)  # blocks of FEWEST_ROWS
    rng = np.random.default_rng(0)
    features = rng.normal(scale=0.6, size=(100, 4)).astype(dtype)
    targets = targets_for(link, rng, 100)
    sums = LinearSums(
        features, targets, link, feature_norm=1.0, gradient_bound=bound, intercept=intercept
    )
    x = rng.normal(size=sums.shape)
    want = {"norm": 1.0, "bound": sums.gradient_bound, "intercept": intercept}
    for rows in (slice(0, 100), slice(13, 77), np.array([5, 3, 98, 41]), np.array([], dtype=int)):
        exact = by_hand(features[rows], targets[rows], link, x, **want)
        np.testing.assert_allclose(sums(x, rows), exact, atol=1e-9)
    assert sums.rounding(float(np.linalg.norm(x))) < 1e-7


@pytest.mark.parametrize("layout", ["fortran", "integers", "strided"])
def test_other_layouts_are_copied(layout):
    rng = np.random.default_rng(0)
    plain = rng.integers(-3, 4, (50, 6)).astype(float)
    made = {
        "fortran": np.asfortranarray(plain),
        "integers": plain.astype(int),
        "strided": np.repeat(plain, 2, axis=1)[:, ::2],
    }[layout]
    y, x = rng.choice([-1.0, 1.0], 50), rng.normal(size=6)
    sums = [LinearSums(f, y, links.Logistic(), feature_norm=1.0) for f in (plain, made)]
    np.testing.assert_array_equal(sums[0](x, slice(0, 50)), sums[1](x, slice(0, 50)))


NASTY = (0.0, -0.0, 1e-320, 1e-200, 1e-30, 1.0, -1.0, 1e5, 1e30, -1e30, np.nan, np.inf, -np.inf)
HUGE = (1e150, -1e300)


def nasty_rows(rng, n, dtype):
    pool = np.array(NASTY if dtype == np.float32 else NASTY + HUGE)
    rows = rng.choice(pool, (n, 5)) * rng.choice([1.0, 0.37], (n, 5))
    tame = rng.random(n) < 0.6
    rows[tame] = np.nan_to_num(rng.normal(size=(tame.sum(), 5)) * 10.0 ** rng.uniform(-4, 4))
    with np.errstate(over="ignore", under="ignore"):
        return rows.astype(dtype)


def nasty_targets(link, rng, n):
    targets = targets_for(link, rng, n)
    spoiled = rng.random(n) < 0.1
    bad = rng.choice([np.nan, np.inf, -7.0, 1e300, 0.5], n)
    targets[spoiled] = bad[spoiled] if targets.ndim == 1 else bad[spoiled][:, None]
    return targets


@pytest.mark.parametrize(("link", "bound"), CASES, ids=ids)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_move_the_sum_by_no_more_than_declared(link, bound, dtype):
    """500 adversarial pairs for each link and dtype, 12,000 in all, at wild parameters."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        features, targets = nasty_rows(rng, 60, dtype), nasty_targets(link, rng, 60)
        make = {"link": link, "feature_norm": 1.7, "gradient_bound": bound, "intercept": 0.3}
        sums = LinearSums(features, targets, **make)
        x = rng.normal(size=sums.shape) * 10.0 ** rng.uniform(-3, 5)
        here = sums(x, slice(0, 60))
        assert np.isfinite(here).all()
        for _ in range(10):
            place = rng.integers(60)
            other_features, other_targets = features.copy(), targets.copy()
            other_features[place] = nasty_rows(rng, 1, dtype)[0]
            other_targets[place] = nasty_targets(link, rng, 1)[0]
            there = LinearSums(other_features, other_targets, **make)(x, slice(0, 60))
            assert np.linalg.norm(here - there) <= 2.0 * sums.gradient_bound
            other_features[place] = np.nan  # the zero record
            without = LinearSums(other_features, other_targets, **make)(x, slice(0, 60))
            assert np.linalg.norm(here - without) <= sums.gradient_bound


@pytest.mark.parametrize(("link", "bound"), CASES, ids=ids)
def test_one_record_never_exceeds_the_bound(link, bound):
    """Records that meet norm and cap exactly, where rounding decides."""
    rng = np.random.default_rng(11)
    features = rng.normal(size=(400, 7)).astype(np.float32) * 100
    targets = targets_for(link, rng, 400)
    sums = LinearSums(features, targets, link, feature_norm=0.9, gradient_bound=bound)
    x = rng.normal(size=sums.shape) * 1e4
    norms = [np.linalg.norm(sums(x, slice(i, i + 1))) for i in range(400)]
    assert max(norms) <= sums.gradient_bound
    assert max(norms) > 0.9 * sums.gradient_bound


def test_steps_on_the_computed_sums_do_not_expand():
    """x - eta g(x) with eta = 2/M keeps distances, up to the stated rounding."""
    rng = np.random.default_rng(5)
    for link, bound in CASES:
        n = 40
        sums = LinearSums(
            rng.normal(size=(n, 3)), targets_for(link, rng, n), link,
            feature_norm=1.0, gradient_bound=bound,
        )  # fmt: skip
        eta = 2.0 / sums.objective.smoothness / n
        for scale in (1e-6, 1e-2, 1.0, 10.0):
            x = rng.normal(size=sums.shape) * 3
            y = x + rng.normal(size=sums.shape) * scale
            moved = x - y - eta * (sums(x, slice(0, n)) - sums(y, slice(0, n)))
            slack = 2 * eta * sums.rounding(float(np.linalg.norm(x) + np.linalg.norm(y)))
            assert np.linalg.norm(moved) <= np.linalg.norm(x - y) * (1 + 1e-12) + slack


def test_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60_000, 20)).astype(np.float32)
    y, x = rng.choice([-1.0, 1.0], 60_000), rng.normal(size=20)
    sums = LinearSums(features, y, links.Logistic(), feature_norm=1.0)
    assert len(sums._lanes(slice(0, 60_000))) > 1
    first = sums(x, slice(0, 60_000))
    for _ in range(5):
        np.testing.assert_array_equal(sums(x, slice(0, 60_000)), first)
    monkeypatch.setattr(linear.os, "cpu_count", lambda: 1)
    np.testing.assert_array_equal(sums(x, slice(0, 60_000)), first)
    gathered = sums(x, np.arange(60_000))
    np.testing.assert_array_equal(gathered, first)


def test_single_and_double_storage_agree():
    rng = np.random.default_rng(0)
    stored = rng.normal(size=(5000, 12)).astype(np.float32)
    y, x = rng.choice([-1.0, 1.0], 5000), rng.normal(size=12)
    make = {"link": links.Logistic(), "feature_norm": 1.0, "gradient_bound": 0.2}
    single, double = (LinearSums(f, y, **make) for f in (stored, stored.astype(np.float64)))
    np.testing.assert_array_equal(single(x, slice(0, 5000)), double(x, slice(0, 5000)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_stays_within_a_few_blocks(dtype):
    n, d, K = 200_000, 30, 5
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, d)).astype(dtype)
    labels = rng.integers(0, K, n)
    sums = LinearSums(features, labels, links.SoftmaxEnvelope(K), feature_norm=1.0,
                      gradient_bound=0.3)  # fmt: skip
    x = rng.normal(size=(d, K))
    sums(x, slice(0, n))
    tracemalloc.start()
    sums(x, slice(0, n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # each lane holds a block and its margins in a dozen copies, K/d as wide as the block
    assert peak < linear.LANES * linear.BLOCK_BYTES * (1 + 24 * K / d)
    assert peak < features.nbytes


def test_wild_parameters_give_finite_sums():
    rng = np.random.default_rng(0)
    sums = LinearSums(rng.normal(size=(9, 3)), np.ones(9), links.PoissonCounts(3.0),
                      feature_norm=1.0, gradient_bound=1.0)  # fmt: skip
    for value in (np.nan, np.inf, 1e300, 1e139, -1e139):
        assert np.isfinite(sums(np.full(3, value), slice(0, 9))).all()


def test_refusals_are_about_shapes_and_bounds_only():
    y = np.ones(3)
    make = {"link": links.Logistic(), "feature_norm": 1.0}
    with pytest.raises(InvalidDescription, match="features"):
        LinearSums(np.ones(3), y, **make)
    with pytest.raises(InvalidDescription, match="targets"):
        LinearSums(np.ones((2, 2)), y, **make)
    with pytest.raises(InvalidDescription, match="feature_norm"):
        LinearSums(np.ones((3, 2)), y, links.Logistic(), feature_norm=0.0)
    with pytest.raises(InvalidDescription, match="gradient_bound"):
        LinearSums(np.ones((3, 2)), y, links.Softmax(2), feature_norm=1.0, gradient_bound=1.0)


def test_targets_may_come_as_a_column():
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(6, 2)), np.arange(6.0)
    flat, column = (
        LinearSums(features, given, links.Squared(), feature_norm=1.0, gradient_bound=1.0)
        for given in (targets, targets[:, None])
    )
    everything = slice(0, 6)
    np.testing.assert_array_equal(flat(np.ones(2), everything), column(np.ones(2), everything))
