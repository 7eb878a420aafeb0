"""Built-in posteriors: gradients are those of the losses, and the declared constants hold."""

import math

import numpy as np
import pytest

from wane.describe import Adjacency, LossForm, Objective
from wane.errors import InvalidDescription
from wane.losses import Huber, Logistic, Softmax, SoftmaxEnvelope, Squared
from wane.sampling import (
    LogCosh,
    Losses,
    Posterior,
    calibrated,
    linear_posterior,
    location_posterior,
    mean_posterior,
)
from wane.sampling.sums import LinearChainSums
from wane.theorems.gibbs.transfer import exact_draws

ROWS, COLUMNS = 40, 3
RNG = np.random.default_rng(5)
X = RNG.standard_normal((ROWS, COLUMNS))
TARGETS = {
    "sign": np.sign(RNG.standard_normal(ROWS)),
    "class": RNG.integers(0, 3, ROWS),
    "number": RNG.uniform(-1.0, 1.0, ROWS),
}
LINKS = [
    (Logistic(), "sign"),
    (Softmax(3), "class"),
    (Huber(0.4), "number"),
    (LogCosh(0.4), "number"),
    (Squared(), "number"),
]


def linear(link, kind, **settings):
    given = {"feature_norm": 1.5, "prior_precision": 2.0, "intercept": 0.7, "target_bound": 1.0}
    return linear_posterior(X, TARGETS[kind], link, **given | settings)


def height(potential, link, kind):
    """F, computed from the losses themselves."""
    rows = potential.sums._rows

    def at(x):
        margins = rows @ x.reshape(potential.sums.single_shape)
        loss = link.losses(margins, np.asarray(TARGETS[kind], dtype=float))
        return loss.mean() + 0.5 * potential.posterior.ridge * x @ x

    return at


