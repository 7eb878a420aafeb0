"""Positions of linear diffusions, again and in balls."""

from __future__ import annotations

import math

from wane.balls.arithmetic import ball
from wane.balls.bounds import Bound, Gaussian, Pure
from wane.balls.lemmas.diffusions import mu_squared, tree_mu_squared
from wane.balls.lemmas.reflected_chains import log_ratio
from wane.balls.verifier import verifier
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.diffusion import GaussianDiffusion
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.describe.linear_diffusion import LinearDiffusion


@verifier(of=GaussianDiffusion)
def diffusion_release(process: GaussianDiffusion) -> Bound:
    """Return the Gaussian bound of the scaled Gaussian mechanism at the released time."""
    return Gaussian(mu_squared(process, process.time))


@verifier(of=LinearDiffusion)
def linear_diffusion_release(process: LinearDiffusion) -> Bound:
    """Noise on the statistic, and a fixed map after it."""
    return Gaussian(mu_squared(process, process.time))


@verifier(of=DeclaredDiffusion)
def declared_diffusion_release(process: DeclaredDiffusion) -> Bound | None:
    """Return the Gaussian bound of the end of the chain, from its declared constants."""
    if process.drift_lipschitz is None or process.drift_at_centre is None:
        return None
    return Gaussian(mu_squared(process, process.time))


@verifier(of=DeclaredDiffusion)
def reflected_chain(process: DeclaredDiffusion) -> Bound | None:
    """Return the bound on likelihood ratios between mirrors, if the drift is tabulated."""
    known = (process.drift_lipschitz, process.drift_at_centre, process.drift_values)
    if None in known:
        return None
    level = log_ratio(process)
    return Pure(ball(level)) if math.isfinite(level) else None


@verifier(of=NestedRelease)
def nested_release(release: NestedRelease) -> Bound:
    """Return the Gaussian bound of the earliest released position of a path."""
    return Gaussian(mu_squared(release.mechanism, min(release.levels.values())))


@verifier(of=BranchedRelease)
def branched_release(release: BranchedRelease) -> Bound:
    """Looks at a tree of paths."""
    return Gaussian(tree_mu_squared(release))
