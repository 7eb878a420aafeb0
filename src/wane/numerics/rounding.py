"""Directed rounding: upper bounds are rounded up, lower bounds down; zero stays zero.

Upper bounds go up, lower bounds go down.  Exact zeros stay zero, because zero is the only number
that means "nothing leaks"; a positive number never becomes zero, because that would be a lie.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction

SMALLEST_POSITIVE = math.ulp(0.0)
"""The smallest positive double, 5e-324: what a positive quantity underflows to."""
SMALLEST_NORMAL = sys.float_info.min
"""The smallest double with all digits, 2.2e-308: below it library functions may return zero."""


def round_up(value: float, ulps: int = 1) -> float:
    """Return the double `ulps` places above, or `value` itself if it is zero or infinite.

    Negative numbers move towards zero but stop at the last negative double.
    """
    if value == 0.0 or math.isinf(value) or math.isnan(value):
        return value
    for _ in range(ulps):
        following = math.nextafter(value, math.inf)
        if following == 0.0:
            break
        value = following
    return value


def round_down(value: float, ulps: int = 1) -> float:
    """Return the double `ulps` places below, or `value` itself if it is zero or infinite.

    Positive numbers move towards zero but stop at the smallest positive double.
    """
    return -round_up(-value, ulps)


def inflate(value: float, relative: float) -> float:
    """Return at least `value * (1 + relative)` for a non-negative value; zero stays zero."""
    if value == 0.0 or math.isnan(value):
        return value
    return round_up(max(value + value * relative, SMALLEST_POSITIVE))


def add_up(terms: Iterable[tuple[float, int]]) -> float:
    """Return the smallest double that is not below the sum of `count` copies of each term >= 0."""
    counted = list(terms)
    if any(math.isinf(value) and count > 0 for value, count in counted):
        return math.inf
    return _ceiling(sum((count * Fraction(value) for value, count in counted), Fraction(0)))


def root_sum_of_squares_up(terms: Iterable[tuple[float, int]]) -> float:
    """Return the smallest double not below sqrt(sum of count * value^2), computed exactly.

    Being exact, it does not depend on the order of the terms, nor on whether equal terms are
    written once with a count or many times.
    """
    counted = [(value, count) for value, count in terms if value > 0.0 and count > 0]
    if any(math.isinf(value) for value, _ in counted):
        return math.inf
    if not counted:
        return 0.0
    total = sum((count * Fraction(value) ** 2 for value, count in counted), Fraction(0))
    # `hypot` scales its arguments, so nothing overflows unless the result itself does.
    guess = math.hypot(*(value * math.sqrt(count) for value, count in counted))
    if math.isinf(guess):
        return math.inf
    guess = max(guess, SMALLEST_POSITIVE)
    while Fraction(guess) ** 2 < total:
        guess = math.nextafter(guess, math.inf)
        if math.isinf(guess):
            return math.inf
    while (below := math.nextafter(guess, 0.0)) > 0.0 and Fraction(below) ** 2 >= total:
        guess = below
    return guess


def _ceiling(exact: Fraction) -> float:
    """Return the smallest double not below a non-negative rational number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
