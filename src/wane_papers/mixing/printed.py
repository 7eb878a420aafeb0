"""The bounds of Balle, Barthe, Gaboardi and Geumlek, as printed (balle2019mixing).

Letters are the paper's: theta and rho the Ornstein-Uhlenbeck process, Delta the sensitivity, d the
dimension, R the bound on the statistic, C the gradient bound, eps the divergence per unit order.
"""

from __future__ import annotations

import math
from functools import partial

from wane_papers.records import Printed, Standing

_printed = partial(Printed, key="balle2019mixing")


def _driven_variance(*, theta: float, rho: float, t: float) -> float:
    return -rho * math.expm1(-2.0 * theta * t) / theta


def _intrinsic(*, theta: float, rho: float, t: float, Delta: float) -> float:
    return theta * Delta**2 / (2.0 * rho**2 * math.expm1(2.0 * theta * t))


def _error(*, theta: float, rho: float, t: float, d: int, R: float) -> float:
    return (math.expm1(-theta * t) * R) ** 2 - d * rho**2 / theta * math.expm1(-2.0 * theta * t)


def _plain_error(*, theta: float, rho: float, t: float, d: int) -> float:
    return d * rho**2 * math.expm1(2.0 * theta * t) / theta


def _suggested(*, eps: float, Delta: float, d: int, R: float) -> tuple[float, float]:
    theta = math.log1p(d * Delta**2 / (2.0 * eps * R**2))
    return theta, math.sqrt(theta * Delta**2 / (2.0 * eps * math.expm1(2.0 * theta)))


def _last_display(*, y: float, R: float) -> float:
    return (R**2 * (y / R**2) ** 2 + R**4 * (y / R**2)) / (R**2 + y) ** 2


threshold_implies_dobrushin = _printed(
    "(gamma, eps)-Dobrushin implies gamma-Dobrushin",
    "Lemma 9, Figure 1",
    ("(gamma, eps)-Dobrushin",),
    Standing.FALSE,
    "it is the other way round: randomised response with eps0 is (0, eps0)-Dobrushin",
    lambda gamma, delta: gamma * delta,
)
per_index = _printed(
    "one record of projected SGD",
    "Theorem 5 (main text)",
    ("strongly convex, smooth",),
    Standing.FALSE,
    "lacks the factor alpha, which the appendix has",
    lambda C, sigma: 2.0 * C**2 / sigma**2,
)
driven_variance = _printed(
    "variance of the printed equation",
    "Section 5.1",
    ("dX = -theta X dt + sqrt(2 rho) dW",),
    Standing.FALSE,
    "the kernel and the privacy printed beside it belong to sqrt(2) rho dW",
    _driven_variance,
)
intrinsic_sensitivity = _printed(
    "Lambda(t)",
    "Corollary 7",
    ("dX = -theta X dt + sqrt(2) rho dW",),
    Standing.SOUND,
    "exact for the kernel as printed",
    _intrinsic,
)
error = _printed(
    "mean squared error",
    "equation (4)",
    ("norm at most R",),
    Standing.SOUND,
    "exact at norm R",
    _error,
)
plain_error = _printed(
    "mean squared error of the Gaussian mechanism of equal privacy",
    "before Theorem 8",
    (),
    Standing.SOUND,
    "exact",
    _plain_error,
)
suggested = _printed(
    "theta and rho",
    "Theorem 8",
    ("released at t = 1",),
    Standing.LOOSE,
    "better than the Gaussian mechanism at t = 1, not at all times: its first half does not apply",
    _suggested,
)
last_display = _printed(
    "error with the suggested parameters",
    "proof of Theorem 8, last display",
    ("y = d Delta^2/(2 eps)",),
    Standing.FALSE,
    "0.2908 for 1.7143 at R = 2, y = 3; the result next to it is right",
    _last_display,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))
