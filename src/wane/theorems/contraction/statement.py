"""Contraction of hockey-stick divergences: one strong bound for large noise and small sets."""

from __future__ import annotations

from wane.describe.descent import NoisyDescent
from wane.theorems import hypotheses as given
from wane.theorems.contraction.recursion import delta_after, recursions_of
from wane.theorems.lemmas.family import Profile
from wane.theorems.lemmas.sampled_plan import SampledPlan
from wane.theorems.theorem import Citation, theorem

NOISE_COVERS_THE_SET = (
    given.bounded_gradient,
    given.last_iterate,
    given.bounded_domain,
    given.short_schedule,
    given.always_noisy,
    given.nonexpansive_prox,
    given.known_modulus,
)


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/sampled-steps.md, Theorem C"),
    assumes=(given.poisson_batches, *NOISE_COVERS_THE_SET),
)
def poisson_contraction(run: NoisyDescent) -> Profile:
    """Noise as wide as the domain forgets: each step contracts the hockey-stick divergence.

    Claim.  delta <- (1-q) theta delta + q theta', theta = E[H(phi_N(D)/(eta s))] and theta' =
    E[H((phi_N(D) + eta A/b)/(eta s))] over the number N of other records in the batch, H(r) the
    hockey-stick divergence of unit Gaussians r apart and A how far apart two records' gradients
    are at two points; or, for replace-one, phi_{N+1}(D) + eta Delta.  With a record added or
    removed, the larger of both numbers of others, n - 1 and n.
    Source.  The recursion of asoodeh2023dpsgd, as compared with in bravo2025modulus, (24).
    Translation.  paper sigma -> s, paper L -> C, paper D -> diameter.
    Differs from the paper.  Its constant for the distance of two steps, and batches of random
    size, are corrected; the modulus of the losses is used.
    """
    return _profile(run)


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/sampled-steps.md, Theorem C"),
    assumes=(
        given.fixed_size_batches,
        given.size_is_public,
        given.spare_records,
        *NOISE_COVERS_THE_SET,
    ),
)
def fixed_size_contraction(run: NoisyDescent) -> Profile:
    """Noise as wide as the domain forgets, with batches of fixed size.

    Claim.  As `poisson_contraction`, N = b without the record and b - 1 with it.
    """
    return _profile(run)


def _profile(run: NoisyDescent) -> Profile:
    recursions = recursions_of(run)
    return Profile(lambda epsilon: delta_after(recursions, epsilon), SampledPlan(run).composition())
