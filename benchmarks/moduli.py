"""Ratios that the modulus engine and the sampled theorems promise, all measured in this one run.

python -m benchmarks.moduli
"""

import sys

import numpy as np

import wane
from benchmarks.timing import fastest, promise_kept
from wane.theorems.lemmas.loss_moduli import smooth_bounded
from wane.theorems.lemmas.modulus_programme import Steps, least
from wane.theorems.lemmas.tangent_programme import Stretch, solve


def recursion() -> float:
    """A million different steps of the exact recursion, in NumPy passes (a running sum)."""
    rng = np.random.default_rng(0)
    steps = Steps(
        rng.normal(scale=1e-4, size=10**6),
        rng.uniform(0, 1e-3, 10**6),
        rng.uniform(0.5, 1.5, 10**6),
    )
    return fastest(lambda: least(steps, 1.0)) / fastest(lambda: np.cumsum(steps.variance))


def tangents() -> float:
    """The tangent-line programme, a million steps and 400 knots, in seconds."""
    modulus = smooth_bounded(1.0, 1e-3, 2.0)
    stretch = Stretch(modulus, 0.0, 1.0, 10**6)
    return fastest(lambda: solve([stretch], lambda n: 3.0, knots=400), 2)


def hidden_poisson() -> float:
    """Hidden-state Poisson SGD at 1e5 steps, in dp_accounting compositions of the same run."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    def ours():
        run = wane.NoisyDescent(
            objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
            records=10_000,
            steps=100_000,
            step_size=0.1,
            noise=wane.NoiseMultiplier(1.0),
            batches=wane.Poisson(100),
            domain=wane.Ball(radius=0.05),
        )
        return wane.certify(run).epsilon(1e-5)

    def peer():
        one = pld.from_gaussian_mechanism(
            1.0, sampling_prob=0.01, neighboring_relation=NeighboringRelation.REPLACE_ONE
        )
        return one.self_compose(100_000).get_epsilon_for_delta(1e-5)

    return fastest(ours, 3) / fastest(peer, 3)


PROMISES = (
    ("exact recursion, 1e6 steps / one NumPy pass", recursion, 100.0),
    ("tangent lines, 1e6 steps, 400 knots (seconds, one core)", tangents, 10.0),
    ("hidden Poisson SGD, 1e5 steps / dp_accounting PLD", hidden_poisson, 5.0),
)


def main() -> int:
    return sum(not promise_kept(words, measure(), limit) for words, measure, limit in PROMISES)


if __name__ == "__main__":
    sys.exit(main())
