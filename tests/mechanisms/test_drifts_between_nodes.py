"""What a drift does between the nodes of a table, against drifts that do the worst there."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from wane.balls.lemmas.reflected_chains import log_ratio
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.errors import InvalidDescription
from wane.theorems.lemmas.reflected_chains import Chain, pure_level

CELLS, FINE = 40, 8


def table(values, **changes):
    known = {
        "sensitivity": 0.4,
        "time": 0.6,
        "steps": 6,
        "low": -1.0,
        "high": 1.0,
        "drift_at_centre": 9.0,
        "drift_lipschitz": 1.0,
        "adjacency": "zero-out",
        "drift_values": tuple(float(value) for value in values),
    }
    return DeclaredDiffusion(**{**known, **changes})


def worst_drift(points, values, slopes, signs):
    """As steep as declared up to a peak in each cell, and back: up, down, or straight."""
    least, most = slopes
    nodes = np.linspace(points[0], points[-1], CELLS + 1)
    gap = nodes[1] - nodes[0]
    place = np.clip(((points - nodes[0]) / gap).astype(int), 0, CELLS - 1)
    rise, t = (np.diff(values) / gap)[place], points - nodes[place]
    up = np.minimum((most - rise) * t, (rise - least) * (gap - t))
    down = np.maximum((least - rise) * t, (rise - most) * (gap - t))
    sign = signs[place]
    return values[place] + rise * t + np.where(sign > 0, up, np.where(sign < 0, down, 0.0))


def step(ends, means, std, low, high):
    """Densities at ends after one step from means, by mirror images."""
    total, width = 0.0, high - low
    for k in range(-6, 7):
        for image in (ends + 2 * k * width, 2 * low - ends + 2 * k * width):
            total = total + np.exp(-0.5 * ((image[None, :] - means[:, None]) / std) ** 2)
    return total / (std * math.sqrt(2 * math.pi))


PEAKS = {
    "up": np.ones(CELLS),
    "down": -np.ones(CELLS),
    "inwards": np.where(np.arange(CELLS) < CELLS / 2, 1.0, -1.0),
    "outwards": np.where(np.arange(CELLS) < CELLS / 2, -1.0, 1.0),
    "straight": np.zeros(CELLS),
}
GRID = np.linspace(-1.0, 1.0, CELLS + 1)
TABLES = {
    "flat": table(0.0 * GRID),
    "flat, steep": table(0.0 * GRID, drift_lipschitz=3.0),
    "flat, falling": table(0.0 * GRID, drift_lipschitz=3.0, drift_contraction=-0.5),
    "falling": table(-np.sin(GRID)),
    "falling, declared": table(-np.sin(GRID), drift_contraction=0.54),
    "rising": table(0.9 * GRID),
    "as steep as declared": table(-GRID, drift_contraction=0.2),
    "a line": table(-GRID, drift_contraction=1.0),
    "steps that overshoot": table(-9.0 * GRID, drift_lipschitz=14.0),
}


@pytest.mark.parametrize("name", TABLES)
def test_no_drift_between_the_nodes_leaves_what_is_claimed(name):
    """Its densities stay within the errors, at all starts and ends, its ratios below the level."""
    made = TABLES[name]
    eta, slopes = made.step_size, (-made.drift_lipschitz, -made.least_contraction)
    pulls = eta * np.array(made.drift_values)
    chain = Chain(
        low=-1.0,
        high=1.0,
        std=made.noise_std,
        steps=made.steps,
        pulls=tuple(pulls.tolist()),
        slopes=(eta * slopes[0], eta * slopes[1]),
        rounding=1e-13,
    )
    values, errors = chain.ends()
    ends, points = np.linspace(-1.0, 1.0, values.shape[1]), np.linspace(-1, 1, CELLS * FINE + 1)
    seen = np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])]))

    def between(numbers):
        """Lines between nodes, and then between ends."""
        rows = np.array([np.interp(points, GRID, column) for column in numbers.T])
        return np.array([np.interp(seen, ends, row) for row in rows.T])

    known, allowed = between(values), between(errors)
    weights = np.full(points.size, points[1] - points[0])
    weights[[0, -1]] *= 0.5
    level, apart, nearest, largest = pure_level(made), round(0.2 * CELLS * FINE), 0.0, 0.0
    for signs in PEAKS.values():
        means = points + eta * worst_drift(points, np.array(made.drift_values), slopes, signs)
        once = step(points, means, made.noise_std, -1.0, 1.0) * weights
        law = step(seen, means, made.noise_std, -1.0, 1.0)
        for _ in range(made.steps - 1):
            law = once @ law
        nearest = max(nearest, float(np.max(np.abs(law - known) / allowed)))
        largest = max(largest, float(np.abs(np.log(law[:-apart] / law[apart:])).max()))
    print(f"{name}: largest error {nearest:.3f} of the bound, ratio {largest:.4f} of {level:.4f}")
    assert nearest <= 1.0 and largest <= level
    assert nearest > 0.15


def test_a_peak_between_two_nodes_is_never_higher_than_counted_and_as_high_for_some():
    rng = np.random.default_rng(0)
    points = np.linspace(-1.0, 1.0, CELLS * 64 + 1)
    for _ in range(20):
        least, most = np.sort(rng.uniform(-2.0, 2.0, 2))
        values = np.concatenate([[0.0], np.cumsum(rng.uniform(least, most, CELLS))]) * (2 / CELLS)
        chain = Chain(
            low=-1.0,
            high=1.0,
            std=1.0,
            steps=2,
            pulls=tuple(values.tolist()),
            slopes=(float(least), float(most)),
            rounding=0.0,
        )
        peak, mean = chain._detour
        line = np.interp(points, GRID, values)
        both = [
            np.abs(worst_drift(points, values, (least, most), sign * np.ones(CELLS)) - line)
            for sign in (1.0, -1.0)
        ]
        cells = np.maximum(*both)[:-1].reshape(CELLS, 64)
        assert np.all(cells.max(axis=1) <= peak * (1 + 1e-9) + 1e-15)
        assert np.all(cells.mean(axis=1) <= mean * (1 + 1e-9) + 1e-4 * peak)
        assert float(np.max(cells.max(axis=1) / peak)) > 0.99


def test_declared_slopes_sharpen_what_is_proven_and_a_line_hides_nothing():
    levels = [pure_level(table(-GRID, drift_contraction=kappa)) for kappa in (None, 0.0, 0.9, 1.0)]
    assert levels == pytest.approx([levels[0]] * 4, rel=1e-9)  # as steep as declared: no room
    gentle = [pure_level(table(-0.5 * GRID, drift_contraction=k)) for k in (None, 0.0, 0.4, 0.5)]
    assert all(sharper < level for level, sharper in pairwise(gentle))
    line = TABLES["a line"]
    steep = replace(line, drift_lipschitz=3.0, drift_contraction=None)
    assert pure_level(line) < 0.95 * pure_level(steep)


@pytest.mark.parametrize("name", TABLES)
def test_both_computations_agree(name):
    level, again = pure_level(TABLES[name]), log_ratio(TABLES[name])
    assert again <= level <= again + 1e-6


def test_values_that_contradict_the_contraction_are_refused():
    with pytest.raises(InvalidDescription, match=r"drift_contraction must be at most 0\.5,"):
        table(-0.5 * GRID, drift_contraction=0.6)
    assert table(-0.5 * GRID, drift_contraction=0.5).least_contraction == 0.5
