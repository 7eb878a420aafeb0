"""Epsilon against steps, noise, step size or position, theorem by theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from wane import arguments
from wane.certificates.analyse import FactsOf, certify_with, no_facts
from wane.certificates.calibration import Run
from wane.certificates.certificate import Certificate
from wane.certificates.parts import epsilon_of
from wane.certificates.positions import mu_by_position, theorem_by_position
from wane.certificates.presented import PresentedCurve
from wane.describe import NoisyDescent
from wane.describe.saddle import NoisyDescentAscent
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.theorems.theorem import Applies


class Axis(Enum):
    """What varies along a curve."""

    STEPS = "steps"
    NOISE = "noise"
    STEP_SIZE = "step-size"
    POSITION = "position"


@dataclass(frozen=True, repr=False)
class Curve(PresentedCurve):
    """Epsilon at one delta along an axis: the best, and each theorem's own (None: no answer).

    Noise is a factor on the description's own noise, and a position that of a record's batch in the
    order in which batches are used, counted from one.
    """

    axis: Axis
    delta: float
    values: tuple[float, ...]
    best: tuple[float | None, ...]
    theorems: dict[str, tuple[float | None, ...]]


def curve(
    run: Run,
    *,
    over: Axis | str = Axis.STEPS,
    start: float | None = None,
    stop: float | None = None,
    points: int = 25,
    delta: float = 1e-5,
    facts: FactsOf = no_facts,
) -> Curve:
    """Return epsilon at `delta` for geometrically spaced steps (or noise factors, or step sizes).

    `facts` is a function, asked of each run along the curve: what is true of one is not of others.
    Over `position` it is that of a record in the batches from `start` to `stop` of the order, which
    are the first and the last if left out: the later a record is used, the less it fades.
    """
    arguments.kind("run", run, (NoisyDescent, NoisyDescentAscent))
    axis = arguments.choice("over", over, Axis)
    arguments.real("delta", delta, above=0.0, most=1.0)
    arguments.whole("points", points, least=2, most=10_000)
    if axis is Axis.POSITION:
        return _over_positions(run, start, stop, points, delta)
    values = _grid(axis, start, stop, points)
    rows = [_epsilons(certify_with(_at(run, axis, value), facts), delta) for value in values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    theorems = {name: tuple(row.get(name) for row in rows) for name in names}
    best = tuple(min((e for e in row.values() if e is not None), default=None) for row in rows)
    return Curve(axis, delta, tuple(values), best, theorems)


def _over_positions(
    run: Any, start: float | None, stop: float | None, points: int, delta: float
) -> Curve:
    """Return epsilon of the records of evenly spaced batches, by the theorem of all positions."""
    arguments.kind("run", run, (NoisyDescent,))
    mus = mu_by_position(run)
    first = _position("start", 1 if start is None else start, 1, len(mus))
    last = _position("stop", len(mus) if stop is None else stop, first, len(mus))
    places = sorted({int(place) for place in np.linspace(first, last, points).round()})
    epsilons: tuple[float | None, ...] = tuple(
        GaussianDP(float(mus[place - 1])).epsilon(delta) for place in places
    )
    by_theorem = {theorem_by_position(run).name: epsilons}
    return Curve(Axis.POSITION, delta, tuple(places), epsilons, by_theorem)


def _position(name: str, value: float, least: int, most: int) -> int:
    """Return a batch's place in the order; a command line gives it as a float."""
    place = int(value) if isinstance(value, float) and value.is_integer() else value
    return arguments.whole(name, place, least=least, most=most)


def _grid(axis: Axis, start: float | None, stop: float | None, points: int) -> Sequence[float]:
    low = arguments.real("start", start, above=0.0, cure="say where to begin")
    high = arguments.real("stop", stop, above=0.0, cure="say where to end")
    if high <= low:
        raise InvalidDescription(f"stop must be above start={start:g}, got {stop:g}.")
    grid = [low * (high / low) ** (i / (points - 1)) for i in range(points - 1)] + [high]
    if axis is not Axis.STEPS:
        return grid
    return sorted({max(1, math.floor(value + 0.5)) for value in grid})


def _at(run: Run, axis: Axis, value: float) -> Run:
    if axis is Axis.NOISE:
        return run.noise_scaled(value)
    if run.schedule is not None:
        raise InvalidDescription(
            f"over must not be {axis.value} when a schedule is given; describe the run with steps, "
            "step_size and noise."
        )
    if axis is Axis.STEP_SIZE:
        return replace(run, step_size=value)
    return replace(run, steps=int(value))


def _epsilons(certificate: Certificate, delta: float) -> dict[str, float | None]:
    return {
        v.theorem.name: epsilon_of(v.conclusion, delta) if isinstance(v, Applies) else None
        for v in certificate.verdicts
    }
