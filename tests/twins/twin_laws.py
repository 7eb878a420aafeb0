"""Exact values that claims must not go below, one law for each theorem and kind of mechanism.

Every law here is near enough to what is claimed that half of the claim would break it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import signal, stats

from twins.cases import counted, mechanisms, noisy_pair, theorems
from twins.exact import Exact, Gaussians, Masses, Repeated, exact_epsilon
from twins.members import inside, laws_of, stated
from twins.removal import MARGIN, TINY, Case, claim_of, is_asked
from twins.samplers import (
    Bowl,
    divergence,
    exact_divergences,
    overdamped,
    posterior,
    posteriors,
    sample_laws,
)
from wane.describe import FullBatch, NoisyDescent, Objective, Temperature
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
from wane.describe.domains import Box
from wane.describe.samples import UnderdampedRun
from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    Guarantee,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
)
from wane.mechanisms import IteratedLaplace
from wane.mixing import mixing

DELTA = 1e-3


def above(what: str, claimed: float, true: float, margin: float = MARGIN) -> None:
    """The claim is not below the truth, but for the oracle's own error."""
    assert claimed >= true * (1.0 - margin) - TINY * (margin > 1e-6), (what, claimed, true)


def meets(guarantee: Guarantee, law: Exact, margin: float = MARGIN) -> None:
    """Every answer of a guarantee is above the exact pair's, and its answers agree."""
    for epsilon in (0.0, 1.0):
        above(f"delta({epsilon:g})", guarantee.delta(epsilon), law.delta(epsilon), margin)
    for order in (1.5, 4.0):
        above(f"Renyi, order {order:g}", guarantee.renyi(order), law.renyi(order), margin)
    epsilon = guarantee.epsilon(DELTA)
    if not isinstance(law, Repeated):
        above("epsilon", epsilon, exact_epsilon(law, DELTA), margin)
    if math.isfinite(epsilon):
        assert guarantee.delta(epsilon) <= DELTA * (1.0 + 1e-6), "delta and epsilon disagree"


def _cases(theorem: Any) -> list[Case]:
    runs = [Case(run, partial(laws_of, run)) for run in inside()]
    facts = [Case(run, partial(laws_of, run), known) for run, known in stated()]
    slow = UnderdampedRun(posterior=posterior(), step_size=0.001, steps=3000, friction=4.0)
    samples = [Case(run, partial(sample_laws, run)) for run in (slow, *posteriors())]
    asked = [Case(q, partial(exact_divergences, q)) for q in FAR]
    made = (*runs, *facts, *samples, *asked, *SHORT, counted(), *mechanisms())
    return [case for case in made if is_asked(theorem, case.subject)]


def theorem_law(name: str) -> None:
    """The theorem over all members of the cases to which it applies; some must be near."""
    theorem = next(t for t in theorems() if t.name == name)
    met = 0
    for case in _cases(theorem):
        claim = claim_of(case.asked(theorem))
        for law in case.laws() if claim is not None else ():
            met += 1
            if isinstance(law, float):
                assert claim >= law * (1.0 - 1e-6), (name, claim, law)
            else:
                meets(claim, law)
    assert met > 0 or name == "range_transfer", name


QUIET = Target(1.0, 1.0, 1, laplacian_lipschitz=0.0)
FAR: tuple[Question, ...] = (
    Question(Overdamped(QUIET, 0.01, 600, PointStart(1000.0)), 2.0, Direction.REFERENCE_FIRST),
    Question(Overdamped(QUIET, 0.001, 3000, PointStart(1000.0)), 1.5, Direction.REFERENCE_FIRST),
    Question(
        Overdamped(QUIET, 0.001, 1, PointStart(10.0)),
        1.5,
        Direction.CHAIN_FIRST,
        Reference.DIFFUSION,
    ),
    Question(Diffusion(QUIET, 3.0, PointStart(1000.0)), 1.5, Direction.REFERENCE_FIRST),
    Question(
        Underdamped(QUIET, 0.001, 3000, 2.0, 1.0, PointStart(1000.0)),
        1.5,
        Direction.CHAIN_FIRST,
        Reference.DIFFUSION,
    ),
    Question(
        Underdamped(QUIET, 0.01, 400, 4.0, 1.0, PointStart(1e3)), 1.0, Direction.REFERENCE_FIRST
    ),
)
"""Far starts, where the bounds on distances are sharp."""
_STEEP = Question(
    Overdamped(Target(-1.0, 1.0, 1, gradient_bound=10.5), 0.001, 1),
    1.5,
    Direction.CHAIN_FIRST,
    Reference.DIFFUSION,
)
SHORT = (Case(_STEEP, lambda: (divergence(_STEEP, Bowl(1.0, 10.0)),)),)
"""A quadratic where its gradient is ten, and linear beyond: one step does not see where."""


