"""Hidden steps with random batches: the last of them composed, and what was before has faded.

For any number R of last steps, any share of their noise and any cap on the size of batches, the
last iterate is no easier to tell apart than R sampled steps with the rest of the noise, together
with a Gaussian step that pays for the distance of the two runs before them, except where a batch
exceeds the cap.  The verifier looks for R and the share by itself: first by Renyi divergences in
doubles, then around the best of them.
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

from wane.describe import Adjacency, NoisyDescent, Poisson
from wane.describe.schedule import Phase
from wane.verify import binomial
from wane.verify.accounts import Sampled, Workshop
from wane.verify.balls import as_float_up, ball, top
from wane.verify.bounds import Bound, Failing, Gaussian
from wane.verify.meeting import Array, Distance, Meeting, Stretch, meet
from wane.verify.moduli import Modulus, Sizes, lipschitz, modulus_of
from wane.verify.programme import power_sum
from wane.verify.records import TooLarge
from wane.verify.sampled import Direction, Losses, PlainStep, sampled_step, shifts_apart
from wane.verify.steps import iterate_variance, sensitivity

ROUND = (0.02, 0.05, *(x / 10.0 for x in range(1, 10)), 0.95, 0.98)
SHARES = tuple(sorted({1.0 / (1.0 + math.exp(-x / 3.0)) for x in range(-12, 13)} | set(ROUND)))
"""Shares of the noise that are tried against distance; round ones, since others try them, too."""
ORDERS = tuple(10.0 ** (x / 4.0) for x in range(-7, 11))
"""Orders of Renyi divergences less one."""
FAILURE, AFFORDABLE = 1e-3, 0.5
"""The part of delta that is spent on batches beyond a cap; at most, where that stops all growth."""
HOPELESS = 2.0
"""No member is made if Renyi divergences promise more than so many times the epsilon claimed."""
TRIES = 14
REFERENCES, WIDER = (1e-2, 1e-3, 1e-4, 1e-6), (1e-3, 1e-4)
"""Deltas at which members are made for the power of attacks; and their neighbours, if need be."""
MOST_FOLLOWED = 20_000
MOST_ASKED = 3
"""Of so many members that look best delta is computed."""
Member = Sampled | Gaussian | Failing


@dataclass(frozen=True)
class Choice:
    """A place on the ladder of horizons, one on the ladder of shares, and which cap."""

    horizon: int
    share: int
    cap: int

    def around(self, step: int) -> list[Choice]:
        """Its neighbours; there are fewer shares than horizons, so steps along them are shorter."""
        other = min(step, 2)
        return [
            Choice(self.horizon + a, self.share + b, self.cap)
            for a, b in ((step, 0), (-step, 0), (0, other), (0, -other))
        ]


@dataclass(frozen=True)
class Capped:
    """The run with batches up to a cap: sweeps back in time, and the probability to exceed it.

    Without a cool-down all noise is split alike, so that one sweep serves for all shares: the cost
    is in inverse proportion to the share.
    """

    sweeps: tuple[Meeting, ...]
    exceeded: arb

    def meeting(self, share: int) -> Meeting:
        """The sweep for this share of the noise."""
        return self.sweeps[share if len(self.sweeps) > 1 else 0]

    def share_of(self, share: int) -> float:
        """What the sweep's costs are still to be divided by."""
        return 1.0 if len(self.sweeps) > 1 else SHARES[share]


