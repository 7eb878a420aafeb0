"""From a target to a setting: the answer is always on the private side, and certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar

from wane import arguments
from wane.certificates.analyse import FactsOf, certify_with, no_facts
from wane.certificates.certificate import Certificate
from wane.certificates.goals import PrivacyGoal, goal_of
from wane.certificates.parts import gaussian_mu_of
from wane.certificates.presented import PresentedCalibration
from wane.describe import NoisyDescent
from wane.describe.saddle import NoisyDescentAscent
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import Guarantee
from wane.numerics.search import first_at_most
from wane.theorems.theorem import Theorem

Run = TypeVar("Run", NoisyDescent, NoisyDescentAscent)
MOST_STEPS = 10**12
"""A run that meets its target here meets it for ever, for all that anyone will notice."""


SEARCH_WIDTH = 1e-6
"""How closely a noise that has no formula is searched for, relatively."""
LARGEST_FACTOR = 1e17
"""How far noise may be scaled, either way."""
LARGEST_MU_RATIO = 1e3
"""So many times the mu that is asked for, nobody needs to know how many."""


class Over(Enum):
    """What calibration may change."""

    NOISE = "noise"
    STEPS = "steps"
    STEP_SIZE = "step-size"


@dataclass(frozen=True, repr=False)
class Calibrated(PresentedCalibration, Generic[Run]):
    """A run that meets its target, and its certificate.

    Attributes:
        certificate: of the calibrated run.
        over: what was changed.
        value: its new value: the noise in the description's own convention (for a schedule: the
            factor on all of them), the number of steps, or the step size.
        goal: the target that it meets.
        limited: False if the search ended at its own limit, so that more would do as well.
        note: what else ended the search, in words; empty if privacy alone did.
    """

    certificate: Certificate
    over: Over
    value: float
    goal: PrivacyGoal
    limited: bool = True
    note: str = ""

    @property
    def run(self) -> Run:
        """The calibrated description."""
        run: Run = self.certificate.run
        return run

    @property
    def reached(self) -> float:
        """What the calibrated run is certified to cost, in the target's own measure."""
        return self.goal.level_of(self.certificate)

    @property
    def noise(self) -> object:
        """The calibrated noise."""
        return self.run.noise if self.run.schedule is None else self.run.schedule


def calibrate(
    run: Run,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    renyi: tuple[float, float] | None = None,
    zcdp: float | None = None,
    mu: float | None = None,
    advantage: float | None = None,
    attack: tuple[float, float] | None = None,
    guess: tuple[float, float] | None = None,
    over: Over | str = Over.NOISE,
    facts: FactsOf = no_facts,
) -> Calibrated[Run]:
    """Return the cheapest setting that meets a target, with its certificate.

    Least noise, most steps, or largest step size.  The target is `epsilon` and `delta`, or
    `renyi=(order, divergence)`, or the rho of `zcdp`, or `mu`; or what an attacker may achieve: an
    `advantage` (true-positive minus false-positive rate), an `attack` (a false-positive rate and
    the largest true-positive rate there), or a `guess` (the prior probability that the record was
    used, and how often the best guess may be right).  A fact of one run is no fact of
    another, so `facts` is a function, which is asked of every run that is tried; where it raises
    `Unreachable` it says nothing.  Raises `Unreachable` if no setting will do.
    """
    arguments.kind("run", run, (NoisyDescent, NoisyDescentAscent))
    attacks = {"advantage": advantage, "attack": attack, "guess": guess}
    goal = goal_of(epsilon=epsilon, delta=delta, renyi=renyi, zcdp=zcdp, mu=mu, **attacks)
    found: Calibrated[Run] = _SEARCHES[arguments.choice("over", over, Over)](
        run, _Search(goal, facts)
    )
    return found


