"""Mixing times of Bravo, Flores-Mella and Guzman, as printed (bravo2025modulus, section 4)."""

from __future__ import annotations

import math

from wane.describe.choices import FullBatch
from wane.describe.descent import NoisyDescent
from wane.mixing import kl_over_exponents
from wane.theorems.lemmas.loss_moduli import is_convex


def half_mixing_threshold(exponent: float, constant: float, diameter: float) -> float:
    """Theta of bravo2025modulus, Lemma 4.1: for 1/eta >= Theta, ceil(D^2/eta) steps halve."""
    p = exponent
    r = (1.0 - p) / (1.0 + p)
    half = constant / 2.0
    lead = float(half ** (2.0 / (1.0 + p)))
    if r == 0.0:
        return lead
    inner = math.log(diameter) + math.log(half) / (1.0 + p) + 1.0 if half > 0.0 else -math.inf
    return lead * float((r * max(16.0 * inner, 27.0)) ** r)


def halvings(tv: float) -> int:
    """`ceil(log2(1/tv))`, exact at powers of two."""
    mantissa, exponent = math.frexp(tv)
    return 1 - exponent if mantissa == 0.5 else -exponent + 1


def boosted_steps(half_steps: int, tv: float) -> int:
    """Proposition A.14 of bravo2025modulus: each half-mixing time halves the distance."""
    return half_steps * halvings(tv)


def paper_steps(diameter: float, step_size: float, tv: float) -> int:
    """Theorem 4.2 of bravo2025modulus: ceil(D^2/eta) ceil(log2(1/eps))."""
    return boosted_steps(math.ceil(diameter**2 / step_size * (1.0 - 1e-12)), tv)


def printed_steps(run: NoisyDescent, tv: float) -> int | None:
    """The paper's number of steps, or None where its condition on the step size fails."""
    diameter, pairs = run.domain.diameter, _weakly_smooth(run)
    eta, tau = _scales(run)
    small = any(1.0 / (eta * tau) >= half_mixing_threshold(p, M / tau, diameter) for p, M in pairs)
    return paper_steps(diameter, eta * tau, tv) if small else None


def adaptive_kl(run: NoisyDescent, steps: int) -> tuple[float, float] | None:
    """Equation (9) at its best exponent, and that exponent; None where it says nothing.

    Between two exponents the constant is at most their geometric interpolation, and below one it is
    at most that one's with a power of the diameter.  As printed the bounds are asked on the domain;
    that is enough on the line, or if they hold on the whole space (modulus-e3).
    """
    pairs = sorted(_weakly_smooth(run))
    eta, tau = _scales(run)
    if not pairs:
        return None

    diameter = run.domain.diameter

    def constant(p: float) -> float:
        above = [pair for pair in pairs if pair[0] >= p]
        known = [M / tau * diameter ** (q - p) for q, M in above]
        for low, first in pairs:
            for high, last in above:
                if low < p < high:
                    share = (p - low) / (high - low)
                    known.append((first / tau) ** (1.0 - share) * (last / tau) ** share)
        return float(min(known))

    return kl_over_exponents(diameter, eta * tau, steps, constant, most=pairs[-1][0])


def _weakly_smooth(run: NoisyDescent) -> list[tuple[float, float]]:
    """Exponents with their constants; none where the paper's chain is another."""
    objective = run.objective
    whole = isinstance(run.batches, FullBatch) and len(run.plan) == 1
    if not is_convex(objective) or objective.ridge > 0.0 or not whole:
        return []
    pairs = []
    if (M := objective.gradient_lipschitz) is not None:
        pairs.append((1.0, M))
    if objective.holder_exponent is not None and objective.holder_constant is not None:
        pairs.append((objective.holder_exponent, objective.holder_constant))
    if objective.gradient_bound is not None:
        pairs.append((0.0, 2.0 * objective.gradient_bound))
    return pairs


def _scales(run: NoisyDescent) -> tuple[float, float]:
    """Step size and temperature."""
    eta = float(run.plan.step_size[0])
    return eta, 0.5 * eta * float(run.gradient_noise_stds[0]) ** 2
