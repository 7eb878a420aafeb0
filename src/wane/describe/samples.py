"""What will run on private records: a posterior, a chain on it, and how many samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from wane import arguments
from wane.describe import Adjacency, FullBatch, LastIterate, NoisyDescent, Temperature
from wane.describe.chain import Overdamped, Underdamped
from wane.describe.description import Description, Row
from wane.describe.domains import Unbounded
from wane.describe.fields import (
    objective_from_fields,
    objective_to_fields,
    run_from_fields,
    run_to_fields,
)
from wane.describe.posterior import Losses, Posterior
from wane.errors import InvalidDescription

KIND = "overdamped-chains"
NUMBERS = ("laplacian_lipschitz", "height_at_start", "range_of_loss")
"""What may be declared of one record's loss beyond its objective."""


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """What chains on a posterior are, beyond the one descent that they are together.

    Attributes:
        samples: how many chains run side by side.
        dimension: of one chain's state.
        laplacian_lipschitz, height_at_start, range_of_loss: of one record's loss, where declared.
    """

    samples: int
    dimension: int
    laplacian_lipschitz: float | None = None
    height_at_start: float | None = None
    range_of_loss: float | None = None

    def to_fields(self) -> dict[str, Any]:
        """Return the sampler as documents hold it."""
        return {"kind": KIND, **asdict(self)}

    @classmethod
    def from_fields(cls, given: object) -> Sampler:
        """Return the sampler that `to_fields` wrote down, or refuse it by name."""
        names = {field.name for field in fields(cls)}
        known = isinstance(given, Mapping) and set(given) == names | {"kind"}
        if not isinstance(given, Mapping) or not known or given["kind"] != KIND:
            raise InvalidDescription(
                f'sampler must be of kind "{KIND}" and hold {", ".join(sorted(names))}.'
            )
        for name in ("samples", "dimension"):
            arguments.whole(f"sampler.{name}", given[name], least=1)
        for name in NUMBERS:
            if given[name] is not None:
                arguments.real(f"sampler.{name}", given[name], least=0.0)
        return cls(**{name: given[name] for name in names})


@dataclass(frozen=True, kw_only=True)
class SampledPosterior(Description):
    """Samples from a posterior by independent chains, all from the origin; use one of its kinds.

    Attributes:
        posterior: the target.
        step_size, steps: of each chain, in the units of `wane.NoisyDescent`.
        samples: how many chains; each releases its last state.
    """

    released_as: ClassVar[str] = "last-state"
    chain_settings: ClassVar[tuple[str, ...]] = ("step_size", "steps", "samples")
    """The fields of a run beside its posterior."""

    posterior: Posterior
    step_size: float
    steps: int
    samples: int = 1

    def __post_init__(self) -> None:
        """Refuse an unstable chain, naming the largest stable step size."""
        arguments.kind("posterior", self.posterior, (Posterior,))
        arguments.whole("samples", self.samples, least=1)
        _ = self.chain

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are compared."""
        return self.posterior.adjacency

    @property
    def chain(self) -> Overdamped | Underdamped:
        """One of the chains; each kind of run makes its own."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the samples in one line."""
        return (
            f"{self.samples} samples by {type(self.chain).__name__.lower()} chains of {self.steps} "
            f"steps on {self.posterior.records} records, adjacency {self.adjacency.value}"
        )

    def parameters(self) -> dict[str, Any]:
        """Return the posterior and the chains on it; what was not declared is left out."""
        posterior, losses = self.posterior, self.posterior.losses
        declared = {name: getattr(losses, name) for name in NUMBERS}
        return {
            "records": posterior.records,
            "prior_precision": posterior.prior_precision,
            "temperature": posterior.temperature,
            **{name: getattr(self, name) for name in self.chain_settings},
            "losses": {
                "objective": objective_to_fields(losses.objective),
                "dimension": losses.dimension,
                "shared_curvature": losses.shared_curvature,
                **{name: value for name, value in declared.items() if value is not None},
            },
        }

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Return the samples of these parameters."""
        table = dict(given)
        losses = dict(table.pop("losses"))
        objective = objective_from_fields(losses.pop("objective"))
        settings = {name: table.pop(name) for name in cls.chain_settings if name in table}
        table["adjacency"] = arguments.member("adjacency", table.get("adjacency"), Adjacency)
        posterior = Posterior(losses=Losses(objective=objective, **losses), **table)
        return cls(posterior=posterior, **settings)

    def released_words(self) -> str:
        """Return what is published, in a sentence."""
        many = f"{self.samples} independent chains" if self.samples > 1 else "one chain"
        return f"The last position of {many} of {self.steps} steps each, and nothing else."

    def secrets(self) -> list[str]:
        """Return what must stay secret."""
        return [
            "The records, and every number computed from them but the release.",
            "All states but the last position: earlier positions, averages and velocities.",
            "Gradients, losses, traces, diagnostics, and scores on the private records.",
            "The noise, its key, its seed, and the state of the generator.",
            "Decisions taken in view of any of these, such as when to stop.",
        ]

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorems stand for."""
        posterior, target = self.posterior, self.posterior.target
        moved = posterior.losses.objective.sensitivity(posterior.adjacency)
        return [
            ("n", "number of records", posterior.records),
            ("d", "dimension of one chain's state", posterior.losses.dimension),
            ("N", "number of steps", self.steps),
            ("eta", "step size", self.step_size),
            ("tau", "temperature of the averaged potential", posterior.descent_temperature),
            (
                "Delta",
                "how far one record moves the averaged gradient",
                None if math.isinf(moved) else posterior.gradient_sensitivity,
            ),
            ("m", "strong convexity of the averaged potential, at least", target.strong_convexity),
            ("L", "smoothness of the averaged potential, at most", target.smoothness),
        ]

    def constants(self) -> list[tuple[str, Any]]:
        """Return the declared numbers, of the losses first."""
        table = self.parameters()
        losses = table.pop("losses")
        objective = losses.pop("objective")
        rows = [(f"objective.{name}", value) for name, value in objective.items()]
        rows += [(f"losses.{name}", value) for name, value in losses.items()]
        return [(n, v if isinstance(v, str) else _number(v)) for n, v in (*rows, *table.items())]