def range_law() -> None:
    """Exact draws of densities a bounded factor apart are randomised response at worst."""
    run = overdamped(range_of_loss=0.5)
    theorem = next(t for t in theorems() if t.name == "range_transfer")
    claim = claim_of(theorem(run))
    assert isinstance(claim, Guarantee)
    level = 2.0 * 0.5 / run.posterior.records / run.posterior.descent_temperature
    truth = 1.0 / (1.0 + math.exp(-level))
    response = Masses(np.array([truth, 1.0 - truth]), np.array([1.0 - truth, truth]))
    for order in (1.5, 4.0):
        above("range_transfer", claim.renyi(order), response.renyi(order))


def _mixed(mus: tuple[float, ...], weights: tuple[float, ...]) -> Masses:
    """Normal laws these far apart, of which one is picked in the open."""
    grid = np.linspace(-12.0, 16.0, 4001)
    pairs = [(np.diff(stats.norm.cdf(grid, mu)), np.diff(stats.norm.cdf(grid))) for mu in mus]
    return Masses(
        *(
            np.concatenate([w * pair[i] for w, pair in zip(weights, pairs, strict=True)])
            for i in (0, 1)
        )
    )


def gaussian_law() -> None:
    """Normal laws: once, for groups, repeated, and composed."""
    meets(GaussianDP(1.0), Gaussians(1.0), 1e-9)
    meets(GaussianDP(1.0).group(3), Gaussians(3.0), 1e-9)
    meets(GaussianDP(1.0).repeat(4), Gaussians(2.0), 1e-9)
    meets(GaussianDP(0.6).compose(GaussianDP(0.8)), Gaussians(1.0), 1e-9)
    assert GaussianDP.from_target(epsilon=1.0, delta=DELTA).mu > 0.99 * _mu_for(1.0, DELTA)


def _mu_for(epsilon: float, delta: float) -> float:
    low, high = 1e-6, 10.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if Gaussians(middle).delta(epsilon) <= delta else (low, middle)
    return low


def mixture_law() -> None:
    """A mixture picked in the open: once, composed, repeated, for groups."""
    claim, pair = GaussianMixture((0.5, 2.0), (0.7, 0.3)), _mixed((0.5, 2.0), (0.7, 0.3))
    meets(claim, pair, 1e-3)
    both = _mixed((math.sqrt(0.5), math.sqrt(4.25), math.sqrt(8.0)), (0.49, 0.42, 0.09))
    meets(claim.repeat(2), both, 1e-3)
    meets(claim.compose(claim), both, 1e-3)
    with_one = _mixed((math.sqrt(1.25), math.sqrt(5.0)), (0.7, 0.3))
    meets(claim.compose(GaussianDP(1.0)), with_one, 1e-3)
    meets(GaussianMixture((1.0, 1.0), (0.5, 0.5)).group(2), Gaussians(2.0), 1e-3)


def _sampled(mu: float, rate: float) -> Masses:
    grid = np.linspace(-12.0, 12.0 + mu, 6001)
    base = np.diff(stats.norm.cdf(grid))
    return Masses((1.0 - rate) * base + rate * np.diff(stats.norm.cdf(grid, mu)), base)


def _twice(pair: Masses) -> Masses:
    """Two independent looks, on coarser cells."""
    p, q = (m.reshape(-1, 12).sum(axis=1) for m in (pair.first, pair.second))
    return Masses(np.outer(p, p).ravel(), np.outer(q, q).ravel())


def sampled_law() -> None:
    """Sampled Gaussian steps: one, two, and next to a Gaussian one."""
    step, pair = SampledGaussianStep(1.5, 0.4, Pair.ADD_OR_REMOVE), _sampled(1.5, 0.4)
    one = NumericalDP(((step, 1),))
    meets(one, pair, 1e-3)
    meets(one.repeat(2), _twice(pair), 5e-3)
    meets(one.compose(one), _twice(pair), 5e-3)
    meets(one.compose(GaussianDP(0.01)), pair, 1e-3)
    meets(one.group(2), pair)
    whole = NumericalDP(((SampledGaussianStep(1.0, 1.0, Pair.ADD_OR_REMOVE), 1),))
    meets(whole.group(2), Gaussians(2.0))


