"""The certificate of a distance: one question, and every theorem's answer to it."""

from __future__ import annotations

import math

from wane.describe.distance import Direction, Question, Reference
from wane.numerics.rounding import round_up
from wane.report.format import round_up_to
from wane.sampling.distance.optimised import Found
from wane.theorems.theorem import Answers, Applies


class DistanceCertificate(Answers[Found]):
    """What can be claimed about one divergence, and on what grounds; the smallest bound rules."""

    none_asked = "No theorem compares these two laws; ask for another reference."
    none_applies = "No theorem bounds this distance"

    @property
    def question(self) -> Question:
        """What was asked."""
        asked: Question = self.description
        return asked

    @property
    def best(self) -> Applies[Found]:
        """The theorem with the smallest bound."""
        return self.least(lambda found: found.value)

    @property
    def value(self) -> float:
        """The divergence is at most this; infinite where no bound says anything."""
        return self.best.conclusion.value

    @property
    def total_variation(self) -> float:
        """The laws differ by at most this on any event (Pinsker, Bretagnolle and Huber)."""
        return min(
            1.0,
            round_up(math.sqrt(0.5 * self.value), 2),
            round_up(math.sqrt(-math.expm1(-self.value)), 2),
        )

    @property
    def transport(self) -> float | None:
        """A bound on the quadratic transport distance from the target; None in the other direction.

        Talagrand's inequality W^2 <= (2/m) KL for an m-strongly log-concave target; of the
        positions, where the chain has velocities too.
        """
        asked = self.question
        if asked.direction is not Direction.CHAIN_FIRST or asked.reference is not Reference.TARGET:
            return None
        m = asked.chain.target.strong_convexity / asked.chain.temperature
        if not m > 0.0:
            return None
        return round_up(math.sqrt(2.0 / m * self.value), 4)

    def explain(self) -> str:
        """Every theorem's answer as text."""
        asked = self.question
        kind = "Kullback-Leibler" if asked.order == 1.0 else f"Renyi order {asked.order:g}"
        title = f"{asked.direction.value}, reference {asked.reference.value}, {kind}"
        return "\n".join([title, *self.explained(_shown)])


def _shown(found: Found) -> str:
    if math.isinf(found.value):
        return "infinite; lower step_size or the order"
    return round_up_to(found.value)
