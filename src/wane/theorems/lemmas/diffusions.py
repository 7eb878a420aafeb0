"""Gaussian privacy of positions of linear diffusions: of one, of a path, and of a tree."""

from __future__ import annotations

import math
import sys
from functools import singledispatch

from wane import arguments
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.diffusion import GaussianDiffusion, Process
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.describe.linear_diffusion import LinearDiffusion
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate
from wane.numerics.search import smallest_satisfying
from wane.theorems.lemmas import declared_diffusions, linear_diffusions, reflected_chains

RAISED = 2e-15
"""Relative amount by which mu is raised: more than the rounding of its formula."""
UNIT = 2.0**-53
"""Largest relative error of one rounded operation on doubles."""
_FLOOR = 1e-140  # smaller signals are raised to this: their squares could underflow on the way


@singledispatch
def mu_at(process: Process, time: float) -> float:
    """Return the Gaussian DP parameter of the position at a time, rounded up, by kind of process.

    Claim.  (D + s) b/sqrt(v), with the charge s for roundings, decay b and variance v; for a
    matrix of reversions `linear_diffusions.position_mu`.
    """
    raise InvalidDescription(f"mechanism must be a diffusion, got {type(process).__name__}.")


@mu_at.register
def _linear_position(process: LinearDiffusion, time: float) -> float:
    return linear_diffusions.position_mu(process, arguments.real("time", time, above=0.0))


@mu_at.register
def _declared_position(process: DeclaredDiffusion, time: float) -> float:
    return declared_diffusions.position_mu(process, arguments.real("time", time, above=0.0))


@mu_at.register
def _gaussian_position(process: GaussianDiffusion, time: float) -> float:
    signal = process.charged_sensitivity * process.signal_at(time)
    return inflate(max(signal, SMALLEST_POSITIVE), RAISED)


def guarantee_at(process: Process, time: float) -> GaussianDP:
    """Return the exact guarantee of the position at a time."""
    return GaussianDP(mu_at(process, time))


def intrinsic_sensitivity(process: GaussianDiffusion) -> float:
    """Return the Renyi divergence of every order, divided by the order: mu^2/2, rounded up.

    Claim.  mu^2/2 of the release.
    """
    mu = mu_at(process, process.time)
    return inflate(max(mu * mu / 2.0, SMALLEST_POSITIVE), RAISED)


def goal(mu: float | None, epsilon: float | None, delta: float | None) -> float:
    """Return the largest mu that meets a mu, or an epsilon and a delta; exactly one of both."""
    if mu is not None and epsilon is None and delta is None:
        return arguments.real("mu", mu, above=0.0)
    if mu is not None or epsilon is None or delta is None:
        raise InvalidDescription("target must be exactly one of: mu; epsilon and delta.")
    found = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    return arguments.real("mu for epsilon and delta", found, above=0.0, cure="choose 0 < delta < 1")


def earliest(
    process: Process, mu: float | None, epsilon: float | None, delta: float | None
) -> float:
    """Return the earliest time found that meets a mu, or an epsilon and a delta.

    Between mirrors, with a drift that is tabulated, an epsilon may be met without a delta.
    """
    pure = None
    if isinstance(process, DeclaredDiffusion) and process.drift_values is not None:
        if mu is None and epsilon is not None and not declared_diffusions.missing(process):
            epsilon = arguments.real("epsilon", epsilon, least=0.0)
            pure = reflected_chains.time_without_delta(process, epsilon)
        if pure is not None and delta == 0.0:
            return pure
    try:
        found = time_for(process, goal(mu, epsilon, delta))
    except Unreachable:
        if pure is None:
            raise
        return pure
    return found if pure is None else min(found, pure)


@singledispatch
def time_for(process: Process, mu: float) -> float:
    """Return the earliest time found at which the release is certified mu-Gaussian private."""
    start = process.time
    while mu_at(process, start) <= mu:
        start /= 2.0
    return smallest_satisfying(lambda t: mu_at(process, t) <= mu, start, relative=1e-12)


time_for.register(DeclaredDiffusion, declared_diffusions.time_for)


@time_for.register
def _gaussian_time(process: GaussianDiffusion, mu: float) -> float:
    # a time that no double holds is replaced by the next one, which is only more private
    near = process.time_near(process.charged_sensitivity / mu)
    time, nudge = max(near, sys.float_info.min), 4e-16
    while math.isfinite(time) and mu_at(process, time) > mu:
        time, nudge = inflate(time, nudge), 2.0 * nudge
    return arguments.real("time for mu", time, above=0.0, cure="choose a less extreme mu")


def path_guarantee(release: NestedRelease) -> GaussianDP:
    """Return what all levels of a path tell together: what the earliest of them tells, exactly."""
    return guarantee_at(release.mechanism, min(release.levels.values()))


def tree_guarantee(release: BranchedRelease) -> GaussianDP:
    """Return what the seen positions of a tree tell together, exactly."""
    return GaussianDP(_of_tree(release.mechanism, release))


@singledispatch
def _of_tree(process: Process, release: BranchedRelease) -> float:
    raise InvalidDescription(
        f"mechanism must be a linear diffusion for a tree, got {type(process).__name__}; publish "
        "one path, wane.mechanisms.NestedRelease."
    )


@_of_tree.register
def _linear_tree(process: LinearDiffusion, release: BranchedRelease) -> float:
    return linear_diffusions.tree_mu(release, process)


@_of_tree.register
def _gaussian_tree(process: GaussianDiffusion, release: BranchedRelease) -> float:
    names = release.seen_names
    signal = max(math.sqrt(_precision(release, process, set(names))), _FLOOR)
    # Each position on the way adds about eight roundings; decays add their exponent's.
    decays = (process.decay_after(release.times[name]) for name in names)
    reach = max(-math.log(max(decay, SMALLEST_POSITIVE)) for decay in decays)
    slack = (16.0 * (len(release.branches) + 2) + 4.0 * reach) * UNIT
    signal *= process.charged_sensitivity
    return inflate(max(signal, SMALLEST_POSITIVE), slack)


def _precision(release: BranchedRelease, process: GaussianDiffusion, held: set[str]) -> float:
    """Knowledge of the statistic, gathered from the leaves upwards."""
    known: dict[str | None, float] = dict.fromkeys(release.branches, 0.0)
    known[None] = 0.0
    for name in reversed(list(release.branches)):
        parent, duration = release.branches[name]
        doubt = 0.0 if name in held else math.inf
        if name not in held and known[name] > 0.0:
            doubt = 1.0 / known[name]
        decay = process.decay_after(duration)
        known[parent] += decay * decay / (process.variance_after(duration) + doubt)
    return known[None]
