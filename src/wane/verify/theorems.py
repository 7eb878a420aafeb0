"""Which theorems the verifier computes again, by the names that certificates use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb

from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    LastIterate,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.verify import reach, records
from wane.verify.accounts import Workshop
from wane.verify.balls import as_float_up, ball, top
from wane.verify.bounds import Bound, Concentrated, Gaussian, Mixture, Searched
from wane.verify.contraction import contracted
from wane.verify.hidden_samples import Hidden
from wane.verify.levels import representatives
from wane.verify.moduli import Sizes, modulus_of
from wane.verify.modulus import plan_cost
from wane.verify.sampled import SURE, Direction, Losses, sampled_step, shifts_apart
from wane.verify.steps import clip_keeps_gradient, iterate_variance

MOST_LEVELS = 96
MOST_SHOWN = 64
"""Most steps that are so sure of showing the record that it is counted how many of them use it."""
Theorem = Callable[[NoisyDescent], Bound | None]
"""Returns None where a hypothesis fails."""


def gaussian_composition(run: NoisyDescent) -> Bound | None:
    """Every use of a record is one Gaussian mechanism, and their squares add up."""
    return Gaussian(top(records.composed(run))) if _fixed_order(run) else None


def last_iterate(run: NoisyDescent) -> Bound | None:
    """The joint programme of the worst record."""
    pieces = _pieces(run)
    return None if pieces is None else Gaussian(records.worst_hidden(run, pieces, math.inf))


def last_iterate_bounded(run: NoisyDescent) -> Bound | None:
    """The joint programme in a bounded set."""
    pieces, diameter = _pieces(run), run.domain.diameter
    if pieces is None or math.isinf(diameter):
        return None
    return Gaussian(records.worst_hidden(run, pieces, diameter))


def secret_order(run: NoisyDescent) -> Bound | None:
    """The average over positions."""
    pieces = _pieces(run)
    if pieces is None or not isinstance(run.batches, ShuffledOnce):
        return None
    if not isinstance(run.release, LastIterate):
        return None
    count = run.steps_per_epoch
    if count > records.MOST_POSITIONS:
        raise records.TooLarge(f"{count} positions to average over")
    parts = []
    for place in range(count):
        size = run.last_batch_size if place == count - 1 else run.batch_size
        value = records.hidden(pieces, place, run.domain.diameter)
        parts.append((size, Gaussian(records.most([value]))))
    return Mixture(tuple(parts))


def averaged_last_iterate(run: NoisyDescent, k: float | None = None) -> Bound | None:
    """The joint programme, if k bounds the curvature of the average of this very run's records."""
    losses = run.objective
    m, M = losses.strong_convexity, losses.smoothness
    kept = not losses.clipped or clip_keeps_gradient(losses)
    usable = k is not None and m is not None and m >= 0.0 and kept
    if not usable or not isinstance(run.batches, FullBatch):
        return None
    if k is None or (not losses.clipped and m is not None and m > k):
        return None
    averaged = replace(losses, smoothness=k if M is None else min(M, k))
    return last_iterate(replace(run, objective=averaged))


def log_sobolev_dynamics(run: NoisyDescent, k: float | None = None) -> Bound | None:
    """rho-zCDP with `rho = S^2/(2 k tau^2) h(tau k T)`, if k was stated for this very run.

    k is a log-Sobolev constant of the laws before the prox, whatever that prox may be.
    """
    phases = list(run.plan)
    simple = isinstance(run.batches, FullBatch) and isinstance(run.release, LastIterate)
    if k is None or not reach.bounded(run) or not simple or len(phases) != 1:
        return None
    eta, variance = ball(phases[0].step_size), iterate_variance(run, phases[0])
    if not variance > 0:
        return None
    temperature = variance / (2 * eta)
    if ball(k) * variance > 1 + arb(2) ** -29:  # no law is narrower than its last noise
        return None
    t = temperature * ball(k) * phases[0].repeat * eta
    half = arb(1) / 2
    if t <= half:
        share = t / 2
    elif t > half:
        share = (1 - (half - t).exp() / 2) ** 2
    else:
        share = half / 2
    return Concentrated(top(reach.sensitivity(run) ** 2 / (2 * ball(k) * temperature**2) * share))


def last_iterate_modulus(run: NoisyDescent) -> Bound | None:
    """The modulus programme, composition, or the joint programme: whichever is least."""
    plain = isinstance(run.batches, FullBatch) or len(run.plan) == 1
    bounded = math.isfinite(run.domain.diameter) and run.domain.strong_convexity >= 0
    noisy = all(iterate_variance(run, phase) > 0 for phase in run.plan)
    last = isinstance(run.release, LastIterate)
    if not (_fixed_order(run) and last and plain and bounded and noisy):
        return None
    known = [records.composed(run)]
    if run.objective.smoothness is not None:
        pieces = records.pieces_of(run)
        assert pieces is not None
        known.append(records.worst_hidden(run, pieces, run.domain.diameter))
    return Searched(records.least(known), longer=lambda: plan_cost(run))


