"""Samplers that wane is compared with: four lines of NumPy, and BlackJAX."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environments import BLACKJAX, Unavailable

Array = np.ndarray
Job = dict[str, Any]
Gradient = Callable[[Array], Array]


def plain_ula(gradient: Gradient, start: Array, step_size: float, steps: int) -> Iterator[Array]:
    """The unadjusted Langevin algorithm in four lines, which is what a user would write."""
    rng, x = np.random.default_rng(), start
    for _ in range(steps):
        noise = rng.standard_normal(x.shape)
        x = x - step_size * gradient(x) + np.sqrt(2.0 * step_size) * noise
        yield x


def blackjax(jobs: list[Job], folder: Path) -> tuple[dict[str, Job], str]:
    """Run jobs in BlackJAX' environment; return its answers by name, and why some are missing."""
    (folder / "jobs.json").write_text(json.dumps(jobs))
    found = {}
    try:
        for line in BLACKJAX.lines("peer_blackjax.py", "jobs.json", cwd=folder):
            found[line["name"]] = line
    except Unavailable as error:
        return found, " ".join(str(error).split())
    return found, ""
