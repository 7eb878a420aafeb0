"""What samples cost: every route is sound where the truth is known, and the smallest wins."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import wane
from wane.audit import langevin_law as law
from wane.certificates import together
from wane.describe import Adjacency, Objective
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP
from wane.losses import Logistic
from wane.sampling import (
    Losses,
    OverdampedRun,
    Posterior,
    Target,
    Underdamped,
    UnderdampedRun,
    calibrated,
    certify_samples,
    certify_underdamped,
    exact_gibbs,
    exact_gibbs_bounded,
)
from wane.sampling.models import linear_losses
from wane.theorems.gibbs.transfer import Closeness, PureCurve, closeness, exact_draws, transferred
from wane.theorems.kinetic.privacy import composed_mu, last_state_mu

ROUNDING = 1e-9


def logistic(adjacency=Adjacency.ZERO_OUT, **settings):
    losses = linear_losses(Logistic(), columns=5, feature_norm=1.0)
    return Posterior(
        losses=losses, records=500, prior_precision=20.0, adjacency=adjacency, **settings
    )


def verdicts(certificate):
    return {v.analysis.name: v for v in certificate.verdicts}


# exact draws


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_exact_draws_of_a_quadratic_are_the_gaussian_mechanism(Delta, m, tau):
    """N(0, tau/m) against N(Delta/m, tau/m)."""
    found = exact_gibbs(gradient_sensitivity=Delta, strong_convexity=m, temperature=tau).mu
    assert found == pytest.approx(Delta / m / math.sqrt(tau / m), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 10.0, 1e4])
def test_the_pure_curve_is_randomised_response(epsilon, order):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(400):
        p = 1 / (1 + mpmath.e ** -mpmath.mpf(epsilon))
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        exact = float(mpmath.log(moment) / (mpmath.mpf(order) - 1))
    found = PureCurve(epsilon)(order)
    assert exact <= found <= min(exact + 3e-15 * (epsilon + 1 / (order - 1)), epsilon)


def test_bounded_differences_are_purely_private():
    x = np.linspace(-12.0, 12.0, 20_001)
    F = 0.5 * x**2
    other = F + 0.4 * np.tanh(3.0 * x) + 7.0  # a constant does not matter
    p, q = (np.exp(-(f - f.min())) for f in (F, other))
    p, q = p / p.sum(), q / q.sum()
    exact = exact_gibbs_bounded(range_of_difference=0.8)
    for order in (1.5, 2.0, 20.0):
        both = [
            math.log((a * (a / b) ** (order - 1.0)).sum()) / (order - 1.0)
            for a, b in ((p, q), (q, p))
        ]
        assert max(both) <= exact.renyi(order)
    assert np.abs(np.log(p / q)).max() <= 0.8


# transfer


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.0, 0.05),
    st.floats(0.95, 1.05),
    st.floats(0.05, 1.0),
    st.sampled_from([1.01, 1.3, 2.0, 5.0, 12.0]),
)
def test_the_transfer_is_sound_for_gaussians(offset, variance, mu, order):
    """R = N(0, 1), R' = N(mu, 1); the chains are N(-offset, v) and N(mu + offset, v)."""
    orders = (1.5, 2.0, 4.0, 8.0, 16.0)

    def toward(a, first, second):
        return law.renyi_of_normals(a, offset, first, second)

    known = Closeness(
        orders,
        tuple(toward(a, variance, 1.0) for a in orders),
        tuple(toward(a, 1.0, variance) for a in orders),
    )
    bound = transferred(known, GaussianDP(mu)).renyi(order)
    exact = law.renyi_of_normals(order, mu + 2.0 * offset, variance, variance)
    assert exact <= bound * (1.0 + ROUNDING)


def test_perfect_closeness_transfers_the_exact_guarantee():
    orders = tuple(2.0**k for k in range(1, 40))
    known = Closeness(orders, (0.0,) * len(orders), (0.0,) * len(orders))
    exact = GaussianDP(0.3)
    found = transferred(known, exact)
    # the triangles cost a little even then; the Renyi conversion costs the rest
    assert found.epsilon(1e-6) == pytest.approx(
        wane.RenyiDP.zcdp(0.5 * 0.3**2).epsilon(1e-6), rel=0.01
    )


# the chain itself


