"""Statistics of any shape, the ball their norm must stay in, and the grid they are rounded to.

A sensitivity is declared for exact numbers, and doubles are none: a projection and a conversion
move a statistic by something that depends on the data.  So statistics are rounded to a grid, and
the sensitivity is charged with what all of this can add.

**What is charged.**  Let D be the sensitivity, R the bound on the norm, u = 2^-53, and let the
charge be s = max(2^-40 D, 2^-47 R).  Two adjacent statistics of d entries

1. are moved by rounding to the grid g <= s/(4 sqrt(d)) by at most g sqrt(d)/2 each: s/4 in all;
2. are moved by the projection by at most 4 u R (1 + 2^-50) each, since `math.hypot` is right to the
   last place, and a quotient and a product follow: s/4 in all, as s >= 2^-47 R.

So they are at most D + s apart.  Noise is added to them as they are, before anything is multiplied:
rounding that sum, multiplying it by the decay and rounding the product to the grid of the release
look at the sum alone, and cost nothing.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.run.admission import FEWEST_ULPS
from wane.run.grid import power_of_two_below, to_grid

SHARE_OF_SENSITIVITY, SHARE_OF_BOUND = 2.0**-40, 2.0**-47
LARGEST_INTEGER = 2**53
"""Whole numbers beyond are not all doubles: neighbours could come to lie farther apart."""


class Outside(enum.Enum):
    """What happens to a statistic whose norm exceeds the declared bound.

    REFUSE   an error.  The bound is a promise about every data set; the error itself depends on
             the data, so it must never reach a reader.
    PROJECT  the nearest point of the ball, f * min(1, bound/|f|), is released in its place.  This
             map never increases distances, but for roundings, which are charged.
    """

    REFUSE = "refuse"
    PROJECT = "project"


def rounding_charge(sensitivity: float, norm_bound: float | None) -> float:
    """Return what is added to the sensitivity for the roundings of a statistic."""
    return max(SHARE_OF_SENSITIVITY * sensitivity, SHARE_OF_BOUND * (norm_bound or 0.0))


def checked_statistic(
    statistic: Any,
    norm_bound: float | None,
    dimension: int | None,
    outside: Outside,
    *,
    charge: float,
) -> Array:
    """The statistic on its grid and inside the ball, or a refusal that does not quote it."""
    if not isinstance(outside, Outside):
        raise InvalidDescription(f"outside must be one of {[o.value for o in Outside]} as Outside.")
    values = _as_doubles(statistic)
    if dimension is not None and values.size != dimension:
        raise InvalidDescription(
            f"statistic must have {dimension} entries as declared, got {values.size}."
        )
    if norm_bound is not None:
        values = _inside(values, norm_bound, outside)
    spacing = power_of_two_below(charge / (4.0 * math.sqrt(max(values.size, 1))))
    return to_grid(values, spacing)


def require_enough_noise(noise_std: float, largest: float, cure: str) -> None:
    """Refuse noise that doubles of this size could not resolve."""
    if noise_std < FEWEST_ULPS * math.ulp(largest):
        raise InvalidDescription(
            f"noise must be at least 2^10 units in the last place of the statistic, "
            f"{FEWEST_ULPS * math.ulp(largest):g}, got {noise_std:g}; {cure}"
        )


def _as_doubles(statistic: Any) -> Array:
    try:
        found = np.asarray(statistic)
    except ValueError:
        raise InvalidDescription("statistic must have rows of equal length.") from None
    if found.dtype.kind not in "fiub" or not np.all(np.isfinite(found)):
        raise InvalidDescription("statistic must hold finite real numbers only.")
    if found.dtype.kind == "f" and found.dtype.itemsize > 8:
        raise InvalidDescription(
            f"statistic must hold doubles at most, got {found.dtype}; round it before the "
            "sensitivity is declared."
        )
    if found.dtype.kind in "iu" and found.size and _widest(found) > LARGEST_INTEGER:
        raise InvalidDescription(
            "statistic must hold whole numbers of at most 2^53, beyond which neighbours do not "
            "stay apart as declared; subtract a public number (and keep this message from readers)."
        )
    return np.array(found, dtype=np.float64)


def _widest(found: NDArray[Any]) -> int:
    return max(int(found.max()), -int(found.min()))


def _inside(values: Array, bound: float, outside: Outside) -> Array:
    norm = math.hypot(*values.ravel().tolist())
    if norm <= bound:
        return values
    if outside is Outside.REFUSE:
        raise InvalidDescription(
            f"statistic must have norm at most norm_bound = {bound:g}; declare the true bound, or "
            "pass outside=Outside.PROJECT (and keep this message from readers)."
        )
    # Brought to about one by a power of two, which is exact, so that nothing overflows.
    _, exponent = math.frexp(float(np.max(np.abs(values))))
    unit = np.ldexp(values, -exponent)
    return unit * (bound / math.hypot(*unit.ravel().tolist()))
