"""Run a trainer many times on two neighbouring data sets, and attack its releases.

The trials are split in halves.  On the first the attacker learns a direction and thresholds; on
the second, which he has never seen, his guesses are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from wane import arguments
from wane.arrays import Array
from wane.audit.measured.evidence import Evidence, evidence_of
from wane.errors import InvalidDescription
from wane.run import private_generator, seeded_generator_voids_privacy

Trainer = Callable[[np.random.Generator], Array]
"""One run: draws its noise from the generator and returns everything that would be published."""

_SHRINKAGE = 1e-6  # keeps the covariance invertible when a coordinate hardly moves
_CANDIDATES = 400  # thresholds tried on the first half


@dataclass(frozen=True)
class Discriminator:
    """A linear attack: the score of a release, and the thresholds worth counting at."""

    direction: Array
    thresholds: Array

    def scores(self, releases: Array) -> Array:
        """Return the score of every release."""
        scores: Array = releases @ self.direction
        return scores


def audit_release(
    present: Trainer,
    absent: Trainer,
    *,
    trials: int = 4000,
    confidence: float = 0.99,
    seed: int | None = None,
    progress: bool = False,
) -> Evidence:
    """Return what `trials` runs on each of two neighbouring data sets prove about a trainer.

    `present` runs with the canary record and `absent` without it (or with the replaced one).
    Audits use data made for them, so that a seed does no harm here.
    """
    arguments.whole("trials", trials, least=40, most=10**9)
    generator = private_generator() if seed is None else seeded_generator_voids_privacy(seed)
    with tqdm(total=2 * trials, disable=not progress, unit="run", desc="audit") as bar:
        releases = [
            _releases(trainer, trials, generator, bar.update) for trainer in (present, absent)
        ]
    if releases[0].shape != releases[1].shape:
        raise InvalidDescription(
            f"releases must have one shape, got {releases[0].shape[1:]} with the record and "
            f"{releases[1].shape[1:]} without; that alone tells the two apart."
        )
    half = trials // 2
    attack = learn_discriminator(releases[0][:half], releases[1][:half], confidence)
    scores = [attack.scores(release[half:]) for release in releases]
    return evidence_of(scores[0], scores[1], attack.thresholds, confidence=confidence)


def _releases(
    trainer: Trainer,
    trials: int,
    generator: np.random.Generator,
    tell: Callable[[int], object],
) -> Array:
    rows = []
    for _ in range(trials):
        rows.append(np.asarray(trainer(generator), dtype=np.float64).ravel())
        tell(1)
    return np.stack(rows)


def learn_discriminator(present: Array, absent: Array, confidence: float) -> Discriminator:
    """Return the linear attack that does best on these releases.

    The direction is Fisher's, which is the best one for Gaussian releases of equal covariance.
    The thresholds are those with the largest mu and the largest epsilon.
    """
    shift = present.mean(axis=0) - absent.mean(axis=0)
    spread = np.atleast_2d(np.cov(present.T) + np.cov(absent.T)) / 2.0
    floor = _SHRINKAGE * max(float(np.trace(spread)) / len(shift), np.finfo(float).tiny)
    direction = np.linalg.solve(spread + floor * np.eye(len(shift)), shift)
    scores = present @ direction, absent @ direction
    grid = np.unique(np.quantile(np.concatenate(scores), np.linspace(0.0, 1.0, _CANDIDATES)))
    tried = [
        evidence_of(scores[0], scores[1], grid[place : place + 1], confidence=confidence)
        for place in range(len(grid))
    ]
    best = {
        int(np.argmax([one.mu for one in tried])),
        int(np.argmax([one.epsilon(0.0) for one in tried])),
    }
    return Discriminator(direction, grid[sorted(best)])
