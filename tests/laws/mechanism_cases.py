"""Concrete statistics, maps, diffusions and kernels, as points of a climb, with exact oracles.

Each function takes a source of numbers and yields the claims of one mechanism beside their exact
values: (name, exact, claimed).  Statistics are computed on concrete rows, chains by quadrature of
their densities, trees by the covariance of their positions, kernels by finite sums; none of it
comes from wane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np
from scipy import stats

from laws.catalogue import Drawn, measured
from laws.line import gauss, hockey_stick
from laws.loss_cases import LogCosh, Sum, Wave, parabola
from wane.guarantees import GaussianDP
from wane.mechanisms import (
    AmplifiedGuarantee,
    Branch,
    BranchedRelease,
    BrownianMechanism,
    DiffusionMechanism,
    IteratedLaplace,
    MarkovKernel,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
    constant_chain,
    coupled_renyi,
    gradient_contraction,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
    public_steps_needed,
)
from wane.theorems.kernel.amplification import bounded_gaussian

Claims = Iterator[tuple[str, float, float]]
CELLS = 801
QUADRATURE = 1e-4
"""What the integral of a positive part on the grid may be wrong by."""


def between(g, low: float, high: float) -> float:
    """A positive number, on a logarithmic scale."""
    return low * (high / low) ** g.random()


def law(g, count: int) -> np.ndarray:
    """Probabilities, some of them small."""
    weights = np.array([between(g, 1e-4, 1.0) for _ in range(count)])
    return weights / weights.sum()


def statistics(g) -> tuple[np.ndarray, np.ndarray, float]:
    """A statistic of two adjacent data sets, and its sensitivity from its definition."""
    n, d = 1 + g.integers(6), 1 + g.integers(3)
    bound = between(g, 0.1, 10.0)
    rows = np.array([[g.uniform(-2, 2) for _ in range(d)] for _ in range(n)]) * bound
    other = rows.copy()
    other[0] = [g.uniform(-2, 2) * bound for _ in range(d)]
    kind = g.integers(4)

    def cut(x):
        return x * np.minimum(1.0, bound / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]

    if kind == 0:  # the mean of rows cut to a ball
        return cut(rows).mean(axis=0), cut(other).mean(axis=0), 2 * bound / n
    if kind == 1:  # the sum of clamped entries
        low = np.clip(rows, -bound, bound).sum(axis=0)
        return low, np.clip(other, -bound, bound).sum(axis=0), 2 * bound * math.sqrt(d)
    if kind == 2:  # counts of signs
        one, two = ((x > 0).sum(axis=0).astype(float) for x in (rows, other))
        return one, two, math.sqrt(d)
    medians = (np.median(np.clip(x, -bound, bound), axis=0) for x in (rows, other))
    return *medians, 2 * bound * math.sqrt(d)


def spread(scale: float, pull: float, time: float) -> float:
    """The variance of a linear diffusion after a time, by its own formula."""
    return 2 * scale**2 * time if pull == 0 else scale**2 * (1 - math.exp(-2 * pull * time)) / pull


def diffusion(g, sensitivity: float, earliest: float, **more):
    """A linear diffusion and its two numbers."""
    scale = between(g, 0.1, 10.0) * sensitivity
    pull = between(g, 0.05, 5.0) if g.random() < 0.5 else 0.0
    kind = OrnsteinUhlenbeckMechanism if pull else BrownianMechanism
    own = {"reversion": pull} if pull else {}
    made = kind(sensitivity=sensitivity, time=earliest, diffusion_scale=scale, **own, **more)
    return made, scale, pull


def linear_diffusions(g) -> Claims:
    one, two, sensitivity = statistics(g)
    time = between(g, 0.05, 3.0)
    mechanism, scale, pull = diffusion(g, sensitivity, time)
    apart = float(np.linalg.norm(one - two))
    exact = apart * math.exp(-pull * time) / math.sqrt(spread(scale, pull, time))
    yield "guarantee", exact, mechanism.guarantee.mu
    laws = [mechanism.law(x) for x in (one, two)]
    yield "law", float(np.linalg.norm(laws[0].mean - laws[1].mean)) / laws[0].std, mechanism.mu
    later = time * between(g, 1.0, 10.0)
    fresh = apart * math.exp(-pull * later) / math.sqrt(spread(scale, pull, later))
    yield "mu_at", fresh, mechanism.mu_at(later)
    mu = between(g, 0.05, 5.0)
    when = mechanism.time_for(mu)
    exact = apart * math.exp(-pull * when) / math.sqrt(spread(scale, pull, when))
    yield "time_for", exact, mu * (1 + 1e-13)


def calibrated(g) -> Claims:
    one, two, sensitivity = statistics(g)
    bound = float(max(np.linalg.norm(one), np.linalg.norm(two), sensitivity)) * 1.01
    epsilon, delta = between(g, 0.1, 5.0), between(g, 1e-8, 0.1)
    target = PrivacyTarget(epsilon=epsilon, delta=delta)
    brownian = calibrated_brownian(target, sensitivity=sensitivity)
    pulled = calibrated_ornstein_uhlenbeck(
        target, sensitivity=sensitivity, norm_bound=bound, dimension=len(one)
    )
    apart = float(np.linalg.norm(one - two))
    for name, made, pull in (("brownian", brownian, 0.0), ("pulled", pulled, pulled.reversion)):
        std = math.sqrt(spread(made.diffusion_scale, pull, made.time))
        mu = apart * math.exp(-pull * made.time) / std
        exact = stats.norm.cdf(mu / 2 - epsilon / max(mu, 1e-300)) - math.exp(
            epsilon
        ) * stats.norm.cdf(-mu / 2 - epsilon / max(mu, 1e-300))
        yield name, float(exact), delta * (1 + 1e-9)


def joint_mu(shift: np.ndarray, covariance: np.ndarray) -> float:
    return math.sqrt(shift @ np.linalg.solve(covariance, shift))


def levels(g) -> Claims:
    one, two, sensitivity = statistics(g)
    times = np.cumsum([between(g, 0.1, 2.0) for _ in range(3)])
    mechanism, scale, pull = diffusion(g, sensitivity, float(times[0]))
    release = NestedRelease(mechanism, {str(i): float(t) for i, t in enumerate(times)})
    apart = float(np.linalg.norm(one - two))
    shift = apart * np.exp(-pull * times)
    cov = np.array(
        [
            [spread(scale, pull, min(s, t)) * math.exp(-pull * abs(s - t)) for s in times]
            for t in times
        ]
    )
    held = [i for i in range(3) if g.random() < 0.6] or [2]
    exact = joint_mu(shift[held], cov[np.ix_(held, held)])
    yield "coalition", exact * (1 - 1e-9), release.coalition([str(i) for i in held]).mu
    yield "worst case", joint_mu(shift, cov) * (1 - 1e-9), release.worst_case.mu
    yield "level", shift[1] / math.sqrt(cov[1, 1]), release.guarantee("1").mu


def trees(g) -> Claims:
    """Covariance of two positions: that of the point where their ways part, carried on."""
    one, two, sensitivity = statistics(g)
    branches: dict[str, Branch] = {}
    lines: dict[str, dict[str, float]] = {}
    for place in range(4):
        parent = None if place == 0 else g.choice([None, *branches])
        span = between(g, 0.2, 2.0)
        branches[str(place)] = Branch(parent, span)
        before = {} if parent is None else lines[parent]
        start = max(before.values(), default=0.0)
        lines[str(place)] = {**before, str(place): start + span}
    mechanism, scale, pull = diffusion(g, sensitivity, 0.1)
    release = BranchedRelease(mechanism, branches)
    ends = {name: way[name] for name, way in lines.items()}
    apart = float(np.linalg.norm(one - two))

    def covariance(a: str, b: str) -> float:
        shared = [lines[a][name] for name in lines[a] if name in lines[b]]
        parted = max(shared, default=0.0)
        away = ends[a] + ends[b] - 2 * parted
        return spread(scale, pull, parted) * math.exp(-pull * away)

    held = [name for name in branches if g.random() < 0.6] or ["3"]
    for name, members in (("coalition", held), ("worst case", list(branches))):
        shift = apart * np.array([math.exp(-pull * ends[m]) for m in members])
        cov = np.array([[covariance(a, b) for b in members] for a in members])
        made = release.coalition(members) if name == "coalition" else release.worst_case
        yield name, joint_mu(shift, cov) * (1 - 1e-9), made.mu
    yield (
        "position",
        apart * math.exp(-pull * ends["0"]) / math.sqrt(spread(scale, pull, ends["0"])),
        release.guarantee("0").mu,
    )


class Map:
    """A concrete map of the line, and the largest slope that it has anywhere."""

    def __init__(self, g) -> None:
        self.a, self.b = g.uniform(-1.5, 1.5), g.uniform(-0.7, 0.7)
        self.rate, self.shift = between(g, 0.3, 3.0), g.uniform(-1, 1)
        self.kind = g.integers(3)

    def __call__(self, x):
        if self.kind == 0:
            return self.a * x + self.b
        if self.kind == 1:
            return self.a * x + self.b / self.rate * np.sin(self.rate * x + self.shift)
        return self.a * np.tanh(self.rate * (x - self.shift)) / self.rate

    @property
    def lipschitz(self) -> float:
        return abs(self.a) + (abs(self.b) if self.kind == 1 else 0.0)


def normal(x, mean, std):
    """Normal densities."""
    return np.exp(-(((x - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi))


def pushed(starts, steps) -> tuple[np.ndarray, np.ndarray]:
    """Densities of two starts after noisy maps, on one grid with its weight, by quadrature."""
    densities, x = None, None
    for map_, std in steps:
        means = map_(np.asarray(starts)) if x is None else map_(x)
        reach = 9 * std
        new = np.linspace(means.min() - reach, means.max() + reach, CELLS)
        kernel = normal(new[None, :], means[:, None], std)
        densities = kernel if x is None else (densities * (x[1] - x[0])) @ kernel
        x = new
    return densities, x


def apart_after(starts, steps, epsilon: float) -> float:
    """The hockey-stick divergence of two starts; the trapezoid rule is exact but for its kinks."""
    densities, x = pushed(starts, steps)
    p, q = densities * (x[1] - x[0])
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) - QUADRATURE


def chains(g) -> Claims:
    """Nonlinear maps with noise, from two starts."""
    gap = between(g, 0.1, 3.0)
    start = g.uniform(-2, 2)
    steps = [(Map(g), between(g, 0.3, 2.0)) for _ in range(1 + g.integers(3))]
    epsilon = g.choice([0.0, 0.5, 1.5])
    ends = (start, start + gap)
    factors = [(m.lipschitz, s) for m, s in steps]
    exact = apart_after(ends, steps, epsilon)
    yield "noisy_chain", exact, noisy_chain(gap, factors).delta(epsilon)
    map_, std = steps[0]
    count = len(steps)
    equal = apart_after(ends, [(map_, std)] * count, epsilon)
    made = constant_chain(gap, steps=count, lipschitz=map_.lipschitz, noise_std=std)
    yield "constant_chain", equal, made.delta(epsilon)
    first = between(g, 0.3, 2.0)
    plain = [(lambda x: x, first)]
    two = apart_after(ends, [*plain, (map_, std)], epsilon)
    made = lipschitz_gaussian(gap, first, std, lipschitz=map_.lipschitz)
    yield "lipschitz_gaussian", two, made.delta(epsilon)
    two = apart_after(ends, [*plain, (lambda x: x, std)], epsilon)
    yield "iterated_gaussian", two, iterated_gaussian(gap, first, std).delta(epsilon)


def shared_loss(g):
    """A loss on an interval, curved up or down, with a wave and a soft kink."""
    return Sum(
        (
            parabola(g.uniform(-1.0, 2.0)),
            Wave(between(g, 1e-3, 0.5), between(g, 0.5, 3.0), g.uniform(0, 6)),
            LogCosh(between(g, 1e-3, 0.8), between(g, 0.2, 2.0), g.uniform(-1, 1)),
        )
    )


def constants(loss, reach: float) -> tuple[float, float]:
    drawn = Drawn("here", (loss,), reach, {})
    made = measured(drawn, ("smoothness", "strong_convexity"))
    return made["strong_convexity"], made["smoothness"]


def once_used(g) -> Claims:
    """A record's gradient in the first of several gradient steps; the rest is public."""
    loss = shared_loss(g)
    m, M = constants(loss, 50.0)
    eta, std = between(g, 0.05, 1.5) / max(M, 0.1), between(g, 0.3, 3.0)
    tilt = between(g, 0.05, 2.0)
    after = g.integers(4)
    start = g.uniform(-1, 1)

    def step(x):
        return x - eta * loss.slope(x)

    moved = [float(step(np.array([start]))[0]) + s * eta * tilt for s in (1, -1)]
    epsilon = g.choice([0.0, 0.5, 1.5])
    steps = [(lambda x: x, eta * std), *[(step, eta * std)] * after]
    slope = gradient_contraction(eta, strong_convexity=m, smoothness=M)
    given = {"gradient_gap": 2 * tilt, "noise_std": std, "contraction": slope}
    claim = per_index_sgd(after, **given).delta(epsilon)
    yield "per_index_sgd", apart_after(moved, steps, epsilon), claim
    probe = np.linspace(-30, 30, 4001)
    stretch = float(np.max(np.abs(np.diff(step(probe))) / np.diff(probe)))
    yield "gradient_contraction", stretch - 1e-9, slope
    goal = per_index_sgd(g.integers(5), **given).mu * (1 + 1e-9)
    needed = public_steps_needed(mu=goal, **given)
    steps = [(lambda x: x, eta * std), *[(step, eta * std)] * needed]
    exact = apart_after(moved, steps, epsilon)
    yield "public_steps_needed", exact, GaussianDP(goal).delta(epsilon) * (1 + 1e-9)


