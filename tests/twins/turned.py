"""Clipping that turns gradients: a step that drives two points apart more than clipped ones may.

In the plane, convex losses M h(<u, x>) +- g <v, x>, h Huber's function, whose gradients are always
clipped; half of the records have +g, half have -g, so that they push nowhere together.  What they
add to a step is then a field whose derivative turns differences along v into differences across it.
One more record, +-C <v, x>, is the one that differs.  All steps are silent but the last one, so
that the law of what is released is exactly normal.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from twins.exact import Gaussians
from wane.describe import Fact, FactKind, GradientNoise, NoisyDescent, Objective, Phase, Schedule
from wane.theorems.theorem import Facts

C, G, M, SINE = 1.0, 10.0, 0.06, 0.2
COSINE = math.sqrt(1.0 - SINE * SINE)
PAIRS, STEPS, NOISE = 300, 5000, 20.0
WIDTH = 20.0
"""Where h turns into a line; no iterate comes as far."""
RECORDS = 2 * PAIRS + 1


@cache
def turned() -> tuple[NoisyDescent, Facts]:
    """The run, and what is true of the average of its records.

    A gradient's part across u is a = g sin(u, v), and its part along u at least b = g cos(u, v) - M
    width, so that the derivative of the clipped one is at most C M a/(a^2 + b^2), at every point.
    """
    run = NoisyDescent(
        objective=Objective(gradient_bound=C, clipped=True, smoothness=M, strong_convexity=0.0),
        records=RECORDS,
        schedule=Schedule(
            [Phase(STEPS, 1.0, GradientNoise(0.0)), Phase(1, 1.0, GradientNoise(NOISE))]
        ),
    )
    across, along = G * SINE, G * COSINE - M * WIDTH
    average = 2 * PAIRS / RECORDS * C * M * across / (across**2 + along**2)
    return run, Facts((Fact.of(run, FactKind.AVERAGE_SMOOTHNESS, average * (1 + 1e-12)),))


@cache
def turned_laws() -> tuple[Gaussians, ...]:
    """The exact law of the last iterate: where the silent steps lead, plus the last noise."""
    u = np.array([COSINE, SINE])
    pushes = np.array([[G, 0.0], [-G, 0.0]])
    ends = []
    for sign in (1.0, -1.0):
        x = np.zeros(2)
        for _ in range(STEPS + 1):
            assert abs(u @ x) < WIDTH
            gradients = pushes + M * u * (u @ x)
            clipped = gradients * (C / np.linalg.norm(gradients, axis=1, keepdims=True))
            x = x - (PAIRS * clipped.sum(axis=0) + np.array([sign * C, 0.0])) / RECORDS
        ends.append(x)
    return (Gaussians(float(np.linalg.norm(ends[0] - ends[1])) / NOISE),)
