"""How long projected Langevin takes to forget where it started.

The chain is `x' = prox(x - eta grad f(x) + sqrt(2 eta tau) Z)` on a set of diameter D, the gradient
perhaps that of a batch.  Two copies that start anywhere in the set and share their batches are
E-close after T steps, where E is the value of the modulus programme: Kullback-Leibler divergence at
most E/2, total variation at most 2 Phi(sqrt(E)/2) - 1.  Total variation to stationarity is
submultiplicative, so blocks of steps may be repeated.  See docs/proofs/mixing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wane import arguments
from wane.describe.choices import Cyclic, Poisson, ShuffledOnce
from wane.describe.descent import NoisyDescent
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.modulus.path import UserModulus, best_path
from wane.numerics.normal import gaussian_delta
from wane.numerics.rounding import inflate
from wane.numerics.search import minimise_scalar_bounded
from wane.theorems.lemmas.lipschitz import log_prox_lipschitz
from wane.theorems.lemmas.loss_moduli import (
    Batch,
    lipschitz_row,
    modulus_in,
    weakly_smooth_offset,
    whole_batch,
)
from wane.theorems.lemmas.moduli import AffineSquare, Modulus, Narrowed
from wane.theorems.lemmas.modulus_programme import constant_value, least_constant
from wane.theorems.lemmas.sampled_steps import binomial_tail, cap_for
from wane.theorems.lemmas.tangent_programme import Stretch, profile, solve

MOST_STEPS = 10**15
LONGEST_OWN = 4_000
"""Steps of one block under a modulus of one's own."""
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
    """Return a number of steps after which the chain is within `tv` of its stationary law.

    With batches in a fixed order it is a number of whole passes, and the law that of the iterate
    between two passes, for the order at hand.
    """
    if not 0.0 < tv < 1.0:
        raise InvalidDescription(f"tv must be between 0 and 1, got {tv:g}.")
    chains = _chains(run)
    found = [made for chain in chains if (made := _boosted(chain, tv)) is not None]
    if not found:
        raise NoTheoremApplies("The chain is not shown to mix within 1e15 steps; lower step_size.")
    best = min(found, key=lambda made: made.steps)
    return best if best.kl < math.inf else replace(best, kl=_layered_kl(chains, best.block))


def mixing_of_modulus(
    modulus: UserModulus, *, noise_std: float, diameter: float, tv: float
) -> Mixing:
    """Return the same for a chain of your own: equal steps with this modulus, then noise.

    `modulus` is what `wane.modulus` makes, of a sum of parts for example; the steps are alike, and
    after the noise a map follows that moves no two points apart, such as a projection or the prox
    of a convex function, onto a set of this diameter.  Blocks of up to 4,000 steps are tried,
    until longer ones gain nothing.
    """
    std = arguments.real("noise_std", noise_std, above=0.0)
    widest = arguments.real("diameter", diameter, above=0.0)
    if not 0.0 < tv < 1.0:
        raise InvalidDescription(f"tv must be between 0 and 1, got {tv:g}.")
    best: Mixing | None = None
    length, last, level = 1, math.inf, 0
    while length <= LONGEST_OWN and level < 3 and (best is None or length < best.steps):
        found = best_path(
            modulus=modulus,
            shifts=[0.0] * length,
            noise_stds=[std] * length,
            distance=widest,
            diameter=widest,
        )
        made = _counted(length, inflate(found.mu**2, 1e-15), 0.0, tv)
        best = made if made is not None and (best is None or made.steps < best.steps) else best
        length = max(length + 1, int(1.3 * length))
        level, last = level + 1 if found.mu > 0.999 * last else 0, found.mu
    if best is None:
        raise NoTheoremApplies(
            f"The chain is not shown to mix by blocks of up to {LONGEST_OWN} steps; shorten the "
            "set, or add noise."
        )
    return best


@dataclass(frozen=True)
class Forgotten:
    """How close two copies are after some steps, wherever in the set they started.

    Attributes:
        steps: how many.
        kl: bound on the Kullback-Leibler divergence of their laws.
        tv: bound on their total variation.
    """

    steps: int
    kl: float
    tv: float


