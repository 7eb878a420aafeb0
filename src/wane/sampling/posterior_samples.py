"""Private samples from a posterior: planned from public numbers, drawn as they were certified.

Only the end of a chain comes back, rounded to a grid as every release is (`wane.run.safeguards`).
Of an underdamped chain the noise that protects a position is at least what the free motion gains
over the whole run, or what the target has in its steepest direction if that is less.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.certificates import certify
from wane.certificates.analyse import DistanceCertificate, certify_distance
from wane.describe.chain import Direction, Underdamped
from wane.describe.posterior import Posterior, stacked_bound
from wane.describe.samples import OverdampedRun, UnderdampedRun
from wane.errors import InvalidDescription, PrivacyWarning, Unreachable
from wane.guarantees import GaussianDP
from wane.run import descend, private_generator
from wane.run.safeguards import (
    grid_below,
    refuse_add_remove,
    require_constants,
    require_room_for_null,
    to_grid,
)
from wane.sampling.distance_plan import plan_sampling
from wane.sampling.integrator import exact_step
from wane.sampling.models import DataPotential
from wane.sampling.simulation import Progress, simulate
from wane.sampling.sums import ChainSums
from wane.theorems.gibbs.transfer import exact_draws

MOST_STEPS = 2_000_000
"""Longer chains are refused unless asked for by number."""
MANY_STEPS = 100_000
"""Whoever asks for more is told beforehand how many they are."""
_ROUNDED_UP = 1.0 + 1e-12
"""Calibrated temperatures are this much warmer than their formula, which covers its rounding."""


@dataclass(frozen=True)
class Distances:
    """How far each sample's law is from the posterior, in both directions.

    Attributes:
        order: the Renyi order; one for Kullback-Leibler.
        chain_first, target_first: the certificates of D(chain || target) and D(target || chain).
    """

    order: float
    chain_first: DistanceCertificate
    target_first: DistanceCertificate

    @property
    def value(self) -> float:
        """The larger of the two divergences."""
        return max(self.chain_first.value, self.target_first.value)

    @property
    def total_variation(self) -> float:
        """The probability of no event differs by more."""
        return min(self.chain_first.total_variation, self.target_first.total_variation)

    def explain(self) -> str:
        """Return every theorem's answer, in both directions, as text."""
        return f"{self.chain_first.explain()}\n{self.target_first.explain()}"


