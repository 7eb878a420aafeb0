"""How long projected Langevin takes to forget where it started.

The chain is `x' = projection(x - eta grad f(x) + sqrt(2 eta tau) Z)` on a set of diameter D.  Two
copies that start anywhere in the set are E-close after T steps, where E is the value of the modulus
programme: Kullback-Leibler divergence at most E/2, total variation at most 2 Phi(sqrt(E)/2) - 1.
Total variation to stationarity is submultiplicative, so blocks of steps may be repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wane.describe.batches import FullBatch
from wane.describe.descent import NoisyDescent
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.numerics.normal import gaussian_delta
from wane.numerics.roots import minimise_scalar_bounded
from wane.theorems.lemmas.loss_moduli import modulus_in, whole_batch
from wane.theorems.lemmas.moduli import AffineSquare, Modulus
from wane.theorems.lemmas.modulus_programme import constant_value, least_constant
from wane.theorems.lemmas.modulus_rows import weakly_smooth_offset
from wane.theorems.lemmas.tangent_programme import Stretch, profile, solve

MOST_STEPS = 10**15
GAUSSIAN_ROUTE = "modulus programme, Gaussian total variation, boosted"


@dataclass(frozen=True)
class Mixing:
    """A certified number of steps to stationarity.

    Attributes:
        steps: that bring the total variation to at most `tv`, from any start.
        tv: the bound on the total variation after them.
        block: steps of one block, and `block_tv` the bound after one.
        kl: bound on the Kullback-Leibler divergence of two copies after one block.
        theorem: how it was found.
    """

    steps: int
    tv: float
    block: int
    block_tv: float
    kl: float
    theorem: str


def mixing(run: NoisyDescent, tv: float) -> Mixing:
    """Return a number of steps after which the chain is within `tv` of its stationary law."""
    if not 0.0 < tv < 1.0:
        raise InvalidDescription(f"tv must be between 0 and 1, got {tv:g}.")
    modulus, variance, diameter = _chain(run)
    block, value = _best_block(modulus, variance, diameter, tv)
    block_tv = total_variation(value)
    repeats = repeats_for(block_tv, tv)
    return Mixing(
        steps=block * repeats,
        tv=min(block_tv**repeats * (1.0 + 1e-15 * repeats), tv),
        block=block,
        block_tv=block_tv,
        kl=0.5 * value,
        theorem=GAUSSIAN_ROUTE,
    )


def total_variation(value: float) -> float:
    """`2 Phi(sqrt(E)/2) - 1`, rounded up."""
    return gaussian_delta(0.0, math.sqrt(value) * (1.0 + 4e-16))


def bretagnolle_huber(value: float) -> float:
    """`sqrt(1 - exp(-E/2))`, the weaker bound through the Kullback-Leibler divergence."""
    return math.sqrt(-math.expm1(-0.5 * value)) * (1.0 + 4e-16)


def one_step_value(
    diameter: float, step_size: float, gradient_bound: float, *, convex: bool = True
) -> float:
    """E of one step at temperature one from the gradient bound: (D^2 + 4 eta^2 C^2)/(2 eta)."""
    jump = 2.0 * step_size * gradient_bound
    square = diameter**2 + jump**2 if convex else (diameter + jump) ** 2
    return square / (2.0 * step_size) * (1.0 + 1e-15)


def repeats_for(block_tv: float, tv: float) -> int:
    """The number of blocks that bring the total variation below `tv`, counted by multiplying."""
    if block_tv > 1.0 - 1e-9:
        return MOST_STEPS
    if block_tv <= tv:
        return 1
    if block_tv == 0.0:
        return 1
    guess = max(1, math.floor(math.log(tv) / math.log(block_tv)) - 1)
    while block_tv**guess * (1.0 + 1e-15 * guess) > tv:
        guess += 1
    return guess


def kl_bound(diameter: float, step_size: float, steps: int, offset: float) -> float:
    """`(D^2/T + h H_T)/(4 eta)`: two copies of a chain with c = 1 at temperature one."""
    return 0.5 * constant_value(0.0, offset, 2.0 * step_size, diameter, steps)


def kl_over_exponents(
    diameter: float,
    step_size: float,
    steps: int,
    constant: Callable[[float], float],
    most: float = 1.0,
) -> tuple[float, float]:
    """The least `kl_bound` over Hoelder exponents with their constants, and the exponent."""

    def at(p: float) -> float:
        return kl_bound(diameter, step_size, steps, weakly_smooth_offset(step_size, constant(p), p))

    grid = np.linspace(0.0, most, 65).tolist()
    place = min(range(len(grid)), key=lambda i: at(grid[i]))
    low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    refined, value = minimise_scalar_bounded(at, low, high, steps=60)
    return min((value, refined), (at(grid[place]), grid[place]))


def steps_to(modulus: AffineSquare, variance: float, diameter: float, tv: float) -> int:
    """The fewest steps whose own bound is at most `tv`; raises if none is."""

    def close(steps: int) -> bool:
        value = least_constant(modulus.log_factor, modulus.offset, variance, diameter, steps)[1]
        return total_variation(value) <= tv

    high = 1
    while not close(high):
        high *= 2
        if high > MOST_STEPS:
            raise NoTheoremApplies(
                f"No number of steps of one block brings the total variation to {tv:g}; "
                "a smaller step_size lets repeated blocks do it."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if close(middle) else (middle, high)
    return high


def _chain(run: NoisyDescent) -> tuple[Modulus, float, float]:
    """Modulus, noise variance and diameter of a projected Langevin run."""
    if not isinstance(run.batches, FullBatch) or len(run.plan) != 1:
        raise NoTheoremApplies(
            "Mixing times are for equal steps on one potential; use full batches and no schedule."
        )
    if math.isinf(run.domain.diameter):
        raise NoTheoremApplies(
            "The domain is unbounded, so copies may start arbitrarily far apart; "
            "give domain.diameter."
        )
    if run.domain.strong_convexity < 0:
        raise NoTheoremApplies("The prox of a weakly convex function expands; use a convex domain.")
    eta = float(run.plan.step_size[0])
    variance = (eta * float(run.gradient_noise_stds[0])) ** 2
    if variance == 0.0:
        raise NoTheoremApplies("Without noise the chain never forgets; set a temperature > 0.")
    modulus = modulus_in(run, whole_batch(run, eta))
    if modulus is None:
        raise NoTheoremApplies(
            "Nothing bounds how far one step drives two points apart; declare "
            "objective.smoothness, gradient_bound, or holder_exponent and holder_constant."
        )
    return modulus, variance * (1.0 - 4e-16), run.domain.diameter


def _best_block(modulus: Modulus, variance: float, diameter: float, tv: float) -> tuple[int, float]:
    """The block of steps whose repetition reaches `tv` first, and its E."""
    horizons, values = profile([Stretch(modulus, 0.0, variance, MOST_STEPS)], diameter)
    values = np.minimum.accumulate(values)
    totals = [
        int(n) * repeats_for(total_variation(float(v)), tv)
        for n, v in zip(horizons.tolist(), values.tolist(), strict=True)
    ]
    place = min(range(len(totals)), key=totals.__getitem__)
    if totals[place] >= MOST_STEPS:
        raise NoTheoremApplies("The chain is not shown to mix within 1e15 steps; lower step_size.")
    block = int(horizons[place])
    if not isinstance(modulus, AffineSquare):
        found = solve([Stretch(modulus, 0.0, variance, block)], diameter)
        return block, min(found.value, float(values[place]))
    near = range(max(1, block - block // 32 - 2), block + block // 32 + 3)
    if len(near) > 4096:
        near = range(near.start, near.stop, len(near) // 4096)

    def cost(steps: int) -> tuple[int, float]:
        value = least_constant(modulus.log_factor, modulus.offset, variance, diameter, steps)[1]
        return steps * repeats_for(total_variation(value), tv), value

    best = min(near, key=lambda n: cost(n)[0])
    return best, cost(best)[1]
