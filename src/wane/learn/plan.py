"""Settings of a private fit, chosen from public numbers alone.

The model
---------
Let R bound a row's norm, C one record's gradient, and let mu be the Gaussian level of (epsilon,
delta), halved where a record is replaced.  Noisy descent that runs for the time tau (step size
times steps) adds noise of deviation at least C tau/(n mu) to each parameter, and so up to

    nu = R C tau / (n mu)

to each margin, whatever the number of steps.  Full batches attain this; batches in a fixed order,
of which only the last iterate is released, followed by one epoch of noise alone, attain it up to
the factor sqrt(1 + 1/epochs).  The margins themselves grow with the reach rho = R C tau = nu n mu.
Noise and reach grow together, so a longer run does not change their ratio; it stops paying where
the noise passes the scale on which the loss bends.  The excess risk is modelled as

    (1/rho_c) (rho_c/rho + (rho/rho_c)^2 / 2),    rho_c = nu_c n mu,

the first term for what the descent has not reached, the second for noise.  It is least at
rho = rho_c.  The tolerance nu_c is the public prior on the scale, see `wane.losses.base`.

Steps have the largest size at which every step is nonexpansive, 2/(M + 2 ridge), so that the
certificate of the last iterate holds and no step overshoots.  A larger gradient bound C bends more
(larger M) but reaches further in each step; it is preferred only where the number of steps would
otherwise be cut at `MOST_STEPS`.  More steps than planned are taken in smaller sizes, so that they
change neither the time nor the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from wane import arguments
from wane.certificates import calibrate
from wane.describe import (
    Adjacency,
    Cyclic,
    FullBatch,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    ShuffledOnce,
)
from wane.describe.choices import Batches
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn.curvature import CurvatureBound
from wane.losses import Loss, Prior

MOST_STEPS = 20_000
"""Less than a minute for 60,000 images."""
MOST_CHEAP_STEPS = 60_000
CHEAP_WEIGHTS = 1_000
"""Models with so few parameters take a tenth of a millisecond for a step of a small batch."""
FEWEST_STEPS = 100
"""Fewer steps save no time worth having."""
EPOCHS = 50
"""One epoch of noise alone after so many of descent raises the noise by one per cent."""
LITTLE_WORK = 10**9
"""So many products of a feature and a weight take about a second: then every step uses all rows."""
LEAST_SHARE = 0.4
"""However much data there are, noise is not made smaller than this share of what a loss bears."""
BELOW = 1.0 - 2.0**-40
"""Keeps the largest nonexpansive step below its limit after rounding."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is public about a fit.

    Attributes:
        link: the loss.
        records: number of rows.
        features: number of columns, intercept included.
        feature_norm: bound on the norm of one row, intercept included.
    """

    link: Loss
    records: int
    features: int
    feature_norm: float

    @property
    def weights(self) -> int:
        """Number of parameters."""
        return self.features * self.link.outputs


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is fixed beforehand; None is left to the plan.

    Attributes:
        step_size, steps, batches, cool_down, domain: as in `NoisyDescent`.
        clip: bound on one record's gradient.
        ridge: weight of `ridge/2 |x|^2`; 0 unless given, since stopping in time does its work.
        curvature: a released bound on the curvature of the average loss, for the gradient bound
            `clip`; then every step uses all rows.
    """

    step_size: float | None = None
    steps: int | None = None
    batches: Batches | None = None
    clip: float | None = None
    ridge: float | None = None
    cool_down: int | None = None
    domain: Domain | None = None
    curvature: CurvatureBound | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.batches, FullBatch) and self.clip is not None
        free = self.domain is None or math.isinf(self.domain.diameter)
        if self.curvature is not None and not (whole and free):
            raise InvalidDescription(
                "batches must be FullBatch(), clip be given and domain be unbounded to use the "
                "curvature of the average, got others; it belongs to that clip, and a batch may "
                "bend more."
            )


@dataclass(frozen=True)
class Course:
    """One way to run: an objective, a step size, a number of steps, and the modelled risk.

    `smoothness` is what a step bends by: one record's curvature, or the average's if it is known.
    """

    objective: Objective
    smoothness: float | None
    step_size: float
    steps: int
    risk: float

    @property
    def nonexpansive(self) -> bool:
        """No step moves two iterates further apart, so the last one is certified by itself."""
        M = self.smoothness
        return M is not None and self.step_size * (M + 2.0 * self.objective.ridge) <= 2.0


def plan(
    problem: Problem, *, epsilon: float, delta: float, adjacency: Adjacency, **choices: Any
) -> NoisyDescent:
    """Return the run of least modelled risk that is (epsilon, delta)-private; knows no data.

    `choices` are the fields of `Choices`.  The certificate of the run never exceeds epsilon.
    """
    fixed = Choices(**{name: value for name, value in choices.items() if value is not None})
    mu = GaussianDP.from_target(epsilon=epsilon, delta=delta).mu
    strength = problem.records * mu / adjacency.sensitivity(1.0)
    course = min(_courses(problem, strength, fixed), key=lambda c: c.risk)
    run = _described(problem, course, adjacency, fixed)
    return _calibrated(run, epsilon, delta, fixed.curvature)


