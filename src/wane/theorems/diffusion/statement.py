"""Positions of linear diffusions: one, several along a path, or some on a tree of paths."""

from __future__ import annotations

from wane.describe.diffusion import GaussianDiffusion
from wane.describe.hierarchy import BranchedRelease, NestedRelease
from wane.describe.linear_diffusion import LinearDiffusion
from wane.guarantees import GaussianDP
from wane.theorems.lemmas import diffusions
from wane.theorems.theorem import Answer, Basis, Citation, holds, hypothesis, theorem

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
