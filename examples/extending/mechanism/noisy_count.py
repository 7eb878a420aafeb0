"""A stranger's mechanism: a count with discrete Gaussian noise, certified, released and composed.

Run it: `python examples/extending/mechanism/noisy_count.py`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import wane
from wane.certificates import Certificate
from wane.describe import Adjacency, StatedRelease
from wane.run.discrete_gaussian import sample

# 1. The oracle, before the claim: the hockey-stick divergence of the two laws, summed term by term.


def exact_delta(variance: float, epsilon: float, reach: int = 400) -> float:
    """Return the exact delta between discrete Gaussians at 0 and 1, summed over the integers."""
    weights = {k: math.exp(-k * k / (2.0 * variance)) for k in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    gaps = (weights[k] - math.exp(epsilon) * weights[k - 1] for k in range(1 - reach, reach + 1))
    return math.fsum(max(gap, 0.0) for gap in gaps) / total


# 2. The description: frozen, with everything the claim needs and nothing of the data.


@dataclass(frozen=True)
class NoisyCount:
    """How many records have a property, plus discrete Gaussian noise.

    Attributes:
        variance: of the noise, a whole number or a fraction.
        adjacency: which data sets are neighbours; one record changes the count by one at most.
    """

    variance: Fraction
    adjacency: Adjacency

    def certificate(self) -> Certificate:
        """Return what it costs: zero-concentrated privacy with rho = 1/(2 variance)."""
        rho = math.nextafter(0.5 / float(self.variance) * (1.0 + 1e-15), math.inf)
        return wane.certify(
            StatedRelease(
                name="a noisy count",
                source="canonne2020discrete, Theorem 4",
                adjacency=self.adjacency,
                other=json.dumps({"rho": rho}),
            )
        )

    def release(self, count: int) -> int:
        """Return the count with noise from the operating system's own source."""
        return count + sample(self.variance)


def main() -> None:
    """Publish a count, and say what two of them cost together."""
    mechanism = NoisyCount(Fraction(64), Adjacency.ADD_REMOVE)
    one = mechanism.certificate()
    print("released:", mechanism.release(569))
    print("epsilon of one at delta 1e-6:", one.epsilon(1e-6))
    print("epsilon of two at delta 1e-6:", one.compose(mechanism.certificate()).epsilon(1e-6))


if __name__ == "__main__":
    main()
