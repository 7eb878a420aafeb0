"""Langevin chains on quadratics, by matrix recursions that share no code with wane."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import linalg

from twins.exact import Gaussians
from wane.describe import Adjacency, Objective
from wane.describe.chain import (
    Diffusion,
    Direction,
    Overdamped,
    PointStart,
    Question,
    Reference,
    Target,
    Underdamped,
)
from wane.describe.posterior import Losses, Posterior
from wane.describe.samples import OverdampedRun, SampledPosterior, UnderdampedRun

Law = tuple[np.ndarray, np.ndarray]


def renyi(first: Law, second: Law, order: float) -> float:
    """The divergence of two normal laws; the Kullback-Leibler divergence at order one."""
    (a, P), (b, Q) = first, second
    gap = a - b
    if order == 1.0:
        inverse = np.linalg.inv(Q)
        logs = np.linalg.slogdet(Q)[1] - np.linalg.slogdet(P)[1]
        return float(0.5 * (np.trace(inverse @ P) + gap @ inverse @ gap - len(a) + logs))
    mixed = order * Q + (1.0 - order) * P
    if np.linalg.eigvalsh(mixed)[0] <= 0.0:
        return math.inf
    logs = [np.linalg.slogdet(x)[1] for x in (mixed, P, Q)]
    spread = logs[0] - (1.0 - order) * logs[1] - order * logs[2]
    far = order * float(gap @ np.linalg.solve(mixed, gap))
    return 0.5 * far - 0.5 * float(spread) / (order - 1.0)


def driven(matrix: np.ndarray, push: np.ndarray, noise: np.ndarray, time: float) -> tuple:
    """Of dz = (A z + b) dt + S dB over a time: the flow, the shift, and the noise's covariance."""
    size = len(matrix)
    block = np.zeros((2 * size + 1, 2 * size + 1))
    block[:size, :size], block[:size, -1] = matrix, push
    whole = linalg.expm(block * time)
    flow, shift = whole[:size, :size], whole[:size, -1]
    pair = np.zeros((2 * size, 2 * size))
    pair[:size, :size], pair[:size, size:], pair[size:, size:] = -matrix, noise, matrix.T
    powers = linalg.expm(pair * time)
    return flow, shift, powers[size:, size:].T @ powers[:size, size:]


@dataclass(frozen=True)
class Bowl:
    """F = curvature (x - centre)^2/2 in each coordinate, from a start at the origin."""

    curvature: float
    centre: float


def chain_law(chain: Overdamped | Underdamped | Diffusion, bowl: Bowl) -> Law:
    """One coordinate's law at the end; position and velocity, if it has both."""
    tau, k = chain.temperature, bowl.curvature
    if isinstance(chain, Diffusion):
        return _diffused(bowl, chain.start.variance, chain.time, tau)
    if isinstance(chain, Underdamped):
        return _kinetic(chain, bowl)
    mean, variance = 0.0, chain.start.variance
    for _ in range(chain.steps):
        kept = 1.0 - chain.step_size * k
        mean = kept * mean + chain.step_size * k * bowl.centre
        variance = kept**2 * variance + 2.0 * chain.step_size * tau
    return np.array([mean]), np.array([[variance]])


def _diffused(bowl: Bowl, variance: float, time: float, tau: float) -> Law:
    matrix, push = np.array([[-bowl.curvature]]), np.array([bowl.curvature * bowl.centre])
    start = np.zeros(1), np.array([[variance]])
    return _run(matrix, push, np.array([[2.0 * tau]]), time, start)


def _run(matrix: np.ndarray, push: np.ndarray, noise: np.ndarray, time: float, start: Law) -> Law:
    """Continuous linear dynamics, in pieces short enough for matrix exponentials."""
    pieces = max(1, math.ceil(time * float(np.abs(matrix).max())))
    flow, shift, added = driven(matrix, push, noise, time / pieces)
    mean, cov = start
    for _ in range(pieces):
        mean, cov = flow @ mean + shift, flow @ cov @ flow.T + added
    return mean, cov


def _frozen(chain: Underdamped) -> tuple:
    """One step with the gradient g frozen: z' = flow z + kick g + noise."""
    gam, u, tau = chain.friction, chain.inverse_mass, chain.temperature
    free = np.array([[0.0, 1.0], [0.0, -gam]])
    noise = np.diag([0.0, 2.0 * gam * u * tau])
    return driven(free, np.array([0.0, -u]), noise, chain.step_size)


def _kinetic(chain: Underdamped, bowl: Bowl) -> Law:
    flow, kick, noise = _frozen(chain)
    matrix = flow + np.outer(kick, [bowl.curvature, 0.0])
    mean, cov = np.zeros(2), np.diag([chain.start.variance, chain.velocity_variance])
    for _ in range(chain.steps):
        mean = matrix @ mean - kick * bowl.curvature * bowl.centre
        cov = matrix @ cov @ matrix.T + noise
    return mean, cov


