"""What is asked of a chain: which divergence, in which direction, from which law."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from wane.describe import check
from wane.sampling.chain import (
    InitialLaw,
    Overdamped,
    PointStart,
    Target,
    Underdamped,
    check_start,
)


class Direction(enum.Enum):
    """Which of the two laws comes first in the divergence D(first || second)."""

    CHAIN_FIRST = "D(chain || reference)"
    REFERENCE_FIRST = "D(reference || chain)"


class Reference(enum.Enum):
    """The law the chain is compared with."""

    TARGET = "the target"
    DIFFUSION = "the continuous dynamics from the same start"


@dataclass(frozen=True)
class Diffusion:
    """Continuous overdamped dynamics dx = -grad F dt + sqrt(2 temperature) dB, run for `time`."""

    target: Target
    time: float
    start: InitialLaw = field(default_factory=PointStart)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a time that is not positive."""
        check_start(self.target, self.start)
        check.real("time", self.time, above=0.0)
        check.real("temperature", self.temperature, above=0.0)


Dynamics = Overdamped | Underdamped | Diffusion


@dataclass(frozen=True)
class Question:
    """One divergence of one chain.

    Attributes:
        chain: the dynamics; for the underdamped the law is that of position and velocity.
        order: Renyi order; one asks for the Kullback-Leibler divergence.
        direction: which law comes first.
        reference: the law it is compared with.
    """

    chain: Dynamics
    order: float
    direction: Direction
    reference: Reference = Reference.TARGET

    def __post_init__(self) -> None:
        """Refuse orders below one."""
        check.kind("chain", self.chain, (Overdamped, Underdamped, Diffusion))
        check.real("order", self.order, least=1.0)
        check.kind("direction", self.direction, (Direction,))
        check.kind("reference", self.reference, (Reference,))


LEAST_ORDER = 1.01
"""Below it a divergence is bounded by that of this order: divergences grow with the order."""


def girsanov_price(direction: Direction, exponent: float, order: float) -> float:
    """The factor lam of step 2 of the proofs: E L^order <= E^(1/q) exp(q lam int |u|^2), q' = p.

    (dP/dQ)^a = [exp(-a int u dB - (p a^2/2) int |u|^2)] exp(lam int |u|^2), and the p-th moment of
    the bracket is at most one.  With the reference first the power is 1 - a.
    """
    power = order if direction is Direction.CHAIN_FIRST else 1.0 - order
    return 0.5 * power * math.fsum((exponent * power, -1.0))
