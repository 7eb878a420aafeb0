"""The bounds of Bravo, Flores-Mella and Guzman, as printed (bravo2025modulus).

Letters are the paper's: D diameter, eta step size, L gradient bound, M and p weak smoothness, beta
smoothness, sigma noise (on the iterate in Sections 3 and 4, on the averaged gradient in Section 5),
n records, b batch size, T steps, alpha Renyi order.
"""

from __future__ import annotations

import math

from scipy import special

from wane_papers.records import Printed, Standing

KEY = "bravo2025modulus"


def _strongly_convex_factor(eta: float, kappa: float, beta: float) -> float:
    return 1.0 - 2.0 * eta * kappa + (eta * beta) ** 2


def _harmonic_bound(*, alpha: float, sigma: float, D: float, h: float, T: int) -> float:
    return alpha / (2.0 * sigma**2) * (D * D / T + h * (1.0 + math.log(T)))


def _geometric_bound(*, alpha: float, sigma: float, D: float, c: float, h: float, T: int) -> float:
    fade = c**T * (1.0 - c) / (1.0 - c**T)
    grown = 1.0 + math.log((1.0 - c**T) / (1.0 - c))
    return alpha / (2.0 * sigma**2) * (D * D * fade + h * grown)


def _earlier_contraction(*, alpha: float, sigma: float, D: float, c: float, T: int) -> float:
    return float(alpha * D * D * c**T / (2.0 * sigma**2))


def _earlier_expansion(*, alpha: float, sigma: float, D: float, c: float, T: int) -> float:
    return float(alpha * D * D * c ** (0.5 * (T + 1)) / (2.0 * sigma**2 * T))


def _offset(eta: float, M: float, p: float) -> float:
    if p == 1.0:
        return 0.0 if eta * M <= 2.0 else math.inf
    exponent = 2.0 / (1.0 - p) * math.log(eta * M / 2.0)
    return math.inf if exponent > 700.0 else 4.0 * (1.0 - p) / (1.0 + p) * math.exp(exponent)


def _kl(D: float, eta: float, T: int, M: float, p: float) -> float:
    return D * D / (4.0 * eta * T) + _offset(eta, M, p) * (1.0 + math.log(T)) / (4.0 * eta)


def _sampled(q: float, sigma_tilde: float, alpha: float) -> float:
    """The direction N(0) || mixture, by quadrature."""
    import numpy as np

    mu = 1.0 / sigma_tilde
    x = np.linspace(-40.0 - abs(mu), 40.0 + abs(mu), 400_001)
    t = -np.log1p(q * np.expm1(mu * x - mu * mu / 2.0))  # ln of N over the mixture
    weight = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    gap = np.expm1((alpha - 1.0) * t) + (alpha - 1.0) * np.expm1(-t)
    total = float(np.sum(weight * gap)) * float(x[1] - x[0])
    return math.log1p(total) / (alpha - 1.0)


def _order_limit(q: float, sigma_tilde: float) -> float:
    """The largest order of Lemma A.18, by bisection."""
    s2 = sigma_tilde**2

    def feasible(a: float) -> bool:
        m = math.log1p(1.0 / (q * (a - 1.0)))
        if a > m * s2 / 2.0 - math.log(s2):
            return False
        room = m * m * s2 / 2.0 - math.log(5.0 * s2)
        return room > 0.0 and a <= room / (m + math.log(q * a) + 1.0 / (2.0 * s2))

    low, high = 1.0 + 1e-9, 2.0
    while feasible(high):
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if feasible(middle) else (low, middle)
    return low


def _steps_needed(D: float, n: int, eta: float, L: float) -> int:
    return math.ceil(D * n / (4.0 * eta * L) * (1.0 - 1e-12))


def _poisson(
    *,
    alpha: float,
    n: int,
    L: float,
    M: float,
    p: float,
    D: float,
    eta: float,
    sigma: float,
    b: int = 1,
) -> tuple[int, float]:
    T = _steps_needed(D, n, eta, L)
    inner = 16.0 * L * L * T / n**2 + D * D / (eta * eta * T)
    inner += _offset(eta, M, p) / eta**2 * (1.0 + math.log(T))
    return T, alpha / sigma**2 * inner


def _excess_steps(*, n: int, L: float, M: float, p: float, D: float, eta: float) -> float:
    T = _steps_needed(D, n, eta, L)
    return T * T * _offset(eta, M, p) / (D * D) * (1.0 + math.log(T))


def _poisson_cap(
    *, alpha: float, n: int, L: float, M: float, p: float, D: float, eta: float, sigma: float
) -> float:
    steps = 2 * _steps_needed(D, n, eta, L) + _excess_steps(n=n, L=L, M=M, p=p, D=D, eta=eta)
    return 16.0 * alpha * L * L / (n * n * sigma**2) * steps


