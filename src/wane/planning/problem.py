"""The problem that a plan solves: public constants of the losses, and nothing about the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from wane.arguments import Checked, Real, Whole
from wane.describe import Adjacency, NoisyDescent, Objective, PublicRecords, Schedule
from wane.describe.choices import adjacency_of
from wane.describe.domains import Ball
from wane.describe.schedule import Phase
from wane.errors import InvalidDescription

_SIZE = Real(least=1e-60, most=1e60, cure="change the units")
_CONVEX = Real(least=0.0, cure="the risk of losses that are not convex is not certified")
_GAP = Real(least=0.0, cure="leave it out where nothing is known of it")
_COUNT = Whole(least=1, most=10**15)


@dataclass(frozen=True, kw_only=True)
class Problem(Checked):
    """Losses to minimise, from the origin, whose average is least within a known distance.

    Attributes:
        gradient_bound: no record's gradient is longer than this, within `start_distance` of the
            start.
        smoothness: every loss is smooth with this constant, on the whole space.
        strong_convexity: every loss curves upwards by at least this, on the whole space; zero is
            convex.
        dimension: number of parameters.
        records: public number of records, by which the sum of gradients is divided.
        start_distance: the averaged loss has a minimiser on the whole space, at most this far from
            the start, which is the origin.
        adjacency: which data sets are neighbours.
        public_records: how many records are public, whose losses obey the same constants.
        public_gradient_gap: within `start_distance` of the start the average gradient of the public
            records is at most this far from that of the others; only the risk rests on it.
    """

    gradient_bound: Annotated[float, _SIZE]
    smoothness: Annotated[float, _SIZE]
    dimension: Annotated[int, Whole(least=1, most=10**12)]
    records: Annotated[int, _COUNT]
    start_distance: Annotated[float, _SIZE]
    strong_convexity: Annotated[float, _CONVEX] = 0.0
    adjacency: Annotated[Adjacency, adjacency_of] = Adjacency.REPLACE_ONE
    public_records: Annotated[int, _COUNT] | None = None
    public_gradient_gap: Annotated[float, _GAP] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.public_records is None) is not (self.public_gradient_gap is None):
            raise InvalidDescription(
                "public_records and public_gradient_gap must be given together, got "
                f"{self.public_records!r} and {self.public_gradient_gap!r}; without a gap no risk "
                "of steps on public records is known."
            )
        m = self.strong_convexity
        if m > self.smoothness:
            raise InvalidDescription(
                f"strong_convexity must be at most smoothness={self.smoothness!r}, got {m!r}; "
                "no loss curves more than its gradient changes."
            )
        # a gradient of length C at the start puts the minimiser within C/m of it
        self._keep(start_distance=min(self.start_distance, _above(self.gradient_bound, m)))
        # and what the rounding of C/m added to the ball is taken from m
        self._keep(strong_convexity=min(m, _below(self.gradient_bound, self.start_distance)))

    @property
    def sensitivity(self) -> float:
        """The largest change of the averaged gradient that one record can cause."""
        return self.adjacency.sensitivity(self.gradient_bound) / self.records

    @property
    def no_step_risk(self) -> float:
        """A bound on the excess risk of the start, which uses no data.

        Claim.  The least of M R^2/2, C R and C^2/(2 m), as the gradient vanishes at the minimiser.
        """
        C, M, m, R = (
            self.gradient_bound,
            self.smoothness,
            self.strong_convexity,
            self.start_distance,
        )
        steep = C * C / (2.0 * m) if m > 0.0 else math.inf
        return min(0.5 * M * R * R, C * R, steep) * (1.0 + 1e-15)

    def run(self, phases: list[Phase], ridge: float) -> NoisyDescent:
        """Return the description of these phases, in the ball that contains the minimiser."""
        public = self.public_records if any(phase.public for phase in phases) else None
        objective = Objective(
            gradient_bound=self.gradient_bound,
            smoothness=self.smoothness,
            strong_convexity=self.strong_convexity,
            ridge=ridge,
            dimension=self.dimension,
        )
        given: dict[str, Any] = {
            "objective": objective,
            "records": self.records,
            "domain": Ball(self.start_distance),
            "adjacency": self.adjacency,
            "public": None if public is None else PublicRecords(records=public),
        }
        if len(phases) == 1:
            one = phases[0]
            return NoisyDescent(steps=one.repeat, step_size=one.step_size, noise=one.noise, **given)
        return NoisyDescent(schedule=Schedule(phases), **given)


def _above(numerator: float, denominator: float) -> float:
    """Return a quotient that is not too small; infinity for a denominator of zero."""
    return math.nextafter(numerator / denominator, math.inf) if denominator > 0.0 else math.inf


def _below(numerator: float, denominator: float) -> float:
    """Return a quotient whose product with the denominator is at most the numerator."""
    return math.nextafter(numerator / denominator * (1.0 - 4e-16), 0.0)
