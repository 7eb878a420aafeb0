"""What distance certificates promise: long chains cost no more than short ones, plans take seconds.

    python -m benchmarks.sampling_distance

One line per promise: what, the measured number, the limit, and whether it holds.
"""

import sys
import time
from collections.abc import Callable

from benchmarks.timing import fastest, promise_kept
from wane.certificates.analyse import certify_distance
from wane.describe.chain import Direction, NormalStart, Overdamped, Target
from wane.sampling.distance_plan import Friction, plan_sampling

TARGET = Target(1.0, 4.0, 10, laplacian_lipschitz=0.0)
START = NormalStart(0.25, 0.0)
SHORT, LONG = 10**4, 10**12


def certificate(steps: int) -> Callable[[], object]:
    """One certificate, its free parameters searched; all chains run for the same time."""
    chain = Overdamped(TARGET, 8.0 / steps, steps, START)
    return lambda: certify_distance(chain, order=2.0, direction=Direction.CHAIN_FIRST)


def plan_seconds() -> list[float]:
    """Seconds of processor for each of some plans."""
    logistic = Target(1.0, 592.8, 100, laplacian_lipschitz=227.8)
    seconds = []
    for target, friction in ((TARGET, None), (TARGET, Friction()), (logistic, None)):
        started = time.process_time()
        start = NormalStart(1.0 / target.smoothness, 0.0)
        plan_sampling(target, order=2.0, distance=0.1, start=start, friction=friction)
        seconds.append(time.process_time() - started)
    return seconds


def main() -> int:
    """Print every promise, and return how many are missed."""
    growth = fastest(certificate(LONG), repeats=3) / fastest(certificate(SHORT), repeats=3)
    promises = (
        (f"certificate, {LONG:.0e} steps against {SHORT:.0e}", growth, 4.0),
        ("plan, slowest of three, seconds of processor", max(plan_seconds()), 10.0),
    )
    return sum(not promise_kept(*promise) for promise in promises)


if __name__ == "__main__":
    sys.exit(main())
