"""Numbers with several Laplace noises on each."""

from __future__ import annotations

from wane.describe.laplace import LaplaceRelease
from wane.theorems.laplace.sums import LaplaceSumDP, guarantee_of
from wane.theorems.theorem import Answer, Basis, Citation, holds, hypothesis, theorem


@hypothesis("adjacent numbers differ by the sensitivity at most, summed", Basis.DECLARED)
def declared_sum(release: LaplaceRelease) -> Answer:
    """Whoever describes the numbers vouches for it."""
    return holds(f"declared to be {release.sensitivity:g}")


@theorem(
    of=LaplaceRelease,
    source=Citation("wane", "docs/proofs/continuous-kernels.md, section 3"),
    assumes=(declared_sum,),
)
def laplace_sum(release: LaplaceRelease) -> LaplaceSumDP:
    """A sum of Laplace noises on whole units hides a shift of all numbers together.

    Claim.  delta(e) = max over k of F(k) - e^e F(k - n), F the distribution of the sum in units of
    u and n = floor(D/u) + d, since each number is rounded once.
    """
    return guarantee_of(release)
