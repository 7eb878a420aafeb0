"""How to use the last hidden steps of a sampled run: horizon, noise split and batch cap.

Every choice gives a valid guarantee (Theorems P and F of docs/proofs/sampled-steps.md), so they
are made by a cheap search in Renyi divergences; what is reported is then computed exactly for the
choice made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from wane.arrays import Array
from wane.describe.choices import Adjacency, Poisson
from wane.describe.descent import NoisyDescent
from wane.guarantees import (
    GaussianStep,
    Guarantee,
    NumericalDP,
    Pair,
    SampledGaussianStep,
    WithFailure as _WithFailure,
)
from wane.theorems.lemmas.levels import rounded_down
from wane.theorems.lemmas.loss_moduli import Batch, idle_modulus, lipschitz_row, modulus_in
from wane.theorems.lemmas.moduli import Modulus
from wane.theorems.lemmas.sampled_steps import binomial_tail, cap_for, with_bad_event
from wane.theorems.lemmas.tangent_programme import Stretch, profile, solve
from wane.theorems.lemmas.tracking import tracked_distances

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
EXCESSES = tuple(10.0 ** (i / 5.0) for i in range(-8, 14))
MOST_LEVELS = 32
"""Of noise; more are rounded down to so many classes, which is sound: it is less noise."""
FAILURE = 1e-3
"""The part of delta that may be spent on batches beyond the cap."""
FOLLOWED = (10_000,)
"""Numbers of last steps for which caps are tried in a bounded set."""
AFFORDABLE = 0.9
"""The most of delta that may be, where a smaller cap keeps steps from expanding."""
_LARGEST_TILT = 400.0
_STEADY = 1e-12  # growth of a step that rounding alone explains
_UNBOUNDED_DISTANCE = 1e100  # stands for a distance that nobody bounds: hopeless, but finite
_UNBOUNDED_DIVERGENCE = (
    1e200  # stands for an infinite divergence: times any number of steps still finite
)


@dataclass(frozen=True)
class Use:
    """The last `horizon` steps with a share `theta` of their noise against distance."""

    horizon: int
    theta: float


@dataclass(frozen=True)
class SampledPlan:
    """A run with random batches whose last iterate is released."""

    run: NoisyDescent

    @property
    def rate(self) -> float:
        """Probability that a record joins a batch."""
        return self.run.batch_size / self.run.records

    @property
    def poisson(self) -> bool:
        """Batch sizes are random."""
        return isinstance(self.run.batches, Poisson)

    @property
    def others(self) -> int:
        """How many records may join the differing one in a batch."""
        added = self.run.adjacency is Adjacency.ADD_REMOVE
        return self.run.records if added else self.run.records - 1

    def pair(self, hidden: bool) -> Pair:
        """Return the pair of laws of a sampled step, given whether the iterate before it is hidden.

        With a record zeroed out a batch of fixed size may lack one record, and its map follows no
        modulus of full batches; Theorem F then compares with the map that lacks the record.
        """
        replaced = self.run.adjacency is Adjacency.REPLACE_ONE
        if self.poisson:
            return Pair.REPLACE if replaced else Pair.ADD_OR_REMOVE
        return Pair.FIXED_SIZE if replaced or not hidden else Pair.REPLACE

    def atom(self, noise_std: float, theta: float) -> SampledGaussianStep:
        """One sampled step that keeps 1 - theta of its noise variance."""
        mu = self.run.gradient_member / (noise_std * math.sqrt(1.0 - theta)) * (1.0 + 4e-16)
        pair = self.pair(hidden=theta > 0.0)
        return SampledGaussianStep(math.nextafter(mu, math.inf), self.rate, pair)

    @cached_property
    def levels(self) -> Array:
        """The different noise deviations of the steps that use records, in classes if many."""
        return np.unique(self._levels[self.run.plan.uses_records])

    @cached_property
    def _levels(self) -> Array:
        """The noise of each phase; of steps that use records rounded down to its class."""
        made, used = self.run.gradient_noise_stds.copy(), self.run.plan.uses_records
        made[used] = rounded_down(made[used], MOST_LEVELS)
        return made

    def counts(self, horizons: Array) -> Array:
        """Return how many of the last steps use records, by noise level and horizon."""
        plan = self.run.plan
        after = plan.total - np.cumsum(plan.repeat)
        taken = np.clip(horizons[None, :] - after[:, None], 0.0, plan.repeat[:, None])
        taken[~plan.uses_records] = 0.0
        rows = [taken[self._levels == level].sum(axis=0) for level in self.levels]
        return np.array(rows).reshape(len(self.levels), len(horizons))

    def cap(self, delta: float, followed: int | None = None) -> tuple[int, float]:
        """Return the largest batch that is followed, and the probability that one step exceeds it.

        It is chosen for so many steps, or for all.
        """
        if not self.poisson:
            return self.run.batch_size, 0.0
        if self._steady == self.others:
            return self.others, 0.0
        cap = cap_for(self.others, self.rate, FAILURE * delta / (followed or self.run.total_steps))
        return cap, binomial_tail(self.others, self.rate, cap)

    def caps(self, delta: float) -> list[tuple[int, float]]:
        """Caps worth trying: rarely exceeded ones, and a smaller one at which no step expands.

        In a bounded set only the last steps are followed, however many there were before them, so
        caps for fewer steps are tried, too.  The smaller one costs up to half of delta if all steps
        are used, or more if it must be smaller still for no step to expand; then it limits how many
        can be used.
        """
        total = self.run.total_steps
        lengths = [n for n in FOLLOWED if n < total] if not self.tracked else []
        rare = sorted({self.cap(delta, n) for n in (*lengths, total)}, reverse=True)
        if not self.poisson or self._steady is None or rare[0][1] == 0.0:
            return rare
        tight = cap_for(self.others, self.rate, 0.5 * delta / total)
        cap = min(tight, self._steady)
        exceeded = binomial_tail(self.others, self.rate, cap)
        if cap >= rare[-1][0] or self.failure(exceeded, 1) > AFFORDABLE * delta:
            return rare
        return [*rare, (cap, exceeded)]

    @cached_property
    def _steady(self) -> int | None:
        """The largest batch such that none up to it drives two points apart; None if there is none.

        Batches of size zero only shrink distances by the ridge, if at all.
        """
        low, high = -1, self.others + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._shrinks(middle) else (low, middle)
        return low if low >= 0 else None

    def _shrinks(self, most: int) -> bool:
        """No batch up to this size drives two points apart."""
        for eta in np.unique(self.run.plan.step_size).tolist():
            row = lipschitz_row(self.run.objective, Batch(eta, self.run.batch_size, 0, most))
            if row is None or row.log_factor > _STEADY:
                return False
        return True

    def stretches(self, cap: int, theta: float) -> list[Stretch]:
        """Return the run's phases with a share theta of the noise of sampled steps."""
        made = []
        for phase, std in zip(self.run.plan, self.run.gradient_noise_stds.tolist(), strict=True):
            share = theta if phase.uses_records else 1.0
            variance = share * (phase.step_size * std) ** 2
            modulus = (
                self._modulus(phase.step_size, cap)
                if phase.uses_records
                else idle_modulus(self.run, phase)
            )
            made.append(Stretch(modulus, 0.0, variance * (1.0 - 4e-16), phase.repeat))
        return made

    @lru_cache(maxsize=256)  # noqa: B019  (plans are few and short-lived)
    def _modulus(self, eta: float, cap: int) -> Modulus:
        least = 0 if self.poisson else self.run.batch_size
        made = modulus_in(self.run, Batch(eta, self.run.batch_size, least, cap))
        assert made is not None, "the conditions ask for a known modulus"
        return made

    @property
    def tracked(self) -> bool:
        """The domain is unbounded, so that distances are followed from the start."""
        return math.isinf(self.run.domain.diameter)

    def distance(self, cap: int, horizon: int) -> float:
        """Return how far apart the runs can be before the last `horizon` steps."""
        if not self.tracked:
            return self.run.domain.diameter
        return min(self._tracked(cap)(self.run.total_steps - horizon), _UNBOUNDED_DISTANCE)

    @lru_cache(maxsize=16)  # noqa: B019
    def _tracked(self, cap: int) -> Callable[[int], float]:
        least = 0 if self.poisson else self.run.batch_size - 1
        return tracked_distances(self.run, least, cap)

    def profile(self, cap: int, theta: float) -> tuple[Array, Array]:
        """Return numbers of last steps, and mu^2 of the distance before each."""
        return profile(self.stretches(cap, theta), lambda n: self.distance(cap, n))

    def failure(self, exceeded: float, horizon: int) -> float:
        """Return the probability that some followed batch exceeds the cap, rounded up."""
        followed = self.run.total_steps if self.tracked else horizon
        return min(followed * exceeded * (1.0 + 1e-12), 1.0)

    def composition(self) -> NumericalDP:
        """Every step seen."""
        plan = self.run.plan
        counts = self.counts(np.array([float(plan.total)]))[:, 0]
        return NumericalDP(
            tuple(
                (self.atom(level, 0.0), int(count))
                for level, count in zip(self.levels.tolist(), counts.tolist(), strict=True)
            )
        )

    def member(self, delta: float) -> Guarantee:
        """Return the guarantee for the split and horizon that seem best at this delta."""
        uses = [(self.best_use(*cap, delta), cap) for cap in self.caps(delta)]
        (_, use), (cap, exceeded) = min(uses, key=lambda made: made[0][0])
        if use is None:
            return self.composition()
        window = _last(self.stretches(cap, use.theta), use.horizon)
        found = solve(window, lambda n: self.distance(cap, n))
        parts = [
            (self.atom(level, use.theta), int(count))
            for level, count in zip(
                self.levels.tolist(),
                self.counts(np.array([float(found.steps)]))[:, 0].tolist(),
                strict=True,
            )
            if count
        ]
        mu = math.sqrt(found.value) * (1.0 + 4e-16)
        inner = NumericalDP((*parts, (GaussianStep(mu), 1)))
        failing = self.failure(exceeded, found.steps)
        return _WithFailure(inner, failing) if failing > 0.0 else inner

    def best_use(self, cap: int, exceeded: float, delta: float) -> tuple[float, Use | None]:
        """The smallest epsilon by Renyi divergences and the use that has it; none if composed."""
        excess = np.array(EXCESSES)
        convert = np.log1p(-1.0 / (1.0 + excess)) - (math.log(delta) + np.log1p(excess)) / excess
        composed = self._sampled_costs(0.0) @ self._totals + convert
        limit, best = float(np.min(composed)), None
        for theta in SHARES:
            horizons, distances = self._profiles(cap, theta)
            failing = np.array([self.failure(exceeded, int(n)) for n in horizons]) / delta
            affordable = failing <= AFFORDABLE
            if not affordable.any():
                break
            horizons, distances = horizons[affordable], distances[affordable]
            costs = self._sampled_costs(theta) @ self.counts(horizons)
            costs += 0.5 * np.outer(1.0 + excess, distances) + convert[:, None]
            costs -= np.log1p(-failing[affordable]) / excess[:, None]
            place = int(np.argmin(np.min(costs, axis=0)))
            value = float(np.min(costs[:, place]))
            if value < limit:
                limit, best = value, Use(int(horizons[place]), theta)
        return limit, best

    @cached_property
    def _totals(self) -> Array:
        return self.counts(np.array([float(self.run.total_steps)]))[:, 0]

    @lru_cache(maxsize=64)  # noqa: B019
    def _profiles(self, cap: int, theta: float) -> tuple[Array, Array]:
        if not self.run.plan.uses_records.all():
            return self.profile(cap, theta)
        if theta != 1.0:
            horizons, distances = self._profiles(cap, 1.0)
            with np.errstate(over="ignore"):
                return horizons, np.minimum(distances / theta, _UNBOUNDED_DIVERGENCE)
        return self.profile(cap, 1.0)

    @lru_cache(maxsize=64)  # noqa: B019
    def _sampled_costs(self, theta: float) -> Array:
        """Return the Renyi divergence of one sampled step, by order and noise level."""
        made = np.full((len(EXCESSES), len(self.levels)), math.inf)
        for j, level in enumerate(self.levels.tolist()):
            atom = self.atom(level, theta)
            for i, excess in enumerate(EXCESSES):
                if (1.0 + excess) * atom.mu <= _LARGEST_TILT:
                    made[i, j] = atom.renyi(1.0 + excess)
        return np.asarray(np.minimum(made, _UNBOUNDED_DIVERGENCE))

    def divergence(self, order: float) -> float:
        """Return a bound on the Renyi divergence of this order."""
        whole = self.composition().renyi(order)
        rare = math.exp(-min((order - 1.0) * whole + 50.0, 500.0))
        choices = {cap for delta in (1e-9, rare) for cap in self.caps(delta)}
        return min(self._divergence(order, *choice, whole) for choice in choices)

    def _divergence(self, order: float, cap: int, exceeded: float, whole: float) -> float:
        best = whole
        for theta in (0.2, 0.5, 0.8):
            horizons, distances = self._profiles(cap, theta)
            each = np.array([self.atom(x, theta).renyi(order) for x in self.levels.tolist()])
            with np.errstate(over="ignore"):  # beyond all floats is infinity, which claims nothing
                costs = each @ self.counts(horizons) + 0.5 * order * distances
            place = int(np.argmin(costs))
            failing = self.failure(exceeded, int(horizons[place]))
            good = float(costs[place]) * (1.0 + 1e-12)
            best = min(best, with_bad_event(order, good, failing, whole))
        return best


def _last(stretches: list[Stretch], horizon: int) -> list[Stretch]:
    """Return the last steps, in order of time."""
    made: list[Stretch] = []
    for stretch in reversed(stretches):
        taken = min(stretch.count, horizon)
        if taken:
            made.append(Stretch(stretch.modulus, stretch.shift, stretch.variance, taken))
        horizon -= taken
    return made[::-1]
