"""The last iterate with random batches: the last steps composed, the earlier ones contracted.

For any number R of last steps, any share of their noise and any cap on the size of batches, the
last iterate is no easier to tell apart than R sampled steps with the rest of the noise, together
with a Gaussian step that pays for the distance of the two runs before them, except where a batch
exceeds the cap.  The verifier looks for R and the share by itself: it ranks them in doubles, by
Renyi divergences and saddle points, and computes those that promise most and their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from flint import arb

from wane.arrays import Array
from wane.balls import binomial
from wane.balls.arithmetic import as_float_up, ball, top
from wane.balls.bounds import Bound, Failing, Gaussian
from wane.balls.lemmas import reach, saddle
from wane.balls.lemmas.accounts import AccountBuilder, Sampled
from wane.balls.lemmas.levels import representatives
from wane.balls.lemmas.lipschitz import iterate_variance
from wane.balls.lemmas.moduli import ModulusInBalls, Sizes, lipschitz, modulus_of
from wane.balls.lemmas.positions import TooLarge
from wane.balls.lemmas.sampled_steps import (
    PairOrder,
    PlainStep,
    StepLosses,
    sampled_step,
    shifts_apart,
)
from wane.balls.lemmas.tangent_programme import Distance, ProgrammeBound, StepsInBalls, meet
from wane.balls.lemmas.tracking import tracks
from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.schedule import Phase

ROUND = (0.02, 0.05, *(x / 10.0 for x in range(1, 10)), 0.95, 0.98)
SHARES = tuple(sorted({1.0 / (1.0 + math.exp(-x / 3.0)) for x in range(-12, 13)} | set(ROUND)))
"""Shares of the noise that are tried against distance; round ones, since others try them, too."""
FAILURE, AFFORDABLE = 1e-3, 0.5
"""The part of delta that is spent on batches beyond a cap; at most, where that stops all growth."""
FOLLOWED = (10_000,)
"""Numbers of last steps for which caps are tried in a bounded set, where no more are followed."""
HOPELESS = 3.0
"""No member is made of which saddle points promise more than so many times the delta claimed."""
FAR = 2.0
"""Nor one of which divergences promise more than so many times the epsilon claimed."""
SEEDS, TRIES = 4, 16
"""So many members that promise most are made, and so many of their neighbours."""
MOST_LEVELS = 64
"""Of noise; more are put into so many classes."""
REFERENCES = (1e-2, 1e-3, 1e-4, 1e-6)
"""Deltas at which members are made for the power of attacks."""
SLOPES = tuple(x / 8.0 for x in range(121))
"""Epsilons at which the bound on a power is looked at, to search around the best of them."""
MOST_ASKED = 3
"""Of so many members that look best delta is computed."""
Member = Sampled | Gaussian | Failing
Valley = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Choice:
    """An index of the ladder of horizons, one of the ladder of shares, and one of the caps."""

    horizon: int
    share: int
    cap: int

    def around(self, step: int, valley: Valley) -> list[Choice]:
        """Return its neighbours; with the share the horizon moves as the best one does."""
        neighbours = []
        for share in (self.share + 1, self.share - 1):
            if (share, self.cap) in valley:
                turn = valley[share, self.cap] - valley[self.share, self.cap]
                neighbours.append(Choice(self.horizon + turn, share, self.cap))
        moved = (Choice(self.horizon + a, self.share, self.cap) for a in (step, -step))
        return [*neighbours, *moved]


@dataclass(frozen=True)
class Capped:
    """The run with batches up to a cap: sweeps back in time, and the probability to exceed it.

    Without a cool-down all noise is split alike, so that one sweep serves for all shares: the cost
    is in inverse proportion to the share.
    """

    sweeps: tuple[ProgrammeBound, ...]
    exceeded: arb

    def meeting(self, share: int) -> ProgrammeBound:
        """Return the sweep for this share of the noise."""
        return self.sweeps[share if len(self.sweeps) > 1 else 0]

    def share_of(self, share: int) -> float:
        """Return the factor by which the sweep's costs are still to be divided."""
        return 1.0 if len(self.sweeps) > 1 else SHARES[share]


