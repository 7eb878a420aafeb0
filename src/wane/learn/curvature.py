"""A private upper bound on the curvature of the average loss, which allows longer steps.

A step that uses every record bends as much as the average loss does, not as much as the worst
record could.  The largest eigenvalue of the average curvature moves by at most M/n when one record
changes, so it can be released with little noise.  Proof: docs/proofs/curvature.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from wane.certify import SideRelease
from wane.describe import Adjacency, FullBatch, NoisyDescent, check
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, WithFailure
from wane.run.links import Link

LEVELS = 256
"""Row norms are rounded up to so many levels before a link is asked how much such a row bends."""
BLOCK_ROWS = 4096
ROUNDING = 1e-9
"""Relative; far above what sums over a million rows and an eigenvalue solver lose."""
SOURCE = "docs/proofs/curvature.md"


@dataclass(frozen=True)
class CurvatureBound:
    """The average loss of these records, and of their neighbours, bends at most this much.

    Attributes:
        smoothness: the bound, which is all that was released.
        release: what it cost; to be joined with the certificate of the run that uses it.
    """

    smoothness: float
    release: SideRelease

    def applied(self, run: NoisyDescent) -> NoisyDescent:
        """Return the run, described with this bound in place of one record's own curvature.

        Only for steps that use every record; the noise of the run is left as it is.
        """
        if not isinstance(run.batches, FullBatch):
            raise InvalidDescription(
                f"batches must be full to use the curvature of the average, got "
                f"{run.batches.kind}; a batch may bend more than the average does."
            )
        if math.isfinite(run.domain.diameter):
            raise InvalidDescription(
                "domain must be unbounded to use the curvature of the average, got a bounded one; "
                "theorems for bounded sets look at single records."
            )
        if run.adjacency is not self.release.adjacency:
            raise InvalidDescription(
                f"adjacency must be that of the bound, {self.release.adjacency.value}, got "
                f"{run.adjacency.value}."
            )
        known = run.objective.smoothness
        sharper = self.smoothness if known is None else min(known, self.smoothness)
        return replace(run, objective=replace(run.objective, smoothness=sharper))


def private_curvature(
    features: NDArray[Any],
    link: Link,
    *,
    feature_norm: float,
    gradient_bound: float | None,
    mu: float,
    failure_probability: float,
    adjacency: Adjacency,
    generator: np.random.Generator,
    intercept: float = 0.0,
) -> CurvatureBound:
    """Release an upper bound on the average curvature; mu-Gaussian private but for rare failures.

    Claim.  With M the curvature of one record and s = M/(n mu), the largest eigenvalue plus M/n
    plus s (Z + z), z the normal quantile of 1 - failure_probability, covers both neighbours except
    with that probability.  `feature_norm` includes the intercept; longer rows are scaled down.
    """
    R = check.real("feature_norm", feature_norm, above=0.0)
    level = check.real("mu", mu, above=0.0, cure="mu = 0 would need infinite noise")
    failure = check.real("failure_probability", failure_probability, above=0.0, most=0.5)
    check.kind("adjacency", adjacency, (Adjacency,))
    if adjacency is Adjacency.ADD_REMOVE:
        raise InvalidDescription(
            "adjacency must be replace-one or zero-out, got add-remove; the number of rows is "
            "public here."
        )
    worst = _most(link, np.array([R]), gradient_bound)[0]
    n = len(features)
    top = _largest_eigenvalue(features, link, R, gradient_bound, intercept)
    share = worst / n * (1.0 + ROUNDING)
    std = share / level * (1.0 + ROUNDING)
    margin = std * -float(ndtri(failure)) * (1.0 + ROUNDING)
    noisy = top * (1.0 + ROUNDING) + share + margin + std * float(generator.standard_normal())
    return CurvatureBound(
        smoothness=float(min(max(noisy, share), worst)),
        release=SideRelease(
            name="a bound on the average curvature",
            guarantee=WithFailure(GaussianDP(level), failure),
            source=SOURCE,
            adjacency=adjacency,
        ),
    )


def _largest_eigenvalue(
    features: NDArray[Any], link: Link, R: float, bound: float | None, intercept: float
) -> float:
    """Of the average over records of (curvature of its loss) (its direction)(its direction)^T."""
    levels = R * np.arange(1, LEVELS + 1) / LEVELS
    curvature = _most(link, levels, bound)
    columns = features.shape[1] + (intercept > 0.0)
    total = np.zeros((columns, columns))
    for first in range(0, len(features), BLOCK_ROWS):
        rows = np.asarray(features[first : first + BLOCK_ROWS], dtype=np.float64)
        if intercept > 0.0:
            rows = np.column_stack([rows, np.full(len(rows), intercept)])
        with np.errstate(all="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            live = np.isfinite(norms) & (norms > 0.0)
            rows = np.where(live[:, None], rows / np.where(live, norms, 1.0)[:, None], 0.0)
        place = np.ceil(np.minimum(np.where(live, norms, 0.0) / R, 1.0) * LEVELS).astype(int)
        weights = np.where(live, curvature[np.maximum(place, 1) - 1], 0.0)
        total += (rows * weights[:, None]).T @ rows
    return max(float(np.linalg.eigvalsh(total / len(features))[-1]), 0.0)


def _most(link: Link, norms: NDArray[np.float64], bound: float | None) -> NDArray[np.float64]:
    """Curvature of one record's loss for rows up to these norms, which must increase."""
    found = []
    for norm in norms.tolist():
        M = link.objective(norm, bound, 0.0).smoothness
        if M is None:
            raise InvalidDescription(f"link must be smooth, got {link!r}; it has no curvature.")
        found.append(M)
    return np.maximum.accumulate(np.array(found))
