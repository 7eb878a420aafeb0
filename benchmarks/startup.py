"""How long one waits for a library, and for a first epsilon, in a new process.

Commands are run in turn, round after round, each in a process of its own with everything it reads
already in the file cache.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.axes import Axes

import wane
from benchmarks.environments import (
    DP_ACCOUNTING,
    OPACUS,
    PRV_ACCOUNTANT,
    Environment,
    Unavailable,
)
from benchmarks.report import Cell, Page, Plot, Table

SPEC = Path(wane.__file__).parent / "cli" / "specs" / "logistic.toml"

GAUSSIAN_PLD = """
import dp_accounting as d
from dp_accounting import pld
print(pld.PLDAccountant().compose(
    d.PoissonSampledDpEvent(0.025, d.GaussianDpEvent(3.0)), 8000).get_epsilon(1e-6))
"""
GAUSSIAN_RDP = """
import dp_accounting as d
from dp_accounting import rdp
print(rdp.RdpAccountant().compose(
    d.PoissonSampledDpEvent(0.025, d.GaussianDpEvent(3.0)), 8000).get_epsilon(1e-6))
"""
OPACUS_TEXT = """
from opacus.accountants import create_accountant
a = create_accountant("{}")
a.history = [(3.0, 0.025, 8000)]
print(a.get_epsilon(1e-6))
"""
PRV_TEXT = """
from prv_accountant import PRVAccountant, PoissonSubsampledGaussianMechanism
one = PoissonSubsampledGaussianMechanism(noise_multiplier=3.0, sampling_probability=0.025)
print(PRVAccountant(one, eps_error=0.1, delta_error=1e-9, max_self_compositions=8000)
    .compute_epsilon(1e-6, 8000)[2])
"""


@dataclass(frozen=True)
class Start:
    """A command to be timed: ``arguments`` of a Python, ours or of a peer's environment."""

    kind: str
    name: str
    arguments: tuple[str, ...]
    home: Environment | None = None

    def command(self) -> tuple[str, ...]:
        python = sys.executable if self.home is None else str(self.home.python())
        return (python, *self.arguments)


def _import(name: str, home: Environment | None = None) -> Start:
    return Start("import", name, ("-c", f"import {name}"), home)


BARE = Start("floor", "python -c pass", ("-c", "pass"))
NUMBERS = Start("floor", "import numpy, scipy.special", ("-c", "import numpy, scipy.special"))
STARTS = (
    BARE,
    NUMBERS,
    Start("floor", "import numpy, scipy.stats", ("-c", "import numpy, scipy.stats")),
    _import("wane"),
    _import("dp_accounting", DP_ACCOUNTING),
    _import("prv_accountant", PRV_ACCOUNTANT),
    _import("opacus.accountants", OPACUS),
    Start("epsilon", "wane certify", ("-m", "wane", "certify", str(SPEC), "--delta", "1e-6")),
    Start("epsilon", "dp_accounting PLD", ("-c", GAUSSIAN_PLD), DP_ACCOUNTING),
    Start("epsilon", "dp_accounting RDP", ("-c", GAUSSIAN_RDP), DP_ACCOUNTING),
    Start("epsilon", "prv_accountant", ("-c", PRV_TEXT), PRV_ACCOUNTANT),
    Start("epsilon", "Opacus RDP", ("-c", OPACUS_TEXT.format("rdp")), OPACUS),
    Start("epsilon", "Opacus PRV", ("-c", OPACUS_TEXT.format("prv")), OPACUS),
)
OURS = {"import": "wane", "epsilon": "wane certify"}
ROUNDS = 3
QUICK_ROUNDS = 1
SLOW = 2.0
"""Seconds beyond which a command is run in every third round only."""


@dataclass
class Found:
    """What the rounds said of one command."""

    seconds: list[float] = field(default_factory=list)
    memory: float = 0.0
    note: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


LAUNCHER = """
import os, sys, time
null = os.open(os.devnull, os.O_WRONLY)
quiet = [(os.POSIX_SPAWN_DUP2, null, place) for place in (1, 2)]
start = time.perf_counter()
job = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(job, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1024)
sys.exit(status != 0)
"""
"""Linux counts the memory of who starts a process as that process', so a small one does it."""


def once(command: Sequence[str]) -> tuple[float, float]:
    """Run a command; return its seconds from start to end and the megabytes it held at most."""
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", LAUNCHER, *command),
        env={**os.environ, **single},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"could not be run: {' '.join(command)[:80]}")
    seconds, held = map(float, done.stdout.split())
    return seconds, held


def measure(rounds: int) -> dict[Start, Found]:
    """Run every command in turn, after one run that only warms the file cache."""
    results = {start: Found() for start in STARTS}
    commands: dict[Start, tuple[str, ...]] = {}
    for start, found in results.items():
        try:
            commands[start] = start.command()
            once(commands[start])
        except Unavailable as error:
            found.note = str(error)
            commands.pop(start, None)
    for turn in range(rounds):
        for start, command in commands.items():
            found = results[start]
            if turn % 3 and (found.median or 0.0) > SLOW:
                continue
            seconds, held = once(command)
            found.seconds.append(seconds)
            found.memory = max(found.memory, held)
    return results


def rows(results: dict[Start, Found]) -> list[tuple[Cell, ...]]:
    """Return a row for each command, with its ratios to the floors and to wane's own."""
    by_name = {start.name: found for start, found in results.items()}
    bare, numbers = results[BARE].median, results[NUMBERS].median
    made: list[tuple[Cell, ...]] = []
    for start, found in results.items():
        ours = by_name[OURS[start.kind]].median if start.kind in OURS else None
        made.append(
            (
                start.kind,
                start.name,
                found.median,
                *_quartiles(found.seconds),
                _ratio(found.median, bare),
                _ratio(found.median, numbers),
                _ratio(found.median, ours),
                round(found.memory) if found.seconds else None,
                len(found.seconds),
                found.note or (start.home.versions() if start.home else ""),
            )
        )
    return made


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value and base else None


def _quartiles(values: list[float]) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return (values[0], values[0]) if values else (None, None)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


COLUMNS = (
    "kind", "command", "seconds", "lower quartile", "upper quartile", "times python -c pass",
    "times numpy, scipy.special", "times wane", "MB", "rounds", "versions or note",
)  # fmt: skip

WORDS = """
Seconds from starting a process to its end, in rounds in which all commands take turns, with a warm
file cache and one thread. *import* only imports; *epsilon* also gets one epsilon: `wane certify` on
the bundled description (8000 steps of cyclic SGD on 60000 records, batches of 1500, with every
theorem asked), and for the peers the shortest program for the same steps, noise and rate with
Poisson batches. The peers' question is not the same as wane's, since they have none for a last
iterate; it is what one runs instead.
"""


def plot(results: dict[Start, Found]) -> Plot:
    def draw(axes: Axes) -> None:
        known = [(start, found.median) for start, found in results.items() if found.median]
        names = [f"{start.kind}: {start.name}" for start, _ in known]
        colors = ["tab:orange" if start.name in OURS.values() else "tab:blue" for start, _ in known]
        bars = axes.barh(names, [seconds for _, seconds in known], color=colors)
        axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=8)
        axes.set(xscale="log", xlabel="seconds")
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)

    return Plot("start-up", "Seconds to import, and to a first epsilon", draw)


def page(quick: bool) -> Page:
    """Time every command that can be run."""
    results = measure(QUICK_ROUNDS if quick else ROUNDS)
    table = Table("start-up", "Every command", COLUMNS, rows(results))
    return Page("start-up", "Start-up: import and first epsilon", WORDS, (table,), (plot(results),))
