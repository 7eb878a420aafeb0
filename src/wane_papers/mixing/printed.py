"""The bounds of Balle, Barthe, Gaboardi and Geumlek, as printed (balle2019mixing).

Letters are the paper's: theta and rho the Ornstein-Uhlenbeck process, Delta the sensitivity, d the
dimension, R the bound on the statistic, C the gradient bound, eps the divergence per unit order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

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


Point = tuple[float, float]


def _dobrushin(*, gamma: float, eps: float, delta: float) -> Point:
    return eps, gamma * delta


def _threshold(*, eps: float, delta: float) -> float:
    return math.inf if delta == 0.0 else math.log1p(math.expm1(eps) / delta)


def _doeblin(*, gamma: float, eps: float, delta: float) -> Point:
    after = math.log1p(gamma * math.expm1(eps))
    return after, gamma * (1.0 - math.exp(after - eps) * (1.0 - delta))


def _ultra_mixing(*, gamma: float, eps: float, delta: float) -> Point:
    after = math.log1p(gamma * math.expm1(eps))
    return after, gamma * delta * math.exp(after - eps)


def _renyi(alpha: float, first: Sequence[float], second: Sequence[float]) -> float:
    p, q = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.any((p > 0.0) & (q == 0.0)):
        return math.inf
    seen = p > 0.0
    return math.log(float(np.sum(q[seen] * (p[seen] / q[seen]) ** alpha))) / (alpha - 1.0)


def _coupling(
    *,
    alpha: float,
    nu: Sequence[float],
    pi: Sequence[Sequence[float]],
    K: Sequence[Sequence[float]],
) -> float:
    """The coupling pi has the law omega by rows and mu by columns."""
    plan, kernel = np.asarray(pi, dtype=float), np.asarray(K, dtype=float)
    omega = plan.sum(axis=1)
    moved = [
        _renyi(alpha, plan[x] / omega[x] @ kernel, kernel[x])
        for x in range(omega.size)
        if nu[x] > 0.0 and omega[x] > 0.0
    ]
    return _renyi(alpha, omega.tolist(), nu) + max(moved)


def _path(*, alpha: float, L: float, sigma: float, distances: Sequence[float]) -> float:
    """Distances are those of mu_0 and mu_1, mu_1 and mu_2, and so on."""
    r = len(distances)
    total = math.fsum(L ** (2 * (r - i)) * w**2 for i, w in enumerate(distances, start=1))
    return alpha * L**2 / (2.0 * sigma**2) * total


def _iterated(*, alpha: float, L: float, sigma: float, Delta: float, r: int) -> float:
    return alpha * Delta**2 * L ** (r + 1) / (2.0 * r * sigma**2)


def _laplace_moment(alpha: float, z: float) -> float:
    up = alpha / (2.0 * alpha - 1.0) * math.exp(z * (alpha - 1.0))
    return up + (alpha - 1.0) / (2.0 * alpha - 1.0) * math.exp(-z * alpha)


def _iterated_laplace(*, alpha: float, near: float, far: float, l1: float, l2: float) -> float:
    """The distances of w from the centres v and u of the two laws."""
    both = _laplace_moment(alpha, near / l1) * _laplace_moment(alpha, far / l2)
    return math.log(both) / (alpha - 1.0)


def _by_index(
    *, alpha: float, C: float, sigma: float, eta: float, beta: float, rho: float, n: int, i: int
) -> float:
    if i == n:
        return alpha * 2.0 * C**2 / sigma**2
    shrunk = 1.0 - 2.0 * eta * beta * rho / (beta + rho)
    return float(alpha * 2.0 * C**2 / ((n - i) * sigma**2) * shrunk ** (0.5 * (n - i + 1)))


def _probabilities(gamma: float, eps: float, delta: float) -> bool:
    return 0.0 <= gamma <= 1.0 and eps >= 0.0 and 0.0 <= delta <= 1.0


dobrushin = _printed(
    "(eps, gamma delta) after a kernel",
    "Theorem 1 (1)",
    ("M is (eps, delta)-private", "K is gamma-Dobrushin"),
    Standing.LOOSE,
    "delta times the coefficient at the threshold of (2), which is never larger, is the exact "
    "worst case",
    _dobrushin,
    within=_probabilities,
)
threshold = _printed(
    "threshold at which a kernel's coefficient multiplies delta",
    "Theorem 1 (2)",
    ("M is (eps, delta)-private", "K is (gamma, this)-Dobrushin"),
    Standing.SOUND,
    "attained by a mechanism on two points; its proof has two slips (E2.9)",
    _threshold,
    within=lambda eps, delta: eps >= 0.0 and 0.0 <= delta <= 1.0,
)
doeblin = _printed(
    "(eps', delta') after a kernel that forgets",
    "Theorem 1 (3)",
    ("M is (eps, delta)-private", "K is gamma-Doeblin"),
    Standing.LOOSE,
    "at its own eps' the exact delta' is usually many times smaller: median 0.008 for 0.13 over "
    "random kernels",
    _doeblin,
    within=_probabilities,
)
ultra_mixing = _printed(
    "(eps', delta') after a kernel with bounded likelihood ratios",
    "Theorem 1 (4)",
    ("M is (eps, delta)-private", "K is gamma-ultra-mixing"),
    Standing.LOOSE,
    "at its own eps' the exact delta' is zero for most kernels",
    _ultra_mixing,
    within=_probabilities,
)
coupling = _printed(
    "divergence through a coupling",
    "Theorem 2, equation (1)",
    ("any law omega", "any coupling pi of omega and mu"),
    Standing.SOUND,
    "infinite unless omega has no mass where nu has none, a term that must not be dropped",
    _coupling,
)
iteration_path = _printed(
    "divergence along a path of laws",
    "Theorem 4, equation (2)",
    ("L-Lipschitz maps, noise sigma, projections", "mu_0 = mu and mu_r = nu"),
    Standing.SOUND,
    "its least value over paths is exact for linear maps, also for L > 1",
    _path,
)
iteration = _printed(
    "amplification by iteration",
    "Theorem 4, equation (3)",
    ("as equation (2)", "L <= 1", "distance Delta"),
    Standing.LOOSE,
    "the best path gives c^r (1 - c)/(1 - c^r) with c = L^2 for L^(r+1)/r: 35,000 times less at "
    "L = 1/2, r = 20; the weights in its proof are misprinted (E2.4)",
    _iterated,
    within=lambda alpha, L, sigma, Delta, r: alpha >= 1.0 and 0.0 <= L <= 1.0 and r >= 1,
)
iterated_laplace = _printed(
    "Laplace noise twice",
    "Example 2",
    ("any w between the two centres",),
    Standing.LOOSE,
    "at the best w 1.08 to 1.48 times the exact divergence",
    _iterated_laplace,
)
per_index_appendix = _printed(
    "one record of projected SGD, appendix",
    "Theorem 5 (appendix)",
    ("C-Lipschitz, beta-smooth, rho-strongly convex", "eta <= 2/(beta + rho)"),
    Standing.LOOSE,
    "leaves out the noise of the record's own step and the best path",
    _by_index,
    within=lambda alpha, C, sigma, eta, beta, rho, n, i: (
        eta * (beta + rho) <= 2.0 * (1.0 + 1e-12) and 1 <= i <= n
    ),
)
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
