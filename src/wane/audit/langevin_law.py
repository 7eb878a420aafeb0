"""The exact law of Langevin chains on Gaussian targets, and its divergences from the target.

On f(x) = sum_i lam_i x_i^2 / 2 every chain is linear and stays Gaussian, so its law is a mean and a
covariance per curvature.  Steps are taken by repeated squaring; the one step of the underdamped
chain comes from a matrix exponential, not from the formulas of the sampler.  The temperature is
one: for another, divide the curvatures by it (and multiply an overdamped step by it).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from wane.arrays import Array
from wane.errors import InvalidDescription
from wane.numerics.search import smallest_integer_satisfying

_SERIES_BELOW = 1e-2
_SERIES_TERMS = 14


@dataclass(frozen=True)
class GaussianTarget:
    """The target N(0, diag(1/curvature)), each curvature so many times.

    `offsets` is, for each curvature, the distance of the start's mean from zero along it (one
    coordinate of those with this curvature carries all of it, which is no loss by rotation).
    """

    curvatures: tuple[float, ...]
    counts: tuple[int, ...]
    offsets: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        if len(self.counts) != len(self.curvatures):
            raise InvalidDescription("counts must be as many as curvatures; give one for each.")
        if self.offsets and len(self.offsets) != len(self.curvatures):
            raise InvalidDescription("offsets must be as many as curvatures; give one for each.")

    @property
    def starts(self) -> tuple[float, ...]:
        """The offsets of the start, zero where none were given."""
        return self.offsets or (0.0,) * len(self.curvatures)


def renyi_of_excess(order: float, excess: float, shift_squared: float) -> float:
    """Return the divergence of N(shift, 1 + excess) from N(0, 1); order one is Kullback-Leibler.

    Claim.  -ln(1+x)/2 - ln(1-(a-1)x)/(2(a-1)) + a s^2/(2(1-(a-1)x)), infinite from (a-1)x = 1 on.
    Written in the excess, because the laws of interest differ by little.
    """
    a, x = order - 1.0, excess
    if not a * x < 1.0:
        return math.inf
    if x <= -1.0:
        return math.inf
    if abs(x) * max(1.0, a) < _SERIES_BELOW:
        terms = (x**k * ((-1.0) ** k + a ** (k - 1)) / k for k in range(2, _SERIES_TERMS + 2))
        spread = 0.5 * math.fsum(terms)
    elif a == 0.0:
        spread = 0.5 * (x - math.log1p(x))
    else:
        spread = -0.5 * math.log1p(x) - math.log1p(-a * x) / (2.0 * a)
    return spread + order * shift_squared / (2.0 * (1.0 - a * x))


def renyi_of_normals(
    order: float, mean_gap: float, first_variance: float, second_variance: float
) -> float:
    """Return the divergence of N(mean_gap, first_variance) from N(0, second_variance)."""
    excess = (first_variance - second_variance) / second_variance
    return renyi_of_excess(order, excess, mean_gap**2 / second_variance)


def _both(order: float, excess: float, shift_squared: float) -> tuple[float, float]:
    """Return the divergence of the chain from the target, and of the target from the chain."""
    forward = renyi_of_excess(order, excess, shift_squared)
    if excess <= -1.0:
        return forward, math.inf
    turned = renyi_of_excess(order, -excess / (1.0 + excess), shift_squared / (1.0 + excess))
    return forward, turned


Pair = tuple[float, float]


def _total(target: GaussianTarget, pair: Callable[[float, float], Pair]) -> Pair:
    """Add the coordinates up: all of one curvature but one have no offset."""
    forward: list[float] = []
    turned: list[float] = []
    for curvature, count, offset in zip(
        target.curvatures, target.counts, target.starts, strict=True
    ):
        with_offset, without = pair(curvature, offset), pair(curvature, 0.0)
        for sums, k in ((forward, 0), (turned, 1)):
            sums.append(with_offset[k])
            if count > 1:
                sums.append((count - 1) * without[k])
    return math.fsum(forward), math.fsum(turned)


def overdamped_excess(
    curvature: float, step_size: float, steps: int, start_variance: float
) -> float:
    """Return the variance of the last state over the target's, minus one, without cancellation."""
    h = 0.5 * step_size * curvature
    left = _power(1.0 - 2.0 * h, 2 * steps, 2.0 * h)
    return left * (start_variance * curvature - 1.0 / (1.0 - h)) + h / (1.0 - h)


