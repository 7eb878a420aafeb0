"""Underdamped chains: what their samples cost, and their distances from target and diffusion."""

from __future__ import annotations

import math

from wane.describe.chain import Question, Reference, Underdamped
from wane.describe.samples import UnderdampedRun
from wane.guarantees import GaussianDP
from wane.numerics.search import Found
from wane.theorems import chain_hypotheses as given
from wane.theorems.kinetic import optimised, privacy
from wane.theorems.lemmas.letters import kinetic_letters_of
from wane.theorems.theorem import Answer, Citation, fails, holds, hypothesis, theorem


@hypothesis("friction brings two chains together at every step")
def _contracting(run: UnderdampedRun) -> Answer:
    if math.isfinite(privacy.last_state_mu(run.chain, 0.0)):
        return holds(f"friction={run.friction:g}, step_size={run.step_size:g}")
    target = run.chain.target
    least = math.sqrt(run.inverse_mass * (target.strong_convexity + target.smoothness))
    return fails(
        f"friction={run.friction:g} and step_size={run.step_size:g} do not",
        f"friction >= {least * (1.0 + 1e-15)!r}, and a smaller step_size",
    )


@theorem(
    of=UnderdampedRun,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Corollary"),
    assumes=(given.bounded_share,),
)
def kinetic_composition(run: UnderdampedRun) -> GaussianDP:
    """The noise of all steps together hides a record, whether or not the chain contracts.

    Claim.  mu = Delta sqrt(u N eta/(2 gam tau)), u the inverse mass.
    """
    mu = privacy.composed_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


@theorem(
    of=UnderdampedRun,
    source=Citation("wane", "docs/proofs/kinetic-privacy.md, Theorem"),
    assumes=(given.bounded_share, _contracting),
)
def kinetic_last_state(run: UnderdampedRun) -> GaussianDP:
    """Friction forgets: only the last stretch of an underdamped chain tells of a record.

    Claim.  mu = (c_Psi |Psi| + u Delta sqrt(K eta))/sqrt(2 gam u tau), least over windows K.
    """
    mu = privacy.last_state_mu(run.chain, run.posterior.gradient_sensitivity)
    return GaussianDP(mu).repeat(run.samples)


@theorem(
    of=Question,
    concerns=given.about(Underdamped, Reference.TARGET),
    source=Citation("wane", "docs/proofs/langevin-underdamped.md, Theorem U"),
    assumes=(
        given.strongly_convex,
        given.known_start,
        given.stationary_velocity,
        given.heavy_friction,
        given.short_kinetic_step,
    ),
    unverified=given.NOT_DOCUMENTED,
)
def steered_kinetic(asked: Question) -> Found:
    """Friction brings the chain near stationary dynamics, and a last window steers it there.

    Claim.  (order-1) D <= -(d/(2 q1)) ln(1 - 2 q1 W mu) + ln E exp(A0 |e_0|^2)/q2.
    """
    assert isinstance(asked.chain, Underdamped)
    return optimised.kinetic(kinetic_letters_of(asked.chain), asked.direction, asked.order)


@theorem(
    of=Question,
    concerns=given.about(Underdamped, Reference.DIFFUSION),
    source=Citation("wane", "docs/proofs/langevin-underdamped.md, Theorem V"),
    assumes=(given.known_start, given.stationary_velocity),
    unverified=given.NOT_DOCUMENTED,
)
def girsanov_kinetic(asked: Question) -> Found:
    """The kinetic energy prices the underdamped discretisation error; smoothness is enough.

    Claim.  q (order-1) D <= b gam d tau - (d/2) ln(1 - b) + ln E exp(b L |x_0|^2/2).
    """
    assert isinstance(asked.chain, Underdamped)
    return optimised.kinetic_error(kinetic_letters_of(asked.chain), asked.direction, asked.order)
