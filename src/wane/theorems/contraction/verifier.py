"""Contraction of hockey-stick divergences, step by step, in a bounded set with random batches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from wane.balls import binomial
from wane.balls.arithmetic import ball, top
from wane.balls.bounds import Bound
from wane.balls.gaussian import gaussian_delta
from wane.balls.lemmas import reach
from wane.balls.lemmas.hypotheses import follows_moduli, in_bounded_set, leaves_some_out
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.balls.lemmas.moduli import Sizes, modulus_of
from wane.balls.lemmas.programme import power_sum
from wane.balls.verifier import verifier
from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.schedule import Phase

MOST_BINS = 96


@verifier()
def poisson_contraction(run: NoisyDescent) -> Bound | None:
    """Return the recursion of delta in a bounded set, with Poisson-sampled batches."""
    bounded = in_bounded_set(run)
    usable = isinstance(run.batches, Poisson) and bounded and follows_moduli(run)
    return contracted(run) if usable else None


@verifier()
def fixed_size_contraction(run: NoisyDescent) -> Bound | None:
    """Return the recursion of delta in a bounded set, with batches of fixed size."""
    bounded = in_bounded_set(run)
    return contracted(run) if leaves_some_out(run) and bounded and follows_moduli(run) else None


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
    """The recursion over all phases, for each number of others the record may have."""

    cases: tuple[tuple[Kind, ...], ...]
    tight: ClassVar[bool] = False

    def delta(self, epsilon: arb) -> arb:
        """Return delta after the last step, where it is largest."""
        worst = arb(0)
        for kinds in self.cases:
            found = arb(0)
            for kind in kinds:
                found = kind.then(epsilon, found)
            worst = worst.max(found)
        return top(worst)


def contracted(run: NoisyDescent) -> Contracted | None:
    """Return the recursion of a run; None if no modulus is known.

    With a record added the n of one data set are its others, with a record removed the n - 1 that
    stay are: both must be covered.
    """
    n = run.records
    added = isinstance(run.batches, Poisson) and run.adjacency is Adjacency.ADD_REMOVE
    cases = []
    for others in (n - 1, n) if added else (n - 1,):
        kinds = [_kind(run, phase, others) for phase in run.plan]
        known = tuple(kind for kind in kinds if kind is not None)
        if len(known) < len(kinds):
            return None
        cases.append(known)
    return Contracted(tuple(cases))


def _kind(run: NoisyDescent, phase: Phase, others: int) -> Kind | None:
    b, unit = run.batch_size, ball(run.domain.diameter)
    noise = iterate_variance(run, phase).sqrt() / unit

    def common(least: int, most: int) -> arb:
        """How far apart steps on so many common records are; infinite if nothing is known."""
        modulus = modulus_of(run, phase, Sizes(least, most, b), unit)
        return arb.pos_inf() if modulus is None else modulus.after(arb(1))

    def differing(least: int, most: int) -> arb:
        """The same with the record beside them: charged whole, or as one more common record."""
        eta = ball(phase.step_size) / unit
        whole = common(least, most) + eta * reach.apart(run)
        if run.adjacency is not Adjacency.REPLACE_ONE:
            return whole
        return whole.min(common(least + 1, most + 1) + eta * reach.sensitivity(run))

    rate = Fraction(b, run.records)
    if not phase.uses_records:
        alone = ((arb(1), top(common(0, 0) / noise)),)
        return Kind(phase.repeat, arb(0), alone, alone)
    if isinstance(run.batches, Poisson):
        sizes = binomial.bins(others, rate, MOST_BINS) if rate < 1 else [(others, others, arb(1))]
        without = [(weight, common(low, high)) for low, high, weight in sizes]
        having = [(weight, differing(low, high)) for low, high, weight in sizes]
    else:
        without, having = [(arb(1), common(b, b))], [(arb(1), differing(b - 1, b - 1))]
    if not all(far.is_finite() for _, far in (*without, *having)):
        return None
    return Kind(
        phase.repeat,
        ball(rate),
        tuple((weight, top(far / noise)) for weight, far in without),
        tuple((weight, top(far / noise)) for weight, far in having),
    )
