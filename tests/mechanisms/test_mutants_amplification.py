"""Amplification by post-processing and coupling: every claim with many digits, and every edge."""

import math

import mpmath
import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.mechanisms import coupling
from wane.theorems.kernel import amplification as made
from wane.theorems.lemmas import noisy_chains

mp = mpmath.mp.clone()
mp.dps = 60
LITTLE = mp.mpf("1e-13")


def near_and_not_below(found, exact, relative=LITTLE):
    assert exact <= found <= exact * (1 + relative), (found, exact)


def drawn(seed, count, *ranges):
    """Rows of numbers, each spread evenly over its range in powers of ten."""
    rng = np.random.default_rng(seed)
    return (10.0 ** np.column_stack([rng.uniform(*r, count) for r in ranges])).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: made.by_dobrushin(0.5, -0.5, 0.1),
        lambda: made.by_dobrushin(0.5, 1.0, -0.1),
        lambda: made.by_dobrushin(0.5, 1.0, 1.1),
        lambda: made.by_dobrushin(-0.5, 1.0, 0.1),
        lambda: made.by_doeblin(1.5, 1.0, 0.1),
        lambda: made.renyi_by_dobrushin(0.5, 1.0, 1.0),
        lambda: made.renyi_by_dobrushin(0.5, 0.5, 1.0),
        lambda: made.renyi_by_dobrushin(0.5, 2.0, -0.5),
        lambda: made.worst_profile(-0.5, 1.0, 0.1),
        lambda: made.chained(0.5, 1.5),
        lambda: made.bounded_gaussian(1.0, epsilon=1.0, delta=0.1, diameter=-0.5, noise_std=1.0),
        lambda: made.bounded_gaussian(1.0, epsilon=1.0, delta=0.1, diameter=1.0, noise_std=0.0),
        lambda: made.bounded_gaussian(1.0, epsilon=1.0, delta=0.1, diameter=1.0, noise_std=-0.5),
        lambda: coupling.lipschitz_gaussian(1.0, -0.5, 1.0, lipschitz=1.0),
        lambda: coupling.lipschitz_gaussian(1.0, 1.0, -0.5, lipschitz=1.0),
        lambda: coupling.lipschitz_gaussian(1.0, 1.0, 1.0, lipschitz=-0.5),
        lambda: coupling.lipschitz_gaussian(-0.5, 1.0, 1.0, lipschitz=1.0),
        lambda: coupling.noisy_chain(-0.5, [(1.0, 1.0)]),
        lambda: coupling.noisy_chain(1.0, [(1.0, -0.5)]),
        lambda: coupling.noisy_chain(1.0, [(-0.5, 1.0)]),
        lambda: noisy_chains.constant_chain(-0.5, steps=1, lipschitz=1.0, noise_std=1.0),
        lambda: noisy_chains.constant_chain(1.0, steps=1, lipschitz=-0.5, noise_std=1.0),
        lambda: noisy_chains.constant_chain(1.0, steps=-1, lipschitz=1.0, noise_std=1.0),
        lambda: coupling.per_index_sgd(1, gradient_gap=-0.5, noise_std=1.0, contraction=1.0),
        lambda: coupling.per_index_sgd(1, gradient_gap=1.0, noise_std=-0.5, contraction=1.0),
        lambda: coupling.per_index_sgd(1, gradient_gap=1.0, noise_std=1.0, contraction=-0.5),
        lambda: coupling.per_index_sgd(-1, gradient_gap=1.0, noise_std=1.0, contraction=1.0),
        lambda: noisy_chains.gradient_contraction(0.0, strong_convexity=1.0, smoothness=1.0),
        lambda: noisy_chains.gradient_contraction(-0.5, strong_convexity=1.0, smoothness=1.0),
        lambda: noisy_chains.gradient_contraction(0.1, strong_convexity=-2.0, smoothness=-0.5),
        lambda: coupling.public_steps_needed(
            mu=1.0, gradient_gap=0.5, noise_std=1.0, contraction=-0.5
        ),
        lambda: coupling.renyi_divergence(1.0, [1.0], [1.0]),
        lambda: coupling.renyi_divergence(0.5, [1.0], [1.0]),
        lambda: coupling.renyi_divergence(2.0, 1.0, 1.0),
        lambda: coupling.renyi_divergence(2.0, [-0.5, 0.75, 0.75], [0.25, 0.25, 0.5]),
    ],
)
def test_numbers_outside_of_a_statement_are_refused(call):
    with pytest.raises(InvalidDescription):
        call()


