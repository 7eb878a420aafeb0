"""Noisy gradient descent under a log-Sobolev inequality: what leaks, in numbers.

The run is `x' = projection(x - eta g(x) + sqrt(2 eta tau) Z)` with tau the temperature (Langevin's
sigma^2), seen as a diffusion over the time `eta * steps`.  Both runs start from the same law, and
their averaged gradients differ by at most `gradient_sensitivity`.  A law has log-Sobolev constant
k if N(0, I/k) does no better; its `spread` is 1/k, zero for a point.

Unless it says otherwise, a function returns rho: the Renyi divergence of order a is at most
a * rho for every a > 1 (`RenyiDP.zcdp(rho)`).  Returned values are never below the exact formula.
Source: [chourasia2021dynamics], corrected and sharpened in docs/proofs/log-sobolev.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from wane import arguments
from wane.errors import InvalidDescription
from wane.numerics.rounding import inflate

RAISED = 1e-14
"""Far above the rounding of any formula here, each being a handful of well-conditioned steps."""

SMALLEST_BOUND = 1e-300
"""A positive value is never reported smaller, so that no underflow can hide a leak."""

HUGE = 1e300
"""Beyond it a time is cut off, and a spread treated as infinite: both raise the bound."""


def composition(*, gradient_sensitivity: float, temperature: float, time: float) -> float:
    """Even if every iterate is seen, the leak grows only in proportion to time.

    Claim.  rho = S^2 T/(4 tau); it is exactly mu-Gaussian with mu^2 = 2 rho.
    Source.  [chourasia2021dynamics, Theorem 1]; needs no log-Sobolev inequality.
    """
    return _scaled(_energy(gradient_sensitivity, temperature, time), 0.25)


def fixed_split(
    *, gradient_sensitivity: float, temperature: float, time: float, constant: float, split: float
) -> float:
    """Return rho where both laws satisfy a log-Sobolev inequality, at one split of the noise.

    Claim.  rho = S^2/(8 g(1-g) k tau^2) (1 - exp(-2(1-g) tau k T)), g the split in (0, 1].
    Source.  [chourasia2021dynamics, Theorem 2, equation (66)]; Theorem A.
    Differs from the paper.  g > 1 is refused: there the formula is false.
    """
    fade = _fade(temperature, time, constant, split)
    energy = _energy(gradient_sensitivity, temperature, time)
    return _scaled(energy, _share(fade) / (4.0 * split))


def optimal_split(
    *, gradient_sensitivity: float, temperature: float, time: float, constant: float
) -> float:
    """The best that a log-Sobolev constant alone can give: the split is chosen at each moment.

    Claim.  rho = S^2/(2 k tau^2) h(tau k T), with h the function `settling`.
    Source.  Theorem A; never above `composition`, nor `fixed_split` with any split.
    """
    relative = _relative_time(temperature, time, constant)
    energy = _energy(gradient_sensitivity, temperature, time)
    if relative <= 0.5:
        return _scaled(energy, 0.25)
    return _scaled(energy, settling(relative) / (2.0 * relative))


def settling(relative_time: float) -> float:
    """Return the share of its limit that rho has reached after this relative time.

    Claim.  h(t) = t/2 up to t = 1/2, then (1 - exp(1/2 - t)/2)^2.
    """
    t = arguments.real("relative_time", relative_time, least=0.0)
    if t <= 0.5:
        return t / 2.0
    return min(inflate((1.0 - 0.5 * math.exp(0.5 - t)) ** 2, RAISED), 1.0)


def warm_start(
    order: float,
    start_divergence: Callable[[float], float],
    *,
    gradient_sensitivity: float,
    temperature: float,
    time: float,
    constant: float,
    split: float,
) -> float:
    """Return the Renyi divergence of a run whose two starts differ; the starts' share fades.

    Claim.  R(a) <= a (rho + f R_0(b)/b), b = 1 + (a-1) f, f = exp(-2(1-g) tau k T), rho that of
    `fixed_split`.  Returns R(a), not rho; `start_divergence` is R_0, nondecreasing in the order.
    Source.  [chourasia2021dynamics, equation (59)].
    Differs from the paper.  (60) puts R_0(a)/a for R_0(b)/b, which is false.
    """
    a = arguments.real("order", order, above=1.0, cure="Renyi orders are above 1")
    fade = _fade(temperature, time, constant, split)
    fresh = fixed_split(
        gradient_sensitivity=gradient_sensitivity,
        temperature=temperature,
        time=time,
        constant=constant,
        split=split,
    )
    kept = math.exp(-fade * (1.0 - 2e-15)) * (1.0 + 1e-15)
    above = max(1.0 + (a - 1.0) * kept, math.nextafter(1.0, 2.0)) * (1.0 + 4e-16)
    below = 1.0 + (a - 1.0) * math.exp(-fade * (1.0 + 2e-15)) * (1.0 - 1e-15)
    start = arguments.real("start_divergence", start_divergence(above), least=0.0, finite=False)
    if start == 0.0:
        return _scaled(fresh, a)
    old = math.inf if math.isinf(start) else max(kept * start / below, SMALLEST_BOUND)
    return _scaled(fresh + old, a)


@dataclass(frozen=True)
class LangevinStep:
    """Equal steps: a Lipschitz constant, a gap between the gradients, and noise.

    Attributes:
        lipschitz: constant of `x -> x - eta g(x)` in both runs; may exceed one.
        gradient_sensitivity: how far the averaged gradients differ; zero if the record is absent.
        temperature: variance `2 eta tau` is added to the iterate.
        step_size: eta.
        repeat: how many such steps follow one another.
    """

    lipschitz: float
    gradient_sensitivity: float
    temperature: float
    step_size: float
    repeat: int = 1

    def __post_init__(self) -> None:
        arguments.real("lipschitz", self.lipschitz, least=0.0)
        arguments.real("gradient_sensitivity", self.gradient_sensitivity, least=0.0)
        tau = arguments.real("temperature", self.temperature, above=0.0, cure=_NOISE)
        eta = arguments.real("step_size", self.step_size, above=0.0, cure=_STEP)
        arguments.whole("repeat", self.repeat, least=1)
        if not 1e-280 < tau * eta < 1e280:
            raise InvalidDescription(
                f"temperature * step_size must be between 1e-280 and 1e280, got {tau * eta!r}; "
                "measure the parameters in other units."
            )

    def stretched(self, spread: float) -> float:
        """Return the spread after the map, before the noise, rounded up."""
        if self.lipschitz == 0.0 or spread == 0.0:
            return 0.0
        return max(inflate(self.lipschitz * (self.lipschitz * spread), 4e-16), SMALLEST_BOUND)

    def noisy(self, spread: float) -> float:
        """Return the spread after map and noise, rounded up; infinity where nothing is known."""
        return inflate(self.stretched(spread) + 2.0 * self.temperature * self.step_size, 8e-16)


def tracked_spread(steps: Iterable[LangevinStep], *, start_spread: float = 0.0) -> float:
    """One over the log-Sobolev constant of the last iterate is at most this.

    Claim.  V' = L^2 V + 2 eta tau at each step; projections leave it.
    Source.  [chourasia2021dynamics, Lemmas 8 and 9].
    """
    spread = arguments.real("start_spread", start_spread, least=0.0, finite=False)
    for step in steps:
        for _ in range(step.repeat):
            spread = step.noisy(spread)
    return spread


def tracked_bound(steps: Iterable[LangevinStep], *, start_spread: float = 0.0) -> float:
    """Return rho of a run of any schedule, by tracking its log-Sobolev constant step by step.

    Claim.  With V the spread, W = L^2 V and A = sqrt(2 rho W), each step sets
        rho' = (A + S eta)^2/(2 (W + 2 tau eta))  if  2 tau A >= S W,  else  rho + S^2 eta/(4 tau).
    Source.  Theorem B.
    Tight.  from a fixed start with constant steps and L <= 1: rho = mu^2/2, attained.
    """
    spread = arguments.real("start_spread", start_spread, least=0.0, finite=False)
    rho = 0.0
    for step in steps:
        for _ in range(step.repeat):
            rho = _after(step, rho, step.stretched(spread))
            spread = step.noisy(spread)
    return rho


def contraction_gap(step_size: float, strong_convexity: float, smoothness: float) -> Fraction:
    """One minus the Lipschitz constant of a gradient step, without rounding; refused if not > 0.

    Claim.  1 - max(|1 - eta m|, |1 - eta M|) = min(eta m, 2 - eta M); never a signed 1 - eta m.
    """
    eta = arguments.real("step_size", step_size, above=0.0, cure=_STEP)
    m, M = _curvature(strong_convexity, smoothness)
    if not Fraction(eta) * Fraction(M) < 2:
        raise InvalidDescription(
            f"step_size must be below 2/smoothness, got {eta!r} with smoothness {M!r}; "
            "a larger step is no contraction, take a smaller one."
        )
    gap = min(Fraction(eta) * Fraction(m), 2 - Fraction(eta) * Fraction(M))
    arguments.real(
        "step_size * strong_convexity", float(gap), least=1e-280, cure="change the units"
    )
    return gap


def settled_constant(
    *,
    strong_convexity: float,
    smoothness: float,
    temperature: float,
    step_size: float,
    start_spread: float = 0.0,
) -> float:
    """Strongly convex losses keep one log-Sobolev constant for ever; rounded down.

    Claim.  k = min(q/(2 tau), 1/start_spread), q = (1 - c^2)/eta.  For eta (m + M) <= 2 this is
    m (2 - eta m)/(2 tau) from a fixed start and m/(2 tau) from the spread 2 tau/m.
    Source.  [chourasia2021dynamics, Lemma 5], extended from eta < 1/M to eta < 2/M.
    """
    tau = arguments.real("temperature", temperature, above=0.0, cure=_NOISE)
    spread = arguments.real("start_spread", start_spread, least=0.0)
    low = _curvature_rate(step_size, strong_convexity, smoothness) / (2.0 * tau)
    return min(low, 1.0 / spread if spread > 0.0 else math.inf) * (1.0 - RAISED)


def strongly_convex(
    *,
    gradient_sensitivity: float,
    strong_convexity: float,
    smoothness: float,
    temperature: float,
    step_size: float,
    steps: int,
) -> float:
    """On strongly convex losses the leak levels off, from any start that ignores the data.

    Claim.  rho = S^2/(m tau) (1 - exp(-m eta K/2)) for eta <= 2/(m + M).
    Source.  [chourasia2021dynamics, Corollary 1]; never below mu^2/2 of the exact value, which is
    what wane certifies (docs/proofs/log-sobolev.md, Theorem G).
    """
    m, M = _curvature(strong_convexity, smoothness)
    eta = arguments.real("step_size", step_size, above=0.0, cure=_STEP)
    if not eta * (m + M) <= 2.0 + RAISED:
        raise InvalidDescription(
            f"step_size must be at most 2/(strong_convexity + smoothness), got {eta!r}; "
            "beyond it the contraction is no longer 1 - step_size * strong_convexity."
        )
    time = eta * arguments.whole("steps", steps, least=0)
    energy = _energy(gradient_sensitivity, temperature, time)
    return _scaled(energy, 0.5 * _share(0.5 * m * time))


def strongly_convex_fixed_start(
    *,
    gradient_sensitivity: float,
    strong_convexity: float,
    smoothness: float,
    temperature: float,
    step_size: float,
    steps: int,
) -> float:
    """From a fixed start the leak of strongly convex losses levels off at almost half as much.

    Claim.  rho = S^2/(q tau) (1 - exp(-q eta K/2)), q = (1 - c^2)/eta, c < 1.
    Source.  [chourasia2021dynamics, Corollary 2], from quadratics to the class.
    """
    rate = _curvature_rate(step_size, strong_convexity, smoothness)
    time = float(step_size) * arguments.whole("steps", steps, least=0)
    energy = _energy(gradient_sensitivity, temperature, time)
    return _scaled(energy, 0.5 * _share(0.5 * rate * time))


def quadratic_law(
    *,
    gradient_sensitivity: float,
    curvature: float,
    temperature: float,
    step_size: float,
    steps: int,
    start_variance: float = 0.0,
) -> float:
    """Exactly what leaks on an isotropic quadratic; never a bound for other losses.

    Claim.  rho = S^2 (2 - x)/(4 m tau) (1 - c^K)/(1 + c^K) / (1 + c^(2K) V_0/V_K), x = eta m < 2,
    c = 1 - x of either sign, V_K = 2 tau (1 - c^(2K))/(m (2 - x)); mu^2 = 2 rho.
    Source.  corrects the lower bound of [chourasia2021dynamics, Theorem 3].
    """
    gap = contraction_gap(step_size, curvature, curvature)
    count = arguments.whole("steps", steps, least=0)
    start = arguments.real("start_variance", start_variance, least=0.0)
    eta, m = float(step_size), float(curvature)
    energy = _energy(gradient_sensitivity, temperature, eta)
    if count == 0 or energy == 0.0:
        return 0.0
    x = Fraction(eta) * Fraction(m)
    log_decay = log_one_minus(gap)
    ratio = math.tanh(-0.5 * count * log_decay)
    if x > 1 and count % 2:
        ratio = 1.0 / ratio
    left = math.exp(2.0 * count * log_decay)
    made = 2.0 * temperature * -math.expm1(2.0 * count * log_decay) / (m * float(2 - x))
    kept = 1.0 + left * (1.0 - RAISED * (1.0 - count * max(log_decay, -1e5))) * start / made
    return _scaled(energy, 0.25 * float((2 - x) / x) * ratio / kept)


def langevin_mu(
    *, gradient_sensitivity: float, strong_convexity: float, temperature: float, time: float
) -> float:
    """Langevin dynamics on strongly convex losses is mu-Gaussian with this mu; attained.

    Claim.  mu^2 = S^2/(m tau) tanh(m T/2); m = 0 gives S^2 T/(2 tau), T to infinity S^2/(m tau).
    Source.  limit of small steps of [bok2024shifted]; see docs/proofs/joint-programme.md.
    """
    m = arguments.real("strong_convexity", strong_convexity, least=0.0)
    energy = _energy(gradient_sensitivity, temperature, time)
    y = min(0.5 * m * float(time), HUGE)
    squared = _scaled(energy, 0.5 * (math.tanh(y) / y if y > 0.0 else 1.0))
    return inflate(math.sqrt(squared), 4e-16)


def log_one_minus(gap: Fraction) -> float:
    """`ln(1 - gap)` to full precision, minus infinity at one."""
    if gap >= 1:
        return -math.inf
    return math.log1p(-float(gap)) if gap < Fraction(1, 2) else math.log(float(1 - gap))


_NOISE = "noise is what makes the run private"
_STEP = "a step must move"


def _after(step: LangevinStep, rho: float, stretched: float) -> float:
    """Theorem B for one step; without a log-Sobolev constant, or out of range, composition."""
    S, tau, eta = step.gradient_sensitivity, step.temperature, step.step_size
    root = math.sqrt(2.0 * rho)
    pull, push = 2.0 * tau * root, S * math.sqrt(stretched)
    if pull >= push and math.isfinite(pull) and stretched < HUGE:
        if S == 0.0 and (rho == 0.0 or stretched == 0.0):
            return 0.0
        shift = root * math.sqrt(stretched) + S * eta
        total = stretched + 2.0 * tau * eta
        apart = shift / math.sqrt(2.0 * total)
        return max(inflate(apart * apart, 4e-15), SMALLEST_BOUND)
    if S == 0.0:
        return rho
    fresh = 0.5 * S * math.sqrt(eta) / math.sqrt(tau)
    return max(inflate(rho + fresh * fresh, 4e-15), SMALLEST_BOUND)


def _energy(gradient_sensitivity: float, temperature: float, time: float) -> float:
    """S^2 T/tau, rounded up; zero only if exactly zero."""
    S = arguments.real("gradient_sensitivity", gradient_sensitivity, least=0.0)
    tau = arguments.real("temperature", temperature, above=0.0, cure=_NOISE)
    T = arguments.real("time", time, least=0.0)
    if S == 0.0 or T == 0.0:
        return 0.0
    root = S / math.sqrt(tau) * math.sqrt(T)
    return max(inflate(root * root, RAISED), SMALLEST_BOUND)


def _scaled(energy: float, factor: float) -> float:
    """Return the product of non-negative numbers, rounded up; zero only if the first is."""
    return 0.0 if energy == 0.0 else max(inflate(energy * factor, RAISED), SMALLEST_BOUND)


def _share(x: float) -> float:
    """(1 - e^-x)/x, one at zero."""
    x = min(x, HUGE)
    return -math.expm1(-x) / x if x > 0.0 else 1.0


def _relative_time(temperature: float, time: float, constant: float) -> float:
    tau = arguments.real("temperature", temperature, above=0.0, cure=_NOISE)
    T = arguments.real("time", time, least=0.0)
    k = arguments.real("constant", constant, least=0.0, cure="zero means that nothing is known")
    low, middle, high = sorted((tau, k, T))
    return min(low * high * middle, HUGE)  # in this order only the result can overflow


def _fade(temperature: float, time: float, constant: float, split: float) -> float:
    cure = "above 1 the bound is false; 1 is composition and 1/2 the paper's choice"
    g = arguments.real("split", split, above=0.0, most=1.0, cure=cure)
    relative = _relative_time(temperature, time, constant)
    return 2.0 * (1.0 - g) * relative


def _curvature(strong_convexity: float, smoothness: float) -> tuple[float, float]:
    m = arguments.real("strong_convexity", strong_convexity, above=0.0)
    M = arguments.real("smoothness", smoothness, above=0.0)
    if m > M:
        raise InvalidDescription(
            f"strong_convexity must be at most smoothness, got {m!r} > {M!r}; "
            "they are the ends of one spectrum."
        )
    return m, M


def _curvature_rate(step_size: float, strong_convexity: float, smoothness: float) -> float:
    """(1 - c^2)/eta, to full precision."""
    gap = contraction_gap(step_size, strong_convexity, smoothness)
    return float(gap * (2 - gap) / Fraction(float(step_size)))
