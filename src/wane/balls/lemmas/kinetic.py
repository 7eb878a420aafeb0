"""The privacy of underdamped chains and their closeness to the target, computed again in balls.

docs/proofs/kinetic-privacy.md and Theorem U of docs/proofs/langevin-underdamped.md, with their
letters.  Every choice of the free parameters is valid.

Integrals are those of polynomials and sums those of powers, both with exact coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product

from flint import arb

from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.balls.lemmas.shifted_girsanov import start_cost

WINDOWS = tuple(2.0 ** (place / 8.0) for place in range(-24, 33))
"""In units of the friction's time; every window is valid."""
FEW_WINDOWS = (0.3, 1.0, 2.0, 4.0, 8.0)
FIRST_EXPONENTS = (4.0, 10.0, 30.0, 100.0, 400.0, 3000.0)
SECOND_EXPONENTS = (10.0, 40.0, 3000.0)
SHARES = (Fraction(1, 20), Fraction(17, 20), Fraction(1, 10))
"""Of the start, of the drift before the window, and of the window's own."""
BITS = 192
HERMITE = ((1, 0, -3, 2), (0, 1, -2, 1))
"""The cubic's shares of a gap in position and of one in velocity, by powers of s."""
Square = tuple[arb, arb, arb]
"""A symmetric matrix of two rows: its corners and what is between them."""


@dataclass(frozen=True)
class UnderdampedChain:
    """A chain at temperature one, and the change of its gradient by one record, in balls.

    Attributes:
        d: dimension.
        m, L: bounds on the curvature of f = F/temperature.
        gam: friction.
        mu: inverse mass times temperature.
        eta, N: step size and number of steps.
        r0: distance of the start, one point, from the minimiser, at most.
        moved: the largest distance between the gradients of f on neighbouring data.
    """

    d: int
    m: arb
    L: arb
    gam: arb
    mu: arb
    eta: arb
    N: int
    r0: arb
    moved: arb
    _known: dict[int, arb] = field(default_factory=dict, compare=False, repr=False)

    def composed(self) -> arb:
        """Return the mu of all noise together: `mu GD sqrt(N eta/(2 gam mu))`."""
        with bits(PRECISION):
            return top(self._energy(self.N))

    def last_state(self) -> arb:
        """Return the least mu over windows; infinite where no step is known to contract."""
        return min((self.with_window(window) for window in self._windows(WINDOWS)), key=float)

    def with_window(self, window: int) -> arb:
        """Return the theorem's mu for one window K."""
        with bits(PRECISION):
            contraction = self._contraction
            if contraction is None:
                return arb.pos_inf()
            k1, C = contraction
            geometric = (1 - C ** (self.N - window)) / (1 - C)
            Psi = arb(2).sqrt() * self.mu * self.moved * self.eta * (1 + k1) * geometric
            steered = self._steering(window) * Psi / (2 * self.gam * self.mu).sqrt()
            return top(steered + self._energy(window))

    def divergence(self, order: float, *, chain_first: bool) -> arb:
        """Return the bound of Theorem U on the divergence from the target; infinite if none."""
        frees = product(self._windows(FEW_WINDOWS), FIRST_EXPONENTS, SECOND_EXPONENTS)
        with bits(BITS):
            return min((self.at(order, chain_first, *free) for free in frees), key=float)

    def at(self, order: float, chain_first: bool, window: int, first: float, second: float) -> arb:
        """Return Theorem U at these free parameters: the window and two Hoelder exponents."""
        contraction, alpha, q1, q2 = self._contraction, ball(order), ball(first), ball(second)
        rest = 1 - 1 / q1 - 1 / q2
        if contraction is None or not rest > 0 or not self.r0.is_finite():
            return arb.pos_inf()
        (k1, C), (near, before, within) = contraction, map(ball, SHARES)
        beta = alpha if chain_first else 1 - alpha
        lam = (beta * beta / rest - beta) / (4 * self.gam * self.mu)
        cost, faded = self._steering(window), C ** (self.N - window)
        drift = (cost * k1 * (1 - faded) / (1 - C)) ** 2 / before
        moved = (self.mu * self.L * 2 * self.eta / arb.pi()) ** 2 * window * self.eta / within
        left = 1 - 2 * q1 * lam * (drift + moved) * self.mu
        A0 = q2 * lam / near * (cost * faded * self.gam) ** 2
        start = start_cost(A0, m=self.m, d=self.d, r0=self.r0)
        if start is None or not left > 0:
            return arb.pos_inf()
        return top((start / q2 - self.d / (2 * q1) * left.log()) / (alpha - 1))

    def _windows(self, units: Sequence[float]) -> list[int]:
        """Return windows of so many friction times, no longer than the run."""
        usual = 1.0 / (float(self.gam) * float(self.eta))
        return sorted({min(max(round(unit * usual), 1), self.N) for unit in units})

    @cached_property
    def _contraction(self) -> tuple[arb, arb] | None:
        """k1 and C of one step; None if it is not known to contract."""
        with bits(PRECISION):
            k0 = self.mu * self.L * self.eta**2 / arb(2).sqrt()
            high = self.gam - self.mu * self.L / self.gam
            rate = (self.mu * self.m / self.gam).min(high)
            if not (k0 < 1 and self.m > 0):
                return None
            k1 = k0 / (1 - k0)
            C = (-rate * self.eta).exp() + k1
            return (k1, C) if C < 1 else None

    def _energy(self, steps: int) -> arb:
        return self.mu * self.moved * (steps * self.eta / (2 * self.gam * self.mu)).sqrt()

    def _steering(self, window: int) -> arb:
        """Return c_Psi of the distance proof."""
        if window not in self._known:
            with bits(PRECISION):
                self._known[window] = self._steered(window)
        return self._known[window]

    def _steered(self, window: int) -> arb:
        r, gam = window * self.eta, self.gam
        controls = (
            (6 / r**2, 6 * gam / r - 12 / r**2, -6 * gam / r),
            (4 / r - gam, 4 * gam - 6 / r, -3 * gam),
        )
        means = [ball(Fraction(1, power + 1)) for power in range(5)]
        G = _scaled(_products(controls, means), (r, r, r))
        sums = [ball(power_mean(window, power)) for power in range(7)]
        paths = [[ball(share) for share in row] for row in HERMITE]
        H = _scaled(_products(paths, sums), (r, r**2, r**3))
        return self._norm(G) + self.mu * self.L * self._norm(H)

    def _norm(self, M: Square) -> arb:
        """Return the root of T'MT's largest eigenvalue, rounded up; T is from Psi to the gaps."""
        first, both, last = M
        a = first / self.gam**2
        b = both / self.gam - a
        c = a - 2 * both / self.gam + last
        half = (a - c) / 2
        root = top(half * half + b * b).sqrt()  # flint has no power or root of a ball around zero
        return top((a + c) / 2 + root).sqrt()