def test_mixtures_of_exponentials_are_raised_at_every_size():
    assert made.log_mixture(0.0, 5.0) == made.log_mixture(0.5, 0.0) == 0.0
    assert made.log_mixture(1.0, 5.0) == 5.0 and made.log_mixture(1.0, 800.0) == 800.0
    rows = [*drawn(1, 200, (-12, 0), (-6, 2.8)), *drawn(2, 200, (-318, -280), (2.845, 2.88))]
    for share, exponent in [*rows, (0.5, 1.0), (0.5, 700.0)]:
        exact = mp.log1p(mp.mpf(share) * mp.expm1(exponent))
        found = made.log_mixture(share, exponent)
        near_and_not_below(found, exact, LITTLE if exponent < 700.0 else 20 * LITTLE)


@pytest.mark.parametrize("g", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.4, 1.0])
def test_the_classical_statements(g, delta):
    for epsilon in (0.0, 0.5, 3.0):
        after = mp.log(1 + mp.mpf(g) * mp.expm1(epsilon))
        ratio = mp.exp(after - mp.mpf(epsilon))
        wanted = {
            made.by_dobrushin: (epsilon, mp.mpf(g) * mp.mpf(delta)),
            made.by_doeblin: (after, mp.mpf(g) * (1 - ratio * (1 - mp.mpf(delta)))),
            made.by_ultra_mixing: (after, mp.mpf(g) * mp.mpf(delta) * ratio),
        }
        for statement, (first, second) in wanted.items():
            found = statement(g, epsilon, delta)
            assert first <= found.epsilon <= first * (1 + LITTLE) + mp.mpf("1e-300")
            assert second * (1 - LITTLE / 100) <= found.delta <= second * (1 + LITTLE) + 1e-300
            assert found.delta <= 1.0 and (found.delta > 0.0) == (second > mp.mpf("1e-50"))
            assert found.epsilon < epsilon or found.delta <= delta, "more after than before"


def test_coefficients_near_one_show_no_larger_delta_than_before():
    """The epsilon that they spare is lost in the last bit; delta was up to 1.1 times larger."""
    for g in (1.0 - 2.0**-53, 1.0 - 1e-12, 1.0):
        for epsilon, delta in drawn(5, 200, (-9, 2), (-12, 0)):
            found = made.by_doeblin(g, epsilon, delta)
            assert found.epsilon < epsilon or found.delta <= delta


@pytest.mark.parametrize("order", [1.001, 2.0, 50.0])
def test_divergences_shrink_like_sampling(order):
    for share, divergence in drawn(3, 50, (-6, 0), (-4, 1)):
        exact = mp.log1p(mp.mpf(share) * mp.expm1((mp.mpf(order) - 1) * mp.mpf(divergence)))
        found = made.renyi_by_dobrushin(share, order, divergence)
        near_and_not_below(found, exact / (mp.mpf(order) - 1), mp.mpf("1e-11"))
    assert made.renyi_by_dobrushin(1.0, order, 0.7) == pytest.approx(0.7, rel=1e-12)
    assert made.renyi_by_dobrushin(0.0, order, 0.7) == 0.0
    assert made.renyi_by_dobrushin(0.5, order, 0.0) == 0.0


