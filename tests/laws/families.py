"""Families of exact members: linear in several dimensions, on a grid, sampled, with a prox."""

import math
from dataclasses import replace
from itertools import product

import numpy as np

from laws.chains import losses, random_chain
from laws.instances import random_run
from laws.soundness import Deltas, Evidence, Family, Gaussians, Laws, masses_of_mixture
from wane.audit import (
    MonotoneMap,
    Resolution,
    ScalarMap,
    chain_pair,
    followed_by,
    pair_step,
    shrinkage,
    soft_threshold,
)
from wane.audit.lower_bound import lower_bound
from wane.describe import (
    Adjacency,
    EveryIterate,
    FullBatch,
    GradientNoise,
    Iterates,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    WithoutReplacement,
)
from wane.describe.domains import ElasticNet, Lasso, Unbounded

MEMBERS = 150
GRID_STARTS = 100
ALL_LOSSES = range(7)


def _units(rng, count: int, d: int):
    v = rng.normal(size=(count, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def _hessians(rng, run: NoisyDescent, count: int, d: int, fill: float):
    """Symmetric matrices with spectrum at the ends of the declared interval or in between."""
    low, high = run.objective.strong_convexity, run.objective.smoothness
    if run.objective.clipped:
        low = high = 0.0
    among = rng.uniform(low, high, size=(count, d))
    pick = rng.integers(3, size=(count, d))
    values = fill * np.where(pick == 0, low, np.where(pick == 1, high, among))
    Q = np.linalg.qr(rng.normal(size=(count, d, d)))[0]
    return (Q * values[:, None, :]) @ np.swapaxes(Q, 1, 2)


def linear(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
    """Quadratics in one to four dimensions, plain recursions; phases, cool-down, prox, releases.

    Half of the descriptions get members whose curvature and shift differ at every visit: iterates
    that travel far between steps meet another part of the same losses (docs/brackets.md).
    """
    run = random_run(rng)
    if rng.random() < 0.1:
        run = replace(run, release=EveryIterate())
    if rng.random() < 0.1:
        run = replace(run, objective=replace(run.objective, clipped=True))
    return run, Gaussians(_linear_mus(rng, run, int(rng.integers(1, 5)), rng.random() < 0.5))


def _linear_mus(rng, run: NoisyDescent, d: int, travels: bool):
    period = run.steps_per_epoch
    position = int(rng.integers(period))
    fill = [1.0] * (period - 1) + [run.last_batch_size / run.batch_size]
    fixed = [_hessians(rng, run, MEMBERS, d, fill[batch]) for batch in range(period)]
    directions, eye = _units(rng, MEMBERS, d), np.eye(d)
    mean, cov = np.zeros((MEMBERS, d)), np.zeros((MEMBERS, d, d))
    total, step, data, before = np.zeros(MEMBERS), 0, 0, 1.0
    for phase in run.plan:
        eta = phase.step_size
        for _ in range(phase.repeat):
            A = np.broadcast_to((1 - eta * run.objective.ridge) * eye, cov.shape)
            shift = np.zeros((MEMBERS, d))
            if not phase.cool_down:
                batch = data % period
                H = _hessians(rng, run, MEMBERS, d, fill[batch]) if travels else fixed[batch]
                A = A - eta * H
                if batch == position:
                    u = _units(rng, MEMBERS, d) if travels and rng.random() < 0.3 else directions
                    shift = eta * run.gradient_sensitivity * u
                data += 1
            A = A * before
            mean = np.einsum("kij,kj->ki", A, mean) + shift
            cov = A @ cov @ np.swapaxes(A, 1, 2) + (eta * phase.noise.value) ** 2 * eye
            before = run.domain.lipschitz(eta)
            step += 1
            if _seen(run, step):
                solved = np.linalg.solve(cov, mean[:, :, None])[:, :, 0]
                total += np.einsum("ki,ki->k", mean, solved)
                mean, cov = np.zeros_like(mean), np.zeros_like(cov)
    return np.sqrt(total)


def _seen(run: NoisyDescent, step: int) -> bool:
    listed = isinstance(run.release, Iterates) and step in run.release.steps
    return listed or isinstance(run.release, EveryIterate) or step == run.total_steps


def langevin(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
    """Gaussian iterates, whose log-Sobolev constant is one over their largest variance."""
    d, steps = int(rng.integers(1, 4)), int(rng.choice([1, 2, 5, 20, 100, 500]))
    eta, s, C = (float(10 ** rng.uniform(-1.5, 0.5)) for _ in range(3))
    n = int(rng.integers(1, 20))
    factor = 1 - rng.uniform(0.0, 1.9, size=(MEMBERS, d))
    powers = factor[:, :, None] ** np.arange(steps)
    variance = (eta * s) ** 2 * np.sum(powers**2, axis=2)
    run = NoisyDescent(
        objective=Objective(
            gradient_bound=C, log_sobolev=float(1 / np.max(variance)) * (1 - 1e-12)
        ),
        records=n,
        steps=steps,
        step_size=eta,
        noise=GradientNoise(s),
        adjacency=Adjacency.REPLACE_ONE if rng.random() < 0.5 else Adjacency.ADD_REMOVE,
    )
    mean = eta * run.gradient_sensitivity * _units(rng, MEMBERS, d) * np.sum(powers, axis=2)
    return run, Gaussians(np.sqrt(np.sum(mean**2 / variance, axis=1)))


def _on_grid(batches: str) -> Family:
    def drawn(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
        phases = rng.random() < 0.3
        chain = random_chain(rng, batches, ALL_LOSSES, phases=phases, nodes=48, cells=256)
        size = len(chain.states)
        starts = np.unique([size - 2, size - 1, *rng.integers(size - 2, size=GRID_STARTS - 2)])
        return chain.run, Laws(*chain.laws_from(starts))

    drawn.__doc__ = f"Projected chains on an interval, {batches} batches, ends among the starts."
    return drawn


def sampled_walk(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
    """Flat losses under a ridge, random batches, unbounded: a mixture over all draws, exactly."""
    poisson = rng.random() < 0.5
    n = int(rng.integers(2, 30))
    b = int(rng.integers(1, n))
    C, eta = (float(10 ** rng.uniform(-0.5, 0.5)) for _ in range(2))
    phases = [
        Phase(
            int(rng.integers(1, 4)),
            eta * float(rng.uniform(0.5, 1.0)),
            GradientNoise(C / b * float(10 ** rng.uniform(-0.3, 0.8))),
            cool_down=bool(i and rng.random() < 0.3),
        )
        for i in range(int(rng.integers(1, 4)))
    ]
    run = NoisyDescent(
        objective=Objective(
            gradient_bound=C,
            smoothness=0.1 / eta,
            strong_convexity=0.0,
            ridge=float(rng.choice([0.0, 0.3 / eta])),
        ),
        records=n,
        schedule=Schedule(phases),
        batches=Poisson(b) if poisson else WithoutReplacement(b),
        domain=Unbounded(),
        adjacency=Adjacency.REPLACE_ONE if rng.random() < 0.5 else Adjacency.ZERO_OUT,
    )
    other = 0.0 if poisson else float(rng.choice([0.0, -C, C]))
    return run, _walk_laws(run, other)


def _walk_laws(run: NoisyDescent, other: float) -> Laws:
    """The others' gradients are equal, so only the draws of the differing record matter."""
    q, b = run.batch_size / run.records, run.batch_size
    weights, steps, variance = [], [], 0.0
    for phase in run.plan:
        keep = 1 - phase.step_size * run.objective.ridge
        for _ in range(phase.repeat):
            steps = [keep * s for s in steps]
            variance = keep**2 * variance + (phase.step_size * phase.noise.value) ** 2
            if not phase.cool_down:
                steps.append(phase.step_size / b)
    draws = np.array(list(product([0.0, 1.0], repeat=len(steps))))
    counts = draws.sum(axis=1)
    weights = q**counts * (1 - q) ** (len(steps) - counts)
    reach, std = draws @ np.array(steps), math.sqrt(variance)
    signs = (1.0, 0.0 if run.adjacency is Adjacency.ZERO_OUT else -1.0)
    means = [reach * (sign * run.objective.gradient_bound - other) for sign in signs]
    low, high = min(m.min() for m in means), max(m.max() for m in means)
    edges = np.linspace(low - 6 * std, high + 6 * std, 400)
    first, second = (masses_of_mixture(m, weights, std, edges)[None, :] for m in means)
    return Laws(first, second)


def with_prox(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
    """Soft thresholds on the whole line, by the grid oracle that brings its own error."""
    known = losses(rng, 1.0)
    loss = known[int(rng.choice([5, 6]))]
    C, n = loss.declared["gradient_bound"], int(rng.integers(2, 7))
    eta = float(10 ** rng.uniform(-0.7, 0.3)) / C
    noise = float(10 ** rng.uniform(-0.5, 0.3)) / eta
    weight, ridge = float(10 ** rng.uniform(-1, 0)), float(rng.choice([0.0, 0.5]))
    run = NoisyDescent(
        objective=Objective(**loss.declared),
        records=n,
        steps=int(rng.integers(1, 4)),
        step_size=eta,
        noise=GradientNoise(noise),
        batches=FullBatch(),
        domain=ElasticNet(weight, ridge) if ridge else Lasso(weight),
        adjacency=Adjacency.REPLACE_ONE if rng.random() < 0.7 else Adjacency.ZERO_OUT,
    )
    prox: MonotoneMap = soft_threshold(eta * weight)
    if ridge:
        prox = followed_by(prox, shrinkage(1 / (1 + eta * ridge)))

    def drift(sign: float) -> ScalarMap:
        def move(x):
            return x - eta * ((n - 1) * loss.gradient(x) + sign * C) / n

        return ScalarMap(move, loss.kinks)

    second = 0.0 if run.adjacency is Adjacency.ZERO_OUT else -1.0
    step = pair_step(drift(1.0), drift(second), noise_std=eta * noise, prox=prox)
    start = float(rng.normal())
    pair = chain_pair([step] * run.steps, start, resolution=Resolution(0.5, 8, 12.0))
    exact = {e: pair.hockey_stick(e, reverse=bool(rng.random() < 0.5)).lower for e in (0.0, 0.5, 2)}
    return run, Deltas(exact)


def worst_found(rng: np.random.Generator) -> tuple[NoisyDescent, Evidence]:
    """The member that `wane.audit` finds worst, where it is exactly Gaussian."""
    run = random_run(rng)
    found = lower_bound(run)
    mus = [] if found is None else [leak.mu for leak in found.leaks]
    return run, Gaussians(np.array([0.0, *mus]))


FAMILIES: dict[str, tuple[float, Family]] = {
    "linear": (0.605, linear),
    "worst found": (0.001, worst_found),
    "langevin": (0.06, langevin),
    "grid, full": (0.08, _on_grid("full")),
    "grid, cyclic": (0.09, _on_grid("cyclic")),
    "grid, shuffled": (0.04, _on_grid("shuffled")),
    "grid, poisson": (0.06, _on_grid("poisson")),
    "grid, fixed size": (0.06, _on_grid("fixed")),
    "sampled walk": (0.004, sampled_walk),
    "prox": (0.001, with_prox),
}
"""Each family with its share of the pairs."""
