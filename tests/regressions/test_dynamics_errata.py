"""Mistakes in the paper on privacy dynamics, and misuses of it: as printed they fail, ours hold.

Names follow our list of errata, E1.1 to E1.9 and E-M1.
"""

import math

import numpy as np
import pytest
from scipy import special, stats

from wane.audit.grid import chain_pair
from wane.audit.linear import exact_scalar_mu
from wane.audit.maps import ScalarMap
from wane.audit.mesh import pair_step
from wane.errors import InvalidDescription
from wane.planning import excess_risk
from wane.theorems.lemmas.programme import Block, Pool
from wane.theorems.log_sobolev import dynamics as lsi
from wane_papers.dynamics import printed
from wane_papers.modulus.printed import Standing

FIGURE = {"Sg": 4, "n": 5000, "sigma": 0.02, "eta": 0.02}
RUN = {"gradient_sensitivity": 4 / 5000, "temperature": 0.02**2}


def figure_quadratic(K):
    """The divergence of Figure 2 over its order, by the exact law of the chain."""
    shift, std = 0.02 * 4 / 5000, math.sqrt(2 * 0.02) * 0.02
    return float(exact_scalar_mu([0.98] * K, [shift] * K, [std] * K)) ** 2 / 2


def truncated_heat(order, t):
    """Renyi divergence of N(0,1) given x > 1 from N(0,1), both after heat flow for a time t."""
    v = 1 + 2 * t
    x = np.linspace(-12.0, 40.0, 400_001)
    log_ratio = special.log_ndtr((x / v - 1) / math.sqrt(2 * t / v)) - special.log_ndtr(-1.0)
    exponent = order * log_ratio - x * x / (2 * v) - 0.5 * math.log(2 * math.pi * v)
    total = special.logsumexp(exponent) + math.log(x[1] - x[0])
    return float(total) / (order - 1)


@pytest.mark.parametrize(
    ("order", "claimed", "truth"), [(5, 1.285622, 1.436416), (100, 1.398162, 1.796617)]
)
def test_E1_1_the_order_shrinks_while_a_divergence_fades(order, claimed, truth):
    """Equation (60) lets R(a) fade at its own order; (59) has it fade from a smaller one."""
    constant = 1 / 1.5  # of both laws until t = 0.25: the worst of N(0, 1 + 2t)
    exact = truncated_heat(order, 0.25)
    start = truncated_heat(order, 0.05)
    as_printed = printed.frozen_order(R=start, alpha=order, a1=2 * constant, a2=0.0, t=0.2)
    assert as_printed == pytest.approx(claimed, abs=2e-6)
    assert exact == pytest.approx(truth, abs=2e-6)
    assert as_printed < 0.9 * exact
    ours = lsi.warm_start(
        order,
        lambda a: truncated_heat(a, 0.05),
        gradient_sensitivity=0.0,
        temperature=1.0,
        time=0.2,
        constant=constant,
        split=1e-12,  # nothing is added, so all the noise may be spent on forgetting
    )
    assert exact <= ours <= 1.1 * exact
    assert printed.frozen_order.standing is Standing.FALSE


def test_E1_2_the_split_must_not_exceed_one():
    """Equation (66) is offered for any gamma > 0; with gamma = 2 it certifies half the truth."""
    constant = 2475.0  # from a fixed start, (2 - eta)/(2 sigma^2)
    exact = figure_quadratic(5)
    false = printed.any_split(alpha=1.0, K=5, c=constant, gamma=2.0, **FIGURE)
    assert exact == pytest.approx(3.9967e-5, rel=1e-4)
    assert false == pytest.approx(2.2117e-5, rel=1e-4)
    assert false < 0.6 * exact
    assert printed.any_split.standing is Standing.FALSE
    for split in (2.0, 1.0 + 1e-9, 0.0, -1.0, math.nan):
        with pytest.raises(InvalidDescription, match="split"):
            lsi.fixed_split(**RUN, time=0.1, constant=constant, split=split)
    for split in (0.1, 0.5, 0.9, 1.0):
        assert exact <= lsi.fixed_split(**RUN, time=0.1, constant=constant, split=split)
    assert exact <= lsi.optimal_split(**RUN, time=0.1, constant=constant)


def test_E1_7_what_is_loose_is_the_lower_bound():
    """For long runs the gap of two is the lower bound's, and the best constant gamma one half."""
    bound = printed.quadratic(alpha=1.0, K=2000, **FIGURE)
    exact = figure_quadratic(2000)
    lower = printed.quadratic_lower(alpha=1.0, K=2000, **FIGURE)
    assert bound / exact == pytest.approx(1.0203, rel=1e-4)
    assert exact / lower == pytest.approx(1.98, rel=1e-4)
    # after one step it is the upper bound's
    once = printed.quadratic(alpha=1.0, K=1, **FIGURE)
    assert once / figure_quadratic(1) == pytest.approx(1.9803, rel=1e-4)
    assert figure_quadratic(1) / printed.quadratic_lower(alpha=1.0, K=1, **FIGURE) < 1.011

    # "gamma to zero is best at convergence"
    constant, time = 2475.0, 40.0
    values = {
        g: lsi.fixed_split(**RUN, time=time, constant=constant, split=g)
        for g in (0.01, 0.3, 0.5, 0.7)
    }
    assert min(values, key=values.__getitem__) == 0.5
    assert values[0.01] > 20 * values[0.5]

    # "larger orders need fewer steps to beat composition"
    for order in (1.5, 10.0, 1000.0):
        first = next(
            K
            for K in range(1, 200)
            if printed.quadratic(alpha=order, K=K, **FIGURE)
            < printed.composition(alpha=order, K=K, **FIGURE)
        )
        assert first == 81
    assert lsi.optimal_split(**RUN, time=0.02 * 25, constant=constant) >= 25 * 8e-6
    assert lsi.optimal_split(**RUN, time=0.02 * 26, constant=constant) < 26 * 8e-6


