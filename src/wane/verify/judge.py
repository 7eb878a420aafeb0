"""Compare every number of a certificate document with an independent computation.

Verifiers are found by walking the folders of theorems, and nothing else of them is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from flint import arb

import wane.theorems
from wane.balls.arithmetic import PRECISION, as_float_up, ball, bits, top
from wane.balls.bounds import Bound, Concentrated, Failing, Gaussian, Searched
from wane.balls.lemmas.accounts import Sampled, composed
from wane.balls.lemmas.positions import TooLarge
from wane.balls.verifier import Verifier
from wane.describe import Adjacency, NoisyDescent
from wane.describe.samples import Sampler, SamplesOfDescent
from wane.errors import InvalidDescription
from wane.verify.claims import (
    ALL_SEEN,
    Claim,
    Described,
    Part,
    Quantity,
    Side,
    applying_theorems,
    claims_of,
    contradictions,
    described_parts,
    described_run,
    facts_of,
    is_void,
    outdated,
    rows_per_person,
)
from wane.verify.proven import proven, supports


@cache
def verifiers() -> dict[str, Verifier]:
    """Return every verifier by the name that certificates use."""
    home = Path(wane.theorems.__path__[0])
    verifiers_by_name: dict[str, Verifier] = {}
    for folder in wane.theorems.in_order(p.parent.name for p in home.glob("*/verifier.py")):
        stated = vars(import_module(f"wane.theorems.{folder}.verifier")).values()
        verifiers_by_name |= {value.name: value for value in stated if isinstance(value, Verifier)}
    return verifiers_by_name


Theorem = Callable[[Described], Bound | None]
"""Returns None where a hypothesis fails."""
NOT_LEAST = "the verifier's own bound is larger, but need not be the least"


class Outcome(Enum):
    """The possible results of checking a claim."""

    VERIFIED = "verified"
    TOO_SMALL = "too small"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True)
class CheckedClaim:
    """A claim, its outcome, and the reason."""

    claim: Claim
    outcome: Outcome
    proven: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Verification:
    """The outcome of every number of a certificate document.

    Attributes:
        checked: the claims in the order of the document.
        contradictions: where the document disagrees with itself or its fingerprint.
        void: the document claims nothing, and says so.
    """

    checked: tuple[CheckedClaim, ...]
    contradictions: tuple[str, ...]
    void: bool = False

    @property
    def verified(self) -> bool:
        """Whether something is claimed, all of it is proven, and nothing is contradicted."""
        fine = all(row.outcome is Outcome.VERIFIED for row in self.checked)
        return fine and not self.contradictions and not self.void

    def count(self, outcome: Outcome) -> int:
        """Return how many claims have this outcome."""
        return sum(row.outcome is outcome for row in self.checked)


def verify(document: Mapping[str, Any]) -> Verification:
    """Compute a certificate again from its description alone, and compare every number.

    Claim.  A number is called verified only if arithmetic that carries its errors along, in code
    that shares only the reading of descriptions with what made the certificate, proves that the
    description leaks no more.
    """
    try:
        refused = outdated(document)
        if refused:
            why = "nothing is known of its run"
            return _unproven(claims_of(document), why, [refused], is_void(document))
        run = described_run(document)
        problems = contradictions(document, run)
        claims = claims_of(document)
        parts = described_parts(document, run)
        theorems = _theorems(document, run) | _sampling(document, run)
        problems += _unknown_theorems(document, theorems)
        void, size = is_void(document), rows_per_person(document)
        judge = _ClaimChecker(
            run, theorems, applying_theorems(document), str(document["theorem"]), size
        )
    except (AttributeError, KeyError, TypeError, OverflowError) as error:
        raise InvalidDescription(
            f"the file must be a whole certificate document, got none or a part: {error!r:.80}."
        ) from None
    if parts is None:
        count = len(document["releases"])
        why = f"the document does not describe all of its {count} releases"
        return _unproven(claims, why, problems, void)
    with bits(PRECISION):
        checker = judge if len(parts) == 1 else _Joint.of(parts, judge, document)
        checked = tuple(_idle(claim) or checker.check(claim) for claim in claims)
        return Verification(checked, tuple(problems), void)


def _unproven(
    claims: Iterable[Claim], why: str, problems: Sequence[str], void: bool
) -> Verification:
    rows = [CheckedClaim(claim, Outcome.NOT_VERIFIED, why=why) for claim in claims]
    if void:  # guarantees of side releases were taken back, too
        rows = [_idle(row.claim) or row for row in rows]
    return Verification(tuple(rows), tuple(problems), void)


def _theorems(document: Mapping[str, Any], run: Described) -> dict[str, Theorem]:
    """Return the theorems, with those that rest on facts which the document states of this run."""
    applicable = {name: row for name, row in verifiers().items() if isinstance(run, row.of)}
    theorems: dict[str, Theorem] = dict(applicable)
    resting = {row.fact: row for row in applicable.values() if row.fact is not None}
    for kind, value in facts_of(document, run).items():
        if kind not in resting:
            raise InvalidDescription(
                f"a fact must be one of {', '.join(resting)}, got {kind!r:.60}."
            )
        theorems[resting[kind].name] = partial(resting[kind], k=value)
    return theorems


def _unknown_theorems(document: Mapping[str, Any], theorems: Mapping[str, Theorem]) -> list[str]:
    """Return a contradiction for each name that is no theorem's, since it proves nothing."""
    names = [document["theorem"], *(row["theorem"] for row in document["verdicts"])]
    beyond = dict.fromkeys(str(name) for name in names if name not in (*theorems, *verifiers()))
    return [f"there is no theorem {name!a:.80}" for name in beyond]