def poisson_composition(run: NoisyDescent) -> Bound | None:
    """Every step is a Poisson-sampled Gaussian mechanism."""
    if not isinstance(run.batches, Poisson) or not reach.bounded(run):
        return None
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    either = (Direction.REPLACE,) if replaced else (Direction.REMOVE, Direction.ADD)
    return _sampled(run, either)


def fixed_size_composition(run: NoisyDescent) -> Bound | None:
    """Every step uses a random set of fixed size: any two of three laws are close to each other."""
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    if not isinstance(run.batches, WithoutReplacement) or not in_place:
        return None
    return _sampled(run, (Direction.FIXED,)) if reach.bounded(run) else None


def poisson_last_iterate(run: NoisyDescent) -> Bound | None:
    """The last Poisson-sampled steps, and a distance that has faded before them."""
    return Hidden(run) if isinstance(run.batches, Poisson) and _hides_samples(run) else None


def fixed_size_last_iterate(run: NoisyDescent) -> Bound | None:
    """The same with batches of fixed size, if some records are left out."""
    return Hidden(run) if _fixed_size(run) and _hides_samples(run) else None


def poisson_contraction(run: NoisyDescent) -> Bound | None:
    """Each step contracts the hockey-stick divergence, in a bounded set."""
    bounded = math.isfinite(run.domain.diameter)
    usable = isinstance(run.batches, Poisson) and bounded and _follows_moduli(run)
    return contracted(run) if usable else None


def fixed_size_contraction(run: NoisyDescent) -> Bound | None:
    """The same with batches of fixed size."""
    bounded = math.isfinite(run.domain.diameter)
    return contracted(run) if _fixed_size(run) and bounded and _follows_moduli(run) else None


def _fixed_size(run: NoisyDescent) -> bool:
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    spare = run.batch_size < run.records
    return isinstance(run.batches, WithoutReplacement) and in_place and spare


def _follows_moduli(run: NoisyDescent) -> bool:
    """Only the last iterate is seen, noise is everywhere, and no prox expands."""
    noisy = all(iterate_variance(run, phase) > 0 for phase in run.plan)
    last = isinstance(run.release, LastIterate) and reach.bounded(run)
    return noisy and last and run.domain.strong_convexity >= 0 and run.domain.diameter > 0


def _hides_samples(run: NoisyDescent) -> bool:
    """A modulus is known for every batch, and something bounds the distance."""
    if not _follows_moduli(run):
        return False
    sizes = Sizes(0, run.records, run.batch_size)
    return all(modulus_of(run, phase, sizes, ball(1)) is not None for phase in run.plan)


def _sampled(run: NoisyDescent, directions: tuple[Direction, ...]) -> Bound:
    counts: dict[float, int] = {}
    for phase in run.plan:
        if phase.cool_down:
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
    steps: list[tuple[Losses, int]] = [
        (sampled_step(ball(mu), rate), count) for mu, count in grouped.items()
    ]
    used = top(1 - (1 - rate) ** sum(counts.values()))
    shown = None
    if squares and top(squares[-1][0]) > SURE**2 and squares[-1][1] <= MOST_SHOWN:
        shown = _shown(run, squares)
    return replace(Workshop().bound(steps, directions), used=used, shown=shown)


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


def _fixed_order(run: NoisyDescent) -> bool:
    if not reach.bounded(run):
        return False
    if isinstance(run.batches, FullBatch):
        return True
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    return in_place and isinstance(run.batches, Cyclic | ShuffledOnce)


def _pieces(run: NoisyDescent) -> list[records.Piece] | None:
    if not _fixed_order(run) or run.objective.smoothness is None:
        return None
    if isinstance(run.release, EveryIterate):
        return None
    return records.pieces_of(run)


THEOREMS: dict[str, Theorem] = {
    made.__name__: made
    for made in (
        gaussian_composition,
        last_iterate,
        averaged_last_iterate,
        last_iterate_bounded,
        secret_order,
        last_iterate_modulus,
        poisson_composition,
        fixed_size_composition,
        poisson_last_iterate,
        fixed_size_last_iterate,
        poisson_contraction,
        fixed_size_contraction,
        log_sobolev_dynamics,
    )
}
RESTING_ON_A_FACT: dict[str, tuple[str, Callable[..., Bound | None]]] = {
    "log_sobolev": ("log_sobolev_dynamics", log_sobolev_dynamics),
    "average_smoothness": ("averaged_last_iterate", averaged_last_iterate),
}
"""By the kind of a fact of one run, the theorem that takes it as its second argument."""
SEEN = {
    "poisson_last_iterate": ("poisson_composition",),
    "fixed_size_last_iterate": ("fixed_size_composition",),
}
"""Theorems that are never worse than another, which is the same with all steps seen."""
GAUSSIAN = (
    "gaussian_composition",
    "last_iterate",
    "averaged_last_iterate",
    "last_iterate_bounded",
    "last_iterate_modulus",
)
"""Theorems whose bounds add up in squares."""
COMPOSITIONS = ("gaussian_composition", "poisson_composition", "fixed_size_composition")
"""Theorems for a run all of whose iterates are seen."""
COMPOSABLE = (*GAUSSIAN, "poisson_composition", "fixed_size_composition")
"""Theorems whose bounds on several releases are composed."""
