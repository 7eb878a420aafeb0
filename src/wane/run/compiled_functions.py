"""Exponential and logarithm without branches, so that compiled loops are vectorised.

Both take a double apart by its bits: 64 of them, a sign, 11 for the exponent with 1023 added, 52
for what follows the leading 1.  What remains is a polynomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.run import compiling

LEAST, MOST = -708.0, 300.0
"""Below, exp(x) is 0; above, it is exp(300), which can still be squared."""
PER_OCTAVE = 1.4426950408889634
OCTAVE = 0.6931471805599453
OCTAVE_HIGH, OCTAVE_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts, the first short enough for exact products with whole numbers."""
WHOLE = 1.5 * 2.0**52
"""Added to a number it leaves no digits behind the point; taken away again, the rounded number."""
BITS = np.uint64(52)
DIGITS = np.uint64(2**52 - 1)
ONE = np.uint64(1023 * 2**52)
COUNT = np.uint64(1075 * 2**52)
"""The bits of 2^52; with a whole number in place of its digits it is 2^52 plus that."""
ZERO_EXPONENT = 2.0**52 + 1023.0


def compiled(compiler: compiling.Compiler) -> tuple[Any, Any, Any]:
    """Return the three functions compiled, without reassociation, which would undo the rounding."""
    exact = (exponential, logarithm, log_above)
    one, two, three = (compiler(function, fastmath={"contract"}) for function in exact)
    return one, two, three


def exponential(x: Any) -> Any:
    """Return exp(x) to the last digit or two, between LEAST and MOST."""
    short = max(min(x, MOST), LEAST)
    shifted = short * PER_OCTAVE + WHOLE
    octaves = shifted - WHOLE
    t = (short - octaves * OCTAVE_HIGH) - octaves * OCTAVE_LOW
    p = 1 / 6227020800
    p = p * t + 1 / 479001600
    p = p * t + 1 / 39916800
    p = p * t + 1 / 3628800
    p = p * t + 1 / 362880
    p = p * t + 1 / 40320
    p = p * t + 1 / 5040
    p = p * t + 1 / 720
    p = p * t + 1 / 120
    p = p * t + 1 / 24
    p = p * t + 1 / 6
    p = p * t + 1 / 2
    p = p * t + 1.0
    p = p * t + 1.0
    # the last bits of `shifted` are those of the whole number
    power = np.uint64((np.float64(shifted).view(np.uint64) << BITS) + ONE).view(np.float64)
    return 0.0 if x < LEAST else p * power


def logarithm(x: Any) -> Any:
    """Return log(x) to the last digit or two; nonsense unless x is finite and at least 2^-1022."""
    bits = np.float64(x).view(np.uint64)
    octaves = np.uint64((bits >> BITS) | COUNT).view(np.float64) - ZERO_EXPONENT
    m = np.uint64((bits & DIGITS) | ONE).view(np.float64)
    upper = m > 1.4142135623730951
    m = 0.5 * m if upper else m
    octaves = octaves + 1.0 if upper else octaves
    s = (m - 1.0) / (m + 1.0)  # log m = 2 artanh s
    q = s * s
    p = 2 / 19
    p = p * q + 2 / 17
    p = p * q + 2 / 15
    p = p * q + 2 / 13
    p = p * q + 2 / 11
    p = p * q + 2 / 9
    p = p * q + 2 / 7
    p = p * q + 2 / 5
    p = p * q + 2 / 3
    return octaves * OCTAVE + (2.0 * s + s * q * p)


def log_above(x: Any) -> Any:
    """Return what is above log(x) by at most 0.08, by the tangent at 1.5 in each octave."""
    bits = np.float64(x).view(np.uint64)
    octaves = np.uint64((bits >> BITS) | COUNT).view(np.float64) - ZERO_EXPONENT
    m = np.uint64((bits & DIGITS) | ONE).view(np.float64)
    return octaves * OCTAVE + (m * (2 / 3) - 0.5945348918918355)
