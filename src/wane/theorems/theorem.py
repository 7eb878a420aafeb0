"""What a theorem is: hypotheses, a conclusion, a citation."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from wane.describe.facts import NO_FACTS, FactKind, Facts
from wane.errors import InvalidDescription
from wane.guarantees import Guarantee

M = TypeVar("M")

MODEST = "numbers nearer to one"
"""What to try where floating-point numbers end."""


class Basis(enum.Enum):
    """Who vouches for a hypothesis."""

    DECLARED = "declared"
    DERIVED = "derived"
    ENFORCED = "enforced"

    @property
    def meaning(self) -> str:
        """The basis in words."""
        return {
            Basis.DECLARED: "declared by the user",
            Basis.DERIVED: "computed from the description",
            Basis.ENFORCED: "enforced while running",
        }[self]


@dataclass(frozen=True)
class Answer:
    """What a description says to a hypothesis; `holds` is None where it says nothing."""

    holds: bool | None
    because: str
    remedy: str = ""


def holds(because: str) -> Answer:
    """The description meets the hypothesis."""
    return Answer(True, because)


def fails(because: str, remedy: str = "") -> Answer:
    """The description contradicts the hypothesis; `remedy` says what would mend it."""
    return Answer(False, because, remedy)


def undeclared(what: str, remedy: str) -> Answer:
    """The description says nothing about it, and nothing is assumed."""
    return Answer(None, f"{what} is not declared", remedy)


IN_RANGE = ("the computation stays within the range of floating-point numbers", Basis.DERIVED)


@dataclass(frozen=True)
class Finding:
    """One hypothesis, looked up in one description."""

    statement: str
    basis: Basis
    holds: bool | None
    because: str
    remedy: str

    @property
    def complaint(self) -> str:
        """What stands in the way, as one line with the cure."""
        answer = "not declared" if self.holds is None else "fails"
        return f"{self.statement}: {answer} ({self.because}){self._cure}"

    @property
    def need(self) -> str:
        """What is asked for, and why it is not there, to end a sentence with."""
        return f"{self.statement} ({self.because}){self._cure}"

    @property
    def _cure(self) -> str:
        return f"; try {self.remedy}" if self.remedy else ""


@dataclass(frozen=True)
class Condition(Generic[M]):
    """A named hypothesis."""

    statement: str
    basis: Basis
    check: Callable[[M], Answer]

    def __call__(self, mechanism: M, facts: Facts = NO_FACTS) -> Finding:
        """Look the hypothesis up in a description, and in the facts stated beside it."""
        return self._found(self.check(mechanism))

    def _found(self, answer: Answer) -> Finding:
        return Finding(self.statement, self.basis, answer.holds, answer.because, answer.remedy)


@dataclass(frozen=True)
class FactCondition(Condition[M]):
    """A hypothesis on a fact, which must have been stated for the very description at hand.

    Attributes:
        check: the answer where no such fact was stated.
        kind: the fact that is asked for.
        about: the fingerprint of a description.
        judge: the answer, given the fact's number.
    """

    kind: FactKind
    about: Callable[[M], str]
    judge: Callable[[M, float], Answer]

    def __call__(self, mechanism: M, facts: Facts = NO_FACTS) -> Finding:
        """Judge the fact that was stated for this description; one of another is none."""
        value = self.value(mechanism, facts)
        if value is not None:
            return self._found(self.judge(mechanism, value))
        if any(fact.kind is self.kind for fact in facts.stated):
            return self._found(
                fails(
                    f"{self.kind.value} was stated for another run",
                    "a proof for this very run, stated by Fact.of(run, ...)",
                )
            )
        return self._found(self.check(mechanism))

    def value(self, mechanism: M, facts: Facts) -> float | None:
        """Return the number that was stated for this description; None for any other."""
        if not facts.stated:  # then no description needs to be written down
            return None
        return facts.get(self.kind, about=self.about(mechanism))


@dataclass(frozen=True)
class Citation:
    """A key of `references.bib` and a place in that work."""

    key: str
    place: str

    def __str__(self) -> str:
        return f"{self.key}, {self.place}"


@dataclass(frozen=True)
class Applies:
    """Every hypothesis holds, so the theorem gives this guarantee."""

    analysis: Analysis[Any]
    findings: tuple[Finding, ...]
    guarantee: Guarantee


@dataclass(frozen=True)
class DoesNotApply:
    """Some hypothesis fails or was not declared."""

    analysis: Analysis[Any]
    findings: tuple[Finding, ...]

    @property
    def obstacles(self) -> tuple[Finding, ...]:
        """The hypotheses that do not hold, in the theorem's order."""
        return tuple(f for f in self.findings if f.holds is not True)


Verdict = Applies | DoesNotApply


@dataclass(frozen=True)
class Analysis(Generic[M]):
    """A theorem, ready to be asked about any description of kind `M`.

    Its formula takes the description and, for every `FactCondition` among the hypotheses, in their
    order, the number of that fact.
    """

    name: str
    of: type[M]
    source: Citation
    assumes: tuple[Condition[M], ...]
    formula: Callable[..., Guarantee]
    tight_when: tuple[Condition[M], ...] | None = None

    def __call__(self, mechanism: M, facts: Facts = NO_FACTS) -> Verdict:
        """Check every hypothesis; only if all hold, evaluate the formula."""
        findings: tuple[Finding, ...] = ()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                findings = tuple(condition(mechanism, facts) for condition in self.assumes)
                if all(f.holds is True for f in findings):
                    asked = [c for c in self.assumes if isinstance(c, FactCondition)]
                    values = (c.value(mechanism, facts) for c in asked)
                    return Applies(self, findings, self.formula(mechanism, *values))
        except (ArithmeticError, InvalidDescription) as error:
            # the description is valid, so what a formula refuses has left the range of doubles
            findings = (*findings, Finding(*IN_RANGE, False, str(error), MODEST))
        return DoesNotApply(self, findings)

    @property
    def summary(self) -> str:
        """The conclusion in words: the first line of the formula's docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]


def condition(
    statement: str, basis: Basis = Basis.DERIVED
) -> Callable[[Callable[[M], Answer]], Condition[M]]:
    """Name a hypothesis."""
    return lambda check: Condition(statement, basis, check)


def fact_condition(
    statement: str, kind: FactKind, *, about: Callable[[M], str], cure: str
) -> Callable[[Callable[[M, float], Answer]], FactCondition[M]]:
    """Name a hypothesis on a fact of one run; the function judges its number."""

    def unstated(_: M) -> Answer:
        return undeclared(kind.value, cure)

    return lambda judge: FactCondition(statement, Basis.DECLARED, unstated, kind, about, judge)


def analysis(
    *,
    of: type[M],
    source: Citation,
    assumes: tuple[Condition[M], ...],
    tight_when: tuple[Condition[M], ...] | None = None,
) -> Callable[[Callable[..., Guarantee]], Analysis[M]]:
    """Turn a formula into an `Analysis`; registers nothing, see `analyses.ANALYSES`."""
    return lambda f: Analysis(f.__name__, of, source, assumes, f, tight_when)
