"""Random descriptions, and random exact members of the class each describes.

The law of a member is computed here by plain matrix recursions and shares no code with wane.
"""

import math
from typing import Any

import numpy as np

from wane.describe import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    Iterates,
    LastIterate,
    NoisyDescent,
    Objective,
    Phase,
    Schedule,
)
from wane.describe.domains import Ridge, Unbounded


def random_run(rng: np.random.Generator) -> NoisyDescent:
    """Contractive, nonexpansive or expansive; full or cyclic; phases, cool-down, prox, releases."""
    M = float(10 ** rng.uniform(-2, 1))
    m = float(rng.choice([0.0, rng.uniform(0, 1) * M, -rng.uniform(0, 0.3) * M]))
    ridge = float(rng.choice([0.0, 10 ** rng.uniform(-3, 0)]))
    period = int(rng.choice([1, 1, 2, 3, 5]))
    size = int(rng.integers(2, 30))
    records = size * period - (int(rng.integers(0, size)) if period > 1 else 0)
    phases = [Phase(1, 0.1 / M, GradientNoise(1.0))]  # at least one that uses records
    phases += [
        Phase(
            int(rng.integers(1, 8)),
            float(rng.uniform(0.05, 2.5)) / (M + ridge),
            GradientNoise(float(10 ** rng.uniform(-2, 1))),
            cool_down=bool(rng.random() < 0.2),
        )
        for _ in range(int(rng.integers(1, 5)))
    ]
    total = sum(p.repeat for p in phases)
    some = rng.random() < 0.3
    release = Iterates((int(rng.integers(1, total + 1)),)) if some else LastIterate()
    domain: Any = Ridge(float(rng.uniform(0.01, 1))) if rng.random() < 0.3 else Unbounded()
    return NoisyDescent(
        objective=Objective(
            gradient_bound=float(10 ** rng.uniform(-1, 1)),
            smoothness=M,
            strong_convexity=m,
            ridge=ridge,
        ),
        records=records,
        schedule=Schedule(phases),
        batches=FullBatch() if period == 1 else Cyclic(size),
        domain=domain,
        adjacency=Adjacency.REPLACE_ONE if rng.random() < 0.5 else Adjacency.ZERO_OUT,
        release=release,
    )


def exact_mu(run: NoisyDescent, rng: np.random.Generator, *, dimension: int) -> float:
    """Exact mu of a random quadratic member of the class, for a random record."""
    period = run.steps_per_epoch
    position = int(rng.integers(period))
    seen = _released_steps(run)
    batch_hessians = [_hessian(run, rng, dimension, batch) for batch in range(period)]
    aligned = rng.random() < 0.5
    direction = _unit(rng, dimension)
    mean, cov = np.zeros(dimension), np.zeros((dimension, dimension))
    total, step, data_step, prox_before = 0.0, 0, 0, 1.0
    for phase in run.plan:
        eta = phase.step_size
        std = eta * phase.noise.value
        for _ in range(phase.repeat):
            A = (1 - eta * run.objective.ridge) * np.eye(dimension)
            u = np.zeros(dimension)
            if not phase.cool_down:
                batch = data_step % period
                A = A - eta * batch_hessians[batch]
                if batch == position:
                    u = (
                        eta
                        * run.gradient_sensitivity
                        * (direction if aligned else _unit(rng, dimension))
                    )
                data_step += 1
            A = A * prox_before
            mean, cov = A @ mean + u, A @ cov @ A.T + std**2 * np.eye(dimension)
            prox_before = run.domain.lipschitz(eta)
            step += 1
            if step in seen:
                total += float(mean @ np.linalg.solve(cov, mean))
                mean, cov = np.zeros(dimension), np.zeros((dimension, dimension))
    return math.sqrt(total)


def _released_steps(run: NoisyDescent) -> set[int]:
    listed = run.release.steps if isinstance(run.release, Iterates) else ()
    return {*listed, run.total_steps}


def _hessian(run: NoisyDescent, rng: np.random.Generator, d: int, batch: int) -> np.ndarray:
    """A batch's average Hessian: ends of the spectrum or in between, less if incomplete."""
    low, high = run.objective.strong_convexity, run.objective.smoothness
    values = rng.choice([low, high, rng.uniform(low, high)], size=d)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    fill = 1.0
    if batch == run.steps_per_epoch - 1:
        fill = run.last_batch_size / run.batch_size
    return fill * (Q * values) @ Q.T


def _unit(rng: np.random.Generator, d: int) -> np.ndarray:
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)
