"""Proofs in doubles that a symmetric matrix, known up to an error, has no negative eigenvalue.

If a Cholesky factorisation in doubles runs to its end, the matrix differs from R' R by at most
gamma |R'| |R| entry by entry, whatever the order of the sums (Higham 2002, Theorem 10.3; the test
is Rump's, 2006).  So a matrix whose diagonal was lowered by more than that, and by more than the
norm of its own errors, is proven to be positive.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from wane.arrays import Array
from wane.errors import Unreachable
from wane.numerics.rounding import inflate, round_up

UNIT = 2.0**-53
_FIRST_SLACK = 2.0**-50
_MOST_SLACK = 2.0**-7


def surely_positive(matrix: Array, error: Array) -> bool:
    """Return whether every symmetric matrix within `error` of this one is surely semidefinite."""
    size, diagonal = matrix.shape[0], np.diag(matrix)
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(error)) and np.all(diagonal > 0.0)):
        return False
    # Powers of two bring the diagonal near to one, exactly.
    powers = -(np.frexp(diagonal)[1] // 2)
    both = powers[:, None] + powers[None, :]
    scaled, doubt = np.ldexp(matrix, both), np.ldexp(error, both)
    spread = float(np.max(doubt.sum(axis=1))) + size * 1e-300
    share = 2.0 * (size + 8) * UNIT
    shift = 1.01 * (spread + share * float(np.trace(scaled)))
    try:
        factor = np.linalg.cholesky(scaled - shift * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return bool(np.all(np.isfinite(factor)))


class Uncertain(NamedTuple):
    """A symmetric matrix and a bound on the error of each of its entries."""

    matrix: Array
    error: Array


def exactly(matrix: Array) -> Uncertain:
    """Return a matrix that has no error."""
    return Uncertain(matrix, np.zeros_like(matrix))


def largest_ratio_up(above: Uncertain, below: Uncertain) -> float:
    """Return an r, proven, for which r times the matrix below exceeds the one above.

    It is the largest of v'(above)v / v'(below)v, or little more.  Raises `Unreachable` where
    doubles cannot tell.
    """
    first, second = above.matrix, below.matrix
    try:
        found = float(linalg.eigh(first, second, eigvals_only=True)[-1])
    except (np.linalg.LinAlgError, ValueError):
        found = math.nan
    slack = _FIRST_SLACK * first.shape[0]
    while math.isfinite(found) and found > 0.0 and slack <= _MOST_SLACK:
        ratio = inflate(found, slack)
        rounded = ratio * second - first
        doubt = ratio * below.error + above.error
        doubt = doubt + 4.0 * UNIT * (ratio * np.abs(second) + np.abs(first))
        if surely_positive(rounded, 1.0001 * doubt):
            return ratio
        slack *= 2.0
    raise Unreachable(
        "the noise covers the sensitivity in some direction by less than doubles can tell; "
        "choose coordinates in which reversions, covariance and sensitivity are of one size"
    )


def congruent(factor: Array, inner: Uncertain) -> Uncertain:
    """Return factor * inner * factor', with what rounding adds to the error."""
    size = np.abs(factor)
    made = factor @ inner.matrix @ factor.T
    share = 4.0 * (factor.shape[0] + 4) * UNIT
    error = size @ (share * np.abs(inner.matrix) + 1.001 * inner.error) @ size.T
    return Uncertain(0.5 * (made + made.T), 1.001 * error + 1e-300)


def in_basis(basis: Array, outside: Array) -> Uncertain:
    """Return a matrix multiplied from both sides by an approximate inverse R of the basis B.

    r B T B' exceeds it if and only if r (R B) T (R B)' exceeds what is returned, as R is proven to
    be nonsingular; so small numbers of T are not lost among large ones.
    """
    near_identity(basis)
    return congruent(_inverse(basis), exactly(outside))


def seen_in_basis(basis: Array, inside: Uncertain) -> Uncertain:
    """Return T with an error that holds (R B) T (R B)' as well."""
    away = near_identity(basis)
    full = np.abs(inside.matrix) + inside.error
    more = away @ full + full @ away.T + away @ full @ away.T
    return Uncertain(inside.matrix, inside.error + 1.001 * more)


def near_identity(basis: Array) -> Array:
    """Return a bound on |R B - I| entry by entry, proven to be small; R is nonsingular then."""
    inverse, size = _inverse(basis), basis.shape[0]
    away = np.abs(inverse @ basis - np.eye(size))
    away = away + 2.0 * (size + 4) * UNIT * (np.abs(inverse) @ np.abs(basis))
    if not float(np.max(away.sum(axis=1))) < 0.5:
        raise Unreachable("the basis must have an inverse that doubles can hold")
    return np.asarray(away)


def _inverse(basis: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(basis), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise Unreachable("the basis must have an inverse that doubles can hold") from None


def smallest_eigenvalue_down(matrix: Array) -> float:
    """Return a number that the smallest eigenvalue of a positive matrix surely exceeds."""
    ratio = largest_ratio_up(exactly(np.eye(matrix.shape[0])), exactly(matrix))
    return 1.0 / round_up(ratio, 4)