@dataclass(frozen=True)
class _Search:
    """A goal, and how each run that is tried is certified."""

    goal: PrivacyGoal
    facts: FactsOf

    def certify(self, run: Run, only: Theorem[Guarantee] | None = None) -> Certificate:
        return certify_with(run, self.facts, None if only is None else (only,))

    def met_by(self, certificate: Certificate) -> bool:
        return self.goal.met_by(certificate)

    @property
    def mu(self) -> float:
        return self.goal.mu_of(self.goal.level)

    def mu_by(self, certificate: Certificate) -> float:
        """Return the mu of a Gaussian guarantee that would be as good for the goal."""
        return self.goal.mu_of(self.goal.level_of(certificate))


def _least_noise(run: Run, target: _Search) -> Calibrated[Run]:
    start = target.certify(run)
    if not (run.gradient_noise_stds > 0).all() and math.isinf(target.mu_by(start)):
        raise Unreachable(
            "The noise is zero somewhere, so scaling it cannot reach the target; "
            "start from any noise > 0."
        )
    factor = _gaussian_factor(start, target)
    if factor is None:
        factor, found = _searched_factor(run, start, target)
    else:
        found = target.certify(run.noise_scaled(factor))
    while not target.met_by(found):  # the factor was right up to rounding
        factor *= 1.0 + 1e-12
        found = target.certify(run.noise_scaled(factor))
    noise = found.run.noise
    return Calibrated(found, Over.NOISE, factor if noise is None else noise.value, target.goal)


def _gaussian_factor(start: Certificate, target: _Search) -> float | None:
    """If every bound is a Gaussian one, mu is inversely proportional to the noise."""
    mus = [gaussian_mu_of(v.conclusion) for v in start.applicable]
    least = min((mu for mu in mus if mu is not None), default=None)
    if None in mus or least is None or not 0.0 < least < math.inf:
        return None
    return least / target.mu


def _searched_factor(run: Run, start: Certificate, target: _Search) -> tuple[float, Certificate]:
    """Return the least noise factor and its certificate, by a search with the leading theorem.

    Every theorem's mu falls as the noise grows.  So at the least noise with which the leader meets
    the goal, whoever does not do better there does not meet it with less.
    """
    factor, found, followed = 1.0, start, []
    while True:
        leader = _leader(found, target)
        if leader in followed or None in followed:
            return factor, found
        followed.append(leader)
        factor = _least_factor(run, target, leader, factor)
        found = target.certify(run.noise_scaled(factor))


def _leader(found: Certificate, target: _Search) -> Theorem[Guarantee] | None:
    """Return the theorem that does best for the goal; None if none is anywhere near it."""
    (part,) = found.parts
    known = [
        (target.mu_by(Certificate((replace(part, verdicts=(verdict,)),))), verdict.theorem)
        for verdict in found.applicable
    ]
    least = min(mu for mu, _ in known)
    if not least < LARGEST_MU_RATIO * target.mu:
        return None
    # of equals the first: hidden steps that hide nothing are composition, which is found sooner
    return next(theorem for mu, theorem in known if mu <= least * (1.0 + 1e-9))


def _least_factor(
    run: Run, target: _Search, leader: Theorem[Guarantee] | None, begin: float
) -> float:
    """By the mu that each answer amounts to at delta, which falls about as the noise grows."""
    goal = target.mu
    if math.isinf(goal):  # delta is 1: anything will do
        return 1.0 / LARGEST_FACTOR

    @cache
    def mu(factor: float) -> float:
        tried = target.certify(run.noise_scaled(factor), leader)
        found = target.mu_by(tried) if tried.applicable else math.inf
        return min(found, LARGEST_MU_RATIO * goal)  # finite, so that a chord can be drawn

    low = high = begin
    stride = 1.0 + 4.0 * SEARCH_WIDTH
    while mu(high) > goal:
        stride = _stride(stride, mu(high) / goal)
        low, high = high, high * stride
        if high > LARGEST_FACTOR:
            raise Unreachable(f"No amount of noise reaches {target.goal}.")
    while mu(low) <= goal:
        stride = _stride(stride, goal / mu(low))
        low, high = low / stride, low
        if low < 1.0 / LARGEST_FACTOR:
            return high
    return first_at_most(mu, goal, low, high, relative=SEARCH_WIDTH)


