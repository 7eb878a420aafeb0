"""Chains whose iterates are exactly Gaussian, in several dimensions, many members at once.

Two kinds of concrete losses give them.  Lines under a ridge: the records differ by their slopes and
nothing bends.  Travellers: all losses share a slope so steep that every step lands in a new place,
and a curvature of their own there; records differ by a small slope.  What is declared of travellers
is what is true of them: the difference of two records, and the ends of all curvatures met, but no
bound on the gradient.  (They are the limit of losses whose places are ever further apart.)
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    Fact,
    FactKind,
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

MEMBERS = 150
HAS_DIFFERENCE = "gradient_difference_bound" in {f.name for f in fields(Objective)}


@dataclass(frozen=True)
class GaussianCase:
    """A description, and the exact mu of many of its members."""

    family: str
    run: NoisyDescent
    mus: np.ndarray
    facts: tuple[Fact, ...] = ()

    @property
    def count(self) -> int:
        return len(self.mus)


def gaussian_cases(rng: np.random.Generator) -> Iterator[GaussianCase]:
    """Draw for ever, lines under a ridge and travellers in turn."""
    while True:
        yield lines_under_a_ridge(rng)
        yield known_spread(rng)
        if HAS_DIFFERENCE:
            yield travellers(rng)


def units(rng, count: int, d: int):
    v = rng.normal(size=(count, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def _frame(rng, scale: float) -> dict[str, Any]:
    """Batches, phases, prox and release; step sizes in units of one over the scale."""
    period, size = int(rng.choice([1, 1, 2, 3, 5])), int(rng.integers(2, 30))
    phases = [
        Phase(
            int(rng.integers(1, 8)),
            float(rng.uniform(0.05, 2.5)) / scale,
            GradientNoise(float(10 ** rng.uniform(-2, 1))),
            cool_down=bool(i and rng.random() < 0.2),
        )
        for i in range(int(rng.integers(1, 5)))
    ]
    total = sum(p.repeat for p in phases)
    release: Any = LastIterate()
    if rng.random() < 0.4:
        listed = Iterates(tuple({int(k) for k in rng.integers(1, total + 1, size=2)}))
        release = listed if rng.random() < 0.7 else EveryIterate()
    return {
        "records": size * period - (int(rng.integers(size)) if period > 1 else 0),
        "schedule": Schedule(phases),
        "batches": FullBatch() if period == 1 else Cyclic(size),
        "domain": Ridge(float(rng.uniform(0.01, 1)) * scale) if rng.random() < 0.3 else Unbounded(),
        "release": release,
    }


def lines_under_a_ridge(rng) -> GaussianCase:
    frame = _frame(rng, 1.0)
    full = isinstance(frame["batches"], FullBatch)
    allowed = list(Adjacency) if full else [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT]
    adjacency = allowed[int(rng.integers(len(allowed)))]
    d, C = int(rng.integers(1, 4)), float(10 ** rng.uniform(-1, 1))
    one, two = C * units(rng, MEMBERS, d), C * units(rng, MEMBERS, d)
    opposed = rng.random(MEMBERS) < 0.5
    two[opposed] = -one[opposed]
    declared: dict[str, Any] = {"gradient_bound": C * (1 + 1e-12)}
    for name in ("smoothness", "strong_convexity"):
        if rng.random() < 0.8:
            declared[name] = 0.0
    ridge = 0.0 if rng.random() < 0.4 else float(10 ** rng.uniform(-3, 0))
    run = NoisyDescent(objective=Objective(**declared, ridge=ridge), adjacency=adjacency, **frame)
    apart = one - two if adjacency is Adjacency.REPLACE_ONE else one
    return GaussianCase("L1, L13", run, exact_mus(run, apart, None, rng))


def travellers(rng) -> GaussianCase:
    scale = float(10 ** rng.uniform(-2, 1))
    frame = _frame(rng, scale)
    d, E = int(rng.integers(1, 5)), float(10 ** rng.uniform(-1, 1))
    steps = frame["schedule"].total
    low = float(rng.choice([0.0, rng.uniform(0, 1), -rng.uniform(0, 0.3)]))
    among = rng.uniform(low, 1.0, size=(MEMBERS, steps, d))
    pick = rng.integers(3, size=among.shape)
    values = scale * np.where(pick == 0, low, np.where(pick == 1, 1.0, among))
    if rng.random() < 0.5:  # curvature of one place, met for ever
        values = np.broadcast_to(values[:, :1], values.shape)
    frames = np.linalg.qr(rng.normal(size=(MEMBERS, steps, d, d)))[0]
    if rng.random() < 0.5:
        frames = np.broadcast_to(frames[:, :1], frames.shape)
    hessians = (frames * values[:, :, None, :]) @ np.swapaxes(frames, 2, 3)
    declared = {
        "gradient_difference_bound": E * (1 + 1e-12),
        "smoothness": float(np.max(np.abs(values))) * (1 + 1e-12),
    }
    if rng.random() < 0.9:
        m = float(np.min(values))
        declared["strong_convexity"] = m - 1e-12 * abs(m)
    ridge = 0.0 if rng.random() < 0.5 else scale * float(10 ** rng.uniform(-3, 0))
    run = NoisyDescent(objective=Objective(**declared, ridge=ridge), **frame)
    return GaussianCase(
        "L5, travelling", run, exact_mus(run, E * units(rng, MEMBERS, d), hessians, rng)
    )


def known_spread(rng) -> GaussianCase:
    """Lines under a ridge whose laws before the prox are known: a log-Sobolev fact of the run.

    The fact is that of the widest law before a prox, all of the step's noise included.
    """
    d, steps = int(rng.integers(1, 4)), int(rng.choice([1, 2, 5, 20, 100, 500]))
    eta, s, C = (float(10 ** rng.uniform(-1.5, 0.5)) for _ in range(3))
    ridge, shrink = float(rng.uniform(0.0, 1.9)) / eta, float(rng.choice([0.0, rng.uniform(0, 2)]))
    run = NoisyDescent(
        objective=Objective(gradient_bound=C * (1 + 1e-12), ridge=ridge),
        records=int(rng.integers(1, 20)),
        steps=steps,
        step_size=eta,
        noise=GradientNoise(s),
        adjacency=list(Adjacency)[int(rng.integers(3))],
        domain=Ridge(shrink / eta) if shrink else Unbounded(),
    )
    variance, widest = 0.0, 0.0
    for _ in range(steps):
        before = (1 - eta * ridge) ** 2 * variance + (eta * s) ** 2
        widest, variance = max(widest, before), before / (1 + shrink) ** 2
    one = C * units(rng, MEMBERS, d)
    apart = 2 * one if run.adjacency is Adjacency.REPLACE_ONE else one
    fact = Fact.of(run, FactKind.LOG_SOBOLEV, (1 - 1e-12) / widest)
    return GaussianCase("L13", run, exact_mus(run, apart, None, rng), (fact,))


def exact_mus(run: NoisyDescent, apart, hessians, rng) -> np.ndarray:
    """The exact mu of each member, by plain recursions; the differing record in any batch."""
    d = apart.shape[1]
    size = run.records if isinstance(run.batches, FullBatch) else run.batches.size
    period = -(-run.records // size)
    last = run.records - (period - 1) * size
    position, turning = int(rng.integers(period)), rng.random() < 0.3
    eye = np.eye(d)
    mean, cov = np.zeros((len(apart), d)), np.zeros((len(apart), d, d))
    total, step, used = np.zeros(len(apart)), 0, 0
    shrink = run.domain.ridge if isinstance(run.domain, Ridge) else 0.0
    for phase in run.plan:
        eta, std = phase.step_size, phase.step_size * phase.noise.value
        for _ in range(phase.repeat):
            A = np.broadcast_to((1 - eta * run.objective.ridge) * eye, cov.shape)
            shift = np.zeros_like(mean)
            if not phase.cool_down:
                batch = used % period
                fill = last / size if batch == period - 1 else 1.0
                if hessians is not None:
                    A = A - eta * fill * hessians[:, step]
                if batch == position:
                    at = apart
                    if turning:  # travellers meet another direction at every place
                        size_of = np.linalg.norm(apart, axis=1, keepdims=True)
                        at = size_of * units(rng, *apart.shape) if hessians is not None else apart
                    shift = eta / size * at
                used += 1
            mean = np.einsum("kij,kj->ki", A, mean) + shift
            cov = A @ cov @ np.swapaxes(A, 1, 2) + std**2 * eye
            keep = 1 / (1 + eta * shrink)
            mean, cov = keep * mean, keep**2 * cov
            step += 1
            if _seen(run, step):
                solved = np.linalg.solve(cov, mean[:, :, None])[:, :, 0]
                total += np.einsum("ki,ki->k", mean, solved)
                mean, cov = np.zeros_like(mean), np.zeros_like(cov)
    return np.sqrt(total)


def _seen(run: NoisyDescent, step: int) -> bool:
    listed = isinstance(run.release, Iterates) and step in run.release.steps
    return listed or isinstance(run.release, EveryIterate) or step == run.total_steps
