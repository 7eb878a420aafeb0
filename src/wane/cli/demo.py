"""`wane demo`: a private model of real records, and what more steps cost by each accountant."""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wane import arguments, learn, report
from wane.arrays import Array, Mask
from wane.certificates import Particulars, certify
from wane.cli.commands import proper
from wane.cli.folder import new_folder
from wane.cli.options import Verb, add_delta, number
from wane.cli.release import Release
from wane.describe import Adjacency, Cyclic
from wane.errors import MissingExtra

FACTORS = (1, 10, 100)
CONTEXT = (("data", "breast cancer, bundled with scikit-learn"),)
PARTICULARS = Particulars(
    product="logistic regression", dataset="Breast cancer Wisconsin, training part"
)
SETTINGS: dict[str, Any] = {
    "feature_norm": 1.0,
    "steps": 1000,
    "step_size": 2.0,
    "batches": Cyclic(43),
    "clip": 0.3,
    "ridge": 0.003,
    "cool_down": 9,
}
"""Enough steps for the guarantee to level off: steps * step_size * ridge is well above one."""
TUNING = (
    "Not accounted for: the settings of this demonstration were picked by hand, with an eye on its "
    "records, which are public."
)


def register(verb: Verb) -> None:
    """Add the command."""
    parser = verb("demo", demo, "fit a private model to bundled records", spec=False)
    parser.add_argument("--epsilon", type=number, default=1.0, help="epsilon (default 1)")
    add_delta(parser)
    parser.add_argument("--out", default="wane-demo", metavar="DIR", help="where to write")


def demo(options: Namespace) -> tuple[dict[str, Any], str]:
    """`wane demo`."""
    delta = proper(options.delta)
    arguments.real("epsilon", options.epsilon, above=0.0)
    records = _breast_cancer()
    with new_folder(options.out, force=True) as folder:
        models = _fits(records, options.epsilon, delta)
        releases = [
            Release(m, m.words, delta, CONTEXT, TUNING, particulars=PARTICULARS) for m in models
        ]
        releases[0].write(folder)
    lines = [
        {
            "steps": release.model.run_.total_steps,
            "accuracy": records.accuracy(release.model),
            **release.document(),
        }
        for release in releases
    ]
    text = _text(models[0], lines, options)
    return {"certificates": lines, "written": str(options.out)}, text


@dataclass(frozen=True, eq=False)
class _Records:
    rows: Array
    labels: Array
    bounds: tuple[Array, Array]

    @property
    def kept_apart(self) -> Mask:
        """Every fourth row is for the test."""
        return np.asarray(np.arange(len(self.rows)) % 4 == 0)

    def fitted(self, model: Any) -> Any:
        train = ~self.kept_apart
        return model.fit(self.rows[train], self.labels[train])

    def accuracy(self, model: Any) -> float:
        test = self.kept_apart
        return float(np.mean(model.predict(self.rows[test]) == self.labels[test]))


def _fits(records: _Records, epsilon: float, delta: float) -> list[Any]:
    """Fit with some steps, and with many more under the same noise."""
    made: list[Any] = []
    for factor in FACTORS:
        steps = SETTINGS["steps"] * factor
        if made:
            epsilon = certify(replace(made[0].run_, steps=steps)).epsilon(delta)
        model = learn.PrivateLogisticRegression(
            epsilon=epsilon,
            delta=delta,
            adjacency=Adjacency.ZERO_OUT,
            feature_bounds=records.bounds,
            classes=(0, 1),
            **SETTINGS | {"steps": steps},
        )
        made.append(records.fitted(model))
    return made


def _breast_cancer() -> _Records:
    """Return the bundled records; the bounds of each measurement stand in the set's description."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise MissingExtra("wane demo needs scikit-learn; install wane[learn].") from None
    raw = load_breast_cancer()
    table = re.findall(r"^ *[a-z ]+\([a-z ]+\): +([0-9.]+) +([0-9.]+)$", raw.DESCR, re.MULTILINE)
    low, high = np.array(table, dtype=float).T
    return _Records(raw.data, raw.target, (low, high))


def _text(first: Any, lines: list[dict[str, Any]], options: Namespace) -> str:
    run = first.run_
    made = [
        f"Logistic regression on breast cancer, {run.records} records, adjacency "
        f"{run.adjacency.value}, delta = {report.shown(options.delta)}.",
        "Only the last model is released.  What it costs, by accountant:",
        "",
        f"{'steps':>10}  {'composition':>12}  {'wane':>10}  {'test accuracy':>13}",
    ]
    for line in lines:
        composed, ours = (report.shown(line[n]) for n in ("composition_epsilon", "epsilon"))
        made.append(f"{line['steps']:>10}  {composed:>12}  {ours:>10}  {line['accuracy']:>13.3f}")
    made += [
        "",
        f"For epsilon = {report.shown(options.epsilon)} after {run.total_steps} steps: noise "
        f"{run.noise.key} {run.noise.value:.6g} (theorem {lines[0]['theorem']}).",
        "Each line is a fit of its own: on private records, three fits would be three releases.",
        f"Model, certificate and description are in {options.out}; "
        "open certificate.html in a browser.",
    ]
    return "\n".join(made)
