"""Exact laws of small chains, computed from the losses alone; nothing here is wane's."""

import math

import numpy as np
from scipy import special


class Interval:
    """The law of `x' = clip(mean(x) + std N(0, 1))` on an interval: cells, and atoms at the ends.

    Mass sits in the middles of cells that are narrow against the noise, so that probabilities are
    right to about the square of a cell's width in deviations.
    """

    def __init__(self, low: float, high: float, cells: int) -> None:
        self.low, self.high = low, high
        self.edges = np.linspace(low, high, cells + 1)
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        self.points = np.concatenate([[low], middles, [high]])

    def at(self, place: float) -> np.ndarray:
        """All mass at one point."""
        law = np.zeros(len(self.points))
        law[int(np.argmin(np.abs(self.points - place)))] = 1.0
        return law

    def kernel(self, branches, std: float) -> np.ndarray:
        """One step: `branches` lists (probability, slope, shift) of the mean."""
        made = np.zeros((len(self.points), len(self.points)))
        for chance, slope, shift in branches:
            mean = slope * self.points + shift
            below = special.ndtr((self.edges[None, :] - mean[:, None]) / std)
            made[:, 0] += chance * below[:, 0]
            made[:, 1:-1] += chance * np.diff(below, axis=1)
            made[:, -1] += chance * (1.0 - below[:, -1])
        return made


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The hockey-stick divergence of two laws on the same points, the larger of both orders."""
    factor = math.exp(epsilon)
    one, other = np.maximum(p - factor * q, 0.0).sum(), np.maximum(q - factor * p, 0.0).sum()
    return float(max(one, other))


def mixture_delta(one, other, epsilon: float, std: float = 1.0) -> float:
    """The same of two mixtures of Gaussians, lists of (probability, mean), by a fine grid."""
    means = [mean for _, mean in (*one, *other)]
    x = np.linspace(min(means) - 12 * std, max(means) + 12 * std, 200_001)

    def density(parts):
        return sum(w * np.exp(-((x - m) ** 2) / (2 * std**2)) for w, m in parts)

    scale = (x[1] - x[0]) / (std * math.sqrt(2 * math.pi))
    return hockey_stick(density(one) * scale, density(other) * scale, epsilon)
