"""Samples of a posterior by way of its target, again and in balls.

docs/proofs/gibbs-transfer.md: exact draws are private (Theorems 1 and 2), and a chain close to its
target is nearly as private (Theorem 3).  How close is recomputed in `closeness`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.bounds import Bound, golden
from wane.balls.lemmas import reach
from wane.describe import (
    Adjacency,
    FullBatch,
    LastIterate,
    NoisyDescent,
    Temperature,
    check,
)
from wane.describe.domains import Unbounded
from wane.errors import InvalidDescription
from wane.verify.closeness import Chain, Letters

ORDERS = (1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0, 80.0, 128.0, 200.0, 400.0, 1000.0)
"""Orders at which the closeness to the target is computed; every choice is valid."""
LEAST_EXCESS, MOST_EXCESS, PLACES = 1e-3, 999.0, 240
STRIDE = math.log(MOST_EXCESS / LEAST_EXCESS) / (PLACES - 1)
SEARCH = 30
"""Golden sections between neighbouring orders of the grid."""
VALLEYS = 3
"""Pairs of orders around whose best places it is searched."""
KIND = "overdamped-chains"
CONSTANTS = ("laplacian_lipschitz", "height_at_start", "range_of_loss")


@dataclass(frozen=True)
class Sampler:
    """What a document says of the chains behind a descent that is several of them side by side.

    Attributes:
        samples: how many chains.
        dimension: of one chain's state.
        laplacian_lipschitz: of one record's loss; None if not declared.
        height_at_start: how far one record's loss at the origin is above its infimum, or None.
        range_of_loss: of one record's loss over all parameters, or None.
    """

    samples: int
    dimension: int
    laplacian_lipschitz: float | None
    height_at_start: float | None
    range_of_loss: float | None

    @classmethod
    def read(cls, given: Any) -> Sampler:
        """The sampler of a document, or a refusal."""
        names = {"kind", "samples", "dimension", *CONSTANTS}
        if not isinstance(given, Mapping) or set(given) != names or given["kind"] != KIND:
            raise InvalidDescription(
                f'sampler must be of kind "{KIND}" and hold {", ".join(sorted(names))}.'
            )
        for name in ("samples", "dimension"):
            check.whole(name, given[name], least=1)
        for name in CONSTANTS:
            if given[name] is not None:
                check.real(name, given[name], least=0.0)
        return cls(**{name: given[name] for name in names - {"kind"}})


@dataclass(frozen=True)
class Posterior:
    """A target that both neighbouring data sets share the constants of, in balls.

    Attributes:
        run: the descent, which is all chains at once.
        sampler: what it is made of.
    """

    run: NoisyDescent
    sampler: Sampler

    @property
    def sampled(self) -> bool:
        """The run is a plain chain on a potential, and neighbours have equally many records."""
        run, losses = self.run, self.run.objective
        plain = isinstance(run.batches, FullBatch) and isinstance(run.release, LastIterate)
        phases = list(run.plan)
        single = len(phases) == 1 and isinstance(phases[0].noise, Temperature)
        known = losses.smoothness is not None and losses.strong_convexity is not None
        free = isinstance(run.domain, Unbounded) and not losses.clipped
        in_place = run.adjacency is not Adjacency.ADD_REMOVE
        return plain and single and known and free and in_place and not phases[0].cool_down

    @cached_property
    def temperature(self) -> arb:
        """Of the descent, whose potential is an average."""
        return ball(next(iter(self.run.plan)).noise.value)

    @cached_property
    def curvature(self) -> tuple[arb, arb]:
        """Bounds from below and above; a null record does not bend."""
        losses, n = self.run.objective, self.run.records
        assert losses.smoothness is not None and losses.strong_convexity is not None
        low, ridge = ball(losses.strong_convexity), ball(losses.ridge)
        if low > 0 and self.run.adjacency is not Adjacency.REPLACE_ONE:
            low = low * (n - 1) / n
        return low + ridge, ball(losses.smoothness).max(arb(0)) + ridge

    @cached_property
    def gradient_bound(self) -> arb | None:
        """Of one record in one chain: side by side, `samples` of them are a longer vector."""
        bound = self.run.objective.gradient_bound
        return None if bound is None else ball(bound) / ball(self.sampler.samples).sqrt()

    @cached_property
    def sensitivity(self) -> arb:
        """How far one record moves the gradient of the potential, in one chain."""
        return reach.sensitivity(self.run) / ball(self.sampler.samples).sqrt()

    @property
    def moved(self) -> arb:
        """How much of one record's share changes between neighbours."""
        return ball(2 if self.run.adjacency is Adjacency.REPLACE_ONE else 1) / self.run.records

    @cached_property
    def start(self) -> arb:
        """How far the minimiser can be from the origin, whatever the records hold."""
        m, _ = self.curvature
        found = arb.pos_inf()
        if self.gradient_bound is not None:
            found = top(self.gradient_bound / m)
        if self.sampler.height_at_start is not None:
            height = 2 * ball(self.sampler.height_at_start)
            found = found.min(top((height / (m + ball(self.run.objective.ridge))).sqrt()))
        return found

    def chain(self) -> Chain:
        """One chain, at temperature one."""
        (phase,) = self.run.plan
        (m, L), T, third = self.curvature, self.temperature, self.sampler.laplacian_lipschitz
        letters = Letters(
            d=self.sampler.dimension,
            m=m / T,
            L=L / T,
            M3=None if third is None else ball(third) / T,
            eta=ball(phase.step_size) * T,
            N=phase.repeat,
            r0=self.start,
        )
        return Chain(letters)


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
        """The least over a grid of orders, and a search around the best of them."""
        at = float(epsilon)
        if math.isinf(at):
            return arb(1)
        found = [self._around(excess, step, epsilon) for excess, step in self._best(at)]
        return min(found, key=float, default=arb(0)).min(arb(0)).exp()

    def _best(self, epsilon: float) -> Iterator[tuple[float, Step]]:
        """Rows of the grid that promise most, each with other orders than those before."""
        rows = sorted(self._rows, key=lambda row: row[0] * (row[1] - epsilon) + row[2])
        seen: list[Step] = []
        for excess, _, _, step in rows:
            if not any(step is other for other in seen):
                seen.append(step)
                yield excess, step
            if len(seen) == VALLEYS:
                return

    def _around(self, excess: float, step: Step, epsilon: arb) -> arb:
        """The least logarithm of delta that is seen near a row of the grid."""

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
        """The divergences that are finite, by order."""
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
    """The logarithm of `e^((a-1)(R - eps)) (1 - 1/a)^a / (a - 1)`, b = a - 1."""
    return b * (renyi - epsilon) + (1 + b) * (b / (1 + b)).log() - b.log()


