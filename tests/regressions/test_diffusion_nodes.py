"""A drift that is read at nodes says nothing of what lies between them."""

import numpy as np
import pytest
from scipy import linalg

from wane.errors import InvalidDescription, NoTheoremApplies
from wane.mechanisms import DiffusionMechanism

HEIGHT, WIDTH, PLACE = 8.0, 7.3e-4, -0.0985
STEEPEST = HEIGHT / WIDTH**2
"""The largest slope of the drift below, at the top of the barrier."""


def barrier(y):
    return HEIGHT * np.exp(-0.5 * ((y - PLACE) / WIDTH) ** 2)


def drift(y):
    return (y - PLACE) / WIDTH**2 * barrier(y)


def exact_renyi(time, starts):
    """The divergence of order two from finite volumes that resolve the barrier."""
    close = np.linspace(PLACE - 8 * WIDTH, PLACE + 8 * WIDTH, 300)
    ends = np.unique(np.concatenate([np.linspace(-1.0, 1.0, 500), close]))
    middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    mass = np.exp(-barrier(middle)) * width
    flow = np.exp(-barrier(ends[1:-1])) / np.diff(middle) / mass.sum()
    mass /= mass.sum()
    rates = np.diag(flow, 1) + np.diag(flow, -1)
    rates -= np.diag(rates.sum(axis=1))
    root = np.sqrt(mass)
    values, vectors = linalg.eigh(rates / root[:, None] / root)
    laws = []
    for start in starts:
        place = int(np.argmin(np.abs(middle - start)))
        laws.append((vectors * np.exp(values * time)) @ vectors[place] * root / root[place])
    p, q = (np.maximum(law, 1e-300) for law in laws)
    return float(np.log(np.sum(p * p / q)))


def described(**declared):
    return DiffusionMechanism(
        drift=drift, spread=np.ones_like, low=-1.0, high=1.0, sensitivity=0.2, time=1.0, **declared
    )


def test_a_narrow_barrier_is_not_certified_away():
    truth = exact_renyi(1.0, (PLACE - 0.19, PLACE + 0.01))
    assert truth > 0.5
    assert described().estimated_renyi(2.0) < 0.0015  # why estimates certify nothing
    with pytest.raises(NoTheoremApplies, match="drift_lipschitz"):
        described().guarantee  # noqa: B018
    honest = described(drift_lipschitz=STEEPEST, spread_lipschitz=0.0)
    assert honest.guarantee.renyi(2.0) >= truth


def test_a_slope_that_is_seen_refutes_a_smaller_one():
    with pytest.raises(InvalidDescription, match="drift_lipschitz must be at least"):
        described(drift_lipschitz=1.0, spread_lipschitz=0.0).guarantee  # noqa: B018
