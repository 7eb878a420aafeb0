"""A private output that went through a Markov kernel, again and in balls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat

from wane.arrays import Array
from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.balls.bounds import Bound, Gaussian
from wane.balls.lemmas.diffusions import mu_squared
from wane.balls.lemmas.positions import TooLarge
from wane.balls.verifier import verifier
from wane.describe.kernel import KernelRelease
from wane.describe.stated import StatedRelease

MOST_STATES = 100
"""All pairs of rows are looked at, at every epsilon."""
MARGIN = 1e-12
"""More than doubles lose in a sum of so many differences of probabilities."""
LARGEST = 1e300


@dataclass(frozen=True)
class Amplified(Bound):
    """What remains of a profile when only the kernel's output is seen."""

    release: KernelRelease
    rows: tuple[tuple[arb, ...], ...]

    def delta(self, epsilon: arb) -> arb:
        """Delta before, times the largest divergence of two rows at the matching multiplier."""
        before = top(self._before(epsilon)).min(arb(1))
        if not before > 0:
            return arb(0)
        multiplier = 1 + epsilon.expm1() / before
        largest = arb(0)
        for one, other in self._candidates(multiplier):
            largest = largest.max(_divergence(self.rows[one], self.rows[other], multiplier))
        return top(before * largest).min(before)

    def _candidates(self, multiplier: arb) -> list[tuple[int, int]]:
        """The ordered pairs of which one has the largest divergence, found in doubles.

        A pair is left out only if it is certain to have none, or less than another one.
        """
        known = min(float(multiplier), LARGEST)
        scaled = known * self._doubles
        first, second = self._doubles[:, None, :], scaled[None, :, :]
        possible = np.asarray((first > second * (1.0 - MARGIN)).any(axis=2))
        if known < LARGEST:
            sums = np.maximum(first - second, 0.0).sum(axis=2)
            np.fill_diagonal(sums, 0.0)
            possible &= sums >= sums.max() - 2.0 * MARGIN
        np.fill_diagonal(possible, False)
        return [(int(i), int(j)) for i, j in np.argwhere(possible)]

    @cached_property
    def _doubles(self) -> Array:
        return np.array([[float(entry) for entry in row] for row in self.rows])

    def _before(self, epsilon: arb) -> arb:
        """The profile before the kernel; with a failure, that much is added."""
        stated = self.release.before
        if not isinstance(stated, StatedRelease):
            return self._gaussian.delta(epsilon)
        failure = ball(stated.failure)
        if stated.mu is not None:
            return self._gaussian.delta(epsilon) + failure
        assert stated.epsilon is not None and stated.delta is not None
        known, rest = ball(stated.epsilon), ball(stated.delta)
        if epsilon >= known:
            return rest + failure
        worst = (known.exp() - epsilon.exp()) / (1 + known.exp())
        return rest + (1 - rest) * worst + failure

    @cached_property
    def _gaussian(self) -> Gaussian:
        stated = self.release.before
        if isinstance(stated, StatedRelease):
            return Gaussian(top(ball(stated.mu or 0.0) ** 2))
        return Gaussian(mu_squared(stated, stated.time))


def _divergence(one: tuple[arb, ...], other: tuple[arb, ...], multiplier: arb) -> arb:
    """An upper bound on the sum of (P - m Q)_+."""
    total = arb(0)
    for p, q in zip(one, other, strict=True):
        excess = top(p - multiplier * q)
        if excess > 0:
            total += excess
    return top(total)


@verifier(of=KernelRelease)
def kernel_amplification(release: KernelRelease) -> Bound:
    """The exact amplification of a whole profile."""
    states = max(release.matrix.shape)
    if states > MOST_STATES:
        raise TooLarge(f"kernels of more than {MOST_STATES} states are not computed again")
    with bits(PRECISION):
        return Amplified(release, _rows(release.matrix.tolist(), release.power))


def _rows(given: list[list[float]], power: int) -> tuple[tuple[arb, ...], ...]:
    """The rows of the power, each row of the kernel divided by its sum."""
    balls = [[ball(entry) for entry in row] for row in given]
    made: Any = arb_mat([[entry / sum(row, arb(0)) for entry in row] for row in balls])
    whole = made**power if power > 1 else made
    return tuple(tuple(whole[i, j] for j in range(whole.ncols())) for i in range(whole.nrows()))
