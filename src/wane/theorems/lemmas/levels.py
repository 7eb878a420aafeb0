"""Noise levels in a bounded number of classes: less noise is never more private."""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array

WIDEST = 1e4
"""Levels further above the least share a class: next to it, they cost nothing."""


def rounded_down(levels: Array, most: int) -> Array:
    """The levels themselves, or where more than `most` differ, the least of each one's class.

    Classes are equally wide in the logarithm.  A step with less noise dominates one with more, so
    a guarantee for the rounded levels holds for the true ones.
    """
    distinct = np.unique(levels)
    if len(distinct) <= most:
        return levels
    ratios = distinct / distinct[0]
    width = math.log(min(float(ratios[-1]), WIDEST)) / (most - 1)
    places = np.floor(np.log(np.minimum(ratios, WIDEST)) / width).astype(np.int64)
    firsts = np.searchsorted(places, places)  # the first of each class is its least level
    return np.asarray(distinct[firsts][np.searchsorted(distinct, levels)])