def test_profiles_of_one_point():
    assert made.worst_profile(1.0, 1.0, 0.1) == made.worst_profile(2.0, 1.0, 0.1) == 0.1
    for at, epsilon, delta in ((0.0, 1.0, 0.1), (0.5, 0.7, 1e-6), (2.0, 30.0, 0.0)):
        e, d = mp.exp(mp.mpf(epsilon)), mp.mpf(delta)
        near_and_not_below(
            made.worst_profile(at, epsilon, delta), d + (1 - d) * (e - mp.exp(at)) / (1 + e)
        )


def test_thresholds_are_never_above_the_exact_ones():
    """A larger threshold would give a smaller delta than the kernel's."""
    assert made.threshold(1.0, 0.0) == made.threshold(1.0, -1.0) == made.LARGEST_MULTIPLIER
    assert made.threshold(0.0, 0.5) == 1.0
    ends = [(690.0, 1.0), (690.5, 1.0), (690.7, 1.0), (691.5, 1.0), (689.0, 0.3), (650.0, 1e-18)]
    for at, total in [*drawn(4, 300, (-6, 2.8), (-20, 0)), *ends]:
        exact = 1 + mp.expm1(at) / mp.mpf(total)
        found = made.threshold(at, total)
        assert found <= exact
        assert found >= min(exact, mp.mpf(made.LARGEST_MULTIPLIER)) * (1 - LITTLE)


def gaussian_profile(epsilon, mu):
    """The exact delta of a Gaussian."""
    low, high = -epsilon / mu - mu / 2, -epsilon / mu + mu / 2
    return mp.ncdf(high) - mp.exp(epsilon) * mp.ncdf(low)


@pytest.mark.parametrize("at", [0.0, 0.5, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-5, 0.2, 1.0])
def test_clipping_and_noise_by_the_exact_formula(at, delta):
    for diameter, noise_std in ((1.0, 2.0), (6.0, 0.5), (3.0, 0.125)):
        total = mp.mpf(made.worst_profile(at, 1.0, delta))
        shifted = mp.log(1 + mp.expm1(at) / total)
        exact = total * gaussian_profile(shifted, mp.mpf(diameter) / mp.mpf(noise_std))
        found = made.bounded_gaussian(
            at, epsilon=1.0, delta=delta, diameter=diameter, noise_std=noise_std
        )
        if exact > mp.mpf("1e-300"):
            near_and_not_below(found, exact, mp.mpf("1e-9"))
    nothing = {"epsilon": 1.0, "noise_std": 1.0}
    assert made.bounded_gaussian(at, delta=delta, diameter=0.0, **nothing) == 0.0
    assert made.bounded_gaussian(at + 1.0, delta=0.0, diameter=1.0, **nothing) == 0.0


def test_products_and_powers_are_raised_and_stay_in_range():
    assert made.product_up(0.0, 0.5) == made.product_up(0.5, 0.0) == 0.0
    assert made.product_up(1e-200, 1e-200) > 0.0
    assert made.exact(1.0, 1.0) == made.chained(1.0, 1.0) == 1.0
    assert made.power_up(0.0, 3) == 0.0 and made.power_up(1.0, 3) == 1.0
    assert made.power_up(math.nextafter(1.0, 0.0), 1) == 1.0
    for base, times in drawn(5, 200, (-3, -1e-6), (0, 3)):
        exact = mp.mpf(base) ** round(times)
        if exact > mp.mpf("1e-300"):
            near_and_not_below(made.power_up(base, round(times)), exact, mp.mpf("1e-11"))
    assert made.power_up(1e-10, 40) >= mp.mpf("1e-400")


# coupling


def test_two_noises_and_a_map_between_them():
    for sensitivity, first, second, slope in drawn(6, 300, (-3, 3), (-2, 2), (-2, 2), (-2, 2)):
        near_and_not_below(
            coupling.lipschitz_gaussian(sensitivity, first, second, lipschitz=slope).mu,
            mp.mpf(sensitivity) / mp.sqrt(mp.mpf(first) ** 2 + (mp.mpf(second) / slope) ** 2),
            mp.mpf("2e-13"),
        )


