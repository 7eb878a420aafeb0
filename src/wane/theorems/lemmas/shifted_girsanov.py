"""Overdamped Langevin against its target: the shifted Girsanov bound at given free parameters.

The chain is steered into a stationary diffusion; Girsanov's theorem prices the steering.  Any
admissible values of the free parameters give a valid bound, so that whoever chooses them cannot
err on the wrong side.  Letters, statement and proof: docs/proofs/langevin-overdamped.md.

The recursion over the steps is affine where the weight is constant.  Steps are therefore grouped
in blocks that grow geometrically, and each block costs one step: O(log N) in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wane.arrays import Array
from wane.numerics.rounding import inflate
from wane.theorems.lemmas.letters import (
    Letters,
    chi_mean,
    log_moment,
    minus_log_cos,
    minus_log_one_minus,
)

_LEAST_CONTRACTION = 1e-8  # a constant larger than the true one is valid, and never divides by zero
_MOST_PRECISION = 1e250  # inverse weights are cut here; smaller ones are valid
_MARGIN = 1.05  # an inverse weight must exceed 2 sig2 by this factor, so that nothing cancels


@dataclass(frozen=True)
class Free:
    """The free parameters; every choice in the stated ranges gives a valid bound.

    Attributes:
        q1, q2: Hoelder exponents above one with 1/q1 + 1/q2 < 1.
        k1: above zero; shares the last step between steering and drift.
        s: above one; shares the last step between noise and its square.
        u3: in (0, 1); shares the movement within the last step.
        chi: above zero; the local error's share in the weights.
        distance_scale: above zero; the start's predicted distance, in units of its natural value.
        nu: at least zero; the noise's share in the weights.
        gm: above zero; the gradient's typical size, in units of sqrt(L d).
    """

    q1: float = 20.0
    q2: float = 20.0
    k1: float = 0.3
    s: float = 2.0
    u3: float = 0.1
    chi: float = 0.8
    distance_scale: float = 1.0
    nu: float = 1.5
    gm: float = 1.0

    @property
    def admissible(self) -> bool:
        """Whether the theorem covers these values."""
        positive = min(self.k1, self.chi, self.distance_scale, self.gm) > 0.0 <= self.nu
        shares = self.s > 1.0 and 0.0 < self.u3 < 1.0
        return positive and shares and min(self.q1, self.q2) > 1.0 and self._rest > 0.0

    @property
    def p(self) -> float:
        """The third exponent."""
        return 1.0 / self._rest

    @property
    def _rest(self) -> float:
        return 1.0 - 1.0 / self.q1 - 1.0 / self.q2


@dataclass(frozen=True)
class Grouping:
    """How steps are grouped: singly before `first`, then by blocks of `growth` times their place.

    With `chord` a block is charged the mean of its first and last summand wherever the summands
    are convex along it; else, and elsewhere, the larger of the two.
    """

    first: int
    growth: float
    chord: bool = True

    def cut(self, steps: int) -> tuple[Array, Array]:
        """Return the places 2..steps as blocks: each block's first place, and how many it has."""
        return _cut(self, steps)


@lru_cache(maxsize=256)
def _cut(by: Grouping, steps: int) -> tuple[Array, Array]:
    if by.growth == 0.0:
        places = np.arange(2, steps + 1, dtype=np.float64)
        return places, np.ones_like(places)
    starts, counts, j = [], [], 2
    while j <= steps:
        g = max(1, math.floor(by.growth * j)) if j >= by.first else 1
        g = min(g, steps - j + 1)
        starts.append(float(j))
        counts.append(float(g))
        j += g
    return np.array(starts), np.array(counts)


@dataclass(frozen=True)
class Local:
    """One step's local error: mean at most a0 + a1 |gradient|, noise sub-Gaussian with sig2."""

    a0: float
    a1: float
    sig2: float


def local_error(x: Letters) -> Local:
    """Bounds of the stationary diffusion's local error over one step (step 4 of the proof)."""
    rough = 2.0 * math.sqrt(2.0) / 3.0 * 0.5 * (x.L - x.m) * chi_mean(x.d) * x.eta**1.5
    return Local(
        min(rough, 0.5 * x.M3 * x.eta**2), 0.5 * x.L * x.eta**2, 2.0 / 3.0 * x.L**2 * x.eta**3
    )


