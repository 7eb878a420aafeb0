"""Chains between mirrors: densities of folded normal laws, from every start and not from nodes."""

import math

import numpy as np
import pytest

from wane.theorems.lemmas.reflected_chains import Chain

LOW, HIGH, STD, NODES = -0.5, 1.5, 0.4, 81
FINE = 8
"""Places between two nodes where exact densities are computed."""


def pull(z):
    """Its slope is between -0.7 and -0.1."""
    return -0.4 * z + 0.1 * np.sin(3.0 * z) + 0.05


def chain(steps=1, **changes):
    nodes = np.linspace(LOW, HIGH, NODES)
    fields = {"low": LOW, "high": HIGH, "std": STD, "slopes": (-0.7, -0.1), "rounding": 1e-14}
    return Chain(**(fields | {"steps": steps, "pulls": tuple(pull(nodes).tolist())} | changes))


def folded(mean, x):
    """Density at x of a normal variable that mirrors at both ends throw back into the interval."""
    total, width = 0.0, HIGH - LOW
    for turn in range(-6, 7):
        for place in (x + 2 * turn * width, 2 * LOW - x + 2 * turn * width):
            u = (place - mean) / STD
            total = total + np.exp(-0.5 * u * u) / (math.sqrt(2.0 * math.pi) * STD)
    return total


def starts():
    return np.linspace(LOW, HIGH, (NODES - 1) * FINE + 1)


def exact(steps, ends):
    """Densities at the ends from every fine place, by Simpson's rule."""
    z = starts()
    kernel = folded((z + pull(z))[:, None], z[None, :])
    weights = np.full(z.size, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    weights *= (z[1] - z[0]) / 3.0
    values = folded((z + pull(z))[:, None], ends[None, :])
    for _ in range(steps - 1):
        values = kernel @ (weights[:, None] * values)
    return values


def of_the_ends(made):
    """The densities, their errors and where they are."""
    values, errors = made.ends()
    return values, errors, np.linspace(LOW, HIGH, values.shape[1])


def test_one_step_from_the_nodes_is_a_folded_normal_law():
    made = chain()
    nodes, ends = np.linspace(LOW, HIGH, NODES), np.linspace(LOW, HIGH, 65)
    density, errors, between = made.first(ends)
    true = folded((nodes + pull(nodes))[:, None], ends[None, :])
    assert density == pytest.approx(true, rel=1e-12)
    assert np.all(errors >= 0.0) and np.all(errors < 0.05 * density.max())
    assert np.all(between.mean <= between.most)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_densities_from_all_starts_lie_between_those_of_both_nodes_beside_them(steps):
    """With the errors, which are small against the densities, so that they say something."""
    values, errors, ends = of_the_ends(chain(steps))
    true, most, least = exact(steps, ends), values + errors, values - errors
    for cell in range(NODES - 1):
        inside = true[cell * FINE : (cell + 1) * FINE + 1]
        assert np.all(inside <= np.maximum(most[cell], most[cell + 1]))
        assert np.all(inside >= np.minimum(least[cell], least[cell + 1]))
    assert errors.max() <= 0.02 * steps * values.max()
    assert values == pytest.approx(true[::FINE], rel=2e-3)


def test_densities_between_ends_lie_between_those_of_both_ends():
    """Of one step, with its errors."""
    values, errors, ends = of_the_ends(chain())
    true, most, least = (
        exact(1, 0.5 * (ends[1:] + ends[:-1]))[::FINE],
        values + errors,
        values - errors,
    )
    assert np.all(true <= np.maximum(most[:, 1:], most[:, :-1]))
    assert np.all(true >= np.minimum(least[:, 1:], least[:, :-1]))


def test_means_of_hats():
    """Each is one at its node and zero at the others: a row of them adds up to one."""
    made, h = chain(), (HIGH - LOW) / (NODES - 1)
    nodes, z = np.linspace(LOW, HIGH, NODES), starts()
    weights = np.full(z.size, z[1] - z[0])
    weights[[0, -1]] *= 0.5
    hats = np.maximum(1.0 - np.abs(z[:, None] - nodes[None, :]) / h, 0.0)
    law = folded((nodes + pull(nodes))[:, None], z[None, :])
    assert made.hats == pytest.approx((law * weights) @ hats, rel=1e-3, abs=1e-9)
    assert made.hats.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert 1e-15 < made.lost < 1e-8


def test_no_density_near_two_nodes_is_above_the_one_in_store():
    made, h = chain(), (HIGH - LOW) / (NODES - 1)
    z = starts()[:: FINE // 4]
    true = folded((z + pull(z))[:, None], z[None, :]) * h
    share = np.ones(NODES)
    share[[0, -1]] = 0.5  # half of a cell is beside a mirror
    for node in range(0, NODES, 4):
        rows = true[max(0, (node - 1) * 4) : (node + 1) * 4 + 1]
        for end in range(NODES):
            near = rows[:, max(0, (end - 1) * 4) : (end + 1) * 4 + 1]
            assert near.max() * share[end] <= made.dense[node, end] * (1.0 + 1e-12)
    assert np.all(made.dense <= 1.5 * share * h * 2.0 / (math.sqrt(2.0 * math.pi) * STD))


def test_which_chains_are_followed():
    """Noise as wide as a cell and not much wider than the interval, for some minutes at most."""
    assert chain().is_followed
    assert not chain(std=0.01).is_followed, "cells are too coarse"
    assert not chain(std=8.1).is_followed, "more than four widths"
    assert chain(std=7.9).is_followed
    assert not chain(steps=200_000).is_followed, "too much work"
