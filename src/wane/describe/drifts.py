"""Drifts that users give as functions: reading them, and refuting what is declared of them.

Values at finitely many points prove nothing of what lies between them; they can only contradict a
declared constant.  All points are public: they come from the description alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.errors import InvalidDescription

Coefficient = Callable[[Array], Any]
"""A function of an array: of positions on the line, or of one vector in several dimensions."""

_POINTS, _PAIRS, _TURNS = 4097, 256, 16
_SLACK = 1e-9


def read(name: str, function: Coefficient, points: Array) -> Array:
    """Return the values of a coefficient at points in their shape, or refuse unusable ones."""
    try:
        values = np.broadcast_to(
            np.asarray(function(np.array(points)), dtype=np.float64), points.shape
        )
    except (IndexError, TypeError, ValueError):  # its words could tell of the data
        raise InvalidDescription(
            f"{name} must return numbers in the shape of its argument, here {points.shape}."
        ) from None
    if not np.all(np.isfinite(values)):
        raise InvalidDescription(
            f"{name} must be finite wherever a position may be (keep this message from readers)."
        )
    return values


def constant(name: str, function: Coefficient, low: Array, high: Array) -> float | None:
    """Return the one value that a coefficient has on an interval; None if it varies."""
    values = read(name, function, np.linspace(low[0], high[0], _POINTS))
    return float(values[0]) if np.ptp(values) == 0.0 else None


def refute_on_line(
    drift: Coefficient, low: float, high: float, lipschitz: float, contraction: float | None
) -> None:
    """Refuse constants that the drift contradicts between neighbours of a grid."""
    points = np.linspace(low, high, _POINTS)
    rise, gap = np.diff(read("drift", drift, points)), np.diff(points)
    noise = 1e-12 * (1.0 + float(np.max(np.abs(rise), initial=0.0)))
    if np.any(np.abs(rise) > lipschitz * gap * (1.0 + _SLACK) + noise):
        _too_steep(float(np.max(np.abs(rise) / gap)), lipschitz)
    if contraction is not None and np.any(rise > -contraction * gap + noise):
        _too_flat(contraction)


def refute_in_space(
    drift: Coefficient,
    low: Array,
    high: Array,
    lipschitz: float,
    contraction: float | None,
    *,
    gradient: bool,
) -> None:
    """Refuse constants that the drift contradicts between pairs of points of a box."""
    points = low + (high - low) * _spread_out(2 * _PAIRS, low.size)
    values = np.array([read("drift", drift, point) for point in points])
    apart, rise = points[1::2] - points[::2], values[1::2] - values[::2]
    near = 1e-3 * apart  # pairs close by see steep places that far ones average out
    close = np.array([read("drift", drift, point) for point in points[::2] + near])
    for gap, change in ((apart, rise), (near, close - values[::2])):
        length = np.linalg.norm(gap, axis=1)
        steep = np.linalg.norm(change, axis=1)
        noise = 1e-12 * (1.0 + float(np.max(np.abs(values))))
        if np.any(steep > lipschitz * length * (1.0 + _SLACK) + noise):
            _too_steep(float(np.max(steep / np.maximum(length, 1e-300))), lipschitz)
        inward = np.einsum("ij,ij->i", gap, change) + (contraction or 0.0) * length**2
        if contraction is not None and np.any(
            inward > (_SLACK * lipschitz * length + noise) * length
        ):
            _too_flat(contraction)
    if gradient and _turns(drift, points[:_TURNS], high - low, lipschitz):
        raise InvalidDescription(
            "drift_is_gradient must be False for a drift that turns: its matrix of slopes is not "
            "symmetric, got True."
        )


def _turns(drift: Coefficient, points: Array, widths: Array, lipschitz: float) -> bool:
    """Whether slopes are not symmetric at most of the points; at few they may have a kink."""
    step = 1e-5 * float(np.min(widths))
    shifts = step * np.eye(widths.size)
    seen = 0
    for point in points:
        slopes = np.array(
            [
                (read("drift", drift, point + e) - read("drift", drift, point - e)) / (2.0 * step)
                for e in shifts
            ]
        )
        seen += bool(np.max(np.abs(slopes - slopes.T)) > 1e-3 * lipschitz)
    return 2 * seen > len(points)


def _spread_out(count: int, dimension: int) -> Array:
    """Points of the unit cube that fill it evenly, always the same ones."""
    ratio = 2.0
    for _ in range(64):  # the root of ratio^(d + 1) = ratio + 1
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1.0))
    slopes = ratio ** -np.arange(1.0, dimension + 1.0)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * slopes) % 1.0)


def _too_steep(seen: float, declared: float) -> None:
    raise InvalidDescription(
        f"drift_lipschitz must be at least {seen:.6g}, the steepest slope that was seen, got "
        f"{declared:g}."
    )


def _too_flat(declared: float) -> None:
    raise InvalidDescription(
        f"drift_contraction must hold everywhere between low and high, got {declared:g}; the drift "
        "falls less steeply in places."
    )


def length(values: Array) -> float:
    """Return the Euclidean length of a vector, never below it."""
    return math.hypot(*values.tolist()) * (1.0 + 1e-15)