@lru_cache(maxsize=64)
def distances(run: OverdampedRun, order: float) -> Distances:
    """Certify the distance of one sample from the posterior, whatever the records hold."""
    found = (certify_distance(run.chain, order=order, direction=d) for d in Direction)
    return Distances(order, *found)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a user asks of samples from a posterior.

    Attributes:
        epsilon, delta: of all samples together.
        samples: how many.
        order, distance: each sample is this close to the posterior, in both directions.
        temperature: of the posterior; None for the lowest that is private enough.
        coldest: the lowest temperature that None may choose.
        step_size, steps: fixed by number, and then the distance is what it is; None to plan them.
        progress: show a bar while planning.
    """

    epsilon: float
    delta: float
    samples: int = 1
    order: float = 2.0
    distance: float = 0.1
    temperature: float | None = None
    coldest: float = 1.0
    step_size: float | None = None
    steps: int | None = None
    progress: bool = False


def plan_posterior(posterior: Posterior, wish: Wish) -> OverdampedRun:
    """Return the run that meets the wish: temperature first, then the fewest steps.

    The promise is asked again of the certificate, so that nothing here needs to be trusted.
    """
    if (wish.step_size is None) != (wish.steps is None):
        raise InvalidDescription("step_size and steps must be given together, or neither.")
    if wish.temperature is None:
        posterior = calibrated(
            posterior,
            epsilon=wish.epsilon,
            delta=wish.delta,
            samples=wish.samples,
            coldest=wish.coldest,
        )
    else:
        posterior = replace(posterior, temperature=wish.temperature)
    step_size, steps = wish.step_size, wish.steps
    if step_size is None or steps is None:
        step_size, steps = _planned(posterior, wish)
    run = OverdampedRun(posterior=posterior, step_size=step_size, steps=steps, samples=wish.samples)
    spent = certify(run).epsilon(wish.delta)
    if not spent <= wish.epsilon:
        raise Unreachable(
            f"These settings cost epsilon={spent:.6g} at delta={wish.delta:g}, more than "
            f"{wish.epsilon:g}; raise temperature, or lower step_size to at most "
            f"{2.0 / (run.chain.target.strong_convexity + run.chain.target.smoothness):.6g}."
        )
    return run


def calibrated(
    posterior: Posterior, *, epsilon: float, delta: float, samples: int = 1, coldest: float = 1.0
) -> Posterior:
    """Return the posterior at the lowest temperature whose exact draws meet (epsilon, delta).

    A chain on it costs no more, whatever its length, up to step size 2/(m + M).  With n records,
    t = T/n solves t (prior_precision t + m) = (sensitivity sqrt(samples) / mu)^2.
    """
    arguments.real("coldest", coldest, least=0.0)
    arguments.real("epsilon", epsilon, least=0.0)
    arguments.real("delta", delta, above=0.0, most=1.0)
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    if not mu > 0.0:
        raise Unreachable(f"No temperature reaches epsilon={epsilon:g} at delta={delta:g}.")
    n, prior = posterior.records, posterior.prior_precision
    goal = posterior.gradient_sensitivity * math.sqrt(samples) / mu
    bend = posterior.target.strong_convexity - prior * posterior.descent_temperature
    root = math.sqrt(max(bend * bend + 4.0 * prior * goal * goal, 0.0))
    t = 2.0 * goal * goal / (bend + root) if bend > 0.0 else (root - bend) / (2.0 * prior)
    found = replace(posterior, temperature=max(t * n * _ROUNDED_UP, coldest))
    while exact_draws(found, samples=samples).epsilon(delta) > epsilon:
        found = replace(found, temperature=found.temperature * _ROUNDED_UP)
    return found


def _planned(posterior: Posterior, wish: Wish) -> tuple[float, int]:
    arguments.real("distance", wish.distance, above=0.0)
    plan = plan_sampling(
        posterior.target,
        order=wish.order,
        distance=wish.distance,
        start=posterior.start,
        temperature=posterior.descent_temperature,
        progress=wish.progress,
    )
    if plan.chain.steps > MOST_STEPS:
        raise Unreachable(
            f"A distance of {wish.distance:g} needs {plan.chain.steps} steps, more than "
            f"{MOST_STEPS}; allow a larger distance, a larger prior_precision, or give step_size "
            "and steps by number (privacy holds for any)."
        )
    if plan.chain.steps > MANY_STEPS:
        warnings.warn(
            f"{plan.chain.steps} steps are planned, which may take many minutes; a larger "
            "prior_precision or distance needs fewer, and privacy holds for any.",
            PrivacyWarning,
            stacklevel=2,
        )
    return plan.chain.step_size, plan.chain.steps


def draw(
    run: OverdampedRun | UnderdampedRun,
    sums: ChainSums,
    *,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Array:
    """Return the last state of every chain, rounded, samples first; nothing else is kept.

    The noise comes from the operating system unless a generator is given, and whoever can repeat
    that generator can subtract the noise.
    """
    arguments.kind("run", run, (OverdampedRun, UnderdampedRun))
    arguments.kind("sums", sums, (ChainSums,))
    chance = private_generator() if generator is None else generator
    refuse_add_remove(run.posterior.adjacency)
    require_room_for_null(run.posterior.losses.objective)
    stacked = sums.with_chains(run.samples)
    if isinstance(run, OverdampedRun):
        return descend(run.descent, stacked, generator=chance, progress=progress)
    bound = run.posterior.losses.objective.gradient_bound
    if bound is None or stacked.gradient_bound > stacked_bound(bound, run.samples):
        raise InvalidDescription(
            f"gradients must be bounded by the described gradient_bound={bound}, "
            "got more; describe what will run."
        )
    require_constants(run.posterior.losses.objective, sums.with_chains(1).objective)
    potential = DataPotential(run.posterior, sums)
    with np.errstate(all="ignore"):  # a warning would depend on the records
        end = simulate(
            run.chain, potential, generator=chance, chains=run.samples, progress=progress
        )
    return to_grid(end.reshape(stacked.shape), kinetic_grid(run.chain))


def kinetic_grid(chain: Underdamped) -> float:
    """Return the spacing for the last position of an underdamped chain."""
    free = exact_step(
        friction=chain.friction,
        step_size=chain.step_size * chain.steps,
        inverse_mass=chain.inverse_mass,
        temperature=chain.temperature,
    )
    steepest = math.sqrt(chain.temperature / chain.target.smoothness)
    return grid_below(min(math.sqrt(free.noise_covariance[0]), steepest))