def renyi_law() -> None:
    """Zero-concentrated guarantees against normal laws, which attain them in every order."""
    for claim, mu in (
        (RenyiDP.zcdp(0.5), 1.0),
        (RenyiDP.zcdp(0.5).repeat(4), 2.0),
        (RenyiDP.zcdp(0.5).compose(GaussianDP(1.0)), math.sqrt(2.0)),
        (RenyiDP.zcdp(0.5).group(2), 2.0),
    ):
        meets(claim, Gaussians(mu), 1e-9)
    order_one = RenyiDP.zcdp(0.5)
    assert order_one.epsilon(order_one.delta(3.0)) <= 3.0 * (1.0 + 1e-6)


def failure_law() -> None:
    """Normal laws, and with some probability no secret at all."""
    claim = WithFailure(GaussianDP(1.0), 0.3)
    for epsilon in (0.0, 1.0):
        above("delta", claim.delta(epsilon), 0.7 * Gaussians(1.0).delta(epsilon) + 0.3, 1e-9)
    assert math.isinf(claim.renyi(2.0))
    assert claim.delta(claim.epsilon(0.35)) <= 0.35 * (1.0 + 1e-6)


def mixing_law() -> None:
    """A nearly free walk on an interval: two copies from its ends, step by step."""
    eta, reach = 0.05, 1.0
    run = NoisyDescent(
        objective=Objective(gradient_bound=0.1, smoothness=0.1, strong_convexity=0.0),
        records=1,
        steps=1,
        step_size=eta,
        noise=Temperature(1.0),
        batches=FullBatch(),
        domain=Box(-reach, reach, dimension=1),
    )
    found = mixing(run, 0.2)
    centres, kernel = _walk(reach, math.sqrt(2.0 * eta))
    laws = np.zeros((2, len(centres)))
    laws[0, 0] = laws[1, -1] = 1.0
    needed = 0
    while 0.5 * np.abs(laws[0] - laws[1]).sum() > 2.0 * 0.2:  # then both are far from stationary
        laws, needed = laws @ kernel, needed + 1
    assert found.steps >= needed, (found.steps, needed)
    block = np.linalg.matrix_power(kernel, found.block)
    above("block", found.block_tv, 0.5 * float(np.abs(block[0] - block[-1]).sum()))
    assert found.tv <= 0.2 and found.block_tv ** (found.steps // found.block) <= found.tv * 1.001
    assert found.steps % found.block == 0


def _walk(reach: float, std: float) -> tuple[np.ndarray, np.ndarray]:
    edges = np.linspace(-reach, reach, 202)
    centres = (edges[1:] + edges[:-1]) / 2.0
    centres[[0, -1]] = -reach, reach
    ends = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    return centres, np.diff(stats.norm.cdf((ends[None, :] - centres[:, None]) / std), axis=1)


def laplace_law() -> None:
    """Laplace noise twice: what is released by partial fractions, the density by a convolution."""
    (pair,) = noisy_pair()
    released = IteratedLaplace(1.0, 1.0, 0.5)
    above("delta", released.delta(0.5), pair.delta(0.5))
    above("Renyi", released.renyi(4.0), pair.renyi(4.0))
    level = float(np.max(np.log(pair.first[:4096]) - np.log(pair.second[:4096])))
    above("pure", released.pure_epsilon, level, 1e-2)
    made, step = IteratedLaplace(1.0, 1.0, 0.5), 0.005
    nodes = np.arange(-40.0, 40.0 + step / 2, step)
    one, two = (stats.laplace.pdf(nodes, scale=scale) for scale in (1.0, 0.5))
    density = signal.fftconvolve(one, two, mode="same") * step
    moved = round(1.0 / step)
    inner = slice(2000, -2000)
    p, q = density[moved:][inner] * step, density[:-moved][inner] * step
    for order in (2.0, 4.0):
        above("Laplace", made.continuous_renyi(order), Masses(p, q).renyi(order), 5e-3)
    far = int(np.searchsorted(nodes, 6.0))
    above("pure", made.continuous_pure_epsilon, math.log(density[far] / density[far + moved]), 1e-2)


LAWS: dict[str, Callable[[], None]] = {
    **{f"theorem {t.name}": partial(theorem_law, t.name) for t in theorems()},
    "range": range_law,
    "gaussian": gaussian_law,
    "mixture": mixture_law,
    "sampled": sampled_law,
    "renyi": renyi_law,
    "failure": failure_law,
    "mixing": mixing_law,
    "laplace": laplace_law,
}
