"""Sums of discrete Laplace noises against convolutions in fractions and integrals of densities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.mechanisms import IteratedLaplace, PrivacyTarget, calibrated_iterated_laplace
from wane.theorems.laplace.sums import LaplaceSumDP


def brute_law(scales: tuple[int, ...], reach: int) -> np.ndarray:
    """The law of the sum by plain convolution."""
    values = np.arange(-reach, reach + 1)
    law = np.ones(1)
    for scale in scales:
        one = np.exp(-np.abs(values) / scale)
        law = np.convolve(law, one / one.sum())
    middle = law.size // 2
    return law[middle - reach : middle + reach + 1]


@pytest.mark.parametrize(
    ("shift", "scales"), [(3, (4,)), (5, (4, 9)), (8, (3, 3, 7)), (2, (1, 2, 5, 6))]
)
def test_delta_is_the_sum_over_all_numbers(shift: int, scales: tuple[int, ...]) -> None:
    law = brute_law(scales, 900)
    made = LaplaceSumDP(shift, scales)
    own, other = law[shift:], law[:-shift]
    for epsilon in (0.0, 0.05, 0.3, 0.9 * made.pure_epsilon):
        exact = float(np.maximum(own - math.exp(epsilon) * other, 0.0).sum())
        assert exact - 1e-13 <= made.delta(epsilon) <= exact + 1e-9
    for order in (1.5, 2.0, 8.0):
        kept = (own > 1e-40) & (other > 1e-40)
        exact = math.log(np.sum(own[kept] ** order * other[kept] ** (1 - order))) / (order - 1.0)
        assert exact * (1.0 - 1e-9) - 1e-13 <= made.renyi(order) <= exact * (1.0 + 1e-6)
    assert made.delta(made.pure_epsilon) == 0.0
    assert made.pure_epsilon == pytest.approx(shift / max(scales), rel=1e-12)
    assert made.delta(made.epsilon(1e-3)) <= 1e-3
    assert made.group(2).shift == 2 * shift


def test_epsilons_groups_and_repetitions_are_those_of_the_law() -> None:
    law, made = brute_law((3, 5), 160), LaplaceSumDP(4, (3, 5))

    def gap(shift: int, epsilon: float) -> float:
        return float(np.maximum(law[shift:] - math.exp(epsilon) * law[:-shift], 0.0).sum())

    for delta in (1e-3, 0.05):
        assert gap(4, made.epsilon(delta)) <= delta
    assert gap(8, 0.3) <= made.group(2).delta(0.3)
    own, other = np.outer(law[4:], law[4:]), np.outer(law[:-4], law[:-4])
    for epsilon in (0.1, 0.6):
        both = float(np.maximum(own - math.exp(epsilon) * other, 0.0).sum())
        assert both <= made.repeat(2).delta(epsilon)
        assert both <= made.compose(made).delta(epsilon)
        assert made.compose(made).delta(epsilon) < 1.1 * both


def test_a_shift_far_beyond_the_noise_hides_nothing() -> None:
    """Once a ratio of two underflown numbers was read as zero, and delta with it."""
    for shift in (100, 700, 5000, 1 << 24):
        made = LaplaceSumDP(shift, (4, 2))
        assert made.delta(0.5) > 1.0 - 1e-4
        assert made.delta(0.9 * made.pure_epsilon) > 0.0
        assert made.renyi(2.0) > 0.9 * made.pure_epsilon


def test_vectors_are_covered_by_one_entry() -> None:
    """Two entries with independent noise, every split of the shift, summed over the plane."""
    law, shift, scales = brute_law((3, 5), 160), 4, (3, 5)
    made = LaplaceSumDP(shift, scales)
    plane = np.outer(law, law)
    for first in range(shift + 1):
        second = shift - first
        own = plane[first:, second:]
        other = plane[: plane.shape[0] - first, : plane.shape[1] - second]
        for epsilon in (0.0, 0.2, 0.5):
            exact = float(np.maximum(own - math.exp(epsilon) * other, 0.0).sum())
            assert exact <= made.delta(epsilon) + 1e-12


def test_the_sum_of_two_agrees_with_the_density_of_the_continuous_sum() -> None:
    mechanism = IteratedLaplace(1.0, 1.0, 2.0)
    points = (np.arange(-400_000, 400_000) + 0.5) * 1e-4
    one = stats.laplace.pdf(points, 0.0, 1.0)
    # density of the sum of scales a, b: (a^2 Lap_a - b^2 Lap_b)/(a^2 - b^2)
    density = (4.0 * stats.laplace.pdf(points, 0.0, 2.0) - one) / 3.0
    moved = (4.0 * stats.laplace.pdf(points, 1.0, 2.0) - stats.laplace.pdf(points, 1.0, 1.0)) / 3.0
    for epsilon in (0.0, 0.1, 0.3):
        exact = float(np.maximum(density - math.exp(epsilon) * moved, 0.0).sum() * 1e-4)
        assert exact <= mechanism.delta(epsilon) <= 1.02 * exact + 1e-9
    assert mechanism.delta(0.6) == 0.0


def test_more_noises_are_more_private_and_any_number_is_allowed() -> None:
    two = IteratedLaplace(1.0, 1.0, 1.0)
    four = IteratedLaplace(1.0, 1.0, 1.0, further_scales=(1.0, 0.5))
    assert four.delta(0.3) < two.delta(0.3)
    assert four.guarantee.renyi(4.0) < two.guarantee.renyi(4.0)
    assert four.renyi(4.0) == four.guarantee.renyi(4.0)
    assert four.pure_epsilon == two.pure_epsilon
    both = four.guarantee.compose(GaussianDP(0.5))
    assert both.epsilon(1e-6) > four.guarantee.epsilon(1e-6)
    with pytest.raises(InvalidDescription, match=r"further_scales\[0\]"):
        IteratedLaplace(1.0, 1.0, 1.0, further_scales=(0.0,))


def test_releases_have_the_noise_that_is_accounted_for() -> None:
    mechanism = IteratedLaplace(1.0, 0.5, 1.0, further_scales=(0.7,), dimension=3)
    drawn = np.array([mechanism.release([0.25, -1.0, 7.0]) for _ in range(700)])
    assert np.all(drawn % mechanism.unit == 0.0)
    assert np.allclose(drawn.mean(axis=0), [0.25, -1.0, 7.0], atol=0.4)
    variance = 2.0 * (0.25 + 1.0 + 0.49)
    assert np.allclose(drawn.var(axis=0), variance, rtol=0.5)
    for bad in ("a", None, [1.0], [math.nan, 0.0, 0.0]):
        with pytest.raises(InvalidDescription, match="statistic"):
            mechanism.release(bad)


def test_calibration_meets_its_target_and_wastes_little() -> None:
    target = PrivacyTarget(epsilon=0.5, delta=1e-3)
    made = calibrated_iterated_laplace(
        target, sensitivity=2.0, proportions=(1.0, 2.0, 0.5), dimension=2
    )
    assert made.delta(0.5) <= 1e-3
    smaller = IteratedLaplace(
        2.0,
        made.first_scale * 0.97,
        made.second_scale * 0.97,
        further_scales=tuple(0.97 * s for s in made.further_scales),
        dimension=2,
    )
    assert smaller.delta(0.5) > 1e-3
    assert made.second_scale == pytest.approx(2.0 * made.first_scale)
    with pytest.raises(InvalidDescription, match="proportions"):
        calibrated_iterated_laplace(target, sensitivity=1.0, proportions=(1.0,))
    with pytest.raises((InvalidDescription, Unreachable)):
        calibrated_iterated_laplace(PrivacyTarget(mu=1.0), sensitivity=1.0)


@pytest.mark.parametrize("scales", [(1,), (4,), (2, 5)])
def test_the_least_shift_costs_what_the_law_says(scales: tuple[int, ...]) -> None:
    """One unit, which is not none; and just below the level of pure privacy hardly anything."""
    law, made = brute_law(scales, 300), LaplaceSumDP(1, scales)
    own, other = law[1:], law[:-1]
    for share in (0.0, 0.5, 0.99, 1.0 - 1e-9):
        epsilon = share * made.pure_epsilon
        exact = float(np.maximum(own - math.exp(epsilon) * other, 0.0).sum())
        assert exact - 1e-13 <= made.delta(epsilon) <= exact + 1e-9
    for delta in (1e-3, 1e-6):
        found = made.epsilon(delta)
        assert 0.0 < found <= made.pure_epsilon
        assert float(np.maximum(own - math.exp(found) * other, 0.0).sum()) <= delta


def test_a_shift_beyond_the_law_and_none_at_all() -> None:
    far, near = LaplaceSumDP(10**6, (2,)), LaplaceSumDP(0, (2,))
    assert far.delta(0.0) == 1.0 and far.delta(far.pure_epsilon) == 0.0
    assert far.renyi(2.0) == far.pure_epsilon
    assert near.delta(0.0) == near.epsilon(0.0) == near.renyi(3.0) == 0.0
    for wrong in (-1, -2):
        with pytest.raises(InvalidDescription, match="shift"):
            LaplaceSumDP(wrong, (2,))


@pytest.mark.parametrize("scales", [(1, 1), (1, 9), (4, 4), (3, 40)])
def test_hardly_anything_lies_beyond_the_reach(scales: tuple[int, int]) -> None:
    """The sum over one noise of what the other has beyond, in sixty digits; and no more is kept."""
    mp = mpmath.mp.clone()
    mp.dps = 60
    first, second = (mp.exp(-1 / mp.mpf(scale)) for scale in scales)

    def beyond(m: int) -> mpmath.mpf:
        if m >= 0:
            return second ** (m + 1) / (1 + second)
        return 1 - second**-m / (1 + second)

    def left(reach: int) -> mpmath.mpf:
        share = (1 - first) / (1 + first)
        width = 150 * max(scales)
        places = range(-width, reach + width)
        return 2 * share * sum((first ** abs(x) * beyond(reach - x) for x in places), mp.mpf(0))

    reach = LaplaceSumDP(1, scales)._reach
    assert left(reach) <= mp.exp(-69)
    assert left(2 * reach // 3) > mp.exp(-69)


@pytest.mark.parametrize("scales", [(2,) * 60, (1, 3) * 25])
def test_the_reach_grows_with_the_number_of_noises(scales: tuple[int, ...]) -> None:
    """Sums of positive numbers keep their digits however small they are."""
    reach = LaplaceSumDP(1, scales)._reach
    law = np.ones(1)
    for scale in scales:
        one = np.exp(-np.abs(np.arange(-80 * scale, 80 * scale + 1)) / scale)
        law = np.convolve(law, one / one.sum())
    middle = law.size // 2
    assert 2.0 * law[middle + reach + 1 :].sum() <= math.exp(-69.0)
    assert 2.0 * law[middle + reach // 2 :].sum() > math.exp(-69.0)
