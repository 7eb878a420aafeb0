"""Numbers as text that never claim more than the number does."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal


def round_up_to(value: float, digits: int = 6) -> str:
    """`value` with this many significant digits, rounded towards plus infinity."""
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    exact = Decimal(value)
    rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(exact)
    return (
        f"{rounded.normalize():g}" if abs(rounded.adjusted()) < 5 else f"{rounded:.{digits - 1}e}"
    )
