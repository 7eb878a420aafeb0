"""Where the page starts: algorithms people run, each as a description."""

from __future__ import annotations

from typing import Any

_COMMON: dict[str, Any] = {
    "kind": "noisy-descent",
    "adjacency": "replace-one",
    "release": "last-iterate",
}

PRESETS: list[dict[str, Any]] = [
    {
        "name": "Noisy gradient descent, ridge logistic regression",
        "run": _COMMON
        | {
            "records": 10000,
            "steps": 500,
            "step_size": 1.0,
            "noise": {"multiplier": 100.0},
            "batches": {"kind": "full"},
            "objective": {"loss": "logistic", "feature_norm": 1.0, "ridge": 0.02},
        },
    },
    {
        "name": "Cyclic noisy SGD, softmax regression",
        "run": _COMMON
        | {
            "records": 60000,
            "steps": 8000,
            "step_size": 0.05,
            "noise": {"multiplier": 3.0},
            "batches": {"kind": "cyclic", "size": 1500},
            "objective": {"loss": "softmax", "feature_norm": 8.0, "ridge": 0.004},
        },
    },
    {
        "name": "Poisson-sampled noisy SGD in a ball",
        "run": _COMMON
        | {
            "records": 50000,
            "steps": 20000,
            "step_size": 0.2,
            "noise": {"multiplier": 1.5},
            "batches": {"kind": "poisson", "size": 500},
            "objective": {"loss": "logistic", "feature_norm": 1.0},
            "domain": {"kind": "ball", "radius": 2.0},
            "adjacency": "zero-out",
        },
    },
    {
        "name": "Clipped least squares, cyclic batches",
        "run": _COMMON
        | {
            "records": 20000,
            "steps": 2000,
            "step_size": 0.5,
            "noise": {"multiplier": 2.0},
            "batches": {"kind": "cyclic", "size": 200},
            "objective": {"loss": "least_squares", "feature_norm": 1.0, "clip": 0.5, "ridge": 0.01},
        },
    },
    {
        "name": "Projected Langevin sampling of a logistic posterior",
        "run": _COMMON
        | {
            "records": 10000,
            "steps": 5000,
            "step_size": 0.5,
            "noise": {"temperature": 1e-6},
            "batches": {"kind": "full"},
            "objective": {"loss": "logistic", "feature_norm": 1.0, "ridge": 0.01},
            "domain": {"kind": "ball", "radius": 5.0},
        },
    },
    {
        "name": "Clipped network: nothing is known of the losses",
        "run": _COMMON
        | {
            "records": 50000,
            "steps": 1000,
            "step_size": 0.1,
            "noise": {"multiplier": 1.1},
            "batches": {"kind": "poisson", "size": 500},
            "objective": {"gradient_bound": 1.0, "clipped": True},
            "adjacency": "zero-out",
        },
    },
]
