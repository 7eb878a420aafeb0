"""Mistakes in the paper on private samplers (Langevin chains): as printed they fail, ours hold.

Names follow our list of errata, E1 to E21; docs/errata/sampler.md has them in words.
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from wane.audit import langevin_law as law
from wane.describe.chain import Direction
from wane.numerics.search import largest_satisfying
from wane.theorems.kinetic import optimised as kinetic_optimised
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.letters import KineticLetters, Letters
from wane_papers.modulus.printed import Standing
from wane_papers.sampler import corrected_route as route, printed

UNIT = law.GaussianTarget((1.0,), (1,))


def test_E1_centring_moves_the_minimum_the_wrong_way():
    def f(x):
        return (x - 3.0) ** 2

    moved = printed.centring.formula(f, 3.0)
    assert moved(0.0) > moved(6.0) == 0.0
    assert f(0.0 + 3.0) == 0.0  # f(x + minimiser)


def test_E2_a_rescaled_sample_is_divided():
    """g(x) = f(x/sqrt(m)) has variance m times the target's: divide the sample by sqrt(m)."""
    m = 4.0
    std_of_g = math.sqrt(m) * (1 / math.sqrt(m))  # f = m x^2/2
    assert printed.scaling.formula(std_of_g, m) == pytest.approx(2.0)
    assert std_of_g / math.sqrt(m) == pytest.approx(1 / math.sqrt(m))


def test_E3_conditional_moments_bound_less_than_is_printed():
    """P(Y >= y) = y^-s with s = 2/(1+g): the events Y <= delta^(-1/s) meet the hypothesis."""
    g, beta = 0.9, 1 / 0.9
    s = 2 / (1 + g)
    mean = 2 / (1 - g)
    assert s / (s - 1) == pytest.approx(mean)
    for delta in (1e-8, 1e-3, 0.1, 0.49):
        cap = delta ** (-1 / s)
        second = integrate.quad(lambda u: math.exp((2 - s) * u) * s, 0, math.log(cap))[0]
        assert second / (1 - delta) <= beta / delta**g * (1 + 1e-9)
    assert mean == pytest.approx(20.0)
    assert printed.unconditioning(beta=beta, gamma=g, theta=2.0) == pytest.approx(2.760, abs=1e-3)
    assert printed.simple_unconditioning(beta=beta, theta=2.0) == pytest.approx(4.216, abs=1e-3)
    corrected = math.exp(route.log_unconditioned(math.log(beta), g, 2.0))
    assert mean <= corrected == pytest.approx(40.67, abs=0.01)
    assert printed.unconditioning.standing is Standing.FALSE


def overdamped_error(order, eta):
    """f = x^2/2 from its own target: the diffusion stays N(0, 1)."""
    return law.overdamped_errors(
        UNIT, order=order, step_size=eta, steps=round(1 / eta), start_variance=1.0
    )[0]


def test_E4_no_fixed_step_size_serves_all_orders():
    eta = 1e-4
    assert math.isinf(overdamped_error(1 + 2.32 / eta, eta))
    assert math.isfinite(overdamped_error(1 + 2.30 / eta, eta))
    # the claim at eps = 1: order 2.4e4 allows a step size a hundred times as long
    claimed = printed.overdamped_step(d=1, L=1.0, tau=1.0, alpha=2.4e4, eps=1.0)
    assert claimed > 90 * eta
    assert printed.overdamped_step.standing is Standing.FALSE
    # ours refuses the order
    x = Letters(d=1, m=1.0, L=1.0, M3=0.0, B=math.inf, eta=eta, N=10**4, s0=1.0, r0=0.0)
    assert math.isinf(girsanov.convex(x, Direction.CHAIN_FIRST, 2.4e4).value)


def test_E4_nor_does_one_of_the_underdamped_chain():
    eta = 1e-3
    known = {"friction": 2.0, "velocity_variance": 1.0, "start_variance": 1.0}

    def error(order):
        return law.underdamped_errors(UNIT, order=order, step_size=eta, steps=1000, **known)[0]

    assert math.isinf(error(4.2 / eta))
    assert math.isfinite(error(4.0 / eta))
    claimed = printed.underdamped_step(d=1, L=1.0, tau=1.0, alpha=4.2e3, eps=1.0)
    assert claimed > 100 * eta
    x = KineticLetters(d=1, m=1.0, L=1.0, gam=2.0, mu=1.0, eta=eta, N=1000, s0=1.0, r0=0.0)
    assert math.isinf(kinetic_optimised.kinetic_error(x, Direction.CHAIN_FIRST, 4.2e3).value)


