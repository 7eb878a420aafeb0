"""Shifted interpolation: what stays hidden is amplified, solved jointly over the whole run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from wane.describe.descent import NoisyDescent
from wane.guarantees import GaussianDP, GaussianMixture
from wane.theorems import hypotheses as given
from wane.theorems.lemmas import positions as records
from wane.theorems.theorem import Citation, theorem

STEPS_ARE_LIPSCHITZ = (
    given.bounded_gradient,
    given.smooth,
    given.fixed_order,
    given.records_stay_in_place,
    given.some_hidden,
    given.certified_prox,
)


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/joint-programme.md, Theorem 1"),
    assumes=STEPS_ARE_LIPSCHITZ,
    tight_when=(given.last_iterate, given.flattest_direction_rules),
)
def last_iterate(run: NoisyDescent) -> GaussianDP:
    """Hidden steps wash a record out: only a share of each use reaches what is released.

    Claim.  mu^2 = min sum (a_t/sigma_t)^2 over w_t = c_t w_{t-1} + s_t - a_t >= 0, w = 0 at the
    start and at every release; the worst record over all positions.
    Source.  The interpolation of bok2024shifted, with one joint programme for the whole run.
    Translation.  s_t = eta_t Delta, sigma_t = eta_t s, c_t = Lipschitz constant of step t and the
    prox before it.
    Tight.  No bound that uses only Lipschitz constants is smaller.
    """
    return GaussianDP(math.sqrt(records.hidden(run)))


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/curvature.md, why the descent is such a mechanism"),
    assumes=(
        given.bounded_gradient,
        given.full_batch,
        given.convex_losses,
        given.some_hidden,
        given.certified_prox,
        given.average_smoothness,
    ),
)
def averaged_last_iterate(run: NoisyDescent, average: float) -> GaussianDP:
    """Steps that use all records bend as their average does, so longer ones still wash out.

    Claim.  As `last_iterate`, with the curvature of the average in place of one record's: a run on
    n records is that on n copies of their average, whose Hessian lies between 0 and u.
    Translation.  M = min(M, u); the shift eta Delta is that of one record, as before.
    """
    M = run.objective.smoothness
    copies = replace(run.objective, smoothness=average if M is None else min(M, average))
    return GaussianDP(math.sqrt(records.hidden(replace(run, objective=copies))))


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/joint-programme.md, Theorem 2"),
    assumes=(*STEPS_ARE_LIPSCHITZ, given.bounded_domain, given.short_schedule),
)
def last_iterate_bounded(run: NoisyDescent) -> GaussianDP:
    """In a bounded set old differences cannot exceed the diameter, so privacy stops decaying.

    Claim.  As `last_iterate`, but the programme may start after any step with w = diameter.
    """
    return GaussianDP(math.sqrt(records.hidden(run, diameter=run.domain.diameter)))


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/joint-programme.md, Theorem 3"),
    assumes=(
        *STEPS_ARE_LIPSCHITZ,
        given.secret_order,
        given.last_iterate,
        given.few_positions,
    ),
)
def secret_order(run: NoisyDescent) -> GaussianMixture:
    """If nobody learns the order, a record's guarantee is the average over its positions.

    Claim.  delta(eps) = average over positions of the Gaussian profile at that position's mu.
    """
    mus = np.sqrt(records.hidden_by_position(run, diameter=run.domain.diameter))
    sizes = np.full(run.steps_per_epoch, run.batch_size)
    sizes[-1] = run.last_batch_size
    return GaussianMixture(mus=tuple(mus.tolist()), weights=tuple((sizes / run.records).tolist()))
