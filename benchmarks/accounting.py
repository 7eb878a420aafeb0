"""Seconds and memory of accountants, from a hundred to a billion steps.

Every method's library is imported once, in its own environment; each cell is then a process of
its own, forked from there (`peer_accounting_times.py`).  Methods take turns at every cell, round
after round.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes

from benchmarks.environments import (
    DP_ACCOUNTING,
    OPACUS,
    PRV_ACCOUNTANT,
    Environment,
    Unavailable,
    started,
)
from benchmarks.report import Cell, Page, Plot, Table

SCRIPT = "peer_accounting_times.py"
OURS = "wane"
HOMES: dict[str, Environment | None] = {
    OURS: None,
    "dp_accounting PLD": DP_ACCOUNTING,
    "dp_accounting RDP": DP_ACCOUNTING,
    "Opacus RDP": OPACUS,
    "Opacus PRV": OPACUS,
    "prv_accountant": PRV_ACCOUNTANT,
}
SHARED = ("Poisson, every iterate", "full batch, every iterate")
HIDDEN = (
    "full batch, last iterate",
    "cyclic batches, last iterate",
    "Poisson on a ball, last iterate",
)
TASKS = ("certify", "calibrate")
GROWTH_FROM = 10**5
"""Exponents are fitted from here on, where what does not grow with the steps matters less."""


@dataclass(frozen=True)
class Budget:
    """How much is measured: the seconds a cell may take, and how often cells below ``short`` run.

    A call that takes less than ``enough`` seconds is repeated in its process for so long.
    """

    steps: dict[str, tuple[int, ...]]
    limit: float
    rounds: int
    short: float
    enough: float


def decades(*powers: int) -> tuple[int, ...]:
    return tuple(10**k for k in powers)


FULL = Budget(
    {"certify": decades(*range(2, 10)), "calibrate": decades(2, 3, 5, 7, 9)},
    limit=2.0,
    rounds=3,
    short=0.5,
    enough=0.1,
)
QUICK = Budget(
    {"certify": decades(2, 5, 9), "calibrate": decades(2, 9)},
    limit=0.8,
    rounds=1,
    short=0.0,
    enough=0.02,
)


@dataclass(frozen=True)
class Key:
    """One cell: a kind of run, what is asked, of whom, for how many steps."""

    case: str
    task: str
    method: str
    steps: int


@dataclass
class Found:
    """What the rounds said of one cell."""

    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    answer: float | None = None
    note: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None

    def add(self, line: dict[str, float | str]) -> None:
        if "note" in line:
            self.note = str(line["note"])
            return
        self.answer = float(line["answer"])
        for name in ("seconds", "first", "memory"):
            getattr(self, name).append(float(line[name]))


Results = dict[Key, Found]
Asker = Callable[[dict[str, object]], dict[str, float | str]]


@contextmanager
def asking(method: str) -> Iterator[Asker]:
    """Yield a function that puts a request to the method's waiting process."""
    home = HOMES[method]
    python = sys.executable if home is None else home.python()
    with started(python, SCRIPT, method) as job:
        asked, answers = job.stdin, job.stdout
        assert asked is not None and answers is not None

        def answer() -> dict[str, float | str]:
            line = answers.readline()
            if not line:
                raise Unavailable(f"{method} ended with {job.wait()}")
            found: dict[str, float | str] = json.loads(line)
            return found

        def ask(request: dict[str, object]) -> dict[str, float | str]:
            print(json.dumps(request), file=asked, flush=True)
            return answer()

        answer()  # it has imported its library
        yield ask


def keys(methods: Sequence[str], steps: dict[str, tuple[int, ...]]) -> Iterator[Key]:
    """Yield the cells so that methods take turns at each."""
    for task in TASKS:
        for case in (*SHARED, *HIDDEN):
            for count in steps[task]:
                for method in methods if case in SHARED else (OURS,):
                    yield Key(case, task, method, count)


