"""The cost of each position in the order: the programme for the steps of a run.

All values are upper bounds on mu^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.lemmas.lipschitz import LipschitzSteps, cut, iterate_variance, rows_of, split
from wane.balls.lemmas.programme import Edges, HullPath, power_sum
from wane.balls.lemmas.reach import sensitivity
from wane.describe import NoisyDescent
from wane.describe.choices import Iterates, LastIterate

MOST_POSITIONS = 4_000
"""More programmes than this are not solved for one certificate."""
ALL_STARTS = 24


class TooLarge(Exception):
    """The error for a document that the verifier cannot check in reasonable time."""


@dataclass
class _Walk:
    """One record's staircase, step by step; `product` is that of the constants so far."""

    path: HullPath
    product: arb
    run: arb | None = None
    rise: arb | None = None

    def quiet(self, row: LipschitzSteps, count: int) -> None:
        """Add `count` steps that do not use the record."""
        if count == 0 or self.run is None:
            return
        self.run += row.variance * self._widths(row.constant, count)
        self.product *= row.constant**count

    def visits(self, row: LipschitzSteps, period: int, count: int) -> None:
        """Add `count` steps of which the first uses the record, and every `period`-th after it."""
        self.close()
        c, periods = row.constant, (count - 1) // period
        if periods:
            width = row.variance * self._widths(c, period)
            rise = row.shift / (self.product * c)
            self.path.add(Edges(width, rise, 1 / c**period, periods))
            self.product *= c ** (period * periods)
        last = count - periods * period
        self.run = row.variance * self._widths(c, last)
        self.rise = row.shift / (self.product * c)
        self.product *= c**last

    def close(self) -> None:
        """End the piece that the last visit began."""
        if self.run is not None and self.rise is not None:
            self.path.add(Edges(self.run, self.rise, arb(1)))
        self.run = self.rise = None

    def _widths(self, c: arb, count: int) -> arb:
        inverse = 1 / (c * c)
        return inverse * power_sum(inverse, count) / (self.product * self.product)

    def through(self, rows: list[LipschitzSteps], period: int, wait: int) -> arb:
        """Walk the rows, the next visit being `wait` data steps away; returns the cost."""
        for row in rows:
            if not row.uses_records or wait >= row.count:
                self.quiet(row, row.count)
                wait -= row.count if row.uses_records else 0
                continue
            self.quiet(row, wait)
            left = row.count - wait
            self.visits(row, period, left)
            wait = (period - left) % period
        self.close()
        return self.path.cost