@dataclass
class Hidden(Bound):
    """A family of bounds, of which members are made when they are asked for."""

    run: NoisyDescent
    tight: ClassVar[bool] = False
    _members: dict[tuple[int, Choice], Member | None] = field(default_factory=dict)
    _distinct: dict[tuple[float, float, int, int], Member] = field(default_factory=dict)
    _steps: dict[tuple[float, int], Losses] = field(default_factory=dict)
    _workshop: Workshop = field(default_factory=Workshop)
    _capped: dict[int, list[Capped]] = field(default_factory=dict)
    _chosen: dict[int, tuple[Choice, float]] = field(default_factory=dict)
    _costs: dict[tuple[float, int], Array] = field(default_factory=dict)
    _wide: bool = False

    def delta(self, epsilon: arb) -> arb:
        """The least of the members made so far."""
        self._ready()
        return self._of_members(epsilon)

    def proves(self, epsilon: arb, delta: arb) -> bool:
        """Some member proves it; looked for around what seems best at this delta."""
        if top(self._of_members(epsilon)) <= delta:
            return True
        return any(
            top(found.delta(epsilon)) <= delta for found in self._search(epsilon, float(delta))
        )

    def widen(self) -> bool:
        """Make the neighbours of the members that bound the power of attacks, too."""
        if self._wide:
            return False
        self._wide = True
        for delta in WIDER:
            best = self._best(delta)[0]
            for choice in (*best.around(1), *best.around(2)):
                self._member(delta, choice)
        self._sketch.clear()  # of fewer members
        return True

    def power(self, rate: float) -> arb:
        """What the profile gives, or a member whose power is known exactly."""
        self._ready()
        found = super().power(rate)
        for member in self._distinct.values():
            if not isinstance(member, Sampled):
                found = found.min(top(member.power(rate)))
        return found

    def _of_members(self, epsilon: arb) -> arb:
        """The least of the few members that look best; leaving out others is no loss of proof."""
        at = float(epsilon)
        found = arb(1)
        for member in sorted(self._distinct.values(), key=lambda m: m.rough(at))[:MOST_ASKED]:
            found = found.min(top(member.delta(epsilon)))
        return found

    def _ready(self) -> None:
        for delta in REFERENCES:
            self._member(delta, self._best(delta)[0])

    def _search(self, epsilon: arb, delta: float) -> Iterator[Member]:
        """Members, each near the best before it."""
        if not delta > 0.0:
            return
        (here, promised), least = self._best(delta), math.inf
        if not promised < HOPELESS * (float(epsilon) + 1.0):
            return
        tried: set[Choice] = set()
        waiting, step = [here], 4
        for _ in range(TRIES):
            if not waiting:
                if step == 1:
                    return
                step //= 2
                waiting = [c for c in here.around(step) if c not in tried]
                continue
            choice = waiting.pop(0)
            tried.add(choice)
            member = self._member(delta, choice)
            if member is None:
                continue
            yield member
            value = float(member.delta(epsilon))
            if value < least:
                here, least = choice, value
                waiting = [c for c in choice.around(step) if c not in tried]

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
        parts: list[tuple[Losses, int]] = [(PlainStep(ball(mu)), 1)]
        for noise, count in self._counts(horizon).items():
            parts.append((self._step(noise, choice.share), count))
        failing = as_float_up(self._followed(horizon) * capped.exceeded)
        key = mu, failing, horizon, choice.share
        if key not in self._distinct:
            try:
                self._distinct[key] = self._composed(parts, failing)
            except TooLarge:
                return None
        return self._distinct[key]

    def _composed(self, parts: list[tuple[Losses, int]], failing: float) -> Member:
        """All parts together; if all are Gaussian, so is the whole, of which more is known."""
        squares = [count * step.mu**2 for step, count in parts if isinstance(step, PlainStep)]
        if len(squares) < len(parts):
            return self._workshop.bound(parts, self._directions, failing)
        whole = Gaussian(top(sum(squares, arb(0))))
        return Failing(whole, ball(failing)) if failing > 0.0 else whole

    def _followed(self, horizon: int) -> int:
        """How many batches must obey the cap; a step that cools down draws none."""
        left, drawn = self.run.total_steps if self._tracked else horizon, 0
        for phase in reversed(list(self.run.plan)):
            taken = min(phase.repeat, left)
            left -= taken
            drawn += 0 if phase.cool_down else taken
        return drawn

    def _step(self, noise: float, share: int) -> Losses:
        """One sampled step that keeps the rest of its noise; `noise` is its shift without that."""
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
    def _directions(self) -> tuple[Direction, ...]:
        replaced = self.run.adjacency is Adjacency.REPLACE_ONE
        if self._poisson:
            return (Direction.REPLACE,) if replaced else (Direction.REMOVE, Direction.ADD)
        # with a record zeroed out a batch may lack one, and its map follows no modulus of b records
        return (Direction.FIXED,) if replaced else (Direction.REPLACE,)

    def _shift(self, phase: Phase) -> float:
        """The record's shift in deviations of the whole noise."""
        bound = self.run.objective.gradient_bound
        assert bound is not None
        moved = (1 if self._poisson else 2) * ball(bound) * ball(phase.step_size)
        return as_float_up(moved / self.run.batch_size / iterate_variance(self.run, phase).sqrt())

    def _counts(self, horizon: int) -> dict[float, int]:
        """How many of the last steps use records, by the record's shift."""
        made: dict[float, int] = {}
        for phase in reversed(list(self.run.plan)):
            taken = min(phase.repeat, horizon)
            horizon -= taken
            if taken and not phase.cool_down:
                shift = self._shift(phase)
                made[shift] = made.get(shift, 0) + taken
        return made

    # which choice

    def _level(self, delta: float) -> int:
        return math.floor(math.log10(max(delta, 1e-300)))

    def _best(self, delta: float) -> tuple[Choice, float]:
        """The choice with the least epsilon by Renyi divergences in doubles, and that epsilon."""
        level = self._level(delta)
        if level not in self._chosen:
            with np.errstate(all="ignore"):
                self._chosen[level] = self._searched(10.0**level)
        return self._chosen[level]

    def _searched(self, delta: float) -> tuple[Choice, float]:
        best, least = Choice(0, 0, 0), math.inf
        orders = np.array(ORDERS)
        convert = np.log1p(-1.0 / (1.0 + orders)) - (math.log(delta) + np.log1p(orders)) / orders
        for cap, capped in enumerate(self._within(delta)):
            for share in range(len(SHARES)):
                meeting = capped.meeting(share)
                costs = meeting.costs / float(meeting.scale) / capped.share_of(share)
                whole = 0.5 * np.outer(1.0 + orders, costs) + convert[:, None]
                drawn = np.zeros_like(meeting.horizons)
                for noise, counts in self._by_horizon(meeting).items():
                    whole += np.outer(self._divergences(noise, share), counts)
                    drawn += counts
                followed = self._followed(0) if self._tracked else drawn
                left = 1.0 - float(capped.exceeded) / delta * followed
                whole -= np.log(left) / orders[:, None]
                flat = np.min(np.where(np.isnan(whole), math.inf, whole), axis=0)
                place = int(np.argmin(flat))
                if flat[place] < least:
                    best, least = Choice(place, share, cap), float(flat[place])
        return best, least

    def _by_horizon(self, meeting: Meeting) -> dict[float, Array]:
        made: dict[float, Array] = {}
        ends = meeting.horizons
        after = 0
        for phase in reversed(list(self.run.plan)):
            taken = np.clip(ends - after, 0.0, float(phase.repeat))
            after += phase.repeat
            if not phase.cool_down:
                shift = self._shift(phase)
                made[shift] = made.get(shift, np.zeros_like(ends)) + taken
        return made

    def _divergences(self, noise: float, share: int) -> Array:
        if (noise, share) not in self._costs:
            step = self._step(noise, share)
            way = self._directions[0]
            self._costs[noise, share] = np.array([step.divergence(way, order) for order in ORDERS])
        return self._costs[noise, share]

    # batches up to a cap

    def _within(self, delta: float) -> list[Capped]:
        level = self._level(delta)
        if level not in self._capped:
            self._capped[level] = [self._sweeps(*cap) for cap in self._caps(10.0**level)]
        return self._capped[level]

    def _caps(self, delta: float) -> list[tuple[int, arb]]:
        """Caps worth trying, and how likely a batch exceeds them."""
        if not self._poisson:
            return [(self.run.batch_size, arb(0))]
        steady = self._others if self._rate == 1 else self._steady
        if steady == self._others:
            return [(self._others, arb(0))]
        made = [binomial.cap(self._others, self._rate, FAILURE * delta / self.run.total_steps)]
        if 0 <= steady < made[0][0]:
            exceeded = binomial.tail(self._others, self._rate, steady)
            if self._followed(1) * exceeded < ball(AFFORDABLE * delta):
                made.append((steady, exceeded))
        return made

    @cached_property
    def _steady(self) -> int:
        """The largest batch such that none up to it drives two points apart; -1 if none is."""
        low, high = -1, self._others + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._shrinks(middle) else (low, middle)
        return low

    def _shrinks(self, most: int) -> bool:
        whole = Sizes(0, most, self.run.batch_size)
        for phase in self.run.plan:
            factor = lipschitz(self.run.objective, ball(phase.step_size), whole)
            if factor is None or not factor <= 1:
                return False
        return True

    def _sweeps(self, cap: int, exceeded: arb) -> Capped:
        unit, distance = self._distances(cap)
        cooled = any(phase.cool_down for phase in self.run.plan)
        sizes = Sizes(0 if self._poisson else self.run.batch_size, cap, self.run.batch_size)
        moduli: dict[Phase, Modulus] = {}
        for phase in self.run.plan:
            found = modulus_of(self.run, phase, sizes, unit)
            if found is None:
                raise TooLarge("no modulus is known")
            moduli[phase] = found

        def sweep(share: float) -> Meeting:
            stretches = []
            for phase in self.run.plan:
                part = arb(1) if phase.cool_down else ball(share)
                variance = part * iterate_variance(self.run, phase) / unit**2
                stretches.append(Stretch(moduli[phase], arb(0), variance, phase.repeat))
            found = meet(stretches, distance, every=True)
            if not found:
                raise TooLarge("a distance that nothing bounds")
            return found[0]

        return Capped(tuple(sweep(s) for s in (SHARES if cooled else (1.0,))), exceeded)

    def _distances(self, cap: int) -> tuple[arb, Distance]:
        """A unit of length, and how far apart the runs can be so many steps before the end."""
        if not self._tracked:
            return ball(self.run.domain.diameter), lambda _: arb(1)
        least = 0 if self._poisson else self.run.batch_size - 1
        track = _Track(self.run, Sizes(least, cap, self.run.batch_size))
        unit = track.after(self.run.total_steps - 1)
        if not (unit > 0 and unit.is_finite()):
            unit = ball(self.run.plan.step_size[0]) * sensitivity(self.run)
        return unit, lambda left: top(track.after(self.run.total_steps - left) / unit)


