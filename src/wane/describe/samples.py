"""What will run on private records: a posterior, a chain on it, and how many samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from wane.describe import Adjacency, NoisyDescent, check
from wane.describe.chain import Overdamped, Underdamped
from wane.describe.posterior import Posterior


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