def slope(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def hessian(gradient, x, h=1e-5):
    return np.array([(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize(("link", "kind"), LINKS, ids=lambda v: type(v).__name__)
def test_gradients_for_many_chains(link, kind):
    potential = linear(link, kind, temperature=3.0)
    states = RNG.standard_normal((6, potential.target.dimension))
    f = height(potential, link, kind)
    expected = np.stack([slope(f, x) for x in states])
    np.testing.assert_allclose(potential.gradient(states), expected, atol=1e-7)


@pytest.mark.parametrize(("link", "kind"), LINKS, ids=lambda v: type(v).__name__)
def test_declared_constants_hold(link, kind):
    """Curvature, the Laplacian's slope, and the start's distance, at points all over the place."""
    potential = linear(link, kind)
    target, d = potential.target, potential.target.dimension

    def gradient(x):
        return potential.gradient(x[None])[0]

    for scale in (0.1, 1.0, 5.0):
        for _ in range(10):
            x = scale * RNG.standard_normal(d)
            ends = np.linalg.eigvalsh(hessian(gradient, x))
            assert target.strong_convexity - 1e-6 <= ends[0]
            assert ends[-1] <= target.smoothness + 1e-6
            if target.laplacian_lipschitz is not None:
                step = 1e-3 * RNG.standard_normal(d)
                rise = np.trace(hessian(gradient, x + step)) - np.trace(hessian(gradient, x))
                assert abs(rise) <= target.laplacian_lipschitz * np.linalg.norm(step) + 1e-6
    x = np.zeros(d)
    for _ in range(400):
        x = x - gradient(x) / target.smoothness
    assert np.linalg.norm(x) <= potential.posterior.start.distance


@pytest.mark.parametrize(("link", "kind"), LINKS[:4], ids=lambda v: type(v).__name__)
def test_no_record_moves_the_sum_by_more_than_its_bound(link, kind):
    potential = linear(link, kind)
    sums = potential.sums
    for scale in (0.1, 10.0, 1e6):
        x = scale * RNG.standard_normal((4, *sums.single_shape))
        for row in range(5):
            alone = sums(x, np.array([row]))
            lengths = np.linalg.norm(alone.reshape(4, -1), axis=1)
            assert np.all(lengths <= sums.gradient_bound)
            stacked = sums.with_chains(4)
            assert np.linalg.norm(alone) <= stacked.gradient_bound


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_records_that_mean_nothing_are_null_records(bad):
    broken, labels = X.copy(), TARGETS["sign"].copy()
    broken[3, 1] = bad
    labels[7] = 0.5
    sums = LinearChainSums(broken, labels, Logistic(), feature_norm=1.0, intercept=1.0)
    x = RNG.standard_normal((2, COLUMNS + 1))
    assert np.all(sums(x, np.array([3, 7])) == 0.0)
    assert np.all(np.isfinite(sums(x, slice(0, ROWS))))


def test_huge_rows_are_scaled_down():
    huge = X.copy()
    huge[0] = 1e300
    sums = LinearChainSums(huge, TARGETS["sign"], Logistic(), feature_norm=1.0)
    assert np.linalg.norm(sums(np.zeros((1, COLUMNS)), np.array([0]))) == pytest.approx(0.5)


def test_sparse_tables_give_the_same_sums():
    rng = np.random.default_rng(2)
    rows = np.eye(12)[rng.integers(0, 12, 3000)] * rng.uniform(0.5, 1.0, (3000, 1))
    labels = np.sign(rng.standard_normal(3000))
    sums = LinearChainSums(rows, labels, Logistic(), feature_norm=1.0)
    assert sums._sparse is not None
    x = rng.standard_normal((3, 12))
    sparse = sums(x, slice(0, 3000))
    dense = sums(x, slice(0, 1500)) + sums(x, np.arange(1500, 3000))
    np.testing.assert_allclose(sparse, dense, rtol=1e-9)


def test_the_mean():
    potential = mean_posterior(X, norm=1.0, prior_precision=2.0, temperature=0.5)
    rows = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    x = RNG.standard_normal((3, COLUMNS))
    ridge = 2.0 * 0.5 / ROWS
    expected = x - rows.mean(axis=0) + ridge * x
    np.testing.assert_allclose(potential.gradient(x), expected, atol=1e-9)
    assert potential.target.condition_number == pytest.approx(1.0)


def test_the_robust_centre():
    potential = location_posterior(X, norm=2.0, width=0.5, prior_precision=1.0)
    rows = potential.sums._rows

    def f(x):
        apart = np.linalg.norm(x - rows, axis=1)
        near = np.minimum(apart, 0.5)
        return (near * (apart - near / 2)).mean() + 0.5 * potential.posterior.ridge * x @ x

    states = RNG.standard_normal((3, COLUMNS))
    expected = np.stack([slope(f, x) for x in states])
    np.testing.assert_allclose(potential.gradient(states), expected, atol=1e-7)


def test_several_samples_are_one_descent():
    posterior = linear(Logistic(), "sign").posterior
    one, four = (posterior.descent(0.5, 10, samples=k) for k in (1, 4))
    assert four.objective.gradient_bound == pytest.approx(2.0 * one.objective.gradient_bound)
    assert four.objective.smoothness == one.objective.smoothness
    assert one.noise == four.noise


def test_calibration_is_private_and_no_warmer_than_needed():
    posterior = linear(Logistic(), "sign").posterior
    for samples in (1, 5):
        found = calibrated(posterior, epsilon=0.7, delta=1e-5, samples=samples, coldest=0.0)
        spent = exact_draws(found, samples=samples).epsilon(1e-5)
        assert 0.7 * (1.0 - 1e-6) < spent <= 0.7
    assert calibrated(posterior, epsilon=50.0, delta=1e-5).temperature == 1.0
    mean = mean_posterior(X, norm=1.0).posterior
    found = calibrated(mean, epsilon=0.7, delta=1e-5, coldest=0.0)
    assert 0.7 * (1.0 - 1e-6) < exact_draws(found).epsilon(1e-5) <= 0.7


def test_what_cannot_be_a_posterior_is_refused():
    smooth = {"gradient_bound": 1.0, "smoothness": 1.0, "strong_convexity": 0.0}
    with pytest.raises(InvalidDescription, match="clipped"):
        Losses(objective=Objective(**smooth, clipped=True, form=LossForm.GLM), dimension=2)
    with pytest.raises(InvalidDescription, match="ridged"):
        Losses(objective=Objective(**smooth, ridge=1.0), dimension=2)
    for name in ("smoothness", "strong_convexity"):
        with pytest.raises(InvalidDescription, match=name):
            Losses(objective=Objective(**smooth | {name: None}), dimension=2)
    losses = Losses(objective=Objective(**smooth), dimension=2)
    with pytest.raises(InvalidDescription, match="prior_precision"):
        Posterior(losses=losses, records=10, prior_precision=0.0)
    unbounded = linear(Squared(), "number").posterior
    with pytest.raises(InvalidDescription, match="gradient_bound"):
        calibrated(unbounded, epsilon=1.0, delta=1e-5)
    with pytest.raises(InvalidDescription, match="link"):
        linear(SoftmaxEnvelope(3), "class")
    with pytest.raises(InvalidDescription, match="one entry for each"):
        linear_posterior(X, TARGETS["sign"][:-1], Logistic(), feature_norm=1.0, prior_precision=1.0)


def test_neighbours_of_a_curved_loss_bend_less():
    objective = Objective(smoothness=2.0, strong_convexity=1.0)
    losses = Losses(objective=objective, dimension=1)
    kinds = {
        a: Posterior(losses=losses, records=10, prior_precision=0.0, adjacency=a)
        for a in (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)
    }
    assert kinds[Adjacency.REPLACE_ONE].target.strong_convexity == pytest.approx(1.0)
    assert kinds[Adjacency.ZERO_OUT].target.strong_convexity == pytest.approx(0.9)
