"""An audit by one training run with many canaries, each included by an independent coin.

Source.  [steinke2023auditing, Theorem 5.2]: of r guesses, v or more are right with probability at
most P[B >= v] + 2 m delta max_i P[v > B >= v - i] / i, where B is binomial with r trials of
probability e^epsilon/(1 + e^epsilon) and m is the number of canaries.  The coins are independent,
so the adjacency is one record in or out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wane import arguments
from wane.arrays import Array
from wane.run import private_generator, seeded_generator_voids_privacy

Included = NDArray[np.bool_]

_LARGEST = 60.0  # an epsilon beyond this would be no privacy at all


@dataclass(frozen=True)
class OneRunEvidence:
    """The number of right guesses in one run, and the epsilon that this rules out.

    Attributes:
        canaries: records that were in or out by a fair coin.
        guesses: canaries on which the attacker spoke.
        right: guesses that were right.
        delta: where epsilon is bounded.
        confidence: probability that the bound holds.
        epsilon: lower bound on the trainer's epsilon.
    """

    canaries: int
    guesses: int
    right: int
    delta: float
    confidence: float
    epsilon: float


def audit_one_run(
    train: Callable[[Included, np.random.Generator], Array],
    score: Callable[[Array], Array],
    *,
    canaries: int,
    guesses: int,
    delta: float,
    confidence: float = 0.95,
    seed: int | None = None,
) -> OneRunEvidence:
    """Train once with half of the canaries and return the epsilon that the guesses rule out.

    `train` gets who is in and a generator, and returns the release; `score` turns the release
    into one number per canary, larger where the canary seems to be in.  The attacker speaks on
    the `guesses` canaries with the most extreme scores, half at each end.
    """
    arguments.whole("canaries", canaries, least=2, most=10**9)
    arguments.whole("guesses", guesses, least=2, most=canaries)
    generator = private_generator() if seed is None else seeded_generator_voids_privacy(seed)
    included = generator.random(canaries) < 0.5
    order = np.argsort(score(train(included, generator)), kind="stable")
    ends = guesses // 2
    right = int(included[order[-ends:]].sum() + (~included[order[:ends]]).sum())
    epsilon = one_run_epsilon(
        right, guesses=2 * ends, canaries=canaries, delta=delta, confidence=confidence
    )
    return OneRunEvidence(canaries, 2 * ends, right, delta, confidence, epsilon)


def one_run_epsilon(
    right: int, *, guesses: int, canaries: int, delta: float, confidence: float
) -> float:
    """Return the largest epsilon that so many right guesses rule out, rounded down."""
    arguments.real("delta", delta, least=0.0, most=1.0)
    miss = 1.0 - arguments.real("confidence", confidence, above=0.0, most=1.0)

    def ruled_out(epsilon: float) -> bool:
        return chance_of(right, guesses, canaries, epsilon, delta) < miss

    if not ruled_out(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ruled_out(middle) else (low, middle)
    return low


def chance_of(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return a bound on the chance of so many right guesses against an (epsilon, delta) run."""
    each = 1.0 / (1.0 + np.exp(-epsilon))
    law = stats.binom(guesses, each)
    beta = float(law.sf(right - 1))
    below = np.cumsum(law.pmf(np.arange(right - 1, -1, -1)))
    alpha = float((below / np.arange(1, right + 1)).max()) if right else 0.0
    return min(1.0, beta + 2.0 * canaries * delta * alpha)
