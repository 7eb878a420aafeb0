"""The number of equal noisy steps, and their noise, with the least bound on the excess risk.

Everything here needs losses that are strongly convex and smooth, a full batch at every step, a
start that ignores the data, and an optimum in the INTERIOR of the domain: where the optimum lies
on the boundary the bounds on the risk are false (the certificate of privacy is not affected).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from wane import arguments
from wane.describe.noise import GradientNoise
from wane.numerics.rounding import inflate
from wane.theorems.log_sobolev.dynamics import contraction_gap, log_one_minus

_ROUNDING = 1e-13
_MOST_STEPS = 10**15


@dataclass(frozen=True)
class DescentPlan:
    """A number of steps and the noise that makes them private.

    Attributes:
        steps: how often to step.
        noise: standard deviation on the averaged gradient; `step_size` times it on the iterate.
        excess_risk: bound on E[L(last)] - min L, if the optimum is interior.
        ideal_steps: the real number of steps at which the bound would be least.
        ideal_risk: the bound there; for step_size <= 2/(strong_convexity + smoothness) it does
            not depend on the step size.
    """

    steps: int
    noise: GradientNoise
    excess_risk: float
    ideal_steps: float
    ideal_risk: float


def descent_noise(
    *,
    mu: float,
    steps: int,
    sensitivity: float,
    strong_convexity: float,
    smoothness: float,
    records: int,
    step_size: float,
) -> GradientNoise:
    """Return the noise on the averaged gradient that makes the last iterate mu-Gaussian private.

    Claim.  s = (S/mu) sqrt((1 + c)/(1 - c) (1 - c^K)/(1 + c^K)), rounded up; needs no optimum.
    Source.  [bok2024shifted]; see docs/proofs/joint-programme.md.
    """
    gap = contraction_gap(step_size, strong_convexity, smoothness)
    level = arguments.real("mu", mu, above=0.0, cure="mu = 0 would need infinite noise")
    total = arguments.real("sensitivity", sensitivity, above=0.0, cure="without it nothing leaks")
    n = arguments.whole("records", records, least=1)
    count = arguments.whole("steps", steps, least=1)
    spread = float((2 - gap) / gap) * math.tanh(-0.5 * count * log_one_minus(gap))
    return GradientNoise(max(inflate(total / n / level * math.sqrt(spread), _ROUNDING), 1e-300))


def plan_descent(
    *,
    mu: float,
    sensitivity: float,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    records: int,
    step_size: float,
    start_distance_squared: float,
) -> DescentPlan:
    """Return the mu-Gaussian private plan of equal steps with the least bound on the risk.

    The optimum must lie in the interior of the domain.  `sensitivity` is that of the sum of all
    gradients (twice their bound where a record is replaced), divided by the public number
    `records`; `start_distance_squared` bounds E|start - optimum|^2.

    Claim.  With c the contraction, N = d (eta S/((1 - c) mu))^2 and x = c^K, the noise that makes
    K steps mu-private gives the risk (M/2)(x^2 D + N (1 - x)^2), least at x = N/(N + D); the
    better of the two neighbouring whole numbers is taken, at least one, which for a long step may
    be worse than none: `wane.plan` chooses the step size as well, and never is.
    Source.  docs/proofs/log-sobolev.md, Theorem E.
    """
    gap = contraction_gap(step_size, strong_convexity, smoothness)
    level = arguments.real("mu", mu, above=0.0, cure="mu = 0 would need infinite noise")
    total = arguments.real("sensitivity", sensitivity, above=0.0, cure="without it nothing leaks")
    d = arguments.whole("dimension", dimension, least=1)
    n = arguments.whole("records", records, least=1)
    D = arguments.real("start_distance_squared", start_distance_squared, least=0.0)
    reach = float(step_size) / float(gap) * (total / n / level)
    floor = max(d * reach * reach, 1e-300)
    log_c = log_one_minus(gap)
    ideal = math.log1p(D / floor) / -log_c
    below = min(max(math.floor(ideal), 1), _MOST_STEPS)

    def risk(steps: int) -> float:
        x = math.exp(steps * log_c)
        return 0.5 * smoothness * (x * x * D + floor * math.expm1(steps * log_c) ** 2)

    steps = min((below, below + 1), key=risk)
    noise = descent_noise(
        mu=level,
        steps=steps,
        sensitivity=total,
        strong_convexity=strong_convexity,
        smoothness=smoothness,
        records=n,
        step_size=step_size,
    )
    best = 0.5 * smoothness * floor * (D / (D + floor))
    return DescentPlan(steps, noise, inflate(risk(steps), 1e-12), ideal, inflate(best, _ROUNDING))


def excess_risk(
    *,
    steps: int,
    gradient_noise_std: float,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    step_size: float,
    start_distance_squared: float,
) -> float:
    """Return a bound on the expected excess risk of the last iterate, for an interior optimum.

    Claim.  (M/2)(c^(2K) D + d (eta s)^2 (1 - c^(2K))/(1 - c^2)); exact for isotropic quadratics.
    Source.  docs/proofs/log-sobolev.md, Theorem E; sharpens [chourasia2021dynamics, Lemma 6].
    """
    gap = contraction_gap(step_size, strong_convexity, smoothness)
    count = arguments.whole("steps", steps, least=0)
    std = arguments.real("gradient_noise_std", gradient_noise_std, least=0.0)
    d = arguments.whole("dimension", dimension, least=1)
    D = arguments.real("start_distance_squared", start_distance_squared, least=0.0)
    if count == 0:
        return inflate(0.5 * smoothness * D, _ROUNDING)
    exponent = 2.0 * count * log_one_minus(gap)
    left = math.exp(exponent) * (1.0 + 1e-15 * min(-exponent, 1e4))
    noise = d * (step_size * std) ** 2 * -math.expm1(exponent) / float(gap * (2 - gap))
    return inflate(0.5 * smoothness * (left * D + noise), _ROUNDING)


def output_perturbation_risk(
    *,
    mu: float,
    sensitivity: float,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    records: int,
) -> float:
    """Return a bound on the excess risk of the exact optimum with noise added to it.

    Claim.  (M/2) d (S/(m mu))^2, for an optimum in the interior: its sensitivity is S/m.  Plans
    with step_size <= 2/(strong_convexity + smoothness) are never above.
    """
    M = arguments.real("smoothness", smoothness, above=0.0)
    contraction_gap(1.0 / M, strong_convexity, M)
    level = arguments.real("mu", mu, above=0.0)
    total = arguments.real("sensitivity", sensitivity, least=0.0)
    d = arguments.whole("dimension", dimension, least=1)
    n = arguments.whole("records", records, least=1)
    reach = Fraction(total) / (n * Fraction(strong_convexity) * Fraction(level))
    return inflate(0.5 * M * d * float(reach) ** 2, _ROUNDING)