def _nonconvex(
    *, alpha: float, n: int, L: float, beta: float, D: float, eta: float, sigma: float, b: int = 1
) -> tuple[int, float, float]:
    T = math.ceil(math.log(2.0) / (2.0 * math.log1p(eta * beta)))
    A = 52.0 * L * L * T / n**2 + 4.0 * D * D * beta / eta + 2.0 * D * D * beta**2
    return T, A, alpha * A / sigma**2


def _fixed_order_limit(n: int, b: int, L: float, sigma: float) -> float:
    return b * b * sigma**2 / (16.0 * L * L) * math.log(n / b)


def _converted(A: float, sigma: float, delta: float) -> float:
    return A / sigma**2 + 2.0 / sigma * math.sqrt(A * math.log(1.0 / delta))


def _log_delta_limit(A: float, sigma: float, b: int, L: float, n: int) -> tuple[float, float]:
    printed = A * b**4 * sigma**4 * math.log(n / b) ** 2 / (256.0 * L**4)
    return printed, 6.25 * A * math.log(n / b) ** 2


def _contraction(
    *, D: float, eta: float, L: float, sigma: float, q: float, delta: float
) -> tuple[float, float]:
    """Exact quantile, and with the logarithmic bound on it."""
    r = (D / eta + 2.0 * L) / sigma
    lead = (D * D / (2.0 * eta**2) + D * L / eta + 2.0 * L * L) / sigma**2
    share = q * (1.0 - delta)
    quantile = float(special.ndtri(share / (delta + share)))
    return lead + r * quantile, lead + r * math.sqrt(2.0 * math.log1p(share / delta))


def _one_step_kappa(D: float, eta: float, L: float) -> float:
    return math.sqrt(-math.expm1(-D * D / (4.0 * eta)))


def _min_over_tau(
    *, alpha: float, q: float, shift: float, D: float, noise_std: float, T: int
) -> float:
    """R sampled steps in the small direction plus what is left of the distance, least over R."""
    half = noise_std / math.sqrt(2.0)
    one = _sampled(q, half / (2.0 * shift), alpha)
    return min(R * one + alpha * D * D / (2.0 * half**2 * R) for R in range(1, T + 1))


