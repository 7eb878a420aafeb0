"""Posteriors of concrete losses, and the exact laws of the chains that sample them.

Overdamped chains live on the line's grid, where their target is known by quadrature; underdamped
chains of lines and of parabolas around different centres are exactly Gaussian.  Constants are those
of the definitions: whole gradients of the remainder, its curvature, its range and its height.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laws.line import Line, Prox, Steps, TooFine, gauss
from laws.loss_cases import LogCosh, Logistic, Sum, Wave, huber, line
from wane.describe import Adjacency, Objective
from wane.describe.posterior import Losses, Posterior
from wane.describe.samples import OverdampedRun, UnderdampedRun
from wane.errors import InvalidDescription

UP = 1 + 1e-12
TAIL = 9.0
"""How many deviations of the target the window reaches beyond its centre."""


@dataclass(frozen=True)
class Remainders:
    """Scalar remainders, one for each kind of record, and what is exactly true of them."""

    name: str
    losses: tuple
    gradient: float
    smooth: float
    convex: float
    third: float | None = None
    height: float | None = None
    spread: float | None = None


def remainders(rng) -> Remainders:
    h, w = (float(10 ** rng.uniform(-0.5, 0.5)) for _ in range(2))
    z = float(rng.uniform(0.0, 1.5)) * w
    match int(rng.integers(8)):
        case 0:
            return Remainders("L1", (line(h), line(-h)), h, 0.0, 0.0, 0.0)
        case 1:
            a = h * float(rng.uniform(2, 12))
            return Remainders("L2", (line(a + h), line(a - h)), a + h, 0.0, 0.0, 0.0)
        case 2:
            both = (LogCosh(h, w, z), LogCosh(h, w, -z))
            third = h / w**2 * 4 / (3 * math.sqrt(3))
            height = float(both[0].value(np.zeros(1))[0])
            return Remainders("L6", both, h, h / w, 0.0, third, height)
        case 3:
            both = (huber(h, w, z), huber(h, w, -z))
            height = h / (2 * w) * z * z if z <= w else h * (z - w / 2)
            return Remainders("L6", both, h, h / w, 0.0, None, height)
        case 4:
            both = (Logistic(h, w), Sum((Logistic(h, w), line(-h))))
            third = h / w**2 / (6 * math.sqrt(3))
            return Remainders("L6", both, h, h / w / 4, 0.0, third, h * w * math.log(2))
    rate = 1 / w
    phases = (0.0, math.pi, float(rng.uniform(0, 6)))
    return Remainders(
        "L10",
        tuple(Wave(h, rate, p) for p in phases),
        h * rate,
        h * rate**2,
        -h * rate**2,
        h * rate**3,
        2 * h,
        2 * h,
    )


def _posterior(rng, of: Remainders, shared: float) -> Posterior | None:
    n, T = int(rng.integers(1, 5)), float(10 ** rng.uniform(-0.5, 1.0))
    down = max(0.0, -of.convex)
    stiff = float(10 ** rng.uniform(-0.7, 0.7)) * max(of.gradient, 1e-3) + 2.5 * down
    objective = Objective(
        gradient_bound=of.gradient * UP,
        smoothness=of.smooth * UP,
        strong_convexity=-down * UP,
    )
    losses = Losses(
        objective=objective,
        dimension=1,
        shared_curvature=shared,
        laplacian_lipschitz=None if of.third is None or rng.random() < 0.2 else of.third * UP,
        height_at_start=None if of.height is None or rng.random() < 0.3 else of.height * UP,
        range_of_loss=None if of.spread is None else of.spread * UP,
    )
    try:
        return Posterior(
            losses=losses,
            records=n,
            prior_precision=stiff * n / T,
            temperature=T,
            adjacency=list(Adjacency)[int(rng.integers(3))],
        )
    except InvalidDescription:
        return None


def _data(rng, posterior: Posterior, kinds: int) -> tuple[tuple, tuple]:
    n = posterior.records
    others = tuple(int(k) for k in rng.integers(kinds, size=n - 1))
    if rng.random() < 0.5:
        others = (int(rng.integers(kinds)),) * (n - 1)
    one, two = (int(k) for k in rng.permutation(kinds)[:2])
    match posterior.adjacency:
        case Adjacency.REPLACE_ONE:
            return (*others, one), (*others, two)
        case Adjacency.ZERO_OUT:
            return (*others, one), (*others, None)
    if rng.random() < 0.5:
        others = (*others, int(rng.integers(kinds)))
    return (*others, one), others


@dataclass(frozen=True)
class SampledCase:
    """A posterior and a chain on the line, with the exact laws of chain and target."""

    family: str
    sampled: OverdampedRun
    line: Line
    data: tuple[tuple, tuple]
    count: int = 1

    @property
    def run(self):
        return self.sampled.descent

    @cached_property
    def laws(self) -> tuple[np.ndarray, np.ndarray]:
        start = [len(self.line.states) - 2]  # the mark at the origin
        return tuple(self.line.law(data, start) for data in self.data)

    @cached_property
    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses of the targets on the same cells."""
        return tuple(self._target(data)[None, :] for data in self.data)

    def _target(self, data: tuple) -> np.ndarray:
        W = self.line.prox.high
        ends = np.concatenate([[-W * 1.3], self.line.edges, [W * 1.3]])
        at, weights = gauss(8)
        half = np.diff(ends) / 2
        x = (ends[:-1] + ends[1:])[:, None] / 2 + half[:, None] * at
        n, ridge = self.line.records, self.line.ridge
        F = sum(self.line.losses[k].value(x) for k in data if k is not None) / n
        F = F + ridge * x * x / 2
        logs = -(F - np.min(F)) / self.sampled.posterior.descent_temperature
        mass = half * (np.exp(logs) @ weights)
        return mass / mass.sum()


