"""The hypotheses theorems ask for, each written once, each with its cure."""

from __future__ import annotations

import math

import numpy as np

from wane.describe.choices import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    LastIterate,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.descent import NoisyDescent
from wane.describe.facts import FactKind, fingerprint
from wane.theorems.lemmas import lipschitz as facts, positions as records
from wane.theorems.lemmas.loss_moduli import (
    Batch,
    is_convex,
    lipschitz_row,
    modulus_in,
    public_modulus,
)
from wane.theorems.theorem import (
    Answer,
    Basis,
    fact_hypothesis,
    fails,
    holds,
    hypothesis,
    undeclared,
)


@hypothesis("what one record adds to a step has a known bound", Basis.DECLARED)
def bounded_gradient(run: NoisyDescent) -> Answer:
    if run.gradient_sensitivity is None or math.isinf(run.gradient_member):
        return undeclared("gradient_bound", "objective.gradient_bound = a proven bound, or clip")
    bound, apart = run.objective.gradient_bound, run.objective.gradient_difference_bound
    known = [] if bound is None else [f"gradient_bound={bound:g}"]
    known += [] if apart is None else [f"gradient_difference_bound={apart:g}"]
    return holds(" and ".join(known) + (", by clipping" if run.objective.clipped else ", declared"))


@hypothesis("the losses are smooth", Basis.DECLARED)
def smooth(run: NoisyDescent) -> Answer:
    M = run.objective.smoothness
    if M is None:
        return undeclared("smoothness", "objective.smoothness = a proven Lipschitz constant")
    if not facts.smooth_on_public(run):
        return undeclared(
            "smoothness of the public records' losses",
            "public.objective.smoothness = a proven Lipschitz constant",
        )
    if run.public is not None:
        return holds(f"smoothness={M:g}; public {run.on_public.objective.smoothness:g}")
    return holds(f"smoothness={M:g}")


@hypothesis("each record's loss is convex, clipping included", Basis.DECLARED)
def convex_losses(run: NoisyDescent) -> Answer:
    if is_convex(run.objective):
        return holds("strong_convexity >= 0, and clipping keeps it")
    return fails(
        "records that bend downwards could hide others that bend upwards",
        'objective.strong_convexity >= 0, and form = "glm" if gradients are clipped',
    )


@hypothesis("noise is added at every step that uses records")
def noisy(run: NoisyDescent) -> Answer:
    quiet = (run.gradient_noise_stds == 0.0) & run.plan.uses_records
    if quiet.any():
        first = int(np.flatnonzero(quiet)[0])
        return fails(f"phase {first + 1} has no noise", "noise > 0 in every phase")
    return holds("every phase has noise")


@hypothesis("batches are the whole data or a fixed order of disjoint batches")
def fixed_order(run: NoisyDescent) -> Answer:
    if isinstance(run.batches, FullBatch | Cyclic | ShuffledOnce):
        return holds(f"batches are {run.batches.kind}")
    return fails(f"batches are {run.batches.kind}", 'batches.kind = "cyclic"')


@hypothesis("the order of the records is drawn once at random and stays secret", Basis.ENFORCED)
def secret_order(run: NoisyDescent) -> Answer:
    if isinstance(run.batches, ShuffledOnce):
        return holds("batches are shuffled once")
    return fails(f"batches are {run.batches.kind}", 'batches.kind = "shuffled-once"')


@hypothesis("each record joins each batch independently at random", Basis.ENFORCED)
def poisson_batches(run: NoisyDescent) -> Answer:
    if isinstance(run.batches, Poisson):
        return holds(f"rate {run.batches.size}/{run.records}")
    return fails(f"batches are {run.batches.kind}", 'batches.kind = "poisson"')


@hypothesis("each batch is a fresh random set of fixed size", Basis.ENFORCED)
def fixed_size_batches(run: NoisyDescent) -> Answer:
    if isinstance(run.batches, WithoutReplacement):
        return holds(f"size {run.batches.size} of {run.records}")
    return fails(f"batches are {run.batches.kind}", 'batches.kind = "without-replacement"')


@hypothesis("only the last iterate is released", Basis.ENFORCED)
def last_iterate(run: NoisyDescent) -> Answer:
    if isinstance(run.release, LastIterate):
        return holds("release is the last iterate")
    return fails("earlier iterates are released too", 'release = "last-iterate"')


@hypothesis("some iterates stay secret", Basis.ENFORCED)
def some_hidden(run: NoisyDescent) -> Answer:
    if isinstance(run.release, EveryIterate):
        return fails("every iterate is released", 'release = "last-iterate"')
    return holds("not every iterate is released")


@hypothesis("neighbouring data sets have the same number of records in the same places")
def records_stay_in_place(run: NoisyDescent) -> Answer:
    if run.adjacency is not Adjacency.ADD_REMOVE or isinstance(run.batches, FullBatch):
        return holds(f"adjacency is {run.adjacency.value}, batches are {run.batches.kind}")
    return fails(
        "adding a record moves all others to other batches",
        'adjacency = "replace-one" or "zero-out"',
    )