@pytest.mark.parametrize("steps", [1, 10, 1000, 10**6])
def test_a_chain_never_costs_more_than_exact_draws(steps):
    posterior = calibrated(logistic(), epsilon=1.0, delta=1e-6, coldest=0.0)
    most = 2.0 / (posterior.target.strong_convexity + posterior.target.smoothness)
    for share in (0.01, 0.5, 0.999):
        run = OverdampedRun(posterior=posterior, step_size=share * most, steps=steps)
        assert certify_samples(run).epsilon(1e-6) <= 1.0


def test_all_routes_are_shown_with_their_reasons():
    run = OverdampedRun(posterior=logistic(), step_size=0.01, steps=20_000)
    certificate = certify_samples(run)
    shown = verdicts(certificate)
    assert {"last_iterate", "gibbs_transfer", "range_transfer"} <= set(shown)
    assert certificate.best(1e-6).analysis.name == "last_iterate"
    assert "gibbs_transfer" in {v.analysis.name for v in certificate.applicable}
    (missing,) = shown["range_transfer"].obstacles
    assert missing.holds is None and "range_of_loss" in missing.remedy
    added = OverdampedRun(posterior=logistic(Adjacency.ADD_REMOVE), step_size=0.01, steps=20_000)
    (obstacle,) = verdicts(certify_samples(added))["gibbs_transfer"].obstacles
    assert "number of records" in obstacle.statement


def test_a_long_fine_chain_is_nearly_as_private_as_exact_draws():
    posterior = calibrated(logistic(), epsilon=1.0, delta=1e-6, coldest=0.0)
    run = OverdampedRun(posterior=posterior, step_size=1e-6, steps=10**9)
    route = verdicts(certify_samples(run))["gibbs_transfer"].guarantee
    through_renyi = wane.RenyiDP.zcdp(0.5 * exact_draws(posterior).mu ** 2)
    assert 1.0 < route.epsilon(1e-6) < 1.4 * through_renyi.epsilon(1e-6)


def test_more_steps_never_lose_the_closeness():
    """The weights of the distance bound once cancelled where a chain is very long."""
    short, long = (
        closeness(OverdampedRun(posterior=logistic(), step_size=1e-3, steps=n).chain)
        for n in (10**6, 10**12)
    )
    assert short.useful
    for ours, theirs in zip(long.chain_first, short.chain_first, strict=True):
        assert ours <= theirs * (1.0 + 1e-6)


def test_too_rough_a_chain_has_no_transfer():
    run = OverdampedRun(posterior=logistic(), step_size=3.0, steps=3)
    (obstacle,) = verdicts(certify_samples(run))["gibbs_transfer"].obstacles
    assert obstacle.holds is False and "step_size" in obstacle.remedy


def test_bounded_losses_have_a_route_of_their_own():
    """A bounded loss is not convex; the prior makes the potential so."""
    objective = Objective(gradient_bound=100.0, smoothness=1.0, strong_convexity=-0.5)
    losses = Losses(objective=objective, dimension=2, range_of_loss=0.1, height_at_start=0.1)
    posterior = Posterior(
        losses=losses,
        records=50,
        prior_precision=100.0,
        temperature=1.0,
        adjacency=Adjacency.ZERO_OUT,
    )
    run = OverdampedRun(posterior=posterior, step_size=1e-4, steps=10**5)
    certificate = certify_samples(run)
    assert certificate.best(1e-6).analysis.name == "range_transfer"
    assert 0.1 / 4.0 < certificate.epsilon(1e-6) < 1.0


def test_several_samples_compose():
    posterior = logistic()
    one, nine = (
        certify_samples(OverdampedRun(posterior=posterior, step_size=0.5, steps=500, samples=k))
        for k in (1, 9)
    )
    assert nine.mu == pytest.approx(3.0 * one.mu, rel=1e-12)
    assert nine.mu >= together((one,) * 9).mu * (1.0 - 1e-12)
    transfers = [verdicts(c).get("gibbs_transfer") for c in (one, nine)]
    assert all(t is not None for t in transfers)


# underdamped chains


