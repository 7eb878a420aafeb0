"""The bounds of Chourasia, Ye and Shokri, as printed (chourasia2021dynamics).

Letters are the paper's: Sg sensitivity of the summed gradient, n records, sigma noise (variance
2 eta sigma^2 on the iterate), eta step size, K steps, c log-Sobolev constant, lam strong convexity,
beta smoothness, L gradient bound, d dimension, alpha Renyi order.
"""

from __future__ import annotations

import math
from functools import partial

from wane_papers.records import Printed, Standing

KEY = "chourasia2021dynamics"


_printed = partial(Printed, key=KEY)


def _composition(*, alpha: float, Sg: float, n: int, sigma: float, eta: float, K: float) -> float:
    return alpha * Sg**2 * eta * K / (4.0 * n**2 * sigma**2)


def _rate(*, alpha: float, Sv: float, sigma2: float, gamma: float, J: float) -> float:
    return alpha * Sv**2 / (4.0 * gamma * sigma2) - (1.0 - gamma) * sigma2 * alpha * J


def _split(
    *,
    alpha: float,
    Sg: float,
    n: int,
    sigma: float,
    eta: float,
    K: float,
    c: float,
    gamma: float = 0.5,
) -> float:
    if gamma == 1.0:
        return _composition(alpha=alpha, Sg=Sg, n=n, sigma=sigma, eta=eta, K=K)
    lead = alpha * Sg**2 / (8.0 * gamma * (1.0 - gamma) * c * sigma**4 * n**2)
    return -lead * math.expm1(-2.0 * (1.0 - gamma) * sigma**2 * c * eta * K)


