"""Several releases on the same records."""

import math

import pytest

from wane import (
    Adjacency,
    GaussianDP,
    GradientNoise,
    InvalidDescription,
    NoisyDescent,
    WithFailure,
    certify,
    losses,
)
from wane.certificates import Certificate, stated_release, together


def _certificate(noise: float = 0.01, adjacency: Adjacency = Adjacency.ZERO_OUT):
    run = NoisyDescent(
        objective=losses.logistic(1.0, ridge=0.01),
        records=1000,
        steps=50,
        step_size=1.0,
        noise=GradientNoise(noise),
        adjacency=adjacency,
    )
    return certify(run)


def _side(mu: float, failure: float = 0.0) -> Certificate:
    inner = GaussianDP(mu)
    guarantee = WithFailure(inner, failure) if failure else inner
    return certify(
        stated_release("a bound", guarantee, "docs/proofs/groups.md", Adjacency.ZERO_OUT)
    )


def test_gaussian_parts_add_their_squares():
    first, second = _certificate(), _certificate(0.02)
    joint = together((first, _side(0.3), second))
    expected = math.sqrt(first.mu**2 + 0.3**2 + second.mu**2)
    assert joint.mu == pytest.approx(expected, rel=1e-12)
    assert joint.epsilon(1e-5) == GaussianDP(joint.mu).epsilon(1e-5)
    assert (joint.each[0], joint.each[2]) == (first, second)


def test_a_failure_is_charged_to_delta():
    joint = together((_certificate(), _side(0.3, 1e-6)))
    safe = together((_certificate(), _side(0.3)))
    assert joint.mu is None
    assert joint.epsilon(1e-6) == math.inf
    assert joint.epsilon(1e-5) >= safe.epsilon(1e-5 - 1e-6) * (1 - 1e-12)
    assert joint.delta(1.0) >= safe.delta(1.0) + 1e-6


def test_one_part_is_that_part():
    alone = _certificate()
    assert together((alone,)).epsilon(1e-5) == alone.epsilon(1e-5)


def test_mixed_adjacencies_and_nothing_are_refused():
    with pytest.raises(InvalidDescription, match="adjacency must be the same"):
        together((_certificate(), _certificate(adjacency=Adjacency.REPLACE_ONE)))
    with pytest.raises(InvalidDescription, match="at least one release"):
        together(())
    with pytest.raises(InvalidDescription, match="certificates"):
        together((GaussianDP(1.0),))
