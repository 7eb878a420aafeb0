"""Lower bounds on privacy from counts of right and wrong guesses, with exact binomial confidence.

At a threshold fixed in advance, the numbers of true and of false positives are binomial.  Their
Clopper-Pearson bounds, at a level shared out over all thresholds, hold together with the stated
confidence, and so does everything that is computed from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy import special

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.guarantees import Guarantee


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold: how often the release exceeded it with the record, and without.

    Attributes:
        threshold: fixed before the counted trials were looked at.
        true_positives: trials with the record whose score exceeds it.
        false_positives: trials without the record whose score exceeds it.
        power: lower confidence bound on the true-positive rate.
        false_alarms: upper confidence bound on the false-positive rate.
    """

    threshold: float
    true_positives: int
    false_positives: int
    power: float
    false_alarms: float

    @property
    def directions(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Pairs (true-positive rate from below, false-positive rate from above), both ways."""
        return (self.power, self.false_alarms), (1.0 - self.false_alarms, 1.0 - self.power)


@dataclass(frozen=True)
class Evidence:
    """Lower bounds on a release's privacy loss, which hold together with this confidence.

    Attributes:
        points: the thresholds with their counts.
        trials: counted trials with the record, and as many without.
        confidence: probability that every bound holds.
    """

    points: tuple[OperatingPoint, ...]
    trials: int
    confidence: float

    @property
    def mu(self) -> float:
        """The largest mu that the trials rule out everything below."""
        bounds = [
            float(special.ndtri(power) - special.ndtri(false_alarms))
            for point in self.points
            for power, false_alarms in point.directions
            if power > 0.0 and false_alarms < 1.0
        ]
        return max([0.0, *bounds])

    def epsilon(self, delta: float) -> float:
        """Return an epsilon below which the trials rule out every claim at this delta."""
        arguments.real("delta", delta, least=0.0, most=1.0)
        bounds = [
            math.log((power - delta) / false_alarms)
            for point in self.points
            for power, false_alarms in point.directions
            if power > delta and false_alarms > 0.0
        ]
        return max([0.0, *bounds])

    def refutes(self, guarantee: Guarantee) -> bool:
        """Return whether some attack beats what the guarantee allows any attack."""
        return any(
            power > guarantee.true_positive_rate(false_alarms)
            for point in self.points
            for power, false_alarms in point.directions
        )

    def to_fields(self, delta: float) -> dict[str, Any]:
        """Return the evidence as JSON-ready data."""
        return {
            "trials": self.trials,
            "confidence": self.confidence,
            "mu": self.mu,
            "epsilon": self.epsilon(delta),
            "delta": delta,
            "points": [
                {
                    "true_positives": point.true_positives,
                    "false_positives": point.false_positives,
                    "true_positive_rate_at_least": point.power,
                    "false_positive_rate_at_most": point.false_alarms,
                }
                for point in self.points
            ],
        }


def evidence_of(present: Array, absent: Array, thresholds: Array, *, confidence: float) -> Evidence:
    """Return what scores with and without the record prove at thresholds fixed beforehand."""
    level = arguments.real("confidence", confidence, above=0.0)
    if level >= 1.0:
        raise InvalidDescription(f"confidence must be below 1, got {confidence}; say 0.99.")
    if present.shape != absent.shape or present.ndim != 1 or not present.size:
        raise InvalidDescription(
            f"scores must be two lists of one length, got {present.shape} and {absent.shape}."
        )
    miss = (1.0 - level) / (2 * len(thresholds))
    trials = present.size
    points = []
    for threshold in thresholds:
        hits, alarms = int((present > threshold).sum()), int((absent > threshold).sum())
        points.append(
            OperatingPoint(
                float(threshold),
                hits,
                alarms,
                power=rate_at_least(hits, trials, miss),
                false_alarms=rate_at_most(alarms, trials, miss),
            )
        )
    return Evidence(tuple(points), trials, level)


def rate_at_least(hits: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson lower bound, too high with probability at most `miss`."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, miss))


def rate_at_most(hits: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson upper bound, too low with probability at most `miss`."""
    return 1.0 if hits == trials else float(special.betaincinv(hits + 1, trials - hits, 1 - miss))