def test_E6_a_change_of_measure_is_no_equality_for_killed_mass():
    """X <= P pointwise: sum Q (X/Q)^a is below sum P (X/Q)^(a-1), not equal to it."""
    P, Q, X, a = np.array([0.5, 0.5]), np.array([0.4, 0.6]), np.array([0.5, 0.2]), 3.0
    left, right = np.sum(Q * (X / Q) ** a), np.sum(P * (X / Q) ** (a - 1))
    assert left < 0.97 * right
    # what does hold: a times the mean of (y/Q)^(a-1) over y uniform below P, cut at X
    mean = sum(
        p * integrate.quad(lambda y, q=q, x=x, p=p: (y / q) ** (a - 1) / p, 0, x)[0]
        for p, q, x in zip(P, Q, X, strict=True)
    )
    assert a * mean == pytest.approx(left, rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "eps", "found", "corrected"),
    [(1.5, 0.1, 1.76, 2.01), (4.0, 0.5, 1.29, 1.53), (2.0, 0.1, 1.04, 1.19)],
)
def test_E7_the_multiple_of_the_order_is_too_small(alpha, eps, found, corrected):
    kappa = printed.order_multiple(alpha=alpha, eps=eps)
    value = printed.after_jensen(alpha=alpha, kappa=kappa)
    assert value / eps == pytest.approx(found, abs=6e-3)
    with_log_30 = value + math.log(2.0) / ((alpha - 1) * kappa)
    assert with_log_30 / eps == pytest.approx(corrected, abs=6e-3)
    assert printed.order_multiple(alpha=alpha, eps=1.5) < 0


def test_E8_the_state_may_exceed_start_plus_noise():
    """Noise falls from 0 to -1 until t = 0.95 and rises to +1 at t = 1: |x| reaches 1.337."""
    down = -(1 / 0.95) * -math.expm1(-0.95)
    end = down * math.exp(-0.05) + 40 * -math.expm1(-0.05)
    assert end == pytest.approx(1.337, abs=1e-3)
    assert end > 0 + 1  # |x_0| plus the largest |noise|
    assert printed.movement.standing is Standing.UNPROVED


def test_E8_the_movement_radius_that_replaces_it_holds():
    """Simulated diffusion and chain on f = x^2/2 stay within it, at the stated frequency."""
    rng, eta, T, delta = np.random.default_rng(8), 0.05, 20, 0.2
    r = route.movement_radius(delta=delta, d=1, m=1.0, L=1.0, eta=eta, T=T, s0=1.0)
    fine, runs = 50, 4000
    x = rng.normal(size=runs)
    furthest = np.zeros(runs)
    for _ in range(T):
        start = x.copy()
        for _ in range(fine):
            x = x - eta / fine * x + math.sqrt(2 * eta / fine) * rng.normal(size=runs)
            furthest = np.maximum(furthest, np.abs(x - start))
    assert np.mean(furthest > r) < delta


def test_E10_the_tail_of_brownian_motion_and_the_contraction_are_loose():
    for d in (1, 3, 10):
        for x in (0.5, 1.0, 3.0):
            exact = 2 * stats.chi.sf(math.sqrt(d) + x, d)  # Levy
            sharp = 2 * math.exp(-x * x / 2)
            assert exact <= sharp < printed.brownian_tail(x=x)
    assert printed.contraction(eta=0.1) > 1 - 0.1


def test_E11_smoothness_enters_by_its_square():
    """Row 2 of Figure 1: r does not depend on L, so that eta L^2 is what counts."""
    known = {"alpha": 2.0, "d": 3, "B": 1.0, "T": 1000}
    first = route.lipschitz_discretisation(L=1.0, eta=1e-7, **known)
    same = route.closed_divergence(
        2.0, 0.25 * 1000 * 1e-7, route.lipschitz_movement(3, 1.0, 1e-7, 1000)
    )
    assert first == same
    half = {"d": 3, "B": 1.0, "tau": 1.0, "alpha": 2.0, "eps": 0.1}
    ratio = printed.lipschitz_step(L=0.5, **half) / printed.lipschitz_step(L=1.0, **half)
    assert ratio == pytest.approx(16.0)  # claims more than the proof gives, which is four
    radius = printed.lipschitz_movement(d=3, B=1.0, eta=1e-3, T=10, delta=0.1, c=0.0)
    assert radius == pytest.approx(2 * 1e-3)  # twice eta B