def _number(value: Any) -> float | int | str:
    """A number as it is, and anything else in words."""
    return value if isinstance(value, int | float) else str(value)


@dataclass(frozen=True, kw_only=True)
class OverdampedRun(SampledPosterior):
    """Overdamped chains: together they are one noisy descent."""

    kind: ClassVar[str] = KIND

    @cached_property
    def chain(self) -> Overdamped:
        """One of the chains."""
        return self.posterior.chain(self.step_size, self.steps)

    @cached_property
    def descent(self) -> NoisyDescent:
        """All chains together, as the noisy descent that runs."""
        return self.posterior.descent(self.step_size, self.steps, samples=self.samples)

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> OverdampedRun:
        """Return the samples of these parameters, or those that a document described."""
        if "descent" not in given:
            return super().from_parameters(given)
        sampler = Sampler.from_fields(given["sampler"])
        return SamplesOfDescent.of(run_from_fields(given["descent"]), sampler)

    @property
    def sampler(self) -> Sampler:
        """What the chains are, beyond the one descent that they are together."""
        known = self.posterior.losses
        return Sampler(
            samples=self.samples,
            dimension=known.dimension,
            **{name: getattr(known, name) for name in NUMBERS},
        )


@dataclass(frozen=True, kw_only=True)
class SamplesOfDescent(OverdampedRun):
    """Overdamped chains as a document describes them: by the descent that they are together.

    Attributes:
        written: the descent, as it was written; `descent` is this one.
    """

    written: NoisyDescent

    @property
    def descent(self) -> NoisyDescent:
        """All chains together, as they were described."""
        return self.written

    def parameters(self) -> dict[str, Any]:
        """Return the descent as it was written, and its sampler."""
        return {"descent": run_to_fields(self.written), "sampler": self.sampler.to_fields()}

    @classmethod
    def of(cls, descent: NoisyDescent, sampler: Sampler) -> SamplesOfDescent:
        """Return the chains behind a descent; how prior and losses share its ridge is no matter."""
        noise, objective = descent.noise, descent.objective
        plain = isinstance(descent.batches, FullBatch) and not descent.cool_down
        whole = isinstance(descent.release, LastIterate) and isinstance(descent.domain, Unbounded)
        if not (plain and whole and isinstance(noise, Temperature) and descent.schedule is None):
            raise InvalidDescription(
                "description must be of unconstrained chains at one temperature, on all records at "
                "every step and with their ends released, to have a sampler, got another run."
            )
        assert descent.steps is not None and descent.step_size is not None
        bound = objective.gradient_bound
        if bound is not None and sampler.samples > 1:
            bound = bound / math.sqrt(sampler.samples) * (1.0 + 4e-16)
        stated: dict[str, Any] = {name: getattr(sampler, name) for name in NUMBERS}
        losses = Losses(
            objective=replace(objective, gradient_bound=bound, ridge=0.0),
            dimension=sampler.dimension,
            shared_curvature=objective.ridge,
            **stated,
        )
        posterior = Posterior(
            losses=losses,
            records=descent.records,
            prior_precision=0.0,
            temperature=noise.value * descent.records,
            adjacency=descent.adjacency,
        )
        return cls(
            posterior=posterior,
            step_size=descent.step_size,
            steps=descent.steps,
            samples=sampler.samples,
            written=descent,
        )


@dataclass(frozen=True, kw_only=True)
class UnderdampedRun(SampledPosterior):
    """Underdamped chains; positions are released, velocities are not.

    Attributes:
        friction: of the dynamics.
        inverse_mass: sets the unit of time.
    """

    kind: ClassVar[str] = "underdamped-chains"
    chain_settings: ClassVar[tuple[str, ...]] = (
        *SampledPosterior.chain_settings,
        "friction",
        "inverse_mass",
    )

    friction: float
    inverse_mass: float = 1.0

    @cached_property
    def chain(self) -> Underdamped:
        """One of the chains."""
        return Underdamped(
            self.posterior.target,
            self.step_size,
            self.steps,
            self.friction,
            self.inverse_mass,
            self.posterior.start,
            self.posterior.descent_temperature,
        )

    def symbols(self) -> list[Row]:
        """Return what the letters of the theorems stand for."""
        own = [("gam", "friction", self.friction), ("u", "inverse mass", self.inverse_mass)]
        return [*super().symbols(), *own]
