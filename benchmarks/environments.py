"""Peers at pinned versions, each in a virtual environment of its own under the cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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

    @property
    def folder(self) -> Path:
        """Where it is, or will be: another place when a pin or this Python changes."""
        text = json.dumps([sys.version, self.groups])
        name = f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return cache() / "environments" / name

    def python(self) -> Path:
        """Return the environment's interpreter, made on first use and again when a pin changes."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two suites at once make it once
            if not (self.folder / "ready").exists():
                self._make()
        return self.folder / "bin" / "python"

    def _make(self) -> None:
        print(f"installing {self.name} into an environment of its own", flush=True)
        try:
            _run(sys.executable, "-m", "venv", "--clear", str(self.folder))
            for group in self.groups:
                _run(str(self.folder / "bin" / "python"), "-m", "pip", "install", "-q", *group)
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Unavailable(f"{self.name} cannot be installed: {last[-300:]}") from error
        (self.folder / "ready").touch()

    def versions(self) -> str:
        """Say what is pinned, as every page does of its peers."""
        return ", ".join(name.replace("==", " ") for group in self.groups for name in group)

    def lines(
        self, script: str, *arguments: str, cwd: Path | None = None
    ) -> Iterator[dict[str, Any]]:
        """Run one of the scripts beside this file there, and yield the JSON lines it prints."""
        with started(self.python(), script, *arguments, cwd=cwd) as job:
            assert job.stdout is not None
            for line in job.stdout:
                yield json.loads(line)
        if job.returncode:
            raise Unavailable(f"{self.name}: {script} ended with {job.returncode}")


def started(
    python: Path | str, script: str, *arguments: str, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """Start one of the scripts beside this file on one thread, its input and output ours."""
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        (str(python), str(HERE / script), *arguments),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **single},
    )


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def pins(*groups: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in groups)


NUMBERS = ("numpy==2.4.6", "scipy==1.17.1")
LEARNING = (*NUMBERS, "scikit-learn==1.7.2")

OPACUS = Environment("opacus", pins(("torch==2.13.0",), ("opacus==1.6.0", *LEARNING)))
DIFFPRIVLIB = Environment("diffprivlib", pins(("diffprivlib==0.6.6", *LEARNING)))
DP_ACCOUNTING = Environment("dp-accounting", pins(("dp-accounting==0.6.0", *NUMBERS)))
PRV_ACCOUNTANT = Environment("prv-accountant", pins(("prv-accountant==0.2.0", *NUMBERS)))
BLACKJAX = Environment(
    "blackjax", pins(("jax==0.10.2", "jaxlib==0.10.2", "blackjax==1.7.1", *NUMBERS))
)
ENVIRONMENTS = (OPACUS, BLACKJAX, DP_ACCOUNTING, PRV_ACCOUNTANT, DIFFPRIVLIB)


def prepare() -> None:
    """Make all environments, a few at a time; one that fails says so again where it is needed."""

    def made(environment: Environment) -> None:
        with contextlib.suppress(Unavailable):
            environment.python()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(made, ENVIRONMENTS))
