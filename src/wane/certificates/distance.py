"""The certificate of a distance: one divergence of a chain, and every theorem's answer to it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

from wane.describe.chain import Direction, Dynamics, Overdamped, Question, Reference, Underdamped
from wane.errors import NoTheoremApplies
from wane.guarantees import RenyiDP
from wane.numerics.rounding import inflate, round_up
from wane.report.text import round_up_to
from wane.theorems.lemmas.free_parameters import Found
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Answers, Applies, ask

ORDERS = (1.1, 1.3, 1.7, 2.5, 4.0, 6.0, 9.0, 14.0, 22.0, 35.0, 60.0, 100.0, 200.0, 500.0)
"""Where closeness is looked up; between them it is interpolated on the safe side."""


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
        """Return every theorem's answer as text."""
        asked = self.question
        kind = "Kullback-Leibler" if asked.order == 1.0 else f"Renyi order {asked.order:g}"
        title = f"{asked.direction.value}, reference {asked.reference.value}, {kind}"
        return "\n".join([title, *self.explained(_shown)])


def certify_distance(
    chain: Dynamics,
    *,
    order: float,
    direction: Direction,
    reference: Reference = Reference.TARGET,
) -> DistanceCertificate:
    """Bound one divergence between the chain's last state and the reference; order 1 is KL."""
    asked = Question(chain, order, direction, reference)
    return DistanceCertificate(asked, ask(asked, THEOREMS))


@dataclass(frozen=True)
class TabulatedCurve:
    """Divergences at some orders, joined by chords.

    (order - 1) D is a logarithm of moments, hence convex in the order and zero at one: the chord
    between two bounds lies above it.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, order: float) -> float:
        """Return the chord at this order; infinite beyond the last."""
        place = bisect.bisect_left(self.orders, order)
        if place == len(self.orders):
            return math.inf
        high, top = self.orders[place], (self.orders[place] - 1.0) * self.values[place]
        low, bottom = 1.0, 0.0
        if place > 0:
            low = self.orders[place - 1]
            bottom = (low - 1.0) * self.values[place - 1]
        share = (order - low) / (high - low)
        return inflate((bottom + share * (top - bottom)) / (order - 1.0), 4e-15)


def certify_closeness(chain: Overdamped | Underdamped, orders: Sequence[float] = ORDERS) -> RenyiDP:
    """Return how close the chain's last state and the target are, in both directions.

    The guarantee's `epsilon(delta)` says: no event is more than exp(epsilon) times as likely,
    plus delta, under the one law as under the other.
    """
    found: list[tuple[float, float]] = []
    for order in sorted(orders):
        value = max(
            certify_distance(chain, order=order, direction=direction).value
            for direction in Direction
        )
        if math.isfinite(value):
            found.append((order, value))
    if not found:
        raise NoTheoremApplies(
            f"The distance from the target is not bounded at any order from {min(orders):g} on; "
            "lower step_size or take more steps."
        )
    kept = tuple(zip(*found, strict=True))
    return RenyiDP(TabulatedCurve(*kept), max_order=kept[0][-1], label="distance from the target")


def _shown(found: Found) -> str:
    if math.isinf(found.value):
        return "infinite; lower step_size or the order"
    return round_up_to(found.value)
