"""The Lipschitz constant and the noise of each phase of a description, in balls.

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
class LipschitzSteps:
    """Equal steps: their number, constant and noise.

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
    """Return the variance of the noise on the iterate, however it was described."""
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
    """Return the Lipschitz constant of `x -> x - eta (batch gradient + ridge x)`."""
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
    """Return whether a clipped gradient is that of a function with the same curvatures."""
    convex = losses.strong_convexity is not None and losses.strong_convexity >= 0
    return (
        losses.form is LossForm.GLM
        or losses.dimension == 1
        or (losses.form is LossForm.RADIAL and convex)
    )


def clipped_constant(eta: arb, low: arb, high: arb, ridge: arb) -> arb:
    """Return the Lipschitz constant of a clipped step, curvature in [low, high], ridge added."""
    shrink = 1 - eta * ridge
    if not shrink > 0:
        return abs(shrink) + eta * larger(high, -low)
    step = eta / shrink
    centre, radius = step * (high + low) / 2, step * (high - low) / 2
    offset = abs(1 - centre)
    room = centre * (2 - centre)
    straight = larger(arb(1), offset + radius)
    if offset < 1 and offset * radius < room:
        return shrink * (1 + radius * radius / room).sqrt()
    if offset >= 1 or offset * radius >= room:
        return shrink * straight
    # undecided: both formulas meet at the border, and the larger is a bound in any case
    return shrink * larger(straight, (1 + radius * radius / room).sqrt())


def prox_constant(run: NoisyDescent, phase: Phase) -> arb | None:
    """Return the Lipschitz constant of the prox that ends a step; None if it may jump."""
    stretch = 1 + ball(phase.step_size) * ball(run.domain.strong_convexity)
    return 1 / stretch if stretch > 0 else None


def larger(a: arb, b: arb) -> arb:
    """Return the larger of two balls."""
    return a.max(b)


def rows_of(run: NoisyDescent) -> list[LipschitzSteps] | None:
    """Return the run's steps; None if some prox has no constant."""
    rows: list[LipschitzSteps] = []
    delta, before = sensitivity(run), None
    for phase in run.plan:
        after = prox_constant(run, phase)
        if after is None:
            return None
        own = rounded_constant(gradient_constant(run, phase))
        row = LipschitzSteps(
            phase.repeat,
            rounded_constant(own * after),
            own,
            ball(phase.step_size) * delta,
            iterate_variance(run, phase),
            phase.uses_records,
        )
        if before is not None and not after.overlaps(before):
            rows.append(replace(row, count=1, constant=rounded_constant(own * before)))
            row = replace(row, count=row.count - 1)
        if row.count:
            rows.append(row)
        before = after
    return rows


def cut(rows: list[LipschitzSteps], places: list[int]) -> list[list[LipschitzSteps]]:
    """Return the rows in pieces that end after these steps and after the last."""
    pieces: list[list[LipschitzSteps]] = []
    left = list(rows)
    done = 0
    for place in places:
        piece, left = split(left, place - done)
        done = place
        pieces.append(piece)
    return [*pieces, left] if left else pieces


def split(
    rows: list[LipschitzSteps], steps: int
) -> tuple[list[LipschitzSteps], list[LipschitzSteps]]:
    """Return the first `steps` steps, and the others."""
    head: list[LipschitzSteps] = []
    for i, row in enumerate(rows):
        if steps <= 0:
            return head, rows[i:]
        if row.count > steps:
            head.append(replace(row, count=steps))
            return head, [replace(row, count=row.count - steps), *rows[i + 1 :]]
        head.append(row)
        steps -= row.count
    return head, []
