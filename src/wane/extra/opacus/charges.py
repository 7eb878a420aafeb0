"""What the steps cost by composition: every noisy sum is seen, and each step is charged.

A step whose batch was the loader's own is charged by how the loader chooses: a coin for each
record, or one use in an epoch.  Any other step is charged as if each of its passes held the record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from wane.describe import Adjacency
from wane.guarantees import GaussianDP, GaussianStep, Guarantee, NumericalDP
from wane.guarantees.steps import Pair, SampledGaussianStep


class Charges:
    """A tally of steps; `state` and `load` carry it through a checkpoint of Opacus."""

    def __init__(self) -> None:
        self.sampled: Counter[tuple[float, float]] = Counter()
        self.by_epoch: dict[int, float] = {}
        self.whole: Counter[tuple[float, float]] = Counter()

    def add_sampled(self, noise_multiplier: float, rate: float, steps: int = 1) -> None:
        """Charge steps in which each record took part with this probability."""
        key = noise_multiplier, rate if rate < 1.0 else 1.0
        self.sampled[key] += steps

    def add_in_epoch(self, noise_multiplier: float, epoch: int, uses: int) -> None:
        """Charge one step of an epoch; a record is used in one of them, at worst the quietest."""
        self.by_epoch[epoch] = max(self.by_epoch.get(epoch, 0.0), _over(uses, noise_multiplier))

    def add_whole(self, noise_multiplier: float, times: float = 1.0, steps: int = 1) -> None:
        """Charge steps that may hold the record this many times."""
        self.whole[noise_multiplier, times] += steps

    def guarantee(self, adjacency: Adjacency) -> Guarantee:
        """Return what all steps guarantee together."""
        moved = adjacency.sensitivity(1.0)
        squares = [(moved * mu) ** 2 for mu in self.by_epoch.values()]
        for (noise, times), steps in self.whole.items():
            squares.append(steps * (moved * _over(times, noise)) ** 2)
        mu = _up(math.sqrt(_up(math.fsum(squares)))) if squares else 0.0
        if not self.sampled:
            return GaussianDP(mu)
        pair = Pair.REPLACE if adjacency is Adjacency.REPLACE_ONE else Pair.ADD_OR_REMOVE
        steps_of = [
            (SampledGaussianStep(_over(1.0, noise), rate, pair), steps)
            for (noise, rate), steps in self.sampled.items()
        ]
        rest = [(GaussianStep(mu), 1)] if mu > 0.0 else []
        return NumericalDP((*steps_of, *rest))

    @property
    def silent(self) -> bool:
        """Whether some step had no noise."""
        noises = [noise for noise, _ in (*self.sampled, *self.whole)]
        return any(not noise > 0.0 for noise in noises) or math.inf in self.by_epoch.values()

    def state(self) -> dict[str, Any]:
        """Return the tally as plain lists."""
        return {
            "sampled": [[*key, count] for key, count in self.sampled.items()],
            "by_epoch": [[*item] for item in self.by_epoch.items()],
            "whole": [[*key, count] for key, count in self.whole.items()],
        }

    @classmethod
    def load(cls, state: dict[str, Iterable[list[Any]]]) -> Charges:
        """The tally of an earlier part of the training; its epochs are kept apart from new ones."""
        made = cls()
        for noise, rate, count in state["sampled"]:
            made.add_sampled(float(noise), float(rate), int(count))
        for place, (_, mu) in enumerate(state["by_epoch"]):
            made.by_epoch[-1 - place] = float(mu)
        for noise, times, count in state["whole"]:
            made.add_whole(float(noise), float(times), int(count))
        return made


def _over(times: float, noise: float) -> float:
    return _up(times / noise) if noise > 0.0 else math.inf


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)
