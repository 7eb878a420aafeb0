"""Numbers with several Laplace noises on each, again and in balls.

The sum of noises has the generating function G(z), a product of (1 - q)^2/((1 - q z)(1 - q/z)), and
G(z) = G(1/z).  So the mass of k >= 0 is the sum of the residues of G(z) z^(k-1) inside the unit
circle, which lie at the ratios q, and that of all numbers from k on has 1/(1 - z) as one factor
more.  Noises of equal scale make poles of higher order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from wane.balls.arithmetic import ball, refined, top
from wane.balls.bounds import Bound
from wane.balls.lemmas.positions import TooLarge
from wane.balls.verifier import verifier
from wane.describe.laplace import LaplaceRelease

MOST_NOISES = 64
"""Their ratios are close together, and each further one costs digits."""
FARTHEST = 1 << 28
"""Units beyond the shift at which a threshold is looked for: what lies there is below 2^-4000."""


@dataclass(frozen=True)
class _Pole:
    """A ratio with the series of what is left without its pole, of masses and of tails."""

    scale: int
    mass: tuple[arb, ...]
    tail: tuple[arb, ...]

    def residue(self, series: Sequence[arb], power: int) -> arb:
        """Return the last coefficient of the series times (q + t)^power."""
        total = arb(0)
        for k, coefficient in enumerate(reversed(series)):
            if k > power:
                break
            # binomial(power, k) q^(power - k)
            falling = (arb(k - power) / self.scale).exp()
            total += coefficient * math.comb(power, k) * falling
        return total


@dataclass(frozen=True)
class _Sum:
    """The law of the sum of noises of these scales."""

    noises: int
    poles: tuple[_Pole, ...]

    def mass(self, k: int) -> arb:
        """Return the probability of k."""
        power = self.noises + abs(k) - 1
        return sum((pole.residue(pole.mass, power) for pole in self.poles), arb(0))

    def from_on(self, k: int) -> arb:
        """Return the probability of k and all above."""
        if k <= 0:
            return 1 - self.from_on(1 - k)
        power = self.noises + k - 1
        return sum((pole.residue(pole.tail, power) for pole in self.poles), arb(0))


@lru_cache(8)
def _law(scales: tuple[int, ...], precision: int) -> _Sum:
    """Return the law; `precision` is that of the context, so that no coarser one is found again."""
    ratios = {scale: ball(Fraction(-1, scale)).exp() for scale in scales}
    weight = arb(1)
    for scale in scales:
        weight *= (1 - ratios[scale]) ** 2
    poles = []
    for scale, order in Counter(scales).items():
        q, mass = ratios[scale], (weight, *(arb(0) for _ in range(order - 1)))
        for other in scales:
            r = ratios[other]
            mass = _divided(mass, 1 - r * q, -r)
            mass = mass if other == scale else _divided(mass, q - r, arb(1))
        poles.append(_Pole(scale, mass, _divided(mass, 1 - q, arb(-1))))
    return _Sum(len(scales), tuple(poles))


def _divided(series: Sequence[arb], constant: arb, slope: arb) -> tuple[arb, ...]:
    """Return a series divided by constant + slope t."""
    quotient: list[arb] = []
    for coefficient in series:
        known = slope * quotient[-1] if quotient else arb(0)
        quotient.append((coefficient - known) / constant)
    return tuple(quotient)


@dataclass(frozen=True)
class LaplaceSum(Bound):
    """What a shift by so many units costs, if noises of these scales are added."""

    shift: int
    scales: tuple[int, ...]

    def delta(self, epsilon: arb) -> arb:
        """Return the mass that the best threshold gains, none from the largest likelihood ratio."""
        if epsilon >= ball(Fraction(self.shift, max(self.scales))):
            return arb(0)
        return top(refined(lambda: self._gained(epsilon))).min(arb(1))

    def for_group(self, size: int) -> LaplaceSum:
        """Return the bound for a shift so many times as long."""
        return self if size == 1 else LaplaceSum(self.shift * size, self.scales)

    def _gained(self, epsilon: arb) -> arb:
        """Return the largest of P(X >= k - shift) - e^epsilon P(X >= k) over all thresholds k.

        It rises with k as long as e^epsilon times the mass of k is above that of k - shift, and
        the quotient of both falls.  If the quotient is 1 + r at k, thresholds beyond gain at most
        r times what lies above k - shift.
        """
        law, factor = _law(self.scales, ctx.prec), epsilon.exp()

        def rising(k: int) -> arb:
            return factor * law.mass(k) / law.mass(k - self.shift) - 1

        below = self.shift // 2  # up to the middle the mass of k is the larger one
        step = max(self.scales)  # a threshold is rarely much farther off
        k = below + step
        while rising(k) > 0 and k < self.shift + FARTHEST:
            below, k, step = k, k + step, 2 * step
        while k - below > 1:
            middle = (below + k) // 2
            below, k = (middle, k) if rising(middle) > 0 else (below, middle)
        beyond = top(rising(k)).max(arb(0))
        moved = law.from_on(k - self.shift)
        return moved - factor * law.from_on(k) + beyond * moved


@verifier(of=LaplaceRelease)
def laplace_sum(release: LaplaceRelease) -> Bound:
    """Return the bound of the shift that the sensitivity and the roundings allow."""
    if len(release.scales_in_units) > MOST_NOISES:
        raise TooLarge(f"sums of more than {MOST_NOISES} noises are not computed again")
    entries = release.dimension  # each is rounded to a multiple of the unit
    shift = math.floor(Fraction(release.sensitivity) / Fraction(release.unit)) + entries
    return LaplaceSum(shift, release.scales_in_units)
