"""Published bounds, nearly all on the last iterate, each in a form that is known to be sound.

Where a paper's statement is false or not proved as printed, what stands here is the nearest
statement that is proved; docs/errata says why.  A bound returns a guarantee where its hypotheses
fit the run, and nothing where they do not.  Renyi bounds are turned into epsilon by the conversion
that wane itself uses, so that a difference between two columns is one of theorems and not of
conversions.

Letters: eta step size, s noise on the averaged gradient, C gradient bound, S how far one record
moves the averaged gradient, b batch size, n records, T steps, l batches per epoch, D diameter,
c Lipschitz constant of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import wane
from wane.describe import NoisyDescent
from wane.guarantees import (
    GaussianDP,
    Guarantee,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
)
from wane.numerics.normal import gaussian_delta
from wane.numerics.sampled_gaussian import renyi_replace
from wane.numerics.search import smallest_satisfying
from wane.theorems.lemmas import lipschitz as facts
from wane.theorems.lemmas.loss_moduli import is_convex
from wane_papers.cyclic import printed as cyclic_paper
from wane_papers.dynamics import printed as dynamics_paper
from wane_papers.modulus import printed as modulus_paper

Array = NDArray[np.float64]

MOST_EPSILON = 1e4
IN_ORDER = (wane.FullBatch, wane.Cyclic, wane.ShuffledOnce)


@dataclass(frozen=True)
class Profile:
    """A bound on delta for every epsilon."""

    delta: Callable[[float], float]

    def epsilon(self, delta: float) -> float:
        if self.delta(MOST_EPSILON) > delta:
            return math.inf
        return smallest_satisfying(lambda e: self.delta(e) <= delta, 0.0, MOST_EPSILON)


Found = Guarantee | Profile | None


@dataclass(frozen=True)
class Published:
    """A bound by its key in the bibliography of the page, and what had to be repaired."""

    key: str
    source: str
    form: str
    guarantee: Callable[[NoisyDescent], Found]
    by_log_sobolev: Callable[[NoisyDescent, float], Found] | None = None

    def epsilon(
        self, run: NoisyDescent, delta: float, log_sobolev: float | None = None
    ) -> float | None:
        found = self.guarantee(run)
        if log_sobolev is not None and self.by_log_sobolev is not None:
            found = self.by_log_sobolev(run, log_sobolev)
        return None if found is None else found.epsilon(delta)


# ---- what the bounds ask of a run ----------------------------------------------------------


def step_size(run: NoisyDescent) -> float:
    return float(run.plan.step_size[0])


def noise(run: NoisyDescent) -> float:
    return float(run.gradient_noise_stds[0])


def sensitivity(run: NoisyDescent) -> float:
    assert run.gradient_sensitivity is not None
    return run.gradient_sensitivity


def bound(run: NoisyDescent) -> float:
    assert run.objective.gradient_bound is not None
    return run.objective.gradient_bound


def one_use(run: NoisyDescent) -> float:
    """The mu of one use of the record, S/s."""
    return sensitivity(run) / noise(run)


def lipschitz(run: NoisyDescent) -> float | None:
    """The constant c of a step, or None where the losses are not known to be smooth."""
    if run.objective.smoothness is None:
        return None
    return math.exp(float(facts.log_step_lipschitz(run, run.plan.step_size)[0]))


def diameter(run: NoisyDescent) -> float:
    return run.domain.diameter


def uses(run: NoisyDescent) -> int:
    """How often the record used most is used."""
    return -(-run.total_steps // run.steps_per_epoch)


def in_order(run: NoisyDescent) -> bool:
    return isinstance(run.batches, IN_ORDER)


def full(run: NoisyDescent) -> bool:
    return isinstance(run.batches, wane.FullBatch)


def bounded(run: NoisyDescent) -> bool:
    return math.isfinite(diameter(run))


# ---- the bounds ----------------------------------------------------------------------------


def feldman(run: NoisyDescent) -> Found:
    """Each use is spread over the epoch after it, the last one is not: 1 + (uses - 1)/l."""
    c = lipschitz(run)
    if not in_order(run) or c is None or c > 1.0 + 1e-12:
        return None
    return RenyiDP.zcdp(0.5 * one_use(run) ** 2 * (1.0 + (uses(run) - 1) / run.steps_per_epoch))


def chourasia_by_log_sobolev(run: NoisyDescent, constant: float) -> Found:
    """Theorem 2, for a log-Sobolev constant of this very run."""
    if not full(run):
        return None
    variance = noise(run) ** 2 * step_size(run) / 2.0
    limit = sensitivity(run) ** 2 / (2.0 * constant * variance**2)
    relative = variance * constant * step_size(run) * run.total_steps
    return RenyiDP.zcdp(limit * dynamics_paper.best_fixed_split(relative))


def chourasia(run: NoisyDescent) -> Found:
    """Corollary 1, for strongly convex losses."""
    if not full(run):
        return None
    objective, eta = run.objective, step_size(run)
    known = {
        "alpha": 1.0,
        "Sg": sensitivity(run) * run.records,
        "n": run.records,
        "sigma": noise(run) * math.sqrt(eta / 2.0),
        "eta": eta,
        "K": run.total_steps,
    }
    if not is_convex(objective) or objective.smoothness is None:
        return None
    lam = objective.ridge + (0.0 if objective.clipped else objective.strong_convexity or 0.0)
    beta = objective.ridge + objective.smoothness
    if lam <= 0.0 or eta > 2.0 / (lam + beta):
        return None
    return RenyiDP.zcdp(dynamics_paper.strongly_convex(**known, lam=lam))


def ye(run: NoisyDescent) -> Found:
    """A use adds S^2/(2 s^2); a step without the record divides by 1 + (eta s)^2/(c^2 V).

    V is the tracked inverse of a log-Sobolev constant of the law of the iterate, from a fixed
    start; the record used last is the worst off.
    """
    c, period = lipschitz(run), run.steps_per_epoch
    if not in_order(run) or full(run) or c is None:
        return None
    variance, last = (step_size(run) * noise(run)) ** 2, run.total_steps % period
    rho = spread = 0.0
    for step in range(1, run.total_steps + 1):
        before = c * c * spread
        spread = before + variance
        if step % period == last:
            rho += 0.5 * one_use(run) ** 2
        else:
            rho *= before / spread
    return RenyiDP.zcdp(rho)


def altschuler(run: NoisyDescent) -> Found:
    """Convex smooth losses in a bounded set: the last R steps, and a distance spread over them."""
    c = lipschitz(run)
    if not bounded(run) or c is None or c > 1.0 + 1e-12 or not is_convex(run.objective):
        return None
    if full(run):
        return RenyiDP.zcdp(0.5 * _joint(run))
    return _sampled(run, _even_batches(run), diameter(run) ** 2 / _counts(run.total_steps))


def bok(run: NoisyDescent) -> Found:
    """Gaussian: closed forms for steps that do not expand, with full or cyclic batches."""
    c = lipschitz(run)
    if not in_order(run) or c is None or c > 1.0 + 1e-12:
        return None
    n, period = uses(run), run.steps_per_epoch
    y = 0.0 if c > 1.0 - 1e-12 else -math.log(c)
    if y == 0.0:
        share = 1.0 + (n - 1) / period
    elif period == 1:
        share = math.tanh(0.5 * n * y) / math.tanh(0.5 * y)
    else:
        fade = math.expm1(2.0 * y) / math.expm1(period * y) ** 2 if period * y < 300.0 else 0.0
        share = 1.0 + fade * math.tanh(0.5 * period * (n - 1) * y)
    mu_squared = one_use(run) ** 2 * share
    if full(run) and bounded(run):
        mu_squared = min(mu_squared, _joint(run))
    return GaussianDP(math.sqrt(mu_squared))


def kong(run: NoisyDescent) -> Found:
    """Theorem 4.4 with the exact constant of a clipped step; s = S/(2 s) for replace-one."""
    c = lipschitz(run)
    if not in_order(run) or c is None or not bounded(run):
        return None
    on_iterate = step_size(run) * noise(run)
    return RenyiDP.zcdp(
        cyclic_paper.bounded_domain(
            alpha=1.0, s=0.5 * one_use(run), L=c, d_h=diameter(run), sigma=on_iterate
        )
    )


def asoodeh(run: NoisyDescent) -> Found:
    """Every step contracts hockey-stick divergences; the distance of two steps corrected.

    delta = theta q (1 - x^T)/(1 - x), x = theta (1 - q), theta the divergence of unit Gaussians
    (D/eta + 2C)/s apart; with Poisson batches averaged over the number of records.
    """
    if not bounded(run) or run.objective.ridge or isinstance(run.batches, IN_ORDER[1:]):
        return None
    reach, C, s, T = diameter(run) / step_size(run), bound(run), noise(run), run.total_steps
    rate = run.batch_size / run.records
    fills, weights = np.ones(1), np.ones(1)
    if isinstance(run.batches, wane.Poisson):
        others = np.arange(run.records)
        weights = stats.binom.pmf(others, run.records - 1, rate)
        fills = (others + 1.0) / run.batch_size
    gaps = (reach + 2.0 * C * fills) / s

    def delta(epsilon: float) -> float:
        theta = min(float(np.dot(weights, gaussian_delta(epsilon, gaps))), 1.0)
        x = theta * (1.0 - rate)
        series = -math.expm1(T * math.log(x)) / (1.0 - x) if 0.0 < x < 1.0 else 1.0
        return theta * rate * series

    return Profile(delta)


def bravo(run: NoisyDescent) -> Found:
    """Losses that are not smooth, weakly smooth, or not convex: squares c u^2 + h of distances.

    The record's steps and the fading distance share the noise equally.  Batches of fixed size
    have twice the shift; nothing is proved for Poisson batches.
    """
    made = _square_of_step(run)
    if (
        not bounded(run)
        or made is None
        or not isinstance(run.batches, wane.FullBatch | wane.WithoutReplacement)
    ):
        return None
    left = faded(diameter(run), *made, run.total_steps)
    if full(run):
        mu_squared = 2.0 * one_use(run) ** 2 * _counts(len(left))
        mu_squared = mu_squared + 2.0 * left / (step_size(run) * noise(run)) ** 2
        return RenyiDP.zcdp(0.5 * float(mu_squared.min()))
    return _sampled(run, 2.0, left)


def zhu(run: NoisyDescent) -> Found:
    """Theorem 11 for batches of fixed size, replaced records 2C apart: all steps composed."""
    if not isinstance(run.batches, wane.WithoutReplacement):
        return None
    mu = 2.0 * bound(run) / (run.batch_size * noise(run))
    step = SampledGaussianStep(mu, run.batch_size / run.records, Pair.FIXED_SIZE)
    return NumericalDP(((step, run.total_steps),))


# ---- shared pieces -------------------------------------------------------------------------


def faded(D: float, c: float, h: float, steps: int) -> Array:
    """Corollaries 3.7 to 3.9 before simplification, for unit noise and 1, 2, ... last steps."""
    # where c^t would overflow more steps bring nothing, and fewer are valid
    most = max(1, int(600.0 / math.log(c))) if c > 1.0 else steps
    powers = c ** np.arange(float(min(steps, most)))
    sums = np.cumsum(powers)
    return np.asarray(D * D * c * powers / sums + h * np.cumsum(powers / sums))


def _joint(run: NoisyDescent) -> float:
    """mu^2 = min over R of (D + eta S R)^2/(R eta^2 s^2): full batches that do not expand."""
    counts = _counts(run.total_steps)
    spread = (diameter(run) / step_size(run) + sensitivity(run) * counts) / noise(run)
    return min(float((spread**2 / counts).min()), run.total_steps * one_use(run) ** 2)


def _even_batches(run: NoisyDescent) -> float | None:
    """How many gradient bounds the record moves a sampled sum by, if no batch can expand."""
    if isinstance(run.batches, wane.WithoutReplacement):
        return 2.0
    M = (run.objective.smoothness or math.inf) + run.objective.ridge
    largest = step_size(run) * M * (run.records - 1) / run.batch_size
    return 1.0 if isinstance(run.batches, wane.Poisson) and largest <= 2.0 else None


def _counts(steps: int) -> Array:
    return np.arange(1.0, steps + 1.0)


def _sampled(run: NoisyDescent, moved: float | None, left: Array) -> Found:
    """R sampled steps with half of the noise, and what is left of the distance with the rest."""
    if moved is None:
        return None
    counts = _counts(len(left))
    fading = left / (step_size(run) * noise(run)) ** 2
    rate = run.batch_size / run.records
    mu = moved * bound(run) / (run.batch_size * noise(run))

    def curve(order: float) -> float:
        one = renyi_replace(order, rate, math.sqrt(2.0) * mu)
        plain = run.total_steps * renyi_replace(order, rate, mu)
        return min(float((counts * one + order * fading).min()), plain)

    return RenyiDP(curve)


def _square_of_step(run: NoisyDescent) -> tuple[float, float] | None:
    """The least printed (c, h) that holds for this run; convex rows first."""
    objective, eta = run.objective, step_size(run)
    if objective.ridge:
        return None
    if is_convex(objective):
        if objective.smoothness is not None:
            return None  # altschuler2022hidden
        h = (2.0 * eta * bound(run)) ** 2
        p, M = objective.holder_exponent, objective.holder_constant
        if p is not None and M is not None and objective.holder_everywhere:
            h = min(h, modulus_paper.weak_smoothness_offset(eta=eta, M=M, p=p))
        return 1.0, h
    if objective.smoothness is None:
        return None
    if objective.dissipativity is not None and not objective.clipped:
        lam, kappa = objective.dissipativity
        return max(1.0 - 2.0 * eta * kappa + (eta * objective.smoothness) ** 2, 0.0), 2 * eta * lam
    return (1.0 + eta * objective.smoothness) ** 2, 0.0


PUBLISHED: tuple[Published, ...] = (
    Published(
        "feldman2018iteration",
        "Feldman, Mironov, Talwar and Thakurta (2018)",
        "contractive noisy iterations, epoch by epoch",
        feldman,
    ),
    Published(
        "chourasia2021dynamics",
        "Chourasia, Ye and Shokri (2021)",
        "Corollary 1 up to step sizes 2/(lambda + beta); Theorem 2 with its parameter in (0, 1]",
        chourasia,
        chourasia_by_log_sobolev,
    ),
    Published(
        "altschuler2022hidden",
        "Altschuler and Talwar (2022)",
        "least over the number of last steps; sampled steps with the replace-one pair, twice the "
        "shift for batches of fixed size, Poisson batches only where none can expand",
        altschuler,
    ),
    Published(
        "ye2022hidden",
        "Ye and Shokri (2022)",
        "the recursion on divergences for batches in a fixed order, worst record",
        ye,
    ),
    Published(
        "zhu2022optimal",
        "Zhu, Dong and Wang (2022)",
        "composition of batches of fixed size by the one dominating pair of Theorem 11",
        zhu,
    ),
    Published(
        "bok2024shifted",
        "Bok, Su and Altschuler (2024)",
        "closed forms for full and cyclic batches, and for full batches in a bounded set",
        bok,
    ),
    Published(
        "asoodeh2023dpsgd",
        "Asoodeh and Diaz (2023)",
        "the distance of two steps corrected; random batch sizes averaged",
        asoodeh,
    ),
    Published(
        "kong2024cyclic",
        "Kong and Ribero (2024)",
        "Theorem 4.4 with the exact constant of a clipped step (Theorem 4.3 is never below "
        "composition, Theorem 4.5 is false)",
        kong,
    ),
    Published(
        "bravo2025modulus",
        "Bravo, Flores-Mella and Guzman (2025)",
        "Theorems 5.2 and 5.4 before simplification, for full batches and batches of fixed size",
        bravo,
    ),
)