@settings(max_examples=60, deadline=None)
@given(
    kappa=st.floats(1.0, 20.0),
    place=st.floats(0.0, 1.0),
    inverse_mass=st.floats(0.1, 5.0),
    temperature=st.floats(0.2, 3.0),
    eta=st.floats(1e-3, 0.05),
    steps=st.integers(1, 3000),
)
def test_underdamped_bounds_hold_for_quadratics(
    *, kappa, place, inverse_mass, temperature, eta, steps
):
    """F = lam x^2/2 against F + x: position and velocity stay Gaussian, with one covariance."""
    friction = math.sqrt(inverse_mass * (1.0 + kappa)) * (1.0 + 1e-12)
    target = Target(strong_convexity=1.0, smoothness=kappa, dimension=1)
    try:
        chain = Underdamped(target, eta, steps, friction, inverse_mass, temperature=temperature)
    except InvalidDescription:
        return  # unstable, and refused
    lam = 1.0 + place * (target.smoothness - 1.0)
    step = law.frozen_gradient_step(
        lam / temperature,
        friction=friction,
        velocity_variance=chain.velocity_variance,
        step_size=eta,
    )
    push = step.matrix[:, 0] - np.array([1.0, 0.0])  # what a gradient of lam does in one step
    whole = step.after(steps)
    gap = np.linalg.solve(np.eye(2) - step.matrix, (np.eye(2) - whole.matrix) @ (push / lam))
    covariance = law.kinetic_covariance(step, steps, (0.0, chain.velocity_variance))
    exact = math.sqrt(gap @ np.linalg.solve(covariance, gap))
    assert exact <= composed_mu(chain, 1.0) * (1.0 + 1e-6)
    assert exact <= last_state_mu(chain, 1.0) * (1.0 + 1e-6)


def kinetic(steps, **settings):
    posterior = logistic(temperature=4.0)
    target = posterior.target
    friction = math.sqrt(target.strong_convexity + target.smoothness) * (1.0 + 1e-12)
    return UnderdampedRun(
        posterior=posterior, step_size=0.02, steps=steps, friction=friction, **settings
    )


def test_underdamped_privacy_levels_off():
    short, long, longer = (certify_underdamped(kinetic(n)) for n in (100, 10**6, 10**9))
    assert short.best().analysis.name == "kinetic_composition"
    assert longer.best().analysis.name == "kinetic_last_state"
    assert longer.epsilon(1e-6) <= long.epsilon(1e-6) * (1.0 + 1e-9)
    assert longer.mu is not None
    assert longer.delta(longer.epsilon(1e-6)) <= 1e-6 * (1.0 + 1e-9)
    assert "kinetic_composition" in longer.explain(1e-6)


def test_underdamped_samples_compose_and_light_friction_is_refused():
    one, four = (certify_underdamped(kinetic(10**6, samples=k)) for k in (1, 4))
    assert four.mu == pytest.approx(2.0 * one.mu, rel=1e-12)
    light = UnderdampedRun(
        posterior=logistic(temperature=4.0), step_size=0.02, steps=100, friction=0.1
    )
    shown = verdicts(certify_underdamped(light))
    (obstacle,) = shown["kinetic_last_state"].obstacles
    assert "friction >=" in obstacle.remedy


def test_nothing_without_a_gradient_bound():
    objective = Objective(smoothness=1.0, strong_convexity=0.0)
    losses = Losses(objective=objective, dimension=1)
    posterior = Posterior(losses=losses, records=10, prior_precision=1.0)
    run = UnderdampedRun(posterior=posterior, step_size=0.1, steps=10, friction=3.0)
    with pytest.raises(NoTheoremApplies, match="gradient_bound"):
        certify_underdamped(run).epsilon(1e-6)


def test_underdamped_samples_of_unbounded_gradients_are_refused_in_words():
    run = kinetic(100)
    losses = run.posterior.losses
    unbounded = replace(losses, objective=replace(losses.objective, gradient_bound=None))
    certificate = certify_underdamped(
        replace(run, posterior=replace(run.posterior, losses=unbounded))
    )
    for question in (certificate.delta, certificate.epsilon):
        with pytest.raises(NoTheoremApplies, match="gradient_bound"):
            question(0.5)


def test_a_start_near_one_minimiser_is_not_carried_to_another_target():
    posterior = logistic(temperature=4.0)
    chain = posterior.chain(0.02, 100)
    warmer = replace(posterior, temperature=8.0)
    assert warmer.start.distance != posterior.start.distance
    with pytest.raises(InvalidDescription, match="computed for another"):
        replace(chain, target=warmer.target)
    with pytest.raises(InvalidDescription, match="computed for another"):
        replace(warmer.chain(0.02, 100), start=posterior.start)
    near = wane.sampling.PointStart.near(posterior.target, 2.0)
    assert near.distance >= 2.0 / posterior.target.strong_convexity
    assert replace(chain, start=near).start == near
