"""Noisy gradient descent-ascent on a saddle problem, of which only the last point is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe.choices import (
    Adjacency,
    FullBatch,
    adjacency_of,
    batches_from_fields,
    batches_of,
)
from wane.describe.description import Description, Row
from wane.describe.noise import GradientNoise
from wane.describe.objective import Objective, shared
from wane.errors import InvalidDescription


@dataclass(frozen=True, kw_only=True)
class NoisyDescentAscent(Description):
    """`z' = projection(z - step_size * (average of the records' fields at z + Z))`, repeated.

    z = (x, y), and the field of a record's function f(x, y), convex in x and concave in y, is
    (df/dx, -df/dy).  All records are used at every step; only the last z is released.  The start
    lies in the set and never depends on the data.

    Whoever runs it vouches for the constants: a field that is clipped to `gradient_bound` is no
    longer monotone, so that a bound which the functions do not have cannot be enforced.

    Attributes:
        records: public number of records.
        steps: how many.
        step_size: their size.
        noise_std: deviation of the noise on the averaged field, per coordinate.
        gradient_bound: no record's field is ever longer than this, on the set.
        gradient_difference_bound: at one point, two records' fields are never further apart.
        smoothness: every record's field is Lipschitz with this constant, on the set.
        strong_monotonicity: every record's function is strongly convex in x and strongly concave
            in y with this constant, on the set.
        diameter: of the convex set on which z is projected; infinite without one.
        adjacency: which data sets are neighbours.
        batches: every record at every step, and nothing else.
    """

    kind: ClassVar[str] = "noisy-descent-ascent"
    released_as: ClassVar[str] = "last-iterate"
    schedule: ClassVar[None] = None

    records: int
    steps: int
    step_size: float
    noise_std: float
    gradient_bound: float | None = None
    gradient_difference_bound: float | None = None
    smoothness: float | None = None
    strong_monotonicity: float = 0.0
    diameter: float = math.inf
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    batches: FullBatch = FullBatch()

    def __post_init__(self) -> None:
        arguments.whole("records", self.records, least=1)
        arguments.whole("steps", self.steps, least=1)
        arguments.real("step_size", self.step_size, above=0.0)
        arguments.real("noise_std", self.noise_std, above=0.0, cure="noise makes the run private")
        for name in ("gradient_bound", "gradient_difference_bound"):
            if getattr(self, name) is not None:
                arguments.real(name, getattr(self, name), above=0.0)
        if self.smoothness is not None:
            arguments.real("smoothness", self.smoothness, least=0.0)
        arguments.real("strong_monotonicity", self.strong_monotonicity, least=0.0)
        arguments.real("diameter", self.diameter, above=0.0, finite=False)
        object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        object.__setattr__(self, "batches", batches_of("batches", self.batches))
        if not isinstance(self.batches, FullBatch):
            raise arguments.refused(
                "batches", self.batches, "FullBatch()", "let every step use every record"
            )
        self._refuse_impossible()

    def _refuse_impossible(self) -> None:
        m, M = self.strong_monotonicity, self.smoothness
        C, D = self.gradient_bound, self.diameter
        if M is not None and m > M:
            raise InvalidDescription(
                f"strong_monotonicity must be at most smoothness={M!r}, got {m!r}; a field that "
                "grows by so much has at least that Lipschitz constant."
            )
        if m > 0.0 and C is not None and not m * D <= 2.0 * C:
            raise InvalidDescription(
                "strong_monotonicity times diameter must be at most twice gradient_bound, got "
                f"{m!r} * {D!r}; such a field grows beyond any bound, so project on a smaller set, "
                "or declare gradient_difference_bound in place of gradient_bound."
            )

    @property
    def noise(self) -> GradientNoise:
        """The noise on the averaged field, as that on gradients is described."""
        return GradientNoise(self.noise_std)

    @property
    def gradient_noise_stds(self) -> Array:
        """The deviation of the noise on the averaged field, once for all steps."""
        return np.array([self.noise_std])

    @cached_property
    def bounds(self) -> Objective:
        """What is declared of every record's field, as gradients of losses are described."""
        return Objective(
            gradient_bound=self.gradient_bound,
            gradient_difference_bound=self.gradient_difference_bound,
            smoothness=self.smoothness,
        )

    @property
    def gradient_sensitivity(self) -> float | None:
        """How far one record moves the averaged field at one point; None if nothing bounds it."""
        total = self.bounds.sensitivity(self.adjacency)
        return None if math.isinf(total) else shared(total, self.records)

    @property
    def field_change(self) -> float:
        """How far one record's field moves between two points of the set; infinite if unknown."""
        return self.bounds.change(self.diameter)

    def noise_scaled(self, factor: float) -> Self:
        """Return the same run with its noise deviation multiplied by `factor`."""
        return replace(self, noise_std=self.noise_std * factor)

    def parameters(self) -> dict[str, Any]:
        """Return what is declared, by name; what is absent or infinite is left out."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "adjacency"}
        named["batches"] = {"kind": self.batches.kind}
        return {name: value for name, value in named.items() if value not in (None, math.inf)}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Return the run of these parameters."""
        batches = given.get("batches", {"kind": FullBatch.kind})
        return cls(**given | {"batches": batches_from_fields(batches)})

    def summary(self) -> str:
        """Return the run in one line."""
        return (
            f"{self.steps} steps of noisy descent-ascent on {self.records} records, step size "
            f"{self.step_size:g}, noise {self.noise_std:g}, adjacency {self.adjacency.value}"
        )

    def released_words(self) -> str:
        """Return what is released, in words."""
        return f"The last point only, of both players, after {self.steps} steps."

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [
            "The records, and every number computed from them but the release.",
            "All points but the last: averages over them included, which are the usual answer to a "
            "saddle problem.",
            "Fields, values of the game, duality gaps, and scores on the private records.",
            "The noise, its key, its seed, and the state of the generator.",
            "Decisions taken in view of any of these, such as when to stop.",
        ]

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorem stand for."""
        change, width = self.field_change, self.diameter
        return [
            ("n", "number of records", self.records),
            ("T", "number of steps", self.steps),
            ("eta", "step size", self.step_size),
            ("s", "standard deviation of the noise on the averaged field", self.noise_std),
            ("C", "gradient_bound: no record's field is longer", self.gradient_bound),
            ("E", "how far apart two fields are at one point", self.gradient_difference_bound),
            ("Delta", "how far one record moves the averaged field", self.gradient_sensitivity),
            ("G", "how far a field moves between two points", _finite(change)),
            ("M", "smoothness: Lipschitz constant of every field", self.smoothness),
            ("m", "strong_monotonicity of every field", self.strong_monotonicity),
            ("D", "diameter of the set on which z is projected", _finite(width)),
        ]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers."""
        return [(n, v) for n, v in self.parameters().items() if n != "batches"]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
