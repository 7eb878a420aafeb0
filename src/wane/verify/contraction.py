"""Contraction of hockey-stick divergences, step by step, in a bounded set with random batches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.schedule import Phase
from wane.verify import binomial
from wane.verify.balls import ball, top
from wane.verify.bounds import Bound
from wane.verify.gaussian import gaussian_delta
from wane.verify.moduli import Sizes, modulus_of
from wane.verify.programme import power_sum
from wane.verify.steps import iterate_variance, sensitivity

MOST_BINS = 96


@dataclass(frozen=True)
class Kind:
    """Equal steps: probabilities of batches, how far apart they leave the runs in deviations.

    Attributes:
        count: how many.
        rate: the probability that the record is in the batch.
        without: rows (weight, distance) where it is not.
        having: rows where it is.
    """

    count: int
    rate: arb
    without: tuple[tuple[arb, arb], ...]
    having: tuple[tuple[arb, arb], ...]

    def then(self, epsilon: arb, before: arb) -> arb:
        """`delta <- (1-q) theta delta + q theta'`, as often as there are steps."""
        kept = (1 - self.rate) * _average(self.without, epsilon)
        fresh = self.rate * _average(self.having, epsilon)
        factor = top(kept)
        if factor > 1:
            factor = arb(1)
        series = power_sum(factor, self.count) if factor < 1 else arb(self.count)
        return top((factor**self.count * before + fresh * series).min(arb(1)))


def _average(rows: tuple[tuple[arb, arb], ...], epsilon: arb) -> arb:
    total = arb(0)
    for weight, distance in rows:
        total += weight * gaussian_delta(epsilon, distance)
    return top(total.min(arb(1)))


@dataclass(frozen=True)
class Contracted(Bound):
    """The recursion over all phases."""

    kinds: tuple[Kind, ...]
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """Delta after the last step."""
        found = arb(0)
        for kind in self.kinds:
            found = kind.then(epsilon, found)
        return found


def contracted(run: NoisyDescent) -> Contracted | None:
    """The recursion of a run; None if no modulus is known."""
    made = []
    for phase in run.plan:
        kind = _kind(run, phase)
        if kind is None:
            return None
        made.append(kind)
    return Contracted(tuple(made))


def _kind(run: NoisyDescent, phase: Phase) -> Kind | None:
    b, unit = run.batch_size, ball(run.domain.diameter)
    noise = iterate_variance(run, phase).sqrt() / unit

    def apart(least: int, most: int) -> arb | None:
        modulus = modulus_of(run, phase, Sizes(least, most, b), unit)
        return None if modulus is None else modulus.after(arb(1))

    rate = Fraction(b, run.records)
    if phase.cool_down:
        far = apart(0, 0)
        assert far is not None
        alone = ((arb(1), top(far / noise)),)
        return Kind(phase.repeat, arb(0), alone, alone)
    if isinstance(run.batches, Poisson):
        trials = run.records if run.adjacency is Adjacency.ADD_REMOVE else run.records - 1
        sizes = binomial.bins(trials, rate, MOST_BINS) if rate < 1 else [(trials, trials, arb(1))]
        common = differing = [(weight, apart(low, high)) for low, high, weight in sizes]
    else:
        common, differing = [(arb(1), apart(b, b))], [(arb(1), apart(b - 1, b - 1))]
    shift = ball(phase.step_size) * sensitivity(run) / unit
    without, having = [], []
    for weight, far in common:
        if far is None:
            return None
        without.append((weight, top(far / noise)))
    for weight, far in differing:
        if far is None:
            return None
        having.append((weight, top((far + shift) / noise)))
    return Kind(phase.repeat, ball(rate), tuple(without), tuple(having))
