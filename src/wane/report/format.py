"""Numbers as text that never claim more than the number does.

What is rounded is the decimal number that identifies a double in a document, so that a number with
few digits is shown as it is written there: 0.01, and not 0.0100001.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 6
"""Significant digits that people are shown."""
_SMALLEST_PLAIN = -4  # exponents below this, or beyond the digits shown, are written as such


def round_up_to(value: float, digits: int = DIGITS) -> str:
    """An upper bound with this many significant digits, rounded towards plus infinity."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down_to(value: float, digits: int = DIGITS) -> str:
    """A lower bound with this many significant digits, rounded towards minus infinity."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    written = Decimal(repr(float(value)))
    number = Context(prec=digits, rounding=direction).plus(written)
    exponent = number.adjusted()
    if _SMALLEST_PLAIN <= exponent < digits:
        return f"{number.normalize():f}"
    return f"{number.scaleb(-exponent).normalize():f}e{exponent:+03d}"
