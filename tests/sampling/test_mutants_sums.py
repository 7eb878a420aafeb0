"""Records made ready for samples: no gradient exceeds its bound, and null records are null."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from wane.certificates import certify
from wane.errors import InvalidDescription, Unreachable
from wane.losses import Huber, Logistic, Softmax, Squared
from wane.sampling import (
    GaussianPotential,
    GradientPotential,
    Target,
    calibrated,
    integrator,
    mean_posterior,
    sums,
)
from wane.sampling.posterior_samples import Wish, plan_posterior
from wane.sampling.sums import LinearChainSums, LocationChainSums, MeanChainSums, total_norm
from wane.theorems.gibbs.transfer import exact_draws


def squared_norm(row):
    return sum(Fraction(float(x)) ** 2 for x in row)


LONG = np.array(
    [
        [3.0, 4.0, 0.0],
        [1e300, -1e300, 1e300],
        [1.0, 1.0, 1.0],
        [0.5, 0.5, 0.5],
        [5e-324, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.5, 0.0, 0.0],
    ]
)


@pytest.mark.parametrize("norm", [1.5, 1e-3, 7.0])
@pytest.mark.parametrize("whole", [False, True])
def test_rows_are_scaled_down_to_just_below_their_norm(norm, whole):
    made = sums._shortened(LONG.copy(), norm, whole=whole)
    margin = sums._margin(*LONG.shape, whole=whole)
    assert 0.0 < margin < 1e-8
    for before, row in zip(LONG, made, strict=True):
        length = squared_norm(row)
        limit = Fraction(norm) ** 2 * (1 - Fraction(margin)) ** 2
        assert length <= limit * (1 + Fraction(1, 10**14))
        if squared_norm(before) <= limit:
            assert np.array_equal(row, before)
        else:
            assert length >= limit * (1 - Fraction(1, 10**13))
            place = int(np.argmax(np.abs(before)))
            assert row / row[place] == pytest.approx(before / before[place], rel=1e-12)
    for wrong in (0.0, -1.0):
        with pytest.raises(InvalidDescription):
            sums._shortened(LONG.copy(), wrong)


@pytest.mark.parametrize(("records", "columns"), [(1, 1), (1000, 20), (10**6, 5)])
def test_margins_cover_the_roundings_of_a_sum(records, columns):
    """2.5 n (terms + 32) and what a row needs, in units of 2^-53; terms of a block and blocks."""
    unit, terms = Fraction(1, 2**53), 1024 + Fraction(records, 256)
    for whole, count in ((False, terms), (True, max(terms, records))):
        wanted = (Fraction(5, 2) * records * (count + 32) + columns + 128) * unit
        found = Fraction(sums._margin(records, columns, whole=whole))
        assert abs(found - wanted) <= wanted * Fraction(1, 10**14)


def test_the_norm_with_an_intercept_is_rounded_up():
    assert total_norm(1.5, 0.0) == 1.5
    rng = np.random.default_rng(1)
    for first, second in (10.0 ** rng.uniform(-3, 3, (200, 2))).tolist():
        exact = Fraction(first) ** 2 + Fraction(second) ** 2
        found = Fraction(total_norm(first, second)) ** 2
        assert exact <= found <= exact * (1 + Fraction(1, 10**14))


BAD = np.array([[0.3, 0.2], [np.nan, 1.0], [np.inf, 1.0], [0.1, -0.4]])


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: LocationChainSums(rows, norm=1.0, width=0.25),
        lambda rows: MeanChainSums(rows, norm=1.0),
        lambda rows: LinearChainSums(rows, np.ones(len(rows)), Logistic(), feature_norm=1.0),
        lambda rows: LinearChainSums(
            rows, np.ones(len(rows)), Logistic(), feature_norm=1.0, intercept=0.5
        ),
    ],
)
def test_rows_with_a_number_that_is_none_count_as_nothing(make):
    made, rest = make(BAD), make(BAD[[0, 3]])
    x = np.array([[0.5, -0.25, 0.125][: made.shape[1]]])
    assert made.records == 4 and rest.records == 2
    assert made(x, slice(0, 4)) == pytest.approx(rest(x, slice(0, 2)), rel=1e-9)
    assert made(x, slice(1, 3)) == pytest.approx(np.zeros_like(x), abs=0.0)
    assert made(x, np.array([3, 1])) == pytest.approx(rest(x, np.array([1])), rel=1e-9)


def test_targets_without_a_meaning_count_as_nothing():
    rows, labels = np.array([[0.5, 0.25], [0.25, 0.5]]), np.array([1.0, 0.5])
    made = LinearChainSums(rows, labels, Logistic(), feature_norm=1.0, intercept=0.5)
    x = np.array([[1.0, -1.0, 0.5]])
    assert np.array_equal(made(x, np.array([1])), np.zeros((1, 3)))
    assert np.abs(made(x, np.array([0]))).min() > 0.0


@pytest.mark.parametrize("chains", [1, 3])
def test_location_sums_are_those_of_the_clipped_distances(chains):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(9, 3)) * 0.2
    made = LocationChainSums(rows, norm=5.0, width=0.5).with_chains(chains)
    x = rng.normal(size=(chains, 3))
    for part in (slice(0, 9), slice(2, 5), np.array([1, 4, 4])):
        apart = x[:, None, :] - rows[part][None]
        lengths = np.linalg.norm(apart, axis=2, keepdims=True)
        exact = (apart * np.minimum(1.0, 0.5 / lengths)).sum(axis=1)
        assert made(x, part) == pytest.approx(exact, rel=1e-9)
    one = made(rows[:1].repeat(chains, axis=0), np.array([0]))
    assert np.array_equal(one, np.zeros((chains, 3)))
    far = made(np.full((chains, 3), 1e6), np.array([0]))
    assert np.all([squared_norm(row) <= Fraction(1, 4) for row in far])


@pytest.mark.parametrize(
    ("link", "labels"),
    [
        (Logistic(), [1.0, -1.0]),
        (Softmax(3), [0.0, 2.0]),
        (Huber(0.5), [0.5, -1.0]),
        (Squared(), [0.5, -1.0]),
    ],
)
@pytest.mark.parametrize("chains", [1, 2, 70])
def test_blocks_add_up_to_the_whole(monkeypatch, link, labels, chains):
    monkeypatch.setattr(sums, "_LONG_BLOCK", 4)
    monkeypatch.setattr(sums, "_SHORT_BLOCK", 3)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(11, 2)) * 0.3
    made = LinearChainSums(rows, np.resize(labels, 11), link, feature_norm=2.0, intercept=0.5)
    made = made.with_chains(chains)
    assert made.shape == (chains, *made.single_shape)
    x = rng.normal(size=made.shape)
    whole = made(x, slice(0, 11))
    singles = sum(made(x, np.array([i])) for i in range(11))
    assert whole == pytest.approx(singles, rel=1e-9, abs=1e-12)
    apart = np.concatenate([made.with_chains(1)(x[i : i + 1], slice(0, 11)) for i in range(chains)])
    assert whole == pytest.approx(apart, rel=1e-9, abs=1e-12)
    with pytest.raises(InvalidDescription):
        made.with_chains(0)


def test_bounds_of_several_chains_grow_with_their_root():
    made = LinearChainSums(np.eye(3), np.ones(3), Logistic(), feature_norm=1.0)
    for chains in (1, 4, 9):
        found = made.with_chains(chains)
        assert found.gradient_bound == pytest.approx(math.sqrt(chains), rel=1e-9)
        assert found.gradient_bound >= math.sqrt(chains)
        assert found.objective.gradient_bound == found.gradient_bound
    free = LinearChainSums(np.eye(3), np.ones(3), Squared(), feature_norm=1.0)
    assert free.gradient_bound == math.inf and free.objective.gradient_bound is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: MeanChainSums(np.ones(3), norm=1.0),
        lambda: MeanChainSums(np.ones((0, 3)), norm=1.0),
        lambda: MeanChainSums(np.ones((3, 0)), norm=1.0),
        lambda: LinearChainSums(np.eye(3), np.ones(2), Logistic(), feature_norm=1.0),
        lambda: LinearChainSums(np.eye(3), np.ones(3), Logistic(), feature_norm=0.0),
        lambda: LinearChainSums(
            np.eye(3), np.ones(3), Logistic(), feature_norm=1.0, intercept=-0.5
        ),
        lambda: GaussianPotential(1.0, []),
        lambda: GaussianPotential(1.0, [[0.0]]),
        lambda: GaussianPotential(1.0, [math.nan]),
        lambda: GaussianPotential([1.0, 2.0, 3.0], [0.0, 0.0]),
        lambda: GaussianPotential(0.0, [0.0]),
        lambda: GaussianPotential([1.0, -1.0], [0.0, 0.0]),
        lambda: GaussianPotential(math.inf, [0.0]),
        lambda: GaussianPotential([[1.0, 0.5], [0.25, 1.0]], [0.0, 0.0]),
        lambda: GaussianPotential([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0]),
        lambda: GradientPotential(3.0, Target(1.0, 2.0, 1)),
        lambda: GradientPotential(lambda x: x, 3.0),
        lambda: GradientPotential(lambda x: x[:1], Target(1.0, 2.0, 1)).gradient(np.ones((2, 1))),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(InvalidDescription):
        call()


def test_constants_of_normal_laws_hold_for_the_true_matrix():
    precision = np.array([[2.0, 0.5], [0.5, 1.0]])
    made = GaussianPotential(precision, [1.0, -1.0])
    root = math.sqrt(0.25 + 0.25)
    for found, exact, side in (
        (made.target.strong_convexity, 1.5 - root, -1),
        (made.target.smoothness, 1.5 + root, 1),
    ):
        assert found == pytest.approx(exact, rel=1e-12) and (found - exact) * side > 0.0
    assert made.gradient(np.array([[2.0, 1.0]])).tolist() == [[3.0, 2.5]]
    many = GaussianPotential([2.0, 3.0], [1.0, -1.0])
    assert (many.target.strong_convexity, many.target.smoothness) == (2.0, 3.0)
    assert many.gradient(np.array([[2.0, 1.0]])).tolist() == [[2.0, 6.0]]
    assert many.target.laplacian_lipschitz == 0.0 and many.target.dimension == 2


def test_long_tables_round_more_in_one_go():
    rows = np.full((3000, 1), 2.0)
    plain, whole = sums._shortened(rows.copy(), 1.0), sums._shortened(rows.copy(), 1.0, whole=True)
    assert whole[0, 0] < plain[0, 0] < 1.0
    assert plain[0, 0] == pytest.approx(1.0 - sums._margin(3000, 1), rel=1e-15)


@pytest.mark.parametrize("h", [1e-6, 0.01, 0.1, 0.25, 0.2999, 0.3, 0.5])
def test_series_of_the_exact_step_keep_all_digits(h):
    """At the change from one formula to the other too."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    for found, exact in (
        (integrator._tanh_gap(h), h - 2 * mp.tanh(mp.mpf(h) / 2)),
        (integrator._lag(h), h - (1 - mp.exp(-mp.mpf(h)))),
    ):
        assert abs(found / exact - 1) <= mp.mpf("3e-14" if h >= 0.3 else "1.5e-15")