@hypothesis("the batch size is not changed by adding a record")
def size_is_public(run: NoisyDescent) -> Answer:
    if run.adjacency is not Adjacency.ADD_REMOVE:
        return holds(f"adjacency is {run.adjacency.value}")
    return fails(
        "add-remove changes the sets of fixed size", 'adjacency = "replace-one" or "zero-out"'
    )


@hypothesis("the prox that ends each step has a finite Lipschitz constant")
def certified_prox(run: NoisyDescent) -> Answer:
    worst = float(np.max(facts.log_prox_lipschitz(run, run.plan.step_size)))
    if math.isinf(worst):
        limit = -1.0 / float(run.domain.strong_convexity)
        return fails(
            f"step_size is not below {limit:g}, where this weakly convex prox may jump",
            f"step_size < {limit:g}",
        )
    return holds(f"Lipschitz constant at most {math.exp(worst):.6g}{vouched(run)}")


def vouched(run: NoisyDescent) -> str:
    """Return who says so where a prox is one of the user's own; nothing where it is not."""
    names = ", ".join(f'"{name}"' for name in run.domain.declared)
    return f", as declared of the prox {names}" if names else ""


@hypothesis("iterates stay in a set of finite diameter", Basis.ENFORCED)
def bounded_domain(run: NoisyDescent) -> Answer:
    d = run.domain.diameter
    if math.isinf(d):
        return fails("the domain is unbounded", "domain.diameter = ... (a ball, a box, ...)")
    return holds(f"diameter={d:g}{vouched(run)}")


@hypothesis(f"the schedule has at most {records.FEW_ROWS} phases")
def short_schedule(run: NoisyDescent) -> Answer:
    if len(run.plan) <= records.FEW_ROWS:
        return holds(f"{len(run.plan)} phases")
    return fails(f"{len(run.plan)} phases", "fewer, longer phases")


@hypothesis("the losses' flattest direction rules, at constant step size, on the whole space")
def flattest_direction_rules(run: NoisyDescent) -> Answer:
    """Then a quadratic of the class with opposing linear terms attains the bound exactly.

    Where whole gradients are bounded only linear losses are of the class, so that it must be flat.
    """
    if run.objective.clipped or run.objective.strong_convexity is None:
        return fails("gradients are clipped, or convexity is not declared")
    if run.objective.gradient_bound is not None and run.objective.strong_convexity != 0.0:
        return fails("on the whole space a bounded gradient belongs to no quadratic")
    m, M = facts.curvature(run.objective)
    low, high = m + run.objective.ridge, M + run.objective.ridge
    eta = float(run.plan.step_size[0])
    simple = len(run.plan) == 1 and run.domain.strong_convexity == 0
    whole = isinstance(run.batches, FullBatch) and math.isinf(run.domain.diameter)
    if simple and whole and low >= 0.0 and eta * (low + high) <= 2.0:
        return holds(f"step_size*(m+M)={eta * (low + high):g} <= 2")
    return fails("not one full-batch phase of convex losses with step_size*(m+M) <= 2, unbounded")


@hypothesis("an epoch has at most 100000 batches")
def few_positions(run: NoisyDescent) -> Answer:
    if run.steps_per_epoch <= 100_000:
        return holds(f"{run.steps_per_epoch} batches")
    return fails(f"{run.steps_per_epoch} batches", "larger batches")


@hypothesis("every step uses every record")
def full_batch(run: NoisyDescent) -> Answer:
    if isinstance(run.batches, FullBatch):
        return holds("batches are full")
    return fails(f"batches are {run.batches.kind}", 'batches.kind = "full"')


@hypothesis("all steps are alike")
def one_phase(run: NoisyDescent) -> Answer:
    if len(run.plan) == 1:
        return holds("one phase")
    return fails(f"{len(run.plan)} phases", "constant step_size and noise, no cool_down")


@fact_hypothesis(
    "every step's law before the prox, at every share of its noise, has a log-Sobolev constant",
    FactKind.LOG_SOBOLEV,
    about=fingerprint,
    cure="certify(run, facts=[Fact.of(run, FactKind.LOG_SOBOLEV, a proven constant)])",
)
def log_sobolev_constant(run: NoisyDescent, k: float) -> Answer:
    """The last share of the noise is added to the law, whose variance is then at least that."""
    std = float(run.plan.step_size[-1] * run.gradient_noise_stds[-1])
    widest = math.inf if std == 0.0 else 1.0 / std**2
    if k > widest * (1.0 + 1e-9):
        return fails(f"a step's noise alone allows at most {widest:g}, not {k:g}", "a proof")
    return holds(f"log_sobolev={k:g}, stated for this run")


