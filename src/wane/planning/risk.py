"""Upper bounds on the expected excess risk of a described run.

The run takes full batches of convex, smooth losses in a ball about the origin, where it starts and
within which the averaged loss L has a minimiser of the whole space.  F is L with the ridge.  Three
bounds are carried through the schedule, and the least of them counts (docs/proofs/planning.md):
the squared distance to the minimiser of F, which every step contracts; the gap of F at the end of
steps that grow no longer, by the last iterate's own theorem; and what follows from one for the
other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from wane import arguments
from wane.describe import FullBatch, LastIterate, NoisyDescent
from wane.describe.domains import Ball
from wane.errors import InvalidDescription
from wane.numerics.rounding import inflate

RAISED = 1e-9
"""Relative amount that covers the rounding of a recursion of up to 1e5 steps."""
MOST_TRACED = 10**5
"""Longer stretches of steps are bounded by contraction alone."""
_GAP = arguments.Real(least=0.0)
_VIRTUAL = (1.0, 2.0, 4.0, 0.5)
"""Sizes of the virtual step, relative to the last one."""


@dataclass(frozen=True)
class EqualSteps:
    """Equal steps: how many, their size, the deviation of the noise on the averaged gradient."""

    count: int
    size: float
    noise: float
    cool_down: bool = False
    public: bool = False


@dataclass(frozen=True)
class Landscape:
    """F around its minimiser: curvature between `low` and `high`, in `dimension` parameters.

    `ridge` is the part of F that the loss does not have, `radius` bounds the distance of the
    minimiser of L from the origin, and `gradient_bound` the gradient of L.  The average gradient of
    public records is within `public_gap` of that of L.
    """

    low: float
    high: float
    dimension: int
    ridge: float
    radius: float
    gradient_bound: float
    public_gap: float = math.inf

    @property
    def reach(self) -> float:
        """A bound on the minimiser of F: the lesser of R and |grad L(0)|/(m + ridge)."""
        steep = self.gradient_bound / self.low if self.low > 0.0 else math.inf
        return min(self.radius, steep)


def excess_risk_of(run: NoisyDescent, *, public_gradient_gap: float | None = None) -> float:
    """Return a bound on E[L(last iterate)] - min L that holds for all data (module docstring).

    `objective` must declare gradient_bound, smoothness, strong_convexity >= 0 (all but the first on
    the whole space) and dimension; the domain is a ball about the origin that holds a minimiser of
    the averaged loss, and the run starts at the origin.  Of a run with public records
    `public_gradient_gap` says how far their average gradient may be from that of the private ones,
    anywhere in the ball.
    """
    land = _landscape(run, public_gradient_gap)
    phases = zip(run.plan, run.gradient_noise_stds.tolist(), strict=True)
    return risk_of_steps(
        land, [EqualSteps(p.repeat, p.step_size, s, p.cool_down, p.public) for p, s in phases]
    )


def risk_of_steps(land: Landscape, steps: Iterable[EqualSteps], *, trials: int = 4) -> float:
    """Return the excess risk of the losses, without the ridge, after these steps.

    `trials` virtual steps are tried; with none contraction alone is used, which takes no time.

    Claim.  L(x) - min L <= gap + rho max_t (R t - t^2/2 - (t - sqrt(D))_+^2/2), 0 <= t <= r.
    """
    square, gap = land.reach**2, math.inf
    for leg in _legs(steps):
        square, gap = _after_leg(land, leg, square, trials)
    gap = min(gap, 0.5 * land.high * square)
    risk = gap + land.ridge * _tilt(land, math.sqrt(square))
    return inflate(risk, RAISED)


def _tilt(land: Landscape, far: float) -> float:
    """Return the maximum of R t - t^2/2 - (t - far)_+^2/2, which is concave, over t <= r <= R."""
    t = min(0.5 * (land.radius + far), land.reach)
    return land.radius * t - 0.5 * t * t - 0.5 * max(t - far, 0.0) ** 2


def _after_leg(
    land: Landscape, leg: Sequence[EqualSteps], square: float, trials: int
) -> tuple[float, float]:
    """Return the squared distance and the gap of F after steps that do not grow."""
    if leg[0].cool_down or leg[0].public:
        for steps in leg:
            square = square_after(land, steps, square)
        return square, math.inf
    gap = _last_iterate_gap(land, leg, square, trials)
    for steps in leg:
        square = _contracted(land, steps, square)
    if land.low > 0.0:
        square = min(square, 2.0 * gap / land.low)
    return square, gap


def _contracted(land: Landscape, steps: EqualSteps, square: float) -> float:
    """Return the bound c^(2K) D + d v (1 - c^(2K))/(1 - c^2) on E|x - x*|^2 after equal steps."""
    factor, added = _factor(land, steps), _added(land, steps)
    if factor == 1.0:
        return square + steps.count * added
    exponent = 2.0 * steps.count * math.log(factor) if factor > 0.0 else -math.inf
    if exponent > 600.0:
        return math.inf
    total = math.expm1(exponent) / (factor * factor - 1.0)
    return math.exp(exponent) * square + added * total


def _factor(land: Landscape, steps: EqualSteps) -> float:
    """Return by how much a step without noise brings two points closer."""
    low, high = (land.ridge, land.ridge) if steps.cool_down else (land.low, land.high)
    return 1.0 - min(steps.size * low, 2.0 - steps.size * high)


def _added(land: Landscape, steps: EqualSteps) -> float:
    """Return what the noise of one step adds to the squared distance."""
    return land.dimension * (steps.size * steps.noise) ** 2


def square_after(land: Landscape, steps: EqualSteps, square: float | None = None) -> float:
    """Return a bound on E|x - x*|^2 after steps that the minimiser x* of F does not stay at.

    They begin at the origin if no square is given.  They move x* by at most b, so that D becomes
    (c sqrt(D) + b)^2 + d v.  No closed form replaces the recursion: the projection makes the noise
    push inwards.
    """
    square = land.reach**2 if square is None else square
    gap = land.ridge * land.reach if steps.cool_down else land.public_gap
    factor, moved, added = _factor(land, steps), steps.size * gap, _added(land, steps)
    for _ in range(min(steps.count, MOST_TRACED)):
        before, square = square, (factor * math.sqrt(square) + moved) ** 2 + added
        if square in (before, math.inf):  # there it stays
            return square
    return square if steps.count <= MOST_TRACED else math.inf


def _last_iterate_gap(
    land: Landscape, leg: Sequence[EqualSteps], square: float, trials: int
) -> float:
    """Return a bound on E F(last) - min F by Theorem L, the least over some virtual steps."""
    if sum(s.count for s in leg) > MOST_TRACED:
        return math.inf
    sizes = (leg[-1].size * factor for factor in _VIRTUAL[:trials])
    return min((_gap_at(land, leg, square, size) for size in sizes), default=math.inf)


def _gap_at(land: Landscape, leg: Sequence[EqualSteps], square: float, virtual: float) -> float:
    """Return the bound of Theorem L, the lesser of its two forms, for a virtual step of size h.

    Claim.  With s = h at the end and backwards in time s' = eta + s/r, r' = 1 - u/s', the gap is at
    most (w_0^2 D + sum (w_t eta_t)^2 G_t)/(2 v), w the product of the later r.  For smooth losses
    u = eta (1 - A eta), G_t = d s_t^2 and v = h (1 - A h); by the gradient's bound B alone u = eta,
    G_t = B^2 + d s_t^2, and h^2 B^2 is added above, with v = h.
    """
    steep = (land.gradient_bound + land.ridge * land.radius) ** 2
    bounded = (
        _traced(land, leg, square, virtual=virtual, curvature=0.0, steep=steep)
        + virtual * virtual * steep
    )
    gap = bounded / (2.0 * virtual)
    if max(leg[0].size, virtual) * land.high < 0.9:
        scale = 2.0 * virtual * (1.0 - land.high * virtual)
        gap = min(
            gap,
            _traced(land, leg, square, virtual=virtual, curvature=land.high, steep=0.0) / scale,
        )
    return gap


def _traced(
    land: Landscape,
    leg: Sequence[EqualSteps],
    square: float,
    *,
    virtual: float,
    curvature: float,
    steep: float,
) -> float:
    """Return the numerator of Theorem L, by recursion backwards through the weighted steps."""
    tail, weight, total = virtual, 1.0, 0.0
    for steps in reversed(leg):
        eta, used = steps.size, steps.size * (1.0 - curvature * steps.size)
        each = eta * eta * (steep + land.dimension * steps.noise**2)
        for _ in range(steps.count):
            tail += eta
            total += weight * weight * each
            shrink = 1.0 - used / tail
            weight *= shrink
            tail /= shrink
    return weight * weight * square + total


def _legs(steps: Iterable[EqualSteps]) -> Iterable[list[EqualSteps]]:
    """Yield maximal stretches of steps of one kind whose sizes do not grow."""
    leg: list[EqualSteps] = []
    for one in steps:
        if leg and (_kind(one) != _kind(leg[-1]) or one.size > leg[-1].size):
            yield leg
            leg = []
        leg.append(one)
    if leg:
        yield leg


def _kind(steps: EqualSteps) -> tuple[bool, bool]:
    return steps.cool_down, steps.public


def _landscape(run: NoisyDescent, public_gap: float | None) -> Landscape:
    """Return the public constants of a run; refuse one that lacks a constant of the bound."""
    arguments.kind("run", run, (NoisyDescent,))
    o, ball = run.objective, run.domain
    m = o.strong_convexity
    if not isinstance(ball, Ball) or (ball.center is not None and any(ball.center)):
        raise InvalidDescription(
            f"domain must be a ball about the origin, got {ball!r:.60}; its radius bounds the "
            "distance of the minimiser from the start."
        )
    if not isinstance(run.batches, FullBatch) or not isinstance(run.release, LastIterate):
        raise InvalidDescription(
            "batches must be full and the release the last iterate: no other risk is certified."
        )
    if run.public is not None and public_gap is None:
        raise InvalidDescription(
            "public_gradient_gap must bound how far the average gradient of the public records is "
            "from that of the others, got None; their average has another minimiser."
        )
    if run.public is not None and run.public.objective != replace(o, ridge=0.0):
        raise InvalidDescription(
            "public.objective must be absent: the risk is certified where the losses of public "
            "records obey the constants of the others."
        )
    gap = math.inf if public_gap is None else _GAP("public_gradient_gap", public_gap)
    if o.clipped or o.gradient_bound is None or o.smoothness is None or m is None or m < 0.0:
        raise InvalidDescription(
            "objective must declare gradient_bound, smoothness and strong_convexity >= 0, and not "
            "be clipped: clipping moves the minimiser."
        )
    if o.dimension is None:
        raise InvalidDescription("objective.dimension must be declared, got nothing.")
    return Landscape(
        low=m + o.ridge,
        high=o.smoothness + o.ridge,
        dimension=o.dimension,
        ridge=o.ridge,
        radius=ball.radius,
        gradient_bound=o.gradient_bound,
        public_gap=gap,
    )
