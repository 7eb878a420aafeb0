"""Chains run as described: their law is the exact one, and what was not declared is refused."""

import math

import numpy as np
import pytest

from wane.audit import langevin_law as law
from wane.describe.domains import Ball, Box, Simplex
from wane.errors import InvalidDescription
from wane.losses import Logistic
from wane.run import descend, seeded_generator_voids_privacy, to_grid
from wane.sampling import (
    GaussianPotential,
    GradientPotential,
    NormalStart,
    Overdamped,
    OverdampedRun,
    PointStart,
    Projected,
    Target,
    Underdamped,
    UnderdampedRun,
    draw,
    linear_posterior,
    simulate,
)
from wane.sampling.posterior_samples import kinetic_grid

CHAINS = 40_000


def seeded(seed=0):
    return seeded_generator_voids_privacy(seed)


def assert_normal(draws, mean, covariance):
    """Means and covariances within five standard errors."""
    n = len(draws)
    gap = draws.mean(axis=0) - mean
    assert np.all(np.abs(gap) < 5.0 * np.sqrt(np.diag(covariance) / n))
    found = np.cov(draws.T).reshape(covariance.shape)
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2)
    assert np.all(np.abs(found - covariance) < 5.0 * spread / math.sqrt(n))


def test_overdamped_on_a_gaussian():
    A, mean = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0])
    potential = GaussianPotential(A, mean)
    chain = Overdamped(potential.target, 0.2, 7, NormalStart(0.3), temperature=0.5)
    x = simulate(chain, potential, generator=seeded(), chains=CHAINS, centre=[3.0, 0.0])
    M = np.eye(2) - 0.2 * A
    exact_mean, covariance = np.array([3.0, 0.0]), 0.3 * np.eye(2)
    for _ in range(7):
        exact_mean = mean + M @ (exact_mean - mean)
        covariance = M @ covariance @ M.T + 2 * 0.2 * 0.5 * np.eye(2)
    assert_normal(x, exact_mean, covariance)


def test_underdamped_on_a_gaussian():
    potential = GaussianPotential([4.0], [0.0])
    chain = Underdamped(potential.target, 0.05, 60, friction=2.3, start=NormalStart(0.25))
    x = simulate(chain, potential, generator=seeded(1), chains=CHAINS)
    step = law.frozen_gradient_step(4.0, friction=2.3, velocity_variance=1.0, step_size=0.05)
    covariance = law.kinetic_covariance(step, 60, (0.25, 1.0))
    assert_normal(x, np.zeros(1), np.asarray(covariance)[:1, :1])


@pytest.mark.parametrize("domain", [Ball(0.5), Box(-0.3, 0.4, 3), Simplex(1.0)])
def test_projected_chains_stay_inside(domain):
    potential = GaussianPotential(1.0, np.zeros(3))
    chain = Projected(Overdamped(potential.target, 0.3, 5), domain)
    x = simulate(chain, potential, generator=seeded(2), chains=200)
    assert x.shape == (200, 3)
    assert np.all(domain.penalty(x) == 0.0)
    assert np.std(x) > 0.05


def test_a_projection_that_never_acts_changes_nothing():
    potential = GaussianPotential(1.0, np.zeros(2))
    chain = Overdamped(potential.target, 0.3, 20)
    free = simulate(chain, potential, generator=seeded(3), chains=5)
    wide = simulate(Projected(chain, Ball(1e6)), potential, generator=seeded(3), chains=5)
    np.testing.assert_allclose(free, wide, rtol=1e-12)


def test_progress_tells_steps_only():
    potential = GaussianPotential(1.0, np.zeros(2))
    told = []
    simulate(
        Overdamped(potential.target, 0.3, 4), potential, generator=seeded(), progress=told.append
    )
    assert told == [1, 2, 3, 4]


def posterior(records=60):
    rng = np.random.default_rng(0)
    return linear_posterior(
        rng.standard_normal((records, 3)),
        np.sign(rng.standard_normal(records)),
        Logistic(),
        feature_norm=1.0,
        prior_precision=5.0,
    )


