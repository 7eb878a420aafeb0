"""Data that no constant of the planner was chosen on: wane as it comes beside a tuned Opacus.

The planner's constants were frozen before these sets were fitted for the first time, and are not
to be changed in view of them.  Opacus gets a grid, and the setting that did best on the TEST rows
is shown; that flatters it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, stdev
from typing import Any

import numpy as np

from benchmarks.datasets import Data, census, fashion, german
from benchmarks.learning_fits import at_once, by_wane
from benchmarks.peers import OPACUS
from benchmarks.report import Cell, Page, Table

EPSILONS = (1.0, 4.0)
SEEDS = range(3)
CLIPS = (0.3, 1.0)
GRID = replace(OPACUS, script="peer_opacus_grid.py")


@dataclass(frozen=True)
class Trial:
    """A data set and the settings among which Opacus' best is looked for.

    Attributes:
        data: the rows.
        batches: pairs of batch size and epochs.
        rates: learning rates.
        mode: how Opacus makes gradients of single records.
    """

    data: Data
    batches: tuple[tuple[int, int], ...]
    rates: tuple[float, ...]
    mode: str = "hooks"

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every setting of the grid."""
        for (batch, epochs), rate, clip in product(self.batches, self.rates, CLIPS):
            yield {
                "batch": batch,
                "epochs": epochs,
                "learning_rate": rate,
                "clip": clip,
                "mode": self.mode,
            }


def first(data: Data, train: int, test: int) -> Data:
    """The first rows, so many of each; their numbers are fixed here and depend on no row."""
    return Data(
        data.name,
        data.train_features[:train],
        data.train_labels[:train],
        data.test_features[:test],
        data.test_labels[:test],
    )


def trials(quick: bool) -> tuple[Trial, ...]:
    """The data sets, cut to public sizes so that Opacus' grid takes minutes and not hours."""
    small = Trial(german(), ((750, 100),), (3.0, 10.0, 30.0))
    if quick:
        return (replace(small, rates=small.rates[-1:]),)
    return (
        Trial(first(fashion(), 10_000, 10_000), ((1000, 10), (1000, 40)), (30.0, 100.0), "ghost"),
        Trial(first(census(), 20_000, 20_000), ((512, 5), (512, 20)), (30.0, 100.0)),
        small,
    )


def theirs(trial: Trial) -> dict[float, tuple[list[float], str]]:
    """For each epsilon the accuracies of the setting that did best on the test rows, and it.

    The first seed decides which is best; the other seeds then run that one alone.
    """
    asked = [
        {"seed": SEEDS[0], "epsilon": epsilon, **setting}
        for epsilon, setting in product(EPSILONS, trial.settings())
    ]
    lines = list(GRID.run(trial.data, asked))
    best = {
        e: max((v for v in lines if v["epsilon"] == e), key=lambda v: v["accuracy"])
        for e in EPSILONS
    }
    again = [
        {name: line[name] for name in asked[0]} | {"seed": seed}
        for line in best.values()
        for seed in SEEDS[1:]
    ]
    lines = [*best.values(), *GRID.run(trial.data, again)]
    return {
        e: ([v["accuracy"] for v in lines if v["epsilon"] == e], words(best[e])) for e in EPSILONS
    }


def words(setting: dict[str, Any]) -> str:
    """A setting in words."""
    return (
        f"batch {setting['batch']}, {setting['epochs']} epochs, rate "
        f"{setting['learning_rate']:g}, clip {setting['clip']:g}"
    )


def majority(data: Data) -> float:
    """Accuracy of whoever always names the class that is most frequent among the test rows."""
    return float(np.bincount(data.test_labels).max() / len(data.test_labels))


COLUMNS = (
    "data",
    "training rows",
    "columns",
    "epsilon",
    "most frequent class",
    "wane",
    "wane deviation",
    "Opacus",
    "Opacus deviation",
    "Opacus setting",
    "wane minus Opacus",
)


def rows(trial: Trial) -> Iterator[tuple[Cell, ...]]:
    """One row for each epsilon; accuracies in per cent."""
    data = trial.data
    peers = theirs(trial)
    for epsilon in EPSILONS:
        found, setting = peers[epsilon]
        plain = [fit.accuracy for fit in by_wane(data, (epsilon,), len(SEEDS))]
        yield (
            data.name,
            *data.train_features.shape,
            epsilon,
            *(
                round(100 * value, 2)
                for value in (
                    majority(data),
                    fmean(plain),
                    stdev(plain),
                    fmean(found),
                    stdev(found),
                )
            ),
            setting,
            round(100 * (fmean(plain) - fmean(found)), 2),
        )


WORDS = """\
The constants of wane's planner were chosen on other sets ([how a fit is planned](../learning.md));
they were left as they were when these were first fitted, and are not changed in view of what is
below. wane runs with its default arguments but for the intercept: every set brings a constant
column where it needs one, which Opacus' model uses too. Opacus runs each setting of a small grid,
and the one that did best **on the test rows** is shown: no private user can do that. The grid's
first version had fewer epochs, with which Opacus was up to three per cent worse; what was never
best (a clip of 0.1, small batches on the German credit data) was dropped from it. delta = 1e-5,
zero-out for wane, add-or-remove for Opacus; accuracies in per cent, mean over three seeds.

Fashion-MNIST and the census are cut to their first rows, as many as the table says, so that the
grid takes minutes.
"""


def done(trial: Trial) -> list[tuple[Cell, ...]]:
    """Run one trial, in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return list(rows(trial))


def page(quick: bool) -> Page:
    """Fit everything and compare, the longest first."""
    made = [row for found in at_once(done, trials(quick)) for row in found]
    shown = tuple(c for c in COLUMNS if c not in ("columns", "Opacus setting"))
    table = Table("held-apart", "Accuracy on data held apart", COLUMNS, made, shown=shown)
    return Page("held-apart", "Learning: data held apart", WORDS, (table,))
