"""All that theorems are asked about: descents, samples, distances; and every theorem there is."""

from __future__ import annotations

import importlib
import math
import pkgutil
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from scipy import linalg, stats

import wane
from twins.exact import Gaussians, Masses
from twins.members import edges, inside, laws_of, stated
from twins.removal import Case
from twins.samplers import exact_divergences, posteriors, questions, sample_laws
from twins.turned import turned, turned_laws
from wane.describe import Adjacency, StatedRelease
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.errors import MissingExtra
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    IteratedLaplace,
    KernelRelease,
    LinearDiffusion,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
)
from wane.modulus import NoisyDescentAscent
from wane.theorems.theorem import Hypothesis, Theorem


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module of the package."""
    found = []
    for info in pkgutil.walk_packages(wane.__path__, "wane."):
        if not info.name.endswith("__main__"):
            with suppress(MissingExtra):  # a bridge to a library that is not here
                found.append(importlib.import_module(info.name))
    return tuple(found)


@cache
def theorems() -> tuple[Any, ...]:
    """Every theorem of the package, wherever it lives: of privacy, and of distances."""
    found: dict[int, Any] = {}
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, Theorem):
                found[id(value)] = value
            elif isinstance(value, tuple):
                found |= {id(v): v for v in value if isinstance(v, Theorem)}
    return tuple(sorted(found.values(), key=lambda t: t.name))


@cache
def conditions() -> tuple[Any, ...]:
    """Every hypothesis that some module defines, whether or not a theorem uses it."""
    found = {
        id(value): value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, Hypothesis)
    }
    return tuple(found.values())


@cache
def cases() -> tuple[Case, ...]:
    """In and around every theorem's hypotheses."""
    descents = [Case(run, partial(laws_of, run)) for run in (*edges(), *inside())]
    facts = [Case(run, partial(laws_of, run), known) for run, known in stated()]
    facts.append(Case(turned()[0], turned_laws, turned()[1]))
    samples = [Case(run, partial(sample_laws, run)) for run in posteriors()]
    distances = [Case(asked, partial(exact_divergences, asked)) for asked in questions()]
    return (*descents, *facts, *samples, *distances, counted(), *mechanisms())


def mechanisms() -> list[Case]:
    """Diffusions, a kernel and a game, with the joint laws of what they release."""
    process = OrnsteinUhlenbeckMechanism(
        sensitivity=1.5, time=0.5, reversion=0.8, diffusion_scale=1.2, adjacency="zero-out"
    )
    plain = BrownianMechanism(sensitivity=2.0, time=3.0, adjacency="replace-one")
    path = NestedRelease(process, {"team": 0.5, "public": 1.7})
    branches = {"stem": Branch(None, 0.5), "left": Branch("stem", 0.4), "right": Branch("stem", 1)}
    tree = BranchedRelease(process, branches)
    slanted = LinearDiffusion(
        reversion=((0.7, 0.2), (-0.1, 0.4)),
        covariance=((1.0, 0.3), (0.3, 0.5)),
        sensitivity=((1.0, 0.2), (0.2, 0.5)),
        basis=((1.0, 0.5), (0.0, 1.0)),
        time=0.5,
        adjacency="zero-out",
    )
    forked = BranchedRelease(slanted, branches).seen_by(["left", "right"])
    stated = StatedRelease(
        name="a vote", source="a page", adjacency=Adjacency.ZERO_OUT, epsilon=1.0, delta=0.0
    )
    game = NoisyDescentAscent(
        gradient_difference_bound=2.0,
        smoothness=1.0,
        strong_monotonicity=1.0,
        records=2,
        steps=5,
        step_size=0.4,
        noise_std=1.5,
    )
    noises = IteratedLaplace(1.0, 1.0, 0.5, adjacency="zero-out")
    kernel = KernelRelease(stated, [[0.7, 0.3], [0.1, 0.9]], power=2)
    return [
        Case(process, lambda: [_joint(process, [[0.5]])]),
        Case(plain, lambda: [Gaussians(2.0 / math.sqrt(6.0))]),
        Case(path, lambda: [_joint(process, [[0.5], [0.5, 1.2]])]),
        Case(tree, lambda: [_joint(process, [[0.5], [0.5, 0.4], [0.5, 1.0]])]),
        Case(tree.seen_by(["left", "right"]), lambda: [_joint(process, [[0.5, 0.4], [0.5, 1.0]])]),
        Case(slanted, lambda: [_slanted(slanted, [[0.5]])]),
        Case(forked, lambda: [_slanted(slanted, [[0.5, 0.4], [0.5, 1.0]])]),
        Case(kernel, _voted),
        Case(noises, noisy_pair),
        Case(game, lambda: [_played(game)]),
        Case(replace(game, adjacency="zero-out"), lambda: [Gaussians(math.inf)]),
        *_declared(),
    ]


def _declared() -> list[Case]:
    """Chains of drifts of one's own: a turn of the plane, and free motion between mirrors."""
    known = {"time": 1.0, "drift_at_centre": 0.0, "adjacency": "zero-out"}
    plane = {"sensitivity": 0.5, "steps": 6, "dimension": 2, "drift_contraction": 0.5} | known
    line = {"sensitivity": 1.0, "low": 0.0, "high": 1.0, "steps": 2} | known | {"time": 0.1}
    free = line | {"drift_lipschitz": 0.0, "drift_values": (0.0,) * 201}
    varying = {"spread": np.exp, "spread_lipschitz": 3.0}
    made = [
        DeclaredDiffusion(drift_lipschitz=1.3, **plane),
        DeclaredDiffusion(**plane | {"drift_contraction": None}),
        DeclaredDiffusion(**free),
        DeclaredDiffusion(**free | {"drift_values": (0.0,) * 3}),
        DeclaredDiffusion(**free | {"drift_lipschitz": None}),
        DeclaredDiffusion(**free | varying),
    ]
    return [Case(one, _turned if one.size == 2 else _mirrored) for one in made]


