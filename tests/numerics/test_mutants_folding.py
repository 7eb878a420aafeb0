"""How many steps are made one, and that the one is not below them: laid out and by hand."""

import math

import mpmath
import numpy as np
import pytest
from scipy import fft

from wane.guarantees import (
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    SampledGaussianStep,
    convolution,
)
from wane.guarantees.convolution import _counted
from wane.numerics import folding
from wane.numerics.discrete_losses import DiscreteLosses, GaussianLoss, connect_dots
from wane.numerics.folding import _bounded, _coarser, _reach, folded

NARROW = GaussianStep(0.01)
"""A step whose loss has a standard deviation of a hundredth."""


def asked(monkeypatch, atom, count, interval):
    """Which folds are tried, the widest first, if every one is refused."""
    tried = []

    def refused(dots, fine, times, coarse):
        tried.append((fine, times, coarse))

    monkeypatch.setattr(convolution, "folded", refused)
    ((_, left),) = _counted(atom, count, interval, False)
    assert left == count
    return tried


@pytest.mark.parametrize(
    ("atom", "deviation"),
    [
        (NARROW, 0.01),
        (SampledGaussianStep(0.01, 1.0 - 1e-12, Pair.ADD_OR_REMOVE), 0.01),
        (GaussianMixtureStep((0.0, 0.01, 0.02), (0.5, 0.3, 0.2)), math.sqrt(1.1e-4)),
    ],
)
def test_fine_grids_have_three_hundredths_of_a_deviation(monkeypatch, atom, deviation):
    interval = 9.0 * 0.03 * deviation  # nine: between eight and sixteen
    tried = asked(monkeypatch, atom, 100_000, interval)
    assert tried == [(interval / 2**k, 4**k, 2**k) for k in (3, 2, 1)]


def test_folds_are_neither_too_wide_nor_longer_than_the_run(monkeypatch):
    tried = asked(monkeypatch, NARROW, 10**9, 0.03 * 0.01 * 2.0**15)
    assert [coarse for _, _, coarse in tried] == [2**k for k in range(11, 0, -1)]
    tried = asked(monkeypatch, NARROW, 5000, 0.03 * 0.01 * 2.0**9)
    assert [times for _, times, _ in tried] == [
        5000,
        5000,
        5000,
        4096,
        *(4**k for k in (5, 4, 3, 2, 1)),
    ]


def test_few_steps_wide_ones_and_shown_ones_are_not_folded(monkeypatch):
    interval = 0.03 * 0.01 * 9.0
    assert asked(monkeypatch, NARROW, 4095, interval) == []
    assert len(asked(monkeypatch, NARROW, 4096, interval)) == 3
    assert asked(monkeypatch, NARROW, 100_000, 0.03 * 0.01 * 1.5) == []
    shown = SampledGaussianStep(101.0, 0.25, Pair.REPLACE)
    assert asked(monkeypatch, shown, 100_000, interval) == []


