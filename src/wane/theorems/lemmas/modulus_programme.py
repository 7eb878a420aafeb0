"""Privacy amplification by iteration for steps with `phi(d) = sqrt(c d^2 + h)`, solved exactly.

Two runs share their maps and their noise and start at most D apart.  Their last iterates are
mu-GDP apart with

    mu^2 = min sum_t (a_t / sigma_t)^2  over  u_0 = D, u_{t+1} = phi_t(u_t) - a_{t+1} >= 0, u_T = 0.

Backwards in time the least cost from distance u is `u^2/q + B`, with `g = q + sigma^2`,
`B += h / g`, `q = g / c`, starting at q = B = 0 (docs/proofs/modulus-programme.md).  Only the last
R steps need to be used, for any R.  All results are raised by more than their rounding error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from wane.arrays import Array
from wane.numerics.rounding import SMALLEST_POSITIVE, inflate

LARGEST = 1e300
"""Where reaches beyond this are cut: smaller, so on the safe side."""
EXPLICIT_TERMS = 1 << 20
"""Sums are taken term by term up to here; beyond, by chords of a convex function."""
MOST_SWITCHES = 1 << 20
"""Of so many leading steps at most it is asked whether the switch comes after them."""
_STRETCH = 600.0
_EULER = 0.57721566490153286


@dataclass(frozen=True)
class Steps:
    """Steps in the order of time: ln c, h and sigma^2 of each."""

    log_factor: Array
    offset: Array
    variance: Array

    def __len__(self) -> int:
        return len(self.variance)


def backward(steps: Steps) -> tuple[Array, Array]:
    """`q` and `B` before each step: the cost from distance u there is `u^2/q + B`.

    In reversed time `q_j = (q_{j-1} + s_j)/c_j`, so `q_j = G_j (q_0 + sum_{i<=j} s_i/(c_i G_i))`
    with G the running product of 1/c: a product and a sum over whole stretches in which G stays
    within the range of floats.  Only positive numbers are added.
    """
    log_c = np.maximum(steps.log_factor[::-1], -_STRETCH)
    running = np.cumsum(log_c)
    inverse = np.exp(-log_c)
    gain = steps.variance[::-1] * inverse
    reach = np.empty(len(steps))
    start, q, length = 0, 0.0, len(steps)
    while start < len(steps):
        stop = _stretch_end(running, start, length)
        length = 2 * (stop - start)
        product = np.cumprod(inverse[start:stop])
        with np.errstate(over="ignore"):
            grown = product * (q + np.cumsum(gain[start:stop] / product))
        reach[start:stop] = np.minimum(grown, LARGEST)
        start, q = stop, float(reach[stop - 1])
    before = np.concatenate([[0.0], reach[:-1]])
    spent = np.cumsum(steps.offset[::-1] / (before + steps.variance[::-1]))
    return reach[::-1], spent[::-1]


def _stretch_end(running: Array, start: int, length: int) -> int:
    """Return where the running logarithm first leaves a band of +-600, or the end of the piece."""
    stop = min(start + max(length, 64), len(running))
    base = float(running[start - 1]) if start else 0.0
    outside = np.abs(running[start:stop] - base) > _STRETCH
    return max(start + int(np.argmax(outside)), start + 1) if outside.any() else stop


def values(steps: Steps, distance: float | Array) -> Array:
    """mu^2 for using the last T, T-1, ..., 1 steps, the runs being `distance` apart before them."""
    q, spent = backward(steps)
    return (np.square(distance) / q + spent) * (1.0 + _margin(len(steps)))


def least(steps: Steps, distance: float) -> float:
    """Smallest mu^2 over how many last steps to use; zero only if the runs start together."""
    found = float(np.min(values(steps, distance))) if len(steps) else math.inf
    return max(found, SMALLEST_POSITIVE) if distance > 0.0 else 0.0


def value(steps: Steps, distance: float) -> float:
    """Return mu^2 of all the steps; infinite if there are none."""
    return float(values(steps, distance)[0]) if len(steps) else math.inf


def least_over_windows(steps: Steps, distance: float, *, most_ends: int = 64) -> float:
    """Return the least mu^2 over stretches of steps, which may start late and stop early.

    Once the runs have met, common maps keep them together, so later steps cost nothing.  Stopping
    helps only before a step with less noise; the deepest such drops are tried.
    """
    drop = steps.variance[1:] < steps.variance[:-1]
    ends = np.flatnonzero(drop) + 1
    if len(ends) > most_ends:
        depth = steps.variance[ends] / steps.variance[ends - 1]
        ends = ends[np.argsort(depth)[:most_ends]]
    best = least(steps, distance)
    for end in ends.tolist():
        part = Steps(steps.log_factor[:end], steps.offset[:end], steps.variance[:end])
        best = min(best, least(part, distance))
    return best


def optimal_path(steps: Steps, distance: float) -> list[float]:
    """Return the distances u_1, ..., u_{T-1} at which the minimum is attained."""
    q, _ = backward(steps)
    path, u = [], distance
    for t in range(len(steps) - 1):
        keep = q[t + 1] / (q[t + 1] + steps.variance[t])
        u = float(keep * math.sqrt(math.exp(steps.log_factor[t]) * u * u + steps.offset[t]))
        path.append(u)
    return path


def constant_value(
    log_factor: float, offset: float, variance: float, distance: float, count: int
) -> float:
    """Return mu^2 of `count` equal steps: `(D^2 G + h S) / sigma^2`, rounded up.

    G = (1-c) c^T / (1 - c^T) and S = sum_j (1/c - 1)/(c^-j - 1), j = 1..T; 1/T and the harmonic
    number for c = 1.
    """
    if count < 1:
        return math.inf
    fade = _fading(log_factor, count)
    total = distance * distance * fade
    if offset > 0.0:
        total += offset * _harmonic(log_factor, count)
    margin = 1e-13 + 4e-16 * abs(log_factor) * min(count, 700)
    return inflate(total / variance, margin) if total > 0.0 else 0.0


def least_constant(
    log_factor: float, offset: float, variance: float, distance: float, count: int
) -> tuple[int, float]:
    """Return the best number of last steps to use, of `count` equal ones, and mu^2 for it."""
    if distance == 0.0:
        return 0, 0.0  # common maps keep together what starts together
    best = _least_index(log_factor, offset, distance, count)
    return best, constant_value(log_factor, offset, variance, distance, best)


def _least_index(log_factor: float, offset: float, distance: float, count: int) -> int:
    """Return the first R at which one step more does not help; any R would be valid.

    E_R = D^2/q_R + B_R falls until D^2/q_{R+1} + h/g_{R+1} >= D^2/q_R, that is, with
    q_{R+1} = g_{R+1}/c and g_{R+1} = q_R + 1, until q_R ((1 - c) + h/D^2 - ...) crosses zero.
    """
    if offset == 0.0 or count == 1:
        return count
    if log_factor == -math.inf:
        return 1
    c, k = math.exp(log_factor), -log_factor
    # q_R = (c^-R - 1)/(1 - c); one more step helps iff q_R ((c - 1) D^2 + h) < D^2
    slack = math.expm1(log_factor) * distance**2 + offset
    if slack <= 0.0:
        return count
    reach = distance**2 / slack
    if k == 0.0:
        steps = reach
    else:
        grown = reach * -math.expm1(-k)
        steps = math.log1p(grown) / k if grown > -1.0 else math.inf
    if not steps < count:
        return count
    near = max(1, math.ceil(steps))
    around = {n for n in (near - 1, near, near + 1) if 1 <= n <= count}
    return (
        min(around, key=lambda n: constant_value(log_factor, offset, 1.0, distance, n)) if c else 1
    )


def _fading(log_factor: float, count: int) -> float:
    k = -log_factor
    if k == 0.0:
        return 1.0 / count
    if k == math.inf:
        return 0.0
    if count * k > 709.0:
        return SMALLEST_POSITIVE
    return max(-math.expm1(-k) / math.expm1(count * k), SMALLEST_POSITIVE)


def _harmonic(log_factor: float, count: int) -> float:
    """`sum_{j<=T} expm1(k)/expm1(jk)` with k = -ln c: convex in j, so chords are above it."""
    k = -log_factor
    if k == 0.0:
        return float(special.digamma(count + 1.0)) + _EULER
    if k == math.inf or count == 1:
        return 1.0
    lead = math.expm1(k)
    first = min(count, EXPLICIT_TERMS, max(1, math.ceil(745.0 / k)) if k > 0.0 else count)
    with np.errstate(over="ignore"):
        total = float(np.sum(lead / np.expm1(k * np.arange(1.0, first + 1.0))))
        if k > 0.0 and first * k >= 745.0:
            return total
        # the rest by trapezoids over intervals that grow with their place
        while first < count:
            length = min(count - first, max(1, first // 4096))
            ends = lead / np.expm1(k * np.array([first + 1.0, first + float(length)]))
            total += 0.5 * length * float(ends[0] + ends[1])
            first += length
            if k * first > 745.0:
                break
            if k * first < -745.0:  # constant from here on
                return total + (count - first) * -lead
    return total


def _margin(count: int) -> float:
    return 8e-16 * (count + 64.0)


def saddle_switch(
    jump: float, bend: float, variance: float, distance: float, count: int
) -> tuple[float, int]:
    """mu^2 of steps with `psi(w) = min(w + jump^2, (1 + bend^2) w)`, and the number K that jump.

    Claim.  First K steps with (c, h) = (1, jump^2), then the others with (1 + bend^2, 0): exact,
    as the path falls through the place where the two branches meet once.
    """
    if bend == 0.0:
        return least_constant(0.0, 0.0, variance, distance, count)[1], 0
    steps = min(count, MOST_SWITCHES)
    leading = np.arange(steps + 1, dtype=np.float64)
    q = -np.expm1(-(steps - leading) * math.log1p(bend * bend)) / (bend * bend)
    with np.errstate(divide="ignore"):
        cost = distance**2 / (q + leading)
    upper = special.digamma(q + leading + 1.0)
    cost += jump**2 * (upper - special.digamma(q + 1.0) + 1e-15 * (1.0 + np.abs(upper)))
    best = int(np.argmin(cost))
    return inflate(float(cost[best]) / variance, 1e-13), best
