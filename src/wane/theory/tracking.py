"""How far apart two runs from one start can be, without any bound on the domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wane.describe.descent import NoisyDescent
from wane.theory.loss_moduli import Batch, cool_down_modulus, lipschitz_row, step_modulus
from wane.theory.moduli import Modulus

MOST_STEPS = 100_000
"""Distances under a modulus that is not a Lipschitz constant are followed step by step so far."""


def tracked_distances(run: NoisyDescent, least: int, most: int) -> Callable[[int], float]:
    """The distance after any number of steps with `least` to `most` other records in the batch.

    Claim.  d -> phi(d) + eta Delta at every step that may use the differing record; rounded up.
    """
    assert run.gradient_sensitivity is not None
    phases = list(
        zip(
            run.plan.repeat.tolist(),
            run.plan.step_size.tolist(),
            run.plan.cool_down.tolist(),
            strict=True,
        )
    )
    delta = run.gradient_sensitivity
    followed: dict[tuple[float, float], _Followed] = {}  # by step size and where it starts

    def through(start: float, eta: float, count: int) -> float:
        batch, shift = Batch(eta, run.batch_size, least, most), eta * delta
        row = lipschitz_row(run.objective, batch)
        known = [] if row is None else [_repeated(start, 0.5 * row.log_factor, shift, count)]
        if row is None or (row.log_factor > 0.0 and count <= MOST_STEPS):
            if (eta, start) not in followed:
                followed[eta, start] = _Followed(step_modulus(run.objective, batch), shift, [start])
            known.append(followed[eta, start].after(count))
        return min(known)

    def after(steps: int) -> float:
        distance = 0.0
        for repeat, eta, cool_down in phases:
            count = min(repeat, steps)
            steps -= count
            if cool_down:
                factor = cool_down_modulus(run.objective, eta).log_factor
                distance = _repeated(distance, 0.5 * factor, 0.0, count)
                continue
            distance = through(distance, eta, count)
        return distance * (1.0 + 1e-12)

    return after


@dataclass(frozen=True)
class _Followed:
    """Distances step by step, each computed once however often it is asked for."""

    modulus: Modulus | None
    shift: float
    path: list[float]

    def after(self, count: int) -> float:
        """The distance after this many steps."""
        if self.modulus is None or count > MOST_STEPS:
            return math.inf if count else self.path[0]
        while len(self.path) <= count:
            last = self.path[-1]
            self.path.append((self.modulus(last) if last > 0.0 else 0.0) + self.shift)
        return self.path[count] * (1.0 + 1e-14 * count)


def _repeated(start: float, log_factor: float, shift: float, count: int) -> float:
    """`L^n d + s (1 + L + ... + L^(n-1))`."""
    if count == 0:
        return start
    growth = count * log_factor
    if growth > 700.0:
        return math.inf
    total = count if log_factor == 0.0 else math.expm1(growth) / math.expm1(log_factor)
    return math.exp(growth) * start + shift * total
