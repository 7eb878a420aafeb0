"""One histogram, three readers: the study team, the hospital, and everybody.

    python examples/three_levels.py

569 tumours of the breast cancer data that come with scikit-learn (extra `learn`) are counted by
size.  One path of an Ornstein-Uhlenbeck process starts at the histogram; each reader sees one point
of it.  Whoever pools several points knows no more than the holder of the earliest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wane.errors import MissingExtra
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    NestedRelease,
    OpenPath,
    PrivacyTarget,
    calibrated_ornstein_uhlenbeck,
)
from wane.report.text import round_up_to

Array = NDArray[np.float64]

DELTA = 1e-6
EPSILONS = {"team": 4.0, "hospital": 1.0, "everybody": 0.25}
BINS = np.linspace(6.0, 30.0, 13)
"""Fixed before the data were seen; values outside are counted in the first or last bin."""


def tumour_sizes() -> Array:
    """Mean radius of the nucleus, one number a patient."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise MissingExtra("This example needs scikit-learn; install wane[learn].") from None
    return np.asarray(load_breast_cancer().data[:, 0], dtype=np.float64)


def shares(values: Array) -> Array:
    """The histogram, as shares of a public number of records."""
    counts, _ = np.histogram(np.clip(values, BINS[0], BINS[-1]), bins=BINS)
    return np.asarray(counts / values.size)


def plan(records: int) -> NestedRelease:
    """Levels at the times their epsilons allow.

    Replacing one record moves two shares by 1/records each; shares have norm at most one.  The
    process is tuned for the hospital: there its error is the smallest possible.
    """
    process = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(epsilon=EPSILONS["hospital"], delta=DELTA),
        sensitivity=math.sqrt(2.0) / records,
        norm_bound=1.0,
        dimension=BINS.size - 1,
    )
    mus = {
        name: PrivacyTarget(epsilon=epsilon, delta=DELTA).largest_mu
        for name, epsilon in EPSILONS.items()
    }
    return NestedRelease.for_mu(process, mus)


def up(value: float) -> str:
    """Privacy is never rounded down, not even in print."""
    return round_up_to(value, 4)


def report(levels: NestedRelease, path: OpenPath, truth: Array) -> str:
    """What each reader gets, and what readers learn together."""
    lines = [f"{'reader':<10} {'epsilon':>8} {'mu':>8} {'worst error':>12} {'seen error':>11}"]
    for name in levels.levels:
        guarantee = levels.guarantee(name)
        worst = levels.mechanism.at(levels.levels[name]).mean_squared_error()
        seen = float(np.sum((path.reader(name).points[name] - truth) ** 2))
        lines.append(
            f"{name:<10} {up(guarantee.epsilon(DELTA)):>8} {up(guarantee.mu):>8} "
            f"{math.sqrt(worst):12.4f} {math.sqrt(seen):11.4f}"
        )
    everyone = levels.worst_case
    lines.append(f"all three together: epsilon = {up(everyone.epsilon(DELTA))}, because all other")
    lines.append("  positions are made from the earliest one and fresh noise.")
    times = levels.levels
    fork = BranchedRelease(
        levels.mechanism,
        {
            "team": Branch(None, times["team"]),
            "hospital": Branch("team", times["hospital"] - times["team"]),
            "everybody": Branch("team", times["everybody"] - times["team"]),
        },
    )
    two = ["hospital", "everybody"]
    apart = up(fork.coalition(two).epsilon(DELTA))
    nested = up(levels.coalition(two).epsilon(DELTA))
    lines.append(f"hospital and everybody: {nested} on one path, {apart} on two branches")
    return "\n".join(lines)


def main() -> None:
    """Publish the strictest level first; refine later for those entitled to more."""
    truth = shares(tumour_sizes())
    levels = plan(records=569)
    path = levels.open(truth)
    for name in ("everybody", "hospital", "team"):
        path.publish(name)
    print(report(levels, path, truth))
    print("(The last column uses the true histogram: never publish it.)")


if __name__ == "__main__":
    main()
