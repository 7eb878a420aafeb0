"""Distances of an overdamped chain: from its target, and from the continuous diffusion."""

from __future__ import annotations

from wane.describe.chain import Diffusion, Direction, Overdamped, Question, Reference
from wane.numerics.search import Found
from wane.theorems import chain_hypotheses as given
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.letters import letters_of
from wane.theorems.theorem import Citation, theorem


@theorem(
    of=Question,
    concerns=given.about(Overdamped, Reference.TARGET),
    source=Citation("wane", "docs/proofs/langevin-overdamped.md, Theorem S"),
    assumes=(given.strongly_convex, given.known_start),
    unverified=given.NOT_DOCUMENTED,
)
def shifted_girsanov(asked: Question) -> Found:
    """Steering the chain into a stationary diffusion bounds its distance from the target.

    Claim.  (order-1) D <= {ln E exp(A0 |e_0|^2) + C}/q1 - (d/(2 q2)) ln(1 - 2 (q2/q1) W L).
    """
    assert isinstance(asked.chain, Overdamped)
    x = letters_of(asked.chain)
    if asked.order == 1.0 and asked.direction is Direction.REFERENCE_FIRST:
        return girsanov.shifted_entropy(x)
    return girsanov.shifted(x, asked.direction, asked.order)


@theorem(
    of=Question,
    concerns=given.about(Overdamped, Reference.TARGET),
    source=Citation("wane", "docs/proofs/langevin-discretisation.md, Theorem T"),
    assumes=(given.strongly_convex, given.known_start),
    unverified=given.NOT_DOCUMENTED,
)
def discretisation_and_mixing(asked: Question) -> Found:
    """The discretisation error and the diffusion's mixing, joined by Hoelder's inequality.

    Claim.  D_a(P||R) <= (a - 1/p)/(a - 1) D_pa(P||Q) + D_b(Q||R), b = q (a - 1/p).
    """
    assert isinstance(asked.chain, Overdamped)
    return girsanov.triangle(letters_of(asked.chain), asked.direction, asked.order)


@theorem(
    of=Question,
    concerns=given.about(Overdamped, Reference.DIFFUSION),
    source=Citation("wane", "docs/proofs/langevin-discretisation.md, Theorem G"),
    assumes=(given.convex, given.known_start),
    unverified=given.NOT_DOCUMENTED,
)
def girsanov_convex(asked: Question) -> Found:
    """Girsanov's theorem without conditioning bounds the discretisation error.

    Claim.  (order-1) D <= -(N d/(2 q1)) ln cos th + ln E exp(r |N(r0, v)|^2)/q2.
    """
    assert isinstance(asked.chain, Overdamped)
    return girsanov.convex(letters_of(asked.chain), asked.direction, asked.order)


@theorem(
    of=Question,
    concerns=given.about(Overdamped, Reference.DIFFUSION),
    source=Citation("wane", "docs/proofs/langevin-discretisation.md, Theorem G"),
    assumes=(given.bounded_gradient,),
    unverified=given.NOT_DOCUMENTED,
)
def girsanov_lipschitz(asked: Question) -> Found:
    """A bounded gradient bounds the discretisation error, convex or not, from any start.

    Claim.  (order-1) D <= (-(N d/2) ln cos th + W B^2)/q1.
    """
    assert isinstance(asked.chain, Overdamped)
    return girsanov.lipschitz(letters_of(asked.chain), asked.direction, asked.order)


@theorem(
    of=Question,
    concerns=given.about(Diffusion, Reference.TARGET),
    source=Citation("wane", "docs/proofs/langevin-discretisation.md, Theorem H"),
    assumes=(given.strongly_convex, given.known_start),
    unverified=given.NOT_DOCUMENTED,
)
def harnack_mixing(asked: Question) -> Found:
    """The continuous diffusion forgets its start at rate exp(-2 m t), in every order.

    Claim.  (order-1) D <= ln E exp(r |e_0|^2), r = order (order-1) m/(2 (exp(2 m t) - 1)).
    """
    chain = asked.chain
    assert isinstance(chain, Diffusion)
    distance = chain.start.distance
    assert distance is not None
    value = girsanov.mixing_divergence(
        asked.order,
        d=chain.target.dimension,
        m=chain.target.strong_convexity / chain.temperature,
        time=chain.time * chain.temperature * (1.0 - 1e-15),
        variance=chain.start.variance,
        offset=distance,
    )
    return Found(value, {})
