"""The exact last iterate of stochastic gradient descent on a handful of records, in one dimension.

    x -> prox(x - step_size*(ridge*x + (sum of batch gradients)/divisor + noise))

Noise is the standard deviation on the averaged gradient.  Every batch that can be drawn is
summed over, with equal records counted together; nothing is sampled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from wane.arguments import Checked, Count, Positive
from wane.arrays import Array
from wane.audit.grid import ExactPair, Run
from wane.audit.maps import WHOLE_LINE, MonotoneMap, ScalarMap
from wane.audit.mesh import DEFAULT, Branch, Mixture, PairStep, Resolution
from wane.errors import InvalidDescription

Gradients = tuple[ScalarMap, ...]
Kind = tuple[ScalarMap, ScalarMap]
Batch = tuple[tuple[Kind, int], ...]

MAX_BATCHES = 4096


@dataclass(frozen=True, kw_only=True)
class TinyDescent(Checked):
    """A run on a tiny data set and the same run on a neighbouring one.

    Attributes:
        records: the gradient of each record's loss; equal objects are counted together.
        neighbour: the same for the neighbouring data set (in the same order).
        steps: how many steps are taken.
        step_size: the step size.
        gradient_noise_std: noise on the averaged gradient.
        divisor: the public number by which the sum of gradients is divided.
        start: where both runs start.
        prox: what is applied after the noise.
        ridge: a common quadratic, added in every step.
    """

    records: Gradients
    neighbour: Gradients
    steps: Count
    step_size: Positive
    gradient_noise_std: Positive
    divisor: Positive
    start: float = 0.0
    prox: MonotoneMap = WHOLE_LINE
    ridge: float = 0.0

    @property
    def noise_std(self) -> float:
        """The standard deviation of the noise on the iterate."""
        return self.step_size * self.gradient_noise_std

    def drift(self, gradients: tuple[tuple[ScalarMap, int], ...]) -> ScalarMap:
        """Return the map of one step on a batch, given how often each gradient is in it."""
        scale, shrink = self.step_size / self.divisor, 1.0 - self.step_size * self.ridge

        def move(x: Array) -> Array:
            total = np.zeros_like(x)
            for gradient, count in gradients:
                total = total + count * gradient(x)
            return np.asarray(shrink * x - scale * total, dtype=float)

        kinks = {k for gradient, count in gradients if count for k in gradient.kinks}
        return ScalarMap(move, tuple(sorted(kinks)))

    def step(self, first: Mixture, second: Mixture) -> PairStep:
        """Return one step of both runs."""
        return PairStep(first, second, self.noise_std, self.prox)

    def run(self, steps: tuple[PairStep, ...], probability: float = 1.0) -> Run:
        """Return the whole run, from the common start."""
        return Run(steps, self.start, self.start, probability)


def _counts(gradients: Gradients) -> Iterator[tuple[tuple[ScalarMap, int], ...]]:
    """Yield every batch that could be drawn, as how often each kind of gradient is in it."""
    kinds = Counter(gradients)
    if math.prod(n + 1 for n in kinds.values()) > MAX_BATCHES:
        raise InvalidDescription(
            f"records must allow at most {MAX_BATCHES} different batches; use fewer."
        )
    for counts in product(*(range(n + 1) for n in kinds.values())):
        yield tuple(zip(kinds, counts, strict=True))


def _poisson(descent: TinyDescent, gradients: Gradients, rate: float) -> Mixture:
    sizes, branches = Counter(gradients), []
    for batch in _counts(gradients):
        chance = math.prod(
            math.comb(sizes[g], k) * rate**k * (1.0 - rate) ** (sizes[g] - k) for g, k in batch
        )
        if chance > 0.0:
            branches.append(Branch(chance, descent.drift(batch)))
    return tuple(branches)


def _fixed(descent: TinyDescent, gradients: Gradients, batch_size: int) -> Mixture:
    sizes, branches = Counter(gradients), []
    total = math.comb(len(gradients), batch_size)
    for batch in _counts(gradients):
        if sum(k for _, k in batch) == batch_size:
            chance = math.prod(math.comb(sizes[g], k) for g, k in batch) / total
            branches.append(Branch(chance, descent.drift(batch)))
    return tuple(branches)


def poisson_pair(
    descent: TinyDescent, *, rate: float, resolution: Resolution = DEFAULT
) -> ExactPair:
    """Return the pair when each record joins each batch by its own coin.

    The neighbour may have one record less.
    """
    if not 0.0 < rate <= 1.0:
        raise InvalidDescription(f"rate must be in (0, 1], got {rate}")
    step = descent.step(
        _poisson(descent, descent.records, rate), _poisson(descent, descent.neighbour, rate)
    )
    return ExactPair((descent.run((step,) * descent.steps),), resolution)


def fixed_size_pair(
    descent: TinyDescent, *, batch_size: int, resolution: Resolution = DEFAULT
) -> ExactPair:
    """Return the pair when each batch is a fresh uniform subset of fixed size."""
    _check_size(descent, batch_size)
    step = descent.step(
        _fixed(descent, descent.records, batch_size), _fixed(descent, descent.neighbour, batch_size)
    )
    return ExactPair((descent.run((step,) * descent.steps),), resolution)


def cyclic_pair(
    descent: TinyDescent, *, batch_size: int, resolution: Resolution = DEFAULT
) -> ExactPair:
    """Return the pair when consecutive records form the batches, visited in turn."""
    _check_size(descent, batch_size)
    kinds = tuple(zip(descent.records, descent.neighbour, strict=True))
    if len(kinds) % batch_size:
        raise InvalidDescription("the batch size must divide the number of records")
    batches = [
        tuple(Counter(kinds[begin : begin + batch_size]).items())
        for begin in range(0, len(kinds), batch_size)
    ]
    steps = [_batch_step(descent, batch) for batch in batches]
    run = tuple(steps[t % len(steps)] for t in range(descent.steps))
    return ExactPair((descent.run(run),), resolution)


def shuffled_once_pair(
    descent: TinyDescent, *, batch_size: int, resolution: Resolution = DEFAULT
) -> ExactPair:
    """Return the pair when records are put in a secret uniform order once, then used in turn."""
    _check_size(descent, batch_size)
    kinds = Counter(zip(descent.records, descent.neighbour, strict=True))
    if len(descent.records) % batch_size:
        raise InvalidDescription("the batch size must divide the number of records")
    step_of: dict[Batch, PairStep] = {}
    runs = []
    for chance, order in _orders(kinds, batch_size):
        # One object a batch, so that all orders share its kernels.
        steps = [step_of.setdefault(batch, _batch_step(descent, batch)) for batch in order]
        run = tuple(steps[t % len(steps)] for t in range(descent.steps))
        runs.append(descent.run(run, chance))
    return ExactPair(tuple(runs), resolution)


def _orders(kinds: Counter[Kind], batch_size: int) -> list[tuple[float, tuple[Batch, ...]]]:
    """Return every distinct sequence of batches with its probability, one batch after another."""
    left = sum(kinds.values())
    if left == 0:
        return [(1.0, ())]
    orders = []
    names = list(kinds)
    for counts in product(*(range(kinds[name] + 1) for name in names)):
        if sum(counts) != batch_size:
            continue
        drawn = zip(names, counts, strict=True)
        ways = math.prod(math.comb(kinds[name], k) for name, k in drawn)
        batch = tuple((name, k) for name, k in zip(names, counts, strict=True) if k)
        rest = Counter({name: kinds[name] - k for name, k in zip(names, counts, strict=True)})
        for chance, order in _orders(+rest, batch_size):
            orders.append((chance * ways / math.comb(left, batch_size), (batch, *order)))
            if len(orders) > MAX_BATCHES:
                raise InvalidDescription(
                    f"records must allow at most {MAX_BATCHES} orders; use fewer."
                )
    return orders


def _batch_step(descent: TinyDescent, batch: Batch) -> PairStep:
    first = descent.drift(tuple((kind[0], k) for kind, k in batch))
    second = descent.drift(tuple((kind[1], k) for kind, k in batch))
    return descent.step((Branch(1.0, first),), (Branch(1.0, second),))


def _check_size(descent: TinyDescent, batch_size: int) -> None:
    if len(descent.records) != len(descent.neighbour):
        raise InvalidDescription("with batches of fixed size both data sets must be equally large")
    if not 1 <= batch_size <= len(descent.records):
        raise InvalidDescription(f"batch_size must be in 1..{len(descent.records)}")
