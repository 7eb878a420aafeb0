"""The description of noisy gradient descent-ascent on a saddle problem, and its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from wane import arguments
from wane.describe import Adjacency
from wane.describe.words import adjacency_of
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.modulus.path import BestPath, best_path
from wane.modulus.steps import descent_ascent


@dataclass(frozen=True, kw_only=True)
class NoisyDescentAscent:
    """`z' = projection(z - step_size * (average of the records' fields at z + Z))`, repeated.

    z = (x, y), and the field of a record's function f(x, y), convex in x and concave in y, is
    (df/dx, -df/dy).  All records are used at every step; only the last z is released.

    Attributes:
        gradient_bound: no record's field is ever longer than this, on the set.
        smoothness: every record's field is Lipschitz with this constant.
        strong_monotonicity: every record's function is strongly convex in x and strongly concave
            in y with this constant.
        records: public number of records.
        steps: how many.
        step_size: their size.
        noise_std: deviation of the noise on the averaged field, per coordinate.
        diameter: of the convex set on which z is projected; infinite without one.
        adjacency: which data sets are neighbours.
    """

    gradient_bound: float
    smoothness: float
    records: int
    steps: int
    step_size: float
    noise_std: float
    strong_monotonicity: float = 0.0
    diameter: float = math.inf
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        arguments.real("gradient_bound", self.gradient_bound, above=0.0)
        arguments.real("smoothness", self.smoothness, least=0.0)
        arguments.real("step_size", self.step_size, above=0.0)
        arguments.real("noise_std", self.noise_std, above=0.0, cure="noise makes the run private")
        arguments.whole("records", self.records, least=1)
        arguments.whole("steps", self.steps, least=1, most=20_000)
        object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        arguments.real(
            "strong_monotonicity", self.strong_monotonicity, least=0.0, most=self.smoothness
        )
        if self.diameter != math.inf:
            arguments.real("diameter", self.diameter, above=0.0)
        if self.strong_monotonicity > 0.0 and not (
            self.strong_monotonicity * self.diameter <= 2.0 * self.gradient_bound
        ):
            raise InvalidDescription(
                "strong_monotonicity times diameter must be at most twice gradient_bound, got "
                f"{self.strong_monotonicity!r} * {self.diameter!r}; such a field grows beyond any "
                "bound, so project on a smaller set."
            )

    @property
    def shift(self) -> float:
        """The largest distance by which one record moves a step."""
        total = self.adjacency.sensitivity(self.gradient_bound)
        return self.step_size * total / self.records * (1.0 + 4e-16)

    @cached_property
    def path(self) -> BestPath:
        """The cheapest path from a common start, or from anywhere in the set at a later step."""
        change = 2.0 * self.gradient_bound
        return best_path(
            modulus=descent_ascent(
                self.step_size,
                smoothness=self.smoothness,
                change=change,
                strong_monotonicity=self.strong_monotonicity,
            ),
            shifts=[self.shift] * self.steps,
            noise_stds=[self.step_size * self.noise_std * (1.0 - 4e-16)] * self.steps,
            distance=0.0,
            diameter=None if math.isinf(self.diameter) else self.diameter,
        )

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee of the last iterate; composition is one of the paths considered."""
        return self.path.guarantee