def reflected(g) -> Claims:
    """A reflected diffusion of the line whose drift is a concrete loss's slope."""
    loss, B = shared_loss(g), 1.0
    m, M = constants(loss, B)
    steps, noise = 1 + g.integers(6), between(g, 0.3, 2.0)
    time = between(g, 0.1, 2.0) / max(M, 0.3)
    std = math.sqrt(2 * time / steps) * noise
    if not 0.15 < std < 2.0:
        return
    sensitivity = g.uniform(0.1, 1.9)
    mechanism = DiffusionMechanism(
        drift=lambda x: -loss.slope(x),
        spread=lambda x: np.full(np.shape(x), noise),
        low=-B,
        high=B,
        sensitivity=sensitivity,
        time=time,
        drift_lipschitz=M * (1 + 1e-9),
        drift_contraction=m if g.random() < 0.7 else None,
        spread_lipschitz=0.0,
        steps=steps,
    )
    at, weights = gauss(160)
    eta = time / steps
    start = g.uniform(-1.0, 1.0 - sensitivity)
    ends = np.array([start, start + sensitivity])

    def folded(x):
        mean = x - eta * loss.slope(x)
        images = [at + 4 * k for k in range(-4, 5)] + [2 - at + 4 * k for k in range(-4, 5)]
        return sum(normal(i[None, :], mean[:, None], std) for i in images) * weights

    found = folded(ends)
    for _ in range(steps - 1):
        found = found @ folded(at)
    found = found / found.sum(axis=1, keepdims=True)
    for epsilon in (0.0, 0.5):
        exact = float(hockey_stick(found[:1], found[1:], epsilon)[0]) - 3e-3
        yield "guarantee", exact, mechanism.guarantee.delta(epsilon)


