"""Samples of a posterior by way of its target, again and in balls.

docs/proofs/gibbs-transfer.md: exact draws are private (Theorems 1 and 2), and a chain close to its
target is nearly as private (Theorem 3).  How close is recomputed in `wane.balls.lemmas`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.bounds import Bound, golden
from wane.balls.lemmas.kinetic import UnderdampedChain
from wane.balls.lemmas.posterior import SampledTarget, target_of
from wane.balls.lemmas.shifted_girsanov import OverdampedChain
from wane.balls.verifier import verifier
from wane.describe import Adjacency
from wane.describe.samples import SampledPosterior

ORDERS = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0, 80.0, 128.0, 200.0, 400.0, 1000.0)
"""Orders at which the closeness to the target is computed; every choice is valid."""
LEAST_EXCESS, MOST_EXCESS, PLACES = 1e-3, 999.0, 240
STRIDE = math.log(MOST_EXCESS / LEAST_EXCESS) / (PLACES - 1)
SEARCH = 30
"""Golden sections between neighbouring orders of the grid."""
VALLEYS = 3
"""Pairs of orders around whose best places it is searched."""
Chain = OverdampedChain | UnderdampedChain


Curve = Callable[[arb], arb]


@dataclass(frozen=True)
class Step:
    """Orders A and B at which the closeness is known, and the triangles between them."""

    A: float
    B: float
    before: arb
    after: arb
    exact: Curve

    def renyi(self, order: arb) -> arb | None:
        """Theorem 3 at `p = A/a` and `p2 = (B-1)/(B-o)`; None if the orders are too small."""
        A, B = ball(self.A), ball(self.B)
        if not order < A:
            return None
        o = order * (A - 1) / (A - order)
        if not o < B:
            return None
        p, p2 = A / order, (B - 1) / (B - o)
        first = (order - 1 / p) / (order - 1) * self.before
        return first + (o - 1 / p2) / (o - 1) * self.exact(p2 * o) + self.after


@dataclass(frozen=True)
class Transferred(Bound):
    """Independent chains, each close to its target, whose exact draws have this Renyi curve."""

    chain: Chain
    exact: Curve
    samples: int
    tight: ClassVar[bool] = False

    @cached_property
    def useful(self) -> bool:
        """Whether the chain is known to be close at any order."""
        return bool(self._rows)

    def delta(self, epsilon: arb) -> arb:
        """Return the least delta over a grid of orders and a search around the best of them."""
        at = float(epsilon)
        if math.isinf(at):
            return arb(1)
        found = [self._around(excess, step, epsilon) for excess, step in self._best(at)]
        return min(found, key=float, default=arb(0)).min(arb(0)).exp()

    def _best(self, epsilon: float) -> Iterator[tuple[float, Step]]:
        """Yield the rows of the grid with the least estimates, each with a step not yet seen."""
        rows = sorted(self._rows, key=lambda row: row[0] * (row[1] - epsilon) + row[2])
        seen: list[Step] = []
        for excess, _, _, step in rows:
            if not any(step is other for other in seen):
                seen.append(step)
                yield excess, step
            if len(seen) == VALLEYS:
                return

    def _around(self, excess: float, step: Step, epsilon: arb) -> arb:
        """Return the least logarithm of delta that a search finds near a row of the grid."""

        def height(place: float) -> float:
            found = self._at(step, math.exp(place), epsilon)
            return math.inf if found is None else float(found)

        # the best order may be the last for which these orders will do, between two of the grid
        centre = math.log(excess)
        place = golden(height, centre - STRIDE, centre + STRIDE, SEARCH)
        tried = (math.exp(place), excess)
        found = [value for e in tried if (value := self._at(step, e, epsilon)) is not None]
        return min((top(value) for value in found), key=float)

    def _at(self, step: Step, excess: float, epsilon: arb) -> arb | None:
        b = ball(excess)
        renyi = step.renyi(1 + b)
        return None if renyi is None else _log_delta(b, epsilon, self.samples * renyi)

    @cached_property
    def _steps(self) -> list[Step]:
        before, after = self._known(chain_first=True), self._known(chain_first=False)
        return [
            Step(A, B, first, last, self.exact)
            for A, first in before.items()
            for B, last in after.items()
        ]

    def _known(self, *, chain_first: bool) -> dict[float, arb]:
        """Return the divergences that are finite, by order."""
        found = {order: self.chain.divergence(order, chain_first=chain_first) for order in ORDERS}
        return {order: value for order, value in found.items() if value.is_finite()}

    @cached_property
    def _rows(self) -> list[tuple[float, float, float, Step]]:
        """On a grid: order minus one, the divergence of all samples, the rest of ln delta, orders.

        Only to choose by.
        """
        made = []
        for place in range(PLACES):
            excess = LEAST_EXCESS * math.exp(STRIDE * place)
            found = [
                (float(renyi), step)
                for step in self._steps
                if (renyi := step.renyi(1 + ball(excess))) is not None
            ]
            if found:
                least, step = min(found, key=lambda row: row[0])
                shape = float(_log_delta(ball(excess), ball(0), ball(0)))
                made.append((excess, self.samples * least, shape, step))
        return made


def _log_delta(b: arb, epsilon: arb, renyi: arb) -> arb:
    """Return the logarithm of `e^((a-1)(R - eps)) (1 - 1/a)^a / (a - 1)`, b = a - 1."""
    return b * (renyi - epsilon) + (1 + b) * (b / (1 + b)).log() - b.log()


@verifier(of=SampledPosterior)
def gibbs_transfer(samples: SampledPosterior) -> Bound | None:
    """Through exact draws that are Gaussian-private with `mu = Delta/sqrt(tau m)`."""
    target = _target(samples)
    if target is None or not target.sensitivity.is_finite():
        return None
    mu_squared = top(target.sensitivity**2 / (target.temperature * target.low))
    return _useful(Transferred(_chain(target), lambda a: a * mu_squared / 2, samples.samples))


@verifier(of=SampledPosterior)
def range_transfer(samples: SampledPosterior) -> Bound | None:
    """Through exact draws that are purely private with `eps = r/tau`."""
    target, spread = _target(samples), samples.posterior.losses.range_of_loss
    if target is None or spread is None:
        return None
    eps = top(target.moved * ball(spread) / target.temperature)

    def renyi(a: arb) -> arb:
        """Randomised response's, which is the worst."""
        gain = (1 + (-eps).exp()).log() - (1 + ((1 - 2 * a) * eps).exp()).log()
        return eps - gain / (a - 1)

    return _useful(Transferred(_chain(target), renyi, samples.samples))


def _target(samples: SampledPosterior) -> SampledTarget | None:
    """Return the target, if neighbours have equally many records."""
    in_place = samples.posterior.adjacency is not Adjacency.ADD_REMOVE
    return target_of(samples) if in_place else None


def _useful(bound: Transferred) -> Transferred | None:
    return bound if bound.useful else None


def _chain(target: SampledTarget) -> Chain:
    """One chain; kept with the samples, since both theorems compute how close it is."""
    known: dict[str, Chain] = vars(target.samples)
    return known.setdefault("_chain_in_balls", target.chain())
