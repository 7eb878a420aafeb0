"""How long something takes: the fastest of a few tries, which other work disturbs least."""

import time
from collections.abc import Callable


def fastest(work: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