def laplace(g) -> Claims:
    a, b = between(g, 0.3, 3.0), between(g, 0.3, 3.0)
    if abs(a - b) < 0.05 * a:
        return
    sensitivity, order = between(g, 0.1, 3.0), between(g, 1.1, 20.0)
    x = np.linspace(-60, 60, 60_001)

    wide, narrow = max(a, b), min(a, b)

    def log_density(y):
        y = np.abs(y)
        share = narrow / wide * np.exp(-y * (1 / narrow - 1 / wide))
        return np.log1p(-share) - y / wide + math.log(wide / (2 * (wide**2 - narrow**2)))

    made = IteratedLaplace(sensitivity, a, b)
    shift = sensitivity * g.uniform(0.3, 1.0)  # statistics may differ by less
    for gap in (sensitivity, shift):
        p, q = log_density(x), log_density(x - gap)
        total = float(np.sum(np.exp(order * p + (1 - order) * q)) * (x[1] - x[0]))
        yield "renyi", math.log(total) / (order - 1) - 1e-5, made.continuous_renyi(order)
        yield "pure_epsilon", float(np.max(p - q)) * (1 - 1e-9), made.continuous_pure_epsilon


def kernels(g) -> Claims:
    inputs, outputs = 2 + g.integers(3), 2 + g.integers(3)
    matrix = np.array([law(g, outputs) for _ in range(inputs)])
    p, q = law(g, inputs), law(g, inputs)
    epsilon = g.choice([0.0, 0.3, 1.0])
    delta = float(hockey_stick(p[None], q[None], epsilon)[0])
    if delta < 1e-6:
        return
    kernel = MarkovKernel(matrix)
    made = kernel.amplify(epsilon=epsilon, delta=min(delta * (1 + 1e-12), 1.0))
    after = p @ matrix, q @ matrix
    for field in fields(made):
        claim = getattr(made, field.name)
        exact = float(hockey_stick(after[0][None], after[1][None], claim.epsilon)[0])
        yield f"amplify, {field.name}", exact - 1e-12, claim.delta
    at = g.choice([0.0, 0.2, 0.8])
    before = float(hockey_stick(p[None], q[None], at)[0])
    exact = float(hockey_stick(after[0][None], after[1][None], at)[0])
    (claim,) = kernel.amplified_profile([at], [min(1.0, before * (1 + 1e-12))])
    yield "amplified_profile", exact - 1e-12, claim
    order = between(g, 1.1, 10.0)
    between_laws = law(g, inputs)
    coupling = np.outer(between_laws, p)
    mixed = g.random()
    diagonal = np.minimum(between_laws, p)
    rest = (between_laws - diagonal, p - diagonal)
    if rest[0].sum() > 1e-9:  # as much as can be stays where it is
        moved = np.outer(*rest) / rest[0].sum()
        coupling = mixed * coupling + (1 - mixed) * (np.diag(diagonal) + moved)
    coupling /= coupling.sum()
    first = coupling.sum(axis=0)
    claim = coupled_renyi(order, first=first, second=q, coupling=coupling, kernel=matrix)
    yield "coupled_renyi", renyi(order, first @ matrix, q @ matrix), claim * (1 + 1e-9) + 1e-9


