"""Statistics of any shape, the ball their norm must stay in, and the grid they are rounded to.

A projection and a conversion move a statistic by something that depends on the data, so it is
rounded to a grid, and its sensitivity is charged with what all of this can add
(`wane.describe.diffusion`).  Noise is added to a statistic as it is, before anything is multiplied:
rounding that sum, multiplying it by the decay and rounding the product to the grid of the release
look at the sum alone, and cost nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.describe.diffusion import Outside
from wane.errors import InvalidDescription
from wane.run.safeguards import power_of_two_below, to_grid

LARGEST_INTEGER = 2**53
"""Whole numbers beyond are not all doubles: neighbours could come to lie farther apart."""


def checked_statistic(
    statistic: Any,
    norm_bound: float | None,
    dimension: int | None,
    outside: Outside,
    *,
    charge: float,
) -> Array:
    """Return the statistic on its grid and inside the ball, or a refusal that does not quote it."""
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


def _as_doubles(statistic: Any) -> Array:
    try:
        array = np.asarray(statistic)
    except ValueError:
        raise InvalidDescription("statistic must have rows of equal length.") from None
    if array.dtype.kind not in "fiub" or not np.all(np.isfinite(array)):
        raise InvalidDescription("statistic must hold finite real numbers only.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise InvalidDescription(
            f"statistic must hold doubles at most, got {array.dtype}; round it before the "
            "sensitivity is declared."
        )
    if array.dtype.kind in "iu" and array.size and _widest(array) > LARGEST_INTEGER:
        raise InvalidDescription(
            "statistic must hold whole numbers of at most 2^53, beyond which neighbours do not "
            "stay apart as declared; subtract a public number (and keep this message from readers)."
        )
    return np.array(array, dtype=np.float64)


def _widest(array: NDArray[Any]) -> int:
    return max(int(array.max()), -int(array.min()))


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
