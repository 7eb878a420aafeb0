"""Hypotheses of the theorems that follow the distance of two runs through a modulus."""

from __future__ import annotations

import math

import numpy as np

from wane.describe.batches import FullBatch, WithoutReplacement
from wane.describe.descent import NoisyDescent
from wane.theorems.lemmas import lipschitz as facts, positions as records
from wane.theorems.lemmas.loss_moduli import Batch, lipschitz_row, modulus_in, public_modulus
from wane.theorems.theorem import Answer, Basis, fails, holds, hypothesis, undeclared

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
    return holds("the domain is convex")


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
