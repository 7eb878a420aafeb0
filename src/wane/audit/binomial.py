"""Two Gaussians whose means count how often a record was drawn: their exact privacy curve.

With k draws out of T steps of unit noise the sum of the steps is N(k shift, T).  Under replacement
the other run has N(-k shift, T); under deletion N(0, T).  The likelihood ratio is increasing, so
the best test is a threshold, and delta(eps) is a difference of two tail probabilities.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


def binomial_mixture_epsilon(
    *, steps: int, rate: float, shift: float, both_move: bool, delta: float
) -> float:
    """Largest epsilon whose exact delta exceeds `delta`: a lower bound, rounded down."""

    def exceeds(epsilon: float) -> bool:
        return _delta(steps, rate, shift, both_move, epsilon) > delta

    if not exceeds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeds(high):
        low, high = high, 2.0 * high
        if high > 1e6:
            return low
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low


def _delta(steps: int, rate: float, shift: float, both_move: bool, epsilon: float) -> float:
    """Exact delta at `epsilon`, from below: the better of the two directions."""
    counts, weights = _binomial(steps, rate)
    up = counts * shift / math.sqrt(steps)
    down = -up if both_move else np.zeros_like(up)
    forwards = _hockey_stick(up, down, weights, epsilon)
    backwards = forwards if both_move else _hockey_stick(-down, -up, weights, epsilon)
    return max(forwards, backwards)


def _binomial(steps: int, rate: float) -> tuple[Array, Array]:
    """The likely counts and their probabilities; leaving out the rest is a lower bound."""
    centre, spread = steps * rate, math.sqrt(steps * rate * (1.0 - rate)) + 1.0
    low, high = (
        max(0, math.floor(centre - 12 * spread)),
        min(steps, math.ceil(centre + 20 * spread)),
    )
    counts = np.arange(low, high + 1, dtype=np.float64)
    log_weight = (
        special.gammaln(steps + 1)
        - special.gammaln(counts + 1)
        - special.gammaln(steps - counts + 1)
        + special.xlogy(counts, rate)
        + special.xlog1py(steps - counts, -rate)
    )
    return counts, np.exp(log_weight)


def _hockey_stick(p: Array, q: Array, weights: Array, epsilon: float) -> float:
    """`P(Y > t) - e^eps Q(Y > t)` at the best threshold found: any threshold is a lower bound."""

    def tails(t: float) -> float:
        upper = float(np.dot(weights, special.ndtr(p - t)))
        lower = float(np.dot(weights, special.ndtr(q - t)))
        return upper - math.exp(min(epsilon, 700.0)) * lower

    span = float(np.max(np.abs(p))) + 45.0
    grid = np.linspace(-span, span, 400)
    values = [tails(t) for t in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(40):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if tails(a) > tails(b) else (a, high)
    return max(values[best], tails(0.5 * (low + high)), 0.0)
