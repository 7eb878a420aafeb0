"""A privacy profile as losses on dots that dominate every mechanism with this profile.

delta(e), for e >= 0 and both directions, is a convex function of e^e, and delta(-e) follows from
it.  Bounds on it at some e, joined by the lower hull of straight lines in e^e, bound it everywhere,
and the hull is the profile of one symmetric pair whose losses are the e at its corners:

    the Q-mass at a corner is by how much the slope changes there, the P-mass e^e times as much;
    at -e both masses are exchanged; what remains lies at zero, or is an infinite loss.

Claim.  The pair dominates: at no e is its profile below the true one, so neither is that of any
composition [zhu2022optimal], nor any Renyi divergence.
Proof.  The true profile is convex in e^e and below the given points, and the hull is the greatest
such function.  Raised masses only raise the sums of positive terms that make up the profile at
e >= 0; below zero it is P - e^e P + e^e delta(-e) with P >= 1 the whole mass.
"""

from __future__ import annotations

import math

import numpy as np

from wane.arrays import Array
from wane.numerics.discrete_losses import MASS_MARGIN, DiscreteLosses, Integers

LARGEST_LOSS = 690.0
"""Losses beyond count as infinite: e to this power is still a double."""

_UNIT = 2.0**-53


def profile_dots(places: Integers, deltas: Array, interval: float) -> DiscreteLosses:
    """Return the losses behind bounds `deltas` at `places` times the interval, rising from 0."""
    values = np.minimum.accumulate(np.minimum(deltas, 1.0))
    # e^e - 1, which tells apart losses that e^e rounds together, and changes no straight line
    odds = np.expm1(places * interval)
    corners = _lower_hull(odds, values)
    corner_places, at, heights = places[corners], odds[corners], values[corners]
    slopes = np.append(np.diff(heights) / np.diff(at), 0.0)
    # Errors of slopes telescope: at every corner they are relative ones of the profile there.
    raised = 1.0 + MASS_MARGIN + 16.0 * _UNIT * places.size
    under_q = np.maximum(np.diff(slopes), 0.0) * raised
    under_p = under_q * (1.0 + at[1:])
    infinite = float(heights[-1])
    spread = math.fsum(under_q) + math.fsum(under_p) + infinite
    still = max(1.0 - spread, 0.0) + 4.0 * _UNIT
    masses = np.concatenate([under_q[::-1], [still], under_p])
    where = np.concatenate([-corner_places[:0:-1], [0], corner_places[1:]])
    seen = masses > 0.0
    return DiscreteLosses(where[seen], masses[seen], infinite)


def _lower_hull(x: Array, y: Array) -> Integers:
    """Return the corners of the greatest convex function below the points, flat at the end."""
    hull: list[int] = []
    for i in range(x.size):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    # Beyond the last point the bound stays what it is there, so a last flat piece adds nothing.
    while len(hull) > 1 and y[hull[-1]] >= y[hull[-2]]:
        hull.pop()
    return np.asarray(hull, dtype=np.int64)
