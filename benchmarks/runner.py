"""Ratios that the runner promises, all measured in this one run.

python -m benchmarks.runner
"""

import sys

import numpy as np

import wane
from benchmarks.timing import fastest, promise_kept
from wane.run import LinearSums, descend, links, seeded_generator_voids_privacy


def full_step() -> float:
    """A full-batch logistic step on 1M x 100 float32, in passes over the matrix (its sum)."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((10**6, 100), dtype=np.float32)
    targets = np.where(rng.random(10**6) < 0.5, 1.0, -1.0)
    sums = LinearSums(features, targets, links.Logistic(), feature_norm=1.0, gradient_bound=0.3)
    x = rng.standard_normal(100)
    return fastest(lambda: sums(x, slice(0, 10**6)), 15) / fastest(features.sum, 15)


def envelope() -> float:
    """A full-batch gradient of the softmax envelope, in plain ones, shaped as MNIST."""
    rng = np.random.default_rng(0)
    features = rng.random((60_000, 784), dtype=np.float32)
    labels = rng.integers(0, 10, 60_000)
    bent = LinearSums(
        features, labels, links.SoftmaxEnvelope(10), feature_norm=1.0, gradient_bound=0.3
    )
    plain = LinearSums(features, labels, links.Softmax(10), feature_norm=1.0)
    x = rng.standard_normal((784, 10))
    rows = slice(0, 60_000)
    return fastest(lambda: bent(x, rows), 5) / fastest(lambda: plain(x, rows), 5)


def _epoch(batches, dtype) -> float:
    rng = np.random.default_rng(0)
    records, columns = 160_000, 50
    features = rng.standard_normal((records, columns)).astype(dtype)
    targets = np.where(rng.random(records) < 0.5, 1.0, -1.0)
    sums = LinearSums(features, targets, links.Logistic(), feature_norm=1.0, gradient_bound=0.3)
    run = wane.NoisyDescent(
        objective=sums.objective,
        records=records,
        steps=160,
        step_size=1.0,
        noise=wane.NoiseMultiplier(1.0),
        batches=batches,
    )
    generator = seeded_generator_voids_privacy(0)
    return fastest(lambda: descend(run, sums, generator=generator))


def cyclic_epoch() -> float:
    """Seconds for one epoch of the runner, n = 160,000, d = 50, batches of 1000."""
    return _epoch(wane.Cyclic(1000), np.float32)


def poisson_epoch() -> float:
    """The same with Poisson batches, which draw a number for each record at each step."""
    return _epoch(wane.Poisson(1000), np.float32)


PROMISES = (
    ("full step, 1M x 100 float32 / one pass", full_step, 2.0),
    ("softmax envelope / plain softmax, 60000 x 784, K = 10", envelope, 3.0),
    ("cyclic epoch, 160000 x 50, b = 1000 (seconds)", cyclic_epoch, 0.08),
    ("Poisson epoch, 160000 x 50, b = 1000 (seconds)", poisson_epoch, 0.3),
)


def main() -> int:
    return sum(not promise_kept(words, measure(), limit) for words, measure, limit in PROMISES)


if __name__ == "__main__":
    sys.exit(main())
