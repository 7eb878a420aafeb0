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


def share_up(value: float | Decimal, base: int) -> str:
    """An upper bound on a share, as so many in `base`, rounded up to one decimal."""
    most = (_exactly(value) * base).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return f"{most:,} in {base:,}" if most < base else f"{base:,} in {base:,}"


def odds_up(success: float | Decimal, failure: float | Decimal) -> str:
    """An upper bound on odds, as so many to one, rounded up to three digits."""
    if failure <= 0:
        return "any number to 1"
    context = Context(prec=DIGITS // 2, rounding=ROUND_CEILING)
    return f"{context.divide(_exactly(success), _exactly(failure)).normalize():f} to 1"


def _exactly(value: float | Decimal) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def _rounded(value: float, digits: int, direction: str) -> str:
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    written = Decimal(repr(float(value)))
    number = Context(prec=digits, rounding=direction).plus(written)
    exponent = number.adjusted()
    if _SMALLEST_PLAIN <= exponent < digits:
        return f"{number.normalize():f}"
    return f"{number.scaleb(-exponent).normalize():f}e{exponent:+03d}"
