"""Underdamped Langevin with the exact integrator: against its target, and against the diffusion.

Against the target the chain is coupled with stationary dynamics, brought close by friction, and
steered onto them in a last window of steps.  All bounds are for the joint law of position and
velocity, hence also for the position alone.  Proofs: docs/proofs/langevin-underdamped.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane.describe.chain import Direction
from wane.numerics.rounding import inflate
from wane.theorems.lemmas.letters import (
    KineticLetters,
    girsanov_price,
    log_moment,
    log_moment_of_normal,
    minus_log_one_minus,
)

_ROUNDING = 1e-12
_VOLTERRA = 4.0 / math.pi**2
"""int_0^h |int_0^t V|^2 dt <= this h^2 int_0^h |V|^2 dt, with equality for a quarter cosine."""


@dataclass(frozen=True)
class Contraction:
    """|Psi'| <= C |Psi| + k1 V over one step of chain and stationary dynamics; gap = 1 - C."""

    k1: float
    gap: float

    @classmethod
    def of(cls, x: KineticLetters) -> Contraction:
        """Return the constants of one step; a gap that is not positive proves nothing."""
        k0 = x.mu * x.L * x.eta**2 / math.sqrt(2.0)
        if not k0 < 1.0:
            return cls(math.inf, -math.inf)
        k1 = k0 / (1.0 - k0)
        return cls(k1, -math.expm1(-x.rate * x.eta) - k1)


def steering_cost(x: KineticLetters, window: int) -> float:
    """c_Psi: steering Psi to zero over `window` steps costs at most c_Psi |Psi| in L2.

    Claim.  sqrt(lmax(T'GT)) + mu L sqrt(lmax(T'HT)): G integrates the Hermite path's control, H
    sums the path's squares at the starts of the steps, T maps Psi to position and velocity gaps.
    """
    r = window * x.eta
    G = [0.0, 0.0, 0.0]
    for node, weight in _GAUSS:
        s = 0.5 * (1.0 + node)
        c0 = (6.0 - 12.0 * s) / r**2 + x.gam * (6.0 * s - 6.0 * s * s) / r
        c1 = (4.0 - 6.0 * s) / r - x.gam * (1.0 - 4.0 * s + 3.0 * s * s)
        for k, entry in enumerate((c0 * c0, c0 * c1, c1 * c1)):
            G[k] += 0.5 * weight * r * entry
    means = _power_means(window)
    H = [
        r * scale * math.fsum(c * means[k] for k, c in enumerate(poly))
        for poly, scale in zip(_SQUARES, (1.0, r, r * r), strict=True)
    ]
    return inflate(_norm_through(G, x.gam) + x.mu * x.L * _norm_through(H, x.gam), _ROUNDING)


_GAUSS = ((-math.sqrt(0.6), 5.0 / 9.0), (0.0, 8.0 / 9.0), (math.sqrt(0.6), 5.0 / 9.0))
# products of the Hermite polynomials 1 - 3 s^2 + 2 s^3 and s - 2 s^2 + s^3, by powers of s
_SQUARES = (
    (1.0, 0.0, -6.0, 4.0, 9.0, -12.0, 4.0),
    (0.0, 1.0, -2.0, -2.0, 8.0, -7.0, 2.0),
    (0.0, 0.0, 1.0, -4.0, 6.0, -4.0, 1.0),
)
# Bernoulli's numbers: the mean of (k/K)^p over k < K is sum_j C(p+1, j) B_j K^-j / (p + 1)
_BERNOULLI = (1.0, -0.5, 1.0 / 6.0, 0.0, -1.0 / 30.0, 0.0, 1.0 / 42.0)


def _power_means(window: int) -> list[float]:
    """Return the mean of (k/window)^p over k < window, for p = 0..6."""
    if window <= 64:
        return [math.fsum((k / window) ** p for k in range(window)) / window for p in range(7)]
    return [
        math.fsum(math.comb(p + 1, j) * _BERNOULLI[j] * window**-j for j in range(p + 1)) / (p + 1)
        for p in range(7)
    ]


def _norm_through(M: list[float], gam: float) -> float:
    """Return the root of the largest eigenvalue of T'MT with T = [[1/gam, -1/gam], [0, 1]]."""
    a = M[0] / gam**2
    b = (M[1] - M[0] / gam) / gam
    c = M[0] / gam**2 - 2.0 * M[1] / gam + M[2]
    return math.sqrt(0.5 * (a + c) + math.hypot(0.5 * (a - c), b))


