"""Accuracy against epsilon, and time per epoch, beside Opacus and diffprivlib.

    python -m benchmarks.learning                       # everything; hours, mostly the peers
    python -m benchmarks.learning --methods wane --data digits
    python -m benchmarks.learning --quick               # small data, two seeds, wane alone
    python -m benchmarks.learning --times               # seconds per epoch, and the ratios
    python -m benchmarks.learning --plateau             # 100 times more steps
    python -m benchmarks.learning --table               # only rewrite the page

wane runs with its default arguments; every data set brings its constant column where it needs one,
so no intercept is added.  Rows are kept in docs/benchmarks/learning.csv, and what is there is not
run again unless --again is given.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import wane
from benchmarks import learning_page
from benchmarks.datasets import LOADERS, Data
from benchmarks.peers import DIFFPRIVLIB, OPACUS, OPACUS_SETTINGS, STRENGTHS
from wane.certify import certify, composition_of
from wane.learn import PrivateLogisticRegression
from wane.learn.plan import Problem, plan
from wane.run import descend, seeded_generator_voids_privacy
from wane.run.linear import LinearSums
from wane.run.links import Link, Logistic, Softmax, SoftmaxClamp, SoftmaxEnvelope

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
TABLE = OUT / "learning.csv"


@dataclass(frozen=True)
class Row:
    """One fit."""

    data: str
    method: str
    epsilon: float
    seed: int
    accuracy: float
    seconds: float


def wane_rows(data: Data, epsilons: Iterable[float], seeds: Iterable[int]) -> Iterator[Row]:
    for epsilon in epsilons:
        for seed in seeds:
            start = time.process_time()
            model = PrivateLogisticRegression(
                epsilon=epsilon,
                delta=DELTA,
                classes=list(range(data.classes)),
                fit_intercept=False,
                seed_voids_privacy=seed,
            ).fit(data.train_features, data.train_labels)
            seconds = time.process_time() - start
            found = model.score(data.test_features, data.test_labels)
            yield Row(data.name, "wane", epsilon, seed, found, seconds)


def opacus_rows(data: Data, epsilons: Iterable[float], seeds: Iterable[int]) -> Iterator[Row]:
    settings = [
        {"seed": seed, "epsilon": epsilon, **OPACUS_SETTINGS[data.name][epsilon]}
        for seed in seeds
        for epsilon in epsilons
    ]
    for line in OPACUS.run(data, settings):
        seconds = line["seconds"] * line["epochs"]
        yield Row(data.name, "opacus", line["epsilon"], line["seed"], line["accuracy"], seconds)


def diffprivlib_rows(data: Data, epsilons: Iterable[float], seeds: Iterable[int]) -> Iterator[Row]:
    """The best of a few strengths for each epsilon, by the mean over the seeds."""
    strengths = STRENGTHS.get(data.name, (1.0,))
    settings = [
        {"seed": seed, "epsilon": epsilon, "C": C}
        for epsilon in epsilons
        for C in strengths
        for seed in seeds
    ]
    found: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for line in DIFFPRIVLIB.run(data, settings):
        found.setdefault((line["epsilon"], line["C"]), []).append(line)
    for epsilon in epsilons:
        best = max(
            (found[epsilon, C] for C in strengths),
            key=lambda q: np.mean([v["accuracy"] for v in q]),
        )
        for line in best:
            yield Row(
                data.name, "diffprivlib", epsilon, line["seed"], line["accuracy"], line["seconds"]
            )


SOFTMAXES: dict[str, Link] = {
    "softmax": Softmax(10),
    "clamped softmax": SoftmaxClamp(10),
    "envelope (default)": SoftmaxEnvelope(10),
}
METHODS = {"wane": wane_rows, "opacus": opacus_rows, "diffprivlib": diffprivlib_rows}


def stored() -> list[Row]:
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return [
            Row(r["data"], r["method"], *(float(r["epsilon"]), int(r["seed"])),
                float(r["accuracy"]), float(r["seconds"]))
            for r in csv.DictReader(file)
        ]  # fmt: skip


def store(rows: Iterable[Row]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    ordered = sorted(set(rows), key=lambda r: (r.data, r.method, r.epsilon, r.seed))
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f.name for f in fields(Row)])
        writer.writerows(
            (*astuple(r)[:4], f"{r.accuracy:.6f}", f"{r.seconds:.3f}") for r in ordered
        )


def fill(names: list[str], methods: list[str], seeds: int, *, again: bool) -> None:
    """Run what is missing, and store it as it comes."""
    for name in names:
        data = LOADERS[name]()
        for method in methods:
            for epsilon in EPSILONS:
                key = (data.name, method, epsilon)
                rows = stored()
                known = {r.seed for r in rows if (r.data, r.method, r.epsilon) == key}
                missing = [s for s in range(seeds) if again or s not in known]
                if not missing:
                    continue
                made = list(METHODS[method](data, (epsilon,), missing))
                kept = [
                    r
                    for r in stored()
                    if (r.data, r.method, r.epsilon) != key or r.seed not in missing
                ]
                store(kept + made)
                mean = np.mean([r.accuracy for r in made])
                print(f"{name:14s} {method:12s} epsilon {epsilon:<4g} {mean:.4f}", flush=True)


def quick() -> None:
    for name in ("breast cancer", "digits"):
        data = LOADERS[name]()
        for epsilon in (1.0, 8.0):
            found = [r.accuracy for r in wane_rows(data, (epsilon,), range(2))]
            print(f"{name:14s} epsilon {epsilon:<4g} {np.mean(found):.4f}")


def epoch_seconds(features: Any, targets: Any, link: Link, batch: int) -> float:
    """Processor seconds that wane's runner takes for one epoch of cyclic batches."""
    n = len(features)
    run = plan(
        Problem(link=link, records=n, features=features.shape[1], feature_norm=1.0),
        epsilon=1.0,
        delta=DELTA,
        adjacency=wane.Adjacency.ZERO_OUT,
        batches=wane.Cyclic(batch),
        steps=-(-n // batch),
        cool_down=0,
    )
    sums = LinearSums(
        features,
        targets,
        link,
        feature_norm=1.0,
        gradient_bound=run.objective.gradient_bound,
    )
    generator = seeded_generator_voids_privacy(0)
    return least_processor_time(lambda: descend(run, sums, generator=generator))


def least_processor_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Processor seconds, as for Opacus: other work on the machine does not count."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def synthetic(n: int, d: int) -> Data:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((n, d)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x @ generator.standard_normal(d) > 0).astype(np.intp)
    return Data("synthetic", x, y, x[:100], y[:100])


def times() -> list[dict[str, Any]]:
    """Both promises about time, each measured against Opacus in this one run, on one thread."""
    rows = []
    for data, batch, mode, limit, links in (
        (synthetic(160_000, 50), 1000, "hooks", 20.0, {"logistic": Logistic()}),
        (LOADERS["mnist"](), 2000, "ghost", 7.0, SOFTMAXES),
    ):
        setting = {
            "seed": 0, "epsilon": 1.0, "batch": batch, "epochs": 1, "learning_rate": 1.0,
            "clip": 0.3, "mode": mode,
        }  # fmt: skip
        theirs = min(line["seconds"] for line in OPACUS.run(data, [setting] * 2))
        targets = 2.0 * data.train_labels - 1.0 if data.classes == 2 else data.train_labels
        features = data.train_features.astype(np.float32)
        for name, link in links.items():
            ours = epoch_seconds(features, targets, link, batch)
            rows.append({
                "data": f"{data.name}, {name}", "rows": len(features),
                "columns": features.shape[1], "batch": batch, "mode": mode, "wane": ours,
                "opacus": theirs, "limit": limit,
            })  # fmt: skip
            print(f"{rows[-1]['data']}: wane {ours:.4f} s, Opacus {theirs:.3f} s")
    return rows


class SameEnding:
    """Noise counted from the end: the last steps get the same, however many came before."""

    BLOCK = 1000

    def __init__(self, seed: int, steps: int) -> None:
        self.seed, self.left, self.block = seed, steps, -1
        self.noise = np.empty(0)

    def standard_normal(self, shape: tuple[int, ...]) -> Any:
        self.left -= 1
        block, place = divmod(self.left, self.BLOCK)
        if block != self.block:
            generator = np.random.default_rng([self.seed, block])
            self.block, self.noise = block, generator.standard_normal((self.BLOCK, *shape))
        return self.noise[place]


def plateau(seeds: int = 5) -> list[dict[str, Any]]:
    """The same noise for 1, 10 and 100 times the steps: what it costs, and what it does."""
    data = LOADERS["breast cancer"]()
    n, d = data.train_features.shape
    problem = Problem(link=Logistic(), records=n, features=d, feature_norm=1.0)
    target = {"epsilon": 1.0, "delta": DELTA, "adjacency": wane.Adjacency.ZERO_OUT}
    free = plan(problem, **target)
    assert free.steps is not None and free.step_size is not None
    ridge = 2.0 / (free.steps * free.step_size)  # forgets before the planned run would stop
    base = plan(
        problem,
        **target,
        ridge=ridge,
        step_size=0.9 * free.step_size,
        steps=round(3.5 * free.steps),
        batches=wane.FullBatch(),
    )
    assert base.steps is not None
    rows = []
    for factor in (1, 10, 100):
        run = replace(base, steps=factor * base.steps)
        sums = LinearSums(
            data.train_features,
            2.0 * data.train_labels - 1.0,
            Logistic(),
            feature_norm=1.0,
            gradient_bound=run.objective.gradient_bound,
        )
        found = []
        for seed in range(seeds):
            w = descend(run, sums, generator=SameEnding(seed, run.steps))
            found.append(np.mean((data.test_features @ w > 0) == data.test_labels))
        rows.append({
            "steps": run.steps, "last": certify(run).epsilon(DELTA),
            "composition": composition_of(run).epsilon(DELTA),
            "accuracy": float(np.mean(found)),
        })  # fmt: skip
        print(rows[-1])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    for flag in ("quick", "times", "plateau", "table", "again"):
        parser.add_argument(f"--{flag}", action="store_true")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    if asked.quick:
        return quick()
    if asked.times:
        learning_page.keep(OUT, "times", times())
    elif asked.plateau:
        learning_page.keep(OUT, "plateau", plateau())
    elif not asked.table:
        fill(asked.data, asked.methods, asked.seeds, again=asked.again)
    return learning_page.write(OUT, stored())


if __name__ == "__main__":
    main()
