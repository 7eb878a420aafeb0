"""How far apart two runs from one start can be, without any bound on the domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wane.describe.choices import Adjacency, Poisson
from wane.describe.descent import NoisyDescent
from wane.describe.schedule import Phase
from wane.theorems.lemmas.loss_moduli import (
    Batch,
    cool_down_modulus,
    lipschitz_row,
    modulus_in,
    whole_batch,
)
from wane.theorems.lemmas.moduli import Modulus

MOST_STEPS = 100_000
"""Distances under a modulus that is not a Lipschitz constant are followed step by step so far."""


def tracked_distances(run: NoisyDescent, least: int, most: int) -> Callable[[int], float]:
    """The distance after any number of steps with `least` to `most` other records in the batch.

    Claim.  d -> phi_N(d) + eta A/b at every step that may use the differing record, A how far
    apart two records' gradients are at two points; for replace-one also d -> phi_{N+1}(d) + eta
    Delta, one version of the record counting as a common one; rounded up.
    """
    made = []
    if math.isfinite(run.gradient_apart):
        made.append(_distances(run, least, most, run.gradient_apart))
    if run.adjacency is Adjacency.REPLACE_ONE and run.gradient_sensitivity is not None:
        # a batch of random size may grow by the record; one of fixed size has it among its b
        sizes = (least, most + 1) if isinstance(run.batches, Poisson) else (least + 1, most)
        made.append(_distances(run, *sizes, run.gradient_sensitivity))
    return lambda steps: min(distance(steps) for distance in made)


def _distances(run: NoisyDescent, least: int, most: int, moved: float) -> Callable[[int], float]:
    """`d -> phi(d) + eta moved` with `least` to `most` common records."""
    phases = list(run.plan)
    followed: dict[tuple[Phase, float], _Followed] = {}  # by the steps and where they start

    def through(start: float, phase: Phase, count: int) -> float:
        eta = phase.step_size
        used, batch, shift = run, Batch(eta, run.batch_size, least, most), eta * moved
        if phase.public:
            used, shift = run.on_public, 0.0
            batch = whole_batch(used, eta)
        row = lipschitz_row(used.objective, batch)
        known = [] if row is None else [repeated(start, 0.5 * row.log_factor, shift, count)]
        if row is None or (row.log_factor > 0.0 and count <= MOST_STEPS):
            if (phase, start) not in followed:
                followed[phase, start] = _Followed(modulus_in(used, batch), shift, [start])
            known.append(followed[phase, start].after(count))
        return min(known)

    def after(steps: int) -> float:
        distance = 0.0
        for phase in phases:
            count = min(phase.repeat, steps)
            steps -= count
            if phase.cool_down:
                factor = cool_down_modulus(run.objective, phase.step_size).log_factor
                distance = repeated(distance, 0.5 * factor, 0.0, count)
                continue
            distance = through(distance, phase, count)
        return distance * (1.0 + 1e-12)

    return after


@dataclass(frozen=True)
class _Followed:
    """Distances step by step, each computed once however often it is asked for."""

    modulus: Modulus | None
    shift: float
    path: list[float]

    def after(self, count: int) -> float:
        """Return the distance after this many steps."""
        if self.modulus is None or count > MOST_STEPS:
            return math.inf if count else self.path[0]
        while len(self.path) <= count:
            last = self.path[-1]
            self.path.append((self.modulus(last) if last > 0.0 else 0.0) + self.shift)
        return self.path[count] * (1.0 + 1e-14 * count)


def repeated(start: float, log_factor: float, shift: float, count: int) -> float:
    """Return `L^n d + s (1 + L + ... + L^(n-1))`, up to rounding; log_factor is ln L."""
    if count == 0:
        return start
    growth = count * log_factor
    if growth > 700.0:
        return math.inf
    total = count if log_factor == 0.0 else math.expm1(growth) / math.expm1(log_factor)
    return math.exp(growth) * start + shift * total
