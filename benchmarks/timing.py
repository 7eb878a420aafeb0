"""How long something takes, and whether that keeps a promise."""

import time
from collections.abc import Callable


def fastest(work: Callable[[], object], repeats: int = 7) -> float:
    """Return the fastest of a few tries, which other work disturbs least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def promise_kept(words: str, value: float, limit: float, *, more_is_better: bool = False) -> bool:
    """Print a promise with what was measured, and return whether it holds."""
    holds = value >= limit if more_is_better else value <= limit
    relation = ">=" if more_is_better else "<="
    print(f"{words:<58} {value:9.3f}  ({relation} {limit:g}) {'ok' if holds else 'MISSED'}")
    return holds
