"""What is asked of a chain: which divergence, in which direction, from which law."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from wane import arguments
from wane.describe.chain import Diffusion, Overdamped, Underdamped


class Direction(enum.Enum):
    """Which of the two laws comes first in the divergence D(first || second)."""

    CHAIN_FIRST = "D(chain || reference)"
    REFERENCE_FIRST = "D(reference || chain)"


class Reference(enum.Enum):
    """The law the chain is compared with."""

    TARGET = "the target"
    DIFFUSION = "the continuous dynamics from the same start"


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
        arguments.kind("chain", self.chain, (Overdamped, Underdamped, Diffusion))
        arguments.real("order", self.order, least=1.0)
        arguments.kind("direction", self.direction, (Direction,))
        arguments.kind("reference", self.reference, (Reference,))