def _stride(last: float, missing: float) -> float:
    """A little beyond where the goal should be, and longer than the last one, which fell short."""
    return min(max(1.05 * missing, last**2), math.e)


def _most_steps(run: Run, target: _Search) -> Calibrated[Run]:
    if run.schedule is not None:
        raise InvalidDescription(
            "over must not be steps when a schedule is given; describe the run with steps, "
            "step_size and noise."
        )

    def at(steps: int) -> Certificate:
        return target.certify(replace(run, steps=steps))

    if not target.met_by(at(1)):
        raise Unreachable(
            f"No number of steps reaches {target.goal}: one step already costs "
            f"{target.goal.level_of(at(1)):.6g}; add noise."
        )
    low, high = 1, 2
    while high <= MOST_STEPS and target.met_by(at(high)):
        low, high = high, 2 * high
    if high > MOST_STEPS:
        return Calibrated(at(low), Over.STEPS, low, target.goal, limited=False)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if target.met_by(at(middle)) else (low, middle)
    return Calibrated(at(low), Over.STEPS, low, target.goal)


def _largest_step_size(run: Run, target: _Search) -> Calibrated[Run]:
    """Privacy is not monotone in the step size: scan from above, then bisect one boundary."""
    if isinstance(run, NoisyDescentAscent):
        raise InvalidDescription(
            "over must be noise or steps for descent-ascent, got step-size; its iterates may move "
            "away from any solution however short the steps are."
        )
    if run.schedule is not None or run.step_size is None:
        raise InvalidDescription(
            "over must not be step-size when a schedule is given; describe the run with steps, "
            "step_size and noise."
        )

    def at(step_size: float) -> Certificate:
        return target.certify(replace(run, step_size=step_size))

    def private(step_size: float) -> bool:
        return target.met_by(at(step_size))

    def made(step_size: float, *, note: str = "", limited: bool = True) -> Calibrated[Run]:
        return Calibrated(at(step_size), Over.STEP_SIZE, step_size, target.goal, limited, note)

    stable = _longest_stable_step(run)
    if stable < math.inf and private(stable):
        return made(stable, note=_STABLE)
    sizes = [size for k in range(40, -61, -1) if (size := run.step_size * 2.0**k) < stable]
    low = next((size for size in sizes if private(size)), None)
    if low is None:
        raise Unreachable(f"No step size reaches {target.goal}; add noise or release less.")
    note = "" if run.objective.smoothness is not None else _UNKNOWN
    if math.isinf(stable) and low == sizes[0]:
        return made(low, note=note, limited=False)
    high = min(2.0 * low, stable)
    while high / low > 1.0 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if private(middle) else (low, middle)
    return made(low, note=note)


_STABLE = (
    "A longer step would be as private, but beyond 2/(smoothness + ridge) the iterates move away "
    "from any minimiser: the run explodes, or bounces between the walls of its domain."
)
_UNKNOWN = (
    "Whether steps of this size explode is not known; declare objective.smoothness, and none "
    "longer than 2/(smoothness + ridge) is returned."
)


def _longest_stable_step(run: NoisyDescent) -> float:
    """2/(M + ridge), rounded down: no longer step settles on a quadratic; infinite if unknown."""
    smoothness = run.objective.smoothness
    if smoothness is None:
        return math.inf
    steepest = smoothness + run.objective.ridge
    longest = 2.0 / steepest if steepest > 0.0 else math.inf
    return longest if math.isinf(longest) else math.nextafter(longest, 0.0)


_SEARCHES: dict[Over, Callable[[Any, _Search], Calibrated[Any]]] = {
    Over.NOISE: _least_noise,
    Over.STEPS: _most_steps,
    Over.STEP_SIZE: _largest_step_size,
}
