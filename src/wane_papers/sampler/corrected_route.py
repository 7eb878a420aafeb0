"""The route of Ganesh and Talwar with every constant explicit and its mistakes corrected.

Kill both processes when they move too far within a step, bound the divergence of the killed
processes, remove the killing twice by a moment lemma, and add the diffusion's own mixing.  Valid,
for comparison only: the bounds of `wane.theorems.langevin` are thousands of times smaller.

Letters are the paper's, but strong convexity is m and the minimiser need not be zero: T steps of
size eta, smoothness L, gradient bound B, dimension d, order alpha, friction gamma, inverse mass mu,
start N(minimiser, s0 I).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from wane.numerics.search import largest_satisfying, minimise_scalar_bounded


def chi_quantile(tail: float, d: int) -> float:
    """The norm of a standard normal vector exceeds this with probability `tail`."""
    return math.sqrt(2.0 * float(special.gammainccinv(0.5 * d, tail)))


def movement_radius(
    *, delta: float, d: int, m: float, L: float, eta: float, T: int, s0: float
) -> float:
    """Neither process moves further within any step, but with probability `delta`.

    Replaces Lemma 13: Levy's inequality for the noise, a Bessel comparison for the diffusion, a
    radial comparison for the norm of the state.
    """
    noise = math.sqrt(2.0 * eta) * chi_quantile(delta / (4.0 * T), d)
    state = eta * L * _widest(m, L, eta, s0) * chi_quantile(delta / (2.0 * T), d)
    return noise + state


def _widest(m: float, L: float, eta: float, s0: float) -> float:
    gap = min(eta * m, 2.0 - eta * L)
    return math.sqrt(max(s0, 2.0 * eta / (gap * (2.0 - gap)), 1.0 / m))


def velocity_bound(
    *,
    d: int,
    L: float,
    gamma: float,
    mu: float,
    eta: float,
    tau: float,
    delta: float,
    phi0: float,
    discrete: bool = True,
) -> float:
    """No velocity up to time `tau` is faster, but with probability `delta`; any friction.

    Replaces Lemma 27: exp(phi/mu - gamma d t) is a supermartingale, phi = mu (f - min f) + |v|^2/2;
    phi0 bounds it at the start.  The discrete process needs eta < 2 gamma/(mu L).
    """
    return math.sqrt(
        2.0
        * (
            phi0
            + gamma * mu * d * tau
            + _tail_rate(L, gamma, mu, eta, discrete) * math.log(1.0 / delta)
        )
    )


def _tail_rate(L: float, gamma: float, mu: float, eta: float, discrete: bool) -> float:
    if not discrete:
        return mu
    left = 1.0 - mu * L * eta / (2.0 * gamma)
    return mu / left if left > 0.0 else math.inf


def log_unconditioned(log_beta: float, gamma: float, theta: float) -> float:
    """Lemma 14 corrected: ln of a bound on E[Y], if E[Y^theta | E] <= beta/delta^gamma.

    Claim.  beta^(1/theta) ((1+g)^(1+g) g^-g)^(1/theta) theta/(theta - 1 - g), g < 1, theta > 1 + g.
    """
    if not (0.0 < gamma < 1.0 and theta > 1.0 + gamma):
        return math.inf
    shape = (1.0 + gamma) * math.log1p(gamma) - gamma * math.log(gamma)
    return (log_beta + shape) / theta + math.log(theta / (theta - 1.0 - gamma))


@dataclass(frozen=True)
class Movement:
    """The radius as a function of delta: r <= still + sqrt(tail ln(1/delta)).

    With `squares` set, r^2 <= still^2 + tail ln(1/delta).
    """

    still: float
    tail: float
    squares: bool = False


def strongly_convex_movement(
    *, d: int, m: float, L: float, eta: float, T: int, s0: float
) -> Movement:
    """`movement_radius` in closed form."""
    B0 = math.sqrt(2.0 * eta) + eta * L * _widest(m, L, eta, s0)
    return Movement(B0 * (math.sqrt(d) + math.sqrt(2.0 * math.log(4.0 * T))), 2.0 * B0 * B0)


def lipschitz_movement(d: int, B: float, eta: float, T: int) -> Movement:
    """Lemma 18 corrected: r = eta B + sqrt(2 eta) (sqrt(d) + sqrt(2 ln(2T/delta)))."""
    noise = math.sqrt(2.0 * eta) * (math.sqrt(d) + math.sqrt(2.0 * math.log(2.0 * T)))
    return Movement(eta * B + noise, 4.0 * eta)


def kinetic_movement(
    *, d: int, L: float, gamma: float, mu: float, eta: float, tau: float, phi0: float
) -> Movement:
    """`velocity_bound` times the step size, squared."""
    still = eta * math.sqrt(2.0 * (phi0 + gamma * mu * d * tau))
    return Movement(still, 2.0 * eta**2 * _tail_rate(L, gamma, mu, eta, True), squares=True)


def closed_divergence(alpha: float, price: float, movement: Movement) -> float:
    """Theorem 15 executed: D_alpha between chain and diffusion, in either direction.

    Claim.  `price` r^2 alpha bounds the killed divergence (Lemma 10: T eta L^2/4).  For any s >=
    alpha - 1 and split x > 0, with a = 2s+1, rho = 2a (2a-1) price: ln((s+1) W)/s, where W comes
    from two applications of the corrected Lemma 14.  Both are chosen; any choice is valid.
    """

    def at(s: float, split: float) -> float:
        a = 2.0 * s + 1.0
        rho = 2.0 * a * (2.0 * a - 1.0) * price
        more, less = (1.0, 1.0) if movement.squares else (1.0 + split, 1.0 + 1.0 / split)
        g = rho * movement.tail * less
        H = log_unconditioned(math.log(2.0) + rho * movement.still**2 * more, g, 2.0)
        W = log_unconditioned(math.log(2.0 / a) + H, 0.5 * g, 2.0)
        return (math.log1p(s) + W) / s

    def best_split(s: float) -> float:
        return minimise_scalar_bounded(lambda z: at(s, math.exp(z)), -6.0, 16.0, steps=26)[1]

    floor = max(alpha - 1.0, 1e-3)
    grid = np.geomspace(floor, 1e7 * floor, 36).tolist()
    values = [best_split(s) for s in grid]
    place = min(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    refined = minimise_scalar_bounded(
        lambda z: best_split(math.exp(z)), math.log(low), math.log(high), steps=20
    )[1]
    return min(values[place], refined) * (1.0 + 1e-12)


def discretisation(
    *, alpha: float, d: int, m: float, L: float, eta: float, T: int, s0: float
) -> float:
    """Row 1 of Figure 1 with explicit constants, from N(minimiser, s0 I)."""
    movement = strongly_convex_movement(d=d, m=m, L=L, eta=eta, T=T, s0=s0)
    return closed_divergence(alpha, 0.25 * T * eta * L**2, movement)


def lipschitz_discretisation(
    *, alpha: float, d: int, B: float, L: float, eta: float, T: int
) -> float:
    """Row 2 of Figure 1 with explicit constants, from any start."""
    return closed_divergence(alpha, 0.25 * T * eta * L**2, lipschitz_movement(d, B, eta, T))


def kinetic_discretisation(
    *,
    alpha: float,
    d: int,
    L: float,
    gamma: float,
    mu: float,
    eta: float,
    T: int,
    phi0: float = 0.0,
) -> float:
    """Row 3 of Figure 1 with explicit constants, from a start with energy at most phi0."""
    movement = kinetic_movement(d=d, L=L, gamma=gamma, mu=mu, eta=eta, tau=T * eta, phi0=phi0)
    return closed_divergence(alpha, 0.25 * T * eta * L**2 * mu / gamma, movement)


def mixing(*, alpha: float, d: int, m: float, L: float, t: float) -> float:
    """Lemmas 16 and 17: D_alpha(Q_t || R) from N(minimiser, I/L) [vempala2019rapid]."""
    return math.exp(-2.0 * m * t / alpha) * 0.5 * d * math.log(L / m)


def reverse_mixing(*, alpha: float, d: int, m: float, L: float, t: float) -> float:
    """Lemmas 20 and 22 sharpened: D_alpha(R || Q_t) from N(minimiser, I/m)."""
    order = max(alpha, 2.0)
    start = order / (order - 1.0) * 0.5 * d * math.log(L / m)
    return math.exp(-2.0 * m * t / order) * start


def largest_step(error: Callable[[float], float], goal: float, most: float) -> float:
    """The largest step size whose error is at most `goal`."""
    return largest_satisfying(lambda eta: error(eta) <= goal, 1e-18 * most, most, relative=2e-2)


def steps_asked(*, alpha: float, eps: float, d: int, m: float, L: float) -> float:
    """Steps the corrected route asks for D_alpha(P || R) <= eps from N(minimiser, I/L).

    Both parts of the weak triangle inequality (Fact 7) are chosen, as are the time and its p.
    """

    def steps(log_p: float, log_time: float) -> float:
        p, tau = 1.0 + math.exp(log_p), math.exp(log_time) / m
        far = p / (p - 1.0) * (alpha - 1.0 / p)
        left = eps - mixing(alpha=far, d=d, m=m, L=L, t=tau)
        if left <= 0.0:
            return math.inf
        goal = left * (alpha - 1.0) / (alpha - 1.0 / p)

        def error(eta: float) -> float:
            T = max(1, math.ceil(tau / eta))
            return discretisation(alpha=p * alpha, d=d, m=m, L=L, eta=eta, T=T, s0=1.0 / L)

        return tau / largest_step(error, goal, 1.0 / L)

    def over_times(log_p: float) -> float:
        """The mixing alone sets the shortest time; a little more leaves room for the rest."""
        p = 1.0 + math.exp(log_p)
        far = p / (p - 1.0) * (alpha - 1.0 / p)
        shortest = max(0.5 * far * math.log(0.5 * d * math.log(L / m) / eps), 0.1)
        low, high = math.log(1.02 * shortest), math.log(3.0 * shortest)
        return minimise_scalar_bounded(lambda t: steps(log_p, t), low, high, steps=6)[1]

    return min(over_times(log_p) for log_p in (-1.2, -0.6, 0.0, 0.6))
