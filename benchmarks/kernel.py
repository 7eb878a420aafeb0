"""Ratios that the accounting kernel promises, all measured in this one run.

    python -m benchmarks.kernel

Prints one line per promise: what, the ratio, the limit, and whether it holds.
"""

import subprocess
import sys
from collections.abc import Callable

import numpy as np

import wane
from benchmarks.timing import fastest, promise_kept

CONVEX = wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=1e-3)


def cyclic(epochs: int, per_epoch: int) -> wane.NoisyDescent:
    return wane.NoisyDescent(
        objective=CONVEX,
        records=10 * per_epoch,
        steps=epochs * per_epoch,
        step_size=1.0,
        noise=wane.NoiseMultiplier(3.0),
        batches=wane.Cyclic(10),
    )


def certified(run: wane.NoisyDescent) -> Callable[[], object]:
    return lambda: wane.certify(run).epsilon(1e-5)


def horizon() -> float:
    """1e9 steps in 1e6 epochs against 10 steps."""
    return fastest(certified(cyclic(1_000_000, 1_000)), 50) / fastest(certified(cyclic(2, 5)), 50)


def long_schedule() -> float:
    """A million different steps against one NumPy pass (a running sum) over such an array."""
    rng = np.random.default_rng(0)
    steps = rng.uniform(0.5, 1.5, 1_000_000)
    run = wane.NoisyDescent(
        objective=CONVEX,
        records=1000,
        schedule=wane.Schedule.of_steps(steps, rng.uniform(0.1, 0.2, steps.size)),
    )
    return fastest(certified(run)) / fastest(lambda: np.cumsum(steps))


def calibration() -> float:
    """dp_accounting's PLD calibration of the same composition against wane's."""
    import dp_accounting
    from dp_accounting import pld

    def peer() -> object:
        return dp_accounting.calibrate_dp_mechanism(
            pld.PLDAccountant,
            lambda noise: dp_accounting.SelfComposedDpEvent(
                dp_accounting.GaussianDpEvent(noise), 1000
            ),
            target_epsilon=1.0,
            target_delta=1e-6,
        )

    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0),
        records=100,
        steps=1000,
        step_size=1.0,
        noise=wane.NoiseMultiplier(1.0),
        adjacency=wane.Adjacency.ZERO_OUT,
    )
    ours = fastest(lambda: wane.calibrate(run, epsilon=1.0, delta=1e-6))
    return fastest(peer, 1) / ours


def start_up() -> float:
    """`wane certify` against a Python that only imports NumPy and scipy.special."""
    from pathlib import Path

    spec = Path(wane.__file__).parent / "cli" / "specs" / "logistic.toml"
    ours = [sys.executable, "-m", "wane", "certify", str(spec)]
    floor = [sys.executable, "-c", "import numpy, scipy.special"]

    def timed(command: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(command, check=True, capture_output=True)

    return fastest(timed(ours)) / fastest(timed(floor))


PROMISES: tuple[tuple[str, Callable[[], float], float, bool], ...] = (
    ("1e9 steps, 1e6 epochs / 10 steps", horizon, 3.0, False),
    ("schedule of 1e6 steps / one NumPy pass", long_schedule, 50.0, False),
    ("dp_accounting PLD calibration / wane", calibration, 100.0, True),
    ("start-up of wane certify / import numpy, scipy.special", start_up, 3.0, False),
)


def main() -> int:
    return sum(
        not promise_kept(words, measure(), limit, more_is_better=more)
        for words, measure, limit, more in PROMISES
    )


if __name__ == "__main__":
    sys.exit(main())
