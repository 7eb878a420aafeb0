"""Peers that fit models, and the settings they get.

Opacus' settings were tuned on the TEST data, which is not private and flatters it: a grid over
batch size, epochs, learning rate and clipping, run with a NumPy emulation of the same algorithm
(Poisson batches, per-record clipping), the best of which Opacus itself then runs with its own
accountant.  For MNIST there was no grid: the rate follows from a few emulated full-size runs.
diffprivlib gets the best of a few regularisation strengths, judged on the test data
as well.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environments
from benchmarks.datasets import Data
from benchmarks.environments import Environment


@dataclass(frozen=True)
class Peer:
    """A script that fits models, and the environment it runs in."""

    environment: Environment
    script: str

    def run(self, data: Data, settings: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield what the script says of each setting."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            np.savez(
                folder / "data.npz",
                train_features=data.train_features.astype(np.float32),
                train_labels=data.train_labels,
                test_features=data.test_features.astype(np.float32),
                test_labels=data.test_labels,
            )
            (folder / "settings.json").write_text(json.dumps(settings))
            yield from self.environment.lines(self.script, "data.npz", "settings.json", cwd=folder)


OPACUS = Peer(environments.OPACUS, "peer_opacus.py")
DIFFPRIVLIB = Peer(environments.DIFFPRIVLIB, "peer_diffprivlib.py")


def _opacus(batch: int, epochs: int, rate: float, clip: float, mode: str = "hooks") -> dict:
    return {"batch": batch, "epochs": epochs, "learning_rate": rate, "clip": clip, "mode": mode}


OPACUS_SETTINGS: dict[str, dict[float, dict[str, Any]]] = {
    "breast cancer": {
        0.5: _opacus(128, 60, 10, 0.1),
        1.0: _opacus(426, 200, 30, 0.1),
        2.0: _opacus(426, 200, 30, 0.3),
        4.0: _opacus(426, 200, 30, 0.3),
        8.0: _opacus(426, 200, 30, 0.3),
    },
    "digits": {
        0.5: _opacus(1347, 200, 10, 0.3),
        1.0: _opacus(1347, 200, 30, 0.1),
        2.0: _opacus(1347, 200, 30, 0.3),
        4.0: _opacus(1347, 200, 30, 0.3),
        8.0: _opacus(1347, 100, 30, 1.0),
    },
    "adult": {
        0.5: _opacus(256, 10, 30, 0.3),
        1.0: _opacus(256, 10, 30, 0.3),
        2.0: _opacus(256, 10, 100, 0.3),
        4.0: _opacus(256, 10, 100, 0.3),
        8.0: _opacus(256, 10, 100, 0.3),
    },
    "mnist": {
        0.5: _opacus(2000, 40, 50, 0.3, "ghost"),
        1.0: _opacus(2000, 40, 100, 0.3, "ghost"),
        2.0: _opacus(2000, 40, 150, 0.3, "ghost"),
        4.0: _opacus(2000, 40, 200, 0.3, "ghost"),
        8.0: _opacus(2000, 40, 250, 0.3, "ghost"),
    },
}
STRENGTHS = {
    "breast cancer": (1.0, 10.0, 100.0),
    "digits": (1.0, 10.0, 100.0),
    "adult": (1.0, 10.0),
}
"""diffprivlib's C; MNIST, where a fit takes long, keeps the default 1."""