def _turned() -> list[Gaussians]:
    """A linear drift that turns while it contracts: six steps, each a turn and a factor."""
    side = math.sqrt(1.3**2 - 0.5**2)
    once = np.eye(2) + np.array([[-0.5, -side], [side, -0.5]]) / 6.0
    shift, noise = np.eye(2), np.zeros((2, 2))
    for _ in range(6):
        shift, noise = once @ shift, once @ noise @ once.T + np.eye(2) / 3.0
    return [Gaussians(0.5 * math.sqrt(float((shift.T @ np.linalg.solve(noise, shift))[0, 0])))]


def _mirrored() -> list[Masses]:
    """Reflected Brownian motion on [0, 1] from both ends, by images, in narrow cells."""
    places = (np.arange(4000) + 0.5) / 4000.0
    shown = 2.0 * np.arange(-8, 9)[:, None]
    one = 2.0 * stats.norm.pdf(places - shown, scale=math.sqrt(0.2)).sum(axis=0) / 4000.0
    return [Masses(one, one[::-1]), Masses(one[::-1], one)]


def _joint(process: Any, lines: list[list[float]]) -> Gaussians:
    """The exact mu of positions whose lines of descent begin alike, from their covariance.

    A line lists the durations from the statistic on; the first of them are the same point.
    """
    theta, rho = process.reversion, process.diffusion_scale
    times = [math.fsum(line) for line in lines]
    shift = np.array([process.sensitivity * math.exp(-theta * t) for t in times])
    cov = np.empty((len(lines), len(lines)))
    for i, one in enumerate(lines):
        for j, other in enumerate(lines):
            shared = one if i == j else one[:1]  # they part after the first point at the latest
            meet = math.fsum(shared)
            spread = rho**2 * (1.0 - math.exp(-2.0 * theta * meet)) / theta
            cov[i, j] = spread * math.exp(-theta * (times[i] - meet + times[j] - meet))
            assert i == j or one[0] == other[0]
    return Gaussians(float(np.sqrt(shift @ np.linalg.solve(cov, shift))))


def _slanted(process: Any, lines: list[list[float]]) -> Gaussians:
    """The same for a matrix of reversions, whose covariances solve Lyapunov's equation."""
    basis = np.array(process.basis)
    pull = basis @ np.array(process.reversion) @ np.linalg.inv(basis)
    drive = basis @ np.array(process.covariance) @ basis.T
    limit = linalg.solve_continuous_lyapunov(pull, 2.0 * drive)

    def carried(time: float) -> np.ndarray:
        return linalg.expm(-pull * time)

    times = [math.fsum(line) for line in lines]
    met = lines[0][0]
    parted = limit - carried(met) @ limit @ carried(met).T
    blocks = []
    for i, one in enumerate(times):
        own = limit - carried(one) @ limit @ carried(one).T
        row = [carried(one - met) @ parted @ carried(other - met).T for other in times]
        row[i] = own
        blocks.append(row)
    shift = np.concatenate([carried(time) for time in times])
    inner = shift.T @ np.linalg.solve(np.block(blocks), shift)
    root = np.linalg.cholesky(np.array(process.sensitivity))
    return Gaussians(math.sqrt(float(np.linalg.eigvalsh(root.T @ inner @ root)[-1])))


def _played(game: Any) -> Gaussians:
    """f = (m/2) x^2 - (m/2) y^2 + b x, where one record changes b: every step contracts alike."""
    mean = variance = 0.0
    for _ in range(game.steps):
        keep = 1.0 - game.step_size * game.strong_monotonicity
        mean = keep * mean + game.step_size * game.gradient_difference_bound / game.records
        variance = keep**2 * variance + (game.step_size * game.noise_std) ** 2
    return Gaussians(mean / math.sqrt(variance))


def _voted() -> list[Masses]:
    """Randomised response on two states, sent through the kernel twice."""
    odds = math.e / (1.0 + math.e)
    kernel = np.linalg.matrix_power(np.array([[0.7, 0.3], [0.1, 0.9]]), 2)
    return [Masses(np.array([odds, 1 - odds]) @ kernel, np.array([1 - odds, odds]) @ kernel)]


def noisy_pair() -> list[Masses]:
    """0 and 1 with noises of scales 1 and 1/2 in whole multiples of 2^-12, by partial fractions."""
    shift, a, b = 4096, math.exp(-1 / 4096), math.exp(-1 / 2048)
    sizes = np.abs(np.arange(-40 * shift, 41 * shift))
    wide, narrow = a ** (sizes + 1.0) / (1 - a**2), b ** (sizes + 1.0) / (1 - b**2)
    law = (1 - a) ** 2 * (1 - b) ** 2 * (wide - narrow) / ((1 - a * b) * (a - b))
    return [Masses(law[shift:], law[:-shift])]


def counted() -> Case:
    """A release of which only mu is stated."""
    words = {"name": "a count", "source": "a page", "adjacency": Adjacency.ZERO_OUT}
    return Case(StatedRelease(mu=0.5, **words), lambda: [Gaussians(0.5)])
