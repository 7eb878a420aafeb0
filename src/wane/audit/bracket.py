"""Numbers with a bound on their error.

An oracle that is silently wrong is worse than none: every comparison with NaN is false, so a NaN
oracle passes every soundness test.  Results here are finite or infinite on purpose, never NaN,
and carry their own error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane.errors import WaneError

ROUNDOFF = 1e-13
"""Relative rounding error granted to every sum of positive terms, on top of the refinement gap."""

SAFETY = 4.0
"""The gap of two resolutions is multiplied by this; where convergence is fast it is tiny anyway."""


class ImpreciseError(WaneError, ArithmeticError):
    """A number that the oracle cannot vouch for in double precision, and therefore withholds."""


class OutOfReachError(ImpreciseError):
    """A number that depends on tails that were cut off; longer tails may settle it."""


@dataclass(frozen=True)
class Bracketed:
    """An interval from `lower` to `lower + error` that contains the truth.

    The width is an estimate from two resolutions, not a proof; the coarser one is so much less
    accurate than the finer that their gap exaggerates the error of the value reported.
    """

    lower: float
    error: float

    @property
    def upper(self) -> float:
        """The largest possible value of the truth."""
        return self.lower + self.error

    @property
    def value(self) -> float:
        """The middle of the bracket."""
        return self.lower + 0.5 * self.error


def bracket(coarse: float, fine: float, floor: float = 0.0) -> Bracketed:
    """Return a bracket of the truth by the distance of two resolutions; refuse what is no number.

    The floor is an absolute rounding error, for results that are differences of larger numbers.
    """
    if math.isnan(coarse) or math.isnan(fine):
        raise ImpreciseError("the computation produced NaN; no value can be reported")
    if math.isinf(coarse) or math.isinf(fine):
        if coarse == fine:
            return Bracketed(lower=fine, error=0.0)
        raise ImpreciseError(
            "one resolution gives infinity and the other does not; refine the grid"
        )
    gap = SAFETY * abs(fine - coarse) + ROUNDOFF * abs(fine) + floor
    lower = max(0.0, fine - gap)
    return Bracketed(lower=lower, error=fine + gap - lower)