def test_the_descent_that_is_certified_is_the_chain(monkeypatch):
    monkeypatch.setattr("wane.run.safeguards.FINER", 50)  # lost in the tolerance
    potential = posterior()
    run = OverdampedRun(posterior=potential.posterior, step_size=0.4, steps=50, samples=7)
    by_descent = descend(run.descent, potential.sums.with_chains(7), generator=seeded(4))
    by_chain = simulate(run.chain, potential, generator=seeded(4), chains=7)
    np.testing.assert_allclose(by_descent, by_chain, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(draw(run, potential.sums, generator=seeded(4)), by_descent)


def test_underdamped_draws():
    potential = posterior()
    run = UnderdampedRun(
        posterior=potential.posterior, step_size=0.1, steps=20, samples=3, friction=1.5
    )
    x = draw(run, potential.sums, generator=seeded(5))
    again = simulate(run.chain, potential, generator=seeded(5), chains=3)
    assert x.shape == (3, 3)
    np.testing.assert_array_equal(x, to_grid(again, kinetic_grid(run.chain)))
    assert 1e-4 < np.abs(x - again).max() * 1024 < 1.0


def test_undeclared_constants_are_refused():
    with pytest.raises(InvalidDescription, match="smoothness"):
        Target(strong_convexity=1.0, smoothness=None, dimension=2)
    with pytest.raises(InvalidDescription, match="strong_convexity"):
        Target(strong_convexity=None, smoothness=1.0, dimension=2)
    with pytest.raises(InvalidDescription, match="target"):
        GradientPotential(lambda x: x, None)


def test_a_step_beyond_stability_is_refused_with_the_largest():
    target = Target(strong_convexity=1.0, smoothness=4.0, dimension=2)
    with pytest.raises(InvalidDescription, match=r"0\.4999999999999999"):
        Overdamped(target, 0.5, 10)
    with pytest.raises(InvalidDescription, match="the largest stable one"):
        OverdampedRun(posterior=posterior().posterior, step_size=100.0, steps=3)


def test_worse_potentials_than_described_are_refused():
    potential = GaussianPotential([1.0, 4.0], np.zeros(2))
    for target in (
        Target(2.0, 4.0, 2),
        Target(1.0, 3.0, 2),
        Target(1.0, 4.0, 3),
    ):
        with pytest.raises(InvalidDescription, match="describe what will run"):
            simulate(Overdamped(target, 0.1, 1), potential, generator=seeded())
    curved = GradientPotential(lambda x: x, Target(1.0, 1.0, 2))
    with pytest.raises(InvalidDescription, match="describe what will run"):
        chain = Overdamped(Target(1.0, 1.0, 2, laplacian_lipschitz=0.0), 0.1, 1)
        simulate(chain, curved, generator=seeded())


@pytest.mark.parametrize(
    "precision", [-1.0, [1.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.1], [0.0, 1.0]], np.ones(3)]
)
def test_bad_precisions_are_refused(precision):
    with pytest.raises(InvalidDescription, match="precision"):
        GaussianPotential(precision, np.zeros(2))


def test_gradients_of_another_shape_are_refused():
    potential = GradientPotential(lambda x: x[:, :1], Target(1.0, 1.0, 2))
    chain = Overdamped(potential.target, 0.1, 1, PointStart())
    with pytest.raises(InvalidDescription, match="one row for each state"):
        simulate(chain, potential, generator=seeded())


def test_points_and_domains_of_another_dimension_are_refused():
    potential = GaussianPotential(1.0, np.zeros(2))
    chain = Overdamped(potential.target, 0.1, 1)
    with pytest.raises(InvalidDescription, match="centre"):
        simulate(chain, potential, generator=seeded(), centre=[1.0])
    with pytest.raises(InvalidDescription, match="dimension"):
        Projected(chain, Box(0.0, 1.0, 3))
