"""A distance bound as data, and the one loop that asks all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wane.errors import NoTheoremApplies
from wane.numerics.rounding import round_up
from wane.report.format import round_up_to
from wane.sampling.distance.optimised import Found
from wane.sampling.distance.question import Direction, Dynamics, Question, Reference
from wane.theorems.theorem import IN_RANGE, MODEST, Citation, Condition, Finding


@dataclass(frozen=True)
class DistanceBound:
    """A theorem that bounds the divergences of one kind of dynamics from one reference."""

    name: str
    of: type[Dynamics]
    reference: Reference
    source: Citation
    assumes: tuple[Condition[Question], ...]
    formula: Callable[[Question], Found]

    def answers(self, asked: Question) -> bool:
        """Whether the question is of this theorem's kind."""
        return isinstance(asked.chain, self.of) and asked.reference is self.reference

    def __call__(self, asked: Question) -> Bounded | Refused:
        """Check every hypothesis; only if all hold, evaluate the formula."""
        findings: tuple[Finding, ...] = ()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                findings = tuple(condition(asked) for condition in self.assumes)
                if all(f.holds is True for f in findings):
                    found = self.formula(asked)
                    if not math.isnan(found.value):
                        return Bounded(self, findings, found)
        except ArithmeticError as error:
            findings = (*findings, Finding(*IN_RANGE, False, str(error), MODEST))
        return Refused(self, findings)

    @property
    def summary(self) -> str:
        """The conclusion in words: the first line of the formula's docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Bounded:
    """Every hypothesis holds, so the theorem bounds the divergence; perhaps by infinity."""

    bound: DistanceBound
    findings: tuple[Finding, ...]
    found: Found


@dataclass(frozen=True)
class Refused:
    """Some hypothesis fails or was not declared."""

    bound: DistanceBound
    findings: tuple[Finding, ...]

    @property
    def obstacles(self) -> tuple[Finding, ...]:
        """The hypotheses that do not hold, in the theorem's order."""
        return tuple(f for f in self.findings if f.holds is not True)


@dataclass(frozen=True)
class DistanceCertificate:
    """What can be claimed about one divergence, and on what grounds; the smallest bound rules."""

    question: Question
    verdicts: tuple[Bounded | Refused, ...]

    @property
    def best(self) -> Bounded:
        """The theorem with the smallest bound."""
        bounded = [v for v in self.verdicts if isinstance(v, Bounded)]
        if not bounded:
            raise NoTheoremApplies(_nothing_applies(self.verdicts))
        return min(bounded, key=lambda v: v.found.value)

    @property
    def value(self) -> float:
        """The divergence is at most this; infinite where no bound says anything."""
        return self.best.found.value

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
        """Every theorem's answer as text."""
        asked = self.question
        kind = "Kullback-Leibler" if asked.order == 1.0 else f"Renyi order {asked.order:g}"
        lines = [f"{asked.direction.value}, reference {asked.reference.value}, {kind}"]
        for verdict in self.verdicts:
            lines += _explained(verdict)
        return "\n".join(lines)


def ask(asked: Question, bounds: tuple[DistanceBound, ...]) -> DistanceCertificate:
    """Put the question to every bound of its kind."""
    return DistanceCertificate(asked, tuple(b(asked) for b in bounds if b.answers(asked)))


def _explained(verdict: Bounded | Refused) -> list[str]:
    title = f"{verdict.bound.name} [{verdict.bound.source}]"
    if isinstance(verdict, Bounded):
        value = verdict.found.value
        if math.isinf(value):
            return [f"  yes {title}: infinite; lower step_size or the order"]
        return [f"  yes {title}: {round_up_to(value)}"]
    lines = [f"  no  {title}"]
    return lines + [f"        {obstacle.complaint}" for obstacle in verdict.obstacles]


def _nothing_applies(verdicts: tuple[Bounded | Refused, ...]) -> str:
    refusals = [v for v in verdicts if isinstance(v, Refused)]
    if not refusals:
        return "No theorem compares these two laws; ask for another reference."
    nearest = min(refusals, key=lambda v: len(v.obstacles))
    return (
        f"No theorem bounds this distance; the nearest is {nearest.bound.name}, which needs: "
        f"{nearest.obstacles[0].need}."
    )
