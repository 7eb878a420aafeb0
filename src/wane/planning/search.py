"""Search step sizes, numbers of steps, noise, ridge and cool-down for the plan of least risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from wane import arguments
from wane.certificates import Certificate, calibrate
from wane.certificates.goals import ApproximateGoal, PrivacyGoal, goal_of
from wane.describe import Adjacency, GradientNoise, NoisyDescent
from wane.describe.choices import adjacency_of
from wane.describe.schedule import Phase
from wane.errors import NoTheoremApplies, Unreachable
from wane.planning.problem import Problem
from wane.planning.risk import (
    EqualSteps,
    Landscape,
    excess_risk_of,
    risk_of_steps,
    square_after,
)
from wane.planning.rivals import (
    objective_perturbation_risk_of,
    output_perturbation_risk_of,
)

MOST_STEPS = 20_000
"""Unless another limit is given, a plan takes no more steps."""
_LEVELS = 16
_MOST_LEGS = 6
_FINALISTS = 3
_RIDGES = 60
_FINE = 16.0
_LEFT = 0.1
"""What steps on public records leave of the start, beside what is added later."""

_Target = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A run, its certificate, and its bound on the risk beside those of other methods.

    Attributes:
        problem: the public constants that it is made for.
        goal: the privacy that was asked for.
        run: what to run, from the origin; None if taking no step promises the least.
        certificate: of the run, which meets the goal; None without a run.
        excess_risk: E[L(released)] - min L is at most this, for every data set that the constants
            allow.
        no_step_risk: of releasing the start.
        output_perturbation_risk: of noise on the exact minimiser.
        objective_perturbation_risk: of noise on the objective, under hypotheses of its own; None
            where the goal is not one epsilon and delta.
    """

    problem: Problem
    goal: PrivacyGoal
    run: NoisyDescent | None
    certificate: Certificate | None
    excess_risk: float
    no_step_risk: float
    output_perturbation_risk: float
    objective_perturbation_risk: float | None


@dataclass(frozen=True)
class _Draft:
    """A candidate: phases with their noise, a ridge, and its bound on the risk."""

    phases: tuple[EqualSteps, ...]
    ridge: float
    risk: float


def plan(
    *,
    gradient_bound: float,
    smoothness: float,
    dimension: int,
    records: int,
    start_distance: float,
    strong_convexity: float = 0.0,
    adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    public_records: int | None = None,
    public_gradient_gap: float | None = None,
    most_steps: int = MOST_STEPS,
) -> Plan:
    """Return the run whose certified excess risk is least among the designs that wane knows.

    Designs: no step at all; equal steps, towards a ridge if that helps, as many and as long as
    balance what is not yet learnt and the noise; and steps that shorten linearly, once or in
    several legs.  With `public_records` steps on these go before and after the others where that
    lowers the risk.  The noise is calibrated by every theorem.

    Give `epsilon` and `delta`, or `mu`.
    The constants are those of `wane.planning.Problem`; the risk is never above `no_step_risk`.
    """
    problem = Problem(
        gradient_bound=gradient_bound,
        smoothness=smoothness,
        strong_convexity=strong_convexity,
        dimension=dimension,
        records=records,
        start_distance=start_distance,
        adjacency=adjacency_of("adjacency", adjacency),
        public_records=public_records,
        public_gradient_gap=public_gradient_gap,
    )
    arguments.whole("most_steps", most_steps, least=1, most=10**6)
    target: _Target = {"epsilon": epsilon, "delta": delta, "mu": mu}
    return _planned(problem, target, most_steps)


def _planned(problem: Problem, target: _Target, most_steps: int) -> Plan:
    """Return the best candidate if it is better than no step, with the risks of the rivals."""
    goal = goal_of(**target)
    level = goal.mu_of(goal.level)
    best = _best(problem, target, _drafts(problem, level, most_steps))
    nothing = problem.no_step_risk
    risk = math.inf if best is None else _risk(problem, best)
    chosen = best if risk < nothing else None
    return Plan(
        problem=problem,
        goal=goal,
        run=None if chosen is None else chosen.run,
        certificate=chosen,
        excess_risk=min(risk, nothing),
        no_step_risk=nothing,
        output_perturbation_risk=output_perturbation_risk_of(problem, level),
        objective_perturbation_risk=_by_noise_on_the_objective(problem, goal),
    )


def _by_noise_on_the_objective(problem: Problem, goal: PrivacyGoal) -> float | None:
    if not isinstance(goal, ApproximateGoal):
        return None
    return objective_perturbation_risk_of(problem, goal.epsilon, goal.delta)