def test_noise_added_twice_is_noise_of_the_summed_variance():
    assert coupling.iterated_gaussian(1.0, 3.0, 4.0).mu == pytest.approx(0.2, rel=1e-12)


def test_chains_with_enormous_products():
    """Errors of logarithms grow with their size, and the margin with them."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        steps = [(float(10.0 ** rng.uniform(-90, 90)), float(10.0 ** rng.uniform(-2, 2)))]
        steps += [(1.0 + float(rng.uniform(-0.1, 0.1)), 1.0) for _ in range(int(rng.integers(3)))]
        product, total = mp.mpf(1), mp.mpf(0)
        for slope, std in steps:
            product *= mp.mpf(slope)
            total += (mp.mpf(std) / product) ** 2
        near_and_not_below(coupling.noisy_chain(1.0, steps).mu, 1 / mp.sqrt(total), 2e-12)
    assert coupling.noisy_chain(1e308, [(1.0, 0.5)]).mu == math.inf
    assert coupling.noisy_chain(4e307, [(1.0, 1.0)]).mu == pytest.approx(4e307, rel=1e-9)


def test_equal_steps_at_their_edges():
    settings = {"lipschitz": 0.0, "noise_std": 1.0}
    assert noisy_chains.constant_chain(1.0, steps=0, **settings).mu == math.inf
    assert noisy_chains.constant_chain(1.0, steps=1, **settings).mu == 0.0
    settings = {"noise_std": 2.0, "contraction": 0.0}
    assert coupling.per_index_sgd(0, gradient_gap=1.0, **settings).mu == pytest.approx(0.5)
    assert coupling.per_index_sgd(1, gradient_gap=1.0, **settings).mu == 0.0
    assert coupling.per_index_sgd(0, gradient_gap=0.0, **settings).mu == 0.0


def test_equal_steps_in_closed_form_with_many_digits():
    assert noisy_chains.constant_chain(
        1.0, steps=4, lipschitz=1.0, noise_std=1.0
    ).mu == pytest.approx(0.5, rel=1e-12)
    rng = np.random.default_rng(12)
    for slope, std in drawn(13, 300, (-3, 1), (-2, 2)):
        steps = int(rng.integers(1, 60))
        c = mp.mpf(slope) ** 2
        exact = mp.sqrt(c**steps * (1 - c) / (1 - c**steps)) / mp.mpf(std)
        found = noisy_chains.constant_chain(1.0, steps=steps, lipschitz=slope, noise_std=std).mu
        near_and_not_below(found, exact, mp.mpf("3e-12"))
    enormous = {"steps": 1, "lipschitz": 1.5, "noise_std": 0.5}
    assert noisy_chains.constant_chain(1e308, **enormous).mu == math.inf
    assert noisy_chains.constant_chain(0.62e308, **enormous).mu == math.inf
    assert noisy_chains.constant_chain(1e307, **enormous).mu == pytest.approx(3e307, rel=1e-9)


def test_every_row_of_a_kernel_sums_to_one():
    asked = {"first": [0.5, 0.5], "second": [0.25, 0.75], "coupling": np.diag([0.5, 0.5])}
    for rows in ([[0.7, 0.3], [0.4, 0.5]], [[0.7, 0.4], [0.4, 0.6]]):
        with pytest.raises(InvalidDescription, match="sum to 1"):
            coupling.coupled_renyi(2.0, kernel=rows, **asked)


def test_gradient_steps_are_not_said_to_contract_more_than_they_do():
    rng = np.random.default_rng(8)
    for eta, M in drawn(9, 600, (-12, 3), (-3, 3)):
        m = float(rng.uniform(-M, M))
        found = noisy_chains.gradient_contraction(eta, strong_convexity=m, smoothness=M)
        exact = max(abs(1 - mp.mpf(eta) * mp.mpf(m)), abs(1 - mp.mpf(eta) * mp.mpf(M)))
        assert exact <= found <= exact + mp.mpf("1e-15") * (1 + mp.mpf(eta) * mp.mpf(M))


def test_how_many_public_steps_are_needed_at_equality():
    for gap, needed in ((2.0, 3), (3.0, 8), (1.0, 0)):
        asked = {"gradient_gap": gap, "noise_std": 1.0}
        assert coupling.public_steps_needed(mu=1.0, contraction=1.0, **asked) == needed
    asked = {"gradient_gap": 6.0, "noise_std": 2.0, "contraction": 1.0}
    assert coupling.public_steps_needed(mu=1.5, **asked) == 3
    asked = {"gradient_gap": 2.0, "noise_std": 3.0, "contraction": 0.9}
    for steps in (0, 5, 17):
        mu = coupling.per_index_sgd(steps, **asked).mu
        assert coupling.public_steps_needed(mu=mu, **asked) == steps
    floor = math.sqrt(1.25) / 1.5 * (2.0 / 3.0)
    asked["contraction"] = 1.5
    assert coupling.public_steps_needed(mu=floor * 1.001, **asked) > 3
    for never in (floor, floor * 0.999):
        with pytest.raises(InvalidDescription, match="no number of steps"):
            coupling.public_steps_needed(mu=never, **asked)


HALVES, QUARTERS = [0.5, 0.5, 0.0], [0.25, 0.75, 0.0]


def test_finite_divergences_leave_out_what_neither_law_has():
    found = coupling.renyi_divergence(3.0, HALVES, QUARTERS)
    assert found == pytest.approx(math.log(0.125 / 0.0625 + 0.125 / 0.5625) / 2)
    assert coupling.renyi_divergence(2.0, [1.0], [1.0]) == 0.0
    assert coupling.renyi_divergence(2.0, QUARTERS, [0.5, 0.0, 0.5]) == math.inf
    for law in np.random.default_rng(9).dirichlet(np.ones(5), 50):
        assert coupling.renyi_divergence(1.0 + 1e-9, law, law) >= 0.0


def test_a_coupling_has_the_columns_of_the_first_law():
    kernel = [[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]]
    joint = np.diag(HALVES)
    found = coupling.coupled_renyi(
        2.0, first=HALVES, second=QUARTERS, coupling=joint, kernel=kernel
    )
    # the law in between is the first one itself: its divergence is all there is
    assert found == pytest.approx(coupling.renyi_divergence(2.0, HALVES, QUARTERS), rel=1e-9)
    moved = np.diag([0.5 + 1e-6, 0.5 - 1e-6, 0.0])
    with pytest.raises(InvalidDescription, match="columns"):
        coupling.coupled_renyi(2.0, first=HALVES, second=QUARTERS, coupling=moved, kernel=kernel)
    uncarried = coupling.coupled_renyi(
        2.0, first=HALVES, second=[1.0, 0.0, 0.0], coupling=joint, kernel=kernel
    )
    assert uncarried == math.inf
    # columns that sum to the first law but for rounding: nothing is left of it after the coupling
    first, second = np.random.default_rng(11).dirichlet(np.ones(5), 2)
    silent = coupling.coupled_renyi(
        2.0, first=first, second=second, coupling=np.outer(second, first), kernel=np.ones((5, 1))
    )
    assert 0.0 <= silent < 1e-12


@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.0 + 1e-6, 1.001, 2.0, 40.0])
def test_coupled_divergences_are_not_rounded_down_near_order_one(order):
    """Nothing is moved and the kernel is silent, so that the claim is the divergence itself.

    A logarithm near zero is divided by order - 1 there: once a third of the claims were too small.
    """
    rng = np.random.default_rng(10)
    a = mp.mpf(order)
    for _ in range(60):
        p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        found = coupling.coupled_renyi(
            order, first=p, second=q, coupling=np.diag(p), kernel=np.ones((4, 1))
        )
        P, Q = ([mp.mpf(float(x)) / mp.fsum(law.tolist()) for x in law] for law in (p, q))
        exact = mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in zip(P, Q, strict=True))) / (a - 1)
        assert exact <= found <= exact * (1 + LITTLE) + mp.mpf("1e-13") * a / (a - 1)