def _products(rows: Sequence[Sequence[arb]], means: Sequence[arb]) -> Square:
    """Return the means of the products of two polynomials in s, from the means of its powers."""

    def mean(p: Sequence[arb], q: Sequence[arb]) -> arb:
        terms = (a * b * means[i + j] for i, a in enumerate(p) for j, b in enumerate(q))
        return sum(terms, arb(0))

    return mean(rows[0], rows[0]), mean(rows[0], rows[1]), mean(rows[1], rows[1])


def _scaled(M: Square, by: tuple[arb, arb, arb]) -> Square:
    return M[0] * by[0], M[1] * by[1], M[2] * by[2]


def power_mean(count: int, power: int) -> Fraction:
    """Return the mean of `(k/count)^power` over k below `count`, exactly (Faulhaber)."""
    terms = (math.comb(power + 1, j) * b / count**j for j, b in enumerate(_bernoulli(power)))
    return sum(terms, Fraction(0)) / (power + 1)


def _bernoulli(most: int) -> list[Fraction]:
    """Return Bernoulli's numbers up to this one, by their recursion."""
    numbers: list[Fraction] = []
    for n in range(most + 1):
        rest = sum((math.comb(n + 1, j) * b for j, b in enumerate(numbers)), Fraction(0))
        numbers.append((Fraction(int(n == 0)) - rest) / (n + 1))
    return numbers
