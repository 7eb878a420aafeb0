"""The numbers of one training side by side, and the one change that would help most."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from opacus.accountants import PRVAccountant

from wane.certificates import Change, changes
from wane.certificates.changes import epsilon_or_none, twice_as_long


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
            lines.append(
                f"what would help most: {self.change.words}: {_shown(self.change.epsilon)}"
            )
        return "\n".join(lines)


def side_by_side(engine: Any, delta: float) -> SideBySide:
    """Return the epsilons of an engine's training so far, all at this delta."""
    accountant = engine.accountant
    obstacles = accountant.obstacles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hidden = None if obstacles else accountant.get_epsilon(delta)
    run = None if obstacles else accountant.run()
    measure = accountant.epsilon_of
    return SideBySide(
        delta=delta,
        hidden_state=hidden,
        composition=accountant.composed_epsilon(delta),
        opacus=_prv(accountant.history, delta),
        opacus_is_valid=accountant.sampling.poisson,
        obstacles=obstacles,
        change=None if run is None else next(iter(changes(run, delta, measure)), None),
        twice_as_long=None if run is None else epsilon_or_none(measure, twice_as_long(run), delta),
    )


def _prv(history: list[tuple[float, float, int]], delta: float) -> float:
    theirs = PRVAccountant()
    theirs.history = list(history)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(theirs.get_epsilon(delta))


def _shown(epsilon: float | None) -> str:
    return "not certified" if epsilon is None else f"epsilon {math.ceil(epsilon * 1e4) / 1e4:.4f}"