@dataclass(frozen=True)
class Pieces:
    """What the backward induction leaves: ln E exp(lam' S - ...) <= A0 |e_0|^2 + C, and W."""

    A0: float
    C: float
    W: float


NO_BOUND = Pieces(math.inf, math.inf, math.inf)


class ShiftedGirsanov:
    """The bound for one chain; what does not depend on the free parameters is kept."""

    def __init__(self, x: Letters, grouping: Grouping) -> None:
        self.x = x
        self.local = local_error(x)
        self.contracts = x.contraction_gap > 0.0
        self.gap = min(max(x.contraction_gap, 1e-300), 1.0 - _LEAST_CONTRACTION)
        self.log_c = math.log1p(-self.gap)
        self.starts, self.counts = grouping.cut(x.N)
        self.chord = grouping.chord
        before = self.starts - 1.0
        self.S1 = -np.expm1(before * self.log_c) / self.gap
        self.S2 = -np.expm1(2.0 * before * self.log_c) / (self.gap * (2.0 - self.gap))
        self.doubt = 1e-12 + 4e-15 * (len(self.starts) + abs(self.log_c) * x.N)

    @property
    def natural_distance(self) -> float:
        """The root mean square of the start's distance from a stationary copy, bounded."""
        return math.sqrt(self.x.d * (self.x.s0 + 1.0 / self.x.m)) + self.x.r0

    def divergence(self, lam: float, free: Free) -> float:
        """(1/(alpha-1)) times this bounds the Renyi divergence whose price is `lam`."""
        if not (self.contracts and free.admissible) or math.isinf(self.x.r0):
            return math.inf
        x, pieces = self.x, self.pieces(free.q1 * lam, free)
        start = log_moment(pieces.A0, d=x.d, variance=x.s0 + 1.0 / x.m, offset=x.r0)
        share = 2.0 * free.q2 / free.q1 * pieces.W * x.L
        gradients = 0.5 * x.d / free.q2 * minus_log_one_minus(share)
        return inflate((start + pieces.C) / free.q1 + gradients, 1e-13)

    def relative_entropy(self, free: Free, price: float = 1e-10) -> float:
        """KL(target || chain), valid at every price: Jensen's inequality replaces Hoelder's."""
        if not (self.contracts and free.admissible) or math.isinf(self.x.r0):
            return math.inf
        x, pieces = self.x, self.pieces(price, free)
        squared = self.natural_distance**2
        return inflate(
            (pieces.A0 * squared + pieces.C + pieces.W * x.L * x.d) / (4.0 * price), 1e-13
        )

    def pieces(self, lam: float, free: Free) -> Pieces:
        """Steps 6 and 7 of the proof at lam' = `lam`, rounded up; infinite where they need more."""
        x, a0, a1 = self.x, self.local.a0, self.local.a1
        gbar = free.gm * math.sqrt(x.L * x.d)
        a = a0 + a1 * gbar
        other = free.s / (free.s - 1.0)
        angle = 2.0 * x.L * x.eta * math.sqrt(other * lam / (1.0 - free.u3))
        squeeze = 1.0 + free.k1 + 4.0 / 3.0 * free.s * lam * (x.L * x.eta) ** 2
        first = x.eta / (lam * math.exp(2.0 * self.log_c) * squeeze)
        C = 0.5 * x.d / other * minus_log_cos(inflate(angle, 1e-14))
        C += lam * a0 * a / (x.eta * free.k1)
        W = lam * x.L**2 * x.eta**3 / (3.0 * free.u3) + lam * a1 * a / (gbar * x.eta * free.k1)
        summed = self._induction(first, x.eta / lam, a, free)
        if summed is None or math.isinf(C):
            return NO_BOUND
        last, J, noise = summed
        up = 1.0 + self.doubt
        C, W = C + noise + J * a * a0, W + J * a * a1 / gbar
        return Pieces(up / last, C * up, W * up)

    def _induction(
        self, first: float, push: float, a: float, free: Free
    ) -> tuple[float, float, float] | None:
        """Return the inverse weight after all blocks, the sum J, and the noise's price."""
        if not len(self.starts):
            return first, 0.0, 0.0
        with np.errstate(all="ignore"):  # overflow is cut off, or refused below
            return self._blocks(first, push, a, free)

    def _blocks(
        self, first: float, push: float, a: float, free: Free
    ) -> tuple[float, float, float] | None:
        sig2, c2 = self.local.sig2, math.exp(2.0 * self.log_c)
        slack = self._slack(a, free)  # one minus the weights w_j
        log_rho = np.full_like(slack, -np.inf)
        partial = slack < 1.0
        log_rho[partial] = np.log1p(-slack[partial]) - 2.0 * self.log_c
        constant = (push - 2.0 * sig2 * (1.0 - slack)) / c2
        rho_g, sum_g = _geometric(log_rho, self.counts)
        rho_1, sum_1 = _geometric(log_rho, self.counts - 1.0)
        entering = np.array(_scan(first, rho_g, constant * sum_g))
        leaving, entering = float(entering[-1]), entering[:-1]
        final = np.minimum(rho_1 * entering + constant * sum_1, _MOST_PRECISION)
        if not min(float(np.min(entering)), float(np.min(final))) >= 2.0 * sig2 * _MARGIN:
            return None
        convex = self._convex(entering, final, log_rho, constant)
        J = self._total(1.0 / (entering - 2.0 * sig2), 1.0 / (final - 2.0 * sig2), convex, slack)
        logs = (-np.log1p(-2.0 * sig2 / entering), -np.log1p(-2.0 * sig2 / final))
        noise = 0.5 * self.x.d * self._total(*logs, convex, np.ones_like(slack))
        return (leaving, J, noise) if math.isfinite(J + noise) else None

    def _slack(self, a: float, free: Free) -> Array:
        """Return the schedule of 1 - w_j: near optimal, and any other in (0, 1] is valid.

        The planned distance c^-i (theta S2_i - drift S1_i), i = j - 1 steps before the end, is
        written without its cancellation, which would ruin long chains:
        c^(N-i) e_0 S2_i/S2_N + drift S1_i (1 - c^(N-i))/(1 + c^N).
        """
        x, drift = self.x, free.chi * a
        whole, left = x.N * self.log_c, (x.N + 1.0 - self.starts) * self.log_c
        S2 = -math.expm1(2.0 * whole) / (self.gap * (2.0 - self.gap))
        far = free.distance_scale * self.natural_distance
        planned = np.exp(left) * far * (self.S2 / S2)
        planned -= drift * self.S1 * np.expm1(left) / (1.0 + math.exp(whole))
        noise = free.nu * self.local.sig2 * x.d * self.S2
        wanted = drift / np.hypot(planned, np.sqrt(noise))
        return np.asarray(np.minimum(np.maximum(wanted, 1e-150), 1.0))

    def _convex(self, entering: Array, final: Array, log_rho: Array, constant: Array) -> Array:
        """Return whether the summands are convex along each block: then a chord lies above them."""
        if not self.chord:
            return np.zeros(len(entering), dtype=np.bool_)
        drop = -np.expm1(log_rho)  # one minus rho
        rising = (drop <= 0.0) | (entering * drop <= constant)
        falling = final * drop >= 2.0 * constant
        return np.asarray((constant >= 0.0) & (rising | falling))

    def _total(self, left: Array, right: Array, convex: Array, slack: Array) -> float:
        each = np.where(convex, 0.5 * (left + right), np.maximum(left, right))
        return float(np.sum(self.counts * each / slack))


def _geometric(log_rho: Array, steps: Array) -> tuple[Array, Array]:
    """rho^g and 1 + rho + ... + rho^(g-1), also at rho = 0 and rho = 1, for g >= 0."""
    none = steps == 0.0
    exponent = np.where(none, 0.0, log_rho * np.maximum(steps, 1.0))
    exponent = np.minimum(exponent, 700.0)
    flat = log_rho == 0.0
    below = np.where(flat, 1.0, np.expm1(np.minimum(log_rho, 700.0)))
    total = np.where(flat, steps, np.expm1(exponent) / below)
    return np.exp(exponent), np.where(none, 0.0, total)


def _scan(first: float, factor: Array, added: Array) -> list[float]:
    """Return the inverse weights entering each block, and the last one leaving: i <- f i + a."""
    entering = [first]
    for f, a in zip(factor.tolist(), added.tolist(), strict=True):
        entering.append(min(f * entering[-1] + a, _MOST_PRECISION))
    return entering
