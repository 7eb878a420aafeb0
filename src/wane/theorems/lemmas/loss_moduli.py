"""From what is declared of the losses to the modulus of one step: the least of all valid rows.

A step is `x -> x - eta (sum over N records of their gradients / b + ridge x)`.  With
`a = 1 - eta ridge > 0` it is `a` times a gradient step of size `e = eta N/(b a)` on the average of
the N losses.  Where N is random or unknown the modulus must hold for all N in a range: factors are
convex in N, so the larger of both ends counts; offsets grow with N (docs/proofs/sampled-steps.md).

One function for each kind of loss follows.  Letters: eta step size, G largest change of the
gradient between two points (2 C where C bounds the gradient), M smoothness or Hoelder constant, m
strong convexity, p Hoelder exponent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wane.describe.descent import NoisyDescent
from wane.describe.objective import Objective
from wane.describe.schedule import Phase
from wane.theorems.lemmas import lipschitz as facts
from wane.theorems.lemmas.moduli import (
    IDENTITY,
    AffineSquare,
    HolderOnDomain,
    Least,
    Modulus,
    RefinedHolder,
    Scaled,
    Triangle,
)


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
        made.append(nonsmooth_convex(high, change))
        if m and not objective.clipped and low > 0.0:
            pulled = nonsmooth_convex(low, change, m)
            made.append(AffineSquare(pulled.log_factor, (high * change) ** 2))
    if p is not None and H is not None and H > 0.0 and p < 1.0:
        if p == 0.0 or objective.holder_everywhere or objective.dimension == 1:
            made.append(weakly_smooth_refined(high, H, p, change))
        else:
            made.append(weakly_smooth_on_domain(high, H, p, change))
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
        one, other = (dissipative(e, lam, kappa, **bounds) for e in (low, high))
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


def affine(factor: float, offset: float = 0.0) -> AffineSquare:
    """`psi(w) = c w + h` from its two numbers; a negative c is raised to zero."""
    return AffineSquare(math.log(factor) if factor > 0.0 else -math.inf, offset)


def nonsmooth_convex(eta: float, G: float, m: float = 0.0) -> AffineSquare:
    """Convex with subgradients of bounded change: c = 1 - 2 eta m, h = (eta G)^2."""
    offset = (eta * G) ** 2
    return AffineSquare(0.0, offset) if m == 0.0 else affine(1.0 - 2.0 * eta * m + 4e-16, offset)


def weakly_smooth_offset(eta: float, M: float, p: float) -> float:
    """`h = 4 (1-p)/(1+p) (eta M/2)^(2/(1-p))`, the largest increase of the squared distance."""
    half = eta * M / 2.0
    if p == 1.0:
        return 0.0 if half <= 1.0 else math.inf
    if half == 0.0:
        return 0.0
    exponent = math.log(4.0) + math.log1p(-p) - math.log1p(p) + 2.0 / (1.0 - p) * math.log(half)
    return math.inf if exponent > 700.0 else math.exp(exponent)


def weakly_smooth(eta: float, M: float, p: float) -> AffineSquare:
    """Convex with a gradient that is Hoelder on the whole space: c = 1 and the offset above."""
    return AffineSquare(0.0, weakly_smooth_offset(eta, M, p))


def weakly_smooth_refined(eta: float, M: float, p: float, G: float = math.inf) -> Modulus:
    """Return the modulus of weakly smooth losses that is exact at small distances too."""
    if p == 0.0:
        return AffineSquare(0.0, (eta * min(M, G)) ** 2)
    if p == 1.0:
        return smooth_convex(eta, M)
    return RefinedHolder(eta, p, M, G) if M > 0.0 else IDENTITY


def weakly_smooth_on_domain(eta: float, M: float, p: float, G: float = math.inf) -> Modulus:
    """Convex with a gradient that is Hoelder on the domain only."""
    return HolderOnDomain(eta, p, M, G)


def strongly_convex_smooth(eta: float, m: float, M: float) -> AffineSquare:
    """C = max((1 - eta m)^2, (1 - eta M)^2)."""
    worst = max(abs(1.0 - eta * m), abs(1.0 - eta * M))
    return affine(worst * worst)


def smooth_convex(eta: float, M: float) -> AffineSquare:
    """C = 1 up to eta = 2/M, (eta M - 1)^2 beyond."""
    return affine(max(1.0, (eta * M - 1.0) ** 2))


def smooth(eta: float, M: float) -> AffineSquare:
    """C = (1 + eta M)^2, convex or not."""
    return affine((1.0 + eta * M) ** 2)


def smooth_bounded(eta: float, M: float, G: float) -> Triangle:
    """phi(d) = d + min(eta M d, eta G), convex or not, clipped or not."""
    return Triangle(eta, 1.0, M, G)


def dissipative(
    eta: float, lam: float, kappa: float, *, M: float = math.inf, G: float = math.inf
) -> Modulus:
    """Strongly dissipative: psi(w) = (1 - 2 eta kappa) w + 2 eta lam + eta^2 min(M^2 w, G^2)."""
    pull, drift = 2.0 * eta * kappa, 2.0 * eta * lam
    rows: list[Modulus] = []
    if math.isfinite(M):
        bend = (eta * M) ** 2
        rows.append(affine(1.0 - pull + bend + 4e-16 * (1.0 + pull + bend), drift))
    if math.isfinite(G):
        rows.append(affine(1.0 - pull + 4e-16 * (1.0 + pull), drift + (eta * G) ** 2))
    return rows[0] if len(rows) == 1 else Least(tuple(rows))


def saddle(eta: float, G: float, M: float, m: float = 0.0) -> Modulus:
    """Descent-ascent with an m-monotone field: psi(w) = (1 - 2 eta m) w + eta^2 min(M^2 w, G^2)."""
    return dissipative(eta, 0.0, m, M=M, G=G)
