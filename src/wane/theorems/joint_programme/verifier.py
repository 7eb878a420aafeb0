"""The joint programme of shifted interpolation, again and in balls."""

from __future__ import annotations

import math
from dataclasses import replace

from wane.balls.bounds import Bound, Gaussian, Mixture
from wane.balls.lemmas import positions
from wane.balls.lemmas.hypotheses import programme_pieces
from wane.balls.lemmas.lipschitz import clip_keeps_gradient
from wane.balls.verifier import verifier
from wane.describe import FullBatch, LastIterate, NoisyDescent, ShuffledOnce


@verifier()
def last_iterate(run: NoisyDescent) -> Bound | None:
    """Return the Gaussian bound of the joint programme for the worst record, in any domain."""
    pieces = programme_pieces(run)
    return None if pieces is None else Gaussian(positions.worst_hidden(run, pieces, math.inf))


@verifier()
def last_iterate_bounded(run: NoisyDescent) -> Bound | None:
    """Return the Gaussian bound of the joint programme in a bounded set."""
    pieces, diameter = programme_pieces(run), run.domain.diameter
    if pieces is None or math.isinf(diameter):
        return None
    return Gaussian(positions.worst_hidden(run, pieces, diameter))


@verifier()
def secret_order(run: NoisyDescent) -> Bound | None:
    """Return the average, over positions in the order, of the bounds of the joint programme."""
    pieces = programme_pieces(run)
    if pieces is None or not isinstance(run.batches, ShuffledOnce):
        return None
    if not isinstance(run.release, LastIterate):
        return None
    count = run.steps_per_epoch
    if count > positions.MOST_POSITIONS:
        raise positions.TooLarge(f"{count} positions to average over")
    parts = []
    for place in range(count):
        size = run.last_batch_size if place == count - 1 else run.batch_size
        value = positions.hidden(pieces, place, run.domain.diameter)
        parts.append((size, Gaussian(positions.most([value]))))
    return Mixture(tuple(parts))


@verifier(fact="average_smoothness")
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
