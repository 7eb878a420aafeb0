"""Approximate deltas by saddle points in doubles; they only choose what to compute.

Delta is an integral of `e^(K(theta) - theta epsilon) / (theta (1 + theta))` along a line, K the
logarithm of E e^(theta loss); where that is least on the real axis, a parabola gives its size.
"""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array

STEP = 0.1
"""Between logarithms of neighbouring thetas."""
THETAS: Array = np.exp(STEP * np.arange(-40, 71))


def sizes(log_moments: Array, epsilon: float) -> Array:
    """Return the approximate delta for each column of log moments at all thetas; not a bound."""
    height = log_moments - (THETAS * epsilon + np.log(THETAS * (1.0 + THETAS)))[:, None]
    height = np.where(np.isnan(height), math.inf, height)
    at = np.clip(np.argmin(height, axis=0), 1, len(THETAS) - 2)
    below, here, above = (np.take_along_axis(height, (at + d)[None], axis=0)[0] for d in (-1, 0, 1))
    bend = (above - 2.0 * here + below) / STEP**2
    slope = (above - below) / (2.0 * STEP)
    with np.errstate(all="ignore"):
        turn = np.clip(slope / bend, -STEP, STEP)
        least = here - slope * turn + bend * turn * turn / 2.0
        deltas = np.exp(least) * THETAS[at] * np.exp(-turn) / np.sqrt(2.0 * math.pi * bend)
    return np.where(np.isfinite(deltas), np.minimum(deltas, 1.0), 1.0)
