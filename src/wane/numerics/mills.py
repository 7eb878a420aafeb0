"""Mills' ratio R(x) = (1 - Phi(x))/phi(x), and its decrease over an interval without cancellation.

    R(x) - R(x + mu) = integral over t >= 0 of exp(-x t - t^2/2) (1 - exp(-mu t))

is a positive integrand, so the integral is used where the plain difference would lose digits.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.numerics.double_double import Real

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
_DISTANT = 0.9  # R(y) below this share of R(x): the plain difference keeps all but one digit
_ROWS = 4096  # rows of a quadrature evaluated at once, to bound memory


def mills(x: Real) -> Real:
    """Return R(x), to the last digits; it overflows to infinity for x below about -37."""
    ratio: Real = special.erfcx(x * _ROOT_HALF) * _ROOT_HALF_PI
    return ratio


def mills_gap(x: float, mu: float) -> float:
    """Return R(x) - R(x + mu) for x >= -1 and mu > 0, relative error below 1e-14."""
    above, below = float(mills(x)), float(mills(x + mu))
    if below <= _DISTANT * above:
        return above - below
    return float(_by_quadrature(np.array([x]), np.array([mu]))[0])


def mills_gaps(x: Array, mu: Array) -> Array:
    """Return `mills_gap` for one-dimensional arrays."""
    above, below = mills(x), mills(x + mu)
    gap = above - below
    close = below > _DISTANT * above
    gap[close] = _by_quadrature(x[close], mu[close])
    return gap


def _by_quadrature(x: Array, mu: Array) -> Array:
    """Return R(x) - R(x + mu) by Gauss-Legendre where the exponent is below 45.

    Called only when R(x + mu) is close to R(x): then mu t stays of order one on the whole range
    and the last factor has no boundary layer.
    """
    gap = np.empty_like(x)
    for start in range(0, x.size, _ROWS):
        rows = slice(start, start + _ROWS)
        cut = 90.0 / (x[rows] + np.sqrt(x[rows] ** 2 + 90.0))
        t = cut[:, None] * _NODES
        integrand = np.exp(-t * (x[rows, None] + 0.5 * t)) * -np.expm1(-mu[rows, None] * t)
        gap[rows] = cut * (integrand @ _WEIGHTS)
    return gap
