"""Bounds for Gibbs posteriors and Langevin chains by others, as they are usually quoted.

Letters: GD largest difference of gradients on neighbouring data, m strong convexity, L smoothness,
d dimension, eta step size.
"""

from __future__ import annotations

import math

from wane_papers.records import Printed, Standing


def _minami(*, GD: float, m: float, delta: float) -> float:
    return GD * math.sqrt((1.0 + 2.0 * math.log(1.0 / delta)) / m)


def _averaged(*, d: int, m: float, L: float, eta: float, n0: int, n: int, W0sq: float) -> float:
    """W0sq bounds the squared transport distance of the start from the target."""
    burnt_in = (1.0 - eta * m) ** n0 * W0sq + (2.0 * L * eta * d / m if n0 else 0.0)
    return burnt_in / (2.0 * eta * n) + L * eta * d


gibbs_epsilon = Printed(
    "Gibbs posterior",
    "as quoted by ganesh2020langevin",
    ("m-strongly convex", "gradients differ by at most GD"),
    Standing.LOOSE,
    "exact draws are Gaussian private with mu = GD/sqrt(m), never worse; recalled only",
    _minami,
    "minami2016gibbs",
)
averaged_entropy = Printed(
    "Kullback-Leibler divergence of the mixture of iterates",
    "as usually quoted",
    ("m-strongly convex", "L-smooth", "eta <= 1/L", "n iterates after n0 are mixed"),
    Standing.SOUND,
    "for a mixture of iterates, not for the last one; recalled, not checked here",
    _averaged,
    "durmus2019convex",
    within=lambda d, m, L, eta, n0, n, W0sq: eta * L <= 1.0 + 1e-12,
)

BOUNDS: tuple[Printed, ...] = (gibbs_epsilon, averaged_entropy)
