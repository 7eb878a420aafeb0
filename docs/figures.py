"""Draws the picture of the front page and writes its numbers: `python docs/figures.py`.

`figures/gains.csv` holds what the README says: the same run and the same noise, charged for every
step and for the last model only.
"""

import csv
import io
import math
from dataclasses import replace
from pathlib import Path

import wane

HERE = Path(__file__).parent / "figures"
DELTA = 1e-5


def _run(ridge: float, **settings: object) -> wane.NoisyDescent:
    """Logistic regression on rows of norm one, compared with a record blanked out."""
    common = {"step_size": 1.0, "adjacency": wane.Adjacency.ZERO_OUT}
    objective = wane.losses.logistic(feature_norm=1.0, ridge=ridge)
    return wane.NoisyDescent(objective=objective, **(common | settings))


POISSON = _run(
    0.05,
    records=50_000,
    steps=100_000,
    noise=wane.NoiseMultiplier(1.0),
    batches=wane.Poisson(500),
)
"""The run of the picture."""


def runs() -> dict[str, wane.NoisyDescent]:
    """Return the runs whose gains are shown, from most to nothing."""
    cyclic = _run(
        0.0,
        records=32_561,
        steps=50 * math.ceil(32_561 / 233),
        noise=wane.NoiseMultiplier(1.0),
        batches=wane.Cyclic(233),
    )
    full = {"records": 50_000, "noise": wane.NoiseMultiplier(20.0)}
    return {
        "Poisson batches with a ridge, 100,000 steps": POISSON,
        "Poisson batches with a ridge, 1,000 steps": replace(POISSON, steps=1_000),
        "Poisson batches with a ridge, 100 steps": replace(POISSON, steps=100),
        "fixed order, 50 passes": wane.calibrate(
            cyclic, epsilon=1.0, delta=DELTA, over="noise"
        ).run,
        "all records with a ridge, 1,000 steps": _run(0.05, steps=1_000, **full),
        "all records with a ridge, 30 steps": _run(0.05, steps=30, **full),
        "all records without a ridge, 1,000 steps": _run(0.0, steps=1_000, **full),
    }


def gains() -> str:
    """Return the table of the gains, as CSV."""
    made = io.StringIO()
    lines = csv.writer(made, lineterminator="\n")
    lines.writerow(
        ["training", "every step charged", "last model only", "guesses right", "found at 1 in 1000"]
    )
    for name, run in runs().items():
        hidden = wane.certify(run)
        charged = wane.certify(replace(run, release=wane.EveryIterate())).epsilon(DELTA)
        guess = 0.5 * (1.0 + hidden.delta(0.0))
        found = hidden.true_positive_rate(1e-3)
        shown = (charged, hidden.epsilon(DELTA), guess, found)
        lines.writerow([name, *(_up(value) for value in shown)])
    return made.getvalue()


def _up(value: float, digits: int = 6) -> float:
    """So many digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / unit) * unit:.{digits}g}")


def epsilon_against_steps() -> None:
    """Charged for every step epsilon grows without end; for the last model it levels off."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    made = wane.curve(POISSON, over="steps", start=100, stop=100_000, points=31, delta=DELTA)
    labels = {
        "poisson_composition": "every step charged",
        "poisson_last_iterate": "last model only",
    }
    plt.rcParams["svg.hashsalt"] = "wane"
    figure, axis = plt.subplots(figsize=(5.6, 3.3))
    looks = (("--", "#a2480b"), ("-", "#0b6157"))
    for (name, label), (style, colour) in zip(labels.items(), looks, strict=True):
        along, last = made.theorems[name], made.theorems[name][-1]
        axis.plot(made.values, along, style, linewidth=2.8, color=colour)
        axis.plot(made.values[-1:], along[-1:], "o", color=colour, mfc="white", mew=2.2)
        at = {"xy": (made.values[-1], last), "textcoords": "offset points", "color": colour}
        axis.annotate(f"{_up(last, 3)}", xytext=(9, 0), fontsize=15, weight="bold", **at)
        axis.annotate(label, xytext=(9, -13), **at)
    axis.set(
        xscale="log",
        yscale="log",
        ylim=(0.5, 50.0),
        xlabel="steps of training",
        ylabel=f"epsilon at delta = {DELTA:g}",
    )
    axis.set_xticks(powers := [100, 1_000, 10_000, 100_000], [f"{one:,}" for one in powers])
    axis.set_yticks(levels := [0.5, 1, 2, 5, 10, 20, 50], [f"{one:g}" for one in levels])
    axis.minorticks_off()
    axis.grid(visible=True, alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.savefig(HERE / "epsilon-against-steps.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    (HERE / "gains.csv").write_text(gains(), encoding="utf-8")
    epsilon_against_steps()