def _courses(problem: Problem, strength: float, fixed: Choices) -> Iterator[Course]:
    """One course for each gradient bound worth trying."""
    R = problem.feature_norm
    prior = _prior_of(problem.link)
    ridge = 0.0 if fixed.ridge is None else fixed.ridge
    bounds = _gradient_bounds(prior, R) if fixed.clip is None else (fixed.clip,)
    for bound in bounds:
        objective = problem.link.objective(R, bound, ridge)
        M = _bends(objective, fixed.curvature)
        assert objective.gradient_bound is not None
        best_reach = tolerated_noise(prior, objective.gradient_bound / R, strength) * strength
        time = best_reach / (R * objective.gradient_bound)
        step_size, steps = _steps(M, ridge, time, _most_steps(problem), fixed)
        reached = step_size * steps / time
        yield Course(
            objective, M, step_size, steps, (1.0 / reached + reached * reached / 2.0) / best_reach
        )


def _prior_of(link: Loss) -> Prior:
    """Return what the loss says of its scale; a loss that says nothing cannot be planned for."""
    prior = getattr(link, "prior", None)
    if not isinstance(prior, Prior):
        raise InvalidDescription(
            f"link must be a loss with a prior, such as those of wane.losses, got {link!r:.60}; "
            "no scale is known for it."
        )
    return prior


def _gradient_bounds(prior: Prior, feature_norm: float) -> tuple[float | None, ...]:
    """Return the gradient bounds to try; None is the loss's own."""
    return tuple(None if r is None else r * feature_norm for r in prior.residuals)


def tolerated_noise(prior: Prior, residual: float, strength: float) -> float:
    """Return the noise that a margin should have; strength is records times mu."""
    first = residual if prior.residuals[0] is None else prior.residuals[0]
    rest = min(1.0, max(LEAST_SHARE, math.cbrt(prior.enough / strength)))
    return prior.noise * math.pow(first / residual, prior.fading) * rest


def _most_steps(problem: Problem) -> int:
    return MOST_CHEAP_STEPS if problem.weights <= CHEAP_WEIGHTS else MOST_STEPS


def _bends(objective: Objective, bound: CurvatureBound | None) -> float | None:
    """Return the smoothness of a step: one record's, or the smaller bound on their average."""
    M = objective.smoothness
    if bound is None:
        return M
    return bound.smoothness if M is None else min(M, bound.smoothness)


def _steps(
    M: float | None, ridge: float, time: float, most: int, fixed: Choices
) -> tuple[float, int]:
    """Return step size and number of steps that together take this time, if they may."""
    longest = math.inf if not M else 2.0 * BELOW / (M + 2.0 * ridge)
    if fixed.step_size is not None:
        step_size, fewest = arguments.real("step_size", fixed.step_size, above=0.0), 1
    else:
        step_size, fewest = longest, FEWEST_STEPS
    wanted = math.ceil(min(max(time / step_size, fewest), most))
    steps = wanted if fixed.steps is None else arguments.whole("steps", fixed.steps, least=1)
    return (step_size if fixed.step_size is not None else min(longest, time / steps)), steps


def _described(
    problem: Problem, course: Course, adjacency: Adjacency, fixed: Choices
) -> NoisyDescent:
    batches = fixed.batches or _batches(problem, course)
    run = NoisyDescent(
        objective=course.objective,
        records=problem.records,
        steps=course.steps,
        step_size=course.step_size,
        noise=NoiseMultiplier(1.0),
        batches=batches,
        adjacency=adjacency,
    )
    if fixed.domain is not None:
        run = replace(run, domain=fixed.domain)
    period = run.steps_per_epoch
    if fixed.steps is None:
        run = replace(run, steps=period * max(1, round(course.steps / period)))
    return replace(run, cool_down=_cool_down(run, course, fixed))


def _batches(problem: Problem, course: Course) -> Batches:
    """All rows where that is cheap; else about `EPOCHS` epochs of batches.

    Their order is drawn at random and kept secret, since the order of a file may mean much.
    """
    cheap = course.steps * problem.records * problem.weights <= LITTLE_WORK
    count = min(round(course.steps / EPOCHS), problem.records)
    if cheap or count < 2 or not course.nonexpansive:
        return FullBatch()
    return ShuffledOnce(-(-problem.records // count))


def _cool_down(run: NoisyDescent, course: Course, fixed: Choices) -> int:
    """One epoch of noise alone puts the record that was used last on a par with the others."""
    if fixed.cool_down is not None:
        return fixed.cool_down
    ordered = isinstance(run.batches, Cyclic | ShuffledOnce) and course.nonexpansive
    return run.steps_per_epoch - 1 if ordered else 0


def _calibrated(
    run: NoisyDescent, epsilon: float, delta: float, bound: CurvatureBound | None = None
) -> NoisyDescent:
    """Return the run with calibrated noise; a secret order as if it were public, by a formula."""
    if bound is not None:
        return calibrate(
            run, epsilon=epsilon, delta=delta, facts=lambda tried: (bound.about(tried),)
        ).run
    if not isinstance(run.batches, ShuffledOnce):
        return calibrate(run, epsilon=epsilon, delta=delta).run
    in_order = replace(run, batches=Cyclic(run.batches.size))
    return replace(calibrate(in_order, epsilon=epsilon, delta=delta).run, batches=run.batches)
