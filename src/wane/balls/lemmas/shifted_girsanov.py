"""The closeness of an overdamped chain to its target, computed again in balls.

Theorem S of docs/proofs/langevin-overdamped.md with its letters, for a chain from one point.  Every
choice of the free parameters and weights is valid: they are chosen in doubles, by a search of the
verifier's own, and the bound of the chosen ones is computed in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product

from flint import arb

from wane.balls.arithmetic import as_float_up, ball, bits, rounded_constant, top

BITS = 128
"""The recursion adds positive numbers, so that few digits are lost."""
FINE, COARSE = (32, 0.05), (12, 0.25)
"""Steps are taken one by one up to this place, then in blocks of this share of their place."""
LEAST_SLACK = 1e-150
MOST_INVERSE = arb(10) ** 250
FIRST_EXPONENTS = (4.0, 10.0, 30.0, 100.0, 400.0, 3000.0)
SECOND_EXPONENTS = (10.0, 40.0, 3000.0)
STRIDES = (1.5, 1.25)
"""Factors by which the search moves each free parameter, one round each."""


@dataclass(frozen=True)
class UnitTemperatureInBalls:
    """The constants of a chain at temperature one: potential, step size, steps, start.

    Attributes:
        d: dimension.
        m, L: bounds on the curvature, as balls.
        M3: Lipschitz constant of the Laplacian; None where none is declared.
        eta, N: step size and number of steps.
        r0: distance of the start from the minimiser, at most.
    """

    d: int
    m: arb
    L: arb
    M3: arb | None
    eta: arb
    N: int
    r0: arb

    @property
    def usable(self) -> bool:
        """Whether the theorem's hypotheses are certain to hold."""
        return bool(self.m > 0 and self.eta > 0 and self.eta * self.L < 2 and self.r0.is_finite())


@dataclass(frozen=True)
class GirsanovInBalls:
    """The theorem's free parameters, and four that shape the weights."""

    q1: float
    q2: float
    k1: float = 0.3
    s_beyond_one: float = 1.0
    u3_odds: float = 0.1
    drift: float = 0.8
    distance: float = 1.0
    noise: float = 1.5
    gradient: float = 1.0

    @property
    def rest(self) -> float:
        """One minus the two Hoelder exponents."""
        return 1.0 - 1.0 / self.q1 - 1.0 / self.q2


@dataclass(frozen=True)
class InductionBoundInBalls:
    """The constants A_0, C and W of the theorem."""

    A0: arb
    C: arb
    W: arb


