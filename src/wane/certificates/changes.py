"""Changes of a run that would lower its epsilon, each certified; the best comes first.

A change asks something of whoever runs it, and says what.  None of them changes whom the guarantee
protects, and none declares of the losses what was not declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from wane.certificates.analyse import certify
from wane.certificates.certificate import Certificate
from wane.describe import (
    Cyclic,
    FullBatch,
    LastIterate,
    NoisyDescent,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
)
from wane.describe.fields import run_to_fields
from wane.errors import WaneError

RIDGES = (0.01, 0.05)
"""Ridges that are tried where there is less."""
GAIN = 0.99
"""A change must leave at most this share of epsilon to be worth a word."""
MOST_PHASES = 64
"""Longer plans take long to certify, and are not changed."""


@dataclass(frozen=True)
class Change:
    """One change of a run, in words, the changed description, and the epsilon that it has."""

    words: str
    run: NoisyDescent
    epsilon: float


EpsilonOf = Callable[[NoisyDescent, float], float]
"""The epsilon of a description at a delta."""


def certified_epsilon(run: NoisyDescent, delta: float) -> float:
    """Return the certified epsilon of a run at this delta."""
    return certify(run).epsilon(delta)


def epsilon_or_none(epsilon_of: EpsilonOf, run: NoisyDescent, delta: float) -> float | None:
    """Return the epsilon of a run; None where nothing applies."""
    try:
        return epsilon_of(run, delta)
    except WaneError:
        return None


def changes(
    run: NoisyDescent, delta: float, epsilon_of: EpsilonOf = certified_epsilon
) -> list[Change]:
    """Return the changes that lower epsilon at this delta, best first; use it to give advice.

    `epsilon_of` certifies a description, where it is not done by all theorems of the registry.
    """
    if len(run.plan) > MOST_PHASES:
        return []
    now = epsilon_or_none(epsilon_of, run, delta)
    made = []
    for words, changed in _tried(run):
        epsilon = epsilon_or_none(epsilon_of, changed, delta)
        if epsilon is not None and (now is None or epsilon < GAIN * now):
            made.append(Change(words, changed, epsilon))
    return sorted(made, key=lambda change: change.epsilon)


def best_change(certificate: Certificate, delta: float) -> Change | None:
    """Return the change that lowers the epsilon of a certificate's run most; None if none does."""

    def epsilon_of(run: NoisyDescent, delta: float) -> float:
        if run is certificate.run:
            return certificate.epsilon(delta)
        return certify(run).for_persons(certificate.rows_per_person).epsilon(delta)

    return next(iter(changes(certificate.run, delta, epsilon_of)), None)


def change_fields(change: Change | None) -> dict[str, object] | None:
    """Return a change as JSON-ready data; None if there is none."""
    if change is None:
        return None
    changed = run_to_fields(change.run)
    return {"change": change.words, "epsilon": change.epsilon, "description": changed}


def with_step_size_times(run: NoisyDescent, factor: float) -> NoisyDescent:
    """Return the run with every step size multiplied."""
    return _planned(run, [replace(p, step_size=p.step_size * factor) for p in run.plan])


def twice_as_long(run: NoisyDescent) -> NoisyDescent:
    """Return the run with its whole plan repeated once."""
    phases = list(run.plan)
    if len(phases) == 1:
        return _planned(run, [replace(phases[0], repeat=2 * phases[0].repeat)])
    return _planned(run, [*phases, *phases])


def _tried(run: NoisyDescent) -> Iterator[tuple[str, NoisyDescent]]:
    if not isinstance(run.release, LastIterate):
        hidden = replace(run, release=LastIterate())
        yield "release the last iterate only, and keep the others secret", hidden
    ridge = run.objective.ridge
    for more in (*RIDGES, 2.0 * ridge):
        if more > ridge:
            objective = replace(run.objective, ridge=more)
            words = f"train with a ridge (weight decay) of {more!r}"
            yield words, replace(run, objective=objective)
    if not isinstance(run.batches, FullBatch | Poisson):
        drawn = replace(run, batches=Poisson(run.batch_size))
        yield "draw Poisson batches: each record by its own secret coin", drawn
    if isinstance(run.batches, Cyclic | ShuffledOnce) and 2 * run.batch_size <= run.records:
        larger = replace(run, batches=replace(run.batches, size=2 * run.batch_size))
        yield "take batches twice as large, with as many steps and the same stated noise", larger
    yield "halve the step size", with_step_size_times(run, 0.5)
    yield "double the step size", with_step_size_times(run, 2.0)


def _planned(run: NoisyDescent, phases: list[Phase]) -> NoisyDescent:
    plan = Schedule(phases)
    return replace(run, steps=None, step_size=None, noise=None, cool_down=0, schedule=plan)