def forgotten(run: NoisyDescent, steps: int) -> Forgotten:
    """Return how close two copies of the chain are after this many steps, not boosted."""
    arguments.whole("steps", steps, least=1, most=MOST_STEPS)
    known = (_value(chain, steps) for chain in _chains(run) if chain.exceeded == 0.0)
    value = min(known, default=math.inf)
    return Forgotten(steps, 0.5 * value, total_variation(value))


def total_variation(value: float) -> float:
    """`2 Phi(sqrt(E)/2) - 1`, rounded up."""
    return gaussian_delta(0.0, math.sqrt(value) * (1.0 + 4e-16))


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


@dataclass(frozen=True)
class _Chain:
    """What is known of equal steps: modulus, noise, the set, passes, and batches left out.

    Attributes:
        modulus: of a step, with the prox before it.
        variance: of the noise on the iterate, rounded down.
        diameter: how far apart copies can be, in the modulus' own measure.
        period: steps of one pass, of which only whole ones are counted.
        exceeded: probability that a step's batch is larger than the modulus is for.
    """

    modulus: Modulus
    variance: float
    diameter: float
    period: int = 1
    exceeded: float = 0.0


def _chains(run: NoisyDescent) -> list[_Chain]:
    """The chain, once for each largest batch that is worth following."""
    _refuse(run)
    eta, size = float(run.plan.step_size[0]), run.batch_size
    variance = (eta * float(run.gradient_noise_stds[0])) ** 2 * (1.0 - 4e-16)
    if isinstance(run.batches, Poisson):
        sizes = [(Batch(eta, size, 0, cap), exceeded) for cap, exceeded in _caps(run, eta)]
    elif isinstance(run.batches, Cyclic | ShuffledOnce):
        sizes = [(Batch(eta, size, run.last_batch_size, size), 0.0)]
    else:
        sizes = [(whole_batch(run, eta), 0.0)]
    period = run.steps_per_epoch if isinstance(run.batches, Cyclic | ShuffledOnce) else 1
    made = []
    for batch, exceeded in sizes:
        modulus = modulus_in(run, batch)
        if modulus is not None:
            modulus, diameter = _with_prox(run, modulus, eta)
            made.append(_Chain(modulus, variance, diameter, period, exceeded))
    if not made:
        raise NoTheoremApplies(
            "Nothing bounds how far one step drives two points apart; declare "
            "objective.smoothness, gradient_bound, or holder_exponent and holder_constant."
        )
    return made


def _refuse(run: NoisyDescent) -> None:
    if len(run.plan) != 1:
        raise NoTheoremApplies(
            "Mixing times are for equal steps; use no schedule and no cool_down."
        )
    if math.isinf(run.domain.diameter):
        raise NoTheoremApplies(
            "The domain is unbounded, so copies may start arbitrarily far apart; "
            "give domain.diameter."
        )
    if run.domain.strong_convexity < 0:
        raise NoTheoremApplies("The prox of a weakly convex function expands; use a convex domain.")
    if not (float(run.plan.step_size[0]) * float(run.gradient_noise_stds[0])) ** 2 > 0.0:
        raise NoTheoremApplies("Without noise the chain never forgets; set a temperature > 0.")


def _caps(run: NoisyDescent, eta: float) -> list[tuple[int, float]]:
    """Largest batches to follow, and how likely a step's is larger: none, rarely, if it expands."""
    n, rate = run.records, run.batch_size / run.records
    low, high = -1, n + 1
    while high - low > 1:  # the largest batch that drives no two points apart
        middle = (low + high) // 2
        row = lipschitz_row(run.objective, Batch(eta, run.batch_size, 0, middle))
        shrinks = row is not None and row.log_factor <= 1e-12
        low, high = (middle, high) if shrinks else (low, middle)
    steady = max(low, 0)
    wanted = {n, steady}
    if binomial_tail(n, rate, steady) > 1e-12:
        wanted |= {cap_for(n, rate, chance) for chance in (1e-3, 1e-6, 1e-9, 1e-12)}
    return [(cap, binomial_tail(n, rate, cap)) for cap in wanted if cap >= steady]


