"""Searches end where the predicate holds; rounding goes one way and never across zero."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from wane.errors import Unreachable
from wane.numerics.rounding import (
    add_up,
    inflate,
    root_sum_of_squares_up,
    round_down,
    round_up,
)
from wane.numerics.search import (
    first_at_most,
    largest_satisfying,
    minimise_scalar_bounded,
    smallest_integer_satisfying,
    smallest_satisfying,
)

SMALLEST = math.ulp(0.0)
positive = st.floats(1e-300, 1e300)
non_negative = st.floats(0.0, 1e150)


@given(positive)
def test_smallest_satisfying(threshold: float) -> None:
    for high in (math.inf, max(2.0 * threshold, 1.0)):
        found = smallest_satisfying(lambda x: x >= threshold, 0.0, high)
        assert threshold <= found <= threshold * (1 + 2e-13)


@given(positive)
def test_largest_satisfying(threshold: float) -> None:
    found = largest_satisfying(lambda x: x <= threshold, 0.0, max(2.0 * threshold, 1.0))
    assert threshold * (1 - 2e-13) <= found <= threshold


def test_searches_refuse_what_cannot_be_reached() -> None:
    with pytest.raises(Unreachable):
        smallest_satisfying(lambda x: False, 0.0)
    with pytest.raises(Unreachable):
        smallest_satisfying(lambda x: x > 2.0, 0.0, 1.0)
    with pytest.raises(Unreachable):
        largest_satisfying(lambda x: False, 0.0, 1.0)
    with pytest.raises(Unreachable):
        smallest_integer_satisfying(lambda n: False, 0, 10)
    with pytest.raises(Unreachable):
        first_at_most(lambda x: 2.0, 1.0, 0.0, 5.0)


def test_searches_accept_the_ends() -> None:
    assert smallest_satisfying(lambda x: True, 0.0) == 0.0
    assert largest_satisfying(lambda x: True, 0.0, 7.0) == 7.0
    assert smallest_satisfying(lambda x: x > 0.0, 0.0, 1.0) > 0.0
    assert largest_satisfying(lambda x: x <= 0.0, 0.0, 1.0) == 0.0


@given(st.integers(-1000, 1000))
def test_integers(threshold: int) -> None:
    assert smallest_integer_satisfying(lambda n: n >= threshold, -1000, 1000) == threshold


@given(st.floats(0.01, 50.0), st.floats(0.1, 5.0))
def test_first_at_most_lands_below_the_goal(place: float, steepness: float) -> None:
    seen: list[float] = []

    def falling(x: float) -> float:
        seen.append(x)
        return math.exp(-steepness * x * x)

    goal = math.exp(-steepness * place * place)
    if goal <= 1e-300:
        return
    found = first_at_most(falling, goal, 0.0, 100.0)
    assert falling(found) <= goal
    assert found <= place * (1 + 1e-9)
    assert len(seen) < 80


def test_golden_section_returns_a_value_it_saw() -> None:
    seen = {}

    def bowl(x: float) -> float:
        seen[x] = (x - 0.3) ** 2
        return seen[x]

    place, value = minimise_scalar_bounded(bowl, -1.0, 2.0)
    assert seen[place] == value == min(seen.values())
    assert place == pytest.approx(0.3, abs=1e-7)


def test_rounding_never_crosses_zero() -> None:
    assert round_up(0.0) == round_down(0.0) == inflate(0.0, 0.5) == 0.0
    assert round_up(1.0) == math.nextafter(1.0, 2.0)
    assert round_down(1.0, 2) == 1.0 - 2.0**-52
    assert round_down(SMALLEST, 5) == SMALLEST
    assert round_up(-SMALLEST, 5) == -SMALLEST
    assert round_up(math.inf) == math.inf
    assert inflate(SMALLEST, 1e-20) >= SMALLEST


@given(st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_inflate_is_enough(value: float, relative: float) -> None:
    assert Fraction(inflate(value, relative)) >= Fraction(value) * (1 + Fraction(relative))


@given(st.lists(st.tuples(non_negative, st.integers(1, 10**9)), max_size=6))
def test_sums_are_rounded_up_by_less_than_one_place(terms: list[tuple[float, int]]) -> None:
    exact = sum((n * Fraction(x) for x, n in terms), Fraction(0))
    total = add_up(terms)
    assert Fraction(total) >= exact
    assert total == 0.0 or Fraction(math.nextafter(total, 0.0)) < exact
    squares = sum((n * Fraction(x) ** 2 for x, n in terms), Fraction(0))
    root = root_sum_of_squares_up(terms)
    assert Fraction(root) ** 2 >= squares
    assert root in (0.0, SMALLEST) or Fraction(math.nextafter(root, 0.0)) ** 2 < squares


def test_exact_roots_stay_exact_and_extremes_do_not_vanish() -> None:
    assert root_sum_of_squares_up([(1.0, 4)]) == 2.0
    assert root_sum_of_squares_up([(3.0, 1), (4.0, 1)]) == 5.0
    assert root_sum_of_squares_up([(1e-200, 1), (1e-200, 3)]) >= 2e-200
    assert root_sum_of_squares_up([(1e200, 9)]) == pytest.approx(3e200, rel=1e-15)
    assert root_sum_of_squares_up([(1e308, 100)]) == math.inf
    assert root_sum_of_squares_up([(math.inf, 1)]) == add_up([(math.inf, 2)]) == math.inf
    assert add_up([(1e308, 10)]) == math.inf
    assert root_sum_of_squares_up([]) == add_up([]) == 0.0
