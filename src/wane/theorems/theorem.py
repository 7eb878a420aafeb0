"""What a theorem is: hypotheses, a conclusion, a citation."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Concatenate, Generic, TypeVar

import numpy as np

from wane import arguments
from wane.describe.descent import NoisyDescent
from wane.describe.facts import Fact, FactKind, fingerprint
from wane.errors import InvalidDescription, NoTheoremApplies

D = TypeVar("D")
D_contra = TypeVar("D_contra", contravariant=True)
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)

NEARER_TO_ONE = "numbers nearer to one"
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
class Facts:
    """What was stated beside a description; every question names the run that is asked about."""

    stated: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        for fact in self.stated:
            arguments.kind("facts", fact, (Fact,))
        named = [(fact.kind, fact.about) for fact in self.stated]
        if len(set(named)) < len(named):
            raise InvalidDescription(
                "facts must hold one number of each kind for a run, got two; keep the proven one."
            )

    def get(self, kind: FactKind, *, about: str) -> float | None:
        """Return the number that was stated for this run; None for any other run."""
        found = (f.value for f in self.stated if f.kind is kind and f.about == about)
        return next(found, None)

    def about(self, run: NoisyDescent) -> tuple[Fact, ...]:
        """Return the facts of this very run."""
        if not self.stated:  # then no description needs to be written down
            return ()
        mine = fingerprint(run)
        return tuple(fact for fact in self.stated if fact.about == mine)


NO_FACTS = Facts()


@dataclass(frozen=True)
class Answer:
    """What a description says to a hypothesis; `holds` is None where it says nothing."""

    holds: bool | None
    because: str
    remedy: str = ""


def holds(because: str) -> Answer:
    """Return the answer of a hypothesis that the description meets."""
    return Answer(True, because)


def fails(because: str, remedy: str = "") -> Answer:
    """Return the answer of a hypothesis that the description contradicts, with its remedy."""
    return Answer(False, because, remedy)


def undeclared(what: str, remedy: str) -> Answer:
    """Return the answer of a hypothesis about which the description says nothing."""
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
class Hypothesis(Generic[D_contra]):
    """A named hypothesis."""

    statement: str
    basis: Basis
    check: Callable[[D_contra], Answer]

    def __call__(self, description: D_contra, facts: Facts = NO_FACTS) -> Finding:
        """Look the hypothesis up in a description, and in the facts stated beside it."""
        return self._found(self.check(description))

    def _found(self, answer: Answer) -> Finding:
        return Finding(self.statement, self.basis, answer.holds, answer.because, answer.remedy)


@dataclass(frozen=True)
class FactHypothesis(Hypothesis[D_contra]):
    """A hypothesis on a fact, which must have been stated for the very description at hand.

    Attributes:
        check: the answer where no such fact was stated.
        kind: the fact that is asked for.
        about: the fingerprint of a description.
        judge: the answer, given the fact's number.
    """

    kind: FactKind
    about: Callable[[D_contra], str]
    judge: Callable[[D_contra, float], Answer]

    def __call__(self, description: D_contra, facts: Facts = NO_FACTS) -> Finding:
        """Judge the fact that was stated for this description; one of another is none."""
        value = self.value(description, facts)
        if value is not None:
            return self._found(self.judge(description, value))
        if any(fact.kind is self.kind for fact in facts.stated):
            return self._found(
                fails(
                    f"{self.kind.value} was stated for another run",
                    "a proof for this very run, stated by Fact.of(run, ...)",
                )
            )
        return self._found(self.check(description))

    def value(self, description: D_contra, facts: Facts) -> float | None:
        """Return the number that was stated for this description; None for any other."""
        if not facts.stated:  # then no description needs to be written down
            return None
        return facts.get(self.kind, about=self.about(description))


@dataclass(frozen=True)
class Citation:
    """A key of `references.bib` and a place in that work."""

    key: str
    place: str

    def __str__(self) -> str:
        return f"{self.key}, {self.place}"


@dataclass(frozen=True)
class Applies(Generic[C_co]):
    """Every hypothesis holds, so the theorem concludes this."""

    theorem: Theorem[C_co]
    findings: tuple[Finding, ...]
    conclusion: C_co

    @property
    def analysis(self) -> Theorem[C_co]:
        """The theorem, under its name of version 0.1."""
        return self.theorem

    @property
    def guarantee(self) -> C_co:
        """The conclusion, where it is a guarantee."""
        return self.conclusion


@dataclass(frozen=True)
class Refuses:
    """Some hypothesis fails or was not declared."""

    theorem: Theorem[Any]
    findings: tuple[Finding, ...]

    @property
    def analysis(self) -> Theorem[Any]:
        """The theorem, under its name of version 0.1."""
        return self.theorem

    @property
    def obstacles(self) -> tuple[Finding, ...]:
        """The hypotheses that do not hold, in the theorem's order."""
        return tuple(f for f in self.findings if f.holds is not True)


Verdict = Applies[C_co] | Refuses


def _all(description: Any) -> bool:
    return True