@pytest.mark.parametrize("count", [100_000, 6400 * 64])
def test_folded_steps_are_as_many_and_spread_as_much(count):
    """Sixty-four at a time and the rest one by one; mean and variance are those of Gaussians."""
    interval = 0.03 * 0.01 * 9.0
    parts = _counted(NARROW, count, interval, False)
    left = count % 64
    assert [times for _, times in parts] == [count // 64, *([left] if left else [])]
    mean = variance = 0.0
    for dots, times in parts:
        losses = dots.places * interval
        one = float(np.sum(dots.masses * losses))
        mean += times * one
        variance += times * float(np.sum(dots.masses * (losses - one) ** 2))
        assert 1.0 <= float(np.sum(dots.masses)) < 1.0 + 1e-9
    assert mean == pytest.approx(count * 0.01**2 / 2, rel=1e-3)
    assert count * 0.01**2 * (1 - 1e-9) <= variance <= count * 0.01**2 * 1.001


def powers_of(places, masses, count):
    """Masses of the sum by plain convolution with 64 bits: relative to themselves good to 1e-17."""
    whole = np.zeros(places.max() - places.min() + 1, dtype=np.longdouble)
    whole[places - places.min()] = masses
    found = np.ones(1, dtype=np.longdouble)
    for _ in range(count):
        found = np.convolve(found, whole)
    return int(places.min()) * count, found


SKEWED = DiscreteLosses(np.array([-3, -1, 0, 2, 7]), np.array([0.2, 0.3, 0.1, 0.35, 0.05]), 0.0)


@pytest.mark.parametrize("tilt", [0.0, 0.4, 2.5])
@pytest.mark.parametrize("count", [1, 2, 9, 64, 300])
def test_every_mass_of_a_sum_is_bounded_and_by_little(count, tilt):
    """Tilted the bound is sharp in the upper tail, where a mass may be 1e-40; flat it is not."""
    start, exact = powers_of(SKEWED.places, SKEWED.masses, count)
    length = int(fft.next_fast_len(max(exact.size + 20, 64), real=True))
    found = _bounded(SKEWED, 0.1, count, (start - 5, length), tilt)
    exact = np.concatenate([np.zeros(5), exact, np.zeros(length - exact.size - 5)])
    assert np.all(found >= exact)
    places = start - 5 + np.arange(length)
    _, log_moment = SKEWED.tilted(tilt, 0.1)
    weights = np.exp(count * log_moment - tilt * 0.1 * places)
    assert np.all(found - exact <= 1e-11 * exact + 2e-15 * (count + 3) * weights)


def test_windows_reach_as_far_as_chernoff_says():
    """For a Gaussian loss the best of Chernoff's bounds is mu^2/2 + mu sqrt(2 nats), summed."""
    mu, interval = 0.1, 0.002
    dots = connect_dots(GaussianLoss(mu), interval)
    for count in (50, 10_000):
        mean, deviation = count * mu**2 / 2, mu * math.sqrt(count)
        for side, nats in ((1.0, 90.0), (-1.0, 60.0), (1.0, 5.0)):
            expected = side * mean + deviation * math.sqrt(2 * nats)
            found = _reach(dots, interval, count, side, nats)
            assert found == pytest.approx(expected, rel=2e-3, abs=interval)
    made = folded(dots, interval, 50, 1)
    low = 50 * mu**2 / 2 - mu * math.sqrt(50 * 2 * 60.0)
    high = 50 * mu**2 / 2 + mu * math.sqrt(50 * 2 * 90.0)
    assert made.places[0] * interval == pytest.approx(low, rel=2e-3)
    assert high * 0.998 <= made.places[-1] * interval <= high + 0.1 * (high - low)


def test_upper_tails_are_sharp():
    """Bounds on masses down to 1e-22, as deltas of many compositions are small, too."""
    interval = 0.01
    dots = connect_dots(GaussianLoss(0.1), interval)
    made = folded(dots, interval, 64, 1)
    start, exact = powers_of(dots.places, dots.masses, 64)
    for place, mass in zip(made.places.tolist(), made.masses.tolist(), strict=True):
        truth = float(exact[place - start])
        if place > 0 and truth > 1e-22:
            assert truth <= mass <= truth * 1.1


def test_what_leaves_a_narrow_window_is_counted(monkeypatch):
    """With e^-5 below and e^-4 above: moved up into the window, or an infinite loss."""
    monkeypatch.setattr(folding, "_LOW", 5.0)
    monkeypatch.setattr(folding, "_HIGH", 4.0)
    interval = 0.01
    dots = connect_dots(GaussianLoss(0.1), interval)
    made = folded(dots, interval, 64, 1)
    assert made.masses[0] >= math.exp(-5.0)
    assert math.exp(-4.0) <= made.infinite <= math.exp(-4.0) + 1e-12
    start, exact = powers_of(dots.places, dots.masses, 64)
    whole = DiscreteLosses(start + np.arange(exact.size), exact.astype(float), 0.0)
    assert made.places[0] > start and made.places[-1] < start + exact.size
    for epsilon in np.linspace(-2.0, 3.0, 51):
        truth = whole.hockey_stick(epsilon, interval)
        assert made.hockey_stick(epsilon, interval) + made.infinite >= truth


def test_infinite_losses_of_many_steps():
    """1 - (1 - q)^n, with forty digits, and no more than n q."""
    rng = np.random.default_rng(1)
    for count in rng.integers(2, 500, 40).tolist():
        rare = float(10.0 ** rng.uniform(-20, -12))
        dots = DiscreteLosses(np.array([0, 1]), np.array([0.5, 0.5]), rare)
        with mpmath.workdps(60):
            exact = 1 - (1 - mpmath.mpf(rare)) ** count
            assert exact <= folded(dots, 0.1, count, 1).infinite <= count * rare * (1 + 1e-8)


def test_grids_that_are_too_long_are_not_made(monkeypatch):
    dots = connect_dots(GaussianLoss(0.1), 0.01)
    length = folded(dots, 0.01, 64, 1).places.size
    for longest, made in ((length, True), (length - 1, False)):
        monkeypatch.setattr(folding, "LONGEST", longest)
        assert (folded(dots, 0.01, 64, 1) is not None) is made


def test_shares_of_the_upper_dot_are_never_below_the_exact_ones():
    """e^-l = u e^-(upper) + (1 - u) e^-(lower): a smaller u would look more private."""
    rng = np.random.default_rng(2)
    for interval in (10.0 ** rng.uniform(-6, -1, 60)).tolist():
        coarse, at = int(rng.integers(2, 64)), int(rng.integers(-500, 500))
        made = _coarser(at, np.array([1.0]), interval, coarse, 0.0)
        lower = at // coarse
        if at % coarse == 0:
            assert made.places.tolist() == [lower] and made.masses.tolist() == [1.0]
            continue
        assert made.places.tolist() == [lower, lower + 1]
        with mpmath.workdps(40):
            step = mpmath.mpf(interval)
            exact = mpmath.expm1(-step * (at - lower * coarse)) / mpmath.expm1(-step * coarse)
            assert exact <= made.masses[1] <= exact * (1 + 3e-13)
        assert float(np.sum(made.masses)) == pytest.approx(1.0, rel=1e-15)