def test_E1_9_the_optimum_must_be_interior():
    """At a boundary noise pushes one way only: one step from the optimum is enough."""
    eta, slope, std = 0.01, 1.0, 1.0  # minimise slope x + x^2/2 over x >= 0
    mean, scale = -eta * slope, eta * std
    z = mean / scale
    first = scale * (z * stats.norm.cdf(z) + stats.norm.pdf(z))
    second = scale**2 * ((1 + z * z) * stats.norm.cdf(z) + z * stats.norm.pdf(z))
    exact = slope * first + second / 2
    known = {"strong_convexity": 1.0, "smoothness": 1.0, "dimension": 1, "step_size": eta}
    bound = excess_risk(steps=1, gradient_noise_std=std, start_distance_squared=0.0, **known)
    assert bound < 0.1 * exact
    assert bound == pytest.approx(scale**2 / 2, rel=1e-12)  # exact without the boundary


def mu_of_equal_steps(c, K):
    pool = Pool()
    pool.push(Block(0.0, 0.0, 0.0, math.log(c)), K)  # shift and noise one
    return math.sqrt(pool.mu_squared)


def test_E_M1_the_contraction_is_the_larger_of_two_absolute_values():
    """Steps above 2/(lam + beta): neither 1 - eta lam nor Corollary 1 bounds the class."""
    std, start, K = 0.5, 100.0, 6
    maps = [
        ScalarMap(lambda x, sign=sign: -0.9 * x + sign * 0.25 * np.tanh(x / 4))
        for sign in (-1.0, 1.0)
    ]
    pair = chain_pair([pair_step(*maps, noise_std=std)] * K, start)
    # so far out the maps are affine, with gaps of one half whose signs alternate with x
    exact = float(exact_scalar_mu([-0.9] * K, [0.5 * (-1) ** k for k in range(K)], [std] * K))
    assert exact == pytest.approx(2.411, abs=1e-3)
    assert pair.renyi(2.0).lower == pytest.approx(exact**2, rel=1e-6)

    # eta lam = 0.8 and eta beta = 1.9625 describe both maps
    positive = printed.signed_contraction(s_over_sd=1.0, c=0.2, K=K)
    negative = printed.signed_contraction(s_over_sd=1.0, c=-0.9, K=K)
    corollary = printed.strongly_convex_large_step(
        alpha=2.0, Sg=0.5, n=1, sigma=std / math.sqrt(2), eta=1.0, K=K, lam=0.8
    )
    found = [positive, negative, math.sqrt(corollary)]
    assert found == pytest.approx([1.225, 0.127, 2.132], abs=1e-3)
    assert max(found) < exact
    c = float(1 - lsi.contraction_gap(1.0, 0.8, 1.9625))
    assert c == pytest.approx(0.9625, rel=1e-15)
    assert exact <= mu_of_equal_steps(c, K) == pytest.approx(2.444, abs=1e-3)

    known = {
        "gradient_sensitivity": 0.5,
        "strong_convexity": 0.8,
        "smoothness": 1.9625,
        "temperature": std**2 / 2,
        "step_size": 1.0,
        "steps": K,
    }
    with pytest.raises(InvalidDescription, match="step_size must be at most"):
        lsi.strongly_convex(**known)
    assert exact**2 / 2 <= lsi.strongly_convex_fixed_start(**known)
    step = lsi.LangevinStep(c, 0.5, std**2 / 2, 1.0, repeat=K)
    assert exact**2 / 2 <= lsi.tracked_bound([step])


def test_nothing_printed_enters_a_certificate():
    assert len(printed.BOUNDS) == 13
    assert {bound.key for bound in printed.BOUNDS} == {"chourasia2021dynamics"}


@pytest.mark.parametrize(("tau", "best"), [(1.0, 1.0), (2.0, 0.647), (10.0, 0.5)])
def test_E1_7_the_best_constant_gamma_is_one_half_only_for_long_runs(tau, best):
    """Theorem 2 at constant split g: (66) in units of alpha Sg^2/(2 c sigma^4 n^2)."""
    split = np.linspace(0.01, 1.0, 991)
    exponent = np.maximum(2.0 * (1.0 - split) * tau, 1e-300)
    bound = tau / (2.0 * split) * -np.expm1(-exponent) / exponent
    assert split[np.argmin(bound)] == pytest.approx(best, abs=2e-3)
