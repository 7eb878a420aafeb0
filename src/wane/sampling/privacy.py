"""What samples cost: the chain by itself, and by way of its target.

All routes speak of the same release and are valid at once; the smallest bound wins, and the others
are shown with what stands in their way, as for every certificate.
"""

from __future__ import annotations

import math
from dataclasses import replace

from wane.certificates import Certificate, CertifiedRelease, certify
from wane.describe import Adjacency, NoisyDescent, derived
from wane.describe.samples import OverdampedRun, SampledPosterior, UnderdampedRun
from wane.guarantees import GaussianDP, Guarantee
from wane.sampling import kinetic_privacy
from wane.sampling.closeness import closeness
from wane.sampling.gibbs import exact_draws, exact_gibbs_bounded
from wane.sampling.transfer import transferred
from wane.theorems.theorem import (
    Answer,
    Basis,
    Citation,
    Theorem,
    ask,
    fails,
    holds,
    hypothesis,
    theorem,
    undeclared,
)


@hypothesis("neighbouring data sets have the same number of records")
def _same_number(run: SampledPosterior) -> Answer:
    adjacency = run.posterior.adjacency
    if adjacency is Adjacency.ADD_REMOVE:
        return fails("adding a record bends the potential more", 'adjacency = "zero-out"')
    return holds(f"adjacency is {adjacency.value}")


@hypothesis("what one record adds to the gradient has a known bound", Basis.DECLARED)
def _bounded_gradient(run: SampledPosterior) -> Answer:
    moved = derived.sensitivity(run.posterior.losses.objective, run.posterior.adjacency)
    if math.isinf(moved):
        return undeclared("gradient_bound", "objective.gradient_bound = a proven bound")
    return holds(f"neighbouring sums of gradients are at most {moved:g} apart")


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


@hypothesis("friction brings two chains together at every step")
def _contracting(run: UnderdampedRun) -> Answer:
    if math.isfinite(kinetic_privacy.last_state_mu(run.chain, 0.0)):
        return holds(f"friction={run.friction:g}, step_size={run.step_size:g}")
    target = run.chain.target
    least = math.sqrt(run.inverse_mass * (target.strong_convexity + target.smoothness))
    return fails(
        f"friction={run.friction:g} and step_size={run.step_size:g} do not",
        f"friction >= {least * (1.0 + 1e-15)!r}, and a smaller step_size",
    )


@theorem(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/gibbs-transfer.md, Theorems 1 and 3"),
    assumes=(_bounded_gradient, _same_number, _close),
)
def gibbs_transfer(run: SampledPosterior) -> Guarantee:
    """A chain close to its target is nearly as private as exact draws from it.

    Claim.  `wane.sampling.transfer.two_triangles` with D(R||R') of the exact Gibbs mechanism, which
    is Gaussian-private with mu = Delta/sqrt(tau m).
    """
    return transferred(closeness(run.chain), exact_draws(run.posterior)).repeat(run.samples)


@theorem(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/gibbs-transfer.md, Theorems 2 and 3"),
    assumes=(_bounded_range, _same_number, _close),
)
def range_transfer(run: SampledPosterior) -> Guarantee:
    """A chain close to its target is nearly as private as exact draws, whose densities are close.

    Claim.  `wane.sampling.transfer.two_triangles` with D(R||R') of a pure guarantee with
    epsilon = r/T, r the range of the difference of the two sums of losses.
    """
    posterior = run.posterior
    assert posterior.losses.range_of_loss is not None
    spread = posterior.adjacency.sensitivity(posterior.losses.range_of_loss) / posterior.records
    exact = exact_gibbs_bounded(
        range_of_difference=spread, temperature=posterior.descent_temperature
    )
    return transferred(closeness(run.chain), exact).repeat(run.samples)


@theorem(
    of=UnderdampedRun,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Corollary"),
    assumes=(_bounded_gradient,),
)
def kinetic_composition(run: UnderdampedRun) -> GaussianDP:
    """The noise of all steps together hides a record, whether or not the chain contracts.

    Claim.  mu = Delta sqrt(u N eta/(2 gam tau)), u the inverse mass.
    """
    mu = kinetic_privacy.composed_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


@theorem(
    of=UnderdampedRun,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Theorem"),
    assumes=(_bounded_gradient, _contracting),
)
def kinetic_last_state(run: UnderdampedRun) -> GaussianDP:
    """Friction forgets: only the last stretch of an underdamped chain tells of a record.

    Claim.  mu = (c_Psi |Psi| + u Delta sqrt(K eta))/sqrt(2 gam u tau), least over windows K.
    """
    mu = kinetic_privacy.last_state_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


TRANSFERS: tuple[Theorem[Guarantee], ...] = (gibbs_transfer, range_transfer)
"""The ways through the target; for overdamped chains `wane.certify` knows the direct ones."""
KINETIC: tuple[Theorem[Guarantee], ...] = (kinetic_composition, kinetic_last_state)


def certify_samples(run: OverdampedRun) -> Certificate:
    """Return what all samples together cost, as a descent and by way of the target."""
    return certify_chains(run, run.descent)


def certify_chains(run: OverdampedRun, descent: NoisyDescent) -> Certificate:
    """Return the certificate of a descent that is these chains side by side."""
    (direct,) = certify(descent).parts
    known = run.posterior.losses
    return Certificate(
        (
            replace(
                direct,
                verdicts=(*direct.verdicts, *ask(run, TRANSFERS)),
                narrowed=known.range_of_loss is not None or known.height_at_start is not None,
            ),
        )
    )


def certify_underdamped(run: UnderdampedRun) -> Certificate:
    """Return what underdamped samples cost, directly and through the target."""
    return Certificate((CertifiedRelease(run, ask(run, (*KINETIC, *TRANSFERS))),))
