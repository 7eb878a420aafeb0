"""The moduli of gradient steps, one function for each kind of loss.

Letters: eta step size, G largest change of the gradient between two points (2 C where C bounds
the gradient), M smoothness or Hoelder constant, m strong
convexity, p Hoelder exponent.
"""

from __future__ import annotations

import math

from wane.theorems.lemmas.moduli import (
    IDENTITY,
    AffineSquare,
    HolderOnDomain,
    Least,
    Modulus,
    RefinedHolder,
    Triangle,
)


def affine(factor: float, offset: float = 0.0) -> AffineSquare:
    """`psi(w) = c w + h` from its two numbers; a negative c is raised to zero."""
    return AffineSquare(math.log(factor) if factor > 0.0 else -math.inf, offset)


def nonsmooth_convex(eta: float, G: float, m: float = 0.0) -> AffineSquare:
    """Convex with subgradients of bounded change: c = 1 - 2 eta m, h = (eta G)^2."""
    offset = (eta * G) ** 2
    return AffineSquare(0.0, offset) if m == 0.0 else affine(1.0 - 2.0 * eta * m + 4e-16, offset)


def weakly_smooth_offset(eta: float, M: float, p: float) -> float:
    """`h = 4 (1-p)/(1+p) (eta M/2)^(2/(1-p))`, the largest increase of the squared distance."""
    half = eta * M / 2.0
    if p == 1.0:
        return 0.0 if half <= 1.0 else math.inf
    if half == 0.0:
        return 0.0
    exponent = math.log(4.0) + math.log1p(-p) - math.log1p(p) + 2.0 / (1.0 - p) * math.log(half)
    return math.inf if exponent > 700.0 else math.exp(exponent)


def weakly_smooth(eta: float, M: float, p: float) -> AffineSquare:
    """Convex with a gradient that is Hoelder on the whole space: c = 1 and the offset above."""
    return AffineSquare(0.0, weakly_smooth_offset(eta, M, p))


def weakly_smooth_refined(eta: float, M: float, p: float, G: float = math.inf) -> Modulus:
    """Return the modulus of weakly smooth losses that is exact at small distances too."""
    if p == 0.0:
        return AffineSquare(0.0, (eta * min(M, G)) ** 2)
    if p == 1.0:
        return smooth_convex(eta, M)
    return RefinedHolder(eta, p, M, G) if M > 0.0 else IDENTITY


def weakly_smooth_on_domain(eta: float, M: float, p: float, G: float = math.inf) -> Modulus:
    """Convex with a gradient that is Hoelder on the domain only."""
    return HolderOnDomain(eta, p, M, G)


def strongly_convex_smooth(eta: float, m: float, M: float) -> AffineSquare:
    """C = max((1 - eta m)^2, (1 - eta M)^2)."""
    worst = max(abs(1.0 - eta * m), abs(1.0 - eta * M))
    return affine(worst * worst)


def smooth_convex(eta: float, M: float) -> AffineSquare:
    """C = 1 up to eta = 2/M, (eta M - 1)^2 beyond."""
    return affine(max(1.0, (eta * M - 1.0) ** 2))


def smooth(eta: float, M: float) -> AffineSquare:
    """C = (1 + eta M)^2, convex or not."""
    return affine((1.0 + eta * M) ** 2)


def smooth_bounded(eta: float, M: float, G: float) -> Triangle:
    """phi(d) = d + min(eta M d, eta G), convex or not, clipped or not."""
    return Triangle(eta, 1.0, M, G)


def dissipative(
    eta: float, lam: float, kappa: float, *, M: float = math.inf, G: float = math.inf
) -> Modulus:
    """Strongly dissipative: psi(w) = (1 - 2 eta kappa) w + 2 eta lam + eta^2 min(M^2 w, G^2)."""
    pull, drift = 2.0 * eta * kappa, 2.0 * eta * lam
    rows: list[Modulus] = []
    if math.isfinite(M):
        bend = (eta * M) ** 2
        rows.append(affine(1.0 - pull + bend + 4e-16 * (1.0 + pull + bend), drift))
    if math.isfinite(G):
        rows.append(affine(1.0 - pull + 4e-16 * (1.0 + pull), drift + (eta * G) ** 2))
    return rows[0] if len(rows) == 1 else Least(tuple(rows))


def saddle(eta: float, G: float, M: float, m: float = 0.0) -> Modulus:
    """Descent-ascent with an m-monotone field: psi(w) = (1 - 2 eta m) w + eta^2 min(M^2 w, G^2)."""
    return dissipative(eta, 0.0, m, M=M, G=G)
