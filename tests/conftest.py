"""Shared descriptions."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

from wane.describe import NoiseMultiplier, NoisyDescent, Objective

# unattended runs try the same examples each time; run without CI set to look for new ones
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

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


@pytest.fixture(scope="session")
def run_with() -> Callable[..., NoisyDescent]:
    return make_run