@dataclass
class OverdampedChain:
    """The bound for one chain, at any order, in both directions."""

    x: UnitTemperatureInBalls
    blocks: tuple[int, float] = FINE
    _known: dict[tuple[bool, float], arb] = field(default_factory=dict)
    _chosen: dict[bool, GirsanovInBalls] = field(default_factory=dict)

    def divergence(self, order: float, *, chain_first: bool) -> arb:
        """Return an upper bound on the Renyi divergence of this order; infinite if unknown."""
        key = chain_first, order
        if key not in self._known:
            with bits(BITS):
                self._known[key] = self._searched(order, chain_first)
        return self._known[key]

    def _searched(self, order: float, chain_first: bool) -> arb:
        below = [o for way, o in self._known if way is chain_first and o < order]
        if not self.x.usable or any(not self._known[chain_first, o].is_finite() for o in below):
            return arb.pos_inf()  # divergences grow with the order
        starts = [GirsanovInBalls(a, b) for a, b in product(FIRST_EXPONENTS, SECOND_EXPONENTS)]
        if chain_first in self._chosen:
            starts.append(self._chosen[chain_first])

        def rough(free: GirsanovInBalls) -> float:
            return as_float_up(self._coarse.at(order, chain_first, free))

        best = min(starts, key=rough)
        if math.isfinite(rough(best)):
            best = self._chosen[chain_first] = _descended(best, rough)
        # what is better in long blocks need not be so in short ones
        return min((self.at(order, chain_first, free) for free in (best, *starts)), key=float)

    @cached_property
    def _coarse(self) -> OverdampedChain:
        """The same chain in long blocks, by which parameters are chosen."""
        return OverdampedChain(self.x, COARSE)

    def at(self, order: float, chain_first: bool, free: GirsanovInBalls) -> arb:
        """Return the theorem's bound at these free parameters."""
        x, alpha, q1, q2 = self.x, ball(order), ball(free.q1), ball(free.q2)
        rest = 1 - 1 / q1 - 1 / q2
        if not rest > 0:
            return arb.pos_inf()
        beta = alpha if chain_first else 1 - alpha
        price = q1 * (beta * beta / rest - beta) / 4
        bound = self._pieces(price, free) if price > 0 else None
        if bound is None:
            return arb.pos_inf()
        left = 1 - 2 * q2 / q1 * bound.W * x.L
        start = start_cost(bound.A0, m=x.m, d=x.d, r0=x.r0)
        if start is None or not left > 0:
            return arb.pos_inf()
        return top(((start + bound.C) / q1 - x.d / (2 * q2) * left.log()) / (alpha - 1))

    @cached_property
    def _c(self) -> arb:
        x = self.x
        with bits(BITS):
            factor = abs(1 - x.eta * x.m).max(abs(1 - x.eta * x.L))
            return rounded_constant(factor).max(arb(10) ** -8)

    @cached_property
    def _local(self) -> tuple[arb, arb, arb]:
        """a_0, a_1 and the variance of the local error."""
        x = self.x
        with bits(BITS):
            half = ball(x.d) / 2
            norm = arb(2).sqrt() * ((half + arb(1) / 2).lgamma() - half.lgamma()).exp()
            a0 = 2 * arb(2).sqrt() / 3 * (x.L - x.m) / 2 * norm * x.eta * x.eta.sqrt()
            if x.M3 is not None:
                a0 = top(a0).min(top(x.M3 * x.eta**2 / 2))
            a0 = top(a0).max(arb(0))
            return a0, top(x.L * x.eta**2 / 2), top(2 * x.L**2 * x.eta**3 / 3)

    def _pieces(self, price: arb, free: GirsanovInBalls) -> InductionBoundInBalls | None:
        """Return steps 6 and 7 of the proof; None where their conditions fail."""
        x, (a0, a1, _) = self.x, self._local
        g = ball(free.gradient * math.sqrt(float(x.L) * x.d))
        a = a0 + a1 * g
        s = 1 + ball(free.s_beyond_one)
        other = s / (s - 1)
        u3 = ball(free.u3_odds) / (1 + ball(free.u3_odds))
        k1 = ball(free.k1)
        angle = 2 * x.L * x.eta * (other * price / (1 - u3)).sqrt()
        if not angle < arb.pi() / 2:
            return None
        first = x.eta / (price * self._c**2 * (1 + k1 + 4 * s * price * (x.L * x.eta) ** 2 / 3))
        summed = self._blocks(first.lower(), x.eta / price, float(a), free)
        if summed is None:
            return None
        last, J, noise = summed
        C = -x.d / (2 * other) * angle.cos().log() + price * a0 * a / (x.eta * k1)
        W = price * x.L**2 * x.eta**3 / (3 * u3) + price * a1 * a / (g * x.eta * k1)
        return InductionBoundInBalls(
            top(1 / last), top(C + noise + J * a * a0), top(W + J * a * a1 / g)
        )

    def _blocks(
        self, entering: arb, push: arb, a: float, free: GirsanovInBalls
    ) -> tuple[arb, arb, arb] | None:
        """Return the last inverse weight, the sum J and the noise's price, block by block.

        An inverse weight may be replaced by any smaller number.
        """
        twice, square = 2 * self._local[2], self._c**2
        J, noise = arb(0), arb(0)
        for (_, count), slack in zip(self._cut, self._slacks(a, free), strict=True):
            share = ball(slack)
            w = 1 - share
            rho, kappa = w / square, (push - twice * w) / square
            before, before_sum = _geometric(rho, count - 1)
            final = _least(before * entering + kappa * before_sum)
            if not (entering > twice and final > twice):
                return None
            convex = _convex(entering, final, rho, kappa)
            J += count * _charged(lambda i: 1 / (i - twice), entering, final, convex) / share
            noise += count * _charged(lambda i: -(1 - twice / i).log(), entering, final, convex)
            entering = _least((push + w * (final - twice)) / square)
        return entering, top(J), top(self.x.d * noise / 2)

    @cached_property
    def _cut(self) -> list[tuple[int, int]]:
        """The steps 2 to N in blocks: first step and length."""
        (single, growth), blocks, place = self.blocks, [], 2
        while place <= self.x.N:
            length = 1 if place < single else max(1, math.floor(growth * place))
            blocks.append((place, min(length, self.x.N - place + 1)))
            place += length
        return blocks

    @cached_property
    def _decay(self) -> tuple[float, float]:
        """The logarithm of c and 1 - c, nearly; only weights are chosen by them."""
        gap = max(float(1 - self._c), 1e-300)
        return math.log1p(-gap), gap

    @cached_property
    def _sums(self) -> list[tuple[float, float, float]]:
        """For each block, i steps from the end: c^(N-i), and the sums of c^k and c^2k below i."""
        log_c, gap = self._decay
        both = gap * (2.0 - gap)
        return [
            (
                math.exp((self.x.N + 1 - place) * log_c),
                -math.expm1((place - 1) * log_c) / gap,
                -math.expm1(2.0 * (place - 1) * log_c) / both,
            )
            for place, _ in self._cut
        ]

    def _slacks(self, a: float, free: GirsanovInBalls) -> Iterator[float]:
        """Yield one minus the weights: a step's drift over the planned remaining distance.

        The plan is the cheapest way to zero for a distance that contracts, drifts and is pushed.
        """
        x, drift = self.x, free.drift * a
        log_c, gap = self._decay
        all_steps = math.exp(x.N * log_c)
        total = -math.expm1(2.0 * x.N * log_c) / (gap * (2.0 - gap))
        far = free.distance * (math.sqrt(x.d / float(x.m)) + float(x.r0))
        spread = free.noise * float(self._local[2]) * x.d
        for decay, S1, S2 in self._sums:
            planned = decay * far * S2 / total + drift * S1 * (1.0 - decay) / (1.0 + all_steps)
            size = math.hypot(planned, math.sqrt(spread * S2))
            wanted = drift / size if size > 0.0 else 1.0
            yield min(max(wanted, LEAST_SLACK), 1.0)


