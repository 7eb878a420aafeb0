"""How long something takes, and whether that keeps a promise."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Spread:
    """The median of some values, between their quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)


def interleaved(
    works: Mapping[str, Work], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each work in each round; all run once before, untimed."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return seconds


def ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Return the spread of the ratios, round by round."""
    return Spread.of([a / b for a, b in zip(above, below, strict=True)])


def fastest(work: Work, repeats: int = 7) -> float:
    """Return the fastest of a few tries, which other work disturbs least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def judged(value: float, limit: float, more_is_better: bool) -> tuple[str, bool]:
    """Return the relation that was promised, and whether it holds."""
    return (">=", value >= limit) if more_is_better else ("<=", value <= limit)


def promise_kept(words: str, value: float, limit: float, *, more_is_better: bool = False) -> bool:
    """Print a promise with what was measured, and return whether it holds."""
    relation, holds = judged(value, limit, more_is_better)
    print(f"{words:<58} {value:9.3f}  ({relation} {limit:g}) {'ok' if holds else 'MISSED'}")
    return holds
