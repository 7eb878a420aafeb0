"""The cost of hiding one record in descent-ascent: mu^2, by the programme of two monotone maps.

Two runs that start together stay near each other for a while whatever the set is, so that the
programme may begin after any step, even where the set is unbounded.
"""

from __future__ import annotations

import math

from wane.describe.saddle import NoisyDescentAscent
from wane.theorems.lemmas import loss_moduli as rows
from wane.theorems.lemmas.moduli import AffineSquare
from wane.theorems.lemmas.programme import (
    LEAST,
    LOST,
    Segment,
    Timeline,
    bounded_record_mu_squared,
    record_mu_squared,
)
from wane.theorems.lemmas.tangent_programme import Stretch, solve
from wane.theorems.lemmas.tracking import repeated


def least_cost(game: NoisyDescentAscent) -> float:
    """Return the least mu^2 of composition, of Lipschitz steps and of the modulus, rounded up."""
    assert game.gradient_sensitivity is not None, "the hypotheses ask for a bound"
    each = max((game.gradient_sensitivity / game.noise_std) ** 2, LEAST)
    known = [game.steps * each * (1.0 + 2e-15)]
    if game.smoothness is not None:
        known.append(_hidden(game))
    if math.isfinite(game.field_change):
        known.append(_followed(game))
    return min(known)


def _lipschitz(game: NoisyDescentAscent) -> float:
    """Return the logarithm of the Lipschitz constant of a step, rounded up; infinite if unknown."""
    if game.smoothness is None:
        return math.inf
    row = rows.saddle(game.step_size, math.inf, game.smoothness, game.strong_monotonicity)
    assert isinstance(row, AffineSquare)
    return 0.5 * row.log_factor + 1e-15 * abs(row.log_factor)


def _hidden(game: NoisyDescentAscent) -> float:
    """Return mu^2 of Lipschitz steps, for which the programme is solved exactly."""
    assert game.gradient_sensitivity is not None
    eta, moved, noise = map(math.log, (game.step_size, game.gradient_sensitivity, game.noise_std))
    own = _lipschitz(game)
    shift = eta + moved + LOST * (abs(eta) + abs(moved))
    std = eta + noise - LOST * (abs(eta) + abs(noise))
    line = Timeline((Segment(game.steps, own, own, shift, std, True),), period=1)
    if math.isinf(game.diameter):
        return record_mu_squared(line, 0)
    return bounded_record_mu_squared(line, 0, game.diameter)


def _followed(game: NoisyDescentAscent) -> float:
    """Return mu^2 of the programme of the modulus, near its least.

    Lengths are multiples of how far one record moves the iterate, so that no square is too small.
    """
    assert game.gradient_sensitivity is not None
    eta, moved = game.step_size, game.gradient_sensitivity
    change, width = game.field_change / moved, game.diameter / moved / eta
    smooth = math.inf if game.smoothness is None else game.smoothness
    modulus = rows.saddle(eta, change / eta, smooth, game.strong_monotonicity)
    log_lipschitz = _lipschitz(game)

    def apart(left: int) -> float:
        """Return how far apart the runs can be when so many steps are left."""
        done = game.steps - left
        known = [width, done + change * math.sqrt(done)]
        if math.isfinite(log_lipschitz):
            known.append(repeated(0.0, log_lipschitz, 1.0, done))
        return min(known) * (1.0 + 1e-12)

    return solve([Stretch(modulus, 1.0, (game.noise_std / moved) ** 2, game.steps)], apart).value
