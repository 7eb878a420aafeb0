"""Draw the records of each step exactly as the description says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from wane.describe import Cyclic, FullBatch, NoisyDescent, Poisson, ShuffledOnce, WithoutReplacement
from wane.describe.choices import Batches

Rows = slice | NDArray[np.intp]
"""Records of one batch: consecutive ones, or their positions."""

Chooser = Callable[[int], Rows]
"""The records of a step, by how many steps that used records came before it."""


def blocks(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield consecutive parts of the rows, of at most this many each."""
    if isinstance(rows, slice):
        for first in range(rows.start or 0, rows.stop, size):
            yield slice(first, min(first + size, rows.stop))
    else:
        for first in range(0, len(rows), size):
            yield rows[first : first + size]


def chooser(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    """Return the rule that picks each step's records."""
    return _CHOOSERS[type(run.batches)](run, generator)


def _full(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    everything = slice(0, run.records)
    return lambda step: everything


def _cyclic(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    size, count = run.batch_size, run.steps_per_epoch

    def choose(step: int) -> Rows:
        first = (step % count) * size
        return slice(first, min(first + size, run.records))

    return choose


def _shuffled_once(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    order = generator.permutation(run.records)
    in_order = _cyclic(run, generator)

    def choose(step: int) -> Rows:
        return order[in_order(step)]

    return choose


def _poisson(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    rate = run.batch_size / run.records

    def choose(step: int) -> Rows:
        # How many join is binomial, and given that any set of so many is as likely as any other.
        count = int(generator.binomial(run.records, rate))
        return np.sort(generator.choice(run.records, count, replace=False, shuffle=False))

    return choose


def _without_replacement(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    return lambda step: generator.choice(run.records, run.batch_size, replace=False, shuffle=False)


_CHOOSERS: dict[type[Batches], Callable[[NoisyDescent, np.random.Generator], Chooser]] = {
    FullBatch: _full,
    Cyclic: _cyclic,
    ShuffledOnce: _shuffled_once,
    Poisson: _poisson,
    WithoutReplacement: _without_replacement,
}
