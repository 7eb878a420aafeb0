"""The figures that the front page of the repository quotes, measured anew.

What is random is repeated; ``tests/house/test_benchmarks.py`` holds the text to these rows.
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets import load_digits

from benchmarks.report import Cell, Page, Table
from wane.cli import main as wane_command
from wane.learn import PrivateLogisticRegression

COLUMNS = ("figure", "value", "least", "most", "repeats")


def row(figure: str, values: list[float]) -> tuple[Cell, ...]:
    return figure, statistics.median(values), min(values), max(values), len(values)


def demo() -> list[dict[str, float]]:
    """Run ``wane demo`` once, and return what it says of 1, 10 and 100 times the steps."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        status = wane_command(["demo", "--json", "--out", str(Path(folder) / "demo")])
    assert not status, printed.getvalue()
    found: list[dict[str, float]] = json.loads(printed.getvalue())["certificates"]
    return found


def demonstration(repeats: int) -> Iterator[tuple[Cell, ...]]:
    runs = [demo() for _ in range(repeats)]
    for lines in zip(*runs, strict=True):
        steps = lines[0]["steps"]
        for name, key in (
            ("composition", "composition_epsilon"),
            ("last model", "epsilon"),
            ("test accuracy", "accuracy"),
        ):
            yield row(f"demo, {steps} steps: {name}", [line[key] for line in lines])
    accuracies = [line["accuracy"] for lines in runs for line in lines]
    yield row("demo, all fits: test accuracy", accuracies)


def digits(repeats: int) -> tuple[Cell, ...]:
    """The Python example: a private classifier of handwritten digits at epsilon 1."""
    features, labels = load_digits(return_X_y=True)
    scores = []
    for _ in range(repeats):
        model = PrivateLogisticRegression(
            epsilon=1.0,
            delta=1e-5,
            classes=range(10),
            feature_bounds=(0.0, 16.0),
            feature_norm=1.0,
        ).fit(features[:1400], labels[:1400])
        scores.append(float(model.score(features[1400:], labels[1400:])))
    return row("digits, epsilon 1: test accuracy", scores)


WORDS = """
The figures that the README quotes and no other page measures: what `wane demo` prints,
and the score of its Python example. Private fits are random; they are repeated,
and the median, the least and the largest are given.
"""


def page(quick: bool) -> Page:
    """Measure every quoted figure; the quick mode leaves the demonstration out."""
    shown = () if quick else demonstration(10)
    rows = [*shown, digits(1 if quick else 5)]
    table = Table("quoted", "Every figure", COLUMNS, rows)
    return Page("quoted", "Figures that the README quotes", WORDS, (table,))
