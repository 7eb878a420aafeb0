"""The constants of a posterior and of the chains that sample it, in balls."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.lemmas import reach
from wane.balls.lemmas.kinetic import UnderdampedChain
from wane.balls.lemmas.shifted_girsanov import OverdampedChain, UnitTemperatureInBalls
from wane.describe import Adjacency, FullBatch, LastIterate, NoisyDescent, Objective, Temperature
from wane.describe.domains import Unbounded
from wane.describe.samples import OverdampedRun, SampledPosterior, UnderdampedRun


@dataclass(frozen=True)
class SampledTarget:
    """A potential whose constants hold for both neighbouring data sets.

    Attributes:
        samples: the described chains.
        temperature: of the chain, whose potential is an average.
        low, high: bounds on the curvature.
        ridge: how much of it lies outside the losses.
        gradient_bound: of one record in one chain; infinite where none is declared.
        sensitivity: how far one record moves the gradient of the potential, in one chain.
    """

    samples: SampledPosterior
    temperature: arb
    low: arb
    high: arb
    ridge: arb
    gradient_bound: arb
    sensitivity: arb

    @property
    def moved(self) -> arb:
        """The part of one record's share that changes between neighbours."""
        posterior = self.samples.posterior
        changed = 2 if posterior.adjacency is Adjacency.REPLACE_ONE else 1
        return ball(changed) / posterior.records

    @property
    def start(self) -> arb:
        """A bound on the minimiser's distance from the origin, whatever the records are."""
        fullest = _fullest(self.samples)
        distance = top(self.gradient_bound * fullest / self.low)
        height = self.samples.posterior.losses.height_at_start
        if height is not None:
            twice = 2 * ball(height) * fullest
            distance = distance.min(top((twice / (self.low + self.ridge)).sqrt()))
        return distance

    def chain(self) -> OverdampedChain | UnderdampedChain:
        """Return one chain, at temperature one."""
        run, T = self.samples, self.temperature
        d, eta = run.posterior.losses.dimension, ball(run.step_size)
        if isinstance(run, UnderdampedRun):
            return UnderdampedChain(
                d=d,
                m=self.low / T,
                L=self.high / T,
                gam=ball(run.friction),
                mu=ball(run.inverse_mass) * T,
                eta=eta,
                N=run.steps,
                r0=self.start,
                moved=self.sensitivity / T,
            )
        third = run.posterior.losses.laplacian_lipschitz
        M3 = None if third is None else ball(third) * _fullest(run) / T
        constants = UnitTemperatureInBalls(
            d, self.low / T, self.high / T, M3, eta * T, run.steps, self.start
        )
        return OverdampedChain(constants)


def target_of(samples: SampledPosterior) -> SampledTarget | None:
    """Return the target of described chains; None if it is not known to be strongly convex.

    Overdamped chains are read from the descent that they are together: a document describes it.
    """
    target = _of_descent(samples) if isinstance(samples, OverdampedRun) else _of_posterior(samples)
    return target if target is not None and target.low > 0 else None


def _of_descent(samples: OverdampedRun) -> SampledTarget | None:
    run = samples.descent
    if not _is_plain(run):
        return None
    (phase,) = run.plan
    ridge = ball(run.objective.ridge)
    low, high = _curvature(run.objective, samples)
    many = ball(samples.samples).sqrt()  # side by side, gradients are one longer vector
    return SampledTarget(
        samples=samples,
        temperature=ball(phase.noise.value),
        low=low + ridge,
        high=high + ridge,
        ridge=ridge,
        gradient_bound=reach.longest(run.objective) / many,
        sensitivity=reach.sensitivity(run) / many,
    )


def _of_posterior(samples: SampledPosterior) -> SampledTarget:
    posterior, losses = samples.posterior, samples.posterior.losses
    temperature = ball(posterior.temperature) / posterior.records
    ridge = ball(posterior.prior_precision) * temperature + ball(losses.shared_curvature)
    low, high = _curvature(losses.objective, samples)
    replaced = posterior.adjacency is Adjacency.REPLACE_ONE
    apart = reach.difference(losses.objective) if replaced else reach.longest(losses.objective)
    return SampledTarget(
        samples=samples,
        temperature=temperature,
        low=low + ridge,
        high=high + ridge,
        ridge=ridge,
        gradient_bound=reach.longest(losses.objective),
        sensitivity=apart / posterior.records,
    )


def _curvature(losses: Objective, samples: SampledPosterior) -> tuple[arb, arb]:
    """Return bounds on the losses' curvature; a null record does not bend, one more bends too."""
    posterior = samples.posterior
    assert losses.smoothness is not None and losses.strong_convexity is not None
    low, high = ball(losses.strong_convexity), ball(losses.smoothness).max(arb(0))
    if low > 0 and posterior.adjacency is not Adjacency.REPLACE_ONE:
        low = low * (posterior.records - 1) / posterior.records
    elif low < 0:
        low = low * _fullest(samples)
    return low, high * _fullest(samples)


def _fullest(samples: SampledPosterior) -> arb:
    """Return the largest number of losses in the sum, over its divisor."""
    added = samples.posterior.adjacency is Adjacency.ADD_REMOVE
    return 1 + 1 / ball(samples.posterior.records) if added else arb(1)


def _is_plain(run: NoisyDescent) -> bool:
    """Return whether the run is a plain chain on a potential."""
    losses, phases = run.objective, list(run.plan)
    plain = isinstance(run.batches, FullBatch) and isinstance(run.release, LastIterate)
    single = len(phases) == 1 and isinstance(phases[0].noise, Temperature)
    declared = losses.smoothness is not None and losses.strong_convexity is not None
    free = isinstance(run.domain, Unbounded) and not losses.clipped
    return plain and single and declared and free and not phases[0].cool_down