@fact_hypothesis(
    "the average loss of these very records, and of their neighbours, has a known curvature",
    FactKind.AVERAGE_SMOOTHNESS,
    about=fingerprint,
    cure="certify(run, facts=[bound.about(run)]) with the bound of private_curvature",
)
def average_smoothness(run: NoisyDescent, u: float) -> Answer:
    m = run.objective.strong_convexity
    if not run.objective.clipped and m is not None and m > u:
        return fails(f"each loss bends by at least {m:g}, and their average cannot bend less")
    if not facts.smooth_on_public(run):
        return fails("nothing is declared of the public records", "public.objective.smoothness")
    return holds(f"average_smoothness={u:g}, stated for this run")


SMALLEST_VARIANCE = 1e-290
"""Of the noise on the iterate: shares of it must still be numbers."""


@hypothesis("noise is added at every step")
def always_noisy(run: NoisyDescent) -> Answer:
    """Every phase has noise."""
    quiet = run.gradient_noise_stds == 0.0
    if quiet.any():
        first = int(np.flatnonzero(quiet)[0])
        return fails(f"phase {first + 1} has no noise", "noise > 0 in every phase")
    with np.errstate(over="ignore", under="ignore"):
        faint = (run.plan.step_size * run.gradient_noise_stds) ** 2 < SMALLEST_VARIANCE
    if faint.any():
        first = int(np.flatnonzero(faint)[0])
        because = f"phase {first + 1} has noise whose variance leaves the range of doubles"
        return fails(because, "noise and step_size nearer to 1")
    return holds("every phase has noise")


@hypothesis("the prox that ends each step moves no two points apart")
def nonexpansive_prox(run: NoisyDescent) -> Answer:
    """The domain is convex."""
    worst = float(np.max(facts.log_prox_lipschitz(run, run.plan.step_size)))
    if worst > 0.0:
        return fails("the prox of a weakly convex function expands", "a convex domain")
    return holds(f"the domain is convex{vouched(run)}")


@hypothesis("how far one step can drive two points apart is known")
def known_modulus(run: NoisyDescent) -> Answer:
    """Some row of the table applies."""
    if len(run.plan) > records.FEW_ROWS:
        return fails(f"{len(run.plan)} phases are too many to look at", "fewer, longer phases")
    for eta in np.unique(run.plan.step_size[run.plan.uses_records]).tolist():
        if modulus_in(run, Batch(eta, run.batch_size, 0, run.records)) is None:
            if math.isinf(run.gradient_change):
                return undeclared(
                    "how far a gradient changes",
                    "objective.gradient_bound = ..., smoothness or a Hoelder bound",
                )
            return fails(
                f"step_size*ridge={eta * run.objective.ridge:g} is not below one",
                "a smaller step_size, or objective.smoothness = ...",
            )
    for eta in np.unique(run.plan.step_size[run.plan.public]).tolist():
        if public_modulus(run, eta) is None:
            return undeclared(
                "how far a gradient of a public record changes",
                "public.objective.gradient_bound = ..., smoothness or a Hoelder bound",
            )
    return holds("the least of all that follows from the declared regularity")


@hypothesis("all batches are the same, or all steps are")
def simple_pattern(run: NoisyDescent) -> Answer:
    """Full batches, or one phase."""
    if isinstance(run.batches, FullBatch):
        return holds("every step uses every record")
    if len(run.plan) == 1:
        return holds("one phase of equal steps")
    return fails(f"{len(run.plan)} phases of cyclic batches", "one phase, or full batches")


@hypothesis("other records can take the place of one in a batch")
def spare_records(run: NoisyDescent) -> Answer:
    """The batch is not the whole data."""
    if not isinstance(run.batches, WithoutReplacement) or run.batch_size < run.records:
        return holds(f"{run.batch_size} of {run.records} records")
    return fails("the batch is the whole data", 'batches.kind = "full"')


@hypothesis("the iterates' distance stays bounded", Basis.DERIVED)
def bounded_distance(run: NoisyDescent) -> Answer:
    """By the domain, or because every step contracts."""
    if math.isfinite(run.domain.diameter):
        return holds(f"diameter={run.domain.diameter:g}")
    batch = _widest(run)
    row = lipschitz_row(run.objective, batch)
    if row is not None and row.log_factor < 0.0:
        return holds(f"steps contract by {math.exp(0.5 * row.log_factor):.6g} at least")
    return fails(
        "the domain is unbounded and steps need not contract", "domain.diameter = ..., or a ridge"
    )


def _widest(run: NoisyDescent) -> Batch:
    """Return the range of batch sizes over which the distance of two runs is tracked."""
    eta = float(np.max(run.plan.step_size))
    if isinstance(run.batches, WithoutReplacement):
        return Batch(eta, run.batch_size, run.batch_size - 1, run.batch_size)
    return Batch(eta, run.batch_size, 0, run.batch_size)
