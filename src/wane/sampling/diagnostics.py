"""Effective sample size, R-hat and trace plots, on public or synthetic data only.

A diagnostic is computed from whole paths of the chain.  On private data it would be a release of
its own: an effective sample size, or the decision to run on because R-hat is large, tells about the
records what the certificate of the last state does not cover.  So paths are only kept for a
potential that its owner has marked as public, and diagnostics are only computed from such paths.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from wane import arguments
from wane.arrays import Array
from wane.errors import InvalidDescription, MissingExtra
from wane.sampling.potentials import Potential
from wane.sampling.simulation import Described, states

T = TypeVar("T")


class DiagnosticsAreReleases(InvalidDescription):
    """Diagnostics were asked for data that nobody marked as public."""


@final
@dataclass(frozen=True)
class Public(Generic[T]):
    """A statement by the caller: what is wrapped holds no private record."""

    value: T


@final
@dataclass(frozen=True)
class PublicPaths:
    """Positions of chains on public data, with axes chain, draw and coordinate."""

    positions: Array

    def __post_init__(self) -> None:
        """Refuse anything but a three-dimensional array."""
        if self.positions.ndim != 3:
            raise InvalidDescription(
                f"positions must have axes chain, draw and coordinate, got {self.positions.shape}."
            )


def public_paths(
    chain: Described,
    potential: Public[Potential],
    *,
    generator: np.random.Generator,
    chains: int = 4,
    every: int = 1,
    centre: ArrayLike | None = None,
) -> PublicPaths:
    """Run chains on a public potential and keep every `every`-th position."""
    arguments.whole("every", every, least=1)
    kept = [
        state.copy()
        for step, state in enumerate(
            states(chain, _opened(potential), generator=generator, chains=chains, centre=centre), 1
        )
        if step % every == 0
    ]
    if not kept:
        raise InvalidDescription(f"every must be at most steps={chain.steps}, got {every}.")
    return PublicPaths(np.stack(kept, axis=1))


def effective_sample_size(paths: PublicPaths) -> Array:
    """Return ArviZ's bulk effective sample size of each coordinate."""
    return _by_coordinate("ess", paths)


def split_r_hat(paths: PublicPaths) -> Array:
    """Return ArviZ's rank-normalised split R-hat of each coordinate; close to one when mixed."""
    return _by_coordinate("rhat", paths)


def plot_trace(paths: PublicPaths) -> Any:
    """Draw ArviZ's trace plot and return its axes."""
    return _asked("plot_trace", {"state": _checked(paths)})


def _by_coordinate(name: str, paths: PublicPaths) -> Array:
    positions = _checked(paths)
    return np.array([float(_asked(name, positions[:, :, i])) for i in range(positions.shape[2])])


def _checked(paths: object) -> Array:
    if not isinstance(paths, PublicPaths):
        raise DiagnosticsAreReleases(_refusal("paths", "PublicPaths", paths))
    return paths.positions


def _opened(potential: object) -> Potential:
    if not isinstance(potential, Public):
        raise DiagnosticsAreReleases(_refusal("potential", "Public(potential)", potential))
    arguments.kind("potential", potential.value, (Potential,))
    value: Potential = potential.value
    return value


def _refusal(name: str, wanted: str, got: object) -> str:
    return (
        f"{name} must be {wanted}, got {type(got).__name__}: a diagnostic of a chain on private "
        "records is a release that no certificate covers; use public or synthetic data."
    )


def _asked(name: str, given: Any) -> Any:
    """Return ArviZ's answer, without its warnings about its own future."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz

            return getattr(arviz, name)(given)
    except ImportError:
        raise MissingExtra("Diagnostics need ArviZ; install wane[sampling].") from None
