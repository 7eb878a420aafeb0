"""`wane score`: how well a released model does on a table whose targets are known."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wane.cli.fit import loaded_release
from wane.cli.options import Result, Verb
from wane.tables import ClassTarget, as_file, read_blocks

PRIVATE = (
    "These numbers are computed from the rows and are not private: a score on private rows is a "
    "release of its own, which no certificate accounts for. Do not publish it, and do not choose "
    "a model by it."
)
PUBLIC = "You said that the rows are public, so that these numbers may be published."


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("score", score, "score a released model on a table with known targets", spec=False)
    made.add_argument("model", metavar="MODEL_DIR", help="a folder that wane fit wrote")
    made.add_argument("data", metavar="DATA", help="table with the target, a CSV or Parquet file")
    made.add_argument(
        "--rows-are-public", action="store_true", help="say so, if anybody may have these rows"
    )


def score(options: Namespace) -> Result:
    """`wane score`: nothing is written, and a warning stands beside every number."""
    model, described = loaded_release(Path(options.model))
    classes = isinstance(described.target, ClassTarget)
    tally = _Classes() if classes else _Numbers()
    with as_file(options.data) as data:
        for block in read_blocks(data, described):
            assert block.targets is not None
            tally.add(model, block.features, block.targets)
    warning = PUBLIC if options.rows_are_public else PRIVATE
    found = tally.scores()
    key = "public_by_declaration" if options.rows_are_public else "not_private"
    lines = [warning, "", *(f"{name.replace('_', ' ')}  {_shown(v)}" for name, v in found.items())]
    return {key: warning, **found}, "\n".join(lines)


def _shown(value: float | int | None) -> str:
    if value is None:
        return "not defined"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


@dataclass
class _Classes:
    """Counts for a classifier, block by block."""

    rows: int = 0
    right: int = 0
    loss: float | None = 0.0
    held: dict[int, int] = field(default_factory=dict)

    def add(self, model: Any, features: Any, targets: Any) -> None:
        self.rows += len(targets)
        self.right += int(np.count_nonzero(model.predict(features) == targets))
        for place, count in zip(*np.unique(targets, return_counts=True), strict=True):
            self.held[int(place)] = self.held.get(int(place), 0) + int(count)
        if self.loss is None or not hasattr(model, "predict_proba"):
            self.loss = None
            return
        likely = model.predict_proba(features)[np.arange(len(targets)), targets]
        with np.errstate(divide="ignore"):
            self.loss += float(-np.log(likely).sum())

    def scores(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "rows": self.rows,
            "accuracy": self.right / self.rows,
            "accuracy_of_the_commonest_class": max(self.held.values()) / self.rows,
        }
        if self.loss is not None:
            mean = self.loss / self.rows
            made["log_loss"] = mean if math.isfinite(mean) else None
        return made


@dataclass
class _Numbers:
    """Sums for a regression, block by block."""

    rows: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    total: float = 0.0
    spread: float = 0.0

    def add(self, model: Any, features: Any, targets: Any) -> None:
        apart = model.predict(features) - targets
        self.absolute += float(np.abs(apart).sum())
        self.squared += float(np.square(apart).sum())
        before, count = self.total / max(self.rows, 1), len(targets)
        mean = float(targets.mean())
        # sums of squares about the mean are joined so that no digits are lost
        joined = (mean - before) ** 2 * self.rows * count / (self.rows + count)
        self.spread += float(np.square(targets - mean).sum()) + joined
        self.total += float(targets.sum())
        self.rows += count

    def scores(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "mean_absolute_error": self.absolute / self.rows,
            "root_mean_squared_error": math.sqrt(self.squared / self.rows),
            "r_squared": 1.0 - self.squared / self.spread if self.spread > 0.0 else None,
        }