def _best(problem: Problem, target: _Target, drafts: list[_Draft]) -> Certificate | None:
    """Return the certificate of the best candidate with calibrated noise; None if there is none."""
    best: Certificate | None = None
    for draft in sorted(drafts, key=lambda d: d.risk)[:_FINALISTS]:
        if best is not None and _risk(problem, best) <= draft.risk:
            break
        candidate = _calibrated(problem, target, draft)
        if best is None or (candidate and _risk(problem, candidate) < _risk(problem, best)):
            best = candidate
    for follow in (_cooled, _public_at_the_end):
        best = best and _followed(problem, target, best, follow)
    return best


def _risk(problem: Problem, certificate: Certificate) -> float:
    return excess_risk_of(certificate.run, public_gradient_gap=problem.public_gradient_gap)


def _calibrated(problem: Problem, target: _Target, draft: _Draft) -> Certificate | None:
    phases = [Phase(s.count, s.size, GradientNoise(s.noise), public=s.public) for s in draft.phases]
    try:
        return _with_least_noise(problem.run(phases, draft.ridge), target)
    except (NoTheoremApplies, Unreachable):
        return None


def _with_least_noise(run: NoisyDescent, target: _Target) -> Certificate:
    """Return the certificate of this run with the least noise that meets the goal."""
    return calibrate(run, **target).certificate


_Follow = Callable[[Problem, NoisyDescent, int], NoisyDescent | None]
"""Returns a run with so many more steps at its end, none of which uses a private record."""


def _followed(problem: Problem, target: _Target, best: Certificate, follow: _Follow) -> Certificate:
    """Return the run followed by steps that use no private record, while these lower the risk."""
    first, length = best.run, 1
    while length <= 64:
        longer = follow(problem, first, length)
        tried = None if longer is None else _with_least_noise(longer, target)
        if tried is None or _risk(problem, tried) >= _risk(problem, best):
            return best
        best, length = tried, 2 * length
    return best


def _cooled(_: Problem, run: NoisyDescent, length: int) -> NoisyDescent | None:
    if not run.objective.ridge or run.schedule is not None:
        return None
    return replace(run, cool_down=length)


def _public_at_the_end(problem: Problem, run: NoisyDescent, length: int) -> NoisyDescent | None:
    land = _landscape(problem, run.objective.ridge)
    if problem.public_records is None or land.low <= 0.0 or run.cool_down:
        return None
    phases = list(run.plan)
    size = 2.0 / (land.low + land.high)
    return problem.run(
        [*phases, Phase(length, size, phases[-1].noise, public=True)], run.objective.ridge
    )


def _drafts(problem: Problem, mu: float, most: int) -> list[_Draft]:
    """Return candidates with the noise of closed forms, which calibration can only lower."""
    drafts = [*_equal_steps(problem, mu, most), *_shortening(problem, mu, most)]
    if problem.public_records is not None:  # steps on public records may not be worth their number
        drafts += _drafts(replace(problem, public_records=None, public_gradient_gap=None), mu, most)
    return [d for d in drafts if math.isfinite(d.risk)]


def _landscape(problem: Problem, ridge: float) -> Landscape:
    gap = problem.public_gradient_gap
    return Landscape(
        low=problem.strong_convexity + ridge,
        high=problem.smoothness + ridge,
        dimension=problem.dimension,
        ridge=ridge,
        radius=problem.start_distance,
        gradient_bound=problem.gradient_bound,
        public_gap=math.inf if gap is None else gap,
    )