def _with_prox(run: NoisyDescent, modulus: Modulus, eta: float) -> tuple[Modulus, float]:
    """The prox of a strongly convex part brings points closer before each step but the first."""
    (log_factor,) = log_prox_lipschitz(run, np.array([eta])).tolist()
    if log_factor == 0.0:
        return modulus, run.domain.diameter
    # the first step has no prox before it: as if copies were further apart, by as much
    widest = run.domain.diameter * math.exp(-log_factor) * (1.0 + 1e-15)
    if isinstance(modulus, AffineSquare):
        return AffineSquare(modulus.log_factor + 2.0 * log_factor, modulus.offset), widest
    return Narrowed(modulus, math.exp(log_factor) * (1.0 + 4e-16)), widest


def _counted(block: int, value: float, exceeded: float, tv: float) -> Mixing | None:
    """Blocks of so many steps, repeated; None if that leads nowhere.

    A batch beyond those followed, however rare, may cost more of the Kullback-Leibler divergence
    than all others: this modulus says nothing of it where there are such batches.
    """
    block_tv = min(total_variation(value) + block * exceeded * (1.0 + 1e-12), 1.0)
    repeats = repeats_for(block_tv, tv)
    if block * repeats >= MOST_STEPS:
        return None
    return Mixing(
        steps=block * repeats,
        tv=min(block_tv**repeats * (1.0 + 1e-15 * repeats), tv),
        block=block,
        block_tv=block_tv,
        kl=0.5 * value if exceeded == 0.0 else math.inf,
        theorem=GAUSSIAN_ROUTE,
    )


def _value(chain: _Chain, steps: int) -> float:
    """Return E after so many steps whose batches are all of those followed."""
    stretch = Stretch(chain.modulus, 0.0, chain.variance, steps)
    value = solve([stretch], chain.diameter).value
    affine = isinstance(chain.modulus, AffineSquare)
    return min(value, _constant(chain, steps)) if affine else value


def _layered_kl(chains: list[_Chain], steps: int) -> float:
    """Return E/2 on average over the batches: the larger the largest, the rarer, the more it costs.

    Claim.  (E_1 + sum min(T p_j, 1) (E_{j+1} - E_j))/2 over growing caps, p_j = P(N > k_j), of
    which the last is zero; the E_j do not fall.
    """
    total = known = 0.0
    chance = 1.0
    for chain in sorted(chains, key=lambda one: -one.exceeded):
        value = _value(chain, steps)
        if value > known:
            total, known = total + chance * (value - known), value
        chance = min(steps * chain.exceeded * (1.0 + 1e-12), 1.0)
    if chance > 0.0:  # of the largest sizes nothing is known
        return math.inf
    return inflate(0.5 * total, 1e-14)


def _constant(chain: _Chain, steps: int) -> float:
    modulus = chain.modulus
    assert isinstance(modulus, AffineSquare)
    return least_constant(
        modulus.log_factor, modulus.offset, chain.variance, chain.diameter, steps
    )[1]


def _boosted(chain: _Chain, tv: float) -> Mixing | None:
    """The block of steps whose repetition reaches `tv` first."""
    stretch = Stretch(chain.modulus, 0.0, chain.variance, MOST_STEPS)
    horizons, values = profile([stretch], chain.diameter)
    values = np.minimum.accumulate(values)
    made = [
        _counted(_whole(chain, int(n)), float(v), chain.exceeded, tv)
        for n, v in zip(horizons.tolist(), values.tolist(), strict=True)
    ]
    places = [place for place, found in enumerate(made) if found is not None]
    if not places:
        return None
    place = min(places, key=lambda i: made[i].steps)  # type: ignore[union-attr]
    block = _whole(chain, int(horizons[place]))
    if not isinstance(chain.modulus, AffineSquare):
        found = solve([replace(stretch, count=block)], chain.diameter)
        return _counted(block, min(found.value, float(values[place])), chain.exceeded, tv)
    near = range(max(1, block - block // 32 - 2), block + block // 32 + 3)
    if len(near) > 4096:
        near = range(near.start, near.stop, len(near) // 4096)
    tried = {_whole(chain, steps) for steps in near}
    refined = (_counted(n, _constant(chain, n), chain.exceeded, tv) for n in sorted(tried))
    return min((one for one in refined if one is not None), key=lambda one: one.steps, default=None)


def _whole(chain: _Chain, steps: int) -> int:
    """So many steps, and as many more as complete a pass: more steps never bring copies apart."""
    return -(-steps // chain.period) * chain.period
