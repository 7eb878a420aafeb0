"""What exact draws from a Gibbs law cost: the ideal that a chain approaches."""

from __future__ import annotations

import math

from wane import arguments
from wane.describe.posterior import Posterior
from wane.guarantees import GaussianDP, RenyiDP
from wane.guarantees.pure import PureCurve
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate


def exact_gibbs(
    *, gradient_sensitivity: float, strong_convexity: float, temperature: float = 1.0
) -> GaussianDP:
    """One exact draw from exp(-F/temperature) is Gaussian-private, in any dimension.

    Claim.  mu = Delta / sqrt(tau m), if both potentials are m-strongly convex and their gradients
    differ by at most Delta everywhere.
    Source.  [gopi2022exponential]; for smooth potentials docs/proofs/gibbs-transfer.md, Theorem 1.
    Tight.  For a quadratic with a linear term, which is the Gaussian mechanism.
    """
    Delta = arguments.real("gradient_sensitivity", gradient_sensitivity, least=0.0)
    m = arguments.real("strong_convexity", strong_convexity, above=0.0)
    tau = arguments.real("temperature", temperature, above=0.0)
    if Delta == 0.0:
        return GaussianDP(0.0)
    # one root after the other: the product may leave the range of doubles where mu does not
    mu = Delta / math.sqrt(tau) / math.sqrt(m)
    return GaussianDP(inflate(max(mu, SMALLEST_POSITIVE), 1e-15))


def exact_gibbs_bounded(*, range_of_difference: float, temperature: float = 1.0) -> RenyiDP:
    """One exact draw is purely private if two potentials differ by a bounded amount.

    Claim.  epsilon = r/tau, r the range (largest minus smallest value) of F - F'; no convexity.
    Proof.  The density's ratio is e^(c - g) with g = (F - F')/tau and e^-c a mean of e^-g, so that
    c, too, lies in the range of g.
    """
    r = arguments.real("range_of_difference", range_of_difference, least=0.0)
    tau = arguments.real("temperature", temperature, above=0.0)
    epsilon = inflate(max(r / tau, SMALLEST_POSITIVE), 4e-16) if r > 0.0 else 0.0
    return RenyiDP(PureCurve(epsilon), label=f"{epsilon:g}-DP")


def exact_draws(posterior: Posterior, *, samples: int = 1) -> GaussianDP:
    """Return what exact draws from a posterior would cost: the Gibbs mechanism's guarantee."""
    return exact_gibbs(
        gradient_sensitivity=posterior.gradient_sensitivity,
        strong_convexity=posterior.target.strong_convexity,
        temperature=posterior.descent_temperature,
    ).repeat(samples)
