"""Moduli of continuity: losses of any regularity in a bounded set, and saddle problems."""

from __future__ import annotations

import math

import numpy as np

from wane.describe.choices import FullBatch
from wane.describe.descent import NoisyDescent
from wane.describe.saddle import NoisyDescentAscent
from wane.guarantees import GaussianDP
from wane.theorems import hypotheses as given
from wane.theorems.lemmas import lipschitz as facts, positions as records
from wane.theorems.lemmas.loss_moduli import Batch, idle_modulus, modulus_in
from wane.theorems.lemmas.moduli import AffineSquare, Modulus
from wane.theorems.lemmas.tangent_programme import Stretch, solve
from wane.theorems.modulus import saddle
from wane.theorems.theorem import Answer, Basis, Citation, holds, hypothesis, theorem, undeclared

MOST_EPOCHS = 400
"""Of cyclic batches at most this many last epochs are followed; fewer are valid, too."""


@theorem(
    of=NoisyDescent,
    source=Citation("wane", "docs/proofs/modulus-programme.md, Theorem 2"),
    assumes=(
        given.bounded_gradient,
        given.fixed_order,
        given.records_stay_in_place,
        given.last_iterate,
        given.bounded_domain,
        given.short_schedule,
        given.always_noisy,
        given.nonexpansive_prox,
        given.known_modulus,
        given.simple_pattern,
    ),
)
def last_iterate_modulus(run: NoisyDescent) -> GaussianDP:
    """In a bounded set the last iterate stays private for losses of any kind of regularity.

    Claim.  mu^2 = min sum (a_t/sigma_t)^2 over u = D at some step, u' = phi_t(u) + s_t - a_t >= 0,
    u = 0 at the end; phi_t is the least modulus that follows from what is declared.  Or u = 0
    throughout, which is composition; or phi_t from a Lipschitz constant, solved in closed form.
    Source.  The modulus programme of bravo2025modulus (Lemma 3.3, Theorem 3.4) in the Gaussian
    form of bok2024shifted, with the record's shift s_t inside the programme.
    Translation.  paper sigma -> eta s; paper 2L -> G, the largest change of one record's gradient;
    paper beta -> M; s_t = eta Delta at steps that use the record, 0 elsewhere.
    Differs from the paper.  Restarts; the record's shift is not split off; sharper moduli; weak
    smoothness and convexity must hold on the whole space, or only the Hoelder bound is used;
    nothing convex is claimed of clipped gradients unless their form allows it.
    """
    known = [records.composed(run)]
    if run.objective.smoothness is not None and facts.smooth_on_public(run):
        known.append(records.hidden(run, diameter=run.domain.diameter))
    if _says_more_than_lipschitz(run):
        stretches = _full(run) if isinstance(run.batches, FullBatch) else _cyclic(run)
        known.append(solve(stretches, run.domain.diameter).value)
    return GaussianDP(math.sqrt(min(known)))


def _says_more_than_lipschitz(run: NoisyDescent) -> bool:
    """Where only a Lipschitz constant counts, the joint programme is solved exactly."""
    smooth = run.objective.smoothness is not None and facts.smooth_on_public(run)
    steps = np.unique(run.plan.step_size[run.plan.uses_records]).tolist()
    moduli = [_modulus(run, eta) for eta in steps]
    moduli += [idle_modulus(run, phase) for phase in run.plan if phase.public]
    return not (smooth and all(isinstance(modulus, AffineSquare) for modulus in moduli))


def _full(run: NoisyDescent) -> list[Stretch]:
    assert run.gradient_sensitivity is not None
    made = []
    known: dict[tuple[float, bool, bool], Modulus] = {}
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        key = (phase.step_size, phase.cool_down, phase.public)
        if key not in known:
            own = phase.uses_records
            known[key] = _modulus(run, phase.step_size) if own else idle_modulus(run, phase)
        shift = phase.step_size * run.gradient_sensitivity if phase.uses_records else 0.0
        made.append(Stretch(known[key], shift, (phase.step_size * std) ** 2, phase.repeat))
    return made


def _modulus(run: NoisyDescent, eta: float) -> Modulus:
    made = modulus_in(run, Batch(eta, run.batch_size, run.last_batch_size, run.batch_size))
    assert made is not None, "the conditions ask for a known modulus"
    return made


def _cyclic(run: NoisyDescent) -> list[Stretch]:
    """The record used last is worst off: the others' runs are the same, then post-processed."""
    assert run.gradient_sensitivity is not None
    eta, std = float(run.plan.step_size[0]), float(run.gradient_noise_stds[0])
    modulus, variance = _modulus(run, eta), (eta * std) ** 2
    period, left = run.steps_per_epoch, run.total_steps
    made: list[Stretch] = []
    for _ in range(MOST_EPOCHS):
        if left < 1:
            break
        made.append(Stretch(modulus, eta * run.gradient_sensitivity, variance))
        quiet = min(left, period) - 1
        if quiet:
            made.append(Stretch(modulus, 0.0, variance, quiet))
        left -= quiet + 1
    return made[::-1]


@hypothesis("one record moves the averaged field by a bounded vector", Basis.DECLARED)
def bounded_field(game: NoisyDescentAscent) -> Answer:
    """Fields, or the differences of two of them, are bounded."""
    if game.gradient_sensitivity is not None:
        return holds(f"by at most {game.gradient_sensitivity:g} at one point")
    if math.isfinite(game.bounds.difference):
        because = f"the length of a field, which counts under {game.adjacency.value},"
        return undeclared(because, 'gradient_bound = ..., or adjacency = "replace-one"')
    return undeclared("a bound on the fields", "gradient_bound = ...")


@hypothesis("every record's function is convex in x and concave in y", Basis.DECLARED)
def declared_monotone(game: NoisyDescentAscent) -> Answer:
    """A description of this kind says so."""
    return holds(f"the kind of run, with strong_monotonicity={game.strong_monotonicity:g}")


@theorem(
    of=NoisyDescentAscent,
    source=Citation("wane", "docs/proofs/modulus-programme.md, Theorem 3"),
    assumes=(declared_monotone, bounded_field),
)
def saddle_last_iterate(game: NoisyDescentAscent) -> GaussianDP:
    """The last iterate of descent-ascent stays private: far apart fields are bounded, near smooth.

    Claim.  mu^2 = min sum (a_t/(eta s))^2 over u = D at some step, or 0 at the first, u' = phi(u) +
    eta Delta - a_t >= 0, u = 0 at the end; phi(u)^2 = (1 - 2 eta m) u^2 + eta^2 min(M^2 u^2, G^2),
    each of the two bounds where it is declared.  Or u = 0 throughout, which is composition.
    Source.  The modulus of the saddle problem that bravo2025modulus leaves open, in the programme
    of its Theorem 3.4, in the Gaussian form of bok2024shifted with the shift inside.
    Translation.  paper sigma -> eta s; paper 2L -> G; paper beta -> M.
    """
    return GaussianDP(math.sqrt(saddle.least_cost(game)))
