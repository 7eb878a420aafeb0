"""Statistics of any shape, and the ball their norm must stay in."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.errors import InvalidDescription

Array = NDArray[np.float64]


class Outside(enum.Enum):
    """What happens to a statistic whose norm exceeds the declared bound.

    REFUSE   an error.  The bound is a promise about every data set; the error itself depends on
             the data, so it must never reach a reader.
    PROJECT  the nearest point of the ball, f * min(1, bound/|f|), is released in its place.  This
             map never increases distances, so the declared sensitivity still holds.
    """

    REFUSE = "refuse"
    PROJECT = "project"


def checked_statistic(
    statistic: Any, norm_bound: float | None, dimension: int | None, outside: Outside
) -> Array:
    """The statistic as doubles inside the ball, or a refusal that does not quote it."""
    if not isinstance(outside, Outside):
        raise InvalidDescription(f"outside must be one of {[o.value for o in Outside]} as Outside.")
    try:
        found = np.asarray(statistic)
    except ValueError:
        raise InvalidDescription("statistic must have rows of equal length.") from None
    if found.dtype.kind not in "fiub" or not np.all(np.isfinite(found)):
        raise InvalidDescription("statistic must hold finite real numbers only.")
    values = np.array(found, dtype=np.float64)
    if dimension is not None and values.size != dimension:
        raise InvalidDescription(
            f"statistic must have {dimension} entries as declared, got {values.size}."
        )
    return values if norm_bound is None else _inside(values, norm_bound, outside)


def _inside(values: Array, bound: float, outside: Outside) -> Array:
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return values
    # Scaled by the largest entry, so that squares neither overflow nor vanish.
    norm = largest * math.sqrt(float(np.sum((values / largest) ** 2)))
    if norm <= bound:
        return values
    if outside is Outside.REFUSE:
        raise InvalidDescription(
            f"statistic must have norm at most norm_bound = {bound:g}; declare the true bound, or "
            "pass outside=Outside.PROJECT (and keep this message from readers)."
        )
    return values * (bound / norm)