def renyi(order: float, p: np.ndarray, q: np.ndarray) -> float:
    return math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1)


def amplified(g) -> Claims:
    """A Gaussian release that is sorted into bins, and goes through a kernel."""
    mu, bins = between(g, 0.1, 3.0), 2 + g.integers(4)
    cuts = np.sort([g.uniform(-1.5, 1.5 + mu) for _ in range(bins - 1)])
    p, q = (np.diff(stats.norm.cdf([-np.inf, *cuts, np.inf], m)) for m in (mu, 0.0))
    outputs = 2 + g.integers(2)
    matrix = np.array([law(g, outputs) for _ in range(bins)])
    made = AmplifiedGuarantee(GaussianDP(mu), MarkovKernel(matrix))
    after = p @ matrix, q @ matrix
    epsilon, order = g.choice([0.0, 0.3, 1.0]), between(g, 1.1, 8.0)
    exact = float(hockey_stick(after[0][None], after[1][None], epsilon)[0])
    yield "delta", exact - 1e-12, made.delta(epsilon)
    yield "renyi", renyi(order, *after) - 1e-12, made.renyi(order)
    delta = between(g, 1e-4, 0.2)
    least = made.epsilon(delta)
    met = float(hockey_stick(after[0][None], after[1][None], least)[0])
    yield "epsilon", met - 1e-12, delta
    twice = made.repeat(2)
    pair = [np.outer(x, x).ravel() for x in after]
    yield "repeat", renyi(order, *pair) - 1e-12, twice.renyi(order)
    # bins are a release of their own: noise on a bounded number
    places = np.array([g.uniform(0.0, 1.0) for _ in range(bins)])
    std = between(g, 0.3, 3.0)
    x = np.linspace(-9 * std, 1 + 9 * std, CELLS)
    noisy = normal(x[None, :], places[:, None], std) * (x[1] - x[0])
    before = GaussianDP(mu).delta(epsilon)
    claim = bounded_gaussian(epsilon, epsilon=epsilon, delta=before, diameter=1.0, noise_std=std)
    exact = float(np.maximum(p @ noisy - math.exp(epsilon) * (q @ noisy), 0).sum())
    yield "bounded_gaussian", exact - QUADRATURE, claim


MECHANISMS: dict[str, Callable[[object], Claims]] = {
    f.__name__: f
    for f in (
        linear_diffusions,
        calibrated,
        levels,
        trees,
        chains,
        once_used,
        reflected,
        laplace,
        kernels,
        amplified,
    )
}
