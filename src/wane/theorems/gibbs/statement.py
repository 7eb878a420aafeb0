"""Through the target: a chain close to its posterior is nearly as private as exact draws."""

from __future__ import annotations

from wane.describe.samples import SampledPosterior
from wane.guarantees import Guarantee
from wane.theorems import chain_hypotheses as given
from wane.theorems.gibbs.transfer import closeness, exact_draws, exact_gibbs_bounded, transferred
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


@hypothesis("each record's loss has a bounded range", Basis.DECLARED)
def _bounded_range(run: SampledPosterior) -> Answer:
    found = run.posterior.losses.range_of_loss
    if found is None:
        return undeclared("range_of_loss", "range_of_loss = largest minus smallest loss")
    return holds(f"range_of_loss={found:g}")


@hypothesis("the chain's distance to its target is certified, in both directions")
def _close(run: SampledPosterior) -> Answer:
    if closeness(run.chain).useful:
        best = min(closeness(run.chain).chain_first)
        return holds(f"D(chain || target) <= {best:.3g} at some order")
    return fails("every bound on the distance is infinite", "more steps, or a smaller step_size")


@theorem(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/gibbs-transfer.md, Theorems 1 and 3"),
    assumes=(given.bounded_share, given.same_number, _close),
)
def gibbs_transfer(run: SampledPosterior) -> Guarantee:
    """A chain close to its target is nearly as private as exact draws from it.

    Claim.  The two triangles of the proof with D(R||R') of the exact Gibbs mechanism, which is
    Gaussian-private with mu = Delta/sqrt(tau m).
    """
    return transferred(closeness(run.chain), exact_draws(run.posterior)).repeat(run.samples)


@theorem(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/gibbs-transfer.md, Theorems 2 and 3"),
    assumes=(_bounded_range, given.same_number, _close),
)
def range_transfer(run: SampledPosterior) -> Guarantee:
    """A chain close to its target is nearly as private as exact draws, whose densities are close.

    Claim.  The two triangles of the proof with D(R||R') of a pure guarantee with
    epsilon = r/T, r the range of the difference of the two sums of losses.
    """
    posterior = run.posterior
    assert posterior.losses.range_of_loss is not None
    spread = posterior.adjacency.sensitivity(posterior.losses.range_of_loss) / posterior.records
    exact = exact_gibbs_bounded(
        range_of_difference=spread, temperature=posterior.descent_temperature
    )
    return transferred(closeness(run.chain), exact).repeat(run.samples)
