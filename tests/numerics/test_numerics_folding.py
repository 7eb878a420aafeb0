"""Folded steps: never below the exact composition, and close to it."""

import math

import numpy as np
import pytest

from wane.guarantees import GaussianDP, NumericalDP, Pair, SampledGaussianStep
from wane.numerics.composed_losses import ComposedLosses
from wane.numerics.discrete_losses import DiscreteLosses, GaussianLoss, connect_dots
from wane.numerics.folding import folded


def by_hand(places, masses, count):
    """Masses of the sum of so many equal losses, by plain convolution."""
    whole = np.zeros(places.max() - places.min() + 1)
    whole[places - places.min()] = masses
    found = np.ones(1)
    for _ in range(count):
        found = np.convolve(found, whole)
    return places.min() * count + np.arange(found.size), found


@pytest.mark.parametrize("count", [1, 2, 7, 64])
@pytest.mark.parametrize("coarse", [1, 2, 8])
def test_folded_steps_dominate_the_plain_convolution(count, coarse):
    """At every epsilon, on every grid; equal up to rounding where the grid is not coarser."""
    interval = 0.01
    dots = connect_dots(GaussianLoss(0.1), interval)
    made = folded(dots, interval, count, coarse)
    places, masses = by_hand(dots.places, dots.masses, count)
    exact = DiscreteLosses(places, masses, 0.0)
    for epsilon in np.linspace(0.0, 3.0, 61):
        fine = exact.hockey_stick(epsilon, interval)
        found = made.hockey_stick(epsilon, coarse * interval) + made.infinite
        assert found >= fine
        if coarse == 1:
            assert found <= fine * (1.0 + 1e-9) + 1e-15
    # what a split adds to the variance is at most a quarter of the squared gap
    losses = made.places * coarse * interval
    mean = np.sum(made.masses * losses)
    exact_mean = np.sum(masses * places * interval)
    assert mean == pytest.approx(exact_mean, abs=0.25 * (coarse * interval) ** 2 + 1e-12)


def test_masses_under_both_laws_are_kept():
    dots = connect_dots(GaussianLoss(0.1), 0.01)
    made = folded(dots, 0.01, 16, 4)
    assert np.sum(made.masses) == pytest.approx(np.sum(dots.masses) ** 16, rel=1e-11)
    assert np.sum(made.masses) >= np.sum(dots.masses) ** 16
    other = np.sum(dots.masses * np.exp(-0.01 * dots.places)) ** 16
    assert np.sum(made.masses * np.exp(-0.04 * made.places)) == pytest.approx(other, rel=1e-9)


def test_infinite_losses_are_kept():
    dots = DiscreteLosses(np.array([0, 1]), np.array([0.5, 0.4]), 0.1)
    assert folded(dots, 0.1, 3, 1).infinite >= 0.3


def test_a_window_that_is_too_wide_is_refused():
    dots = DiscreteLosses(np.array([0, 10**9]), np.array([0.5, 0.5]), 0.0)
    assert folded(dots, 1e-6, 4, 2) is None


@pytest.mark.parametrize("count", [10**7, 10**9])
@pytest.mark.parametrize("pair", [Pair.ADD_OR_REMOVE, Pair.FIXED_SIZE])
def test_many_small_steps_approach_their_gaussian_limit(pair, count):
    """At 1e9 steps epsilon was 3 % too large, because the grid was coarse."""
    mu, rate = 0.01, 0.01 * math.sqrt(10**7 / count)
    limit = GaussianDP(rate * mu * math.sqrt(count))
    found = NumericalDP(((SampledGaussianStep(mu, rate, pair), count),))
    for delta in (1e-2, 1e-6, 1e-10):
        assert limit.epsilon(delta) <= found.epsilon(delta) <= limit.epsilon(delta) * 1.008


def test_folding_changes_nothing_but_the_work():
    """The same steps, composed on the fine grid throughout."""
    step = connect_dots(GaussianLoss(0.05), 0.001)
    plain = ComposedLosses([(step, 4096)], 0.001)
    made = folded(step, 0.001, 64, 8)
    quick = ComposedLosses([(made, 64)], 0.008)
    for delta in (1e-3, 1e-6, 1e-12):
        assert quick.epsilon(delta) == pytest.approx(plain.epsilon(delta), rel=2e-4)
        assert quick.epsilon(delta) >= GaussianDP(3.2).epsilon(delta)
