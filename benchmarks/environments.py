"""Peers at pinned versions, each in a virtual environment of its own under the cache."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import cache

HERE = Path(__file__).parent


class Unavailable(Exception):
    """A peer that could not be installed here; its words go into the table."""


@dataclass(frozen=True)
class Environment:
    """Pinned packages; each group is installed in turn, so that torch can come first."""

    name: str
    groups: tuple[tuple[str, ...], ...]

    def python(self) -> Path:
        """Return the environment's interpreter, made on first use and again when a pin changes."""
        text = json.dumps([sys.version, self.groups])
        folder = (
            cache()
            / "environments"
            / f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        )
        python = folder / "bin" / "python"
        if not (folder / "ready").exists():
            print(f"installing {self.name} into an environment of its own", flush=True)
            try:
                _run(sys.executable, "-m", "venv", "--clear", str(folder))
                for group in self.groups:
                    _run(str(python), "-m", "pip", "install", "-q", *group)
            except subprocess.CalledProcessError as error:
                raise Unavailable(
                    f"{self.name} cannot be installed: {error.stderr.strip()[-300:]}"
                ) from error
            (folder / "ready").touch()
        return python

    def lines(
        self, script: str, *arguments: str, cwd: Path | None = None
    ) -> Iterator[dict[str, Any]]:
        """Run one of the scripts beside this file there, and yield the JSON lines it prints."""
        command = (str(self.python()), str(HERE / script), *arguments)
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.PIPE, text=True, env={**os.environ, **single}
        ) as job:
            assert job.stdout is not None
            for line in job.stdout:
                yield json.loads(line)
        if job.returncode:
            raise Unavailable(f"{self.name}: {script} ended with {job.returncode}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def pins(*groups: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in groups)


OPACUS = Environment(
    "opacus", pins(("torch==2.13.0",), ("opacus==1.6.0", "numpy", "scikit-learn==1.7.2"))
)
DIFFPRIVLIB = Environment("diffprivlib", pins(("diffprivlib==0.6.6", "scikit-learn==1.7.2")))
DP_ACCOUNTING = Environment("dp-accounting", pins(("dp-accounting==0.6.0",)))
PRV_ACCOUNTANT = Environment("prv-accountant", pins(("prv-accountant==0.2.0", "numpy", "scipy")))
BLACKJAX = Environment("blackjax", pins(("jax==0.10.2", "jaxlib==0.10.2", "blackjax")))