def start_cost(A: arb, *, m: arb, d: int, r0: arb) -> arb | None:
    """Return the cost of the start's distance (step 9), at nearly the best share w; None if all.

    The logarithm of E exp(A |e|^2), |e| being at most r0 plus the norm of N(0, I/m).
    """
    v, P = 2 * A / m, A * r0**2
    if not v < 1:
        return None
    if P.is_zero():
        return -d * (1 - v).log() / 2

    def cost(w: arb) -> arb:
        return -d * (1 - v / w).log() / 2 + P / (1 - w)

    w = ball(_share(float(v), float(P), 0.5 * d * float(v)))
    return cost(w) if v < w < 1 else cost((1 + v.mid()) / 2)


def _share(v: float, P: float, Q: float) -> float:
    """Return the w that minimises `-(d/2) ln(1 - v/w) + P/(1-w)`.

    It solves `P w (w - v) = Q (1 - w)^2` with Q = d v/2.
    """
    b, root = 2.0 * Q - P * v, math.sqrt((P * v) ** 2 + 4.0 * P * Q * (1.0 - v))
    return 2.0 * Q / (b + root) if b > 0.0 else (root - b) / (2.0 * (P - Q))


def _least(value: arb) -> arb:
    """Return a lower end, cut where it is too large to matter."""
    return value.lower().min(MOST_INVERSE)


def _geometric(rho: arb, steps: int) -> tuple[arb, arb]:
    """Return rho^steps and 1 + rho + ... + rho^(steps - 1), in a wider ball where rho may be 1."""
    if steps == 0:
        return arb(1), arb(0)
    power = rho**steps
    below = 1 - rho
    if below.contains(arb(0)):
        return power, (steps * rho ** (steps - 1)).union(ball(steps))
    return power, (1 - power) / below


def _convex(entering: arb, final: arb, rho: arb, kappa: arb) -> bool:
    """Return whether both summands are certainly convex on the block, so that a chord is above."""
    drop = 1 - rho
    bends = drop <= 0 or entering * drop <= kappa or final * drop >= 2 * kappa
    return bool(kappa >= 0 and bends)


def _charged(summand: Callable[[arb], arb], entering: arb, final: arb, convex: bool) -> arb:
    """Return the mean of both ends under a chord, else the larger of them."""
    left, right = summand(entering), summand(final)
    return (left + right) / 2 if convex else left.max(right)


def _descended(
    best: GirsanovInBalls, height: Callable[[GirsanovInBalls], float]
) -> GirsanovInBalls:
    """Return the parameters after moving each in turn by a factor where that helps."""
    least = height(best)
    for stride, row in product(STRIDES, fields(GirsanovInBalls)):
        for factor in (stride, 1.0 / stride):
            moved = replace(best, **{row.name: getattr(best, row.name) * factor})
            value = height(moved) if moved.rest > 0.0 else math.inf
            if value < least:
                best, least = moved, value
                break
    return best
