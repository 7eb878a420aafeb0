"""The exact Gaussian law of linear chains, in any dimension.

The last iterate of x -> A x + u + noise is Gaussian, and two runs that differ only in u have the
same covariance, so their trade-off is that of N(mu, 1) against N(0, 1) with
mu^2 = m' Sigma^-1 m.  Nothing is approximated; rounding is kept small by carrying a factor of
the covariance, never the covariance, each row with its own power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wane import arguments
from wane.arrays import Array
from wane.audit.bracket import ImpreciseError
from wane.errors import InvalidDescription

Exponents = NDArray[np.int64]

SINGULAR = 1e-9
"""A direction whose noise is this small against its row would cost more than half the digits."""

ABSENT = -(2**40)
"""The exponent of zero."""


@dataclass(frozen=True, eq=False)
class LinearStep:
    """One step x -> matrix x + shift + noise; the runs differ by the shift difference only.

    Attributes:
        matrix: the linear map, square.
        shift_difference: the shift of the first run minus that of the second.
        noise_factor: any factor F of the noise covariance F F'.
    """

    matrix: Array
    shift_difference: Array
    noise_factor: Array

    def __post_init__(self) -> None:
        size = self.shift_difference.size
        shapes = (self.matrix.shape, self.shift_difference.shape, self.noise_factor.shape[:1])
        if shapes != ((size, size), (size,), (size,)) or self.noise_factor.ndim != 2:
            raise InvalidDescription(
                f"matrix, shift_difference and noise_factor must have dimension {size}, got "
                f"shapes {shapes}."
            )
        parts = (self.matrix, self.shift_difference, self.noise_factor)
        if not all(np.all(np.isfinite(part)) for part in parts):
            raise InvalidDescription("matrix, shift_difference and noise_factor must be finite.")


def linear_step(
    matrix: ArrayLike,
    shift_difference: ArrayLike,
    *,
    noise_std: float | None = None,
    noise_factor: ArrayLike | None = None,
) -> LinearStep:
    """Return one linear step, with isotropic noise of a deviation or with a noise factor."""
    shift = np.atleast_1d(np.asarray(shift_difference, dtype=float))
    if (noise_std is None) == (noise_factor is None):
        raise InvalidDescription("exactly one of noise_std and noise_factor must be given.")
    if noise_std is not None:
        factor = arguments.nonnegative("noise_std", noise_std) * np.eye(shift.size)
    else:
        factor = np.atleast_2d(np.asarray(noise_factor, dtype=float))
    return LinearStep(np.atleast_2d(np.asarray(matrix, dtype=float)), shift, factor)


@dataclass(frozen=True)
class _Law:
    """Mean difference and covariance factor, row i to be multiplied by 2**exponents[i]."""

    mean: Array
    factor: Array
    exponents: Exponents


def _exponents(values: Array) -> Exponents:
    """Return the power of two that brings each entry into [1/2, 1)."""
    # Widen before the choice: numpy would otherwise wrap the exponent of zero into 32 bits.
    return np.where(values == 0.0, np.int64(ABSENT), np.frexp(values)[1].astype(np.int64))


def _scaled(values: Array, exponents: Exponents) -> Array:
    """Return entries times powers of two, exactly; what is too small becomes zero."""
    powers = np.clip(exponents, -4000, 4000).astype(np.int32)
    return np.asarray(np.ldexp(values, powers), dtype=float)


def _advance(law: _Law, step: LinearStep) -> _Law:
    """Return the law after a step of the current iterate, the last rows; released rows stay."""
    size = step.shift_difference.size
    released = law.mean.size - size
    old = law.exponents[released:]
    reach = _exponents(step.matrix) + old[None, :]
    fresh = np.column_stack([step.shift_difference, step.noise_factor])
    new = np.maximum(reach.max(axis=1), _exponents(fresh).max(axis=1))
    new = np.where(new < ABSENT // 2, 0, new)
    matrix = _scaled(step.matrix, old[None, :] - new[:, None])
    noise = _scaled(step.noise_factor, -new[:, None] + np.zeros_like(fresh[:, 1:], dtype=np.int64))
    mean = matrix @ law.mean[released:] + _scaled(step.shift_difference, -new)
    moved = np.hstack([matrix @ law.factor[released:], noise])
    still = np.hstack([law.factor[:released], np.zeros((released, noise.shape[1]))])
    # Orthogonal columns change no covariance; they keep the factor square.
    triangle = np.asarray(np.linalg.qr(np.vstack([still, moved]).T, mode="r"), dtype=float).T
    return _normalised(
        np.concatenate([law.mean[:released], mean]),
        triangle,
        np.concatenate([law.exponents[:released], new]),
    )


def _normalised(mean: Array, factor: Array, exponents: Exponents) -> _Law:
    """Return the law with rows of order one, so that mantissas keep their digits in long runs."""
    largest = _exponents(np.column_stack([mean, factor])).max(axis=1)
    largest = np.where(largest == ABSENT, 0, largest)
    spread = -largest[:, None] + np.zeros(factor.shape, dtype=np.int64)
    return _Law(_scaled(mean, -largest), _scaled(factor, spread), exponents + largest)


def _distance(mean: Array, factor: Array) -> float:
    """Return the length of F^-1 m by forward substitution; refuse nearly singular factors."""
    size = mean.size
    if factor.shape[1] < size:
        raise ImpreciseError("the noise does not reach every direction; the laws are singular")
    solution = np.zeros(size)
    for i in range(size):
        pivot, row = factor[i, i], float(np.linalg.norm(factor[i]))
        if not abs(pivot) > SINGULAR * row:
            raise ImpreciseError("the covariance is singular to working precision")
        solution[i] = (mean[i] - factor[i, :i] @ solution[:i]) / pivot
    distance = float(np.linalg.norm(solution))
    if not math.isfinite(distance):
        raise ImpreciseError("the distance of the laws is not a finite number")
    return distance


def exact_mu(steps: Sequence[LinearStep]) -> float:
    """Return the exact mu of the last iterates of two runs from one point."""
    return exact_joint_mu(steps, [len(steps)])


def exact_joint_mu(steps: Sequence[LinearStep], released: Sequence[int]) -> float:
    """Return the exact mu of the released iterates taken together.

    Iterates are numbered from 1; the stacked vector of the released ones is Gaussian.
    """
    if not steps:
        raise InvalidDescription("steps must hold at least one step, got none.")
    times = sorted(set(released))
    if not times or times[0] < 1 or times[-1] > len(steps):
        raise InvalidDescription(f"released must lie among 1..{len(steps)}, got {times}.")
    size = steps[0].shift_difference.size
    if any(step.shift_difference.size != size for step in steps):
        raise InvalidDescription("steps must all have the same dimension.")
    law = _Law(np.zeros(size), np.zeros((size, size)), np.zeros(size, dtype=np.int64))
    for time, step in enumerate(steps[: times[-1]], start=1):
        law = _advance(law, step)
        if time in times[:-1]:
            law = _Law(
                mean=np.concatenate([law.mean, law.mean[-size:]]),
                factor=np.vstack([law.factor, law.factor[-size:]]),
                exponents=np.concatenate([law.exponents, law.exponents[-size:]]),
            )
    return _distance(law.mean, law.factor)


def exact_scalar_mu(multipliers: ArrayLike, shifts: ArrayLike, noise_stds: ArrayLike) -> Array:
    """Return the mus of many one-dimensional chains; the last axis is time.

    Signs are allowed in multipliers and shifts.  A chain without any noise that matters returns
    infinity, or zero if it never differs.
    """
    c, s, d = np.broadcast_arrays(
        *(np.asarray(a, dtype=float) for a in (multipliers, shifts, noise_stds))
    )
    if not (np.all(np.isfinite(c)) and np.all(np.isfinite(s)) and np.all(np.isfinite(d))):
        raise InvalidDescription("multipliers, shifts and noise_stds must be finite.")
    if c.ndim == 0 or np.any(d < 0.0):
        raise InvalidDescription("noise_stds must be at least 0, with one entry for each step.")
    mean, root = np.zeros(c.shape[:-1]), np.zeros(c.shape[:-1])
    scale = np.full(c.shape[:-1], ABSENT, dtype=np.int64)
    for t in range(c.shape[-1]):
        old = np.maximum(scale + _exponents(c[..., t]), ABSENT)
        new = np.maximum(old, np.maximum(_exponents(s[..., t]), _exponents(d[..., t])))
        factor = _scaled(c[..., t], scale - new)
        mean = factor * mean + _scaled(s[..., t], -new)
        root = np.hypot(factor * root, _scaled(d[..., t], -new))
        largest = _exponents(np.maximum(np.abs(mean), root))
        scale = np.where(largest == ABSENT, ABSENT, new + largest)
        mean, root = _scaled(mean, -largest), _scaled(root, -largest)
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = np.where(mean == 0.0, 0.0, np.abs(mean) / root)
    if not np.all(mu >= 0.0):
        raise ImpreciseError("the distance of the laws is not a number")
    return np.asarray(mu, dtype=float)
