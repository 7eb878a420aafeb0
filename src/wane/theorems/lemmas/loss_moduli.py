"""From what is declared of the losses to the modulus of one step: the least of all valid rows.

A step is `x -> x - eta (sum over N records of their gradients / b + ridge x)`.  With
`a = 1 - eta ridge > 0` it is `a` times a gradient step of size `e = eta N/(b a)` on the average of
the N losses.  Where N is random or unknown the modulus must hold for all N in a range: factors are
convex in N, so the larger of both ends counts; offsets grow with N (docs/proofs/sampled-steps.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.describe.descent import NoisyDescent
from wane.describe.objective import Objective
from wane.describe.schedule import Phase
from wane.theorems.lemmas import lipschitz as facts, modulus_rows as rows
from wane.theorems.lemmas.moduli import IDENTITY, AffineSquare, Least, Modulus, Scaled, Triangle


@dataclass(frozen=True)
class Batch:
    """A step of this size on `least` to `most` records, their sum divided by `divisor`."""

    step_size: float
    divisor: int
    least: int
    most: int


def whole_batch(run: NoisyDescent, step_size: float) -> Batch:
    """Return the batch of a step that uses as many records as its divisor says."""
    return Batch(step_size, run.batch_size, run.batch_size, run.batch_size)


def is_convex(objective: Objective) -> bool:
    """Return whether the gradients used, clipped or not, are those of convex functions."""
    m = objective.strong_convexity
    kept = not objective.clipped or facts.clipping_is_harmless(objective)
    return m is not None and m >= 0.0 and kept


def step_modulus(objective: Objective, batch: Batch, change: float | None = None) -> Modulus | None:
    """Return the least of all moduli that follow from what is declared; None if nothing does.

    `change` bounds how far one record's contribution moves between two points of the domain
    (`NoisyDescent.gradient_change`); without it, of the whole space.
    """
    if batch.most == 0:
        return cool_down_modulus(objective, batch.step_size)
    lipschitz = lipschitz_row(objective, batch)
    made: list[Modulus] = [] if lipschitz is None else [lipschitz]
    shrink = 1.0 - batch.step_size * objective.ridge
    if shrink > 0.0:
        G = objective.change(math.inf) if change is None else change
        others = [_scaled(row, shrink) for row in _gradient_rows(objective, batch, shrink, G)]
        made += [row for row in others if _may_help(row, lipschitz, shrink)]
    if not made:
        return None
    return made[0] if len(made) == 1 else Least(tuple(made))


def modulus_in(run: NoisyDescent, batch: Batch) -> Modulus | None:
    """Return the least modulus of such a step of this run, whose points stay in its domain."""
    return step_modulus(run.objective, batch, run.gradient_change)


def _may_help(row: Modulus, lipschitz: AffineSquare | None, shrink: float) -> bool:
    """Whether a row can be below the Lipschitz one: most never shrink by more than the ridge."""
    if lipschitz is None or lipschitz.log_factor > 2.0 * math.log(shrink) + 1e-12:
        return True
    return isinstance(row, AffineSquare) and row.log_factor < lipschitz.log_factor


def cool_down_modulus(objective: Objective, step_size: float) -> AffineSquare:
    """Return the modulus of a step that uses no record."""
    x = facts.log_gradient_lipschitz(np.array([step_size]), objective.ridge, objective.ridge)
    return AffineSquare(_square(float(x[0])))


def idle_modulus(run: NoisyDescent, phase: Phase) -> Modulus:
    """Return the modulus of a step that uses public records or none."""
    if not phase.public:
        return cool_down_modulus(run.objective, phase.step_size)
    made = public_modulus(run, phase.step_size)
    assert made is not None, "the conditions ask for a known modulus"
    return made


def public_modulus(run: NoisyDescent, step_size: float) -> Modulus | None:
    """Return the least modulus of a step on the public records, all of which it uses."""
    return modulus_in(run.on_public, whole_batch(run.on_public, step_size))


def lipschitz_row(objective: Objective, batch: Batch) -> AffineSquare | None:
    """Return the modulus by the step's Lipschitz constant; None if no smoothness is declared."""
    M = objective.gradient_lipschitz
    if M is None:
        return None
    ends = {batch.least / batch.divisor, batch.most / batch.divisor}
    return AffineSquare(
        _square(max(_log_lipschitz(objective, M, batch.step_size, fill) for fill in ends))
    )