@dataclass(frozen=True)
class Theorem(Generic[C_co]):
    """Hypotheses, a formula for what follows from them, and a citation.

    Attributes:
        of: the kind of description that it speaks of.
        formula: takes the description and, for every `FactHypothesis` among the hypotheses, in
            their order, the number of that fact.
        tight_when: hypotheses under which the bound is attained; None if nothing is known of that.
        concerns: of which descriptions of the kind it speaks, where it is not all of them.
        unverified: why no verifier computes it again; empty if one does.
    """

    name: str
    of: type[Any]
    source: Citation
    assumes: tuple[Hypothesis[Any], ...]
    formula: Callable[..., C_co]
    tight_when: tuple[Hypothesis[Any], ...] | None = None
    concerns: Callable[[Any], bool] = _all
    unverified: str = ""

    def __call__(self, description: Any, facts: Facts = NO_FACTS) -> Verdict[C_co]:
        """Check every hypothesis; only if all hold, evaluate the formula."""
        findings: tuple[Finding, ...] = ()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                findings = tuple(hypothesis(description, facts) for hypothesis in self.assumes)
                if all(f.holds is True for f in findings):
                    asked = [h for h in self.assumes if isinstance(h, FactHypothesis)]
                    values = (h.value(description, facts) for h in asked)
                    return Applies(self, findings, self.formula(description, *values))
        except (ArithmeticError, InvalidDescription) as error:
            # the description is valid, so what a formula refuses has left the range of doubles
            findings = (*findings, Finding(*IN_RANGE, False, str(error), NEARER_TO_ONE))
        return Refuses(self, findings)

    @property
    def title(self) -> str:
        """The name, and where it was proved."""
        return f"{self.name} [{self.source}]"

    @property
    def summary(self) -> str:
        """The conclusion in words: the first line of the formula's docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Answers(Generic[C_co]):
    """One description, and every theorem's answer to it."""

    description: Any
    verdicts: tuple[Verdict[C_co], ...]
    none_asked: ClassVar[str] = "No theorem was asked; pass some theorems."
    none_applies: ClassVar[str] = "No theorem applies to this description"

    @property
    def applicable(self) -> tuple[Applies[C_co], ...]:
        """The theorems whose hypotheses all hold."""
        return tuple(v for v in self.verdicts if isinstance(v, Applies))

    @property
    def obstacles(self) -> tuple[Refuses, ...]:
        """The theorems that do not apply, with what stands in their way."""
        return tuple(v for v in self.verdicts if isinstance(v, Refuses))

    @property
    def required(self) -> tuple[Applies[C_co], ...]:
        """The theorems that apply; if there are none, refuse and name the nearest."""
        found = self.applicable
        if not found:
            raise NoTheoremApplies(self._nothing())
        return found

    def least(self, measure: Callable[[C_co], float]) -> Applies[C_co]:
        """Return the applicable theorem with the smallest measure; the first of equals."""
        return min(self.required, key=lambda v: measure(v.conclusion))

    def explained(
        self,
        shown: Callable[[C_co], str],
        measure: Callable[[C_co], float] | None = None,
        advice: Iterable[str] = (),
    ) -> list[str]:
        """Return every theorem's answer as lines of text; `shown` words a conclusion.

        What applies comes first, by its `measure` if there is one, and then `advice`; of every
        other theorem one line says what stands in its way first.
        """
        found = list(self.applicable)
        if measure is not None:
            found.sort(key=lambda verdict: measure(verdict.conclusion))
        lines = []
        for verdict in found:
            lines.append(f"  yes {verdict.theorem.title}: {shown(verdict.conclusion)}")
            lines.append(f"        {verdict.theorem.summary}")
        lines += advice
        for refusal in self.obstacles:
            first, *others = refusal.obstacles
            more = f" (and {len(others)} more)" if others else ""
            lines.append(f"  no  {refusal.theorem.title}: {first.complaint}{more}")
        return lines

    def _nothing(self) -> str:
        if not self.obstacles:
            return self.none_asked
        nearest = min(self.obstacles, key=lambda v: len(v.obstacles))
        return (
            f"{self.none_applies}; the nearest is {nearest.theorem.name}, "
            f"which needs: {nearest.obstacles[0].need}."
        )


def ask(
    description: Any, theorems: Iterable[Theorem[C]], facts: Facts = NO_FACTS
) -> tuple[Verdict[C], ...]:
    """Return the answer of every theorem that speaks of a description of this kind."""
    return tuple(
        theorem(description, facts)
        for theorem in theorems
        if isinstance(description, theorem.of) and theorem.concerns(description)
    )


def hypothesis(
    statement: str, basis: Basis = Basis.DERIVED
) -> Callable[[Callable[[D], Answer]], Hypothesis[D]]:
    """Name a hypothesis."""
    return lambda check: Hypothesis(statement, basis, check)


def fact_hypothesis(
    statement: str, kind: FactKind, *, about: Callable[[D], str], cure: str
) -> Callable[[Callable[[D, float], Answer]], FactHypothesis[D]]:
    """Name a hypothesis on a fact of one run; the function judges its number."""

    def unstated(_: D) -> Answer:
        return undeclared(kind.value, cure)

    return lambda judge: FactHypothesis(statement, Basis.DECLARED, unstated, kind, about, judge)


def theorem(
    *,
    of: type[D],
    source: Citation,
    assumes: tuple[Hypothesis[D], ...],
    tight_when: tuple[Hypothesis[D], ...] | None = None,
    concerns: Callable[[D], bool] = _all,
    unverified: str = "",
) -> Callable[[Callable[Concatenate[D, ...], C]], Theorem[C]]:
    """Turn a formula into a `Theorem`; the registry finds it where a `statement.py` defines it."""
    return lambda f: Theorem(f.__name__, of, source, assumes, f, tight_when, concerns, unverified)
