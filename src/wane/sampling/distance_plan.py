"""The inverse problem: the fewest steps, and their size, that bring a chain near its target.

A plan is checked by the certificate of the chain it names.  What the search assumes (that more
steps at their best size never hurt) costs steps where it fails, never truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.certificates.analyse import DistanceCertificate, certify_distance
from wane.describe.chain import (
    MOST_STEPS,
    Diffusion,
    Direction,
    InitialLaw,
    Overdamped,
    Question,
    Target,
    Underdamped,
    largest_overdamped_step,
)
from wane.errors import NoTheoremApplies, Unreachable
from wane.numerics.search import (
    decode,
    encode,
    largest_satisfying,
    log_or_worst,
    minimise,
    minimise_scalar_bounded,
)
from wane.theorems import chain_hypotheses as given
from wane.theorems.chain_hypotheses import largest_contracting_step
from wane.theorems.kinetic import optimised as kinetic_optimised
from wane.theorems.langevin import girsanov
from wane.theorems.lemmas.kinetic import kinetic_divergence
from wane.theorems.lemmas.letters import (
    LEAST_ORDER,
    Letters,
    girsanov_price,
    kinetic_letters_of,
    letters_of,
)
from wane.theorems.lemmas.shifted_girsanov import Free, ShiftedGirsanov, local_error

_BOTH = (Direction.CHAIN_FIRST, Direction.REFERENCE_FIRST)
_GROWTH = 1.02  # how closely the number of steps is searched
_HOPELESS = 1e3  # a log of a bound that stands for infinity


@dataclass(frozen=True)
class Friction:
    """Asks for underdamped dynamics.

    Attributes:
        inverse_mass: any positive number; it only sets the unit of time.
        friction: at least sqrt(inverse_mass (strong_convexity + smoothness)), the default.
    """

    inverse_mass: float = 1.0
    friction: float | None = None


@dataclass(frozen=True)
class SamplingPlan:
    """The cheapest chain found, with its certificates.

    Attributes:
        chain: step size, steps and all.
        order, distance: what was asked for.
        certificates: one for each direction asked for, each at most `distance`.
    """

    chain: Overdamped | Underdamped
    order: float
    distance: float
    certificates: tuple[DistanceCertificate, ...]


@dataclass(frozen=True)
class _Request:
    """What every plan starts from."""

    target: Target
    start: InitialLaw
    temperature: float
    direction: Direction
    order: float
    goal: float


@dataclass(frozen=True)
class _Family:
    """Chains that differ in step size and steps, with their bound at given free parameters."""

    make: Callable[[float, int], Overdamped | Underdamped]
    bound: Callable[[float, int, Array], float]
    starts: Callable[[float, int], list[Array]]
    largest: float
    guess: tuple[float, int]

    def best_step(self, steps: int, guess: float, warm: Array | None) -> tuple[float, float, Array]:
        """Return the log of the least bound over step sizes, the step size, the free parameters."""
        top = math.log(self.largest)

        def at(z: Array) -> float:
            if not z[0] < top:
                return log_or_worst(math.inf)
            return log_or_worst(self.bound(math.exp(z[0]), steps, z[1:]))

        sizes = [guess] if warm is not None else [guess, 0.3 * guess, 0.1 * guess]
        points = [
            np.concatenate([[min(math.log(eta), top - 1e-3)], z])
            for eta in sizes
            for z in ([warm] if warm is not None else self.starts(eta, steps))
        ]
        value, z = minimise(at, points, keep=1, evaluations=400, restarts=1 if warm is None else 0)
        if value >= _HOPELESS and warm is not None:
            return self.best_step(steps, guess, None)
        return value, math.exp(z[0]), z[1:]


def plan_sampling(
    target: Target,
    *,
    order: float,
    distance: float,
    start: InitialLaw,
    temperature: float = 1.0,
    directions: tuple[Direction, ...] = _BOTH,
    friction: Friction | None = None,
    progress: bool = False,
) -> SamplingPlan:
    """Return the fewest steps found whose last state is within `distance` of the target.

    `friction` asks for underdamped dynamics.  `progress` shows a bar if it takes long.
    """
    goal = arguments.real("distance", distance, above=0.0)
    arguments.real("order", order, least=1.0)
    # at equal parameters the price with the chain first is never the smaller one
    hardest = max(directions, key=lambda d: d is Direction.CHAIN_FIRST)
    request = _Request(target, start, temperature, hardest, max(order, LEAST_ORDER), goal)
    _refuse_the_unanswerable(request)
    family = _overdamped(request) if friction is None else _kinetic(request, friction)
    steps, eta = _fewest(family, goal, progress)
    for _ in range(20):
        chain = family.make(eta, steps)
        found = tuple(certify_distance(chain, order=order, direction=d) for d in directions)
        if max(c.value for c in found) <= goal:
            return SamplingPlan(chain, order, goal, found)
        steps, eta = math.ceil(steps * 1.01), eta * 0.995
    raise Unreachable(f"the certificate does not confirm the distance {goal:g}; ask for more")


def plan_closeness(
    target: Target,
    *,
    epsilon: float,
    delta: float,
    start: InitialLaw,
    temperature: float = 1.0,
    friction: Friction | None = None,
    progress: bool = False,
) -> SamplingPlan:
    """Return the fewest steps found whose last state and the target are (epsilon, delta)-close.

    The order is the one at which the allowed divergence, divided by the order, is largest: the
    number of steps depends on that quotient, to leading order.
    """
    goal = arguments.real("epsilon", epsilon, above=0.0)
    arguments.real("delta", delta, above=0.0, most=1.0)

    def allowed(excess: float) -> float:
        """Return the divergence of order 1 + excess that converts to epsilon at delta."""
        by_delta = (-math.log(delta) - math.log1p(excess)) / excess
        return goal + math.log1p(1.0 / excess) - by_delta

    place = minimise_scalar_bounded(
        lambda z: -allowed(math.exp(z)) / (1.0 + math.exp(z)), -5.0, 25.0, steps=100
    )[0]
    excess = math.exp(place)
    if not allowed(excess) > 0.0:
        raise Unreachable(f"no Renyi order gives epsilon={epsilon:g} at delta={delta:g}")
    return plan_sampling(
        target,
        order=1.0 + excess,
        distance=allowed(excess) * (1.0 - 1e-12),
        start=start,
        temperature=temperature,
        friction=friction,
        progress=progress,
    )


def _refuse_the_unanswerable(request: _Request) -> None:
    """Raise where no theorem would apply to any step size, with the cure."""
    question = Question(
        Diffusion(request.target, 1.0, request.start, request.temperature),
        request.order,
        request.direction,
    )
    for condition in (given.strongly_convex, given.known_start):
        answer = condition(question)
        if answer.holds is not True:
            raise NoTheoremApplies(
                f"No plan: {answer.statement} is needed ({answer.because}); try {answer.remedy}."
            )


def _fewest(family: _Family, goal: float, progress: bool) -> tuple[int, float]:
    """Take more steps until some step size reaches the goal, then close in from both sides."""
    from tqdm import tqdm

    wanted = math.log(goal)
    eta, steps = family.guess
    below, warm = 1, None
    with tqdm(disable=not progress, delay=1.0, leave=False, desc="planning", unit="trial") as bar:
        while True:
            value, found, point = family.best_step(steps, eta, warm)
            bar.update()
            if value <= wanted:
                break
            if value < _HOPELESS:
                eta, warm, below, growth = found, point, steps, 1.3
            else:  # infinite wherever the search began, which says nothing about these steps
                eta, warm, growth = 0.5 * eta, None, 2.0
            steps = math.ceil(steps * growth)
            if steps > MOST_STEPS:
                raise Unreachable(f"no plan of up to {MOST_STEPS:g} steps reaches {goal:g}")
        best = found
        while steps > below * _GROWTH and steps - below > 1:
            middle = max(math.isqrt(below * steps), below + 1, math.floor(0.75 * steps))
            # over the same time, so that the start stays forgotten
            value, found, nearby = family.best_step(middle, best * steps / middle, point)
            bar.update()
            if value <= wanted:
                steps, point, best = middle, nearby, found
            else:
                below = middle
    return steps, best


def _overdamped(request: _Request) -> _Family:
    target, T = request.target, request.temperature
    coordinates = (*girsanov.EXPONENTS, *girsanov.SHIFTED)

    def make(eta: float, steps: int) -> Overdamped:
        return Overdamped(target, eta, steps, request.start, T)

    largest = largest_overdamped_step(target)
    base = letters_of(make(0.5 * largest, 1))

    def bound(eta: float, steps: int, z: Array) -> float:
        free = Free(**decode(coordinates, z))
        if not free.admissible:
            return math.inf
        at = ShiftedGirsanov(replace(base, eta=eta * T, N=steps), girsanov.ROUGH)
        price = 0.5 * girsanov_price(request.direction, free.p, request.order)
        return at.divergence(price, free) / (request.order - 1.0)

    def starts(eta: float, steps: int) -> list[Array]:
        pairs = [(a, b) for a in (4.0, 20.0, 200.0, 4000.0) for b in (4.0, 20.0, 200.0, 4000.0)]
        return [encode(coordinates, asdict(Free(q1=a, q2=b))) for a, b in pairs]

    eta = min(first_step_size(base, request.order, request.goal) / T, 0.5 * largest)
    far = 2.0 * base.m * (base.d * (base.s0 + 1.0 / base.m) + base.r0**2)
    steps = _warm_up(far * request.order / request.goal, 2.0 * base.m * T * eta)
    return _Family(make, bound, starts, largest, (eta, steps))


def first_step_size(x: Letters, order: float, goal: float) -> float:
    """The step size whose stationary error is three quarters of the goal, to leading order."""

    def error(eta: float) -> float:
        y = replace(x, eta=eta)
        drift = local_error(y).a0 + local_error(y).a1 * math.sqrt(x.L * x.d)
        logs = math.log1p(1.0 / (2.0 * x.m * eta)) + 1.0
        return 0.25 * order * (2.0 * drift**2 / (x.m * eta**2) + (x.L * eta) ** 2 * x.d * logs)

    return largest_satisfying(
        lambda eta: error(eta) <= 0.75 * goal, 1e-30 / x.L, 1.0 / x.L, relative=1e-3
    )


def _kinetic(request: _Request, friction: Friction) -> _Family:
    target = request.target
    mass = arguments.real("inverse_mass", friction.inverse_mass, above=0.0)
    least = math.sqrt(mass * (target.strong_convexity + target.smoothness)) * (1.0 + 1e-15)
    chosen = least if friction.friction is None else friction.friction

    def make(eta: float, steps: int) -> Underdamped:
        return Underdamped(target, eta, steps, chosen, mass, request.start, request.temperature)

    base = kinetic_letters_of(make(1e-9 / (chosen + mass * target.smoothness / chosen), 1))

    def bound(eta: float, steps: int, z: Array) -> float:
        x = replace(base, eta=eta, N=steps)
        free = kinetic_optimised.kinetic_free(x, z)
        return kinetic_divergence(x, request.direction, request.order, free)

    def starts(eta: float, steps: int) -> list[Array]:
        return kinetic_optimised.kinetic_starts(replace(base, eta=eta, N=steps))

    largest = largest_contracting_step(base)
    scale = base.d * request.order * (base.L / base.m) ** 2 * base.gam
    eta = min(math.sqrt(request.goal / scale), 0.3 * largest)
    far = base.gam * (base.d * (base.s0 + 1.0 / base.m) + base.r0**2) * base.L
    steps = _warm_up(10.0 * far * request.order / request.goal, 2.0 * base.rate * eta)
    return _Family(make, bound, starts, largest, (eta, steps))


def _warm_up(factor: float, rate: float) -> int:
    """Return the steps after which what fades at this rate per step has lost this factor."""
    return min(max(math.ceil((2.0 + max(math.log(factor), 0.0)) / rate), 2), MOST_STEPS)