strongly_convex_factor = Printed(
    "squared Lipschitz constant, strongly convex and smooth",
    "Section 3.3.2, Table 1",
    ("kappa-strongly convex", "beta-smooth"),
    Standing.LOOSE,
    "exceeds one at eta = 1/beta unless kappa > beta/2; the tight factor is "
    "max((1 - eta kappa)^2, (1 - eta beta)^2)",
    _strongly_convex_factor,
)
harmonic_bound = Printed(
    "Corollary 3.7 with logarithm",
    "Corollary 3.7",
    ("c = 1", "bounded domain"),
    Standing.LOOSE,
    "grows like h ln T, although the chain may be restarted: the best bound is constant from "
    "T = D^2/h on",
    _harmonic_bound,
    within=lambda alpha, sigma, D, h, T: T >= 1,
)
geometric_bound = Printed(
    "Corollary 3.9 with logarithm",
    "Corollary 3.9",
    ("c not one", "bounded domain"),
    Standing.LOOSE,
    "the logarithm bounds a sum from above; the printed lower bound fails for c > 1",
    _geometric_bound,
    within=lambda alpha, sigma, D, c, h, T: c > 0.0 and c != 1.0 and T >= 1,
)
earlier_contraction = Printed(
    "earlier bound for contractions",
    "Section 3.3.2, from Altschuler and Talwar (2023)",
    ("modulus sqrt(c) delta", "c < 1", "bounded domain"),
    Standing.LOOSE,
    "(7) is smaller by the factor (1 - c)/(1 - c^T)",
    _earlier_contraction,
    within=lambda alpha, sigma, D, c, T: 0.0 <= c < 1.0 and T >= 1,
)
earlier_expansion = Printed(
    "earlier bound for expansions",
    "Section 3.3.2, from Balle and others (2019)",
    ("modulus sqrt(c) delta", "c > 1", "bounded domain"),
    Standing.LOOSE,
    "printed by its authors for c <= 1 only, yet true: (7) is smaller, since the mean of c^0 to "
    "c^(T-1) is at least c^((T-1)/2); this one diverges with T and (7) does not",
    _earlier_expansion,
    within=lambda alpha, sigma, D, c, T: c > 1.0 and T >= 1,
)
weak_smoothness_offset = Printed(
    "modulus of weakly smooth convex functions",
    "equation (2)",
    ("convex", "(p, M)-weakly smooth on the domain"),
    Standing.FALSE,
    "co-coercivity is used at a point outside the domain; on [0,1] x [-1e-7, 1e-7] a quadratic "
    "has one-step divergence 1857.1 against 1358.5.  Holds if the bound and convexity hold on the "
    "whole space",
    _offset,
    within=lambda eta, M, p: 0.0 <= p <= 1.0 and eta > 0.0 and M > 0.0,
)
kl_to_stationarity = Printed(
    "Kullback-Leibler bound",
    "equation (9)",
    ("convex, weakly smooth", "bounded domain"),
    Standing.LOOSE,
    "with the logarithm in place of the harmonic number, and without restarts",
    _kl,
    within=lambda D, eta, T, M, p: 0.0 <= p <= 1.0 and T >= 1,
)
sampled_divergence = Printed(
    "sampled Gaussian, N against mixture",
    "Definition A.16",
    ("Poisson sampling",),
    Standing.FALSE,
    "this is the smaller direction and stays bounded as the order grows; the step needs the pair "
    "of two mixtures",
    _sampled,
)
order_limit = Printed(
    "largest Renyi order",
    "Lemma A.18",
    ("q <= 1/5", "sigma_tilde >= 4"),
    Standing.SOUND,
    "checked numerically",
    _order_limit,
    within=lambda q, sigma_tilde: 0.0 < q <= 0.2 and sigma_tilde >= 4.0,
)
sampled_bound = Printed(
    "2 alpha q^2 / sigma_tilde^2",
    "Lemma A.18",
    ("q <= 1/5", "sigma_tilde >= 4", "alpha up to the limit"),
    Standing.LOOSE,
    "about four times the exact value",
    lambda q, sigma_tilde, alpha: 2.0 * alpha * (q / sigma_tilde) ** 2,
    within=lambda q, sigma_tilde, alpha: 0.0 < q <= 0.2 and sigma_tilde >= 4.0,
)
poisson_min_over_steps = Printed(
    "Theorem 5.2 before simplification",
    "equations (15) to (17)",
    ("Poisson batches", "convex, weakly smooth"),
    Standing.FALSE,
    "uses the small direction of the sampled Gaussian, and conditions on a batch that is not "
    "independent of the condition; exact divergence 7.751 against 2.530",
    _min_over_tau,
)
poisson_bound = Printed(
    "Theorem 5.2",
    "Theorem 5.2",
    ("Poisson batches", "b < n/5 (not stated)", "large noise"),
    Standing.UNPROVED,
    "batches larger than b have another modulus; the constant survives for batches of fixed size",
    _poisson,
)
poisson_excess_steps = Printed(
    "V",
    "Remark 5.3",
    ("as Theorem 5.2",),
    Standing.UNPROVED,
    "as Theorem 5.2",
    _excess_steps,
)
poisson_cap = Printed(
    "plateau",
    "Remark 5.3",
    ("as Theorem 5.2",),
    Standing.UNPROVED,
    "as Theorem 5.2; its branch for few steps is eight times looser than composition",
    _poisson_cap,
)
nonconvex_bound = Printed(
    "Theorem 5.4",
    "Theorem 5.4",
    ("fixed-size batches", "b <= n/10", "large noise"),
    Standing.UNPROVED,
    "the map without the record reveals whether it was drawn; with twice the "
    "shift the constant 52 still holds",
    _nonconvex,
    within=lambda alpha, n, L, beta, D, eta, sigma, b=1: 10 * b <= n,
)
nonconvex_order_limit = Printed(
    "largest Renyi order",
    "Theorem 5.4",
    ("as Theorem 5.4",),
    Standing.SOUND,
    "as stated",
    _fixed_order_limit,
)
converted_epsilon = Printed(
    "(epsilon, delta) form",
    "equation (22)",
    ("the order it uses is admissible",),
    Standing.SOUND,
    "only where that order is admissible; see (23)",
    _converted,
)
log_delta_limit = Printed(
    "admissible delta",
    "equation (23)",
    ("as Theorem 5.4",),
    Standing.FALSE,
    "algebra slip, dimensionally inconsistent: ln(1/delta) <= A b^4 sigma^2 ln^2(n/b)/(1024 L^4) "
    "is what follows",
    _log_delta_limit,
)
contraction_epsilon = Printed(
    "hockey-stick contraction",
    "equation (24)",
    ("bounded domain", "batches of size b"),
    Standing.FALSE,
    "D L/eta should be 2 D L/eta; delta at the printed epsilon is 1.15e-5 for a target of 1e-5",
    _contraction,
)
one_step_kappa = Printed(
    "one-step total variation",
    "Lemma C.1",
    ("bounded domain", "L-Lipschitz potential"),
    Standing.FALSE,
    "ignores that the step spreads points: exact 0.9545 against 0.1754 for |x|, eta = 8, D = 1",
    _one_step_kappa,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))
