"""Descriptions that tests share."""

import math
from dataclasses import replace
from typing import Any

from wane import losses
from wane.describe import (
    Adjacency,
    GradientNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
)

CONVEX = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)


def possible(objective: Objective, diameter: float = math.inf) -> Objective:
    """The same, with curvature in the ridge that no bounded gradient has in so large a set."""
    m, M, bound = objective.strong_convexity, objective.smoothness, objective.gradient_bound
    if bound is None or objective.clipped or not m or m * diameter <= 2.0 * bound:
        return objective
    flatter = None if M is None else M - m
    return replace(objective, strong_convexity=0.0, smoothness=flatter, ridge=objective.ridge + m)


def make_run(**changes: Any) -> NoisyDescent:
    """A small full-batch run, with some fields changed."""
    fields: dict[str, Any] = {
        "objective": CONVEX,
        "records": 1000,
        "steps": 200,
        "step_size": 1.0,
        "noise": NoiseMultiplier(20.0),
    }
    if "schedule" in changes:
        fields = {k: v for k, v in fields.items() if k in ("objective", "records")}
    return NoisyDescent(**(fields | changes))


RIDGE_RUN = NoisyDescent(
    objective=losses.logistic(1.0, ridge=0.01),
    records=1000,
    steps=50,
    step_size=1.0,
    noise=GradientNoise(0.01),
    adjacency=Adjacency.ZERO_OUT,
)
"""Full batches with a ridge, where the last iterate leaks less than all."""