def _warm_start(
    problem: Problem, land: Landscape, mu: float, most: int
) -> tuple[tuple[EqualSteps, ...], float]:
    """Return the steps on public records that come first, and how far their end may be off.

    They need no noise, as nothing private was used before.  They stop where what they have left of
    the start is little beside what they add themselves or, later, the noise does.
    """
    gap, factor = land.public_gap, (land.high - land.low) / (land.high + land.low)
    if land.low <= 0.0 or not gap < land.low * land.reach:
        return (), land.reach
    noise = math.sqrt(_noise_floor(problem, land, mu))
    wanted = _LEFT * max(gap / land.low, noise) / land.reach
    if wanted >= 1.0 or most < 2:
        return (), land.reach
    count = math.log(wanted) / math.log(factor) if wanted > 0.0 and factor > 0.0 else 1.0
    count = max(1, min(math.ceil(count), most // 2))
    steps = EqualSteps(count, 2.0 / (land.low + land.high), 0.0, public=True)
    return (steps,), math.sqrt(square_after(land, steps))


def _noise_floor(problem: Problem, land: Landscape, mu: float) -> float:
    """Return the squared distance that noise on the exact minimiser would have."""
    return problem.dimension * (problem.sensitivity / (land.low * mu)) ** 2


def _equal_steps(problem: Problem, mu: float, most: int) -> Iterator[_Draft]:
    """Yield the steps of Theorem E for each ridge, with sizes for which a whole number is best."""
    scale = problem.smoothness
    ridges = [scale * 10.0 ** (-6.0 + 8.0 * i / _RIDGES) for i in range(_RIDGES + 1)]
    drafts = [_at_ridge(problem, mu, ridge, most) for ridge in [0.0, *ridges]]
    by_risk = sorted((d for d in drafts if d is not None), key=lambda d: d.risk)
    yield from by_risk[:2]


def _at_ridge(problem: Problem, mu: float, ridge: float, most: int) -> _Draft | None:
    land = _landscape(problem, ridge)
    if land.low <= 0.0:
        return None
    before, far = _warm_start(problem, land, mu, most)
    most -= sum(steps.count for steps in before)
    start = far**2
    floor = _noise_floor(problem, land, mu)
    learnt = start / (start + floor)  # of the way to the minimiser; the rest is 1 - learnt
    longest = 2.0 * land.low / (land.low + land.high)
    per_step = math.log1p(-longest) if longest < 1.0 else -math.inf
    rest = math.log(floor / (start + floor)) if floor > 0.0 else -math.inf
    count = rest / per_step if math.isfinite(per_step) else 1.0
    if not math.isfinite(count) or count > most:
        count, share = float(most), longest
    else:
        count = max(1.0, math.ceil(count * (1.0 - 1e-12)))
        share = min(-math.expm1(math.log1p(-learnt) / count) if learnt < 1.0 else 1.0, longest)
    size = share / land.low
    noise = _noise_of_equal_steps(problem, mu, share, int(count))
    steps = (*before, EqualSteps(int(count), size, noise))
    if not (size > 0.0 and math.isfinite(noise) and noise > 0.0):
        return None
    # the last iterate's theorem is not asked here: it traces every step of every candidate
    return _Draft(steps, ridge, risk_of_steps(land, steps, trials=0))


def _noise_of_equal_steps(problem: Problem, mu: float, share: float, count: int) -> float:
    """Return (S/mu) sqrt((1 + c)/(1 - c) (1 - c^K)/(1 + c^K)) with 1 - c = share."""
    log_c = math.log1p(-share) if share < 1.0 else -math.inf
    spread = (2.0 - share) / share * math.tanh(-0.5 * count * log_c)
    return problem.sensitivity / mu * math.sqrt(spread)


def _shortening(problem: Problem, mu: float, most: int) -> Iterator[_Draft]:
    """Yield steps that shorten linearly to zero, in one leg or in several."""
    land = _landscape(problem, 0.0)
    before, far = _warm_start(problem, land, mu, most)
    most -= sum(steps.count for steps in before)
    for count in range(1, _MOST_LEGS + 1) if land.low > 0.0 else (1,):
        for growth in (2.0, 4.0) if count > 1 else (1.0,):
            weights = [growth**i for i in range(count)]
            shares = [mu * math.sqrt(weight / sum(weights)) for weight in weights]
            legs = _linear_legs(problem, land, shares, max(1, most // count), far)
            if legs:
                phases = (*before, *legs)
                yield _Draft(phases, 0.0, risk_of_steps(land, phases, trials=1))


def _linear_legs(
    problem: Problem, land: Landscape, shares: list[float], most: int, distance: float
) -> tuple[EqualSteps, ...]:
    """Return one leg for each share of mu; each starts where the bound puts the end of the last."""
    cost = problem.sensitivity * math.sqrt(problem.dimension)
    legs: list[EqualSteps] = []
    for share in shares:
        travel = distance * share / cost  # the sum of step sizes that balances both terms
        wanted = _FINE * land.high * travel
        steps = max(1, math.ceil(wanted) if wanted < most else most)
        noise = problem.sensitivity * math.sqrt(steps) / share
        size = travel / (steps + 1)
        if size * land.high > 0.5:  # too few steps for smoothness: by the gradients' bound
            length = math.hypot(problem.gradient_bound, noise * math.sqrt(problem.dimension))
            size = max(0.5 / land.high, distance / (length * math.sqrt(steps + 1)))
        leg = list(_levels(steps, size, noise))
        if not all(s.size > 0.0 and math.isfinite(s.noise) and s.noise > 0.0 for s in leg):
            return ()
        legs += leg
        if land.low > 0.0:
            distance = min(distance, math.sqrt(2.0 * distance * cost / (share * land.low)))
    return tuple(legs)


def _levels(steps: int, size: float, noise: float) -> Iterator[EqualSteps]:
    """Yield steps from `size` down to zero on a few levels, so that the description is short."""
    levels = min(steps, _LEVELS)
    edges = [round(steps * i / levels) for i in range(levels + 1)]
    for first, end in pairwise(edges):
        left = 1.0 - 0.5 * (first + end + 1) / (steps + 1)
        yield EqualSteps(end - first, size * left, noise)
