"""Exponential and logarithm by bits, beside those of NumPy and of mpmath."""

import mpmath
import numpy as np
import pytest

from wane.run import compiled_functions, compiling
from wane.run.compiled_functions import LEAST, MOST


@pytest.fixture(scope="module")
def functions():
    """The three, compiled, each for an array."""
    compiler = compiling.compiler()
    assert compiler is not None, "the extra fast is among what the tests install"

    def for_all(function):
        def loop(x, made):
            for i in range(len(x)):
                made[i] = function(x[i])

        return compiler(loop)

    def called(loop, x):
        made = np.empty(len(x))
        loop(np.array(x, dtype=float), made)
        return made

    loops = [for_all(function) for function in compiled_functions.compiled(compiler)]
    return [lambda x, loop=loop: called(loop, x) for loop in loops]


def points(low, high):
    rng = np.random.default_rng(0)
    return np.concatenate([np.linspace(low, high, 20_001), rng.uniform(low, high, 20_000)])


def test_the_exponential_is_right_to_the_last_digits(functions):
    exp, _, _ = functions
    for x in (points(LEAST, MOST), points(-2.0, 2.0), points(-1e-9, 1e-9)):
        assert np.abs(exp(x) / np.exp(x) - 1.0).max() < 8 * 2.0**-53
    some = points(LEAST, MOST)[::400]
    for value, found in zip(some, exp(some), strict=True):
        assert abs(found / mpmath.exp(value) - 1) < 8 * 2.0**-53


def test_the_exponential_beyond_its_range(functions):
    exp, _, _ = functions
    found = exp([-np.inf, -1e30, np.nextafter(LEAST, -1e9), LEAST, MOST, 1e30, np.inf, np.nan])
    assert not found[:3].any()
    assert 0.0 < found[3] < 1e-307
    assert (found[4:7] == found[4]).all()
    assert found[4] == pytest.approx(np.exp(MOST), rel=1e-15)
    assert np.isnan(found[7])


def test_the_logarithm_is_right_to_the_last_digits(functions):
    _, log, _ = functions
    x = np.concatenate(
        [
            np.exp(points(-700.0, 700.0)),
            points(0.4, 2.1),
            1.0 + points(-1e-9, 1e-9),
            2.0**-1022 * points(1, 2),
        ]
    )
    assert (np.abs(log(x) - np.log(x)) <= 4 * 2.0**-53 * np.abs(np.log(x)) + 2.0**-60).all()
    for value, found in zip(x[::900], log(x[::900]), strict=True):
        exact = mpmath.log(value)
        assert abs(found - exact) <= 4 * 2.0**-53 * abs(exact)


def test_the_quick_logarithm_is_above_the_true_one_but_not_by_much(functions):
    _, _, above = functions
    x = np.concatenate(
        [np.exp(points(-700.0, 700.0)), points(0.4, 2.1), 2.0 ** np.arange(-1000, 1000)]
    )
    over = above(x) - np.log(x)
    assert over.min() > -1e-12
    assert over.max() < 0.08
