"""Gaussian privacy of positions of linear diffusions: of one, of a path, and of a tree."""

from __future__ import annotations

import math
import sys

from wane.describe import check
from wane.describe.diffusion import GaussianDiffusion
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.guarantees import GaussianDP
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

RAISED = 2e-15
"""Relative amount by which mu is raised: more than the rounding of its formula."""
UNIT = 2.0**-53
"""Largest relative error of one rounded operation on doubles."""
_FLOOR = 1e-140  # smaller signals are raised to this: their squares could underflow on the way


def mu_at(process: GaussianDiffusion, time: float) -> float:
    """Return the Gaussian DP parameter of the position at a time, rounded up.

    Claim.  (D + s) b/sqrt(v), with the charge s for roundings, decay b and variance v.
    """
    signal = process.charged_sensitivity * process.signal_at(time)
    return inflate(max(signal, SMALLEST_POSITIVE), RAISED)


def guarantee_at(process: GaussianDiffusion, time: float) -> GaussianDP:
    """Return the exact guarantee of the position at a time."""
    return GaussianDP(mu_at(process, time))


def intrinsic_sensitivity(process: GaussianDiffusion) -> float:
    """Return the Renyi divergence of every order, divided by the order: mu^2/2, rounded up.

    Claim.  mu^2/2 of the release.
    """
    mu = mu_at(process, process.time)
    return inflate(max(mu * mu / 2.0, SMALLEST_POSITIVE), RAISED)


def time_for(process: GaussianDiffusion, mu: float) -> float:
    """Return the earliest time found at which the release is certified mu-Gaussian private."""
    mu = check.real("mu", mu, above=0.0)
    # a time that no double holds is replaced by the next one, which is only more private
    near = process.time_near(process.charged_sensitivity / mu)
    time, nudge = max(near, sys.float_info.min), 4e-16
    while math.isfinite(time) and mu_at(process, time) > mu:
        time, nudge = inflate(time, nudge), 2.0 * nudge
    return check.real("time for mu", time, above=0.0, cure="choose a less extreme mu")


def path_guarantee(release: NestedRelease) -> GaussianDP:
    """Return what all levels of a path tell together: what the earliest of them tells, exactly."""
    return guarantee_at(release.mechanism, min(release.levels.values()))


def tree_guarantee(release: BranchedRelease) -> GaussianDP:
    """Return what the seen positions of a tree tell together, exactly."""
    names = release.seen_names
    signal = max(math.sqrt(_precision(release, set(names))), _FLOOR)
    # Each position on the way adds about eight roundings; decays add their exponent's.
    decays = (release.mechanism.decay_after(release.times[name]) for name in names)
    reach = max(-math.log(max(decay, SMALLEST_POSITIVE)) for decay in decays)
    slack = (16.0 * (len(release.branches) + 2) + 4.0 * reach) * UNIT
    signal *= release.mechanism.charged_sensitivity
    return GaussianDP(inflate(max(signal, SMALLEST_POSITIVE), slack))


def _precision(release: BranchedRelease, held: set[str]) -> float:
    """Knowledge of the statistic, gathered from the leaves upwards."""
    process = release.mechanism
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
