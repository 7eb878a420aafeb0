"""Draws the pictures of the documentation: `python docs/figures.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

import wane

HERE = Path(__file__).parent / "figures"
DELTA = 1e-5


def epsilon_against_steps() -> None:
    """Composition grows without end; the last iterate levels off."""
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_bound=10.0, smoothness=32.5, strong_convexity=0.0, ridge=0.004
        ),
        records=60_000,
        steps=40,
        step_size=0.05,
        noise=wane.NoiseMultiplier(3.0),
        batches=wane.Cyclic(1500),
    )
    made = wane.curve(run, over="steps", start=40, stop=400_000, points=60, delta=DELTA)
    labels = {
        "gaussian_composition": "composition: every iterate charged",
        "last_iterate": "wane: only the last iterate leaves the room",
    }
    plt.rcParams["svg.hashsalt"] = "wane"
    figure, axis = plt.subplots(figsize=(7.2, 3.8))
    for (name, label), style in zip(labels.items(), ("--", "-"), strict=True):
        axis.plot(made.values, made.theorems[name], style, linewidth=2, label=label)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="steps",
        ylabel=f"epsilon at delta = {DELTA:g}",
        title="Ridge-regularised softmax regression, 60 000 records, batches of 1 500",
    )
    axis.grid(visible=True, which="both", alpha=0.25)
    axis.legend(frameon=False)
    HERE.mkdir(exist_ok=True)
    figure.savefig(HERE / "epsilon-against-steps.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    epsilon_against_steps()
