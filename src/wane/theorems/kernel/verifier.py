"""A private output that went through a Markov kernel, again and in balls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

from flint import arb, arb_mat

from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.balls.bounds import Bound, Gaussian
from wane.balls.lemmas.diffusions import mu_squared
from wane.balls.lemmas.positions import TooLarge
from wane.balls.verifier import verifier
from wane.describe.kernel import KernelRelease
from wane.describe.stated import StatedRelease

MOST_STATES = 48
"""Pairs of rows are compared one by one, at every epsilon."""


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
        pairs = permutations(self.rows, 2)
        largest = max((_divergence(*pair, multiplier) for pair in pairs), key=float, default=arb(0))
        return top(before * largest).min(before)

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