def sampled_cases(rng: np.random.Generator) -> Iterator[SampledCase]:
    """Draw for ever; chains that the oracle cannot resolve are drawn anew."""
    while True:
        made = draw_sampled(rng)
        if made is not None:
            yield made


def draw_sampled(rng) -> SampledCase | None:
    of = remainders(rng)
    posterior = _posterior(rng, of, 0.0)
    if posterior is None:
        return None
    target, tau = posterior.target, posterior.descent_temperature
    eta = float(10 ** rng.uniform(-1.7, 0.1)) / target.smoothness
    steps = max(1, round(float(rng.uniform(0.3, 9)) / (eta * target.strong_convexity)))
    if steps > 2000:
        return None
    try:
        sampled = OverdampedRun(posterior=posterior, step_size=eta, steps=steps)
    except InvalidDescription:
        return None
    std = math.sqrt(2 * eta * tau)
    # the chain's laws are no wider than this, and centred within reach of the gradients
    width = std / math.sqrt(1 - (1 - eta * target.strong_convexity) ** 2)
    fill = (posterior.records + 1) / posterior.records
    W = of.gradient * fill / target.strong_convexity + TAIL * max(
        width, math.sqrt(tau / target.strong_convexity)
    )
    made = Line(
        losses=of.losses,
        clip=None,
        ridge=posterior.ridge,
        prox=Prox(-W, W, artificial=True, marks=(0.0,)),
        plan=(Steps(steps, eta, std),),
        kind="full",
        records=posterior.records,
        size=posterior.records,
        seen=frozenset({steps}),
    )
    case = SampledCase(of.name, sampled, made, _data(rng, posterior, len(of.losses)))
    try:
        _ = case.laws
    except TooFine:
        return None
    return case


