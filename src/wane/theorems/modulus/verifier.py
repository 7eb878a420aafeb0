"""The modulus programme of runs in a bounded set and of saddle problems, again and in balls."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import arb

from wane.balls.arithmetic import ball, rounded_constant, top
from wane.balls.bounds import Bound, Searched
from wane.balls.lemmas import positions
from wane.balls.lemmas.hypotheses import fixed_order, smooth
from wane.balls.lemmas.lipschitz import LipschitzSteps, iterate_variance, larger
from wane.balls.lemmas.moduli import AffineModulus, ModulusInBalls, Sizes, modulus_of
from wane.balls.lemmas.programme import power_sum
from wane.balls.lemmas.reach import difference, longest, sensitivity
from wane.balls.lemmas.tangent_programme import StepsInBalls, least_cost
from wane.balls.verifier import verifier
from wane.describe import Adjacency, FullBatch, LastIterate, NoisyDescent
from wane.describe.saddle import NoisyDescentAscent
from wane.describe.schedule import Phase

MOST_EPOCHS = 500
"""Of cyclic batches only the last epochs are followed, which is valid, too."""


@verifier()
def last_iterate_modulus(run: NoisyDescent) -> Bound | None:
    """The modulus programme, composition, or the joint programme: whichever is least."""
    plain = isinstance(run.batches, FullBatch) or len(run.plan) == 1
    bounded = math.isfinite(run.domain.diameter) and run.domain.strong_convexity >= 0
    noisy = all(iterate_variance(run, phase) > 0 for phase in run.plan)
    last = isinstance(run.release, LastIterate)
    if not (fixed_order(run) and last and plain and bounded and noisy):
        return None
    known = [positions.composed(run)]
    if smooth(run):
        pieces = positions.pieces_of(run)
        assert pieces is not None
        known.append(positions.worst_hidden(run, pieces, run.domain.diameter))
    return Searched(positions.least(known), longer=lambda: plan_cost(run))


def plan_cost(run: NoisyDescent) -> arb | None:
    """The least cost found of bringing two runs together; None if no modulus is known."""
    unit = ball(run.domain.diameter)
    if not unit > 0:
        return None
    moduli: dict[Phase, ModulusInBalls | None] = {}
    sizes = Sizes(run.last_batch_size, run.batch_size, run.batch_size)
    for phase in run.plan:
        moduli[phase] = modulus_of(run, phase, sizes, unit)
    stretches = []
    for phase, count, visited in _timeline(run):
        modulus = moduli[phase]
        if modulus is None:
            return None
        shift = ball(phase.step_size) * sensitivity(run) / unit if visited else arb(0)
        variance = iterate_variance(run, phase) / unit**2
        stretches.append(StepsInBalls(modulus, shift, variance, count))
    return least_cost(stretches, lambda _: arb(1))


def _timeline(run: NoisyDescent) -> list[tuple[Phase, int, bool]]:
    """Phases and counts in order of time, and whether the worst record is used: the last one."""
    period, phases = run.steps_per_epoch, list(run.plan)
    if isinstance(run.batches, FullBatch) or period == 1:
        return [(phase, phase.repeat, phase.uses_records) for phase in phases]
    (phase,) = phases
    made: list[tuple[Phase, int, bool]] = []
    left = phase.repeat
    while left and len(made) < 2 * MOST_EPOCHS:
        made.append((phase, 1, True))
        quiet = min(left, period) - 1
        if quiet:
            made.append((phase, quiet, False))
        left -= 1 + quiet
    return made[::-1]


@verifier(of=NoisyDescentAscent)
def saddle_last_iterate(game: NoisyDescentAscent) -> Bound | None:
    """Composition, Lipschitz steps or the programme of the modulus: whichever is least."""
    steps = _Saddle.of(game)
    if not (isinstance(game.batches, FullBatch) and steps.shift.is_finite()):
        return None
    known = [steps.count * steps.shift * steps.shift / steps.variance, *steps.hidden()]
    return Searched(positions.least(known), longer=steps.followed)


@dataclass(frozen=True)
class _Saddle:
    """Equal steps of descent-ascent, from what is declared of the fields.

    Attributes:
        count: how many.
        shift, variance: how far one record moves the iterate, and the noise on it.
        constant: the square of a step's Lipschitz constant; infinite if none is declared.
        kept, jump: a step's square modulus is `kept w + jump^2`, if fields are bounded.
        diameter: of the set; infinite without one.
    """

    count: int
    shift: arb
    variance: arb
    constant: arb
    kept: arb
    jump: arb
    diameter: arb

    @classmethod
    def of(cls, game: NoisyDescentAscent) -> _Saddle:
        """Return the steps of a description."""
        eta, m, losses = ball(game.step_size), ball(game.strong_monotonicity), game.bounds
        replaced = game.adjacency is Adjacency.REPLACE_ONE
        moved = difference(losses) if replaced else longest(losses)
        kept, constant = 1 - 2 * eta * m, arb.pos_inf()
        if game.smoothness is not None:
            constant = rounded_constant(kept + (eta * ball(game.smoothness)) ** 2)
        return cls(
            game.steps,
            eta * moved / game.records,
            (eta * ball(game.noise_std)) ** 2,
            constant,
            larger(kept, arb(2) ** -200),
            eta * 2 * longest(losses),
            ball(game.diameter),
        )

    def hidden(self) -> list[arb]:
        """Return the costs of Lipschitz steps, from the start and from anywhere in the set."""
        if not self.constant.is_finite():
            return []
        root = rounded_constant(self.constant.sqrt())
        row = LipschitzSteps(self.count, root, root, self.shift, self.variance, True)
        piece = positions.Piece([row], 1, 0)
        if not self.diameter.is_finite():
            return [piece.value(0)]
        return [piece.bounded_value(0, self.diameter)]

    def followed(self) -> arb | None:
        """Return the least cost found under the modulus; None if fields are not bounded."""
        if not self.jump.is_finite():
            return None
        unit = self.diameter if self.diameter.is_finite() else top(self.apart(1) + self.shift)
        rows = [AffineModulus(self.kept, (self.jump / unit) ** 2)]
        if self.constant.is_finite():
            rows.append(AffineModulus(self.constant, arb(0)))
        modulus = ModulusInBalls(tuple(rows), (), arb(1))
        steps = StepsInBalls(modulus, self.shift / unit, self.variance / unit**2, self.count)
        return least_cost([steps], lambda left: self.apart(left) / unit)

    def apart(self, left: int) -> arb:
        """Return how far apart runs from one start can be when so many steps are left."""
        done = self.count - left
        if done == 0:
            return arb(0)
        known = [self.diameter, done * self.shift + self.jump * arb(done).sqrt()]
        if self.constant.is_finite():
            known.append(self.shift * power_sum(rounded_constant(self.constant.sqrt()), done))
        return positions.least(known)
