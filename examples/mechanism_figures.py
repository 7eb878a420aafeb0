"""Draw the pictures of docs/mechanisms.md: `python examples/mechanism_figures.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wane.errors import MissingExtra
from wane.guarantees import GaussianDP
from wane.mechanisms import (
    BrownianMechanism,
    MarkovKernel,
    OrnsteinUhlenbeckMechanism,
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)

HERE = Path(__file__).parent.parent / "docs" / "figures"
DELTA = 1e-6


def privacy_against_time(axis: Any) -> None:
    """Epsilon of the release, Brownian motion beside Ornstein-Uhlenbeck."""
    times = np.geomspace(0.02, 6.0, 80)
    brownian = BrownianMechanism(sensitivity=1.0, time=0.01)
    axis.plot(
        times, [GaussianDP(brownian.mu_at(t)).epsilon(DELTA) for t in times], "--", label="Brownian"
    )
    for reversion in (0.5, 1.0, 2.0):
        process = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=reversion, time=0.01)
        values = [GaussianDP(process.mu_at(t)).epsilon(DELTA) for t in times]
        axis.plot(times, values, label=f"Ornstein-Uhlenbeck, reversion {reversion:g}")
    axis.set(
        xscale="log", yscale="log", xlabel="time", ylabel=f"epsilon at delta = {DELTA:g}",
        title="Later is more private",
    )  # fmt: skip


def error_against_privacy(axis: Any) -> None:
    """Worst mean squared error of a statistic in the unit ball of dimension ten."""
    epsilons = np.geomspace(0.1, 100.0, 60)
    plain, pulled = [], []
    for epsilon in epsilons:
        target = PrivacyTarget(epsilon=float(epsilon), delta=DELTA)
        known: dict[str, Any] = {"sensitivity": 0.5, "norm_bound": 1.0, "dimension": 10}
        plain.append(calibrated_brownian(target, **known).mean_squared_error())
        pulled.append(calibrated_ornstein_uhlenbeck(target, **known).mean_squared_error())
    axis.plot(epsilons, plain, "--", label="Brownian = plain Gaussian noise")
    axis.plot(epsilons, pulled, label="Ornstein-Uhlenbeck = best scaled Gaussian")
    axis.axhline(1.0, color="grey", linewidth=0.8)
    axis.set(
        xscale="log", yscale="log", xlabel=f"epsilon at delta = {DELTA:g}",
        ylabel="worst mean squared error", title="A pull to the origin never does worse than zero",
    )  # fmt: skip


def amplification_against_powers(axis: Any) -> None:
    """Exact delta after a lazy walk on twenty states, for a (1, 1e-6)-private input."""
    states = 20
    rows = 0.5 * np.eye(states) + 0.25 * (np.eye(states, k=1) + np.eye(states, k=-1))
    rows[0, 0] = rows[-1, -1] = 0.75
    walk = MarkovKernel(rows)
    epsilons = np.linspace(0.0, 1.0, 41)
    for times in (1, 50, 100, 200, 400):
        deltas = walk.power(times).amplified_curve(epsilons, epsilon=1.0, delta=DELTA)
        axis.plot(epsilons, deltas, label=f"{times} steps")
    axis.set(
        xlabel="epsilon", ylabel="delta after the walk", title="Post-processing amplifies privacy"
    )


def main() -> None:
    """Draw all three."""
    try:
        import matplotlib

        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("Pictures need matplotlib; install wane[plots].") from None
    plt.rcParams["svg.hashsalt"] = "wane"
    HERE.mkdir(exist_ok=True)
    for draw in (privacy_against_time, error_against_privacy, amplification_against_powers):
        figure, axis = plt.subplots(figsize=(6.4, 3.8))
        draw(axis)
        axis.grid(visible=True, which="both", alpha=0.25)
        axis.legend()
        name = f"mechanisms-{draw.__name__.replace('_', '-')}.svg"
        figure.savefig(HERE / name, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
