"""Run chains as described: many at once, one row of the state for each.

What runs is what was described: the potential's constants must be at least as good as those of the
description.  Only the last states come back; see `wane.sampling.diagnostics` for whole paths, which
need public data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wane import arguments
from wane.arrays import Array
from wane.describe.chain import Overdamped, Target, Underdamped
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.sampling.integrator import exact_step
from wane.sampling.potentials import Potential

Progress = Callable[[int], None]
"""Told the number of steps done, and nothing else."""


@dataclass(frozen=True)
class Projected:
    """An overdamped chain kept in a set: each step ends with the projection onto it.

    Any set or prox of the domain catalogue will do; for a prox, the chain is proximal Langevin.
    Its distance to its own stationary law is certified by `wane.mixing`.
    """

    chain: Overdamped
    domain: Domain

    def __post_init__(self) -> None:
        """Refuse a set of another dimension."""
        arguments.kind("chain", self.chain, (Overdamped,))
        arguments.kind("domain", self.domain, (Domain,))
        needed = self.domain.dimension
        if needed is not None and needed != self.chain.target.dimension:
            raise InvalidDescription(
                f"domain must have the target's dimension {self.chain.target.dimension}, "
                f"got {needed}."
            )

    @property
    def target(self) -> Target:
        """The potential's constants."""
        return self.chain.target

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.chain.steps


Described = Overdamped | Underdamped | Projected


def simulate(
    chain: Described,
    potential: Potential,
    *,
    generator: np.random.Generator,
    chains: int = 1,
    centre: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Array:
    """Run `chains` independent copies and return their last states, one row each.

    `centre` is where the initial law sits, by default the origin.
    """
    last = None
    for step, state in enumerate(
        states(chain, potential, generator=generator, chains=chains, centre=centre), 1
    ):
        last = state
        if progress is not None:
            progress(step)
    assert last is not None
    return last.copy()


def states(
    chain: Described,
    potential: Potential,
    *,
    generator: np.random.Generator,
    chains: int = 1,
    centre: ArrayLike | None = None,
) -> Iterator[Array]:
    """Yield the positions after each step; the array is overwritten by the next one."""
    arguments.kind("potential", potential, (Potential,))
    arguments.kind("chain", chain, (Overdamped, Underdamped, Projected))
    arguments.whole("chains", chains, least=1)
    refuse_weaker(chain.target, potential.target)
    plain = chain.chain if isinstance(chain, Projected) else chain
    x = _first(plain, generator, chains, centre)
    if isinstance(chain, Projected):
        return _projected(chain, potential, generator, x)
    if isinstance(chain, Underdamped):
        return _underdamped(chain, potential, generator, x)
    return _overdamped(chain, potential, generator, x)


def refuse_weaker(described: Target, actual: Target) -> None:
    """Refuse a potential whose constants are worse than those of the description."""
    laplacian = described.laplacian_lipschitz
    bad = (
        actual.dimension != described.dimension
        or actual.strong_convexity < described.strong_convexity
        or actual.smoothness > described.smoothness
        or (
            laplacian is not None
            and (actual.laplacian_lipschitz is None or actual.laplacian_lipschitz > laplacian)
        )
    )
    if bad:
        raise InvalidDescription(
            f"potential must be as good as described, {described}, got {actual}; "
            "describe what will run."
        )


def _first(
    chain: Overdamped | Underdamped, generator: np.random.Generator, chains: int, centre: object
) -> Array:
    d = chain.target.dimension
    middle = np.zeros(d) if centre is None else np.array(centre, dtype=np.float64)
    if middle.shape != (d,) or not np.isfinite(middle).all():
        raise InvalidDescription(f"centre must be {d} finite numbers, got shape {middle.shape}.")
    x = np.tile(middle, (chains, 1))
    if chain.start.variance > 0.0:
        x += math.sqrt(chain.start.variance) * generator.standard_normal(x.shape)
    return x


def _overdamped(
    chain: Overdamped, potential: Potential, generator: np.random.Generator, x: Array
) -> Iterator[Array]:
    scale = math.sqrt(2.0 * chain.step_size * chain.temperature)
    noise = np.empty_like(x)
    for _ in range(chain.steps):
        x -= chain.step_size * potential.gradient(x)
        generator.standard_normal(out=noise)
        noise *= scale
        x -= noise  # the sign of `wane.run.descend`, so that equal draws give equal paths
        yield x


def _projected(
    described: Projected, potential: Potential, generator: np.random.Generator, x: Array
) -> Iterator[Array]:
    chain, domain = described.chain, described.domain
    scale = math.sqrt(2.0 * chain.step_size * chain.temperature)
    x = np.asarray(domain.prox(x, chain.step_size))
    for _ in range(chain.steps):
        moved = x - chain.step_size * potential.gradient(x)
        moved -= scale * generator.standard_normal(x.shape)
        x = np.asarray(domain.prox(moved, chain.step_size))
        yield x


def _underdamped(
    chain: Underdamped, potential: Potential, generator: np.random.Generator, x: Array
) -> Iterator[Array]:
    step = exact_step(
        friction=chain.friction,
        step_size=chain.step_size,
        inverse_mass=chain.inverse_mass,
        temperature=chain.temperature,
    )
    v = math.sqrt(chain.velocity_variance) * generator.standard_normal(x.shape)
    noise = np.empty_like(x)
    for _ in range(chain.steps):
        g = potential.gradient(x)
        x += step.position_from_velocity * v
        x -= step.position_from_gradient * g
        v *= step.velocity_kept
        v -= step.velocity_from_gradient * g
        generator.standard_normal(out=noise)
        noise *= step.velocity_noise
        v += noise
        noise *= step.position_from_noise
        x += noise
        generator.standard_normal(out=noise)
        noise *= step.position_noise
        x += noise
        yield x