@dataclass(frozen=True)
class Piece:
    """The steps between two released iterates."""

    rows: list[LipschitzSteps]
    period: int
    data_before: int

    @property
    def data_steps(self) -> int:
        """The number of steps that use records."""
        return sum(row.count for row in self.rows if row.uses_records)

    def first_visit(self, position: int) -> int:
        """Return the number of data steps before the record is used."""
        return (position - self.data_before) % self.period

    def value(self, position: int) -> arb:
        """Return the programme's value for a record."""
        walk = _Walk(HullPath(), arb(1))
        return walk.through(self.rows, self.period, self.first_visit(position))

    def bounded_value(self, position: int, diameter: arb) -> arb:
        """Return the least over all starts after a visit, the runs being `diameter` apart there."""
        from_start = self.value(position)
        first = self.first_visit(position)
        visits = max(0, -(-(self.data_steps - first) // self.period))
        if visits == 0:
            return from_start
        values: dict[int, arb] = {}

        def after(back: int) -> arb:
            if back not in values:
                used = first + (visits - 1 - back) * self.period + 1
                values[back] = top(self._started(used, diameter))
            return values[back]

        return least([from_start, least_over(after, visits - 1)])

    def _started(self, data_steps: int, diameter: arb) -> arb:
        rows = _after(self.rows, data_steps)
        if not rows:
            return arb.pos_inf()
        head = rows[0]
        now = self.period == 1 and head.uses_records
        rise = head.gradient_constant * diameter + (head.shift if now else 0)
        walk = _Walk(HullPath(), arb(1), run=head.variance, rise=rise)
        wait = self.period - 1
        if head.uses_records and not now:
            wait -= 1
        return walk.through(split(rows, 1)[1], self.period, wait)


def _after(rows: list[LipschitzSteps], data_steps: int) -> list[LipschitzSteps]:
    """Return the rows after the first `data_steps` steps that use records."""
    for i, row in enumerate(rows):
        if not row.uses_records:
            continue
        if data_steps < row.count:
            return [replace(row, count=row.count - data_steps), *rows[i + 1 :]]
        data_steps -= row.count
        if data_steps == 0:
            return rows[i + 1 :]
    return []


def pieces_of(run: NoisyDescent) -> list[Piece] | None:
    """Return the run cut at every released iterate; None if some prox has no constant."""
    rows = rows_of(run)
    if rows is None:
        return None
    looks = run.release.steps if isinstance(run.release, Iterates) else ()
    pieces: list[Piece] = []
    before = 0
    for piece in cut(rows, [step for step in looks if step < run.total_steps]):
        pieces.append(Piece(piece, run.steps_per_epoch, before))
        before += pieces[-1].data_steps
    return pieces


def hidden(pieces: list[Piece], position: int, diameter: float) -> arb:
    """Return one record's value over all that is released."""
    if diameter == float("inf"):
        return sum((piece.value(position) for piece in pieces), arb(0))
    d = ball(diameter)
    return sum((piece.bounded_value(position, d) for piece in pieces), arb(0))


def worst_hidden(run: NoisyDescent, pieces: list[Piece], diameter: float) -> arb:
    """Return the worst record's value.

    With equal data steps it is the one used last: each further step is post-processing; cool-down
    steps keep that order unless the data steps expand.
    """
    period = run.steps_per_epoch
    data = [row for piece in pieces for row in piece.rows if row.uses_records]
    alike = isinstance(run.release, LastIterate) and len(data) == 1
    if alike and (pieces[0].rows[-1].uses_records or data[0].constant <= 1):
        return most([hidden(pieces, (data[0].count - 1) % period, diameter)])
    if period > MOST_POSITIONS:
        raise TooLarge(f"{period} positions to look at")
    return most([hidden(pieces, p, diameter) for p in range(period)])


def composed(run: NoisyDescent) -> arb:
    """Return the worst record's sum of (sensitivity / noise)^2 over its visits."""
    period, done = run.steps_per_epoch, 0
    phases: list[tuple[int, int, arb]] = []
    for phase in run.plan:
        if not phase.uses_records:
            continue
        cost = (ball(phase.step_size) * sensitivity(run)) ** 2 / iterate_variance(run, phase)
        phases.append((done, phase.repeat, top(cost)))
        done += phase.repeat
    # circular intervals of positions: their sum is largest where one of them begins
    places = {start % period for start, _, _ in phases}
    if len(places) * len(phases) > 1_000_000:
        raise TooLarge(f"{len(phases)} phases to look at")

    def total(position: int) -> arb:
        sum_of_squares = arb(0)
        for start, count, cost in phases:
            first = (position - start) % period
            visits = max(0, -(-(count - first) // period))
            sum_of_squares += visits * cost if visits else 0
        return sum_of_squares

    return most([total(p) for p in places])


def most(values: list[arb]) -> arb:
    """Return the largest, as a ball; infinity if one of them is not a number."""
    largest = arb(0)
    for value in values:
        if not value.is_finite():
            return arb.pos_inf()
        largest = largest.max(value)
    return largest


def least(values: list[arb]) -> arb:
    """Return the least of upper bounds."""
    smallest = arb.pos_inf()
    for value in values:
        if value.is_finite():
            smallest = smallest.min(top(value))
    return smallest


def least_over(value: Callable[[int], arb], last: int) -> arb:
    """Return the least of the values at 0..last that a search finds; each is a valid bound."""
    if last < ALL_STARTS:
        return least([value(i) for i in range(last + 1)])
    tried = {0, last}
    place = 1.0
    while place < last:
        tried.add(int(place))
        place = max(place * 1.5, place + 1)
    ordered = sorted(tried)
    best = min(range(len(ordered)), key=lambda i: float(value(ordered[i])))
    low, high = ordered[max(best - 1, 0)], ordered[min(best + 1, len(ordered) - 1)]
    while high - low > 8:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        if value(left) <= value(right):
            high = right
        else:
            low = left
    return least([value(i) for i in {*ordered, *range(low, high + 1)}])
