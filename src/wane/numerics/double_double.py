"""Sums and products of doubles together with their exact rounding errors.

A pair (high, low) stands for the unevaluated sum high + low, about 106 bits.  The formulas use
only + - * /, so they serve Python floats and NumPy arrays alike.  They need no fused
multiply-add, and stay exact as long as no intermediate overflows or becomes subnormal.
"""

from __future__ import annotations

from typing import TypeVar

from wane.arrays import Array

Real = TypeVar("Real", float, Array)

_SPLITTER = 134217729.0  # 2^27 + 1


def two_sum(first: Real, second: Real) -> tuple[Real, Real]:
    """Return the rounded sum and its exact error (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def two_product(first: Real, second: Real) -> tuple[Real, Real]:
    """Return the rounded product and its exact error (Dekker, by Veltkamp splitting)."""
    first_high, first_low = _split(first)
    second_high, second_low = _split(second)
    product = first * second
    error = first_high * second_high - product
    error = error + first_high * second_low + first_low * second_high
    return product, error + first_low * second_low


def divide(numerator: Real, denominator: Real) -> tuple[Real, Real]:
    """Return the quotient of two doubles as a pair."""
    quotient = numerator / denominator
    product, error = two_product(quotient, denominator)
    return quotient, ((numerator - product) - error) / denominator


def square(high: Real, low: Real) -> tuple[Real, Real]:
    """Return the square of a pair, as a pair."""
    product, error = two_product(high, high)
    return product, error + 2.0 * (high * low)


def _split(value: Real) -> tuple[Real, Real]:
    scaled = _SPLITTER * value
    high = scaled - (scaled - value)
    return high, value - high
