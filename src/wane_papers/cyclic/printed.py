"""The bounds of Kong and Ribero, as printed (kong2024cyclic).

Letters are the paper's: s = lambda C/(b sigma) with step size lambda, clipping bound C, batch size
b and noise sigma on the iterate; ell batches per epoch, T steps, m and M bounds of the Hessian from
below and above, L the Lipschitz constant of a step, d_h the diameter, alpha the Renyi order.
"""

from __future__ import annotations

import math
from functools import partial

from wane_papers.records import Printed, Standing

_printed = partial(Printed, key="kong2024cyclic")


def printed_lipschitz(step_size: float, weak_convexity: float, smoothness: float) -> float:
    """The printed Lipschitz constant of a clipped step, equation (12); false as a bound."""
    m, big = weak_convexity, smoothness
    return math.sqrt(1.0 + 2.0 * step_size * m * (1.0 + m / (big + m)))


def printed_fade(lipschitz: float, remaining: int) -> float:
    """The printed share of a shift that survives the remaining steps."""
    if remaining == 0:
        return 0.0
    if lipschitz == 1.0:
        return 1.0 / remaining
    square = 1.0 / (lipschitz * lipschitz)
    return (1.0 - square) / (1.0 - square**remaining)


def printed_renyi(
    order: float, shift: float, lipschitz: float, steps: int, steps_per_epoch: int
) -> float:
    """The printed Renyi bound (21) for a run with step_size*C/(b*sigma) equal to the shift."""
    epochs, rest = divmod(steps, steps_per_epoch)
    share = printed_fade(lipschitz, rest) + epochs * printed_fade(lipschitz, steps_per_epoch)
    return 4.0 * order * shift**2 * share


def _lipschitz(*, lam: float, m: float, M: float) -> float:
    return printed_lipschitz(lam, m, M)


def _many_epochs(*, alpha: float, s: float, L: float, T: int, ell: int) -> float:
    return printed_renyi(alpha, s, L, T, ell)


def _position(*, alpha: float, s: float, L: float, T: int, first: int, ell: int) -> float:
    epochs, rest = divmod(T - first - 1, ell)
    return 2.0 * alpha * s * s * (epochs * printed_fade(L, ell) + printed_fade(L, rest))


def _without_curvature(*, alpha: float, s: float, b: int, T: int) -> float:
    return 8.0 * alpha * T * (b * s) ** 2


def _bounded(*, alpha: float, s: float, L: float, d_h: float, sigma: float) -> float:
    return alpha / 2.0 * (L * d_h / sigma + 2.0 * s) ** 2


def _noise_over_shift(*, alpha: float, eps: float, m: float, M: float, E: int) -> float:
    """Noise divided by lambda C/b."""
    grown = 4.0 * m * E / (M + m) if m > 0.0 else 0.0
    return 0.5 * math.sqrt((1.0 + grown) / (alpha * eps))


def _fade_bound(*, L: float, xi: float, s: int) -> float:
    return xi * (1.0 - L**-2)


def _without_epochs(*, alpha: float, C: float, b: int, sigma: float, L: float, ell: int) -> float:
    return 4.0 * alpha * (C / (b * sigma)) ** 2 * (1.0 + printed_fade(L, ell))


def _curvature(*, m: float, M: float) -> float:
    return m + 1.0 / (2.0 * (M + m))


lipschitz = _printed(
    "Lipschitz constant of a clipped step",
    "Proposition 3.4(b), equation (12)",
    ("curvature in [-m, M]", "lambda <= 1/(2(M + m))", "clipping"),
    Standing.FALSE,
    "clipping by norm is no gradient map: 1.0644 against 1 for a convex quadratic",
    _lipschitz,
    within=lambda lam, m, M: M >= 0.0 and m >= 0.0 and 0.0 < lam * 2.0 * (M + m) <= 1.0,
)
many_epochs = _printed(
    "Theorem 4.5",
    "equations (21) and (22)",
    ("curvature in [-m, M]", "cyclic batches", "clipping"),
    Standing.FALSE,
    "ignores where the record is used, and what clipping does: up to ell/2 times too small",
    _many_epochs,
    within=lambda alpha, s, L, T, ell: alpha > 1.0 and L >= 1.0 and T >= ell >= 1,
)
by_position = _printed(
    "Proposition A.4",
    "equation (27)",
    ("as Theorem 4.5", "the record is first used at step t*"),
    Standing.FALSE,
    "off by one twice: zero one step after the use",
    _position,
    within=lambda alpha, s, L, T, first, ell: (
        alpha > 1.0 and L >= 1.0 and 1 <= first < T and ell >= 1
    ),
)
fade_bound = _printed(
    "what survives many steps",
    "Lemma C.1",
    ("L > 1", "xi > 1", "s >= log_L sqrt(xi/(xi - 1))"),
    Standing.SOUND,
    "as stated; the first display of its proof has L^(-2(s-1)) for L^(2(s-1))",
    _fade_bound,
    within=lambda L, xi, s: (
        L > 1.0 and xi > 1.0 and s * math.log(L) >= 0.5 * math.log(xi / (xi - 1.0)) * (1.0 - 1e-12)
    ),
)
without_epochs = _printed(
    "a bound without the number of epochs",
    "Corollary C.3",
    ("as Theorem 4.5", "lambda <= 1/sqrt(E)", "lambda <= 1/(2(M + m))"),
    Standing.LOOSE,
    "its proof rests on (21), which is false, but the bound is true and above composition: at "
    "most E + 1 uses cost 2 alpha (lambda C/(b sigma))^2 each, and lambda^2 (E + 1) <= 2",
    _without_epochs,
    within=lambda alpha, C, b, sigma, L, ell: alpha > 1.0 and L >= 1.0 and ell >= 1,
)
without_curvature = _printed(
    "Theorem 4.3",
    "equation (18)",
    ("T >= ell",),
    Standing.LOOSE,
    "composition gives 2 alpha s^2 ceil(T/ell)",
    _without_curvature,
)
bounded_domain = _printed(
    "Theorem 4.4",
    "equation (20)",
    ("domain of diameter d_h",),
    Standing.UNPROVED,
    "true with a valid Lipschitz constant in the place of L",
    _bounded,
)
calibration = _printed(
    "noise for (alpha, eps)",
    "Corollary C.2",
    ("as Theorem 4.5",),
    Standing.FALSE,
    "inserted into (21) it gives 16 alpha^2 eps",
    _noise_over_shift,
)
curvature = _printed(
    "curvature inequality",
    "Lemma 3.2",
    ("curvature in [-m, M]",),
    Standing.FALSE,
    "lacks a square: m^2 belongs in the place of 1",
    _curvature,
    within=lambda m, M: m >= 0.0 and M + m > 0.0,
)

BOUNDS: tuple[Printed, ...] = tuple(v for v in list(vars().values()) if isinstance(v, Printed))
