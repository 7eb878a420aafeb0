"""Hypotheses that several verifiers need, read from the description by code of their own."""

from __future__ import annotations

import math

from wane.balls.lemmas import positions, reach
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    LastIterate,
    NoisyDescent,
    ShuffledOnce,
    WithoutReplacement,
)


def fixed_order(run: NoisyDescent) -> bool:
    """Return whether one record's part is bounded and its place in the order is fixed for both."""
    if not reach.bounded(run):
        return False
    if isinstance(run.batches, FullBatch):
        return True
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    return in_place and isinstance(run.batches, Cyclic | ShuffledOnce)


def programme_pieces(run: NoisyDescent) -> list[positions.Piece] | None:
    """Return the pieces of the joint programme; None where it does not apply."""
    if not fixed_order(run) or not smooth(run):
        return None
    if isinstance(run.release, EveryIterate):
        return None
    return positions.pieces_of(run)


def smooth(run: NoisyDescent) -> bool:
    """Return whether every step has a Lipschitz constant, those on public records included."""
    public = run.public is None or run.on_public.objective.smoothness is not None
    return public and run.objective.smoothness is not None


def leaves_some_out(run: NoisyDescent) -> bool:
    """Return whether batches have a fixed size that leaves some out, and the number is public."""
    in_place = run.adjacency is not Adjacency.ADD_REMOVE
    spare = run.batch_size < run.records
    return isinstance(run.batches, WithoutReplacement) and in_place and spare


def follows_moduli(run: NoisyDescent) -> bool:
    """Return whether only the last iterate is seen, noise is everywhere, and no prox expands."""
    noisy = all(iterate_variance(run, phase) > 0 for phase in run.plan)
    last = isinstance(run.release, LastIterate) and reach.bounded(run)
    return noisy and last and run.domain.strong_convexity >= 0 and run.domain.diameter > 0


def in_bounded_set(run: NoisyDescent) -> bool:
    """Return whether the domain has a finite diameter."""
    return math.isfinite(run.domain.diameter)
