"""What samples cost: the chain by itself, and by way of its target.

All routes speak of the same release and are valid at once; the smallest bound wins, and the others
are shown with what stands in their way, as for every certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from wane.certificates import Certificate, certify
from wane.certificates.certificate import DEFAULT_DELTA, epsilon_of, gaussian_mu_of
from wane.describe import Adjacency, NoisyDescent, check, derived
from wane.errors import NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee
from wane.report.format import round_up_to
from wane.sampling import kinetic_privacy
from wane.sampling.gibbs import exact_gibbs_bounded
from wane.sampling.runs import OverdampedRun, SampledPosterior, UnderdampedRun
from wane.sampling.transfer import transferred
from wane.theorems.theorem import (
    Answer,
    Applies,
    Basis,
    Citation,
    Verdict,
    analysis,
    condition,
    fails,
    holds,
    undeclared,
)


@condition("neighbouring data sets have the same number of records")
def _same_number(run: SampledPosterior) -> Answer:
    adjacency = run.posterior.adjacency
    if adjacency is Adjacency.ADD_REMOVE:
        return fails("adding a record bends the potential more", 'adjacency = "zero-out"')
    return holds(f"adjacency is {adjacency.value}")


@condition("what one record adds to the gradient has a known bound", Basis.DECLARED)
def _bounded_gradient(run: SampledPosterior) -> Answer:
    moved = derived.sensitivity(run.posterior.losses.objective, run.posterior.adjacency)
    if math.isinf(moved):
        return undeclared("gradient_bound", "objective.gradient_bound = a proven bound")
    return holds(f"neighbouring sums of gradients are at most {moved:g} apart")


@condition("each record's loss has a bounded range", Basis.DECLARED)
def _bounded_range(run: SampledPosterior) -> Answer:
    found = run.posterior.losses.range_of_loss
    if found is None:
        return undeclared("range_of_loss", "range_of_loss = largest minus smallest loss")
    return holds(f"range_of_loss={found:g}")


@condition("the chain's distance to its target is certified, in both directions")
def _close(run: SampledPosterior) -> Answer:
    if run.closeness.useful:
        best = min(run.closeness.chain_first)
        return holds(f"D(chain || target) <= {best:.3g} at some order")
    return fails("every bound on the distance is infinite", "more steps, or a smaller step_size")


@condition("friction brings two chains together at every step")
def _contracting(run: SampledPosterior) -> Answer:
    assert isinstance(run, UnderdampedRun)
    if math.isfinite(kinetic_privacy.last_state_mu(run.chain, 0.0)):
        return holds(f"friction={run.friction:g}, step_size={run.step_size:g}")
    target = run.chain.target
    least = math.sqrt(run.inverse_mass * (target.strong_convexity + target.smoothness))
    return fails(
        f"friction={run.friction:g} and step_size={run.step_size:g} do not",
        f"friction >= {least * (1.0 + 1e-15)!r}, and a smaller step_size",
    )


@analysis(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/gibbs-transfer.md, Theorems 1 and 3"),
    assumes=(_bounded_gradient, _same_number, _close),
)
def gibbs_transfer(run: SampledPosterior) -> Guarantee:
    """A chain close to its target is nearly as private as exact draws from it.

    Claim.  `wane.sampling.transfer.two_triangles` with D(R||R') of the exact Gibbs mechanism, which
    is Gaussian-private with mu = Delta/sqrt(tau m).
    """
    return transferred(run.closeness, run.posterior.exact()).repeat(run.samples)


@analysis(
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
    return transferred(run.closeness, exact).repeat(run.samples)


@analysis(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Corollary"),
    assumes=(_bounded_gradient,),
)
def kinetic_composition(run: SampledPosterior) -> GaussianDP:
    """The noise of all steps together hides a record, whether or not the chain contracts.

    Claim.  mu = Delta sqrt(u N eta/(2 gam tau)), u the inverse mass.
    """
    assert isinstance(run, UnderdampedRun)
    mu = kinetic_privacy.composed_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


@analysis(
    of=SampledPosterior,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Theorem"),
    assumes=(_bounded_gradient, _contracting),
)
def kinetic_last_state(run: SampledPosterior) -> GaussianDP:
    """Friction forgets: only the last stretch of an underdamped chain tells of a record.

    Claim.  mu = (c_Psi |Psi| + u Delta sqrt(K eta))/sqrt(2 gam u tau), least over windows K.
    """
    assert isinstance(run, UnderdampedRun)
    mu = kinetic_privacy.last_state_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


TRANSFERS = (gibbs_transfer, range_transfer)
"""The ways through the target; for overdamped chains `wane.certify` knows the direct ones."""
KINETIC = (kinetic_composition, kinetic_last_state)


def certify_samples(run: OverdampedRun) -> Certificate:
    """Return what all samples together cost, as a descent and by way of the target."""
    return certify_chains(run, run.descent)


def certify_chains(run: OverdampedRun, descent: NoisyDescent) -> Certificate:
    """Return the certificate of a descent that is these chains side by side."""
    direct = certify(descent)
    known = run.posterior.losses
    return replace(
        direct,
        verdicts=(*direct.verdicts, *(route(run) for route in TRANSFERS)),
        narrowed=known.range_of_loss is not None or known.height_at_start is not None,
    )


@dataclass(frozen=True)
class KineticCertificate:
    """What can be claimed of underdamped samples, and on what grounds; the smallest bound rules."""

    run: UnderdampedRun
    verdicts: tuple[Verdict, ...]

    def best(self, delta: float = DEFAULT_DELTA) -> Applies:
        """Return the theorem with the smallest epsilon at `delta`."""
        return min(self._required, key=lambda v: epsilon_of(v.guarantee, delta))

    def epsilon(self, delta: float) -> float:
        """Return the smallest certified epsilon at `delta`, never rounded down."""
        return epsilon_of(self.best(delta).guarantee, delta)

    def delta(self, epsilon: float) -> float:
        """Return the smallest certified delta at `epsilon`, never rounded down."""
        check.real("epsilon", epsilon, least=0.0)
        return min(1.0, *(v.guarantee.delta(epsilon) for v in self._required))

    @property
    def _required(self) -> tuple[Applies, ...]:
        found = tuple(v for v in self.verdicts if isinstance(v, Applies))
        if not found:
            raise NoTheoremApplies("No theorem applies: declare objective.gradient_bound.")
        return found

    @property
    def guarantee(self) -> Guarantee:
        """The best guarantee at the default delta, ready to be composed."""
        return self.best().guarantee

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter, or None if the best guarantee is not a Gaussian one."""
        return gaussian_mu_of(self.guarantee)

    def explain(self, delta: float = DEFAULT_DELTA) -> str:
        """Return every theorem's answer as text."""
        lines = []
        for verdict in self.verdicts:
            title = f"{verdict.analysis.name} [{verdict.analysis.source}]"
            if isinstance(verdict, Applies):
                shown = round_up_to(epsilon_of(verdict.guarantee, delta))
                lines.append(f"  yes {title}: epsilon = {shown} at delta = {round_up_to(delta)}")
            else:
                because = "; ".join(f"{o.statement}: {o.because}" for o in verdict.obstacles)
                lines.append(f"  no  {title}: {because}")
        return "\n".join(lines)


def certify_underdamped(run: UnderdampedRun) -> KineticCertificate:
    """Return what underdamped samples cost, directly and through the target."""
    return KineticCertificate(run, tuple(route(run) for route in (*KINETIC, *TRANSFERS)))
