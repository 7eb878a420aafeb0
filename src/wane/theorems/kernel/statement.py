"""A private output that went through a Markov kernel."""

from __future__ import annotations

from wane.describe.kernel import KernelRelease
from wane.describe.stated import StatedRelease
from wane.guarantees import Guarantee
from wane.guarantees.fields import guarantee_from_fields
from wane.theorems.kernel.amplified import AmplifiedGuarantee
from wane.theorems.kernel.kernels import MarkovKernel
from wane.theorems.lemmas import diffusions
from wane.theorems.theorem import Answer, Basis, Citation, holds, hypothesis, theorem


@hypothesis("what the kernel is applied to costs what is declared", Basis.DECLARED)
def declared_before(release: KernelRelease) -> Answer:
    """Whoever states it, or declares the sensitivity of a diffusion, vouches for it."""
    if isinstance(release.before, StatedRelease):
        return holds(f"stated by {release.before.source}")
    return holds(f"sensitivity declared to be {release.before.sensitivity:g}")


@theorem(
    of=KernelRelease,
    source=Citation("wane", "docs/proofs/kernel-amplification.md, Theorem 1"),
    assumes=(declared_before,),
)
def kernel_amplification(release: KernelRelease) -> AmplifiedGuarantee:
    """A Markov kernel shrinks the whole privacy profile of what it is applied to.

    Claim.  delta'(e) = Th g(1 + (e^e - 1)/Th), Th = delta(e) before, g(m) the largest sum of
    (P - m Q)_+ over ordered pairs of rows P, Q of K^t.
    """
    kernel = MarkovKernel(release.matrix)
    if release.power > 1:
        kernel = kernel.power(release.power)
    return AmplifiedGuarantee(_before(release), kernel)


def _before(release: KernelRelease) -> Guarantee:
    if isinstance(release.before, StatedRelease):
        return guarantee_from_fields(release.before.cost)
    return diffusions.guarantee_at(release.before, release.before.time)