def _sampling(document: Mapping[str, Any], run: Described) -> dict[str, Theorem]:
    """Return the theorems of samples, if the document says what was sampled."""
    if document.get("sampler") is None or not isinstance(run, NoisyDescent):
        return {}
    samples = SamplesOfDescent.of(run, Sampler.from_fields(document["sampler"]))
    of_them = {name: row for name, row in verifiers().items() if isinstance(samples, row.of)}
    return {name: partial(_of_samples, row, samples) for name, row in of_them.items()}


def _of_samples(row: Verifier, samples: SamplesOfDescent, _: Described) -> Bound | None:
    return row(samples)


def _idle(claim: Claim) -> CheckedClaim | None:
    """Return the verdict on a claim that says nothing, which is true; None for other claims."""
    power = claim.quantity is Quantity.POWER
    if claim.value >= (1.0 if power else math.inf) or (claim.at >= 1.0 and not power):
        return CheckedClaim(claim, Outcome.VERIFIED, why="claims nothing")
    return None


def _compositions() -> list[str]:
    """Return the theorems for a run all of whose iterates are seen."""
    return [row.name for row in verifiers().values() if row.all_steps_seen]


class _ClaimChecker:
    """A checker of claims on one run, which computes each theorem's bound once."""

    def __init__(
        self,
        run: Described,
        theorems: Mapping[str, Theorem],
        said_to_apply: Sequence[str] = (),
        headline: str = "",
        size: int = 1,
    ) -> None:
        self._run = run
        self.size = size
        self._headline = headline
        self._theorems = theorems
        self._beyond = [name for name in said_to_apply if name not in theorems]
        self._known: dict[str, tuple[Bound | None, str]] = {}

    def check(self, claim: Claim) -> CheckedClaim:
        """Hold one claim against the bounds that may support it."""
        rows = []
        for name in self._names(claim):
            rows.append(self._bound(name))
            bound = rows[-1][0]
            if bound is None:
                continue
            done = _verified(bound, claim)
            if done is None and isinstance(bound, Searched) and bound.longer is not None:
                bound = bound.searched()
                self._known[name] = rows[-1] = bound, ""
                done = _verified(bound, claim)
            while done is None and claim.quantity is Quantity.POWER and bound.refine():
                done = _verified(bound, claim)
            if done is not None:
                return done
        bounds = [bound for bound, _ in rows if bound is not None]
        gaps = [why for bound, why in rows if bound is None and why]
        gaps += [NOT_LEAST for bound in bounds if not bound.tight]
        if claim.theorem not in (*self._theorems, ALL_SEEN):
            gaps += [f"{name} is not computed again" for name in self._beyond]
        if gaps or not bounds:
            reason = "; ".join(gaps) or "its hypotheses do not hold"
            return CheckedClaim(claim, Outcome.NOT_VERIFIED, why=reason)
        values = [value for b in bounds if (value := proven(b, claim)) is not None]
        return CheckedClaim(claim, Outcome.TOO_SMALL, min(values, default=None))

    def _names(self, claim: Claim) -> list[str]:
        if claim.theorem == ALL_SEEN:
            return [name for name in _compositions() if name in self._theorems]
        if claim.theorem in self._theorems and claim.theorem is not None:
            verifier = verifiers().get(claim.theorem)
            return [*(verifier.never_worse_than if verifier else ()), claim.theorem]
        # the theorem of the headline first; what it does not prove may follow from another
        return sorted(self._theorems, key=lambda name: name != self._headline)

    def composable(self, names: Iterable[str]) -> Gaussian | Sampled | None:
        """Return the least Gaussian bound of these theorems, else a sampled one; None if none."""
        bounds = [self._bound(name)[0] for name in names if name in self._theorems]
        gaussians = [bound for bound in bounds if isinstance(bound, Gaussian)]
        gaussians += [bound.searched() for bound in bounds if isinstance(bound, Searched)]
        least = min(gaussians, key=lambda bound: float(bound.mu), default=None)
        sampled = (bound for bound in bounds if isinstance(bound, Sampled))
        return next(sampled, None) if least is None else least

    def _bound(self, name: str) -> tuple[Bound | None, str]:
        if name not in self._known:
            try:
                self._known[name] = self._for_group(name, self._theorems[name](self._run))
            except TooLarge as error:
                self._known[name] = None, f"{name}: {error}"
        return self._known[name]

    def _for_group(self, name: str, bound: Bound | None) -> tuple[Bound | None, str]:
        """Return the bound for all rows of a person, or None and the reason."""
        if bound is None or self.size == 1:
            return bound, ""
        in_place = self._run.adjacency is Adjacency.REPLACE_ONE
        if not isinstance(self._run, NoisyDescent):
            fine = in_place or isinstance(bound, Gaussian)
            return (bound.for_group(self.size), "") if fine else (None, "no group is known")
        if not in_place and not isinstance(bound, Gaussian):
            losses = self._run.objective
            bends = (losses.strong_convexity or 0.0) > 0.0 or losses.dissipativity is not None
            if bends and not losses.clipped:
                return None, "no group guarantee is known for null records of a loss that bends"
            if isinstance(bound, Concentrated):
                return None, "the fact it rests on says nothing of several null or added records"
            if self._run.adjacency is Adjacency.ADD_REMOVE and name not in _compositions():
                return None, "it counts the other records, of which there may be more or fewer"
        return bound.for_group(self.size), ""


