"""Exact last-iterate laws of noisy descent on an interval, sharing no code with wane.

The state is a law on [-r, r]: masses at Gauss-Legendre nodes on both sides of zero (where drifts
bend), and an atom at each end from the projection.  What is compared at the end is the release
rounded to cells, whose masses are exact: rounding can only hide something.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from wane.describe import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    NoisyDescent,
    Objective,
    Poisson,
    WithoutReplacement,
)
from wane.describe.domains import Box, Diameter

NODES = 64
CELLS = 1000


@dataclass(frozen=True)
class Loss:
    """A scalar loss on [-r, r] and what may be declared of it."""

    name: str
    gradient: Any
    declared: dict


def losses(rng, r: float) -> list[Loss]:
    C = float(10 ** rng.uniform(-0.5, 0.5))
    M = C / r
    well = max(1.0, abs(3 * r * r - 1))
    top = max(2 / (3 * math.sqrt(3)), abs(r**3 - r))
    return [
        Loss("abs", lambda x: C * np.sign(x), {"gradient_bound": C, "strong_convexity": 0.0}),
        Loss(
            "power",
            lambda x: C * np.sign(x) * np.sqrt(np.abs(x) / r),
            {
                "gradient_bound": C,
                "strong_convexity": 0.0,
                "holder_exponent": 0.5,
                "holder_constant": C * math.sqrt(2 / r),
                "holder_everywhere": bool(rng.random() < 0.5),
                "dimension": None if rng.random() < 0.5 else 1,
            },
        ),
        Loss(
            "quadratic",
            lambda x: M * x,
            {"gradient_bound": C, "smoothness": M, "strong_convexity": 0.0},
        ),
        Loss(
            "well",
            lambda x: C / top * (x**3 - x),
            {"gradient_bound": C, "smoothness": C / top * well},
        ),
        Loss(
            "rough",  # any bounded gradient, even a repelling one
            lambda x: C * np.sign(np.sin(7 * x / r)) * np.sign(x) * -1,
            {"gradient_bound": C},
        ),
    ]


@dataclass(frozen=True)
class Chain:
    """A tiny data set: `others` equal losses and one record with gradient +C or -C."""

    run: NoisyDescent
    loss: Loss
    radius: float

    @property
    def bound(self) -> float:
        return self.run.objective.gradient_bound

    def _grid(self):
        x, w = np.polynomial.legendre.leggauss(NODES)
        half = self.radius / 2
        points = np.concatenate([half * (x - 1), half * (x + 1)])
        return points, np.concatenate([half * w, half * w])

    def _kernel(self, branches, *, last: bool = False):
        """Masses after the step from each state; a branch is (chance, others, special sign)."""
        points, weights = self._grid()
        r, eta, b = self.radius, self.run.plan.step_size[0], self.run.batch_size
        std = eta * self.run.gradient_noise_stds[0]
        states = np.concatenate([points, [-r, r]])
        edges = np.linspace(-r, r, CELLS + 1)
        out = 0.0
        for chance, count, sign in branches:
            slope = (count * self.loss.gradient(states) + sign * self.bound) / b
            mean = states * (1 - eta * self.run.objective.ridge) - eta * slope
            if last:
                inner = np.diff(special.ndtr((edges - mean[:, None]) / std), axis=1)
            else:
                z = (points - mean[:, None]) / std
                inner = np.exp(-0.5 * z * z) / (std * math.sqrt(2 * math.pi)) * weights
            low, high = special.ndtr((-r - mean) / std), special.ndtr((mean - r) / std)
            out = out + chance * np.column_stack([inner, low, high])
        return out / out.sum(axis=1, keepdims=True)

    def branches(self, sign: float):
        """What one step may be, on the data set whose special record has this sign."""
        n, b = self.run.records, self.run.batch_size
        q = b / n
        match self.run.batches:
            case Poisson():
                odds = stats.binom.pmf(np.arange(n), n - 1, q)
                return [
                    (p * w, k, s) for k, p in enumerate(odds) for w, s in ((1 - q, 0.0), (q, sign))
                ]
            case WithoutReplacement():
                return [(1 - q, b, 0.0), (q, b - 1, sign)]
        return [(1.0, n - 1, sign)]

    def laws(self, start: float = 0.0):
        """Both laws after all steps; cyclic runs use the special record last in each epoch."""
        points, _ = self._grid()
        found = []
        for sign in (1.0, 0.0 if self.run.adjacency is Adjacency.ZERO_OUT else -1.0):
            law = np.zeros(len(points) + 2)
            law[int(np.argmin(np.abs(points - start)))] = 1.0
            before, final = self.run.steps - 1, self.branches(sign)
            if isinstance(self.run.batches, Cyclic):
                b, period = self.run.batch_size, self.run.steps_per_epoch
                final = [(1.0, b - 1, sign)]
                plain, used = self._kernel([(1.0, b, 0.0)]), self._kernel(final)
                for t in range(before):
                    law = law @ (used if t % period == before % period else plain)
            elif before:
                kernel = self._kernel(final)
                for _ in range(before):
                    law = law @ kernel
            law = law @ self._kernel(final, last=True)
            found.append(law)
        return found


def renyi(p, q, order: float) -> float:
    """Cells too small for their digits to mean anything are merged, which only hides more."""
    small = (p < 1e-11) | (q < 1e-11)
    p, q = (np.append(law[~small], law[small].sum() + 1e-13) for law in (p, q))
    terms = order * np.log(p) + (1 - order) * np.log(q)
    return float(special.logsumexp(terms)) / (order - 1)


def hockey_stick(p, q, epsilon: float) -> float:
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))


def random_chain(rng, batches: str, kinds=None) -> Chain:
    r = float(10 ** rng.uniform(-0.5, 0.3))
    loss = losses(rng, r)[int(rng.choice(kinds if kinds is not None else range(5)))]
    n = int(rng.integers(2, 7))
    b = n if batches == "full" else int(rng.integers(1, n))
    if batches == "cyclic":
        n = b * int(rng.integers(2, 4))
    C = loss.declared["gradient_bound"]
    eta = float(10 ** rng.uniform(-1.3, 0.6)) * r / C
    noise = float(10 ** rng.uniform(-0.9, 0.4)) * r / eta
    zero = rng.random() < 0.3
    run = NoisyDescent(
        objective=Objective(**loss.declared, ridge=float(rng.choice([0.0, 0.2 / eta]))),
        records=n,
        steps=int(rng.choice([1, 2, 3, 5, 10, 30, 100])),
        step_size=eta,
        noise=GradientNoise(noise),
        batches={
            "full": FullBatch(),
            "cyclic": Cyclic(b),
            "poisson": Poisson(b),
            "fixed": WithoutReplacement(b),
        }[batches],
        domain=Diameter(2 * r) if rng.random() < 0.5 else Box(-r, r, dimension=1),
        adjacency=Adjacency.ZERO_OUT if zero else Adjacency.REPLACE_ONE,
    )
    return Chain(run, loss, r)
