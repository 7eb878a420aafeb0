"""Drawing the chain of a diffusion of one's own: the very steps that its certificate speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.arrays import Array
from wane.describe import drifts
from wane.describe.declared_diffusion import DeclaredDiffusion, Walls
from wane.describe.diffusion import Outside, require_enough_noise
from wane.errors import InvalidDescription
from wane.run.safeguards import grid_below, to_grid
from wane.run.statistics import checked_statistic


def start_of(process: DeclaredDiffusion, statistic: Any, outside: Outside) -> Array:
    """Return the statistic as the chain may start from it: inside its box."""
    values = checked_statistic(statistic, None, process.size, outside, charge=0.0)
    low, high = process.corners
    flat = values.reshape(-1)
    if outside is Outside.REFUSE and not np.all((low <= flat) & (flat <= high)):
        if process.low is None:
            raise InvalidDescription(
                f"statistic must have entries within {high[0]:g} of zero, 2^20 deviations of the "
                "noise of a step; subtract a public number, take fewer steps, or declare low and "
                "high (and keep this message from readers)."
            )
        raise InvalidDescription(
            "statistic must lie between low and high; declare the true ones, or pass "
            "outside=Outside.PROJECT to move it there (and keep this message from readers)."
        )
    largest = float(np.max(np.abs([low, high])))
    require_enough_noise(process.noise_std, largest, "take fewer steps or move the box.")
    return np.asarray(np.clip(flat, low, high).reshape(values.shape))


def step(
    process: DeclaredDiffusion, position: Array, duration: float, rng: np.random.Generator
) -> Array:
    """Return where the chain is, a duration after this position."""
    return _walked(process, position, *process.cut(duration), rng)


def onwards(
    process: DeclaredDiffusion,
    position: Array,
    since: float,
    until: float,
    rng: np.random.Generator,
) -> Array:
    """Return where a path is at `until` that was at this position at `since`.

    Steps are counted from the start, so that it is one chain of equal steps whatever is shown.
    """
    process.require_on_path(until)
    ends = [process.steps_until(t) if t > 0.0 else 0 for t in (since, until)]
    assert ends[0] is not None and ends[1] is not None
    return _walked(process, position, ends[1] - ends[0], process.step_size, rng)


def _walked(
    process: DeclaredDiffusion, position: Array, steps: int, eta: float, rng: np.random.Generator
) -> Array:
    if process.drift is None:
        raise InvalidDescription(
            "drift must be given to release, got None: no document holds it; make the mechanism "
            "again with wane.mechanisms.DiffusionMechanism."
        )
    flat = position.reshape(-1)
    noise = rng.standard_normal((steps, process.size)) * process.std_of(eta)
    for push in noise:
        moved = flat + eta * drifts.read("drift", process.drift, flat)
        flat = kept(process, moved + push)
    return flat.reshape(position.shape)


def kept(process: DeclaredDiffusion, points: Array) -> Array:
    """Return the points reflected, or projected, into the box: no two come to lie farther apart."""
    low, high = process.corners
    if process.walls is Walls.REFLECT and process.low is not None:
        width = high - low
        place = np.abs((points - low + width) % (2.0 * width) - width)
        points = low + np.minimum(place, width)
    return np.asarray(np.clip(points, low, high))


def rounded(process: DeclaredDiffusion, position: Array, time: float) -> Array:
    """Return a position as it may be shown: on the grid that belongs to the last step's noise."""
    # Multiples of a power of two: lower bits would tell from which statistic they were made.
    shown = to_grid(position, grid_below(process.std_of(process.cut(time)[1])))
    low, high = process.corners
    return np.asarray(np.clip(shown.reshape(-1), low, high).reshape(position.shape))
