"""A log-Sobolev constant of one run, computed from the constants of its losses."""

from __future__ import annotations

import math

import numpy as np

from wane import arguments
from wane.describe.choices import Adjacency, FullBatch
from wane.describe.descent import NoisyDescent
from wane.describe.facts import Fact, FactKind
from wane.errors import InvalidDescription, Unreachable
from wane.numerics.rounding import inflate
from wane.theorems.lemmas.lipschitz import log_prox_lipschitz, log_step_lipschitz

_ROUNDING = 4e-12
"""Covers exponentials of exponents up to 700 that are right to 1e-15."""


def tracked_log_sobolev(run: NoisyDescent, *, start_spread: float = 0.0) -> Fact:
    """Return the log-Sobolev constant that the losses' curvature gives this run, as its fact.

    `start_spread` is one over the log-Sobolev constant of the start: 0 for a fixed point, v for
    N(c, v I).  In a search pass this function itself, so that it is asked of each run anew.

    Claim.  Before the prox of step j the spread is at most B_j, B_0 = L^2 V_0 + (eta s)^2,
    B_(j+1) = (q L)^2 B_j + (eta s)^2, with L the Lipschitz constant of a step on any data set that
    the adjacency allows and q that of the prox; k = 1/max B_j.
    Source.  docs/proofs/log-sobolev.md, Lemma 3 and section 3.
    """
    arguments.kind("run", run, (NoisyDescent,))
    start = arguments.real("start_spread", start_spread, least=0.0)
    _check_trackable(run)
    eta = run.plan.step_size[:1]
    log_step = max(float(log_step_lipschitz(run, eta, share=s)[0]) for s in _shares(run))
    log_prox = float(log_prox_lipschitz(run, eta)[0])
    if math.isinf(log_prox):
        raise InvalidDescription(
            f"domain must have a prox with a Lipschitz constant at step_size {float(eta[0]):g}, "
            "got one that may jump; shorten the steps."
        )
    fresh = float(eta[0] * run.gradient_noise_stds[0]) ** 2
    try:
        first = math.exp(2.0 * log_step) * start + fresh
        widest = max(first, _later(first, fresh, 2.0 * (log_step + log_prox), run.total_steps - 1))
    except OverflowError:
        widest = math.inf
    spread = inflate(widest, _ROUNDING)
    if not 0.0 < spread < math.inf:
        raise Unreachable(
            f"No log-Sobolev constant follows for this run: its spread is {spread:g}; "
            "add noise, or take fewer or shorter steps."
        )
    return Fact.of(run, FactKind.LOG_SOBOLEV, math.nextafter(1.0 / spread, 0.0))


def _later(first: float, fresh: float, log_factor: float, steps: int) -> float:
    """`B_steps`: the sequence is monotone, so that one of its ends is the widest."""
    if log_factor == 0.0:
        return first + steps * fresh
    kept = math.exp(steps * log_factor)
    return kept * first + fresh * (math.expm1(steps * log_factor) / math.expm1(log_factor))


def _shares(run: NoisyDescent) -> tuple[float, ...]:
    """Return the sizes that a data set may have, divided by the number of records described."""
    n = run.records
    return {
        Adjacency.REPLACE_ONE: (1.0,),
        Adjacency.ZERO_OUT: (1.0, (n - 1) / n),
        Adjacency.ADD_REMOVE: (1.0, (n - 1) / n, (n + 1) / n),
    }[run.adjacency]


def _check_trackable(run: NoisyDescent) -> None:
    if run.objective.smoothness is None:
        raise InvalidDescription(
            "objective.smoothness must be declared to track the spread of a run, got None; "
            "prove a log-Sobolev constant yourself and state it by Fact.of(run, ...)."
        )
    if len(run.plan) != 1 or not isinstance(run.batches, FullBatch):
        raise InvalidDescription(
            f"run must have full batches and equal steps to track its spread, got "
            f"{run.batches.kind} batches in {len(run.plan)} phases; the theorem needs no others."
        )
    if not np.all(run.gradient_noise_stds > 0.0):
        raise InvalidDescription("noise must be above zero to track the spread, got none.")
