"""The baselines: charge for every use of a record, as if all iterates were seen."""

from __future__ import annotations

import math

import numpy as np

from wane.describe.choices import Adjacency
from wane.describe.descent import NoisyDescent
from wane.describe.stated import StatedRelease
from wane.guarantees import GaussianDP, Guarantee, NumericalDP, Pair, SampledGaussianStep
from wane.guarantees.fields import guarantee_from_fields
from wane.theorems import hypotheses as given
from wane.theorems.lemmas import positions as records
from wane.theorems.lemmas.levels import rounded_down
from wane.theorems.theorem import Answer, Basis, Citation, holds, hypothesis, theorem

MOST_LEVELS = 64
"""Of noise; more are rounded down to so many classes, each a numerical convolution."""


@theorem(
    of=NoisyDescent,
    source=Citation("dong2022gaussian", "composition of Gaussian guarantees"),
    assumes=(given.bounded_gradient, given.fixed_order, given.records_stay_in_place),
)
def gaussian_composition(run: NoisyDescent) -> GaussianDP:
    """Every use of a record is one Gaussian mechanism, and their squares add up.

    Claim.  mu^2 = sum over the record's visits of (Delta / s)^2, for the record with the most.
    Translation.  paper mu_i -> Delta / s of step i.
    Differs from the paper.  Nothing.
    """
    return GaussianDP(math.sqrt(records.composed(run)))


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/sampled-steps.md, Lemma R"),
    assumes=(
        given.bounded_gradient,
        given.poisson_batches,
        given.noisy,
    ),
)
def poisson_composition(run: NoisyDescent) -> NumericalDP:
    """Every step is a Poisson-sampled Gaussian mechanism; their privacy losses are convolved.

    Claim.  Replace-one: the pair (1-q) N(0,1) + q N(-+mu,1), mu = C/(b s), is the worst one.
    Zero-out and add-remove: (1-q) N(0,1) + q N(mu,1) against N(0,1), in both directions.
    Of more than 64 different noises each is rounded down to the least of its class, of 64.
    """
    pair = Pair.REPLACE if run.adjacency is Adjacency.REPLACE_ONE else Pair.ADD_OR_REMOVE
    return _sampled(run, pair)


@theorem(
    of=NoisyDescent,
    source=Citation("zhu2022optimal", "Theorem 11"),
    assumes=(
        given.bounded_gradient,
        given.fixed_size_batches,
        given.size_is_public,
        given.noisy,
    ),
)
def fixed_size_composition(run: NoisyDescent) -> NumericalDP:
    """Every step is a fixed-size sampled Gaussian mechanism; their privacy losses are convolved.

    Claim.  The record takes another's place in the batch; without it, with it, and with the record
    that replaces it, the sums lie at most E apart, E <= 2C (zero-out: the larger of E and C).  One
    pair, its own mirror image, has for orders a >= 1 the profile of (1-q) N(0,1) + q N(mu,1)
    against N(0,1), mu = E/(b s), and is the worst.
    Noises are rounded as in `poisson_composition`.
    Translation.  paper gamma -> q = b/n; its pair for replaced records -> Gaussians mu apart.
    Differs from the paper.  Proved again in docs/proofs/sampled-steps.md, Lemma S.
    """
    return _sampled(run, Pair.FIXED_SIZE)


@hypothesis("the release costs what is stated", Basis.DECLARED)
def stated_cost(release: StatedRelease) -> Answer:
    """Whoever states it vouches for it."""
    return holds(f"stated by {release.source}")


@theorem(
    of=StatedRelease,
    source=Citation("wane", "docs/learn.md"),
    assumes=(stated_cost,),
    unverified="the numbers are the description's own; a document's fingerprint covers them",
)
def as_stated(release: StatedRelease) -> Guarantee:
    """A release costs what is stated of it.

    Claim.  mu-Gaussian privacy; or (epsilon, delta), which is at worst randomised response that
    fails with probability delta; each except with the stated probability of failure.
    """
    return guarantee_from_fields(release.cost)


def _sampled(run: NoisyDescent, pair: Pair) -> NumericalDP:
    data = run.plan.uses_records
    stds = rounded_down(run.gradient_noise_stds[data], MOST_LEVELS)
    mus = np.nextafter(run.gradient_member / stds, np.inf)
    rate = run.batch_size / run.records
    counts: dict[float, int] = {}
    for mu, count in zip(mus.tolist(), run.plan.repeat[data].tolist(), strict=True):
        counts[mu] = counts.get(mu, 0) + count
    return NumericalDP(
        tuple((SampledGaussianStep(mu, rate, pair), count) for mu, count in counts.items())
    )