@dataclass
class _Track:
    """Two runs from one start: `d -> phi(d) + eta Delta` at every step that uses records."""

    run: NoisyDescent
    sizes: Sizes
    _known: dict[int, arb] = field(default_factory=dict)

    def after(self, steps: int) -> arb:
        """How far apart they can be after so many steps."""
        if steps not in self._known:
            distance = arb(0)
            left = steps
            for phase in self.run.plan:
                count = min(phase.repeat, left)
                left -= count
                distance = top(self._through(phase, distance, count))
            self._known[steps] = distance
        return self._known[steps]

    def _through(self, phase: Phase, start: arb, count: int) -> arb:
        eta, losses = ball(phase.step_size), self.run.objective
        if phase.cool_down:
            return top(abs(1 - eta * ball(losses.ridge))) ** count * start
        shift = eta * sensitivity(self.run)
        factor = lipschitz(losses, eta, self.sizes)
        known = []
        if factor is not None:
            known.append(factor**count * start + shift * power_sum(factor, count))
        if (factor is None or factor > 1) and count <= MOST_FOLLOWED:
            known.append(self._followed(phase, start, shift, count))
        finite = [top(value) for value in known if value.is_finite()]
        return min(finite, key=float, default=arb.pos_inf()) if count else start

    def _followed(self, phase: Phase, start: arb, shift: arb, count: int) -> arb:
        modulus = modulus_of(self.run, phase, self.sizes, arb(1))
        if modulus is None:
            return arb.pos_inf()
        distance = start
        for _ in range(count):
            distance = top(modulus.after(distance) + shift)
        return distance