def test_E12_the_target_first_rate_is_two():
    t, alpha = 1.5, 3.0
    start, later = (
        law.diffusion_divergences(UNIT, order=alpha, time=s, start_variance=0.7)[1]
        for s in (1e-12, t)
    )
    sharp = math.exp(-2 * t / alpha) * start
    assert later <= sharp < printed.reverse_mixing(alpha=alpha, D0=start, t=t)


def test_E13_the_printed_densities_have_no_unit_mass():
    L = 3.0
    mass = integrate.quad(lambda x: math.exp(-0.5 * math.log(2 * math.pi / L) - L * x * x), -9, 9)
    assert mass[0] == pytest.approx(1 / math.sqrt(2))


def test_E14_the_time_may_be_negative():
    assert printed.time_needed(d=1, L=1.05, alpha=2.0, eps=0.1) < 0
    needed = 0.5 * math.log((2 * 2 - 1) * 1e60)
    assert needed > printed.time_needed(d=1, L=1e60, alpha=2.0, eps=1.0)


def test_E15_three_links_multiply_delta():
    z, delta = 1.0, 1e-3
    p_, r_ = 0.0, delta
    r = (1 + math.exp(z)) * delta
    p = (1 + math.exp(z) + math.exp(2 * z)) * delta
    for first, second in ((p, r), (r, r_), (r_, p_)):
        assert first <= math.exp(z) * second + delta * (1 + 1e-12)
        # the complements are close the other way round, too
        assert 1 - second <= math.exp(z) * (1 - first) + delta
    zeta, claimed = printed.three_links(zeta=z, delta=delta)
    assert p - math.exp(zeta) * p_ == pytest.approx(11.107 * delta, rel=1e-4)
    assert p - math.exp(zeta) * p_ > 3.7 * claimed


def test_E16_the_ito_term_is_half_of_what_is_printed():
    gamma, mu, t = 2.0, 0.5, 1e-7
    flow = law.kinetic_flow(1.0, friction=gamma, velocity_variance=mu, time=t)
    growth = 0.5 * flow.noise[1, 1] / t  # of E |v|^2/2 from rest at the minimum
    assert growth == pytest.approx(gamma * mu, rel=1e-6)


def test_E17_a_normalised_potential_may_be_negative():
    def at_minimum(L):
        return 0.5 * math.log(2 * math.pi / L)

    assert at_minimum(6.0) > 0 > at_minimum(6.5)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_E18_the_velocity_bound_holds_for_every_friction(gamma):
    mu, tau, delta = 0.7, 3.0, 0.01
    flow = law.kinetic_flow(1.0, friction=gamma, velocity_variance=mu, time=tau)
    std = math.sqrt(flow.noise[1, 1])
    bound = route.velocity_bound(
        d=1, L=1.0, gamma=gamma, mu=mu, eta=1e-3, tau=tau, delta=delta, phi0=0.0, discrete=False
    )
    assert 2 * stats.norm.sf(bound / std) <= delta
    assert printed.velocity.standing is Standing.UNPROVED


def test_E21_the_step_size_is_linear_in_the_distance():
    """Conditioning costs a square; Girsanov's theorem without it does not."""
    known = {"d": 10, "m": 1.0, "L": 2.0}

    def ours(goal):
        def fits(eta):
            N = math.ceil(3 / eta)
            x = Letters(**known, M3=math.inf, B=math.inf, eta=eta, N=N, s0=0.5, r0=0.0)
            return girsanov.convex(x, Direction.CHAIN_FIRST, 2.0).value <= goal

        return largest_satisfying(fits, 1e-9, 0.1, relative=1e-2)

    def theirs(goal):
        return route.largest_step(
            lambda eta: route.discretisation(
                alpha=2.0, T=math.ceil(3 / eta), eta=eta, s0=0.5, **known
            ),
            goal,
            0.1,
        )

    assert ours(0.1) / ours(0.01) == pytest.approx(10, rel=0.2)
    assert theirs(0.1) / theirs(0.01) > 50
    assert ours(0.1) > 1000 * theirs(0.1)


def test_figure_one_with_explicit_constants():
    columns = printed.figure_one((1, 100))
    assert columns["row"] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert all(
        few > many
        for few, many in zip(columns["printed_step_size"], columns["proved_step_size"], strict=True)
    )
    for step, number in zip(columns["proved_step_size"], columns["proved_steps"], strict=True):
        assert step * number == pytest.approx(3.0)


def test_nothing_printed_enters_a_certificate():
    assert {bound.key for bound in printed.BOUNDS} == {"ganesh2020langevin"}
    assert len(printed.BOUNDS) == 26
