"""The questions a user asks: one divergence, or closeness in the sense of epsilon and delta."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

from wane.describe.chain import Overdamped, Underdamped
from wane.describe.distance import Direction, Dynamics, Question, Reference
from wane.errors import NoTheoremApplies
from wane.guarantees import RenyiDP
from wane.numerics.rounding import inflate
from wane.sampling.distance.bounds import BOUNDS
from wane.sampling.distance.certificate import DistanceCertificate
from wane.theorems.theorem import ask

ORDERS = (1.1, 1.3, 1.7, 2.5, 4.0, 6.0, 9.0, 14.0, 22.0, 35.0, 60.0, 100.0, 200.0, 500.0)
"""Where closeness is looked up; between them it is interpolated on the safe side."""


def certify_distance(
    chain: Dynamics,
    *,
    order: float,
    direction: Direction,
    reference: Reference = Reference.TARGET,
) -> DistanceCertificate:
    """Bound one divergence between the chain's last state and the reference; order 1 is KL."""
    asked = Question(chain, order, direction, reference)
    return DistanceCertificate(asked, ask(asked, BOUNDS))


@dataclass(frozen=True)
class TabulatedCurve:
    """Divergences at some orders, joined by chords.

    (order - 1) D is a logarithm of moments, hence convex in the order and zero at one: the chord
    between two bounds lies above it.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, order: float) -> float:
        """The chord at this order; infinite beyond the last."""
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
    """The chain's last state and the target are this close, in both directions.

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
