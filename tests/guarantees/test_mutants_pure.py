"""Pure guarantees against randomised response in many digits: never below it, and hardly above."""

from __future__ import annotations

import mpmath
import pytest

from wane.guarantees import PureDP

LEVELS = (1e-3, 0.1, 0.5, 1.0, 1.7, 3.0, 8.0)


def randomised_response(level):
    """The probabilities of the two answers, under one truth and under the other."""
    mpmath.mp.dps = 60
    yes = 1 / (1 + mpmath.exp(-mpmath.mpf(level)))
    return (yes, 1 - yes), (1 - yes, yes)


@pytest.mark.parametrize("level", LEVELS)
def test_delta_is_that_of_randomised_response(level):
    first, second = randomised_response(level)
    for place in range(40):
        epsilon = level * place / 40
        ratio = mpmath.exp(mpmath.mpf(epsilon))
        exact = sum(max(p - ratio * q, 0) for p, q in zip(first, second, strict=True))
        claimed = PureDP(level).delta(epsilon)
        assert exact <= claimed <= exact * (1 + mpmath.mpf(10) ** -13)
    assert PureDP(level).delta(level) == 0.0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 3.7, 10.0, 200.0])
def test_divergences_are_those_of_randomised_response(level, order):
    first, second = randomised_response(level)
    a = mpmath.mpf(order)
    terms = (p**a * q ** (1 - a) for p, q in zip(first, second, strict=True))
    exact = mpmath.log(sum(terms)) / (a - 1)
    claimed = PureDP(level).renyi(order)
    assert exact <= claimed <= exact + mpmath.mpf(10) ** -12 * (1 + level / (a - 1))


@pytest.mark.parametrize("level", LEVELS)
def test_epsilon_is_where_delta_falls_to(level):
    for delta in (0.0, 1e-9, 1e-3, 0.1):
        epsilon = PureDP(level).epsilon(delta)
        assert epsilon <= level
        assert PureDP(level).delta(epsilon) <= delta * (1 + 1e-12)
        if 0.0 < epsilon < level:
            assert PureDP(level).delta(epsilon * (1 - 1e-9)) > delta