def best_fixed_split(tau: float) -> float:
    """The least of (66) over gamma in (0, 1] at tau = sigma^2 c eta K.

    In units of alpha Sg^2/(2 c sigma^4 n^2): the limit for long runs is one.
    """

    def at(gamma: float) -> float:
        x = 2.0 * (1.0 - gamma) * tau
        return tau / (2.0 * gamma) * (-math.expm1(-x) / x if x > 0.0 else 1.0)

    low, high, ratio = 0.25, 1.0, (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return min(at(0.5 * (low + high)), at(1.0))


def _frozen_order(*, R: float, alpha: float, a1: float, a2: float, t: float) -> float:
    return alpha * a2 / a1 * -math.expm1(-a1 * t) + R * math.exp(-a1 * t)


def _first_corollary(
    *, alpha: float, Sg: float, n: int, sigma: float, eta: float, K: float, lam: float
) -> float:
    return -alpha * Sg**2 / (lam * sigma**2 * n**2) * math.expm1(-lam * eta * K / 2.0)


def _lower(*, alpha: float, Sg: float, n: int, sigma: float, eta: float, K: float) -> float:
    return -alpha * Sg**2 / (4.0 * sigma**2 * n**2) * math.expm1(-eta * K)


def _second_corollary(
    *, alpha: float, Sg: float, n: int, sigma: float, eta: float, K: float
) -> float:
    q = 2.0 - eta
    return -alpha * Sg**2 / (q * sigma**2 * n**2) * math.expm1(-q * eta * K / 2.0)


def _risk(
    *, L: float, lam: float, beta: float, d: int, sigma2: float, eta: float, K: float
) -> float:
    fading = 2.0 * beta * L**2 / lam**2 * math.exp(-lam * eta * K)
    return fading + 2.0 * beta * d * sigma2 / lam


def _design(
    *, alpha: float, eps: float, L: float, lam: float, beta: float, d: int, n: int
) -> tuple[float, float, float, float]:
    return (
        lam / (2.0 * beta**2),
        4.0 * alpha * L**2 / (lam * eps * n**2),
        2.0 * beta**2 / lam**2 * math.log(eps * n**2 / (alpha * d)),
        10.0 * alpha * L**2 * beta * d / (lam**2 * eps * n**2),
    )


def _design_with_delta(
    *, eps: float, delta: float, L: float, lam: float, beta: float, d: int, n: int
) -> tuple[float, float]:
    odds = math.log(1.0 / delta)
    return (
        8.0 * L**2 * (eps + 2.0 * odds) / (lam * eps**2 * n**2),
        2.0 * beta**2 / lam**2 * math.log(n**2 * eps**2 / (4.0 * d * odds)),
    )


def _signed_contraction(*, s_over_sd: float, c: float, K: int) -> float:
    return s_over_sd * math.sqrt((1.0 - c**K) / (1.0 + c**K) * (1.0 + c) / (1.0 - c))


composition = _printed(
    "composition",
    "Theorem 1",
    ("finite Sg",),
    Standing.SOUND,
    "exact for a constant gap; also mu-Gaussian with mu^2 = 2 eps/alpha",
    _composition,
)
rate = _printed(
    "rate of the divergence",
    "Lemma 2",
    ("any gamma > 0", "J = I_alpha/E_alpha"),
    Standing.LOOSE,
    "least over gamma it is alpha (Sv sqrt(J) - sigma^2 J)",
    _rate,
)
log_sobolev = _printed(
    "Theorem 2",
    "equation (56)",
    ("both laws c-log-Sobolev", "common start"),
    Standing.LOOSE,
    "true, by an induction other than the printed one; up to 1.15 times the best bound of its kind",
    _split,
)
any_split = _printed(
    "Theorem 2 with any gamma > 0",
    "equation (66)",
    ("both laws c-log-Sobolev", "common start", "gamma > 0"),
    Standing.FALSE,
    "false for gamma > 1: in the setting of Figure 2 with gamma = 2 and K = 5 it gives 2.2117e-5 "
    "for an exact divergence of 3.9967e-5 (per order).  True for gamma in (0, 1]",
    _split,
    within=lambda alpha, Sg, n, sigma, eta, K, c, gamma=0.5: gamma > 0.0,
)
frozen_order = _printed(
    "one step from a divergence R",
    "equations (60), (61) and (64)",
    ("both laws c-log-Sobolev",),
    Standing.FALSE,
    "keeps the order where (59) lowers it to 1 + (alpha-1) exp(-a1 t): for N(0,1) against "
    "N(0,1) given x > 1 under heat flow, order 5, exact 1.4364 against 1.2856",
    _frozen_order,
)
strongly_convex = _printed(
    "Corollary 1",
    "Corollary 1",
    ("lam-strongly convex", "beta-smooth", "eta < 1/beta"),
    Standing.LOOSE,
    "between 1.57 and 4 times the exact value; holds up to eta = 2/(lam + beta)",
    _first_corollary,
)
strongly_convex_large_step = _printed(
    "Corollary 1 beyond its step size",
    "misuse of Corollary 1",
    ("lam-strongly convex", "beta-smooth"),
    Standing.FALSE,
    "maps -0.9 x -+ 0.25 tanh(x/4), noise 0.5, start 100, 6 steps: exact mu 2.411 against 2.132",
    _first_corollary,
)
quadratic_lower = _printed(
    "lower bound for quadratics",
    "Theorem 3",
    ("quadratic loss", "fixed start"),
    Standing.LOOSE,
    "below the exact value by the factor (2 - eta)/(1 + (1 - eta)^K), up to two",
    _lower,
)
quadratic = _printed(
    "Corollary 2",
    "Corollary 2",
    ("quadratic loss", "fixed start", "0 < eta < 2 (not stated)"),
    Standing.LOOSE,
    "within 4/(2 - eta)^2 of exact for long runs",
    _second_corollary,
)
excess_risk = _printed(
    "excess risk",
    "Lemma 6",
    ("optimum in the relative interior", "eta <= lam/(2 beta^2)"),
    Standing.LOOSE,
    "at least three times the exact value in dimension one",
    _risk,
    within=lambda L, lam, beta, d, sigma2, eta, K: 2.0 * beta**2 * eta <= lam * (1.0 + 1e-12),
)
design = _printed(
    "step size, sigma^2, steps and risk",
    "Theorem 4",
    ("eps n^2 > alpha d (not stated)", "optimum in the interior (not stated)"),
    Standing.UNPROVED,
    "omits both hypotheses, and the steps are no whole number",
    _design,
)
design_with_delta = _printed(
    "sigma^2 and steps for (eps, delta)",
    "Theorem 4",
    ("eps <= 2 ln(1/delta)", "as Theorem 4"),
    Standing.UNPROVED,
    "as Theorem 4; two to six times the noise variance that is needed",
    _design_with_delta,
    within=lambda eps, delta, L, lam, beta, d, n: eps <= -2.0 * math.log(delta),
)
signed_contraction = _printed(
    "Gaussian form with c = 1 - eta lam",
    "misuse of the contraction",
    ("eta above 2/(lam + beta), or a negative c",),
    Standing.FALSE,
    "the contraction is max(|1 - eta lam|, |1 - eta beta|); exact mu 2.411 against 1.225 for "
    "c = 0.2 and 0.127 for c = -0.9",
    _signed_contraction,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))
