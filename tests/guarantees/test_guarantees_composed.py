"""Composition through profiles: above exact oracles, and close to them."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import integrate, stats

from wane.guarantees import ComposedDP, GaussianDP, Guarantee, RenyiDP, WithFailure
from wane.guarantees.composed import dots_of, own_dots, reach_of
from wane.mechanisms import AmplifiedGuarantee, MarkovKernel
from wane.numerics.normal import gaussian_delta
from wane.numerics.profile_dots import profile_dots
from wane.theorems.kernel.amplification import pure_renyi

RESPONSE = AmplifiedGuarantee(GaussianDP(3.0), MarkovKernel.randomized_response(1.0))


@dataclass(frozen=True)
class Response(Guarantee):
    """Randomised response, known exactly: an oracle."""

    level: float
    generality: ClassVar[int] = 4

    def delta(self, epsilon):
        right = 1 / (1 + math.exp(-self.level))
        return max(right - math.exp(epsilon) * (1 - right), 0.0)

    def epsilon(self, delta):
        right = 1 / (1 + math.exp(-self.level))
        return max(math.log(max((right - delta) / (1 - right), 1.0)), 0.0)

    def renyi(self, order):
        return pure_renyi(order, self.level)

    def group(self, size):
        return Response(self.level * size)

    def repeat(self, times):
        return ComposedDP(((self, times),))

    def absorb(self, others):
        return ComposedDP(((self, 1), *((o, 1) for o in others)))


def responses(level, times, epsilon):
    """The exact profile of so many responses: the number of true answers says everything."""
    right = 1 / (1 + math.exp(-level))
    truths = np.arange(times + 1)
    p, q = stats.binom.pmf(truths, times, right), stats.binom.pmf(truths, times, 1 - right)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("times", [1, 2, 3, 10, 57])
@pytest.mark.parametrize("level", [0.1, 1.0, 2.5])
def test_responses_are_composed_exactly(level, times):
    made = Response(level).repeat(times)
    for share in (0.0, 0.1, 0.35, 0.6, 0.9):
        epsilon = share * level * times
        exact = responses(level, times, epsilon)
        assert exact <= made.delta(epsilon) * (1 + 1e-12)
        assert made.delta(epsilon) <= exact * 1.002 + 1e-12
    assert made.delta(level * times * (1 + 1e-12)) == 0.0
    assert made.epsilon(0.0) == pytest.approx(level * times, rel=1e-9)


@pytest.mark.parametrize(("mu", "times"), [(0.3, 1), (0.3, 9), (1.0, 4), (3.0, 2)])
def test_gaussians_through_profiles_are_still_gaussians(mu, times):
    made, exact = ComposedDP(((GaussianDP(mu), times),)), GaussianDP(mu * math.sqrt(times))
    for epsilon in (0.0, 0.5, 2.0, 5.0):
        assert exact.delta(epsilon) <= made.delta(epsilon) * (1 + 1e-12)
    for delta in (1e-3, 1e-6, 1e-12):
        assert exact.epsilon(delta) <= made.epsilon(delta) <= exact.epsilon(delta) * 1.003
    assert made.renyi(3.0) >= exact.renyi(3.0) * (1 - 1e-12)


def test_a_response_after_a_response_is_a_response():
    """Both are exact: the kernel flips again, and the composition counts answers."""
    first, second = 2.0, 1.0
    made = AmplifiedGuarantee(Response(first), MarkovKernel.randomized_response(second))
    kept = [1 / (1 + math.exp(-level)) for level in (first, second)]
    right = kept[0] * kept[1] + (1 - kept[0]) * (1 - kept[1])
    level = math.log(right / (1 - right))
    assert made.epsilon(0.0) == pytest.approx(level, rel=1e-6)
    for times, share in itertools.product((2, 5, 20), (0.2, 0.5, 0.8)):
        epsilon = share * level * times
        exact = responses(level, times, epsilon)
        got = made.repeat(times).delta(epsilon)
        assert exact <= got * (1 + 1e-12) and got <= exact * 1.01 + 1e-12
    for order in (1.1, 2.0, 7.0, 50.0):
        truth = pure_renyi(order, level)
        assert truth * (1 - 1e-6) <= made.renyi(order) <= truth * (1 + 1e-4)


def test_two_responses_after_a_gaussian():
    assert RESPONSE.epsilon(1e-6) == pytest.approx(0.8646, abs=1e-4)
    assert RESPONSE.repeat(2).epsilon(1e-6) <= 1.73
    assert RESPONSE.compose(RESPONSE).epsilon(1e-6) <= 1.73
    assert RESPONSE.repeat(10).epsilon(1e-6) <= 8.648
    assert RESPONSE.renyi(2.0) <= RESPONSE.epsilon(0.0)
    assert RESPONSE.repeat(2).epsilon(0.0) <= 1.73
    # a group of any size is no worse than the kernel allows, and composes as well
    assert RESPONSE.group(5).epsilon(0.0) <= 1.0 + 1e-9
    assert RESPONSE.group(5).repeat(3).epsilon(1e-6) <= 3.0 + 1e-8
    assert RESPONSE.repeat(2).group(2).epsilon(0.0) <= 2 * RESPONSE.group(2).epsilon(0.0) * 1.001


def exact_profile(epsilon):
    """The profile of a randomised response of parameter one after a Gaussian of mu 3."""
    before = gaussian_delta(epsilon, 3.0)
    right, m = math.e / (1 + math.e), 1 + math.expm1(epsilon) / before
    return before * max(right - m * (1 - right), 0.0)


def test_the_composition_is_above_a_lower_bound_by_plain_convolution():
    """Losses between two points are moved down here, where `profile_dots` splits them."""
    step = 2e-4
    epsilons = np.arange(0.0, 0.87, step)
    values = np.array([exact_profile(e) for e in epsilons])
    odds = np.exp(epsilons)
    q = np.diff(np.append(np.diff(values) / np.diff(odds), 0.0))
    p = np.maximum(q, 0.0) * odds[1:]
    below = np.concatenate([np.maximum(q, 0.0)[::-1], [1 - p.sum() - q.sum()], p])
    places = np.arange(-len(p), len(p) + 1)
    two, sums = np.convolve(below, below), np.arange(2 * places[0], 2 * places[-1] + 1)
    for epsilon in (0.0, 0.4, 1.0, 1.5):
        # moved down by one step per loss
        lower = float(np.sum(two * np.maximum(-np.expm1(epsilon - (sums - 2) * step), 0.0)))
        got = RESPONSE.repeat(2).delta(epsilon)
        assert lower <= got <= lower * 1.01 + 1e-4


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 5.0])
def test_the_divergence_of_a_profile_is_that_of_its_hockey_sticks(order):
    """exp((a-1) R) = 1 + a (a-1) int (h - (1-g)_+) g^(a-2), an integral over all thresholds."""

    def above(g):
        return g ** (order - 2) * exact_profile(math.log(g))

    def below(g):  # h(g) - (1 - g) = g h(1/g), g < 1
        return g ** (order - 2) * g * exact_profile(-math.log(g))

    total = integrate.quad(above, 1.0, 2.4, limit=200)[0] + integrate.quad(below, 0.4, 1.0)[0]
    exact = math.log1p(order * (order - 1) * total) / (order - 1)
    assert exact * (1 - 1e-7) <= RESPONSE.renyi(order) <= exact * 1.001


def test_the_dots_of_noisy_bounds_dominate_and_are_a_measure():
    rng = np.random.default_rng(5)
    for _ in range(50):
        places = np.unique(np.concatenate([[0], rng.integers(1, 400, size=40)]))
        interval, mu = 0.02, rng.uniform(0.2, 1.5)
        true = np.array([gaussian_delta(float(p) * interval, mu) for p in places])
        given = true * (1 + rng.uniform(0.0, 0.2, size=places.size))
        dots = profile_dots(places, given, interval)
        assert np.all(dots.masses > 0) and np.all(np.diff(dots.places) > 0)
        assert dots.masses.sum() + dots.infinite >= 1.0
        for epsilon in rng.uniform(0.0, 9.0, size=20):
            got = dots.hockey_stick(epsilon, interval) + dots.infinite
            assert got >= gaussian_delta(epsilon, mu) * (1 - 1e-12)
            mirrored = 1 - math.exp(-epsilon) * (1 - gaussian_delta(epsilon, mu))
            assert dots.hockey_stick(-epsilon, interval) + dots.infinite >= mirrored * (1 - 1e-12)


def test_compositions_of_every_kind():
    zcdp, failing = RenyiDP.zcdp(0.1), WithFailure(RESPONSE, 1e-9)
    for other in (GaussianDP(1.0), zcdp, GaussianDP(0.5).compose(RESPONSE)):
        made, turned = RESPONSE.compose(other), other.compose(RESPONSE)
        assert made.epsilon(1e-6) == pytest.approx(turned.epsilon(1e-6), rel=1e-9)
        assert made.epsilon(1e-6) >= other.epsilon(1e-6) * (1 - 1e-9)
        alone = RESPONSE.epsilon(0.0) + other.epsilon(1e-6)
        assert made.epsilon(1e-6) <= alone * (1 + 1e-3)
    assert failing.compose(GaussianDP(1.0)).delta(2.0) >= 1e-9
    nothing = AmplifiedGuarantee(GaussianDP(1.0), MarkovKernel([[0.5, 0.5], [0.5, 0.5]]))
    assert nothing.repeat(3).epsilon(1e-9) == 0.0
    assert nothing.renyi(3.0) == 0.0
    assert nothing.compose(GaussianDP(1.0)).epsilon(1e-6) >= GaussianDP(1.0).epsilon(1e-6)
    assert RESPONSE.compose(GaussianDP(math.inf)).delta(1.0) == 1.0
    assert math.isinf(RESPONSE.compose(GaussianDP(math.inf)).epsilon(1e-6))


def test_counts_do_not_depend_on_the_order_of_composition():
    one = RESPONSE.compose(RESPONSE, RESPONSE)
    assert one.parts == RESPONSE.repeat(3).parts
    assert RESPONSE.repeat(2).compose(RESPONSE).parts == one.parts
    assert one.repeat(2).parts == RESPONSE.repeat(6).parts
    assert own_dots(RESPONSE)[0].infinite == 0.0
    coarse = dots_of(RESPONSE, 0.05, reach_of(RESPONSE), 512)
    assert coarse.hockey_stick(0.3, 0.05) >= RESPONSE.delta(0.3)


@pytest.mark.parametrize(
    "matrix", [np.eye(2), np.eye(3)[[1, 2, 0]], [[0.999, 0.001], [0.001, 0.999]]]
)
def test_no_kernel_makes_delta_larger(matrix):
    kernel = MarkovKernel(matrix)
    for epsilon, delta in ((1.0, 0.001), (0.0, 0.3), (2.0, 1e-9)):
        found = kernel.amplify(epsilon=epsilon, delta=delta)
        for point in (found.dobrushin, found.threshold, found.ultra_mixing, found.exact):
            assert point.delta <= delta
        assert kernel.amplified_delta(epsilon, epsilon=epsilon, delta=delta) <= delta
    before = GaussianDP(1.0)
    assert AmplifiedGuarantee(before, kernel).delta(1.0) <= before.delta(1.0)
