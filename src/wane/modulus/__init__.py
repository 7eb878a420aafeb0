"""Amplification by iteration for a step with a modulus of continuity that the caller gives.

Give how far apart a step can drive two points, how far the two runs' steps differ at one point, and
the noise; `best_path` finds the cheapest way to bring the runs together, which is a certificate.
"""

from wane.describe.saddle import NoisyDescentAscent
from wane.modulus.fine_tuning import fine_tuned
from wane.modulus.path import BestPath, best_path
from wane.modulus.steps import (
    bounded_change,
    descent_ascent,
    from_values,
    hoelder,
    smooth,
    smooth_convex,
    sum_of_parts,
)

__all__ = [
    "BestPath",
    "NoisyDescentAscent",
    "best_path",
    "bounded_change",
    "descent_ascent",
    "fine_tuned",
    "from_values",
    "hoelder",
    "smooth",
    "smooth_convex",
    "sum_of_parts",
]