def overdamped_divergences(
    target: GaussianTarget, *, order: float, step_size: float, steps: int, start_variance: float
) -> Pair:
    """Return the exact D(chain || target) and D(target || chain) after `steps` Euler steps."""

    def pair(curvature: float, offset: float) -> Pair:
        excess = overdamped_excess(curvature, step_size, steps, start_variance)
        contraction = 1.0 - step_size * curvature
        mean = _power(contraction, steps, step_size * curvature) * offset
        return _both(order, excess, mean * mean * curvature)

    return _total(target, pair)


def diffusion_variance(curvature: float, time: float, start_variance: float) -> float:
    """Return the variance of the continuous diffusion after `time`."""
    lost = -math.expm1(-2.0 * curvature * time)
    return start_variance + lost * (1.0 / curvature - start_variance)


def diffusion_divergences(
    target: GaussianTarget, *, order: float, time: float, start_variance: float
) -> Pair:
    """Return the exact divergences of the continuous diffusion and the target from each other."""

    def pair(curvature: float, offset: float) -> Pair:
        left = math.exp(-2.0 * curvature * time)
        excess = left * (start_variance * curvature - 1.0)
        return _both(order, excess, left * offset * offset * curvature)

    return _total(target, pair)


def overdamped_errors(
    target: GaussianTarget, *, order: float, step_size: float, steps: int, start_variance: float
) -> Pair:
    """Return the exact divergences of the chain and the continuous diffusion from each other."""
    time = step_size * steps

    def pair(curvature: float, offset: float) -> Pair:
        diffused = diffusion_variance(curvature, time, start_variance)
        relative = diffused * curvature - 1.0
        excess = overdamped_excess(curvature, step_size, steps, start_variance)
        gap = offset * (
            _power(1.0 - step_size * curvature, steps, step_size * curvature)
            - math.exp(-curvature * time)
        )
        return _both(order, (excess - relative) / (1.0 + relative), gap * gap / diffused)

    return _total(target, pair)


@dataclass(frozen=True)
class KineticStep:
    """One step of position and velocity on one curvature: z <- matrix z + N(0, noise)."""

    matrix: Array
    noise: Array

    def after(self, steps: int) -> KineticStep:
        """Return so many of these steps as one, by repeated squaring."""
        matrix, noise = np.eye(2), np.zeros((2, 2))
        square, added = self.matrix, self.noise
        while steps:
            if steps % 2:
                matrix, noise = square @ matrix, square @ noise @ square.T + added
            square, added = square @ square, square @ added @ square.T + added
            steps //= 2
        return KineticStep(matrix, noise)


def frozen_gradient_step(
    curvature: float, *, friction: float, velocity_variance: float, step_size: float
) -> KineticStep:
    """Return the exact solution over one step with the gradient frozen, by a matrix exponential."""
    free = _linear_flow(0.0, friction, velocity_variance, step_size)
    # the frozen gradient is a constant force: its effect is the integral of the flow
    force = np.zeros((3, 3))
    force[0, 1], force[1, 1], force[1, 2] = 1.0, -friction, -velocity_variance * curvature
    pushed = _scaled_exponential(force, step_size, np.array([step_size, 1.0, step_size]))
    matrix = free.matrix.copy()
    matrix[:, 0] += pushed[:2, 2]
    return KineticStep(matrix, free.noise)


def kinetic_flow(
    curvature: float, *, friction: float, velocity_variance: float, time: float
) -> KineticStep:
    """Return the continuous underdamped dynamics over `time`."""
    return _linear_flow(curvature, friction, velocity_variance, time)


def kinetic_covariance(step: KineticStep, steps: int, start: tuple[float, float]) -> Array:
    """Return the covariance of position and velocity after `steps`, from a diagonal start."""
    moved = step.after(steps)
    return np.asarray(moved.matrix @ np.diag(start) @ moved.matrix.T + moved.noise)


def underdamped_divergences(
    target: GaussianTarget,
    *,
    order: float,
    friction: float,
    velocity_variance: float,
    step_size: float,
    steps: int,
    start_variance: float,
) -> Pair:
    """Return the exact joint divergences from the target, velocities started stationary."""

    def pair(curvature: float, offset: float) -> Pair:
        step = frozen_gradient_step(
            curvature,
            friction=friction,
            velocity_variance=velocity_variance,
            step_size=step_size,
        ).after(steps)
        start = np.diag([start_variance, velocity_variance])
        covariance = step.matrix @ start @ step.matrix.T + step.noise
        mean = step.matrix @ np.array([offset, 0.0])
        reference = np.diag([1.0 / curvature, velocity_variance])
        return _planar(order, covariance, mean, reference)

    return _total(target, pair)


