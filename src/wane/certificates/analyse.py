"""Ask every theorem, keep every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from wane import arguments
from wane.certificates.certificate import Certificate
from wane.certificates.parts import CertifiedRelease
from wane.describe import EveryIterate, Fact, NoisyDescent, StatedRelease
from wane.describe.description import Description
from wane.describe.facts import Facts
from wane.describe.samples import OverdampedRun
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import Guarantee
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Applies, Basis, Finding, Theorem, ask


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
    if isinstance(run, Description):
        _ = run.declared_adjacency  # refused here if nobody said
    asked, stated = THEOREMS if theorems is None else tuple(theorems), Facts(tuple(facts))
    if isinstance(run, OverdampedRun):
        verdicts = (*ask(run.descent, asked), *ask(run, asked))
        return Certificate((CertifiedRelease(run.descent, verdicts, sampled=run),))
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
