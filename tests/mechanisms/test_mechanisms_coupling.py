"""Chains of noisy maps, records hidden by later steps, Laplace noise added twice."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wane.errors import InvalidDescription
from wane.mechanisms import (
    IteratedLaplace,
    constant_chain,
    coupled_renyi,
    gradient_contraction,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
    public_steps_needed,
)
from wane.mechanisms.coupling import renyi_divergence
from wane.mechanisms.laplace import density, laplace_renyi, log_density

slopes = st.floats(0.05, 3.0)
stds = st.floats(0.01, 10.0)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(slopes, stds), min_size=1, max_size=12), st.floats(0.1, 5.0))
def test_chains_are_exact_for_linear_maps(steps, distance):
    made = noisy_chain(distance, steps)
    with mpmath.workdps(40):
        gap, variance = mpmath.mpf(distance), mpmath.mpf(0)
        for slope, std in steps:
            gap, variance = gap * slope, variance * mpmath.mpf(slope) ** 2 + mpmath.mpf(std) ** 2
        truth = gap / mpmath.sqrt(variance)
        assert truth <= made.mu <= truth * (1 + mpmath.mpf(1e-11))


@settings(max_examples=200, deadline=None)
@given(slopes, st.integers(1, 3000), stds)
def test_equal_steps_have_a_closed_form(slope, steps, std):
    made = constant_chain(1.0, steps=steps, lipschitz=slope, noise_std=std)
    with mpmath.workdps(60):
        c = mpmath.mpf(slope) ** 2
        total = mpmath.mpf(steps) if c == 1 else (1 - c**steps) / (1 - c)
        truth = mpmath.sqrt(c**steps / total) / std
        assert truth <= made.mu <= truth * (1 + mpmath.mpf(1e-9)) + mpmath.mpf(1e-320)
        record = per_index_sgd(steps, gradient_gap=1.0, noise_std=std, contraction=slope)
        more = total + c**steps
        truth = mpmath.sqrt(c**steps / more) / std
        assert truth <= record.mu <= truth * (1 + mpmath.mpf(1e-9)) + mpmath.mpf(1e-320)


def test_edges_of_chains():
    assert noisy_chain(1.0, [(0.0, 1.0)]).mu == 0.0
    assert noisy_chain(0.0, [(1.0, 1.0)]).mu == 0.0
    assert noisy_chain(1.0, []).mu == math.inf
    assert noisy_chain(1.0, [(1.0, 0.0)]).mu == math.inf
    assert noisy_chain(1.0, [(1.0, 0.0), (1.0, 1.0)]).mu == pytest.approx(1.0)
    assert noisy_chain(1.0, [(0.5, 1.0)] * 5000).mu > 0.0
    assert constant_chain(1.0, steps=0, lipschitz=0.5, noise_std=1.0).mu == math.inf
    assert constant_chain(1.0, steps=3, lipschitz=0.0, noise_std=1.0).mu == 0.0
    assert constant_chain(0.0, steps=3, lipschitz=0.5, noise_std=1.0).mu == 0.0
    assert per_index_sgd(5, gradient_gap=1.0, noise_std=1.0, contraction=0.0).mu == 0.0
    assert per_index_sgd(0, gradient_gap=1.0, noise_std=1.0, contraction=0.0).mu >= 1.0
    assert lipschitz_gaussian(1.0, 1.0, 1.0, lipschitz=0.0).mu == 0.0
    assert lipschitz_gaussian(1.0, 0.0, 0.0, lipschitz=1.0).mu == math.inf
    assert iterated_gaussian(0.0, 0.0, 0.0).mu == 0.0


def test_contraction_takes_the_larger_end():
    assert gradient_contraction(0.1, strong_convexity=1.0, smoothness=2.0) == pytest.approx(0.9)
    assert gradient_contraction(1.0, strong_convexity=1.0, smoothness=1.9) == pytest.approx(0.9)
    assert gradient_contraction(2.0, strong_convexity=0.0, smoothness=1.5) == pytest.approx(2.0)
    assert gradient_contraction(0.5, strong_convexity=1.0, smoothness=1.0) >= 0.5


@settings(max_examples=200, deadline=None)
@given(st.floats(0.3, 1.0), st.floats(0.02, 2.0), st.floats(0.01, 1.0))
def test_public_steps_are_enough_and_not_one_more(contraction, std, mu):
    known = {"gradient_gap": 2.0, "noise_std": std, "contraction": contraction}
    steps = public_steps_needed(mu=mu, **known)
    assert per_index_sgd(steps, **known).mu <= mu * (1 + 1e-12)
    if contraction != 1.0:
        assert per_index_sgd(steps, **known).mu <= mu
    if steps:
        assert per_index_sgd(steps - 1, **known).mu > mu * (1 - 1e-11)


def test_expanding_steps_may_never_be_enough():
    known = {"gradient_gap": 1.0, "noise_std": 1.0, "contraction": 1.5}
    with pytest.raises(InvalidDescription, match="no number of steps"):
        public_steps_needed(mu=0.7, **known)
    assert public_steps_needed(mu=0.75, **known) > 0


def test_finite_couplings_are_never_violated():
    rng = np.random.default_rng(1)
    for _ in range(500):
        n, m = rng.integers(2, 5, size=2)
        kernel = rng.dirichlet(np.ones(m), size=n)
        joint = rng.dirichlet(np.full(n * n, 0.5)).reshape(n, n)
        second = rng.dirichlet(np.ones(n))
        first = joint.sum(axis=0)
        order = 1.0 + float(rng.exponential(4.0))
        bound = coupled_renyi(order, first=first, second=second, coupling=joint, kernel=kernel)
        assert renyi_divergence(order, first @ kernel, second @ kernel) <= bound + 1e-12


def test_a_law_in_between_must_be_carried():
    kernel = np.eye(2)
    joint = [[0.0, 0.5], [0.5, 0.0]]
    bound = coupled_renyi(2.0, first=[0.5, 0.5], second=[1.0, 0.0], coupling=joint, kernel=kernel)
    assert bound == math.inf
    assert renyi_divergence(2.0, [0.5, 0.5], [1.0, 0.0]) == math.inf


def exact_density(x, a, b):
    """The convolution, piece by piece, in thirty digits."""
    x = abs(mpmath.mpf(x))
    a, b = mpmath.mpf(a), mpmath.mpf(b)

    def laplace(t, scale):
        return mpmath.exp(-abs(t) / scale) / (2 * scale)

    far = 80 * max(a, b)
    return mpmath.quad(lambda u: laplace(u, a) * laplace(x - u, b), [-far, 0, x / 2, x, x + far])


@pytest.mark.parametrize("scales", [(1.0, 2.0), (1.0, 1.0), (0.5, 0.5001), (3.0, 0.2)], ids=str)
def test_density_is_the_convolution(scales):
    with mpmath.workdps(30):
        for x in (0.0, 0.3, -1.0, 4.0):
            assert density(x, *scales) == pytest.approx(float(exact_density(x, *scales)), rel=1e-12)
    grid = np.linspace(-200.0, 200.0, 400_001)
    assert np.sum(np.exp(log_density(grid, *scales))) * 1e-3 == pytest.approx(1.0, abs=1e-6)


def exact_renyi(order, shift, a, b):
    with mpmath.workdps(30):
        big, small = max(a, b), min(a, b)

        def log_p(x):
            x = abs(x)
            y = x * (big - small) / (big * small)
            share = -mpmath.expm1(-y) / y if y > 1e-20 else 1
            return mpmath.log1p(x / big * share) - x / big - mpmath.log(2 * (big + small))

        points = [-80 * big, -10 * big, -big, -small / 4, 0, shift / 8, shift / 2, shift]
        points += [shift + small / 4, shift + big, shift + 10 * big, shift + 80 * big]
        total = mpmath.quad(
            lambda x: mpmath.exp(order * log_p(x) + (1 - order) * log_p(x - shift)), sorted(points)
        )
        return mpmath.log(total) / (order - 1)


@pytest.mark.parametrize(
    ("order", "shift", "a", "b"),
    [
        (1.5, 1.0, 1.0, 2.0),
        (2.0, 0.1, 1.0, 1.0),
        (8.0, 3.0, 0.5, 2.0),
        (32.0, 1.0, 1.0, 1.01),
        (3.0, 0.01, 2.0, 0.5),
        (1.1, 5.0, 1.0, 1.0),
    ],
)
def test_quadrature_is_exact_and_above(order, shift, a, b):
    found = IteratedLaplace(shift, a, b).continuous_renyi(order)
    truth = float(exact_renyi(order, shift, a, b))
    assert truth <= found <= truth * (1 + 1e-10) + 1e-13


@settings(max_examples=100, deadline=None)
@given(st.floats(1.01, 60.0), st.floats(0.01, 10.0), st.floats(0.1, 5.0), st.floats(0.1, 5.0))
def test_laplace_bounds_are_ordered(order, shift, a, b):
    made = IteratedLaplace(shift, a, b)
    single = laplace_renyi(order, shift / max(a, b))
    assert (
        0.0
        < made.continuous_renyi(order)
        <= made.coupled_renyi(order)
        <= single * (1 + 1e-9) + 1e-14
    )
    assert made.coupled_renyi(order) <= made.continuous_pure_epsilon * (1 + 1e-12)
    point = made.intermediate_point(order)
    assert 0.0 < point < shift


def test_pure_level_is_approached_by_large_orders():
    made = IteratedLaplace(1.0, 1.0, 2.0)
    values = [made.continuous_renyi(order) for order in (2.0, 10.0, 100.0, 3000.0)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(made.continuous_pure_epsilon, rel=0.02)
    assert values[-1] <= made.continuous_pure_epsilon


def test_small_shifts_do_not_cancel():
    values = [laplace_renyi(2.0, t) / t**2 for t in (1e-3, 1e-5, 1e-9)]
    for value in values:
        assert value == pytest.approx(1.0, rel=1e-2)
    assert all(a <= b * (1 + 1e-3) for a, b in itertools.pairwise(values))


@pytest.mark.parametrize(
    "call",
    [
        lambda: IteratedLaplace(0.0, 1.0, 1.0),
        lambda: IteratedLaplace(1.0, -1.0, 1.0),
        lambda: IteratedLaplace(1.0, 1.0, math.nan),
        lambda: IteratedLaplace(1.0, 1.0, 1.0).continuous_renyi(1.0),
        lambda: density(0.0, 0.0, 1.0),
        lambda: density(0.0, 1e-200, 1.0),
        lambda: laplace_renyi(2.0, -1.0),
        lambda: noisy_chain(1.0, [(-1.0, 1.0)]),
        lambda: noisy_chain(math.nan, [(1.0, 1.0)]),
        lambda: constant_chain(1.0, steps=-1, lipschitz=1.0, noise_std=1.0),
        lambda: constant_chain(1.0, steps=1, lipschitz=1.0, noise_std=0.0),
        lambda: per_index_sgd(1.5, gradient_gap=1.0, noise_std=1.0, contraction=1.0),
        lambda: gradient_contraction(0.1, strong_convexity=2.0, smoothness=1.0),
        lambda: public_steps_needed(mu=0.0, gradient_gap=1.0, noise_std=1.0, contraction=1.0),
        lambda: renyi_divergence(2.0, [0.5, 0.5], [1.0]),
        lambda: renyi_divergence(2.0, [0.5, math.nan], [0.5, 0.5]),
        lambda: renyi_divergence(2.0, ["a"], [1.0]),
        lambda: coupled_renyi(2.0, first=[1.0], second=[1.0], coupling=[[0.5]], kernel=[[1.0]]),
        lambda: coupled_renyi(2.0, first=[1.0], second=[1.0], coupling=[1.0], kernel=[[1.0]]),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises(InvalidDescription) as refusal:
        call()
    assert "\n" not in str(refusal.value)
