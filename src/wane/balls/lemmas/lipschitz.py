"""From a description to the steps of the programme: constants of each phase, in balls.

Everything is computed again from the numbers of the description, which are exact; of the rest of
wane only the reading of descriptions is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import arb

from wane.balls.arithmetic import ball, rounded_constant
from wane.balls.lemmas.reach import sensitivity
from wane.describe import (
    GradientNoise,
    IterateNoise,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Temperature,
)
from wane.describe.schedule import Phase


@dataclass(frozen=True)
class Row:
    """Equal steps.

    Attributes:
        count: how many.
        constant: Lipschitz constant of a step together with the prox before it.
        gradient_constant: of the step alone.
        shift: how far one record moves the iterate.
        variance: of the noise on the iterate.
        uses_records: whether the steps use records at all.
    """

    count: int
    constant: arb
    gradient_constant: arb
    shift: arb
    variance: arb
    uses_records: bool


def iterate_variance(run: NoisyDescent, phase: Phase) -> arb:
    """Variance of the noise on the iterate, from whichever way it was written down."""
    eta, noise, value = ball(phase.step_size), phase.noise, ball(phase.noise.value)
    if isinstance(noise, Temperature):
        return 2 * eta * value
    if isinstance(noise, IterateNoise):
        return value * value
    if isinstance(noise, NoiseMultiplier):
        assert run.objective.gradient_bound is not None
        value = value * ball(run.objective.gradient_bound) / run.batch_size
    else:
        assert isinstance(noise, GradientNoise)
    return (eta * value) ** 2


def gradient_constant(run: NoisyDescent, phase: Phase) -> arb:
    """Lipschitz constant of `x -> x - eta (batch gradient + ridge x)`."""
    eta, losses = ball(phase.step_size), run.objective
    ridge = ball(losses.ridge)
    if phase.cool_down:
        return abs(1 - eta * ridge)
    if phase.public:  # all public records at once: a full batch of a run on them
        return gradient_constant(run.on_public, replace(phase, public=False))
    assert losses.smoothness is not None
    high = ball(losses.smoothness)
    low = -high if losses.strong_convexity is None else ball(losses.strong_convexity)
    if losses.clipped and not clip_keeps_gradient(losses):
        return clipped_constant(eta, low, high, ridge)
    if losses.clipped and low > 0:
        low = arb(0)
    if low > 0:  # an incomplete last batch bends less
        low = low * run.last_batch_size / run.batch_size
    return larger(abs(1 - eta * (low + ridge)), abs(1 - eta * (high + ridge)))


def clip_keeps_gradient(losses: Objective) -> bool:
    """A clipped gradient is again the gradient of a function with curvature between the ends."""
    convex = losses.strong_convexity is not None and losses.strong_convexity >= 0
    return (
        losses.form is LossForm.GLM
        or losses.dimension == 1
        or (losses.form is LossForm.RADIAL and convex)
    )


def clipped_constant(eta: arb, low: arb, high: arb, ridge: arb) -> arb:
    """Worst Lipschitz constant of a clipped step, curvature in [low, high], ridge not clipped."""
    kept = 1 - eta * ridge
    if not kept > 0:
        return abs(kept) + eta * larger(high, -low)
    step = eta / kept
    centre, radius = step * (high + low) / 2, step * (high - low) / 2
    offset = abs(1 - centre)
    room = centre * (2 - centre)
    straight = larger(arb(1), offset + radius)
    if offset < 1 and offset * radius < room:
        return kept * (1 + radius * radius / room).sqrt()
    if offset >= 1 or offset * radius >= room:
        return kept * straight
    # undecided: both formulas meet at the border, and the larger is a bound in any case
    return kept * larger(straight, (1 + radius * radius / room).sqrt())


def prox_constant(run: NoisyDescent, phase: Phase) -> arb | None:
    """Lipschitz constant of the prox that ends a step; None if it may jump."""
    stretch = 1 + ball(phase.step_size) * ball(run.domain.strong_convexity)
    return 1 / stretch if stretch > 0 else None


def larger(a: arb, b: arb) -> arb:
    """The larger of two balls."""
    return a.max(b)


def rows_of(run: NoisyDescent) -> list[Row] | None:
    """The run's steps; None if some prox has no constant."""
    made: list[Row] = []
    delta, before = sensitivity(run), None
    for phase in run.plan:
        after = prox_constant(run, phase)
        if after is None:
            return None
        own = rounded_constant(gradient_constant(run, phase))
        row = Row(
            phase.repeat,
            rounded_constant(own * after),
            own,
            ball(phase.step_size) * delta,
            iterate_variance(run, phase),
            phase.uses_records,
        )
        if before is not None and not after.overlaps(before):
            made.append(replace(row, count=1, constant=rounded_constant(own * before)))
            row = replace(row, count=row.count - 1)
        if row.count:
            made.append(row)
        before = after
    return made


def cut(rows: list[Row], places: list[int]) -> list[list[Row]]:
    """The rows in pieces that end after these steps and after the last."""
    pieces: list[list[Row]] = []
    left = list(rows)
    done = 0
    for place in places:
        piece, left = split(left, place - done)
        done = place
        pieces.append(piece)
    return [*pieces, left] if left else pieces


def split(rows: list[Row], steps: int) -> tuple[list[Row], list[Row]]:
    """The first `steps` steps, and the others."""
    head: list[Row] = []
    for i, row in enumerate(rows):
        if steps <= 0:
            return head, rows[i:]
        if row.count > steps:
            head.append(replace(row, count=steps))
            return head, [replace(row, count=row.count - steps), *rows[i + 1 :]]
        head.append(row)
        steps -= row.count
    return head, []