@dataclass(frozen=True)
class KineticCase:
    """Underdamped chains of lines or parabolas: exactly Gaussian, in position and velocity."""

    family: str
    sampled: UnderdampedRun
    data: tuple[tuple, tuple]
    slopes: tuple[float, ...]

    def _matrices(self):
        """One step: how state and slope move the next state, and the covariance of its noise."""
        run, posterior = self.sampled, self.sampled.posterior
        g, u, h = run.friction, run.inverse_mass, run.step_size
        heat = u * posterior.descent_temperature
        e = math.exp(-g * h)
        a = (1 - e) / g
        push = np.array([-(u / g) * (h - a), -u * a])
        A = np.array([[1.0, a], [0.0, e]]) + posterior.ridge * np.outer(push, [1.0, 0.0])
        xx = 2 * heat / g * (h - 2 * a + (1 - e * e) / (2 * g))
        xv = heat / g * (1 - e) ** 2
        return A, push, np.array([[xx, xv], [xv, heat * (1 - e * e)]])

    @cached_property
    def laws(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Mean and variance of the last position, for both data sets."""
        A, push, noise = self._matrices()
        n, heat = self.sampled.posterior.records, self.sampled.inverse_mass
        cov = np.diag([0.0, heat * self.sampled.posterior.descent_temperature])
        means = [np.zeros(2), np.zeros(2)]
        slope = [sum(self.slopes[k] for k in d if k is not None) / n for d in self.data]
        for _ in range(self.sampled.steps):
            means = [A @ m + s * push for m, s in zip(means, slope, strict=True)]
            cov = A @ cov @ A.T + noise
        return tuple((float(m[0]), float(cov[0, 0])) for m in means)

    @property
    def mu(self) -> float:
        """Exact: two normal laws with one variance."""
        (one, variance), (two, _) = self.laws
        return abs(one - two) / math.sqrt(variance)

    @cached_property
    def targets(self) -> tuple[tuple[float, float], tuple[float, float]]:
        posterior = self.sampled.posterior
        variance = posterior.descent_temperature / posterior.ridge
        n = posterior.records
        return tuple(
            (-sum(self.slopes[k] for k in d if k is not None) / n / posterior.ridge, variance)
            for d in self.data
        )


def kinetic_cases(rng: np.random.Generator) -> Iterator[KineticCase]:
    """Draw for ever; unstable chains are drawn anew."""
    while True:
        made = draw_kinetic(rng)
        if made is not None:
            yield made


def draw_kinetic(rng) -> KineticCase | None:
    h = float(10 ** rng.uniform(-0.5, 0.5))
    a = h * float(rng.choice([0.0, rng.uniform(2, 10)]))
    shared = float(rng.choice([0.0, 10 ** rng.uniform(-1, 0.5)]))
    of = Remainders("L5, L2", (line(a + h), line(a - h)), a + h, 0.0, 0.0, 0.0)
    posterior = _posterior(rng, of, shared)
    if posterior is None:
        return None
    L = posterior.target.smoothness
    u = float(10 ** rng.uniform(-1, 1))
    friction = math.sqrt(2 * u * L) * float(rng.choice([1 + 1e-9, 1.5, 3.0, 0.5]))
    step = float(10 ** rng.uniform(-3.0, 0.0)) / friction
    try:
        sampled = UnderdampedRun(
            posterior=posterior,
            step_size=step,
            steps=int(10 ** rng.uniform(0, 3)),
            friction=friction,
            inverse_mass=u,
        )
    except InvalidDescription:
        return None
    return KineticCase(of.name, sampled, _data(rng, posterior, 2), (a + h, a - h))


def gaussian_divergence(one, two, order: float) -> float:
    """Renyi's divergence of two normal laws on the line, infinite where it is."""
    (a, v), (b, w) = one, two
    mixed = order * w + (1 - order) * v
    if mixed <= 0:
        return math.inf
    spread = math.log(v ** (1 - order) * w**order / mixed) / (2 * (1 - order))
    return order * (a - b) ** 2 / (2 * mixed) - spread if order != 1 else math.nan
