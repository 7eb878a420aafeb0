"""The exact last-iterate law of one-dimensional noisy chains, and the distance of two of them.

A chain is x -> prox(drift(x) + noise); the drift may be any scalar map, or one drawn at random;
the prox any nondecreasing map.  Laws are propagated by Gauss-Legendre quadrature with exact atoms,
at two resolutions whose gap bounds the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wane.arrays import Array
from wane.audit.bracket import Bracketed, ImpreciseError, OutOfReachError, bracket
from wane.audit.law import PairLaw, Sources
from wane.audit.mesh import DEFAULT, KernelCache, Mesh, Mixture, PairStep, Resolution, Span
from wane.errors import InvalidDescription

MASS_TOLERANCE = 1e-10
RATIO_ROUNDOFF = 2e-14
"""Rounding error of a log likelihood ratio: a delta is off by this times the mass of its event."""

TAIL_SLACK = 20.0
"""Nats granted for the length of the grid and the number of steps when tails are cut."""

WIDENINGS = 2


@dataclass(frozen=True)
class Run:
    """A pair of chains: its steps, the two starting points, and the probability of this pair."""

    steps: tuple[PairStep, ...]
    first_start: float = 0.0
    second_start: float | None = None
    probability: float = 1.0

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidDescription("steps must hold at least one step, got none.")

    @property
    def starts(self) -> tuple[float, float]:
        """Both starting points."""
        second = self.first_start if self.second_start is None else self.second_start
        return self.first_start, second


@dataclass(frozen=True)
class _State:
    """The points and masses of the first law, then those of the second."""

    points: tuple[Array, Array]
    masses: tuple[Array, Array]


def _span(step: PairStep, state: _State, at: Resolution) -> Span:
    """Return the part of the line to put on a grid after a step; all of a short domain."""
    lows, highs = [], []
    for points, masses, mixture in zip(
        state.points, state.masses, (step.first, step.second), strict=True
    ):
        heavy = points[masses > masses.max() * math.exp(-at.depth) * 1e-12]
        for branch in mixture:
            centres = branch.drift(heavy)
            lows.append(centres.min())
            highs.append(centres.max())
    if not (np.all(np.isfinite(lows)) and np.all(np.isfinite(highs))):
        raise ImpreciseError("a drift is not finite on the support of the iterate")
    begin, end = step.prox.ends
    if end - begin <= 4.0 * at.reach * step.noise_std:
        return begin, end
    # Ends on a lattice make the grid of a settling chain the same from step to step.
    lattice, tail = step.noise_std, at.reach * step.noise_std
    low = math.floor((min(lows) - tail) / lattice) * lattice
    return low, math.ceil((max(highs) + tail) / lattice) * lattice


def _advance(
    step: PairStep, mixtures: tuple[Mixture, Mixture], state: _State, mesh: Mesh, cache: KernelCache
) -> tuple[Array, Array]:
    """Return the masses both laws give to the nodes and atoms of the next mesh."""
    out = []
    for points, masses, mixture in zip(state.points, state.masses, mixtures, strict=True):
        moved = cache.kernel(points, mixture, step.noise_std, mesh) @ masses
        if not abs(float(moved.sum()) - 1.0) <= MASS_TOLERANCE:
            raise ImpreciseError(f"a law has mass {float(moved.sum())!r} on the grid; refine it")
        out.append(moved)
    return out[0], out[1]


def _propagate(run: Run, cache: KernelCache) -> _State:
    """Return the state of both laws just before the last step."""
    first, second = run.starts
    state = _State(
        points=(np.array([float(first)]), np.array([float(second)])),
        masses=(np.ones(1), np.ones(1)),
    )
    for step, following in zip(run.steps, run.steps[1:], strict=False):
        mesh = cache.mesh(step, (following,), _span(step, state, cache.resolution))
        masses = _advance(step, (step.first, step.second), state, mesh, cache)
        state = _State(points=(mesh.points, mesh.points), masses=masses)
    return state


def _sources(runs: tuple[Run, ...], states: list[_State], which: int) -> Sources:
    """Return all sources of one law in the last step, over all runs and branches."""
    centres, weights = [], []
    for run, state in zip(runs, states, strict=True):
        masses, points = state.masses[which], state.points[which]
        live = masses > 0.0
        step = run.steps[-1]
        for branch in (step.first, step.second)[which]:
            if branch.probability > 0.0 and run.probability > 0.0:
                centres.append(branch.drift(points[live]))
                factor = math.log(branch.probability) + math.log(run.probability)
                weights.append(np.log(masses[live]) + factor)
    return Sources(np.concatenate(centres), np.concatenate(weights), runs[0].steps[-1].noise_std)


def _log_law(sources: Sources, masses: Array, mesh: Mesh, trusted: float) -> tuple[Array, Array]:
    """Return log densities and log atoms, in log space wherever linear space is not accurate."""
    density = masses[: mesh.nodes.size] / mesh.weights
    tiny = ~(density > trusted)
    log_density = np.log(np.where(tiny, 1.0, density))
    log_density[tiny] = sources.log_density(mesh.nodes[tiny])
    atoms = np.array([sources.log_mass(flat) for flat in mesh.flats])
    return log_density.reshape(mesh.panels.nodes.shape), atoms


def pair_law(runs: tuple[Run, ...], resolution: Resolution) -> PairLaw:
    """Return the laws of both last iterates, averaged over the runs, at one resolution."""
    cache = KernelCache(resolution)
    states = [_propagate(run, cache) for run in runs]
    last = runs[0].steps[-1]
    spans = [_span(run.steps[-1], s, resolution) for run, s in zip(runs, states, strict=True)]
    span = min(low for low, _ in spans), max(high for _, high in spans)
    begin, end = last.prox.ends
    # On a bounded domain the mesh of the earlier steps serves again, and so do its kernels.
    mesh = cache.mesh(
        last, tuple(run.steps[-1] for run in runs) if end - begin < math.inf else (), span
    )
    totals = [np.zeros(mesh.points.size), np.zeros(mesh.points.size)]
    for run, state in zip(runs, states, strict=True):
        step = run.steps[-1]
        moved = _advance(last, (step.first, step.second), state, mesh, cache)
        totals = [t + run.probability * m for t, m in zip(totals, moved, strict=True)]
    pair = _sources(runs, states, 0), _sources(runs, states, 1)
    logs = [
        _log_law(s, total, mesh, resolution.trusted) for s, total in zip(pair, totals, strict=True)
    ]
    edges = mesh.panels
    return PairLaw(
        mesh=mesh,
        first=pair[0],
        second=pair[1],
        densities=(logs[0][0], logs[1][0]),
        atoms=(logs[0][1], logs[1][1]),
        depth=resolution.depth if any(len(run.steps) > 1 for run in runs) else math.inf,
        open_ends=(
            bool(np.all(edges.lower > begin)),
            bool(np.all(edges.upper < end)),
        ),
    )


@dataclass(frozen=True, eq=False)
class ExactPair:
    """The last iterates of two chains, with their exact divergences.

    With several runs the pair of chains is drawn at random, once, and stays hidden: the laws are
    averages over the runs, which must end with the same noise and prox.
    """

    runs: tuple[Run, ...]
    resolution: Resolution = DEFAULT

    def __post_init__(self) -> None:
        total = math.fsum(run.probability for run in self.runs)
        if abs(total - 1.0) > 1e-9:
            raise InvalidDescription(f"probabilities of runs must add to 1, got {total}.")
        ends = {(run.steps[-1].noise_std, run.steps[-1].prox) for run in self.runs}
        if len(ends) != 1:
            raise InvalidDescription("all runs must end with the same noise and the same prox")

    @cached_property
    def _known(self) -> dict[int, tuple[PairLaw, PairLaw]]:
        return {}

    def laws(self, widenings: int = 0) -> tuple[PairLaw, PairLaw]:
        """Return both laws at the given resolution and with panels half as long."""
        if widenings not in self._known:
            at = self.resolution
            for _ in range(widenings):
                at = at.widened()
            self._known[widenings] = (pair_law(self.runs, at), pair_law(self.runs, at.refined()))
        return self._known[widenings]

    def renyi(self, order: float, *, reverse: bool = False) -> Bracketed:
        """Return the Renyi divergence of the first law from the second, or in reverse.

        High orders live far in the tails: the grid is widened until it holds them.
        """
        for widenings in range(WIDENINGS):
            try:
                return self._renyi(order, reverse, widenings)
            except OutOfReachError:
                continue
        return self._renyi(order, reverse, WIDENINGS)

    def _renyi(self, order: float, reverse: bool, widenings: int) -> Bracketed:
        laws = [law.reversed() if reverse else law for law in self.laws(widenings)]
        return bracket(laws[0].renyi(order), laws[1].renyi(order))

    def hockey_stick(self, epsilon: float, *, reverse: bool = False) -> Bracketed:
        """Return the exact delta at an epsilon of the first law against the second, or reversed."""
        laws = [law.reversed() if reverse else law for law in self.laws()]
        values = [law.hockey_stick(epsilon) for law in laws]
        floor = RATIO_ROUNDOFF * laws[1].event_mass(epsilon)
        # Both laws lack the tails below exp(-depth), and the second counts exp(epsilon) times.
        tails = math.exp(TAIL_SLACK - self.resolution.depth)
        floor += tails * (1.0 + math.exp(min(epsilon, 700.0)))
        return bracket(values[0], values[1], floor=floor)


def chain_pair(
    steps: tuple[PairStep, ...] | list[PairStep],
    first_start: float = 0.0,
    second_start: float | None = None,
    resolution: Resolution = DEFAULT,
) -> ExactPair:
    """Return the pair of chains with these steps, started at one point or at two."""
    run = Run(tuple(steps), float(first_start), second_start)
    return ExactPair((run,), resolution)
