"""The exact underdamped step: against a matrix exponential, and by its own draws."""

import math

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.run import seeded_generator_voids_privacy
from wane.sampling import GradientPotential, PointStart, Target, Underdamped, simulate
from wane.sampling.integrator import exact_step

mpmath = pytest.importorskip("mpmath")

AGREE = 1e-12
DRAWS = 1_000_000
STEPS = [1e-8, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.1499, 0.15, 0.1501, 0.3, 1.0, 3.0, 10.0]


def by_matrix_exponential(friction, inverse_mass, temperature, step_size):
    """Mean and covariance of the linear system with the gradient as a frozen third coordinate."""
    with mpmath.workdps(60):
        gam, u, tau, eta = (mpmath.mpf(v) for v in (friction, inverse_mass, temperature, step_size))
        drift = mpmath.matrix([[0, 1, 0], [0, -gam, -u], [0, 0, 0]])
        mean = mpmath.expm(drift * eta, method="taylor")
        block = mpmath.zeros(4)  # Van Loan's block matrix for the covariance
        for i in range(2):
            for j in range(2):
                block[i, j] = -drift[i, j]
                block[2 + i, 2 + j] = drift[j, i]
        block[1, 3] = 2 * gam * u * tau
        whole = mpmath.expm(block * eta, method="taylor")
        covariance = whole[2:4, 2:4].T * whole[0:2, 2:4]
        return mean, covariance


@pytest.mark.parametrize("step_size", STEPS)
@pytest.mark.parametrize(
    ("friction", "inverse_mass", "temperature"), [(2.0, 1.0, 1.0), (0.7, 3.0, 0.2)]
)
def test_mean_and_covariance(step_size, friction, inverse_mass, temperature):
    step = exact_step(
        friction=friction,
        step_size=step_size,
        inverse_mass=inverse_mass,
        temperature=temperature,
    )
    mean, covariance = by_matrix_exponential(friction, inverse_mass, temperature, step_size)
    found = [
        (step.position_from_velocity, mean[0, 1]),
        (-step.position_from_gradient, mean[0, 2]),
        (step.velocity_kept, mean[1, 1]),
        (-step.velocity_from_gradient, mean[1, 2]),
    ]
    position, both, velocity = step.noise_covariance
    found += [(position, covariance[0, 0]), (both, covariance[0, 1]), (velocity, covariance[1, 1])]
    for ours, exact in found:
        assert abs(ours / float(exact) - 1.0) <= AGREE


def test_a_million_draws():
    """One step from a point with a constant gradient: every moment is known."""
    target = Target(strong_convexity=0.0, smoothness=1.0, dimension=1)
    gradient = 1.7
    potential = GradientPotential(lambda x: np.full_like(x, gradient), target)
    chain = Underdamped(
        target, 0.8, 1, friction=1.5, inverse_mass=0.6, start=PointStart(), temperature=0.5
    )
    x = simulate(chain, potential, generator=seeded_generator_voids_privacy(3), chains=DRAWS)[:, 0]
    step = exact_step(friction=1.5, step_size=0.8, inverse_mass=0.6, temperature=0.5)
    variance = step.noise_covariance[0] + step.position_from_velocity**2 * 0.3
    mean = -step.position_from_gradient * gradient
    z = (x - mean) / math.sqrt(variance)
    normal_moments = {1: (0.0, 1.0), 2: (1.0, 2.0), 3: (0.0, 15.0), 4: (3.0, 96.0)}
    for power, (moment, spread) in normal_moments.items():
        assert abs(np.mean(z**power) - moment) < 5.0 * math.sqrt(spread / DRAWS)


def test_noise_of_position_and_velocity_belongs_together():
    step = exact_step(friction=1.5, step_size=0.8, inverse_mass=0.6, temperature=0.5)
    rng = seeded_generator_voids_privacy(4)
    nv = step.velocity_noise * rng.standard_normal(DRAWS)
    nx = step.position_from_noise * nv + step.position_noise * rng.standard_normal(DRAWS)
    position, both, velocity = step.noise_covariance
    for product, expected, spread in (
        (nx * nx, position, 2 * position**2),
        (nv * nv, velocity, 2 * velocity**2),
        (nx * nv, both, both**2 + position * velocity),
    ):
        assert abs(product.mean() - expected) < 5.0 * math.sqrt(spread / DRAWS)


@pytest.mark.parametrize("name", ["friction", "step_size", "inverse_mass", "temperature"])
def test_nothing_but_positive_numbers(name):
    given = {"friction": 1.0, "step_size": 1.0, name: 0.0}
    with pytest.raises(InvalidDescription, match=name):
        exact_step(**given)
