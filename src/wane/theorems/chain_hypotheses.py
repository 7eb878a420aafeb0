"""What theorems ask of a Langevin chain, and of samples by chains, each with its cure."""

from __future__ import annotations

import math
from collections.abc import Callable

from wane.describe import Adjacency
from wane.describe.chain import Dynamics, Question, Reference, Underdamped
from wane.describe.samples import SampledPosterior
from wane.errors import Unreachable
from wane.numerics.search import largest_satisfying
from wane.theorems.lemmas.kinetic import Contraction
from wane.theorems.lemmas.letters import KineticLetters, kinetic_letters_of
from wane.theorems.theorem import Answer, Basis, fails, holds, hypothesis, undeclared

NOT_DOCUMENTED = "a certificate document holds no distance"
"""Why no verifier computes the theorems on distances again."""


def about(dynamics: type[Dynamics], reference: Reference) -> Callable[[Question], bool]:
    """Return whether a question is about such dynamics and this reference, for `concerns`."""
    return lambda asked: isinstance(asked.chain, dynamics) and asked.reference is reference


@hypothesis("the potential is strongly convex", Basis.DECLARED)
def strongly_convex(asked: Question) -> Answer:
    """The target is strongly log-concave."""
    m = asked.chain.target.strong_convexity
    if m > 0.0:
        return holds(f"strong_convexity={m:g}")
    return fails(f"strong_convexity={m:g}", "a ridge term, which adds its weight")


@hypothesis("the potential is convex", Basis.DECLARED)
def convex(asked: Question) -> Answer:
    """The target is log-concave."""
    m = asked.chain.target.strong_convexity
    if m >= 0.0:
        return holds(f"strong_convexity={m:g}")
    return fails(f"strong_convexity={m:g} is negative", "a convex potential, or gradient_bound")


@hypothesis("the start's distance from the minimiser is bounded", Basis.DECLARED)
def known_start(asked: Question) -> Answer:
    """Without it the warm-up has no length."""
    distance = asked.chain.start.distance
    if distance is None:
        return undeclared(
            "start.distance", "start.distance = distance_bound(target, |gradient at the start|)"
        )
    return holds(f"start.distance={distance:g}")


@hypothesis("the gradient is bounded", Basis.DECLARED)
def bounded_gradient(asked: Question) -> Answer:
    """The potential is Lipschitz."""
    bound = asked.chain.target.gradient_bound
    if bound is None:
        return undeclared("gradient_bound", "target.gradient_bound = a proven bound")
    return holds(f"gradient_bound={bound:g}")


@hypothesis("velocities start from their stationary law", Basis.ENFORCED)
def stationary_velocity(asked: Question) -> Answer:
    """The samplers draw them so."""
    return holds("every underdamped chain starts so")


@hypothesis("friction^2 >= inverse_mass * (strong_convexity + smoothness)")
def heavy_friction(asked: Question) -> Answer:
    """Friction as heavy as this makes coupled copies approach each other."""
    chain = asked.chain
    assert isinstance(chain, Underdamped)
    square = chain.inverse_mass * (chain.target.strong_convexity + chain.target.smoothness)
    if chain.friction**2 >= square:
        return holds(f"friction^2={chain.friction**2:g} >= {square:g}")
    least = math.sqrt(square) * (1.0 + 4e-16)
    return fails(f"friction^2={chain.friction**2:g} < {square:g}", f"friction >= {least!r}")


@hypothesis("each step brings the chain nearer to the stationary dynamics")
def short_kinetic_step(asked: Question) -> Answer:
    """The integrator undoes less than the friction does."""
    chain = asked.chain
    assert isinstance(chain, Underdamped)
    x = kinetic_letters_of(chain)
    gap = Contraction.of(x).gap
    if gap > 0.0:
        return holds(f"by a factor of 1 - {gap:g}")
    if not x.m > 0.0:
        return fails("without strong convexity it does not")
    if not x.rate > 0.0:
        least = math.sqrt(chain.inverse_mass * (x.m + x.L)) * (1.0 + 4e-16)
        return fails(
            f"friction={chain.friction:g} is too light for any step to do so",
            f"friction >= {least!r}",
        )
    most = largest_contracting_step(x)
    return fails(f"step_size={x.eta:g} is too long for that", f"step_size <= {most:g}")


def largest_contracting_step(x: KineticLetters) -> float:
    """Return the largest step size at which the underdamped certificate's gap is positive."""

    def contracts(eta: float) -> bool:
        return Contraction.of(_with_step(x, eta)).gap > 0.0

    if not x.rate > 0.0:
        raise Unreachable(
            "No step brings the chain nearer to the stationary dynamics: the friction must satisfy "
            "friction^2 >= inverse_mass * (strong_convexity + smoothness)."
        )
    top = 2.0 * x.rate / (x.mu * x.L)  # there k0 is above rate * eta
    return largest_satisfying(contracts, 1e-6 * top, top, relative=1e-9)


def _with_step(x: KineticLetters, eta: float) -> KineticLetters:
    return KineticLetters(x.d, x.m, x.L, x.gam, x.mu, eta, x.N, x.s0, x.r0)


@hypothesis("neighbouring data sets have the same number of records")
def same_number(run: SampledPosterior) -> Answer:
    """A record more or less would bend the potential otherwise."""
    adjacency = run.posterior.adjacency
    if adjacency is Adjacency.ADD_REMOVE:
        return fails("adding a record bends the potential more", 'adjacency = "zero-out"')
    return holds(f"adjacency is {adjacency.value}")


@hypothesis("what one record adds to the gradient has a known bound", Basis.DECLARED)
def bounded_share(run: SampledPosterior) -> Answer:
    """One record moves the potential's gradient by no more than this."""
    moved = run.posterior.losses.objective.sensitivity(run.posterior.adjacency)
    if math.isinf(moved):
        return undeclared("gradient_bound", "objective.gradient_bound = a proven bound")
    return holds(f"neighbouring sums of gradients are at most {moved:g} apart")
