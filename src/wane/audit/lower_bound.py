"""The worst exact member of a described class that was found: no sound epsilon is below it.

Each kind of batches, gradients and domains has its own family of members; all of them are exact, or
carry their own error.  What is tight and what is not is listed in docs/brackets.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.audit.bounded_members import bounded_members
from wane.audit.clipped_members import clipped_members
from wane.audit.fixed_order import worst_fixed_order
from wane.audit.member_epsilon import SHAVE, GaussianLeak, Leak
from wane.audit.members import Curvatures, curvatures, is_bounded, log_slope, public_curvatures
from wane.audit.random_order import fresh_batches, secret_order
from wane.describe import (
    Adjacency,
    FullBatch,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.numerics.normal import gaussian_mu


@dataclass(frozen=True)
class LowerBound:
    """The leaks of exact members of the class; none is worse than the class."""

    leaks: tuple[Leak, ...]

    def epsilon(self, delta: float) -> float:
        """Return an epsilon that no sound claim at `delta` can undercut."""
        best = 0.0
        for leak in self.leaks:
            best = max(best, leak.epsilon(delta, best))
        return best

    def mu(self, delta: float) -> float:
        """Return a mu that no sound Gaussian claim can undercut, judged at `delta`."""
        exact = [g.mu for g in self.leaks if isinstance(g, GaussianLeak) and g.failure == 0.0]
        if not 0.0 < delta < 1.0:
            return max(exact, default=0.0)
        epsilon = self.epsilon(delta)
        return max([*exact, gaussian_mu(epsilon, delta) * SHAVE if epsilon > 0.0 else 0.0])


def lower_bound(run: NoisyDescent) -> LowerBound | None:
    """Return the worst members found, or None where wane knows none it can compute exactly."""
    if run.gradient_sensitivity is None or not (run.gradient_noise_stds > 0).all():
        return None
    allowed = curvatures(run.objective)
    if allowed is None:
        return None
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            leaks = _members(run, allowed)
    except ArithmeticError:
        return None
    return LowerBound(tuple(leaks)) if leaks else None


def _members(run: NoisyDescent, allowed: Curvatures) -> list[Leak]:
    if run.adjacency is Adjacency.ADD_REMOVE and not isinstance(run.batches, FullBatch):
        return []  # adding a record moves others to other batches
    if run.public is not None and (
        public_curvatures(run) is None or math.isfinite(run.domain.diameter)
    ):
        return []  # members on an interval take no steps on public records
    if math.isfinite(run.domain.diameter):
        return bounded_members(run, allowed)
    if log_slope(run.domain, 1.0) is None:
        return []
    if isinstance(run.batches, Poisson | WithoutReplacement | ShuffledOnce):
        if is_bounded(run.objective):
            flat = allowed.shared_with(Curvatures(0.0, 0.0))
            if flat is None or run.domain.kind != "unbounded":
                return []
            allowed = flat
        kind = secret_order if isinstance(run.batches, ShuffledOnce) else fresh_batches
        return kind(run, allowed)
    if is_bounded(run.objective):
        if run.public is not None:
            return []
        walks = run.objective.clipped or allowed.shared_with(Curvatures(0.0, 0.0)) is not None
        return clipped_members(run) if walks else []
    mu = worst_fixed_order(run, allowed)
    return [] if mu is None else [GaussianLeak(mu * SHAVE)]