def given_up(results: Results, key: Key) -> bool:
    """Whether the method failed twice running for fewer steps, so that more are not tried."""
    fewer = sorted(
        k.steps
        for k in results
        if (k.case, k.task, k.method) == (key.case, key.task, key.method) and k.steps < key.steps
    )[-2:]
    return len(fewer) == 2 and all(
        results[Key(key.case, key.task, key.method, count)].note for count in fewer
    )


def measure(asks: dict[str, Asker], budget: Budget) -> Results:
    """Fill every cell once, and the short ones in every round."""
    results: Results = {}
    for turn in range(budget.rounds):
        for key in keys(list(asks), budget.steps):
            found = results.get(key)
            if found and (found.note or (found.median or 0.0) > budget.short):
                continue
            cell = results.setdefault(key, Found())
            if not turn and given_up(results, key):
                cell.note = "not tried, fewer steps failed"
                continue
            cell.add(
                asks[key.method](
                    {
                        "case": key.case,
                        "task": key.task,
                        "steps": key.steps,
                        "limit": budget.limit,
                        "enough": budget.enough,
                    }
                )
            )
    return results


def exponent(results: Results, case: str, task: str, method: str) -> float | None:
    """Fit the slope of log seconds against log steps over the upper decades; three at least."""
    points = [
        (math.log(key.steps), math.log(found.median))
        for key, found in results.items()
        if (key.case, key.task, key.method) == (case, task, method)
        and key.steps >= GROWTH_FROM
        and found.median
    ]
    if len(points) < 3:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])


def rows(results: Results) -> Iterator[tuple[Cell, ...]]:
    """Yield one row per cell, as kept in the CSV."""
    for key, found in results.items():
        ours = results.get(Key(key.case, key.task, OURS, key.steps), Found()).median
        known = bool(found.seconds)
        yield (
            key.case,
            key.task,
            key.method,
            key.steps,
            found.answer,
            found.median,
            min(found.seconds) if known else None,
            max(found.seconds) if known else None,
            statistics.median(found.first) if known else None,
            found.median / ours if found.median and ours else None,
            round(statistics.median(found.memory), 1) if known else None,
            len(found.seconds),
            found.note,
        )


COLUMNS = (
    "case", "task", "method", "steps", "answer", "seconds", "least", "most", "first call",
    "times wane", "extra MB", "rounds", "note",
)  # fmt: skip


