"""What will run on private records: a posterior, a chain on it, and how many samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

from wane.describe import Adjacency, NoisyDescent, Temperature, check
from wane.describe.chain import Overdamped, Underdamped
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
            check.whole(f"sampler.{name}", given[name], least=1)
        for name in NUMBERS:
            if given[name] is not None:
                check.real(f"sampler.{name}", given[name], least=0.0)
        return cls(**{name: given[name] for name in names})


@dataclass(frozen=True, kw_only=True)
class SampledPosterior:
    """Samples from a posterior by independent chains, all from the origin.

    Attributes:
        posterior: the target.
        step_size, steps: of each chain, in the units of `wane.NoisyDescent`.
        samples: how many chains; each releases its last state.
    """

    posterior: Posterior
    step_size: float
    steps: int
    samples: int = 1

    def __post_init__(self) -> None:
        """Refuse an unstable chain, naming the largest stable step size."""
        check.kind("posterior", self.posterior, (Posterior,))
        check.whole("samples", self.samples, least=1)
        _ = self.chain

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are compared."""
        return self.posterior.adjacency

    def summary(self) -> str:
        """Return the samples in one line."""
        return (
            f"{self.samples} samples by {type(self.chain).__name__.lower()} chains of {self.steps} "
            f"steps on {self.posterior.records} records, adjacency {self.adjacency.value}"
        )

    @property
    def chain(self) -> Overdamped | Underdamped:
        """One of the chains; each kind of run makes its own."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class OverdampedRun(SampledPosterior):
    """Overdamped chains: together they are one noisy descent."""

    @cached_property
    def chain(self) -> Overdamped:
        """One of the chains."""
        return self.posterior.chain(self.step_size, self.steps)

    @cached_property
    def descent(self) -> NoisyDescent:
        """All chains together, as the noisy descent that runs."""
        return self.posterior.descent(self.step_size, self.steps, samples=self.samples)

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

    @classmethod
    def of(cls, descent: NoisyDescent, sampler: Sampler) -> SamplesOfDescent:
        """Return the chains behind a descent; how prior and losses share its ridge is no matter."""
        noise, objective = descent.noise, descent.objective
        if not isinstance(noise, Temperature) or descent.steps is None or descent.step_size is None:
            raise InvalidDescription(
                "description must be of chains at one temperature to have a sampler, got another "
                "run."
            )
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
