"""Privacy that grows along a chain of equal noisy Lipschitz steps after the data were used."""

from __future__ import annotations

import math

from wane import arguments
from wane.guarantees import GaussianDP
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

_RAISED = 1e-13


def constant_chain(
    distance: float, *, steps: int, lipschitz: float, noise_std: float
) -> GaussianDP:
    """Return the guarantee of `noisy_chain` with equal steps, in closed form.

    Claim.  mu^2 = (distance/noise_std)^2 c^r (1 - c)/(1 - c^r), c = lipschitz^2, r = steps.
    """
    apart = arguments.real("distance", distance, least=0.0)
    std = arguments.real("noise_std", noise_std, above=0.0)
    slope = arguments.real("lipschitz", lipschitz, least=0.0)
    number = arguments.whole("steps", steps, least=0)
    if apart == 0.0 or (slope == 0.0 and number > 0):
        return GaussianDP(0.0)
    if number == 0:
        return GaussianDP(math.inf)
    return scaled(apart / std, 2.0 * math.log(slope), number, number)


def gradient_contraction(step_size: float, *, strong_convexity: float, smoothness: float) -> float:
    """Return the Lipschitz constant of a gradient step: the larger end, rounded up."""
    eta = arguments.real("step_size", step_size, above=0.0)
    m = arguments.real("strong_convexity", strong_convexity)
    M = arguments.real("smoothness", smoothness, least=max(m, 0.0))
    ends = max(abs(1.0 - eta * m), abs(1.0 - eta * M))
    return ends + 4e-16 * (1.0 + eta * max(abs(m), M))


def drift_contraction(step_size: float, *, contraction: float, lipschitz: float) -> float:
    """Return the Lipschitz constant of x + step_size b(x) for a drift b that may turn, rounded up.

    Claim.  sqrt(1 - 2 eta kappa + eta^2 L^2), where (x - y).(b(x) - b(y)) <= -kappa |x - y|^2 and
    |b(x) - b(y)| <= L |x - y|: no smaller number serves every such drift of the plane.
    """
    eta = arguments.real("step_size", step_size, above=0.0)
    L = arguments.real("lipschitz", lipschitz, least=0.0)
    kappa = arguments.real("contraction", contraction, least=-L, most=L)
    # 1 - 2 eta kappa + eta^2 L^2 = (1 - eta kappa)^2 + eta^2 (L - kappa) (L + kappa)
    across = eta * math.sqrt((L - kappa) * (L + kappa))
    return math.hypot(1.0 - eta * kappa, across) + 8e-16 * (1.0 + eta * L)


def scaled(ratio: float, log_c: float, power: int, count: int) -> GaussianDP:
    """Return the square root of ratio^2 c^power (1 - c)/(1 - c^count), raised."""
    if log_c == 0.0:
        return GaussianDP(positive(ratio / math.sqrt(count)))
    # ln((1 - c)/(1 - c^count)), from the side where the powers stay below one
    if log_c < 0.0:
        log_share = math.log(-math.expm1(log_c)) - math.log(-math.expm1(count * log_c))
    else:
        log_share = math.log(-math.expm1(-log_c)) - math.log(-math.expm1(-count * log_c))
        log_share -= (count - 1) * log_c
    log_mu = math.log(max(ratio, SMALLEST_POSITIVE)) + 0.5 * (power * log_c + log_share)
    doubt = 1e-15 * (abs(power * log_c) + abs(log_share) + abs(log_mu) + 4.0)
    mu = math.inf if log_mu + doubt > 709.0 else math.exp(log_mu + doubt)
    return GaussianDP(positive(mu))


def positive(mu: float) -> float:
    """Return a mu that is positive, raised; one that underflows stays positive."""
    return inflate(max(mu, SMALLEST_POSITIVE), _RAISED)
