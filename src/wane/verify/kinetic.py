"""Underdamped chains, again and in balls: docs/proofs/kinetic-privacy.md, with its letters.

Integrals are those of polynomials and sums those of powers, both with exact coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb

from wane.balls.arithmetic import PRECISION, ball, bits, top

WINDOWS = tuple(2.0 ** (place / 8.0) for place in range(-24, 33))
"""In units of the friction's time; every window is valid."""
HERMITE = ((1, 0, -3, 2), (0, 1, -2, 1))
"""The cubic's shares of a gap in position and of one in velocity, by powers of s."""
Square = tuple[arb, arb, arb]
"""A symmetric matrix of two rows: its corners and what is between them."""


@dataclass(frozen=True)
class Underdamped:
    """A chain as it was described, and how far one record moves its gradient.

    Attributes:
        strong_convexity, smoothness: of the potential F.
        friction, inverse_mass, temperature: of the dynamics.
        step_size, steps: of the chain.
        sensitivity: the largest distance between the gradients of F on neighbouring data.
    """

    strong_convexity: float
    smoothness: float
    friction: float
    inverse_mass: float
    temperature: float
    step_size: float
    steps: int
    sensitivity: float

    def composed(self) -> arb:
        """The mu of all noise together: `mu GD sqrt(N eta/(2 gam mu))`."""
        with bits(PRECISION):
            return top(self._energy(self.steps))

    def last_state(self) -> arb:
        """The least mu over windows; infinite where no step is known to contract."""
        usual = 1.0 / (self.friction * self.step_size)
        tried = {min(max(round(w * usual), 1), self.steps) for w in WINDOWS}
        return min((self.with_window(window) for window in tried), key=float)

    def with_window(self, window: int) -> arb:
        """The theorem for one window K."""
        with bits(PRECISION):
            return self._with_window(window)

    def _with_window(self, window: int) -> arb:
        k0 = self._mu * self._high * self._eta**2 / arb(2).sqrt()
        rate = (self._mu * self._low / self._gam).min(self._gam - self._mu * self._high / self._gam)
        if not (k0 < 1 and self._low > 0):
            return arb.pos_inf()
        k1 = k0 / (1 - k0)
        C = (-rate * self._eta).exp() + k1
        if not C < 1:
            return arb.pos_inf()
        whole = (1 - C ** (self.steps - window)) / (1 - C)
        Psi = arb(2).sqrt() * self._mu * self._moved * self._eta * (1 + k1) * whole
        steered = self._steering(window) * Psi / (2 * self._gam * self._mu).sqrt()
        return top(steered + self._energy(window))

    def _energy(self, steps: int) -> arb:
        return self._mu * self._moved * (steps * self._eta / (2 * self._gam * self._mu)).sqrt()

    def _steering(self, window: int) -> arb:
        """c_Psi of the distance proof."""
        r, gam = window * self._eta, self._gam
        controls = (
            (6 / r**2, 6 * gam / r - 12 / r**2, -6 * gam / r),
            (4 / r - gam, 4 * gam - 6 / r, -3 * gam),
        )
        means = [ball(Fraction(1, power + 1)) for power in range(5)]
        G = _scaled(_products(controls, means), (r, r, r))
        sums = [ball(power_mean(window, power)) for power in range(7)]
        paths = [[ball(share) for share in row] for row in HERMITE]
        H = _scaled(_products(paths, sums), (r, r**2, r**3))
        return self._norm(G) + self._mu * self._high * self._norm(H)

    def _norm(self, M: Square) -> arb:
        """The root of the largest eigenvalue of T'MT, T from Psi to the gaps, or a little more."""
        first, both, last = M
        gam = self._gam
        a = first / gam**2
        b = both / gam - a
        c = a - 2 * both / gam + last
        half = (a - c) / 2
        root = top(half * half + b * b).sqrt()  # flint has no power or root of a ball around zero
        return top((a + c) / 2 + root).sqrt()

    @cached_property
    def _mu(self) -> arb:
        return ball(self.inverse_mass) * ball(self.temperature)

    @cached_property
    def _moved(self) -> arb:
        return ball(self.sensitivity) / ball(self.temperature)

    @cached_property
    def _low(self) -> arb:
        return ball(self.strong_convexity) / ball(self.temperature)

    @cached_property
    def _high(self) -> arb:
        return ball(self.smoothness) / ball(self.temperature)

    @property
    def _gam(self) -> arb:
        return ball(self.friction)

    @property
    def _eta(self) -> arb:
        return ball(self.step_size)


def _products(rows: Sequence[Sequence[arb]], means: Sequence[arb]) -> Square:
    """The means of the products of two polynomials in s, from the means of its powers."""

    def mean(p: Sequence[arb], q: Sequence[arb]) -> arb:
        terms = (a * b * means[i + j] for i, a in enumerate(p) for j, b in enumerate(q))
        return sum(terms, arb(0))

    return mean(rows[0], rows[0]), mean(rows[0], rows[1]), mean(rows[1], rows[1])


def _scaled(M: Square, by: tuple[arb, arb, arb]) -> Square:
    return M[0] * by[0], M[1] * by[1], M[2] * by[2]


def power_mean(count: int, power: int) -> Fraction:
    """The mean of `(k/count)^power` over k below `count`, exactly (Faulhaber)."""
    terms = (math.comb(power + 1, j) * b / count**j for j, b in enumerate(_bernoulli(power)))
    return sum(terms, Fraction(0)) / (power + 1)


def _bernoulli(most: int) -> list[Fraction]:
    """Bernoulli's numbers up to this one, from their recursion."""
    made: list[Fraction] = []
    for n in range(most + 1):
        rest = sum((math.comb(n + 1, j) * b for j, b in enumerate(made)), Fraction(0))
        made.append((Fraction(int(n == 0)) - rest) / (n + 1))
    return made
