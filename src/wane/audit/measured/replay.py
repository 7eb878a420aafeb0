"""Replay a run on neighbouring data with the same randomness, and compare step by step.

Two things that a certificate takes for granted are looked at: that one record moves the sum of
gradients by no more than declared, at the very points the run passes through, and that the two
runs ask for the same random numbers in the same order, so that no data steers the control flow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription
from wane.run import GradientSums, Rows, descend, seeded_generator_voids_privacy


@dataclass(frozen=True)
class Replayed:
    """The result of a replay.

    Attributes:
        largest_move: the farthest that the changed record moved one averaged gradient.
        declared: how far the description lets it.
        same_control_flow: both runs drew the same random numbers in the same order.
        steps: gradient sums that were compared.
    """

    largest_move: float
    declared: float
    same_control_flow: bool
    steps: int

    @property
    def as_declared(self) -> bool:
        """Whether nothing moved too far and nothing was steered by the data."""
        return self.same_control_flow and self.largest_move <= self.declared


@dataclass
class _Watched:
    """Gradient sums that record where they were asked and compare with a neighbour there."""

    inner: GradientSums
    neighbour: GradientSums
    moves: list[float] = field(default_factory=list)

    @property
    def records(self) -> int:
        return self.inner.records

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    @property
    def gradient_bound(self) -> float:
        return self.inner.gradient_bound

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        given = self.inner(parameters, rows)
        other = self.neighbour(parameters, rows)
        self.moves.append(float(np.linalg.norm(given - other)))
        return given


class _Recorder:
    """A generator that records its calls."""

    def __init__(self, seed: int) -> None:
        self._inner = seeded_generator_voids_privacy(seed)
        self.calls: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if not callable(method):
            return method

        def recorded(*arguments: Any, **options: Any) -> Any:
            self.calls.append((name, repr((arguments, sorted(options.items())))))
            return method(*arguments, **options)

        return recorded


def replay(
    run: NoisyDescent,
    gradients: GradientSums,
    neighbour: GradientSums,
    *,
    seed: int = 0,
    runner: Callable[..., Array] = descend,
) -> Replayed:
    """Run on both data sets with the same randomness and report what differed.

    `runner` is the loop under audit, called as `wane.run.descend` is.
    """
    if run.gradient_sensitivity is None:
        raise InvalidDescription(
            "objective.gradient_bound must be given for a replay, got None; declare it."
        )
    moves: list[float] = []
    calls = []
    for one, other in ((gradients, neighbour), (neighbour, gradients)):
        watched, recorder = _Watched(one, other), _Recorder(seed)
        runner(run, watched, generator=recorder)
        moves += watched.moves
        calls.append(recorder.calls)
    return Replayed(
        largest_move=max(moves) / run.batch_size,
        declared=run.gradient_sensitivity,
        same_control_flow=calls[0] == calls[1],
        steps=len(moves),
    )
