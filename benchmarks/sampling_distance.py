"""What distance certificates promise: long chains cost no more than short ones, plans take seconds.

    python -m benchmarks.sampling_distance

One line per promise: what, the measured number, the limit, and whether it holds.
"""

import sys
import time

from benchmarks.timing import fastest, promise_kept
from wane.sampling.chain import NormalStart, Overdamped, Target
from wane.sampling.distance import Direction, Friction, certify_distance, plan_sampling

TARGET = Target(1.0, 4.0, 10, laplacian_lipschitz=0.0)
START = NormalStart(0.25, 0.0)


def certify(steps: int) -> float:
    """Seconds for one certificate, its free parameters searched, over the same time."""
    chain = Overdamped(TARGET, 8.0 / steps, steps, START)
    return fastest(
        lambda: certify_distance(chain, order=2.0, direction=Direction.CHAIN_FIRST), repeats=3
    )


def slowest_plan() -> float:
    """Seconds for the slowest of some plans."""
    logistic = Target(1.0, 592.8, 100, laplacian_lipschitz=227.8)
    seconds = []
    for target, friction in ((TARGET, None), (TARGET, Friction()), (logistic, None)):
        started = time.process_time()
        start = NormalStart(1.0 / target.smoothness, 0.0)
        plan_sampling(target, order=2.0, distance=0.1, start=start, friction=friction)
        seconds.append(time.process_time() - started)
    return max(seconds)


def main() -> int:
    """Print every promise, and return how many are missed."""
    promises = (
        ("certificate, 1e12 steps against 1e4", certify(10**12) / certify(10**4), 4.0),
        ("plan, slowest of three, seconds of processor", slowest_plan(), 10.0),
    )
    return sum(not promise_kept(*promise) for promise in promises)


if __name__ == "__main__":
    sys.exit(main())
