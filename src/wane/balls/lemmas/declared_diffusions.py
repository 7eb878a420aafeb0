"""The chain of a diffusion of one's own, computed again in balls from its declared constants."""

from __future__ import annotations

import numpy as np
from flint import arb

from wane.balls.arithmetic import ball, rounded_constant, top
from wane.balls.lemmas.positions import TooLarge
from wane.describe.declared_diffusion import LARGEST_NOISE, DeclaredDiffusion


def mu_squared(process: DeclaredDiffusion, time: float) -> arb:
    """Return the squared Gaussian parameter of the end of the chain at a time, never below it."""
    spread, start = process.constant_spread, process.drift_at_centre
    slope, kappa = process.drift_lipschitz, process.least_contraction
    if spread is None or start is None or slope is None or kappa is None:
        raise TooLarge("a chain without declared constants is not computed again")
    steps, step_size = process.cut(time)
    eta = ball(step_size)
    std = (2 * eta).sqrt() * ball(spread)
    low, high = ([ball(v) for v in corner.tolist()] for corner in process.corners)
    widths = [h - b for h, b in zip(high, low, strict=True)]
    across = sum((w * w for w in widths), arb(0)).sqrt()
    factor = rounded_constant(_factor(process.is_gradient, eta * ball(kappa), eta * ball(slope)))
    # in units of the factors so far, the noises of all steps
    heard = arb(steps)
    if factor != 1:
        shrink = 1 / factor**2
        heard = shrink * (1 - shrink**steps) / (1 - shrink)
    far = ball(process.sensitivity).min(across)
    size = ball(float(np.max(np.abs(process.corners))))
    if process.low is not None:
        size += 3 * _largest(widths)
    size += eta * (ball(start) + ball(slope) * across) + ball(LARGEST_NOISE) * std
    charge = 64 * arb(2) ** -53 * arb(process.size * steps).sqrt() * size / std
    return top((far / std / heard.sqrt() + charge) ** 2)


def _factor(gradient: bool, contraction: arb, lipschitz: arb) -> arb:
    """Return how far a step may move two points apart, as a factor."""
    if gradient:
        return abs(1 - contraction).max(abs(1 - lipschitz))
    return ((1 - contraction) ** 2 + lipschitz**2 - contraction**2).sqrt()


def _largest(values: list[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found
