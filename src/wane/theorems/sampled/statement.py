"""Random batches and hidden iterates: the last sampled steps, then a distance that has faded."""

from __future__ import annotations

from wane.describe.descent import NoisyDescent
from wane.theorems import hypotheses as given
from wane.theorems.lemmas.family import Tuned
from wane.theorems.lemmas.sampled_plan import SampledPlan
from wane.theorems.theorem import Citation, theorem

HIDDEN_SAMPLED_STEPS = (
    given.bounded_gradient,
    given.last_iterate,
    given.short_schedule,
    given.always_noisy,
    given.nonexpansive_prox,
    given.known_modulus,
    given.bounded_distance,
)


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/sampled-steps.md, Theorem P"),
    assumes=(given.poisson_batches, *HIDDEN_SAMPLED_STEPS),
)
def poisson_last_iterate(run: NoisyDescent) -> Tuned:
    """With Poisson batches only the last steps count, and privacy stops decaying with their number.

    Claim.  For any R, theta and batch cap: R sampled Gaussian steps with noise (1-theta) s^2,
    composed with a Gaussian of mu^2 = value of the modulus programme over R steps with noise
    theta (eta s)^2 and phi = the largest over batch sizes up to the cap; the probability that one
    of R batches exceeds the cap is added to delta.  Of more than 32 different noises each sampled
    step's is rounded down to the least of its class, of 32.
    Source.  Replaces bravo2025modulus, Theorem 5.2.
    Translation.  paper sigma -> s; paper L -> C; sampled shift mu = C/(b s sqrt(1-theta)).
    Differs from the paper.  Its proof conditions on a batch that is not independent of what it
    conditions on, and takes batches of random size for batches of size b.
    """
    return _tuned(run)


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/sampled-steps.md, Theorem F"),
    assumes=(
        given.fixed_size_batches,
        given.size_is_public,
        given.spare_records,
        *HIDDEN_SAMPLED_STEPS,
    ),
)
def fixed_size_last_iterate(run: NoisyDescent) -> Tuned:
    """With batches of fixed size only the last steps count, and privacy stops decaying.

    Claim.  As `poisson_last_iterate` with batches of b records, no cap, and the shift E of two
    records at one point: the record takes another's place.  Replace-one: each step is the pair of
    `fixed_size_composition`.  Zero-out: the replace pair, with the larger of E and C.
    Source.  Repairs bravo2025modulus, Theorem 5.4.
    Translation.  paper sigma -> s; paper 2L -> E; sampled shift mu = E/(b s sqrt(1-theta)).
    Differs from the paper.  The coupling keeps the common map independent of membership.
    """
    return _tuned(run)


def _tuned(run: NoisyDescent) -> Tuned:
    plan = SampledPlan(run)
    return Tuned(plan.member, plan.divergence)
