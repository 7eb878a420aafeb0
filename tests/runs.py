"""Descriptions that tests share."""

from typing import Any

from wane.describe import (
    Adjacency,
    GradientNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    losses,
)

CONVEX = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)


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