def reference_law(asked: Question, bowl: Bowl) -> Law:
    """The target, or the continuous dynamics from the same start."""
    chain, tau = asked.chain, asked.chain.temperature
    if asked.reference is Reference.TARGET:
        place, spread = [bowl.centre], [tau / bowl.curvature]
        if isinstance(chain, Underdamped):
            place, spread = [*place, 0.0], [*spread, chain.velocity_variance]
        return np.array(place), np.diag(spread)
    time = chain.step_size * chain.steps
    if isinstance(chain, Overdamped):
        return _diffused(bowl, chain.start.variance, time, tau)
    gam, u = chain.friction, chain.inverse_mass
    matrix = np.array([[0.0, 1.0], [-u * bowl.curvature, -gam]])
    push = np.array([0.0, u * bowl.curvature * bowl.centre])
    start = np.zeros(2), np.diag([chain.start.variance, chain.velocity_variance])
    return _run(matrix, push, np.diag([0.0, 2.0 * gam * u * tau]), time, start)


def divergence(asked: Question, bowl: Bowl) -> float:
    """The exact divergence that the question asks for, with equal coordinates."""
    laws = [chain_law(asked.chain, bowl), reference_law(asked, bowl)]
    if asked.direction is Direction.REFERENCE_FIRST:
        laws.reverse()
    return asked.chain.target.dimension * renyi(laws[0], laws[1], asked.order)


def bowls(asked: Question) -> Iterator[Bowl]:
    """Quadratics of the class whose minimiser is as far as the start allows; it must exist."""
    target, start = asked.chain.target, asked.chain.start
    far = (start.distance or 0.0) / math.sqrt(target.dimension)
    for curvature in (target.strong_convexity, target.smoothness):
        if curvature > 0.0 and target.gradient_bound is None:
            yield Bowl(curvature, far)


def exact_divergences(asked: Question) -> tuple[float, ...]:
    return tuple(divergence(asked, bowl) for bowl in bowls(asked))


BOWL = Target(1.0, 2.0, 1)
SADDLE = Target(-1.0, 1.0, 1)
FLAT = Target(0.0, 1.0, 1)
NEAR = PointStart(1.0)


@cache
def questions() -> tuple[Question, ...]:
    """In and around the hypotheses of every bound on a distance."""
    made = []
    for order, direction in ((2.0, Direction.CHAIN_FIRST), (2.0, Direction.REFERENCE_FIRST)):
        for reference in Reference:
            for target in (BOWL, SADDLE, FLAT, replace(SADDLE, gradient_bound=2.0)):
                for start in (NEAR, PointStart(None)):
                    chains = (
                        Overdamped(target, 0.01, 600, start),
                        Underdamped(target, 0.005, 1600, 3.0, 1.0, start),
                        Underdamped(target, 0.005, 1600, 1.5, 1.0, start),
                        Underdamped(target, 0.3, 40, 3.0, 1.0, start),
                    )
                    made += [Question(c, order, direction, reference) for c in chains]
                    if reference is Reference.TARGET:
                        made.append(Question(Diffusion(target, 0.5, start), order, direction))
    return tuple(made)


def posterior(
    *, adjacency: Adjacency = Adjacency.REPLACE_ONE, records: int = 1, **declared: float | None
) -> Posterior:
    """Linear losses with slopes up to one, and a normal prior."""
    known: dict[str, float | None] = {
        "gradient_bound": 1.0,
        "height_at_start": 1.0,
        **declared,
    }
    bound = known.pop("gradient_bound")
    objective = Objective(gradient_bound=bound, smoothness=0.0, strong_convexity=0.0)
    losses = Losses(objective=objective, dimension=1, laplacian_lipschitz=0.0, **known)
    return Posterior(losses=losses, records=records, prior_precision=1.0, adjacency=adjacency)


def overdamped(**declared: object) -> OverdampedRun:
    return OverdampedRun(posterior=posterior(**declared), step_size=0.01, steps=1200)


def underdamped(*, friction: float = 2.0, step_size: float = 0.02, **declared: object):
    return UnderdampedRun(
        posterior=posterior(**declared), step_size=step_size, steps=500, friction=friction
    )


@cache
def posteriors() -> tuple[SampledPosterior, ...]:
    """In and around the hypotheses of every theorem on samples."""
    return (
        overdamped(),
        overdamped(gradient_bound=None),
        overdamped(range_of_loss=0.5),
        overdamped(adjacency=Adjacency.ADD_REMOVE),
        overdamped(adjacency=Adjacency.ADD_REMOVE, range_of_loss=0.5),
        OverdampedRun(posterior=posterior(), step_size=0.9, steps=3),
        OverdampedRun(posterior=posterior(range_of_loss=0.5), step_size=0.9, steps=3),
        underdamped(),
        underdamped(gradient_bound=None),
        underdamped(friction=0.5),
    )


def sample_laws(run: SampledPosterior) -> tuple[Gaussians, ...]:
    """Exact mu of the released position: linear losses, opposite slopes or none."""
    p = run.posterior
    bound = p.losses.objective.gradient_bound
    if bound is None or p.losses.range_of_loss is not None:
        return ()  # no linear loss has a range
    slopes = (1.0, -1.0) if p.adjacency is Adjacency.REPLACE_ONE else (1.0, 0.0)
    laws = [chain_law(run.chain, Bowl(p.ridge, -s * bound / p.records / p.ridge)) for s in slopes]
    gap = laws[0][0][0] - laws[1][0][0]
    return (Gaussians(abs(gap) / math.sqrt(laws[0][1][0, 0]) * math.sqrt(run.samples)),)