@dataclass(frozen=True)
class _Stated:
    """A side release, whose level is stated by the document and covered by its fingerprint."""

    side: Side

    def check(self, claim: Claim) -> CheckedClaim:
        """Hold the release's epsilon against its level."""
        return _held(_failing(self.composable(()), ball(self.side.failure)), claim)

    def composable(self, _: Iterable[str]) -> Gaussian:
        """Return the stated level."""
        return Gaussian(ball(self.side.mu) ** 2)


@dataclass(frozen=True)
class _Joint:
    """A checker of claims on several composed releases; the last run is the headline.

    Gaussian bounds add up in squares; steps with random batches are put into one account.  The
    theorem and the verdicts of such a document are the last run's; all else is said of the whole,
    but the releases, which are said of one part each.
    """

    judges: list[_ClaimChecker | _Stated]
    headline: _ClaimChecker
    _known: dict[bool, Bound | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, parts: Sequence[Part], headline: _ClaimChecker, document: Mapping[str, Any]
    ) -> _Joint:
        """Return a checker for each part; the last run's is given."""
        last = max(i for i, part in enumerate(parts) if not isinstance(part, Side))
        judges: list[_ClaimChecker | _Stated] = [
            _Stated(part)
            if isinstance(part, Side)
            else _ClaimChecker(part, theorems=_theorems(document, part), size=headline.size)
            for part in parts
        ]
        judges[last] = headline
        return cls(judges, headline)

    def check(self, claim: Claim) -> CheckedClaim:
        """Check a claim against the part, or the composition, that it is about."""
        if claim.where.startswith("verdict"):
            return self.headline.check(claim)
        if claim.part is not None:
            return self.judges[claim.part].check(claim)
        seen = claim.theorem == ALL_SEEN
        if seen not in self._known:
            self._known[seen] = self._whole(_compositions() if seen else list(verifiers()))
        joint = self._known[seen]
        if joint is None:
            why = "releases with different kinds of bounds are not composed again"
            return CheckedClaim(claim, Outcome.NOT_VERIFIED, why=why)
        return _held(joint, claim)

    def _whole(self, names: Sequence[str]) -> Bound | None:
        bounds = [judge.composable(names) for judge in self.judges]
        usable = [bound for bound in bounds if bound is not None]
        gaussian = [bound.mu_squared for bound in usable if isinstance(bound, Gaussian)]
        if len(usable) < len(bounds):
            return None
        if len(gaussian) < len(usable):
            return composed(usable, self._failure)
        return _failing(Searched(top(sum(gaussian, ball(0)))), self._failure)

    @property
    def _failure(self) -> arb:
        stated = (judge.side.failure for judge in self.judges if isinstance(judge, _Stated))
        return top(sum(map(ball, stated), ball(0)))


def _failing(bound: Gaussian, failure: arb) -> Bound:
    return Failing(bound, failure) if failure > 0 else bound


def _held(bound: Bound, claim: Claim) -> CheckedClaim:
    done = _verified(bound, claim)
    return done or CheckedClaim(claim, Outcome.NOT_VERIFIED, proven(bound, claim), NOT_LEAST)


def _verified(bound: Bound, claim: Claim) -> CheckedClaim | None:
    """Return the verified claim if the bound is certain to be at most as large, else None."""
    if claim.quantity is Quantity.POWER:  # found once, by a search
        power = top(bound.power(claim.at))
        fine = power <= ball(claim.value)
        return CheckedClaim(claim, Outcome.VERIFIED, as_float_up(power)) if fine else None
    if not supports(bound, claim):
        return None
    return CheckedClaim(claim, Outcome.VERIFIED, proven(bound, claim))
