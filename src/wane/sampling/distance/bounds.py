"""The distance bounds themselves: hypotheses, formula and proof of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps

from wane.describe.chain import Diffusion, Overdamped, Underdamped
from wane.describe.distance import Direction, Dynamics, Question, Reference
from wane.sampling.distance import girsanov, hypotheses as given, optimised
from wane.sampling.distance.optimised import Found
from wane.sampling.distance.standard import kinetic_letters_of, letters_of
from wane.theorems.theorem import Citation, Hypothesis, Theorem, theorem


def _bound(
    of: type[Dynamics],
    reference: Reference,
    place: str,
    *assumes: Hypothesis[Question],
) -> Callable[[Callable[[Question], Found]], Theorem[Found]]:
    """Name a theorem on the divergences of one kind of dynamics from one reference."""

    def concerns(asked: Question) -> bool:
        return isinstance(asked.chain, of) and asked.reference is reference

    def named(formula: Callable[[Question], Found]) -> Theorem[Found]:
        @wraps(formula)
        def bound(asked: Question) -> Found:
            found = formula(asked)
            if math.isnan(found.value):
                raise FloatingPointError("the bound is not a number")
            return found

        source = Citation("wane", f"docs/proofs/{place}")
        named_so = theorem(of=Question, source=source, assumes=assumes, concerns=concerns)
        return named_so(bound)

    return named


_overdamped = partial(_bound, Overdamped)
_underdamped = partial(_bound, Underdamped)


@_overdamped(
    Reference.TARGET,
    "langevin-overdamped.md, Theorem S",
    given.strongly_convex,
    given.known_start,
)
def shifted_girsanov(asked: Question) -> Found:
    """Steering the chain into a stationary diffusion bounds its distance from the target.

    Claim.  (order-1) D <= {ln E exp(A0 |e_0|^2) + C}/q1 - (d/(2 q2)) ln(1 - 2 (q2/q1) W L).
    """
    assert isinstance(asked.chain, Overdamped)
    x = letters_of(asked.chain)
    if asked.order == 1.0 and asked.direction is Direction.REFERENCE_FIRST:
        return optimised.shifted_entropy(x)
    return optimised.shifted(x, asked.direction, asked.order)


@_overdamped(
    Reference.TARGET,
    "langevin-discretisation.md, Theorem T",
    given.strongly_convex,
    given.known_start,
)
def discretisation_and_mixing(asked: Question) -> Found:
    """The discretisation error and the diffusion's mixing, joined by Hoelder's inequality.

    Claim.  D_a(P||R) <= (a - 1/p)/(a - 1) D_pa(P||Q) + D_b(Q||R), b = q (a - 1/p).
    """
    assert isinstance(asked.chain, Overdamped)
    return optimised.triangle(letters_of(asked.chain), asked.direction, asked.order)


@_overdamped(
    Reference.DIFFUSION,
    "langevin-discretisation.md, Theorem G",
    given.convex,
    given.known_start,
)
def girsanov_convex(asked: Question) -> Found:
    """Girsanov's theorem without conditioning bounds the discretisation error.

    Claim.  (order-1) D <= -(N d/(2 q1)) ln cos th + ln E exp(r |N(r0, v)|^2)/q2.
    """
    assert isinstance(asked.chain, Overdamped)
    return optimised.convex(letters_of(asked.chain), asked.direction, asked.order)


@_overdamped(
    Reference.DIFFUSION,
    "langevin-discretisation.md, Theorem G",
    given.bounded_gradient,
)
def girsanov_lipschitz(asked: Question) -> Found:
    """A bounded gradient bounds the discretisation error, convex or not, from any start.

    Claim.  (order-1) D <= (-(N d/2) ln cos th + W B^2)/q1.
    """
    assert isinstance(asked.chain, Overdamped)
    return optimised.lipschitz(letters_of(asked.chain), asked.direction, asked.order)


@_bound(
    Diffusion,
    Reference.TARGET,
    "langevin-discretisation.md, Theorem H",
    given.strongly_convex,
    given.known_start,
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


@_underdamped(
    Reference.TARGET,
    "langevin-underdamped.md, Theorem U",
    given.strongly_convex,
    given.known_start,
    given.stationary_velocity,
    given.heavy_friction,
    given.short_kinetic_step,
)
def steered_kinetic(asked: Question) -> Found:
    """Friction brings the chain near stationary dynamics, and a last window steers it there.

    Claim.  (order-1) D <= -(d/(2 q1)) ln(1 - 2 q1 W mu) + ln E exp(A0 |e_0|^2)/q2.
    """
    assert isinstance(asked.chain, Underdamped)
    return optimised.kinetic(kinetic_letters_of(asked.chain), asked.direction, asked.order)


@_underdamped(
    Reference.DIFFUSION,
    "langevin-underdamped.md, Theorem V",
    given.known_start,
    given.stationary_velocity,
)
def girsanov_kinetic(asked: Question) -> Found:
    """The kinetic energy prices the underdamped discretisation error; smoothness is enough.

    Claim.  q (order-1) D <= b gam d tau - (d/2) ln(1 - b) + ln E exp(b L |x_0|^2/2).
    """
    assert isinstance(asked.chain, Underdamped)
    return optimised.kinetic_error(kinetic_letters_of(asked.chain), asked.direction, asked.order)


BOUNDS: tuple[Theorem[Found], ...] = (
    shifted_girsanov,
    discretisation_and_mixing,
    girsanov_convex,
    girsanov_lipschitz,
    harnack_mixing,
    steered_kinetic,
    girsanov_kinetic,
)