def gibbs_transfer(posterior: Posterior, chain: Chain) -> Bound | None:
    """Through exact draws that are Gaussian-private with `mu = Delta/sqrt(tau m)`."""
    if not posterior.sensitivity.is_finite():
        return None
    mu_squared = top(posterior.sensitivity**2 / (posterior.temperature * posterior.curvature[0]))
    return Transferred(chain, lambda a: a * mu_squared / 2, posterior.sampler.samples)


def range_transfer(posterior: Posterior, chain: Chain) -> Bound | None:
    """Through exact draws that are purely private with `eps = r/tau`."""
    spread = posterior.sampler.range_of_loss
    if spread is None:
        return None
    eps = top(posterior.moved * ball(spread) / posterior.temperature)

    def renyi(a: arb) -> arb:
        """Randomised response's, which is the worst."""
        gain = (1 + (-eps).exp()).log() - (1 + ((1 - 2 * a) * eps).exp()).log()
        return eps - gain / (a - 1)

    return Transferred(chain, renyi, posterior.sampler.samples)


TRANSFERS = {made.__name__: made for made in (gibbs_transfer, range_transfer)}


@dataclass
class Samples:
    """The theorems of one document's sampler; the chain's closeness is computed once."""

    posterior: Posterior
    _chain: Chain | None = None

    def bound(self, name: str) -> Bound | None:
        """A theorem's bound, or None where a hypothesis fails."""
        if not self.posterior.sampled or not self.posterior.curvature[0] > 0:
            return None
        if self._chain is None:
            self._chain = self.posterior.chain()
        made = TRANSFERS[name](self.posterior, self._chain)
        return made if isinstance(made, Transferred) and made.useful else None