def _log_lipschitz(objective: Objective, M: float, eta: float, fill: float) -> float:
    m = -M if objective.strong_convexity is None else objective.strong_convexity
    step, ridge = np.array([eta]), objective.ridge
    if objective.clipped and not facts.clipping_is_harmless(objective):
        return float(facts.log_clipped_with_ridge(step, fill * m, fill * M, ridge)[0])
    if objective.clipped:
        m = min(m, 0.0)
    return float(facts.log_gradient_lipschitz(step, fill * m + ridge, fill * M + ridge)[0])


def _gradient_rows(
    objective: Objective, batch: Batch, shrink: float, change: float
) -> list[Modulus]:
    """Return the moduli of the step without its ridge term that the objective allows."""
    if change == 0.0:  # every contribution is constant
        return [IDENTITY]
    scale = batch.step_size / (batch.divisor * shrink)
    low, high = scale * batch.least, scale * batch.most
    made: list[Modulus] = []
    if is_convex(objective):
        made += _convex_rows(objective, low, high, change)
    made += _any_rows(objective, high, change)
    if objective.dissipativity is not None and not objective.clipped:
        made += _dissipative_rows(objective, low, high, change)
    return made


def _convex_rows(objective: Objective, low: float, high: float, change: float) -> list[Modulus]:
    made: list[Modulus] = []
    m, p, H = objective.strong_convexity, objective.holder_exponent, objective.holder_constant
    if math.isfinite(change):
        made.append(rows.nonsmooth_convex(high, change))
        if m and not objective.clipped and low > 0.0:
            pulled = rows.nonsmooth_convex(low, change, m)
            made.append(AffineSquare(pulled.log_factor, (high * change) ** 2))
    if p is not None and H is not None and H > 0.0 and p < 1.0:
        if p == 0.0 or objective.holder_everywhere or objective.dimension == 1:
            made.append(rows.weakly_smooth_refined(high, H, p, change))
        else:
            made.append(rows.weakly_smooth_on_domain(high, H, p, change))
    return made


def _any_rows(objective: Objective, high: float, change: float) -> list[Modulus]:
    """Rows that need no convexity: the triangle inequality with whatever bounds the change."""
    M, p, H = objective.gradient_lipschitz, objective.holder_exponent, objective.holder_constant
    made: list[Modulus] = []
    if M is not None and math.isfinite(change):
        made.append(Triangle(high, 1.0, M, change))
    if p is not None and H is not None and p < 1.0:
        made.append(Triangle(high, p, H, change))
    if not made and math.isfinite(change) and not is_convex(objective):
        made.append(Triangle(high, change=change))
    return made


def _dissipative_rows(
    objective: Objective, low: float, high: float, change: float
) -> list[Modulus]:
    assert objective.dissipativity is not None
    lam, kappa = objective.dissipativity
    M = objective.gradient_lipschitz
    made: list[Modulus] = []
    for bounds in (
        {"M": M} if M is not None else None,
        {"G": change} if math.isfinite(change) else None,
    ):
        if bounds is None:
            continue
        one, other = (rows.dissipative(e, lam, kappa, **bounds) for e in (low, high))
        assert isinstance(one, AffineSquare) and isinstance(other, AffineSquare)
        worst = max(one.log_factor, other.log_factor)
        made.append(AffineSquare(worst, other.offset))
    return made


def _scaled(row: Modulus, shrink: float) -> Modulus:
    if shrink == 1.0:
        return row
    if isinstance(row, AffineSquare):
        # (1 - eta ridge)^2 is a rounded number; both parts are raised when tangents are taken
        return AffineSquare(row.log_factor + 2.0 * math.log(shrink), row.offset * shrink**2)
    return Scaled(row, shrink)


def _square(log_lipschitz: float) -> float:
    return 2.0 * log_lipschitz + 8e-15 * abs(log_lipschitz)
