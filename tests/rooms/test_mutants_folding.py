"""How many steps are made one, and that the one is not below them: laid out and by hand."""

import math

import numpy as np
import pytest

from wane.guarantees import (
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    SampledGaussianStep,
    convolution,
)
from wane.guarantees.convolution import _counted

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
