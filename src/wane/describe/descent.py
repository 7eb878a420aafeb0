"""Noisy (proximal, projected, stochastic) gradient descent, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from wane import arguments
from wane.arrays import Array, read_only
from wane.describe.choices import (
    Adjacency,
    Batches,
    FullBatch,
    Iterates,
    LastIterate,
    Release,
    adjacency_of,
    batches_of,
    release_of,
)
from wane.describe.domains import Domain, Unbounded
from wane.describe.noise import NOISES, GradientNoise, Noise
from wane.describe.objective import Objective, shared
from wane.describe.schedule import MOST_STEPS, Phase, Schedule
from wane.errors import InvalidDescription


@dataclass(frozen=True, kw_only=True)
class PublicRecords:
    """Records that need no protection and are the same whatever the private ones are.

    A step of a phase with `public` is `x' = prox(x - step_size * (average of the public records'
    gradients + ridge x + Z))`: all of them at once, with the ridge of the run.

    Attributes:
        records: how many there are.
        objective: the constants of their losses, without ridge; those of the private records' if
            left out.
    """

    records: int
    objective: Objective | None = None

    def __post_init__(self) -> None:
        arguments.whole("public.records", self.records, least=1, most=MOST_STEPS)
        if self.objective is None:
            return
        arguments.kind("public.objective", self.objective, (Objective,))
        if self.objective.ridge:
            raise InvalidDescription(
                f"public.objective.ridge must be absent, got {self.objective.ridge:g}; every step "
                "has the ridge of the run's own objective."
            )


@dataclass(frozen=True, kw_only=True)
class NoisyDescent:
    """`x' = prox(x - step_size * (sum of the batch's gradients / size + ridge x + Z))`, repeated.

    The start lies in the domain; it may be fixed or random but never depends on the data.  Either
    `steps`, `step_size` and `noise` are given, with `cool_down` more steps at the end that use no
    record, or a `schedule` of phases, some of which may use `public` records instead.  Words are
    read as in a file: `adjacency="zero-out"`, `batches="poisson:250"`, `release="every-iterate"`.
    """

    objective: Objective
    records: int
    steps: int | None = None
    step_size: float | None = None
    noise: Noise | None = None
    batches: Batches = FullBatch()
    domain: Domain = field(default_factory=Unbounded)
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    release: Release = LastIterate()
    schedule: Schedule | None = None
    cool_down: int = 0
    public: PublicRecords | None = None

    def __post_init__(self) -> None:
        arguments.kind("objective", self.objective, (Objective,))
        arguments.kind("domain", self.domain, (Domain,))
        object.__setattr__(self, "batches", batches_of("batches", self.batches))
        object.__setattr__(self, "adjacency", adjacency_of("adjacency", self.adjacency))
        object.__setattr__(self, "release", release_of("release", self.release))
        arguments.whole("records", self.records, least=1, most=MOST_STEPS)
        arguments.whole("cool_down", self.cool_down, least=0, most=MOST_STEPS)
        if self.batch_size > self.records:
            raise InvalidDescription(
                f"batches.size must be at most records={self.records}, got {self.batch_size}."
            )
        self._check_dimension()
        if self.schedule is None:
            self._check_constant()
        else:
            self._check_schedule(self.schedule)
        self._check_public()
        self._check_release()
        self.objective.refuse_impossible_bounds(self.domain.diameter)
        _ = self.gradient_noise_stds  # a multiplier without a gradient bound is refused here

    def _check_dimension(self) -> None:
        given, needed = self.objective.dimension, self.domain.dimension
        if given is not None and needed is not None and given != needed:
            raise InvalidDescription(
                f"objective.dimension must be that of the domain, {needed}, got {given}."
            )

    def _check_constant(self) -> None:
        values = {"steps": self.steps, "step_size": self.step_size, "noise": self.noise}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise InvalidDescription(
                f"{' and '.join(missing)} must be given, got nothing (or give a schedule)."
            )
        arguments.whole("steps", self.steps, least=1, most=MOST_STEPS)
        arguments.kind("noise", self.noise, NOISES)
        step = arguments.real("step_size", self.step_size, above=0.0)
        object.__setattr__(self, "step_size", step)

    def _check_schedule(self, schedule: object) -> None:
        if isinstance(schedule, tuple | list):
            schedule = Schedule(schedule)
            object.__setattr__(self, "schedule", schedule)
        arguments.kind("schedule", schedule, (Schedule,))
        assert isinstance(schedule, Schedule)
        if self.step_size is not None or self.noise is not None or self.cool_down:
            raise InvalidDescription(
                "step_size, noise and cool_down must be absent when a schedule is given; "
                "each phase carries its own."
            )
        if not schedule.uses_records.any():
            raise InvalidDescription(
                "schedule must have a phase that uses records, got only cool_down phases and "
                "phases on public records."
            )
        if self.steps is not None and self.steps != schedule.total:
            raise InvalidDescription(
                f"steps must equal the schedule's total of {schedule.total}, got {self.steps!r}; "
                "or leave it out."
            )

    def _check_public(self) -> None:
        wanted = self.schedule is not None and bool(self.schedule.public.any())
        if self.public is None:
            if wanted:
                raise InvalidDescription(
                    "public must say how many public records there are, got nothing; a phase of "
                    "the schedule uses them."
                )
            return
        arguments.kind("public", self.public, (PublicRecords,))
        if not wanted:
            raise InvalidDescription(
                "schedule must have a phase with public = true where public records are given, "
                "got none."
            )
        if self.public.objective is None:
            # spelled out, so that a later change of the private constants leaves these alone
            alike = replace(self.objective, ridge=0.0)
            object.__setattr__(self, "public", replace(self.public, objective=alike))
        _ = self.on_public  # what is wrong with its constants is refused here

    def _check_release(self) -> None:
        if isinstance(self.release, Iterates) and self.release.steps[-1] > self.total_steps:
            raise InvalidDescription(
                f"release must list steps up to {self.total_steps}, got {self.release.steps[-1]}."
            )

    def summary(self) -> str:
        """Return the run in one line."""
        public = ""
        if self.public is not None:
            count = int(self.plan.repeat[self.plan.public].sum())
            public = f"of these {count} on {self.public.records} public records, "
        return (
            f"{self.total_steps} steps on {self.records} records, {public}"
            f"batches {self.batches.kind}, "
            f"adjacency {self.adjacency.value}, released: {self.release.name}"
        )

    @cached_property
    def plan(self) -> Schedule:
        """The run as phases of equal steps, cool-down included."""
        if self.schedule is not None:
            return self.schedule
        assert self.steps is not None and self.step_size is not None and self.noise is not None
        phases = [Phase(self.steps, self.step_size, self.noise)]
        if self.cool_down:
            phases.append(Phase(self.cool_down, self.step_size, self.noise, cool_down=True))
        return Schedule(phases)

    @cached_property
    def on_public(self) -> NoisyDescent:
        """One step on the public records, as a run of its own: what its map can do is this."""
        if self.public is None or self.public.objective is None:
            raise InvalidDescription("public must be given for steps on public records, got None.")
        losses = self.public.objective
        if losses.dimension not in (None, self.objective.dimension):
            raise InvalidDescription(
                f"public.objective.dimension must be that of objective, "
                f"{self.objective.dimension}, got {losses.dimension}."
            )
        return NoisyDescent(
            objective=replace(
                losses, ridge=self.objective.ridge, dimension=self.objective.dimension
            ),
            records=self.public.records,
            steps=1,
            step_size=1.0,
            noise=GradientNoise(0.0),
            domain=self.domain,
        )

    @property
    def total_steps(self) -> int:
        """Number of steps, cool-down included."""
        return self.plan.total

    @property
    def batch_size(self) -> int:
        """The public divisor of each step's sum of gradients."""
        return self.records if isinstance(self.batches, FullBatch) else self.batches.size

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches that make one pass over the records, the last perhaps incomplete."""
        return -(-self.records // self.batch_size)

    @property
    def last_batch_size(self) -> int:
        """Number of records in the last batch of a pass."""
        return self.records - (self.steps_per_epoch - 1) * self.batch_size

    @property
    def gradient_sensitivity(self) -> float | None:
        """How far one record moves the averaged gradient at one point; None if unbounded."""
        made = self.objective.sensitivity(self.adjacency)
        return None if math.isinf(made) else shared(made, self.batch_size)

    @property
    def gradient_change(self) -> float:
        """How far one record's contribution moves between two points of the domain."""
        return self.objective.change(self.domain.diameter)

    @property
    def gradient_apart(self) -> float:
        """How far apart the differing record drives two averages, each at a point of its own."""
        made = self.objective.apart(self.adjacency, self.domain.diameter)
        return shared(made, self.batch_size)

    @property
    def gradient_member(self) -> float:
        """How far the average moves when a coin puts the differing record into the batch."""
        made = self.objective.member(self.adjacency, self.batches)
        return shared(made, self.batch_size)

    @cached_property
    def gradient_noise_stds(self) -> Array:
        """The canonical noise of each phase: its deviation on the averaged gradient; read-only."""
        made = self.plan.gradient_std(
            gradient_bound=self.objective.gradient_bound, size=self.batch_size
        )
        return read_only(made)

    def noise_scaled(self, factor: float) -> NoisyDescent:
        """Return the same run with every noise deviation multiplied by `factor`."""
        if self.schedule is not None:
            return replace(self, schedule=self.schedule.noise_scaled(factor))
        assert self.noise is not None
        return replace(self, noise=self.noise.scaled(factor))
