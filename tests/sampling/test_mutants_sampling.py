"""Tests for mistakes that the other tests of samplers and mechanisms did not notice."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from wane.describe import Adjacency, Objective
from wane.describe.chain import PointStart, Target, Underdamped
from wane.describe.posterior import Losses, Posterior, stacked, stacked_bound
from wane.errors import InvalidDescription
from wane.mechanisms import BrownianMechanism, IteratedLaplace, noisy_chain
from wane.sampling.posterior_samples import calibrated
from wane.theorems.gibbs.transfer import exact_draws, exact_gibbs
from wane.theorems.kinetic.privacy import composed_mu, last_state_mu


def posterior(adjacency: Adjacency, curvature: tuple[float, float] = (0.5, 2.0)) -> Posterior:
    m, M = curvature
    objective = Objective(gradient_bound=None, strong_convexity=m, smoothness=M)
    losses = Losses(objective=objective, dimension=1, laplacian_lipschitz=3.0, height_at_start=1.0)
    return Posterior(losses=losses, records=4, prior_precision=4.0, adjacency=adjacency)


@pytest.mark.parametrize(
    ("adjacency", "fewest", "most"),
    [
        (Adjacency.REPLACE_ONE, 4, 4),
        (Adjacency.ZERO_OUT, 3, 4),
        (Adjacency.ADD_REMOVE, 3, 5),
    ],
)
def test_a_target_holds_for_every_number_of_records(adjacency, fewest, most):
    """Losses k x^2/2 summed over the divisor four, with a ridge of one."""
    made = posterior(adjacency)
    assert made.target.strong_convexity == pytest.approx(1.0 + 0.5 * fewest / 4, rel=1e-12)
    assert made.target.smoothness == pytest.approx(1.0 + 2.0 * most / 4, rel=1e-12)
    assert made.target.laplacian_lipschitz == pytest.approx(3.0 * most / 4, rel=1e-12)
    m = 1.0 + 0.5 * fewest / 4
    height = 1.0 * most / 4
    assert made.start.distance == pytest.approx(math.sqrt(2 * height / (m + 1.0)), rel=1e-12)


def test_losses_that_bend_down_do_so_more_with_one_record_more():
    made = posterior(Adjacency.ADD_REMOVE, (-0.5, 2.0))
    assert made.target.strong_convexity == pytest.approx(1.0 - 0.5 * 5 / 4, rel=1e-12)


def test_records_that_move_nothing_cost_nothing():
    assert exact_gibbs(gradient_sensitivity=0.0, strong_convexity=1.0).mu == 0.0


def test_the_margin_of_a_chain_grows_with_its_steps():
    """Sums of many logarithms: the claim leaves room for a rounding in each."""
    steps = [(0.999, 0.1)] * 10_000
    with mpmath.workdps(40):
        c = mpmath.mpf(0.999)
        terms = mpmath.fsum((mpmath.mpf(0.1) / c**k) ** 2 for k in range(1, 10_001))
        exact = 1 / mpmath.sqrt(terms)
        above = noisy_chain(1.0, steps).mu / exact - 1
    assert 5e-12 < above < 1e-9


@pytest.mark.parametrize("order", [3.0, 50.0, 1e4, 1e7])
def test_iterated_laplace_is_not_below_its_limit(order):
    """Equal scales, by quadrature with many digits around the peak."""
    made = IteratedLaplace(1.0, 1.0, 1.0)
    with mpmath.workdps(30):
        a = mpmath.mpf(order)

        def integrand(x):
            near, far = abs(x), abs(x - 1)
            log = a * (mpmath.log1p(near) - near) + (1 - a) * (mpmath.log1p(far) - far)
            return mpmath.exp(log - (a - 1)) / 4  # at most e^(a - 1) times a polynomial

        root, width = mpmath.sqrt(a), a**0.25  # where the peak is, and how wide
        around = [-(root + k * width) for k in range(-12, 13)] + [-4 * root - 80]
        ends = sorted({mpmath.mpf(0), mpmath.mpf(1), *(x for x in around if x < 0)})
        total = mpmath.quad(integrand, [*ends, mpmath.mpf(3), mpmath.mpf(80)])
        exact = mpmath.log(total) / (a - 1) + 1
    assert made.continuous_renyi(order) >= float(exact) * (1 - 1e-13)
    assert made.continuous_renyi(order) <= float(exact) * (1 + 1e-9)


def test_curvature_that_all_losses_share_adds_to_the_ridge():
    made = posterior(Adjacency.REPLACE_ONE)
    shared = replace(made, losses=replace(made.losses, shared_curvature=0.25), temperature=2.0)
    assert shared.ridge == 4.0 * 2.0 / 4 + 0.25
    assert shared.target.strong_convexity == pytest.approx(2.25 + 0.5, rel=1e-12)


def test_exact_draws_of_a_quadratic_with_a_linear_term():
    """Normal laws: variance tau/m, means Delta/m apart."""
    for Delta, m, tau in ((1.0, 1.0, 1.0), (2.0, 0.25, 4.0)):
        found = exact_gibbs(gradient_sensitivity=Delta, strong_convexity=m, temperature=tau).mu
        assert found == pytest.approx(Delta / m / math.sqrt(tau / m), rel=1e-12)
        assert found >= Delta / m / math.sqrt(tau / m)


def test_chains_side_by_side_stretch_bounds_and_keep_curvature():
    """Several chains are one: what lengths of gradients grow by, and what Hoelder constants do."""
    objective = Objective(
        gradient_bound=2.0,
        smoothness=1.0,
        strong_convexity=0.0,
        holder_exponent=0.5,
        holder_constant=3.0,
    )
    four = stacked(objective, 4)
    assert four.gradient_bound == pytest.approx(4.0, rel=1e-12)
    assert four.holder_constant == pytest.approx(3.0 * 4.0**0.25, rel=1e-12)
    assert (four.smoothness, four.strong_convexity) == (1.0, 0.0)
    plain = stacked(Objective(gradient_bound=2.0, smoothness=1.0), 4)
    assert plain.holder_constant is None
    assert stacked_bound(2.0, 1) == 2.0
    assert stacked_bound(2.0, 2) >= 2.0 * math.sqrt(2.0)


def test_a_posterior_is_not_calibrated_below_no_temperature():
    made = posterior(Adjacency.REPLACE_ONE, (0.0, 0.0))
    bounded = replace(made.losses.objective, gradient_bound=1.0)
    made = replace(made, losses=replace(made.losses, objective=bounded))
    with pytest.raises(InvalidDescription, match="coldest"):
        calibrated(made, epsilon=1.0, delta=1e-5, coldest=-0.5)
    warm = calibrated(made, epsilon=1.0, delta=1e-5, coldest=0.0)
    assert exact_draws(warm).epsilon(1e-5) <= 1.0


def test_temperatures_are_not_below_the_posterior_itself_unless_asked():
    made = posterior(Adjacency.REPLACE_ONE, (0.0, 0.0))
    bounded = replace(made.losses.objective, gradient_bound=1.0)
    made = replace(made, losses=replace(made.losses, objective=bounded))
    assert calibrated(made, epsilon=200.0, delta=1e-5).temperature == 1.0
    assert calibrated(made, epsilon=200.0, delta=1e-5, coldest=0.0).temperature < 1.0


def test_negative_sensitivities_and_orders_are_refused():
    with pytest.raises(InvalidDescription, match="gradient_sensitivity"):
        exact_gibbs(gradient_sensitivity=-0.5, strong_convexity=1.0)
    with pytest.raises(InvalidDescription, match="order"):
        IteratedLaplace(1.0, 1.0, 1.0).intermediate_point(0.5)


def test_the_noise_of_all_steps_is_never_rounded_down():
    """mu = Delta sqrt(u N eta/(2 gam tau)), with forty digits."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        Delta, u, gam, tau = (float(10 ** rng.uniform(-1, 1)) for _ in range(4))
        eta = 0.001 * float(rng.uniform(0.5, 1.0))
        chain = Underdamped(Target(0.5, 1.0, 1), eta, 137, gam, u, PointStart(), tau)
        with mpmath.workdps(40):
            energy = mpmath.mpf(u) * 137 * mpmath.mpf(eta) / (2 * mpmath.mpf(gam) * mpmath.mpf(tau))
            exact = mpmath.mpf(Delta) * mpmath.sqrt(energy)
            assert composed_mu(chain, Delta) >= exact


def test_each_chain_brings_its_own_slack_of_dissipativity():
    objective = Objective(gradient_bound=2.0, dissipativity=(0.5, 3.0))
    lam, kappa = stacked(objective, 4).dissipativity
    assert (lam, kappa) == (pytest.approx(2.0, rel=1e-12), 3.0)


def test_light_friction_is_not_taken_for_a_contraction():
    """Friction^2 = 1.44 where inverse_mass (m + M) = 2, though steps do contract a little."""
    light = Underdamped(Target(1.0, 1.0, 1), 0.001, 100, 1.2)
    heavy = Underdamped(Target(1.0, 1.0, 1), 0.001, 100, 1.5)
    assert math.isinf(last_state_mu(light, 1.0))
    assert math.isfinite(last_state_mu(heavy, 1.0))


def test_brownian_motion_shrinks_nothing():
    made = BrownianMechanism(sensitivity=1.0, time=0.5, norm_bound=5.0, dimension=3)
    assert made.mean_squared_error() == pytest.approx(3.0, rel=1e-12)
