"""Arithmetic of real numbers with a proven error, by python-flint.

A ball is an interval that is known to hold the true value.  A comparison of two balls is true only
if it is true of everything they hold, so an undecided one never counts in favour of a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

PRECISION = 320
"""Bits; enough for a constant within 2^-200 of one, over 1e15 steps."""
MOST_PRECISION = 1 << 14
ACCURATE = 50
"""Bits of a result that is accurate enough to be compared with a double."""
NEAR_ONE = 200
NOTHING = arb(2) ** -4000
"""No delta is compared with anything smaller, so what is certain to be below need not be exact."""


@contextmanager
def bits(precision: int) -> Iterator[None]:
    """Compute with this many bits inside the block."""
    with ctx.workprec(precision):
        yield


def ball(number: float | int | Fraction) -> arb:
    """Return the number itself, exactly (a fraction as nearly as the precision allows)."""
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    return arb(number)


def top(value: arb) -> arb:
    """Return the upper end of a ball, as an exact number; infinity if it is not a number."""
    return value.upper() if not value.is_nan() else arb.pos_inf()


def rounded_constant(value: arb) -> arb:
    """Return a Lipschitz constant not smaller: exact, positive, and not too near to one.

    Any larger constant is one, too.  Sums of powers of a number that differs from one by less than
    the precision would hold nothing but error.
    """
    constant = top(value)
    gap = arb(2) ** (-NEAR_ONE)
    if constant <= 0:
        return arb(2) ** -200_000
    if constant <= 1:
        return arb(1) if constant > 1 - gap else constant
    return 1 + gap if constant < 1 + gap else constant


def refined(compute: Callable[[], arb]) -> arb:
    """Return what `compute` returns at a precision at which its error is small."""
    precision = PRECISION
    while True:
        with bits(precision):
            result = compute()
        accurate = result.is_finite() and (
            result.rel_accuracy_bits() >= ACCURATE or result.is_zero() or abs(result) < NOTHING
        )
        if accurate or precision >= MOST_PRECISION:
            return result
        precision *= 2


def as_float_up(value: arb) -> float:
    """Return a double that is not below the ball."""
    import math

    end = top(value)
    if not end.is_finite():
        return math.inf
    near = float(end)
    while not arb(near) >= end:
        near = math.nextafter(near, math.inf)
    return near