@dataclass(frozen=True)
class KineticFree:
    """The free parameters of the underdamped certificate; every choice is valid.

    Attributes:
        window: steps over which the chain is steered, from 1 to the number of steps.
        q1, q2: Hoelder exponents above one with 1/q1 + 1/q2 < 1.
        w_start, w_drift: shares of the start and of the drift before the window; positive, and
            the rest of one, also positive, is the window's own.
    """

    window: int
    q1: float = 20.0
    q2: float = 20.0
    w_start: float = 0.05
    w_drift: float = 0.85

    @property
    def admissible(self) -> bool:
        """Whether the theorem covers these values, apart from the window's length."""
        shares = min(self.w_start, self.w_drift, 1.0 - self.w_start - self.w_drift) > 0.0
        exponents = min(self.q1, self.q2) > 1.0 and 1.0 / self.q1 + 1.0 / self.q2 < 1.0
        return shares and exponents and self.window >= 1


def kinetic_divergence(
    x: KineticLetters, direction: Direction, order: float, free: KineticFree
) -> float:
    """Return the joint law's divergence from target and stationary velocities, at these parameters.

    Claim.  (order-1) D <= -(d/(2 q1)) ln(1 - 2 q1 W mu) + ln E exp(A0 |e_0|^2)/q2 with
    W = lam [c_Psi^2 k1^2 S^2/w_drift + (mu L)^2 (4 eta^2/pi^2) K eta/w_window], S = (1 - C^(N-K))
    /(1 - C), A0 = q2 lam c_Psi^2 C^(2(N-K)) gam^2/w_start.
    """
    step = Contraction.of(x)
    if not (free.admissible and free.window <= x.N and x.m > 0.0 < step.gap) or math.isinf(x.r0):
        return math.inf
    p = 1.0 / (1.0 - 1.0 / free.q1 - 1.0 / free.q2)
    lam = girsanov_price(direction, p, order) / (2.0 * x.gam * x.mu)
    cost, log_C = steering_cost(x, free.window), math.log1p(-min(step.gap, 1.0 - 1e-8))
    faded = (x.N - free.window) * log_C
    total = -math.expm1(faded) / step.gap
    own = 1.0 - free.w_start - free.w_drift
    drift = (cost * step.k1 * total) ** 2 / free.w_drift
    inside = _VOLTERRA * (x.mu * x.L * x.eta) ** 2 * free.window * x.eta / own
    doubt = _ROUNDING + 4e-15 * (x.gam * x.eta + step.k1) * (1.0 / step.gap + x.N - free.window)
    W = inflate(lam * (drift + inside), doubt)
    A0 = free.q2 * lam * (cost * x.gam) ** 2 * math.exp(2.0 * faded) / free.w_start
    A0 = inflate(A0, doubt + 4e-15 * abs(faded))
    start = log_moment(A0, d=x.d, variance=x.s0 + 1.0 / x.m, offset=x.r0)
    noise = 0.5 * x.d / free.q1 * minus_log_one_minus(2.0 * free.q1 * W * x.mu)
    return inflate((noise + start / free.q2) / (order - 1.0), _ROUNDING)


def kinetic_discretisation(
    x: KineticLetters, direction: Direction, order: float, q: float, time: float | None = None
) -> float:
    """Return the joint law's divergence from the continuous dynamics from the same start.

    Claim.  q (order-1) D <= b gam d tau - (d/2) ln(1 - b) - (d/2) ln(1 - b L s0) + b L r0^2/(2 (1 -
    b L s0)), b = z/(2 (1 + sqrt(1 - z))), z = (4 q lam mu^2 L^2 / (2 gam^2)) (4 eta^2/pi^2) <= 1.
    Needs smoothness and a global minimiser, nothing else.
    """
    if not q > 1.0 or math.isinf(x.r0):
        return math.inf
    lam = girsanov_price(direction, q / (q - 1.0), order)
    strength = q * lam * x.mu * x.L**2 / (2.0 * x.gam) * _VOLTERRA * x.eta**2
    z = inflate(4.0 * strength * x.mu / x.gam, _ROUNDING)
    if not z <= 1.0:
        return math.inf
    b = z / (2.0 * (1.0 + math.sqrt(1.0 - z)))
    tau = x.N * x.eta if time is None else time
    potential = log_moment_of_normal(0.5 * b * x.L, d=x.d, variance=x.s0, offset=x.r0)
    velocity = 0.5 * x.d * minus_log_one_minus(b)
    return inflate((b * x.gam * x.d * tau + velocity + potential) / q / (order - 1.0), _ROUNDING)
