"""Ask every theorem, keep every answer: of a release, or of the distance of a chain."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wane import arguments
from wane.certificates.certificate import Certificate
from wane.certificates.parts import CertifiedRelease
from wane.describe import EveryIterate, Fact, NoisyDescent, StatedRelease
from wane.describe.chain import Direction, Dynamics, Overdamped, Question, Reference, Underdamped
from wane.describe.description import Description
from wane.describe.samples import OverdampedRun
from wane.errors import InvalidDescription, NoTheoremApplies, Unreachable
from wane.guarantees import Guarantee, RenyiDP
from wane.numerics.rounding import inflate, round_up
from wane.numerics.search import Found
from wane.report.text import round_up_to
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Answers, Applies, Basis, Facts, Finding, Theorem, ask


def certify(
    run: NoisyDescent | StatedRelease | Description,
    theorems: Iterable[Theorem[Guarantee]] | None = None,
    *,
    facts: Iterable[Fact] = (),
) -> Certificate:
    """Return the certificate of a description: every theorem's verdict, and the best bound.

    `theorems` are those to ask; all of the registry if None.  Overdamped samples are asked about as
    the one descent that their chains are together, too.

    `facts` are true of this very run and of no other, as a log-Sobolev constant is; one that was
    stated for another run is unknown to every theorem here.

    Example:
        >>> import wane
        >>> run = wane.NoisyDescent(
        ...     objective=wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        ...     records=1000, steps=400, step_size=1.0, noise=wane.NoiseMultiplier(4.0),
        ...     batches=wane.Cyclic(50),
        ... )
        >>> round(wane.certify(run).mu, 4)
        0.6982
    """
    arguments.kind("run", run, (NoisyDescent, StatedRelease, Description))
    asked, stated = THEOREMS if theorems is None else tuple(theorems), Facts(tuple(facts))
    if isinstance(run, OverdampedRun):
        verdicts = (*ask(run.descent, asked), *ask(run, asked))
        return Certificate((CertifiedRelease(run.descent, verdicts, sampled=run),))
    if isinstance(run, Description):
        _ = run.declared_adjacency  # refused here if nobody said
    verdicts = ask(run, asked, stated)
    if isinstance(run, StatedRelease):
        return Certificate((CertifiedRelease(run, verdicts, run.rows_per_person),))
    known = stated.about(run) if isinstance(run, NoisyDescent) else ()
    return Certificate((CertifiedRelease(run, verdicts, facts=known),))


FactsOf = Callable[[Any], Iterable[Fact]]
"""What is true of a run, asked of each run anew, for searches that try several."""


def no_facts(run: NoisyDescent | Description) -> tuple[Fact, ...]:
    """Return nothing: the description says all that is known of a run."""
    return ()


def certify_with(
    run: NoisyDescent | Description,
    facts: FactsOf,
    theorems: Iterable[Theorem[Guarantee]] | None = None,
) -> Certificate:
    """Return the certificate of a run, with what the function says of this very run."""
    if not callable(facts):
        raise InvalidDescription(
            f"facts must be a function of a run, got {facts!r:.60}; a fact belongs to one run, and "
            "a search tries many."
        )
    try:
        known = tuple(facts(run))
    except Unreachable:
        known = ()
    return certify(run, theorems, facts=known)


def recalled(
    run: NoisyDescent | Description,
    claims: Iterable[tuple[str, Guarantee]],
    *,
    because: str,
    rows_per_person: int = 1,
) -> Certificate:
    """Return a certificate that was kept: each theorem's guarantees as they were, not asked again.

    `because` says who certified it.
    """
    known = {theorem.name: theorem for theorem in THEOREMS}
    found = tuple(claims)
    beyond = [name for name, _ in found if name not in known]
    if beyond:
        raise InvalidDescription(f"theorem must be one that wane knows, got {beyond[0]!r:.60}.")
    kept = Finding(
        "the hypotheses held when the run was certified", Basis.DERIVED, True, because, ""
    )
    verdicts = tuple(Applies(known[name], (kept,), guarantee) for name, guarantee in found)
    if isinstance(run, OverdampedRun):
        part = CertifiedRelease(run.descent, verdicts, rows_per_person, sampled=run)
    else:
        part = CertifiedRelease(run, verdicts, rows_per_person)
    return Certificate((part,))


def composition_of(run: NoisyDescent) -> Certificate:
    """Return the certificate of the same run with every iterate released."""
    return certify(replace(run, release=EveryIterate()))


ORDERS = (1.1, 1.3, 1.7, 2.5, 4.0, 6.0, 9.0, 14.0, 22.0, 35.0, 60.0, 100.0, 200.0, 500.0)
"""Where closeness is looked up; between them it is interpolated on the safe side."""


class DistanceCertificate(Answers[Found]):
    """What can be claimed about one divergence, and on what grounds; the smallest bound rules."""

    none_asked = "No theorem compares these two laws; ask for another reference."
    none_applies = "No theorem bounds this distance"

    @property
    def question(self) -> Question:
        """What was asked."""
        asked: Question = self.description
        return asked

    @property
    def best(self) -> Applies[Found]:
        """The theorem with the smallest bound."""
        return self.least(lambda found: found.value)

    @property
    def value(self) -> float:
        """The divergence is at most this; infinite where no bound says anything."""
        return self.best.conclusion.value

    @property
    def total_variation(self) -> float:
        """The laws differ by at most this on any event (Pinsker, Bretagnolle and Huber)."""
        return min(
            1.0,
            round_up(math.sqrt(0.5 * self.value), 2),
            round_up(math.sqrt(-math.expm1(-self.value)), 2),
        )

    @property
    def transport(self) -> float | None:
        """A bound on the quadratic transport distance from the target; None in the other direction.

        Talagrand's inequality W^2 <= (2/m) KL for an m-strongly log-concave target; of the
        positions, where the chain has velocities too.
        """
        asked = self.question
        if asked.direction is not Direction.CHAIN_FIRST or asked.reference is not Reference.TARGET:
            return None
        m = asked.chain.target.strong_convexity / asked.chain.temperature
        if not m > 0.0:
            return None
        return round_up(math.sqrt(2.0 / m * self.value), 4)

    def explain(self) -> str:
        """Return every theorem's answer as text."""
        asked = self.question
        kind = "Kullback-Leibler" if asked.order == 1.0 else f"Renyi order {asked.order:g}"
        title = f"{asked.direction.value}, reference {asked.reference.value}, {kind}"
        return "\n".join([title, *self.explained(_shown)])


