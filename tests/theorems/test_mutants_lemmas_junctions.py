"""The programme of long arrays, cut into chunks: where chunks meet, and where numbers are large."""

import math
from itertools import pairwise

import numpy as np
import pytest
from staircases import minorant, mp, near

from wane.theorems.lemmas import isotonic
from wane.theorems.lemmas.programme import LEAST

wide = mp.clone()


def least_cost(log_shift, log_variance, log_product, digits=60):
    """The greatest convex minorant of the staircase of one block per entry."""
    with wide.workdps(digits):
        P, corners = wide.mpf(1), [(wide.mpf(0), wide.mpf(0))]
        for s, u, g in zip(log_shift, log_variance, log_product, strict=True):
            P *= wide.exp(wide.mpf(float(g)))
            x, y = corners[-1]
            step = wide.exp(wide.mpf(float(u))) / P**2, wide.exp(wide.mpf(float(s))) / P
            corners.append((x + step[0], y + step[1]))
        pieces = ((b[1] - a[1]) ** 2 / (b[0] - a[0]) for a, b in pairwise(minorant(corners)))
        return mp.mpf(wide.fsum(pieces))


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(12))
def test_chunks_meet_anywhere(seed, width, monkeypatch):
    """Short chunks of several blocks, of which a junction takes some and leaves some."""
    monkeypatch.setattr(isotonic, "RANGE", width)
    draw = np.random.default_rng(seed)
    count = int(draw.integers(2, 60))
    drift = draw.choice([-0.3, 0.0, 0.1, 0.4])
    shift = draw.normal(0.0, 2.0, count)
    if seed % 2:  # levels that rise, and fall now and then, so that few blocks pool
        shift = np.linspace(-3.0, 3.0, count) + draw.normal(0.0, 0.5, count)
    rows = shift, draw.normal(0.0, 0.5, count), draw.normal(drift, 0.2, count)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows))


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 768, 900])
def test_windows_end_where_the_run_does(count):
    draw = np.random.default_rng(count)
    shift = draw.normal(0.0, 1.0, count)
    rows = shift, np.zeros(count), draw.normal(0.0, 0.05, count)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows))


@pytest.mark.parametrize("seed", range(4))
def test_products_that_rise_and_fall(seed):
    """By four hundred and back, so that chunks begin far from where the run does."""
    draw = np.random.default_rng(seed)
    product = np.concatenate([np.full(40, 10.0), np.full(90, -10.0), np.full(30, 10.0)])
    rows = draw.normal(0.0, 1.0, 160), draw.normal(0.0, 1.0, 160), product
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))
    rows = rows[0], rows[1], -product
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))


def test_shifts_and_variances_of_very_different_size():
    shift = np.array([-340.0, 0.0, 340.0, -300.0])
    rows = shift, np.zeros(4), np.zeros(4)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))
    rows = np.zeros(4), shift, np.zeros(4)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))
    rows = np.array([-720.0, 0.0, -10.0, -700.0]), np.zeros(4), np.zeros(4)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))
    rows = np.zeros(2), np.array([0.0, -380.0]), np.array([-170.0, 0.0])
    assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=1200))


def test_products_at_the_edge_of_a_chunk_are_not_rounded_down():
    """The logarithm of the product is known to an ulp of two hundred."""
    draw = np.random.default_rng(0)
    for _ in range(100):
        product = np.array([draw.uniform(100.0, 199.0), 0.0]) * draw.choice([-1.0, 1.0])
        product[1] = draw.uniform(-0.5, 0.5)
        for shift in (draw.uniform(-150.0, 150.0, 2), draw.uniform(-1.0, 1.0, 2)):
            rows = shift, draw.normal(0.0, 1.0, 2), product
            assert near(isotonic.mu_squared(*rows), least_cost(*rows, digits=600), "1e-12")


@pytest.mark.parametrize("scale", [1e3, 1e5])
def test_large_logarithms_are_not_rounded_down(scale):
    draw = np.random.default_rng(int(scale))
    for _ in range(60):
        shift = draw.uniform(-1.0, 1.0) * scale + draw.uniform(-1.0, 1.0, 2)
        rows = shift, 2.0 * shift + draw.uniform(-5.0, 5.0, 2), np.zeros(2)
        assert near(isotonic.mu_squared(*rows), least_cost(*rows), 3e-15 * (100.0 + scale))


@pytest.mark.parametrize("level", [-1.5, 0.0, 1.5])
@pytest.mark.parametrize("product", [0.05, 0.2])
def test_a_low_shift_takes_back_some_blocks_of_the_chunk_before(level, product, monkeypatch):
    monkeypatch.setattr(isotonic, "RANGE", 20.0 * product)
    shift = np.append(np.linspace(-3.0, 3.0, 20), [level, level - 1.0, 4.0, level])
    rows = shift, np.linspace(0.0, 0.3, 24), np.full(24, product)
    assert near(isotonic.mu_squared(*rows), least_cost(*rows))


def test_offsets_of_a_million_blur_what_is_pooled_across_them():
    """Nothing is left of the digits of a logarithm that a million was added to."""
    draw = np.random.default_rng(1)
    for _ in range(60):
        big = draw.uniform(0.9e6, 1.1e6)
        shift = np.array([0.0, big])
        variance = np.array([0.0, 2.0 * big + draw.uniform(-0.1, 0.1)])
        product = np.array([0.0, big + draw.uniform(-0.1, 0.1)])
        found = isotonic.mu_squared(shift, variance, product)
        g = mp.exp(mp.mpf(product[1]))
        both = g + mp.exp(mp.mpf(shift[1]))
        pooled = both**2 / (g**2 + mp.exp(mp.mpf(variance[1])))
        apart = 1 + mp.exp(2 * mp.mpf(shift[1]) - mp.mpf(variance[1]))
        slopes = 1, mp.exp(mp.mpf(shift[1]) - mp.mpf(variance[1])) * g
        assert near(found, pooled if slopes[0] > slopes[1] else apart, "1e-8")


def test_what_is_too_small_or_too_large_for_doubles():
    tiny, none = np.full(3, -800.0), np.zeros(3)
    assert isotonic.mu_squared(tiny, none, none) == LEAST
    with np.errstate(over="ignore"):
        assert isotonic.mu_squared(np.full(3, 400.0), none, none) == math.inf
