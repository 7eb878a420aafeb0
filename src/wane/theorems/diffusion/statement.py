"""Positions of linear diffusions: one, several along a path, or some on a tree of paths."""

from __future__ import annotations

import math

from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.diffusion import GaussianDiffusion
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.describe.linear_diffusion import LinearDiffusion
from wane.guarantees import GaussianDP, PureDP
from wane.theorems.lemmas import declared_diffusions, diffusions, reflected_chains
from wane.theorems.theorem import (
    Answer,
    Basis,
    Citation,
    fails,
    holds,
    hypothesis,
    theorem,
    undeclared,
)

SENSITIVITY = "adjacent statistics are at most the sensitivity apart"


@hypothesis(SENSITIVITY, Basis.DECLARED)
def declared_sensitivity(process: GaussianDiffusion) -> Answer:
    """Whoever describes the statistic vouches for it."""
    return holds(f"declared to be {process.sensitivity:g}")


@hypothesis(SENSITIVITY, Basis.DECLARED)
def declared_sensitivity_of_path(release: NestedRelease) -> Answer:
    """Whoever describes the statistic vouches for it."""
    return holds(f"declared to be {release.mechanism.sensitivity_words}")


@hypothesis(SENSITIVITY, Basis.DECLARED)
def declared_sensitivity_of_tree(release: BranchedRelease) -> Answer:
    """Whoever describes the statistic vouches for it."""
    return holds(f"declared to be {release.mechanism.sensitivity_words}")


@theorem(
    of=GaussianDiffusion,  # type: ignore[type-abstract]
    source=Citation("wane", "docs/proofs/diffusion-release.md, section 1"),
    assumes=(declared_sensitivity,),
)
def diffusion_release(process: GaussianDiffusion) -> GaussianDP:
    """The position of a linear diffusion is the Gaussian mechanism, scaled.

    Claim.  mu = (D + s) b/sqrt(v): X_t = b f + N(0, v I), and adjacent statistics are D apart, to
    which s is added for roundings.
    """
    return diffusions.guarantee_at(process, process.time)


@hypothesis(SENSITIVITY, Basis.DECLARED)
def declared_ellipsoid(process: LinearDiffusion) -> Answer:
    """Whoever describes the statistic vouches for it."""
    return holds(f"declared to be {process.sensitivity_words}")


@theorem(
    of=LinearDiffusion,
    source=Citation("wane", "docs/proofs/linear-diffusion.md, section 1"),
    assumes=(declared_ellipsoid,),
)
def linear_diffusion_release(process: LinearDiffusion) -> GaussianDP:
    """The position of a linear diffusion is noise on the statistic, and a fixed map after it.

    Claim.  mu^2 = max v' T^-1 v over differences v, T = 2 int_0^t e^(Qu) K e^(Q'u) du with
    reversions Q and covariance K; differences are 2^-40 longer for roundings.
    """
    return diffusions.guarantee_at(process, process.time)


@hypothesis(SENSITIVITY, Basis.DECLARED)
def declared_distance(process: DeclaredDiffusion) -> Answer:
    """Whoever describes the statistic vouches for it."""
    return holds(f"declared to be {process.sensitivity:g}")


@hypothesis("the drift is Lipschitz, with constants that hold in the box", Basis.DECLARED)
def declared_drift(process: DeclaredDiffusion) -> Answer:
    """Whoever describes the drift vouches for its constants."""
    names = ("drift_lipschitz", "drift_at_centre")
    for name in names:
        if getattr(process, name) is None:
            return undeclared(name, f"{name} = a bound, which values at points do not show")
    kind = "a gradient" if process.is_gradient else "any drift"
    return holds(f"declared: {process.drift_lipschitz:g}, {kind}")


@hypothesis("the noise of a step is the same wherever the position is", Basis.DECLARED)
def steady_spread(process: DeclaredDiffusion) -> Answer:
    """A number is; of a function it must be declared."""
    if callable(process.spread) and process.spread_lipschitz is None:
        return undeclared("spread_lipschitz", "spread = a number")
    if process.constant_spread is None:
        cure = "a coordinate in which the spread is constant"
        return fails(f"spread_lipschitz = {process.spread_lipschitz:g}", cure)
    return holds(f"spread = {process.constant_spread:g}")


@theorem(
    of=DeclaredDiffusion,
    source=Citation("wane", "docs/proofs/declared-diffusion.md, section 1"),
    assumes=(declared_distance, declared_drift, steady_spread),
)
def declared_diffusion_release(process: DeclaredDiffusion) -> GaussianDP:
    """Two chains that start close and take the same noisy steps become hard to tell apart.

    Claim.  mu^2 = (D/s)^2 c^r (1 - c)/(1 - c^r), and a charge for roundings: s^2 = 2 eta spread^2,
    r steps of size eta, sqrt(c) the Lipschitz constant of x + eta drift(x).
    """
    return diffusions.guarantee_at(process, process.time)


@hypothesis("the cells between the values of the drift are fine enough for one step's noise")
def fine_cells(process: DeclaredDiffusion) -> Answer:
    """Otherwise the errors of the cells leave nothing of the smallest density."""
    if declared_diffusions.missing(process) or process.constant_spread is None:
        return holds("without the constants above there is nothing to resolve")
    level = reflected_chains.pure_level(process)
    if math.isfinite(level):
        return holds("the errors of the cells are below the smallest density")
    return fails("the errors of the cells hide the smallest density", "more cells, or fewer steps")


def _tabulated(process: DeclaredDiffusion) -> bool:
    return process.drift_values is not None


@theorem(
    of=DeclaredDiffusion,
    source=Citation("wane", "docs/proofs/declared-diffusion.md, section 3"),
    assumes=(declared_distance, declared_drift, steady_spread, fine_cells),
    concerns=_tabulated,
)
def reflected_chain(process: DeclaredDiffusion) -> PureDP:
    """Between mirrors the densities of two ends differ by a bounded factor.

    Claim.  epsilon = max log (v + e)/(v - e): v the densities at nodes, e what cells may hide.
    """
    return PureDP(reflected_chains.pure_level(process))


@theorem(
    of=NestedRelease,
    source=Citation("wane", "docs/proofs/diffusion-release.md, section 2"),
    assumes=(declared_sensitivity_of_path,),
)
def nested_release(release: NestedRelease) -> GaussianDP:
    """All levels of one path cost what the earliest of them costs.

    Claim.  mu = (D + s) b/sqrt(v) at the smallest time: the rest is made from that position and
    fresh noise alone.
    """
    return diffusions.path_guarantee(release)


@theorem(
    of=BranchedRelease,
    source=Citation("wane", "docs/proofs/diffusion-release.md, section 3"),
    assumes=(declared_sensitivity_of_tree,),
)
def branched_release(release: BranchedRelease) -> GaussianDP:
    """Positions on a tree tell what they tell of the point where their branches part.

    Claim.  mu^2 = (D + s)^2 J.  A seen position pins itself; precision J of the end of a branch
    with decay b and variance v is precision b^2/(v + 1/J) of its beginning; branches add up.
    """
    return diffusions.tree_guarantee(release)