def certify_distance(
    chain: Dynamics,
    *,
    order: float,
    direction: Direction,
    reference: Reference = Reference.TARGET,
) -> DistanceCertificate:
    """Bound one divergence between the chain's last state and the reference; order 1 is KL."""
    asked = Question(chain, order, direction, reference)
    return DistanceCertificate(asked, ask(asked, THEOREMS))


@dataclass(frozen=True)
class TabulatedCurve:
    """Divergences at some orders, joined by chords.

    (order - 1) D is a logarithm of moments, hence convex in the order and zero at one: the chord
    between two bounds lies above it.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, order: float) -> float:
        """Return the chord at this order; infinite beyond the last."""
        place = bisect.bisect_left(self.orders, order)
        if place == len(self.orders):
            return math.inf
        high, top = self.orders[place], (self.orders[place] - 1.0) * self.values[place]
        low, bottom = 1.0, 0.0
        if place > 0:
            low = self.orders[place - 1]
            bottom = (low - 1.0) * self.values[place - 1]
        share = (order - low) / (high - low)
        return inflate((bottom + share * (top - bottom)) / (order - 1.0), 4e-15)


def certify_closeness(chain: Overdamped | Underdamped, orders: Sequence[float] = ORDERS) -> RenyiDP:
    """Return how close the chain's last state and the target are, in both directions.

    The guarantee's `epsilon(delta)` says: no event is more than exp(epsilon) times as likely,
    plus delta, under the one law as under the other.
    """
    found: list[tuple[float, float]] = []
    for order in sorted(orders):
        value = max(
            certify_distance(chain, order=order, direction=direction).value
            for direction in Direction
        )
        if math.isfinite(value):
            found.append((order, value))
    if not found:
        raise NoTheoremApplies(
            f"The distance from the target is not bounded at any order from {min(orders):g} on; "
            "lower step_size or take more steps."
        )
    kept = tuple(zip(*found, strict=True))
    return RenyiDP(TabulatedCurve(*kept), max_order=kept[0][-1], label="distance from the target")


def _shown(found: Found) -> str:
    if math.isinf(found.value):
        return "infinite; lower step_size or the order"
    return round_up_to(found.value)
