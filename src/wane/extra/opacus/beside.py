"""The numbers of one training side by side, and the one change that would help most."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from opacus.accountants import PRVAccountant

from wane.certificates import certify
from wane.describe import Adjacency, NoisyDescent, Phase, Poisson, Schedule
from wane.errors import WaneError

DECAYS = (0.01, 0.05)
"""Weight decays that are tried where there is less."""


@dataclass(frozen=True)
class Change:
    """One change of the training, and the epsilon that it would have."""

    words: str
    epsilon: float


@dataclass(frozen=True)
class SideBySide:
    """Epsilons of one training at one delta.

    Attributes:
        hidden_state: of the last iterate; None where it is not certified.
        composition: if every noisy sum were seen.
        opacus: by Opacus' own PRV accountant, which takes every loader to be a Poisson one.
        opacus_is_valid: whether that assumption holds here.
        obstacles: why the last iterate is not certified.
        change: the change that would help most; None if none helps.
        twice_as_long: of the last iterate after twice as many steps, if it is certified.
    """

    delta: float
    hidden_state: float | None
    composition: float
    opacus: float
    opacus_is_valid: bool
    obstacles: tuple[str, ...]
    change: Change | None
    twice_as_long: float | None

    def __str__(self) -> str:
        """One line for each number."""
        lines = [
            f"last iterate       {_shown(self.hidden_state)}",
            f"composition        {_shown(self.composition)}",
            f"Opacus, PRV        {_shown(self.opacus)}",
        ]
        if not self.opacus_is_valid:
            lines[-1] += "   (false here: it takes the batches to be Poisson)"
        lines += [f"not certified: {reason}" for reason in self.obstacles]
        if self.twice_as_long is not None:
            lines.append(f"twice as long      {_shown(self.twice_as_long)}")
        if self.change is not None:
            lines.append(f"{self.change.words}: {_shown(self.change.epsilon)}")
        return "\n".join(lines)


def side_by_side(engine: Any, delta: float) -> SideBySide:
    """Return the epsilons of an engine's training so far, all at this delta."""
    accountant = engine.accountant
    obstacles = accountant.obstacles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hidden = None if obstacles else accountant.get_epsilon(delta)
    run = None if obstacles else accountant.run()
    now = accountant.composed_epsilon(delta) if hidden is None else hidden
    return SideBySide(
        delta=delta,
        hidden_state=hidden,
        composition=accountant.composed_epsilon(delta),
        opacus=_prv(accountant.history, delta),
        opacus_is_valid=accountant.sampling.poisson,
        obstacles=obstacles,
        change=None if run is None else _best(run, delta, now),
        twice_as_long=None if run is None else _epsilon(_longer(run), delta),
    )


def _best(run: NoisyDescent, delta: float, now: float) -> Change | None:
    tried = [Change(words, _epsilon(changed, delta)) for words, changed in _changes(run)]
    best = min(tried, key=lambda change: change.epsilon, default=None)
    return best if best is not None and best.epsilon < now else None


def _changes(run: NoisyDescent) -> Iterator[tuple[str, NoisyDescent]]:
    ridge = run.objective.ridge
    for decay in (*DECAYS, 2.0 * ridge):
        if decay > ridge:
            objective = replace(run.objective, ridge=decay)
            yield f"with weight decay {decay:.2g}", replace(run, objective=objective)
    if not isinstance(run.batches, Poisson):
        batches = Poisson(run.batch_size)
        yield "with Poisson batches", replace(run, batches=batches, adjacency=_poisson_of(run))
    yield "with half the learning rate", _faster(run, 0.5)
    yield "with twice the learning rate", _faster(run, 2.0)


def _poisson_of(run: NoisyDescent) -> Adjacency:
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    return Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE


def _faster(run: NoisyDescent, factor: float) -> NoisyDescent:
    return _planned(run, [Phase(p.repeat, p.step_size * factor, p.noise) for p in run.plan])


def _longer(run: NoisyDescent) -> NoisyDescent:
    return _planned(run, [*run.plan, *run.plan])


def _planned(run: NoisyDescent, phases: list[Phase]) -> NoisyDescent:
    return replace(run, steps=None, step_size=None, noise=None, schedule=Schedule(phases))


def _epsilon(run: NoisyDescent, delta: float) -> float:
    try:
        return certify(run).epsilon(delta)
    except WaneError:
        return math.inf


def _prv(history: list[tuple[float, float, int]], delta: float) -> float:
    theirs = PRVAccountant()
    theirs.history = list(history)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(theirs.get_epsilon(delta))


def _shown(epsilon: float | None) -> str:
    return "not certified" if epsilon is None else f"epsilon {math.ceil(epsilon * 1e4) / 1e4:.4f}"
