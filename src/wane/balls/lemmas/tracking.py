"""Bounds on the distance of two runs from one start after some steps, in balls."""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.lemmas import reach
from wane.balls.lemmas.moduli import Sizes, lipschitz, modulus_of
from wane.balls.lemmas.programme import power_sum
from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.schedule import Phase

MOST_FOLLOWED = 20_000
"""Steps under a modulus that is not a Lipschitz constant are followed one by one so far."""


def tracks(run: NoisyDescent, cap: int) -> list[Track]:
    """Return two ways to charge for the record: both versions, or one as a common record."""
    b, poisson = run.batch_size, isinstance(run.batches, Poisson)
    charges = []
    if reach.apart(run).is_finite():
        charges.append(Track(run, Sizes(0 if poisson else b - 1, cap, b), reach.apart(run)))
    if run.adjacency is Adjacency.REPLACE_ONE:
        sizes = Sizes(0, cap + 1, b) if poisson else Sizes(b, b, b)
        charges.append(Track(run, sizes, reach.sensitivity(run)))
    return charges


@dataclass
class Track:
    """Two runs from one start: `d -> phi(d) + eta moved` at every step that uses records."""

    run: NoisyDescent
    sizes: Sizes
    moved: arb
    _known: dict[int, arb] = field(default_factory=dict)

    def after(self, steps: int) -> arb:
        """Return a bound on their distance after so many steps."""
        if steps not in self._known:
            distance = arb(0)
            left = steps
            for phase in self.run.plan:
                count = min(phase.repeat, left)
                left -= count
                distance = top(self._through(phase, distance, count))
            self._known[steps] = distance
        return self._known[steps]

    def _through(self, phase: Phase, start: arb, count: int) -> arb:
        eta, losses = ball(phase.step_size), self.run.objective
        if phase.cool_down:
            return top(abs(1 - eta * ball(losses.ridge))) ** count * start
        shift, sizes = eta * self.moved, self.sizes
        if phase.public:
            losses, shift = self.run.on_public.objective, arb(0)
            sizes = Sizes(1, 1, 1)
        factor = lipschitz(losses, eta, sizes)
        bounds = []
        if factor is not None:
            bounds.append(factor**count * start + shift * power_sum(factor, count))
        if (factor is None or factor > 1) and count <= MOST_FOLLOWED:
            bounds.append(self._followed(phase, start, shift, count))
        finite = [top(value) for value in bounds if value.is_finite()]
        return min(finite, key=float, default=arb.pos_inf()) if count else start

    def _followed(self, phase: Phase, start: arb, shift: arb, count: int) -> arb:
        modulus = modulus_of(self.run, phase, self.sizes, arb(1))
        if modulus is None:
            return arb.pos_inf()
        distance = start
        for _ in range(count):
            distance = top(modulus.after(distance) + shift)
        return distance