@dataclass
class SampledLastIterate(Bound):
    """A family of bounds whose members are computed on demand."""

    run: NoisyDescent
    tight: ClassVar[bool] = False
    _members: dict[tuple[int, Choice], Member | None] = field(default_factory=dict)
    _distinct: dict[tuple[float, float, int, int], Member] = field(default_factory=dict)
    _moments: list[Array] = field(default_factory=list)
    _steps: dict[tuple[float, int], StepLosses] = field(default_factory=dict)
    _builder: AccountBuilder = field(default_factory=AccountBuilder)
    _capped: dict[int, list[Capped]] = field(default_factory=dict)
    _chosen: dict[int, tuple[Choice, float]] = field(default_factory=dict)
    _costs: dict[tuple[float, int], Array] = field(default_factory=dict)
    _favoured: list[Member] = field(default_factory=list)
    _wide: bool = False

    def delta(self, epsilon: arb) -> arb:
        """Return the least of the members computed so far."""
        self._ready()
        return self._of_members(epsilon)

    def proves(self, epsilon: arb, delta: arb) -> bool:
        """Return whether some member proves it, among those that promise most at this epsilon."""
        if top(self._of_members(epsilon)) <= delta:
            return True
        return any(
            top(member.delta(epsilon)) <= delta for member in self._search(epsilon, float(delta))
        )

    def refine(self) -> bool:
        """Search for members at each power from now on; return whether that is new."""
        if self._wide:
            return False
        self._wide = True
        return True

    def power(self, rate: float) -> arb:
        """Return what the profile gives, or the power of a member that is known exactly."""
        self._ready()
        if self._wide:
            self._look_near(rate)
        power = super().power(rate)
        for member in self._distinct.values():
            if not isinstance(member, Sampled):
                power = power.min(top(member.power(rate)))
        return power

    def _look_near(self, rate: float) -> None:
        """Make members where the tangents that bound this power touch the profile."""

        def steep(e: float) -> float:
            return math.exp(e) * rate + float(self._of_members(ball(e)))

        def flat(e: float) -> float:
            return 1.0 - math.exp(-e) * (1.0 - rate - float(self._of_members(ball(e))))

        best = ball(min(SLOPES, key=lambda e: min(steep(e), flat(e))))
        members = list(self._search(best, float(self._of_members(best))))
        self._favoured += sorted(members, key=lambda member: float(member.delta(best)))[:1]
        self._sketch.clear()  # of fewer members

    def _of_members(self, epsilon: arb) -> arb:
        """Return the least of the most promising members; leaving out others loses no proof."""
        members = list(self._distinct.values())
        if not members:
            return arb(1)
        promised = saddle.sizes(np.stack(self._moments, axis=1), float(epsilon))
        promised += np.array([failing for _, failing, _, _ in self._distinct])
        delta = arb(1)
        likely = [members[place] for place in np.argsort(promised)[:MOST_ASKED].tolist()]
        for member in {id(m): m for m in (*likely, *self._favoured)}.values():
            delta = delta.min(top(member.delta(epsilon)))
        return delta

    def _ready(self) -> None:
        for delta in REFERENCES:
            self._member(delta, self._best(delta)[0])

    def _search(self, epsilon: arb, delta: float) -> Iterator[Member]:
        """Yield members that promise most at this epsilon, then neighbours of the best before."""
        if not delta > 0.0:
            return
        waiting, valley = self._ranked(float(epsilon), delta)
        if not waiting:
            return
        here, least, step = waiting[0], math.inf, 8
        tried: set[Choice] = set()
        for place in range(SEEDS + TRIES):
            while not waiting and step > 1:
                step //= 2
                waiting = [c for c in here.around(step, valley) if c not in tried]
            if not waiting:
                return
            choice = waiting.pop(0)
            tried.add(choice)
            member = self._member(delta, choice)
            if member is None:
                continue
            yield member
            value = float(member.delta(epsilon))
            if value < least:
                here, least = choice, value
                if place >= SEEDS:
                    waiting = [c for c in here.around(step, valley) if c not in tried]

    def _member(self, delta: float, choice: Choice) -> Member | None:
        key = self._level(delta), choice
        if key not in self._members:
            self._members[key] = self._made(self._within(delta)[choice.cap], choice)
        return self._members[key]

    def _made(self, capped: Capped, choice: Choice) -> Member | None:
        if not 0 <= choice.share < len(SHARES):
            return None
        meeting = capped.meeting(choice.share)
        if not 0 <= choice.horizon < len(meeting.costs):
            return None
        cost = top(meeting.proven(choice.horizon) / ball(capped.share_of(choice.share)))
        mu = as_float_up(cost.sqrt())
        if not mu < 1e4:
            return None
        horizon = int(meeting.horizons[choice.horizon])
        # runs that start together are no distance apart, and a step of no length leaks nothing
        parts: list[tuple[StepLosses, int]] = [(PlainStep(ball(mu)), 1)] if mu > 0.0 else []
        for noise, count in self._counts(horizon).items():
            parts.append((self._step(noise, choice.share), count))
        failing = as_float_up(self._followed(horizon) * capped.exceeded)
        key = mu, failing, horizon, choice.share
        if key not in self._distinct:
            try:
                self._distinct[key] = self._composed(parts, failing)
            except TooLarge:
                return None
            self._moments.append(self._log_moments(mu, horizon, choice.share))
        return self._distinct[key]

    def _composed(self, parts: list[tuple[StepLosses, int]], failing: float) -> Member:
        """Return all parts together; if all are Gaussian, so is their composition."""
        squares = [count * step.mu**2 for step, count in parts if isinstance(step, PlainStep)]
        if len(squares) < len(parts):
            return self._builder.bound(parts, self._directions, failing)
        gaussian = Gaussian(top(sum(squares, arb(0))))
        return Failing(gaussian, ball(failing)) if failing > 0.0 else gaussian

    def _followed(self, horizon: int) -> int:
        """Return how many batches must obey the cap; a step that cools down draws none."""
        left, drawn = self.run.total_steps if self._tracked else horizon, 0
        for phase in reversed(list(self.run.plan)):
            counted = min(phase.repeat, left)
            left -= counted
            drawn += counted if phase.uses_records else 0
        return drawn

    def _step(self, noise: float, share: int) -> StepLosses:
        """Return one sampled step that keeps the rest of its noise; `noise` is its full shift."""
        if (noise, share) not in self._steps:
            mu = ball(as_float_up(top(ball(noise) / (1 - ball(SHARES[share])).sqrt())))
            self._steps[noise, share] = (
                PlainStep(shifts_apart(self._directions) * mu)
                if self._rate == 1
                else sampled_step(mu, ball(self._rate))
            )
        return self._steps[noise, share]

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.run.batch_size, self.run.records)

    @property
    def _poisson(self) -> bool:
        return isinstance(self.run.batches, Poisson)

    @property
    def _tracked(self) -> bool:
        return math.isinf(self.run.domain.diameter)

    @property
    def _others(self) -> int:
        added = self.run.adjacency is Adjacency.ADD_REMOVE
        return self.run.records if added else self.run.records - 1

    @property
    def _directions(self) -> tuple[PairOrder, ...]:
        replaced = self.run.adjacency is Adjacency.REPLACE_ONE
        if self._poisson:
            return (PairOrder.REPLACE,) if replaced else (PairOrder.REMOVE, PairOrder.ADD)
        # with a record zeroed out a batch may lack one, and its map follows no modulus of b records
        return (PairOrder.FIXED,) if replaced else (PairOrder.REPLACE,)

    def _shift(self, phase: Phase) -> float:
        """Return the record's shift in deviations of the whole noise."""
        moved = reach.member(self.run) * ball(phase.step_size)
        return as_float_up(moved / iterate_variance(self.run, phase).sqrt())

    @cached_property
    def _classes(self) -> dict[float, float]:
        """The representative of each phase's shift, where there are many."""
        used = (phase for phase in self.run.plan if phase.uses_records)
        return representatives(map(self._shift, used), MOST_LEVELS)

    def _counts(self, horizon: int) -> dict[float, int]:
        """Return how many of the last steps use records, by the record's shift."""
        counts: dict[float, int] = {}
        for phase in reversed(list(self.run.plan)):
            counted = min(phase.repeat, horizon)
            horizon -= counted
            if counted and phase.uses_records:
                shift = self._classes[self._shift(phase)]
                counts[shift] = counts.get(shift, 0) + counted
        return counts

    # which choice

    def _level(self, delta: float) -> int:
        return math.floor(math.log10(max(delta, 1e-300)))

    def _best(self, delta: float) -> tuple[Choice, float]:
        """Return the choice with the least epsilon by Renyi divergences, and that epsilon."""
        level = self._level(delta)
        if level not in self._chosen:
            with np.errstate(all="ignore"):
                self._chosen[level] = self._searched(10.0**level)
        return self._chosen[level]

    def _searched(self, delta: float) -> tuple[Choice, float]:
        best, least = Choice(0, 0, 0), math.inf
        orders = saddle.THETAS
        convert = np.log1p(-1.0 / (1.0 + orders)) - (math.log(delta) + np.log1p(orders)) / orders
        for cap, capped in enumerate(self._within(delta)):
            for share in range(len(SHARES)):
                epsilons, drawn = self._renyi(capped, share)
                epsilons = epsilons + convert[:, None]
                followed = self._followed(0) if self._tracked else drawn
                left = 1.0 - float(capped.exceeded) / delta * followed
                epsilons -= np.log(left) / orders[:, None]
                flat = np.min(np.where(np.isnan(epsilons), math.inf, epsilons), axis=0)
                place = int(np.argmin(flat))
                if flat[place] < least:
                    best, least = Choice(place, share, cap), float(flat[place])
        return best, least

    def _ranked(self, epsilon: float, delta: float) -> tuple[list[Choice], Valley]:
        """Return the choices of least promised delta, and the best horizon per share and cap."""
        ranked = []
        for cap, capped in enumerate(self._within(delta)):
            for share in range(len(SHARES)):
                with np.errstate(all="ignore"):
                    divergences, drawn = self._renyi(capped, share)
                    sizes = saddle.sizes(saddle.THETAS[:, None] * divergences, epsilon)
                followed = self._followed(0) if self._tracked else drawn
                sizes = sizes + float(capped.exceeded) * followed
                place = int(np.argmin(sizes))
                ranked.append((float(sizes[place]), Choice(place, share, cap)))
        ranked.sort(key=lambda one: one[0])
        best = [choice for size, choice in ranked[: SEEDS - 1] if size <= HOPELESS * delta]
        valley = {(choice.share, choice.cap): choice.horizon for _, choice in ranked}
        # saddle points say little where almost nothing is left to tell: divergences decide then
        last, promised = self._best(delta)
        hopeless = not best and not promised < FAR * (epsilon + 1.0)
        return [] if hopeless else [*best, last], valley

    def _renyi(self, capped: Capped, share: int) -> tuple[Array, Array]:
        """Return Renyi divergences, orders by horizons, and how many batches each horizon draws."""
        meeting = capped.meeting(share)
        costs = meeting.costs / float(meeting.scale) / capped.share_of(share)
        counted = self._by_horizon(meeting)
        drawn = sum(counted.values(), np.zeros_like(meeting.horizons))
        each = [self._divergences(noise, share) for noise in counted]
        columns = np.stack([0.5 * (1.0 + saddle.THETAS), *each], axis=1)
        return columns @ np.stack([costs, *counted.values()]), drawn

    def _log_moments(self, mu: float, horizon: int, share: int) -> Array:
        """Return roughly the log moments of a member's losses, at all thetas."""
        divergences: Array = 0.5 * mu * mu * (1.0 + saddle.THETAS)
        for noise, count in self._counts(horizon).items():
            divergences = divergences + count * self._divergences(noise, share)
        return saddle.THETAS * divergences

    def _by_horizon(self, meeting: ProgrammeBound) -> dict[float, Array]:
        counts: dict[float, Array] = {}
        ends = meeting.horizons
        after = 0
        for phase in reversed(list(self.run.plan)):
            counted = np.clip(ends - after, 0.0, float(phase.repeat))
            after += phase.repeat
            if phase.uses_records:
                shift = self._classes[self._shift(phase)]
                counts[shift] = counts.get(shift, np.zeros_like(ends)) + counted
        return counts

    def _divergences(self, noise: float, share: int) -> Array:
        """Return the divergences of one step, with orders 1 + theta."""
        if (noise, share) not in self._costs:
            step, way = self._step(noise, share), self._directions[0]
            thetas = saddle.THETAS.tolist()
            self._costs[noise, share] = np.array([step.divergence(way, x) for x in thetas])
        return self._costs[noise, share]

    # batches up to a cap

    def _within(self, delta: float) -> list[Capped]:
        level = self._level(delta)
        if level not in self._capped:
            self._capped[level] = [self._sweeps(*cap) for cap in self._caps(10.0**level)]
        return self._capped[level]

    def _caps(self, delta: float) -> list[tuple[int, arb]]:
        """Return caps worth trying, and the probability that a batch exceeds them."""
        if not self._poisson:
            return [(self.run.batch_size, arb(0))]
        steady = self._others if self._rate == 1 else self._steady
        if steady == self._others:
            return [(self._others, arb(0))]
        total = self.run.total_steps
        lengths = [total] if self._tracked else [n for n in FOLLOWED if n < total] + [total]
        wanted = [binomial.cap(self._others, self._rate, FAILURE * delta / n) for n in lengths]
        caps = list({cap: (cap, exceeded) for cap, exceeded in reversed(wanted)}.values())
        if 0 <= steady < caps[-1][0]:
            exceeded = binomial.tail(self._others, self._rate, steady)
            if self._followed(1) * exceeded < ball(AFFORDABLE * delta):
                caps.append((steady, exceeded))
        return caps

    @cached_property
    def _steady(self) -> int:
        """The largest batch up to which none drives two points apart; -1 if none is."""
        low, high = -1, self._others + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._shrinks(middle) else (low, middle)
        return low

    def _shrinks(self, most: int) -> bool:
        sizes = Sizes(0, most, self.run.batch_size)
        for phase in self.run.plan:
            factor = lipschitz(self.run.objective, ball(phase.step_size), sizes)
            if factor is None or not factor <= 1:
                return False
        return True

    def _sweeps(self, cap: int, exceeded: arb) -> Capped:
        unit, distance = self._distances(cap)
        idle = not all(phase.uses_records for phase in self.run.plan)
        sizes = Sizes(0 if self._poisson else self.run.batch_size, cap, self.run.batch_size)
        moduli: dict[Phase, ModulusInBalls] = {}
        for phase in self.run.plan:
            result = modulus_of(self.run, phase, sizes, unit)
            if result is None:
                raise TooLarge("no modulus is known")
            moduli[phase] = result

        def sweep(share: float) -> ProgrammeBound:
            stretches = []
            for phase in self.run.plan:
                part = ball(share) if phase.uses_records else arb(1)
                variance = part * iterate_variance(self.run, phase) / unit**2
                stretches.append(StepsInBalls(moduli[phase], arb(0), variance, phase.repeat))
            result = meet(stretches, distance, every=True)
            if not result:
                raise TooLarge("a distance that nothing bounds")
            return result[0]

        return Capped(tuple(sweep(s) for s in (SHARES if idle else (1.0,))), exceeded)

    def _distances(self, cap: int) -> tuple[arb, Distance]:
        """Return a unit of length, and the distance of the runs so many steps before the end."""
        if not self._tracked:
            return ball(self.run.domain.diameter), lambda _: arb(1)
        bounds = tracks(self.run, cap)

        def after(steps: int) -> arb:
            return min((track.after(steps) for track in bounds), key=float)

        unit = after(self.run.total_steps - 1)
        if not (unit > 0 and unit.is_finite()):
            unit = ball(self.run.plan.step_size[0]) * reach.sensitivity(self.run)
        return unit, lambda left: top(after(self.run.total_steps - left) / unit)