def underdamped_errors(
    target: GaussianTarget,
    *,
    order: float,
    friction: float,
    velocity_variance: float,
    step_size: float,
    steps: int,
    start_variance: float,
) -> Pair:
    """Return the exact joint divergences of the chain and the continuous dynamics.

    Both covariances are nearly singular after a short time, where differences below about 1e-8
    are rounding.
    """

    def pair(curvature: float, offset: float) -> Pair:
        dynamics = {"friction": friction, "velocity_variance": velocity_variance}
        step = frozen_gradient_step(curvature, step_size=step_size, **dynamics).after(steps)
        flow = kinetic_flow(curvature, time=step_size * steps, **dynamics)
        start = np.diag([start_variance, velocity_variance])
        first, second = (m.matrix @ start @ m.matrix.T + m.noise for m in (step, flow))
        mean = (step.matrix - flow.matrix) @ np.array([offset, 0.0])
        return _planar(order, first, mean, second)

    return _total(target, pair)


def fewest_steps(divergence: Callable[[float, int], float], largest: float, distance: float) -> int:
    """Return the fewest steps for which a step size below `largest` has at most this divergence."""

    def reached(steps: int) -> bool:
        grid = [largest * 0.999 * 10.0 ** (-k / 12.0) for k in range(73)]
        values = [divergence(eta, steps) for eta in grid]
        place = min(range(len(grid)), key=values.__getitem__)
        low, high = grid[min(place + 1, 72)], grid[max(place - 1, 0)]
        for _ in range(40):
            left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
            worse = divergence(left, steps) > divergence(right, steps)
            low, high = (left, high) if worse else (low, right)
        return min(values[place], divergence(0.5 * (low + high), steps)) <= distance

    return smallest_integer_satisfying(reached, 1)


def _planar(order: float, first: Array, mean: Array, second: Array) -> Pair:
    """Return the divergences of two Gaussians in the plane, each from the other."""
    inverse = np.linalg.inv(np.linalg.cholesky(second))
    excess = inverse @ (first - second) @ inverse.T
    values, vectors = np.linalg.eigh(0.5 * (excess + excess.T))
    shifts = (vectors.T @ (inverse @ mean)) ** 2
    pairs = [_both(order, float(x), float(s)) for x, s in zip(values, shifts, strict=True)]
    return math.fsum(p[0] for p in pairs), math.fsum(p[1] for p in pairs)


def _linear_flow(
    curvature: float, friction: float, velocity_variance: float, time: float
) -> KineticStep:
    """Return mean and noise of dx = v dt, dv = -(friction v + mu curvature x) dt + noise."""
    # the block's other half grows as fast as this one decays, so short pieces are put together
    speed = friction + math.sqrt(velocity_variance * curvature)
    pieces = 2 ** max(0, math.ceil(math.log2(max(speed * time, 1e-300) / 0.5)))
    drift = np.array([[0.0, 1.0], [-velocity_variance * curvature, -friction]])
    spread = np.array([[0.0, 0.0], [0.0, 2.0 * friction * velocity_variance]])
    block = np.block([[-drift, spread], [np.zeros((2, 2)), drift.T]])
    # measured in units of how far a velocity carries, all entries have one size
    length = time / pieces
    full = _scaled_exponential(block, length, np.array([length, 1.0, 1.0 / length, 1.0]))
    matrix = full[2:, 2:].T
    return KineticStep(matrix, matrix @ full[:2, 2:]).after(pieces)


def _scaled_exponential(matrix: Array, time: float, scale: Array) -> Array:
    """Return exp(matrix time), computed in coordinates divided by `scale` for small entries."""
    inner = matrix * time * scale[None, :] / scale[:, None]
    return np.asarray(expm(inner) * scale[:, None] / scale[None, :])


def _power(base: float, exponent: int, gap: float) -> float:
    """Return base^exponent for base = 1 - gap, accurate for tiny gaps."""
    if gap < 1.0:
        return math.exp(exponent * math.log1p(-gap))
    return 0.0 if base == 0.0 else float(abs(base) ** exponent) * (-1.0 if exponent % 2 else 1.0)