def wide(
    results: Results, steps: Iterable[int], task: str, value: Callable[[Found], Cell]
) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each case and method, a column for each number of steps."""
    lines = dict.fromkeys((key.case, key.method) for key in results if key.task == task)
    for case, method in lines:
        cells = (results[Key(case, task, method, count)] for count in steps)
        yield (case, method, *(value(cell) for cell in cells))


def time_shown(found: Found) -> Cell:
    """Median seconds to two digits, or why there are none."""
    if found.median is not None:
        return f"{found.median:.2g}"
    return found.note if found.note.startswith(">") else "-" if "not tried" in found.note else "!"


def digits(count: int, read: Callable[[Found], float | None]) -> Callable[[Found], Cell]:
    """Show a number to a few digits."""

    def show(found: Found) -> Cell:
        value = read(found)
        return None if value is None else f"{value:.{count}g}"

    return show


def tables(results: Results, budget: Budget, missing: dict[str, str]) -> tuple[Table, ...]:
    heads = {
        task: ("case", "method", *(f"1e{round(math.log10(count))}" for count in counts))
        for task, counts in budget.steps.items()
    }
    seconds = [
        Table(
            f"accounting-{task}",
            f"Seconds to {task}, by number of steps",
            (*heads[task], "growth"),
            [
                (*row, exponent(results, str(row[0]), task, str(row[1])))
                for row in wide(results, budget.steps[task], task, time_shown)
            ],
            TIME_NOTES[task].format(limit=budget.limit),
        )
        for task in TASKS
    ]
    answers = [
        Table(
            f"accounting-{name}",
            title,
            heads[task],
            list(wide(results, budget.steps[task], task, digits(6, lambda found: found.answer))),
        )
        for task, name, title in (
            ("certify", "epsilon", "What certify answered: epsilon at delta = 1e-6"),
            ("calibrate", "noise", "What calibrate answered: noise multiplier for epsilon 1"),
        )
    ]

    def most(found: Found) -> float | None:
        return max(found.memory, default=None)

    memory = [
        Table(
            f"accounting-memory-{task}",
            f"Megabytes held at most beyond the import, to {task}",
            heads[task],
            list(wide(results, budget.steps[task], task, digits(3, most))),
        )
        for task in TASKS
    ]
    peers = Table(
        "accounting-peers",
        "Peers",
        ("method", "installed"),
        [
            (method, missing.get(method) or (home.versions() if home else "this Python"))
            for method, home in HOMES.items()
        ],
    )
    cells = Table(
        "accounting",
        "Every cell",
        COLUMNS,
        list(rows(results)),
        "Medians and spread over the rounds, the first call in its process, and notes.",
        linked_only=True,
    )
    return (*seconds, *answers, *memory, peers, cells)


TIME_NOTES = {
    "certify": (
        "Medians; *growth* is the fitted exponent of the number of steps from 1e5 on. A cell may "
        "take {limit:g} s; - means that fewer steps had failed twice, ! that the library raised "
        "an error, which is in the last table."
    ),
    "calibrate": (
        "Each library's own search: wane and dp_accounting start from the same noise and narrow it "
        "to 1e-6 of itself, Opacus stops within 0.01 of epsilon and prv_accountant within 0.1, as "
        "they do by default. Fewer numbers of steps than above, to save time."
    ),
}

WORDS = """
How long it takes to get an epsilon from a run's description (certify) and the noise for epsilon 1
(calibrate), at delta = 1e-6, and how much memory that takes. The two cases in which every iterate
counts are answered by all: sampling rate 0.01 or full batches, one record added or removed, with
the noise growing with the steps so that epsilon stays near 1. The cases of which only the last
iterate is seen have no peer; there the noise is the same for every number of steps, except on the
ball.

Each cell is a process of its own, forked from one that has imported the library and done nothing
else, but that wane, which loads its theorems when they are first asked, has certified one step of
each case (start-up.md counts that); a short call is repeated in it and the median taken, short
cells are measured again in every round, and methods take turns. Seconds are processor time of one
thread. PRV accountants work to the error their own documentation proposes: 0.01 for Opacus, 0.1 for
prv_accountant.
"""


def plot(results: Results, task: str) -> Plot:
    def draw(axes: Axes) -> None:
        lines = dict.fromkeys((key.case, key.method) for key in results if key.task == task)
        for case, method in lines:
            points = [
                (key.steps, found.median)
                for key, found in results.items()
                if (key.case, key.task, key.method) == (case, task, method) and found.median
            ]
            if points and case in (SHARED[0], *HIDDEN[:2]):
                label = method if case in SHARED else f"wane: {case}"
                axes.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    markersize=4,
                    linestyle="-" if case in SHARED else ":",
                    linewidth=2.5 if method == OURS else 1.2,
                    color="black" if method == OURS else None,
                    alpha=1.0 if case in SHARED else 0.6,
                    label=label,
                )
        axes.set(xscale="log", yscale="log", xlabel="steps", ylabel=f"seconds to {task}")
        axes.figure.legend(loc="outside upper center", ncols=4, fontsize=7)  # lines go everywhere

    return Plot(
        f"accounting-{task}",
        f"Seconds to {task} against steps: Poisson batches by all, and wane's last iterates",
        draw,
    )


def page(quick: bool) -> Page:
    """Measure every accountant that can be installed."""
    budget = QUICK if quick else FULL
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        asks: dict[str, Asker] = {}
        for method in HOMES:
            try:
                asks[method] = stack.enter_context(asking(method))
            except Unavailable as error:
                missing[method] = str(error)
        results = measure(asks, budget)
    return Page(
        "accounting",
        "Accounting: speed and memory",
        WORDS,
        tables(results, budget, missing),
        tuple(plot(results, task) for task in TASKS),
    )
