"""Choosing free parameters: a simplex search whose failure costs tightness, never truth.

The caller evaluates the theorem at whatever comes back, so nothing here is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

from wane.arrays import Array

Objective = Callable[[Array], float]

_HOPELESS = 1e4  # stands for an infinite logarithm, which the simplex cannot order


def log_or_worst(value: float) -> float:
    """ln(value), with a finite stand-in for infinity."""
    return math.log(value) if 0.0 < value < math.inf else _HOPELESS


def descend(
    objective: Objective, start: Array, *, evaluations: int, width: float = 0.5
) -> tuple[float, Array]:
    """The least value met by one simplex search from `start`, and where."""
    simplex = np.vstack([start, start + width * np.eye(len(start))])
    found = minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={
            "maxfev": evaluations,
            "xatol": 1e-3,
            "fatol": 1e-6,
            "initial_simplex": simplex,
            "adaptive": True,
        },
    )
    return float(found.fun), np.asarray(found.x)


def minimise(
    objective: Objective,
    starts: Sequence[Array],
    *,
    keep: int = 2,
    evaluations: int = 600,
    restarts: int = 2,
) -> tuple[float, Array]:
    """The least value met from the best `keep` starts, each search restarted where it ended."""
    ranked = sorted(((objective(z), i) for i, z in enumerate(starts)), key=lambda pair: pair[0])
    best = (ranked[0][0], starts[ranked[0][1]])
    if best[0] >= _HOPELESS:
        return best  # a simplex cannot leave a plain
    for value, place in ranked[:keep]:
        current = (value, starts[place])
        for _ in range(1 + restarts):
            found = descend(objective, current[1], evaluations=evaluations)
            improved = current[0] - found[0]
            current = min(current, found, key=lambda pair: pair[0])
            if improved < 1e-5:
                break
        best = min(best, current, key=lambda pair: pair[0])
    return best
