"""Epsilon against the number of steps, the noise or the step size, theorem by theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from wane import arguments
from wane.certificates.analyse import FactsOf, certify_with, no_facts
from wane.certificates.certificate import Certificate
from wane.certificates.parts import epsilon_of
from wane.certificates.presented import PresentedCurve
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription
from wane.theorems.theorem import Applies


class Axis(Enum):
    """What varies along a curve."""

    STEPS = "steps"
    NOISE = "noise"
    STEP_SIZE = "step-size"


@dataclass(frozen=True, repr=False)
class Curve(PresentedCurve):
    """Epsilon at one delta along an axis: the best, and each theorem's own (None: no answer).

    Noise is a factor on the description's own noise.
    """

    axis: Axis
    delta: float
    values: tuple[float, ...]
    best: tuple[float | None, ...]
    theorems: dict[str, tuple[float | None, ...]]


def curve(
    run: NoisyDescent,
    *,
    over: Axis | str = Axis.STEPS,
    start: float,
    stop: float,
    points: int = 25,
    delta: float = 1e-5,
    facts: FactsOf = no_facts,
) -> Curve:
    """Return epsilon at `delta` for geometrically spaced steps (or noise factors, or step sizes).

    `facts` is a function, asked of each run along the curve: what is true of one is not of others.
    """
    axis = _axis(over)
    arguments.real("delta", delta, above=0.0, most=1.0)
    values = _grid(axis, start, stop, arguments.whole("points", points, least=2, most=10_000))
    rows = [_epsilons(certify_with(_at(run, axis, value), facts), delta) for value in values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    theorems = {name: tuple(row.get(name) for row in rows) for name in names}
    best = tuple(min((e for e in row.values() if e is not None), default=None) for row in rows)
    return Curve(axis, delta, tuple(values), best, theorems)


def _axis(over: Axis | str) -> Axis:
    try:
        return Axis(over.replace("_", "-") if isinstance(over, str) else over)
    except ValueError:
        names = ", ".join(a.value for a in Axis)
        raise InvalidDescription(f"over must be one of {names}, got {over!r}.") from None


def _grid(axis: Axis, start: float, stop: float, points: int) -> Sequence[float]:
    low = arguments.real("start", start, above=0.0)
    high = arguments.real("stop", stop, above=0.0)
    if high <= low:
        raise InvalidDescription(f"stop must be above start={start:g}, got {stop:g}.")
    grid = [low * (high / low) ** (i / (points - 1)) for i in range(points - 1)] + [high]
    if axis is not Axis.STEPS:
        return grid
    return sorted({max(1, math.floor(value + 0.5)) for value in grid})


def _at(run: NoisyDescent, axis: Axis, value: float) -> NoisyDescent:
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
