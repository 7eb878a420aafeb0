"""The letters of the proofs: any temperature is brought to one by scaling potential and time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wane.describe.chain import Overdamped, Target, Underdamped


@dataclass(frozen=True)
class Letters:
    """An overdamped chain at temperature one.

    Attributes:
        d: dimension; m, L: strong convexity and smoothness of f = F/temperature.
        M3: Lipschitz constant of the Laplacian of f, infinite where none is declared.
        B: bound on the gradient of f, infinite where none is declared.
        eta, N: step size (times the temperature) and steps.
        s0, r0: variance of the start, and distance of its centre from the minimiser.
    """

    d: int
    m: float
    L: float
    M3: float
    B: float
    eta: float
    N: int
    s0: float
    r0: float

    @property
    def contraction_gap(self) -> float:
        """One minus the Lipschitz constant of a gradient step, rounded down where it cancels."""
        return min(self.eta * self.m, 2.0 - self.eta * self.L - 2e-15)


@dataclass(frozen=True)
class KineticLetters:
    """An underdamped chain at temperature one: as `Letters`, with friction and inverse mass."""

    d: int
    m: float
    L: float
    gam: float
    mu: float
    eta: float
    N: int
    s0: float
    r0: float

    @property
    def rate(self) -> float:
        """The rate at which coupled copies approach: mu m/gam, if the friction is heavy enough."""
        return min(self.mu * self.m / self.gam, self.gam - self.mu * self.L / self.gam)


def letters_of(chain: Overdamped) -> Letters:
    """Return the chain's constants, divided by the temperature."""
    T = chain.temperature
    third, bound = _scaled(chain.target, T)
    return Letters(
        d=chain.target.dimension,
        m=chain.target.strong_convexity / T,
        L=chain.target.smoothness / T,
        M3=third,
        B=bound,
        eta=chain.step_size * T,
        N=chain.steps,
        s0=chain.start.variance,
        r0=_known(chain.start.distance),
    )


def kinetic_letters_of(chain: Underdamped) -> KineticLetters:
    """The chain's constants; time keeps its unit, and the inverse mass takes the temperature."""
    T = chain.temperature
    return KineticLetters(
        d=chain.target.dimension,
        m=chain.target.strong_convexity / T,
        L=chain.target.smoothness / T,
        gam=chain.friction,
        mu=chain.velocity_variance,
        eta=chain.step_size,
        N=chain.steps,
        s0=chain.start.variance,
        r0=_known(chain.start.distance),
    )


def _scaled(target: Target, temperature: float) -> tuple[float, float]:
    declared = (target.laplacian_lipschitz, target.gradient_bound)
    third, bound = (math.inf if x is None else x / temperature for x in declared)
    return third, bound


def _known(distance: float | None) -> float:
    """Return the distance, infinite if undeclared: then every bound that uses it is infinite."""
    return math.inf if distance is None else distance
