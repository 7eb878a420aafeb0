"""The one loop that runs a described descent, on the batches it describes, to its release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wane.arrays import Array
from wane.describe import (
    Cyclic,
    EveryIterate,
    FullBatch,
    Iterates,
    NoisyDescent,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.choices import Batches
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.randomness import private_generator
from wane.run.checkpoint import Checkpoint, Keeper
from wane.run.safeguards import (
    grid_below,
    protecting_noises,
    release_grid,
    require_described,
    require_finite,
    require_resolved,
    to_grid,
)

Rows = slice | NDArray[np.intp]
"""Records of one batch: consecutive ones, or their positions."""

Chooser = Callable[[int], Rows]
"""The records of a step, by how many steps that used records came before it."""


def blocks(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield consecutive parts of the rows, of at most this many each."""
    if isinstance(rows, slice):
        for first in range(rows.start or 0, rows.stop, size):
            yield slice(first, min(first + size, rows.stop))
    else:
        for first in range(0, len(rows), size):
            yield rows[first : first + size]


def chooser(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    """Return the rule that picks each step's records."""
    return _CHOOSERS[type(run.batches)](run, generator)


def _full(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    everything = slice(0, run.records)
    return lambda step: everything


def _cyclic(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    size, count = run.batch_size, run.steps_per_epoch

    def choose(step: int) -> Rows:
        first = (step % count) * size
        return slice(first, min(first + size, run.records))

    return choose


def _shuffled_once(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    order = generator.permutation(run.records)
    in_order = _cyclic(run, generator)

    def choose(step: int) -> Rows:
        return order[in_order(step)]

    return choose


def _poisson(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    rate = run.batch_size / run.records

    def choose(step: int) -> Rows:
        # How many join is binomial, and given that any set of so many is as likely as any other.
        count = int(generator.binomial(run.records, rate))
        return np.sort(generator.choice(run.records, count, replace=False, shuffle=False))

    return choose


def _without_replacement(run: NoisyDescent, generator: np.random.Generator) -> Chooser:
    return lambda step: generator.choice(run.records, run.batch_size, replace=False, shuffle=False)


_CHOOSERS: dict[type[Batches], Callable[[NoisyDescent, np.random.Generator], Chooser]] = {
    FullBatch: _full,
    Cyclic: _cyclic,
    ShuffledOnce: _shuffled_once,
    Poisson: _poisson,
    WithoutReplacement: _without_replacement,
}


Progress = Callable[[int], None]
"""Told the number of steps done, and nothing else: anything more would be a release."""


class GradientSums(Protocol):
    """Records together with a loss: sums of their gradients, each bounded as described."""

    @property
    def records(self) -> int:
        """The number of records."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        ...

    @property
    def gradient_bound(self) -> float:
        """A bound on every record's gradient, whatever the record is, rounding included."""
        ...

    def __call__(self, parameters: Array, rows: Rows) -> Array:
        """Return the sum of these records' bounded gradients, without any ridge term."""
        ...


def descend(
    run: NoisyDescent,
    gradients: GradientSums,
    *,
    generator: np.random.Generator | None = None,
    start: Array | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    public: GradientSums | None = None,
) -> Array:
    """Run the description on these records and return what it releases, rounded to its grid.

    The last iterate, or for a run that releases several, these stacked along a new first axis; each
    on the grid of the noise that protects it.  What can be wrong with the arguments is refused
    before the first step; after it nothing is raised, warned of or logged, whatever the records
    hold.  Noise is private unless a test gives a `generator` of its own.

    With a `checkpoint` the run saves itself, sealed, and takes up what it finds there; the end is
    the same bit for bit, and deletes the file.

    `public` are the sums over the public records of a run that describes steps on them.
    """
    require_described(run, gradients, public)
    x = _start(run, gradients, start)
    generator = private_generator() if generator is None else generator
    keeper = checkpoint and Keeper(checkpoint, run, x, gradients, generator, public=public)
    choose = chooser(run, generator)
    seen = _released_steps(run)
    released: list[Array] = []
    total: Array | None
    done = used = skip = 0
    if keeper is not None:
        x, released, done, used = keeper.begin(x)
        skip = done
    # What numpy would warn of depends on the records, so nothing is said.
    with np.errstate(all="ignore"):
        for phase, noise_std in zip(run.plan, run.gradient_noise_stds, strict=True):
            skipped = min(skip, phase.repeat)
            skip -= skipped
            for _ in range(phase.repeat - skipped):
                if phase.public and public is not None:
                    stepped, total = run.on_public, public(x, slice(0, public.records))
                else:
                    total = None if phase.cool_down else gradients(x, choose(used))
                    stepped, used = run, used + (not phase.cool_down)
                x = noisy_step(stepped, x, total, (phase.step_size, noise_std), generator)
                done += 1
                if done in seen:
                    released.append(x)
                if progress is not None:
                    progress(done)
                if keeper is not None:
                    keeper.step(x, released, done, used)
    if keeper is not None:
        keeper.finish()
    return _rounded(run, released) if released else to_grid(x, release_grid(run))


def noisy_step(
    run: NoisyDescent,
    x: Array,
    total: Array | None,
    scales: tuple[float, float],
    generator: np.random.Generator,
) -> Array:
    """Return the next iterate.

    `total` sums the batch's bounded gradients, and is None in a cool-down; `scales` are the step
    size and the deviation of the noise on the averaged gradient.
    """
    step_size, noise_std = scales
    drift = run.objective.ridge * x
    if total is not None:
        drift += total / run.batch_size
    drift += noise_std * generator.standard_normal(x.shape)
    return safe_prox(run.domain, x - step_size * drift, step_size)


def _start(run: NoisyDescent, gradients: GradientSums, start: Array | None) -> Array:
    """Return the start as an array, checked and moved into the domain."""
    x = np.zeros(gradients.shape) if start is None else np.array(start, dtype=np.float64)
    if not np.isfinite(x).all():
        raise InvalidDescription("start must hold finite numbers, got NaN or infinity.")
    if x.shape != tuple(gradients.shape):
        raise InvalidDescription(
            f"start must have the shape {tuple(gradients.shape)}, got {x.shape}."
        )
    if run.objective.dimension is not None and run.objective.dimension != x.size:
        raise InvalidDescription(
            f"objective.dimension must be the number of parameters, {x.size}, "
            f"got {run.objective.dimension}."
        )
    require_resolved(run, x)
    require_finite(run, x.size, float(np.linalg.norm(x.ravel())))
    return safe_prox(run.domain, x, float(run.plan.step_size[0]))


def safe_prox(domain: Domain, x: Array, step_size: float) -> Array:
    """Return the prox; a point beyond the floats, which it would refuse, counts as the origin.

    Sums that keep their bound never lead there: see `wane.run.safeguards`.
    """
    flat = x.ravel()
    if not np.isfinite(flat).all():
        flat = np.zeros_like(flat)
    try:
        moved = domain.prox(flat, step_size)
    except np.linalg.LinAlgError:  # a factorisation that did not converge
        moved = domain.prox(np.zeros_like(flat), step_size)
    return np.asarray(moved, dtype=np.float64).reshape(x.shape)


def _rounded(run: NoisyDescent, released: list[Array]) -> Array:
    """Return released iterates on the grids of the noises that protect them."""
    noises = protecting_noises(run, sorted(_released_steps(run)))
    pairs = zip(released, noises, strict=True)
    return np.stack([to_grid(iterate, grid_below(noise)) for iterate, noise in pairs])


def _released_steps(run: NoisyDescent) -> frozenset[int] | range:
    """Return the steps after which the iterate is released; empty if only the last one is."""
    if isinstance(run.release, EveryIterate):
        return range(1, run.total_steps + 1)
    if isinstance(run.release, Iterates):
        return frozenset({*run.release.steps, run.total_steps})
    return frozenset()
