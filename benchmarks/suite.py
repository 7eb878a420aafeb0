"""The sections of the suite, in the order in which they run."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.report import Page, write


@dataclass(frozen=True)
class Section:
    """A part of the suite: a module whose ``page(quick)`` measures and returns what it found.

    Its page has the section's name; ``about`` says in the index what is measured.  One that is
    ``timed`` has the machine to itself.
    """

    name: str
    module: str
    about: str
    timed: bool = True

    def run(self, quick: bool) -> Page:
        """Import late, so that one section can be run where another's needs are not installed."""
        page: Callable[[bool], Page] = import_module(f"benchmarks.{self.module}").page
        return page(quick)

    def written(self, folder: Path, quick: bool) -> None:
        """Run, and write its page into the folder."""
        command = f"python -m benchmarks {self.name}{' --quick' if quick else ''}"
        write(self.run(quick), folder, command)


def beside_each_other(group: Sequence[Section], folder: Path, quick: bool) -> list[str]:
    """Run sections in processes of their own, at the same time; return the names that failed."""
    spawn = multiprocessing.get_context("spawn")
    running = [spawn.Process(target=section.written, args=(folder, quick)) for section in group]
    for process in running:
        process.start()
    for process in running:
        process.join()
    return [s.name for s, process in zip(group, running, strict=True) if process.exitcode]


SECTIONS = (
    Section("start-up", "startup", "import time, and time to a first epsilon, against peers"),
    Section(
        "accounting",
        "accounting",
        "seconds and memory of certify and calibrate, 1e2 to 1e9 steps, against dp_accounting, "
        "Opacus and prv_accountant",
    ),
    Section("promises", "promises", "ratios that wane's own parts promise, kept or missed"),
    Section("throughput", "throughput", "a step beside a copy of its rows, and beside Opacus"),
    Section("sampling", "sampling_page", "steps to a certified distance, draws beside BlackJAX"),
    Section("scale", "scale_page", "rows from 1e5 up, one process and Dask"),
    Section(
        "tightness",
        "tightness",
        "certified epsilon between exact lower bounds and the best that others can say",
        timed=False,
    ),
    Section(
        "quoted",
        "quoted",
        "the figures that the README quotes and no other page measures",
        timed=False,
    ),
    Section(
        "held-apart",
        "held_apart",
        "accuracy on data that the planner was not tuned on",
        timed=False,
    ),
    Section("learning", "learning", "accuracy and time beside Opacus and diffprivlib"),
)
