"""What the last state of an underdamped chain costs, in any dimension.

Proof: docs/proofs/kinetic-privacy.md.
"""

from __future__ import annotations

import math

from wane import arguments
from wane.describe.chain import Underdamped
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.theorems.lemmas.kinetic import Contraction, steering_cost
from wane.theorems.lemmas.letters import KineticLetters, kinetic_letters_of

_WINDOWS = tuple(2.0 ** (k / 4.0) for k in range(-12, 17))
"""Windows that are tried, in units of 1/friction; every window gives a valid bound."""


def composed_mu(chain: Underdamped, gradient_sensitivity: float) -> float:
    """The mu of all noise together, as if every state were seen: u Delta sqrt(N eta/(2 gam u tau)).

    The first corollary of the proof: the window is the whole run.
    """
    x = kinetic_letters_of(chain)
    GD = _per_temperature(chain, gradient_sensitivity)
    return _up(_energy(x, GD, x.N)) if GD > 0.0 else 0.0


def last_state_mu(chain: Underdamped, gradient_sensitivity: float) -> float:
    """Return the least mu over windows; infinite where a step is not known to contract.

    Needs a strongly convex and smooth potential, friction^2 >= inverse_mass (m + M), and a step
    short enough that `Contraction` has a positive gap.
    """
    x = kinetic_letters_of(chain)
    GD = _per_temperature(chain, gradient_sensitivity)
    usual = 1.0 / (x.gam * x.eta)
    windows = {min(max(round(w * usual), 1), x.N) for w in _WINDOWS}
    return min(mu_with_window(x, GD, window) for window in windows)


def mu_with_window(x: KineticLetters, sensitivity: float, window: int) -> float:
    """Return mu for one window K: friction for N - K steps, then steering for K.

    Claim.  mu = (c_Psi |Psi| + mu GD sqrt(K eta)) / sqrt(2 gam mu) with |Psi| at most
    sqrt(2) mu GD eta (1 + k1) (1 - C^(N-K))/(1 - C).
    """
    step = Contraction.of(x)
    heavy = x.gam**2 * (1.0 + 1e-15) >= x.mu * (x.m + x.L)
    if not (heavy and x.m > 0.0 < step.gap):
        return math.inf
    log_C = math.log1p(-min(step.gap, 1.0 - 1e-8))
    total = -math.expm1((x.N - window) * log_C) / step.gap
    Psi = math.sqrt(2.0) * x.mu * sensitivity * x.eta * (1.0 + step.k1) * total
    # the gap is a difference; its rounding is relative to its larger part
    Psi = inflate(Psi, 1e-12 + 4e-15 * (x.rate * x.eta + step.k1) / step.gap)
    steering = steering_cost(x, window) * Psi / math.sqrt(2.0 * x.gam * x.mu)
    return _up(steering + _energy(x, sensitivity, window)) if sensitivity > 0.0 else 0.0


def _energy(x: KineticLetters, sensitivity: float, steps: int) -> float:
    return x.mu * sensitivity * math.sqrt(steps * x.eta / (2.0 * x.gam * x.mu))


def _per_temperature(chain: Underdamped, gradient_sensitivity: float) -> float:
    Delta = arguments.real("gradient_sensitivity", gradient_sensitivity, least=0.0)
    return max(Delta / chain.temperature, SMALLEST_POSITIVE) if Delta > 0.0 else 0.0


def _up(value: float) -> float:
    """Return a positive value widened by the margin of rounding; an underflow stays positive."""
    return inflate(max(value, SMALLEST_POSITIVE), 1e-14)
