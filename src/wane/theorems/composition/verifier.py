"""Compositions, again and in balls: every step is seen."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import arb

from wane.balls.arithmetic import as_float_up, ball, top
from wane.balls.bounds import Bound, Gaussian, Mixture
from wane.balls.lemmas import positions, reach
from wane.balls.lemmas.accounts import AccountBuilder
from wane.balls.lemmas.hypotheses import fixed_order
from wane.balls.lemmas.levels import representatives
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.balls.lemmas.sampled_steps import SURE, PairOrder, StepLosses, sampled_step, shifts_apart
from wane.balls.verifier import verifier
from wane.describe import Adjacency, NoisyDescent, Poisson, WithoutReplacement

MOST_LEVELS = 96
MOST_SHOWN = 64
"""Most steps that are so sure of showing the record that it is counted how many of them use it."""


@verifier(all_steps_seen=True)
def gaussian_composition(run: NoisyDescent) -> Bound | None:
    """Every use of a record is one Gaussian mechanism, and their squares add up."""
    return Gaussian(top(positions.composed(run))) if fixed_order(run) else None


@verifier(all_steps_seen=True)
def poisson_composition(run: NoisyDescent) -> Bound | None:
    """Every step is a Poisson-sampled Gaussian mechanism."""
    if not isinstance(run.batches, Poisson) or not reach.bounded(run):
        return None
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    either = (PairOrder.REPLACE,) if replaced else (PairOrder.REMOVE, PairOrder.ADD)
    return _sampled(run, either)


@verifier(all_steps_seen=True)
def fixed_size_composition(run: NoisyDescent) -> Bound | None:
    """Every step uses a random set of fixed size: any two of three laws are close to each other."""
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    if not isinstance(run.batches, WithoutReplacement) or not in_place:
        return None
    return _sampled(run, (PairOrder.FIXED,)) if reach.bounded(run) else None


def _sampled(run: NoisyDescent, directions: tuple[PairOrder, ...]) -> Bound:
    counts: dict[float, int] = {}
    for phase in run.plan:
        if not phase.uses_records:
            continue
        shift = reach.member(run) * ball(phase.step_size)
        mu = as_float_up(shift / iterate_variance(run, phase).sqrt())
        counts[mu] = counts.get(mu, 0) + phase.repeat
    wide = shifts_apart(directions)
    squares = [((wide * ball(mu)) ** 2, count) for mu, count in sorted(counts.items())]
    if run.batch_size == run.records:
        return Gaussian(top(sum((count * square for square, count in squares), arb(0))))
    classes = representatives(counts, MOST_LEVELS)
    rate = ball(Fraction(run.batch_size, run.records))
    grouped: dict[float, int] = {}
    for mu, count in counts.items():
        grouped[classes[mu]] = grouped.get(classes[mu], 0) + count
    steps: list[tuple[StepLosses, int]] = [
        (sampled_step(ball(mu), rate), count) for mu, count in grouped.items()
    ]
    used = top(1 - (1 - rate) ** sum(counts.values()))
    shown = None
    if squares and top(squares[-1][0]) > SURE**2 and squares[-1][1] <= MOST_SHOWN:
        shown = _shown(run, squares)
    return replace(AccountBuilder().bound(steps, directions), used=used, shown=shown)


def _shown(run: NoisyDescent, squares: list[tuple[arb, int]]) -> Mixture:
    """All steps use the record, but those of the least noise, which show whether they do."""
    *others, (square, count) = squares
    rest = sum((n * other for other, n in others), arb(0))
    size, left = run.batch_size, run.records - run.batch_size
    return Mixture(
        tuple(
            (math.comb(count, k) * size**k * left ** (count - k), Gaussian(top(rest + k * square)))
            for k in range(count + 1)
        )
    )
