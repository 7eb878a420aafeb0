"""What hidden state gains over composition, over ridge, noise, step size and length.

Writes docs/figures/sweep.csv: one row for each run, with epsilon at delta 1e-5 of the last iterate
and of all iterates.  It takes a minute or two; docs/choose.md says what it shows.
"""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import wane
from wane.certificates import composition_of
from wane.report.text import round_up_to

DELTA = 1e-5
RECORDS, SIZE = 10_000, 500
RIDGES = (0.0, 0.001, 0.01, 0.05)
MULTIPLIERS = (1.0, 3.0)
RATES = (0.25, 1.0, 4.0)
STEPS = (100, 1_000, 10_000, 100_000)
BATCHES = (wane.Cyclic(SIZE), wane.Poisson(SIZE), wane.FullBatch())
COLUMNS = ("batches", "ridge", "multiplier", "step_size", "steps", "last_iterate", "composition")


def described(batches, ridge, multiplier, rate, steps):
    """A clipped logistic model; a full batch has the noise of a sum that many batches share."""
    whole = isinstance(batches, wane.FullBatch)
    return wane.NoisyDescent(
        objective=wane.losses.logistic(1.0, ridge=ridge),
        records=RECORDS,
        steps=steps,
        step_size=rate,
        noise=wane.NoiseMultiplier(multiplier * (RECORDS // SIZE if whole else 1)),
        batches=batches,
        adjacency=wane.Adjacency.ZERO_OUT,
    )


def rows():
    """One for each run of the sweep."""
    for batches, ridge, multiplier, rate, steps in product(
        BATCHES, RIDGES, MULTIPLIERS, RATES, STEPS
    ):
        run = described(batches, ridge, multiplier, rate, steps)
        found = (wane.certify(run).epsilon(DELTA), composition_of(run).epsilon(DELTA))
        yield batches.kind, ridge, multiplier, rate, steps, *map(round_up_to, found)


def main() -> None:
    """Write the file."""
    place = Path(__file__).parent / "figures" / "sweep.csv"
    with place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows())


if __name__ == "__main__":
    main()