def posterior(**changes):
    return mean_posterior(
        np.full((50, 2), 0.25), norm=1.0, prior_precision=0.5, **changes
    ).posterior


def test_plans_with_given_steps_are_asked_what_they_cost():
    wish = Wish(epsilon=1.0, delta=1e-5, step_size=0.01, steps=7, coldest=0.0, samples=2)
    run = plan_posterior(posterior(), wish)
    assert (run.step_size, run.steps, run.samples) == (0.01, 7, 2)
    assert certify(run).epsilon(1e-5) <= 1.0
    warm = plan_posterior(posterior(), replace(wish, temperature=1e4))
    assert warm.posterior.temperature == 1e4
    with pytest.raises(Unreachable, match="raise temperature"):
        plan_posterior(posterior(), replace(wish, temperature=1e-4))
    for wrong in ({"epsilon": -0.5}, {"delta": 0.0}, {"delta": 1.5}, {"coldest": -0.5}):
        with pytest.raises(InvalidDescription):
            plan_posterior(posterior(), replace(wish, **wrong))


def test_temperatures_are_the_lowest_that_meet_the_promise():
    for samples in (1, 3):
        found = calibrated(posterior(), epsilon=1.0, delta=1e-5, samples=samples, coldest=0.0)
        assert exact_draws(found, samples=samples).epsilon(1e-5) <= 1.0
        colder = replace(found, temperature=found.temperature * (1 - 1e-6))
        assert exact_draws(colder, samples=samples).epsilon(1e-5) > 1.0
    assert calibrated(posterior(), epsilon=1.0, delta=1e-5, coldest=1e6).temperature == 1e6
