"""Compose many equal steps on a fine grid, then move their losses to a coarser one.

A grid that is fine against one step's loss would need too many points for the sum of a billion of
them.  So some steps are composed first, whose sum is wide enough for a coarse grid, and the coarse
result stands for all of them in the next composition.  Everything errs towards more leakage:

    rounding of the transform     every mass is raised by a bound on its error
    what leaves the window        by Chernoff's bound: from below it is moved up into it, from above
                                  it counts as an infinite loss
    the coarse grid               each mass is split between the two dots around its loss, keeping
                                  what it weighs under both laws
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from wane.arrays import Array
from wane.numerics.discrete_losses import DiscreteLosses
from wane.numerics.search import minimise_scalar_bounded

LONGEST = 1 << 21
"""Points of the fine grid at most."""
_UNIT = 2.0**-53
_FAINT = -100.0  # logarithm of a coefficient that is not worth computing
_LOW, _HIGH = 60.0, 90.0  # e^-60 of the mass may lie below the window, e^-90 above
_LARGEST = 600.0  # exponents of weights
_STEEP = 10.0  # the logarithm of the moment up to which tilts are tried


def folded(dots: DiscreteLosses, interval: float, count: int, coarse: int) -> DiscreteLosses | None:
    """Return the sum of `count` losses, on multiples of `coarse` intervals; None if too wide."""
    start = math.floor(-_reach(dots, interval, count, -1.0, _LOW) / interval) - 1
    top = math.ceil(_reach(dots, interval, count, 1.0, _HIGH) / interval) + 1
    length = int(fft.next_fast_len(max(top - start + 1, 64), real=True))
    if length > LONGEST:
        return None
    steepest = _steepest(dots, interval, count)
    masses = _bounded(dots, interval, count, (start, length), 0.0)
    for tilt in (0.1 * steepest, steepest):
        masses = np.minimum(masses, _bounded(dots, interval, count, (start, length), tilt))
    masses[0] += math.exp(-_LOW)  # what lies below the window, moved up into it
    beyond = math.exp(-_HIGH) + count * dots.infinite * (1.0 + 1e-9)
    return _coarser(start, masses, interval, coarse, beyond)


def _bounded(
    dots: DiscreteLosses, interval: float, count: int, window: tuple[int, int], tilt: float
) -> Array:
    """Return upper bounds on the masses of the sum; the tilt decides where they are sharp."""
    start, length = window
    tilted, log_moment = dots.tilted(tilt, interval)
    factor = fft.rfft(np.bincount(dots.places % length, tilted, length))
    rounding = _UNIT * (4.0 * math.log2(length) + 8.0)
    size = np.abs(factor) + rounding
    log_size = np.log(size)
    faint = count * log_size <= _FAINT
    powers = np.where(faint, 0.0, factor) ** count
    relative = count * (rounding / size + 8.0 * _UNIT * (1.0 + np.abs(log_size)))
    share = np.where(faint | (relative >= 1.0), 2.0, np.expm1(np.minimum(relative, 1.0)))
    errors = np.exp(np.minimum(count * log_size, 1.0)) * (share + rounding)
    error = 2.0 * float(np.sum(errors)) / length
    tilted_masses = np.maximum(np.roll(fft.irfft(powers, length), -(start % length)), 0.0) + error
    exponents = count * log_moment - tilt * interval * (start + np.arange(length))
    typical = float(np.sum(tilted * np.abs(tilt * interval * dots.places)))
    slip = count * 1e-15 * (4.0 + typical + abs(log_moment)) + 1e-15 * abs(tilt * interval * start)
    return np.asarray(tilted_masses * np.exp(np.minimum(exponents + slip, 700.0)) * (1.0 + 1e-12))


def _steepest(dots: DiscreteLosses, interval: float, count: int) -> float:
    """Return a tilt under which no part of the sum becomes much likelier than it is."""
    largest = interval * max(float(np.max(np.abs(dots.places))), 1.0)
    tilt = min(1.0 / interval, _LARGEST / largest)
    while count * dots.log_moment(tilt, interval) > _STEEP:
        tilt *= 0.5
    return tilt


def _reach(dots: DiscreteLosses, interval: float, count: int, side: float, nats: float) -> float:
    """Return a bound that the sum exceeds with probability at most e^-nats (Chernoff).

    On the side of small losses the sign is turned, so that both are upper ends.
    """
    losses = dots.places * interval
    mean = float(np.sum(dots.masses * losses))
    spread = math.sqrt(max(float(np.sum(dots.masses * (losses - mean) ** 2)), interval**2))
    scale = 1.0 / (spread * math.sqrt(count))

    def bound(log_turn: float) -> float:
        turn = math.exp(log_turn) * scale
        return (count * dots.log_moment(side * turn, interval) + nats) / turn

    return minimise_scalar_bounded(bound, math.log(1e-6), math.log(1e3), steps=40)[1]


def _coarser(
    start: int, masses: Array, interval: float, coarse: int, beyond: float
) -> DiscreteLosses:
    """Return the masses at `start`, `start + 1`, ... intervals, moved to multiples of `coarse`."""
    places = np.arange(start, start + masses.size)
    below = places // coarse
    after = (places - below * coarse) * interval
    # the upper share u solves e^-l = u e^-(upper dot) + (1 - u) e^-(lower dot)
    share = np.expm1(-after) / math.expm1(-coarse * interval)
    upper = masses * np.clip(share * (1.0 + 1e-13), 0.0, 1.0)
    first = int(below[0])
    size = int(below[-1]) - first + 2
    moved = np.zeros(size)
    moved += np.bincount(below - first, masses - upper, size)
    moved += np.bincount(below - first + 1, upper, size)
    positive = moved > 0.0
    return DiscreteLosses(np.arange(first, first + size)[positive], moved[positive], beyond)
