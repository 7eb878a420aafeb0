"""Ask every theorem, keep every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from wane.certificates.certificate import Certificate
from wane.describe import EveryIterate, Fact, NoisyDescent, check
from wane.describe.facts import Facts
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import Guarantee
from wane.theorems.registry import ANALYSES
from wane.theorems.theorem import Analysis, Applies, Basis, Finding


def certify(
    run: NoisyDescent,
    analyses: Iterable[Analysis[Any]] | None = None,
    *,
    facts: Iterable[Fact] = (),
) -> Certificate:
    """Return the certificate of a described run: every theorem's verdict, and the best bound.

    `analyses` are the theorems to ask; all of the registry if None.

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
    check.kind("run", run, (NoisyDescent,))
    stated = Facts(tuple(facts))
    asked = ANALYSES if analyses is None else analyses
    verdicts = tuple(a(run, stated) for a in asked if isinstance(run, a.of))
    return Certificate(run, verdicts, facts=stated.about(run))


FactsOf = Callable[[NoisyDescent], Iterable[Fact]]
"""What is true of a run, asked of each run anew, for searches that try several."""


def no_facts(run: NoisyDescent) -> tuple[Fact, ...]:
    """Return nothing: the description says all that is known of a run."""
    return ()


def certify_with(run: NoisyDescent, facts: FactsOf) -> Certificate:
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
    return certify(run, facts=known)


def recalled(
    run: NoisyDescent,
    claims: Iterable[tuple[str, Guarantee]],
    *,
    because: str,
    beside: Iterable[Analysis[Any]] = (),
    rows_per_person: int = 1,
) -> Certificate:
    """Return a certificate that was kept: each theorem's guarantees as they were, not asked again.

    `because` says who certified it; `beside` are theorems that are not in the registry.
    """
    known = {analysis.name: analysis for analysis in (*ANALYSES, *beside)}
    found = tuple(claims)
    beyond = [name for name, _ in found if name not in known]
    if beyond:
        raise InvalidDescription(f"theorem must be one that wane knows, got {beyond[0]!r:.60}.")
    kept = Finding(
        "the hypotheses held when the run was certified", Basis.DERIVED, True, because, ""
    )
    verdicts = tuple(Applies(known[name], (kept,), guarantee) for name, guarantee in found)
    return Certificate(run, verdicts, rows_per_person=rows_per_person)


def composition_of(run: NoisyDescent) -> Certificate:
    """Return the certificate of the same run with every iterate released."""
    return certify(replace(run, release=EveryIterate()))
