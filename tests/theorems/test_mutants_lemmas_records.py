"""Records in the joint programme, one step at a time in fifty digits: looks and positions."""

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from staircases import least_cost, mp, near

from runs import make_run
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    GradientNoise,
    Iterates,
    Objective,
    Phase,
    Schedule,
)
from wane.describe.domains import Ridge
from wane.theorems.lemmas import positions
from wane.theorems.lemmas.isotonic import running_sums
from wane.theorems.lemmas.programme import (
    LEAST,
    Segment,
    Timeline,
    bounded_record_mu_squared,
    record_mu_squared,
    timelines_of,
)

FLAT = Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0)


# timelines


def drawn_timeline(draw, least=-0.3, most=0.2):
    segments = []
    for number in range(draw.randint(1, 4)):
        gradient = draw.uniform(least, most)
        prox = -draw.uniform(0.0, 0.1)
        used = number == 0 or draw.random() < 0.6
        shift = draw.uniform(-1.0, 1.0)
        count = draw.choice([1, 2, 3, 7])
        segments.append(
            Segment(count, gradient + prox, gradient, shift, draw.uniform(-1.0, 1.0), used)
        )
    draw.shuffle(segments)
    return Timeline(tuple(segments), draw.randint(1, 4), draw.randint(0, 5))


def stepwise(timeline, position):
    """Rows (segment, visited) of every step."""
    made, data = [], timeline.data_steps_before
    for segment in timeline.segments:
        for _ in range(segment.count):
            visited = segment.uses_records and data % timeline.period == position
            data += segment.uses_records
            made.append((segment, visited))
    return made


def row(segment, visited, opening=None):
    c, sigma = mp.exp(segment.log_constant), mp.exp(segment.log_noise)
    s = mp.exp(segment.log_shift) if visited else mp.mpf(0)
    if opening is not None:
        s += opening * mp.exp(segment.log_gradient_constant)
    return s, c, sigma


@pytest.mark.parametrize("seed", range(40))
def test_a_timeline_is_the_programme_of_its_steps(seed):
    timeline = drawn_timeline(random.Random(seed))
    for position in range(timeline.period):
        steps = stepwise(timeline, position)
        assert timeline.visits(position) == sum(visited for _, visited in steps)
        assert timeline.data_steps == sum(segment.uses_records for segment, _ in steps)
        exact = least_cost([row(*each) for each in steps])
        found = record_mu_squared(timeline, position)
        assert near(found, exact) if exact else found == 0.0


@pytest.mark.parametrize("diameter", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(40))
def test_a_start_after_any_visit_with_the_diameter(seed, diameter):
    """Steps do not expand here, so that the best start is the least of a row that falls, rises."""
    timeline = drawn_timeline(random.Random(seed), most=0.0)
    for position in range(timeline.period):
        steps = stepwise(timeline, position)
        costs = [least_cost([row(*each) for each in steps])]
        for place, (_, visited) in enumerate(steps[:-1]):
            if visited:
                first, *rest = steps[place + 1 :]
                opened = row(*first, opening=mp.mpf(diameter))
                costs.append(least_cost([opened, *(row(*each) for each in rest)]))
        found = bounded_record_mu_squared(timeline, position, diameter)
        assert near(found, min(costs)) if costs[0] else found == 0.0


# runs


CONVEX = Objective(gradient_bound=1.5, smoothness=0.5, strong_convexity=0.0, ridge=0.1)


def scheduled(**changes):
    phases = [
        Phase(3, 0.5, GradientNoise(0.3)),
        Phase(1, 1.5, GradientNoise(0.5)),
        Phase(2, 1.5, GradientNoise(0.4), cool_down=True),
        Phase(7, 4.0, GradientNoise(0.2)),
        Phase(1, 0.25, GradientNoise(0.7), cool_down=True),
        Phase(5, 0.75, GradientNoise(0.6)),
    ]
    fields = {"records": 12, "batches": Cyclic(4), "domain": Ridge(0.2), "objective": CONVEX}
    return make_run(**(fields | {"schedule": Schedule(phases)} | changes))


def described(run):
    """(shift, constant of the gradient step, of the prox before it, noise, data) of each step."""
    made, before = [], mp.mpf(1)
    stds, ridge = run.gradient_noise_stds.tolist(), mp.mpf(run.objective.ridge)
    factor = 2 if run.adjacency is Adjacency.REPLACE_ONE else 1
    for phase, std in zip(run.plan, stds, strict=True):
        eta = mp.mpf(phase.step_size)
        bend = 0 if phase.cool_down else mp.mpf(run.objective.smoothness)
        c = max(abs(1 - eta * ridge), abs(1 - eta * (bend + ridge)))
        shift = eta * factor * mp.mpf(run.objective.gradient_bound) / run.batch_size
        for _ in range(phase.repeat):
            made.append((shift, c, before, eta * mp.mpf(std), phase.uses_records))
            before = 1 / (1 + eta * mp.mpf(float(run.domain.strong_convexity)))
    return made


def exactly(run, times):
    """The programme of the run, the record counted `times(data step)` times, between looks."""
    looks = run.release.steps if isinstance(run.release, Iterates) else ()
    total, piece, data = mp.mpf(0), [], 0
    for number, (shift, c, q, sigma, used) in enumerate(described(run), 1):
        count = times(data) if used else 0
        data += used
        piece.append((count * shift, c * q, sigma))
        if number in looks or number == run.total_steps:
            total, piece = total + least_cost(piece), []
    return total


RUNS = {
    "phases": scheduled(),
    "zero-out": scheduled(adjacency=Adjacency.ZERO_OUT),
    "no prox": scheduled(domain=Ridge(0.0)),
    "full": scheduled(batches=FullBatch()),
    "looks": scheduled(release=Iterates((2, 3, 6, 9, 18))),
    "the last look": scheduled(release=Iterates((4, 5, 19))),
    "incomplete": scheduled(records=11, batches=Cyclic(4)),
    "one phase": make_run(
        objective=CONVEX,
        records=12,
        batches=Cyclic(3),
        steps=10,
        step_size=1.0,
        noise=GradientNoise(0.3),
        cool_down=3,
    ),
    "two phases": scheduled(
        schedule=Schedule([Phase(4, 0.5, GradientNoise(0.3)), Phase(5, 0.5, GradientNoise(0.2))])
    ),
    "steps in pairs": scheduled(
        schedule=Schedule([Phase(2, 0.5, GradientNoise(0.3)), Phase(2, 0.7, GradientNoise(0.2))])
    ),
    "expanding and cooled": make_run(
        objective=replace(CONVEX, ridge=0.45),
        records=12,
        batches=Cyclic(3),
        steps=10,
        step_size=3.0,
        noise=GradientNoise(0.3),
        cool_down=3,
    ),
}


@pytest.mark.parametrize("rows", [0, 5_000])
@pytest.mark.parametrize("name", RUNS)
def test_every_position_of_a_run(name, rows, monkeypatch):
    monkeypatch.setattr(positions, "FEW_ROWS", rows)
    run = RUNS[name]
    period = run.steps_per_epoch
    exact = [exactly(run, lambda t, p=p: t % period == p) for p in range(period)]
    found = positions.hidden_by_position(run)
    assert len(found) == period
    assert all(near(a, b) for a, b in zip(found.tolist(), exact, strict=True))
    assert near(positions.hidden(run), max(exact))


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("batches", [(0,), (2, 2), (0, 1), (1, 2, 2, 2)])
def test_records_that_change_together(name, batches):
    run = RUNS[name]
    period = run.steps_per_epoch
    if max(batches) >= period:
        batches = tuple(b % period for b in batches)
    exact = exactly(run, lambda t: batches.count(t % period))
    assert near(positions.group(run, batches), exact)


@pytest.mark.parametrize("name", RUNS)
def test_composition_counts_each_visit_of_each_position(name, monkeypatch):
    run = replace(RUNS[name], release=EveryIterate())
    period, steps = run.steps_per_epoch, [row for row in described(run) if row[4]]
    exact = [
        mp.fsum((s / sigma) ** 2 for s, _, _, sigma, _ in steps[p::period]) for p in range(period)
    ]
    for found in (positions.composed_by_position(run), positions.hidden_by_position(run)):
        assert all(near(a, b) for a, b in zip(found.tolist(), exact, strict=True))
    assert near(positions.composed(run), max(exact)) and near(positions.hidden(run), max(exact))
    monkeypatch.setattr(positions, "MANY_POSITIONS", period)
    assert len(positions.composed_by_position(run)) == period
    monkeypatch.setattr(positions, "MANY_POSITIONS", period - 1)
    (most,) = positions.composed_by_position(run).tolist()
    each = [
        -(-phase.repeat // period) * Fraction(run.gradient_sensitivity) ** 2 / Fraction(std) ** 2
        for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True)
        if phase.uses_records
    ]
    assert near(most, mp.mpf(sum(each).numerator) / sum(each).denominator)


def test_many_looks_are_not_rounded_down():
    run = make_run(objective=FLAT, records=1, steps=300, step_size=0.7, noise=GradientNoise(0.3))
    run = replace(run, release=Iterates(tuple(range(1, 301))))
    exact = 300 * (2 / mp.mpf(0.3)) ** 2
    assert near(positions.hidden(run), exact, "1e-12")
    assert near(positions.group(run, [0]), exact, "1e-12")


def test_large_logarithms_of_steps_and_bounds_may_cancel():
    """One step costs (bound / noise)^2, however large or small its size, bound and noise are."""
    draw = random.Random(3)
    for _ in range(150):
        size, bound, std = (draw.uniform(1.0, 9.0) * 10.0**e for e in (-100, 100, 100))
        losses = Objective(gradient_bound=bound, smoothness=0.0, strong_convexity=0.0)
        run = make_run(
            objective=losses, records=1, steps=1, step_size=size, noise=GradientNoise(std)
        )
        exact = (2 * mp.mpf(bound) / mp.mpf(std)) ** 2
        assert near(positions.hidden(run), exact, "1e-11")


def test_looks_cut_a_run_where_they_are():
    run = RUNS["looks"]
    pieces = timelines_of(run)
    assert [sum(s.count for s in piece.segments) for piece in pieces] == [2, 1, 3, 3, 9, 1]
    assert [piece.data_steps_before for piece in pieces] == [0, 2, 3, 4, 7, 15]
    assert all(s.count > 0 for piece in pieces for s in piece.segments)
    last = timelines_of(RUNS["the last look"])
    assert [sum(s.count for s in piece.segments) for piece in last] == [4, 1, 14]


def test_a_step_without_noise_hides_nothing(monkeypatch):
    phases = [Phase(2, 1.0, GradientNoise(0.3)), Phase(1, 1.0, GradientNoise(0.0))]
    run = scheduled(schedule=Schedule([*phases, phases[0]]))
    assert positions.composed(run) == math.inf
    assert len(positions.composed_by_position(run)) == 3
    monkeypatch.setattr(positions, "MANY_POSITIONS", 2)
    assert len(positions.composed_by_position(run)) == 2
    monkeypatch.setattr(positions, "FEW_ROWS", 0)
    assert np.all(positions.hidden_by_position(run) == math.inf)
    faint = scheduled(schedule=Schedule([Phase(4, 1.0, GradientNoise(1e200))]))
    assert positions.composed(faint) >= LEAST


# long schedules


def row_for_each_step(ridge, period, steps):
    """Cyclic steps of half a unit under a ridge, listed one by one, and the first record's mu^2."""
    eta = mp.mpf(0.5)
    run = make_run(
        objective=replace(FLAT, ridge=ridge),
        records=period,
        batches=Cyclic(1),
        schedule=Schedule.of_steps(np.full(steps, 0.5), np.ones(steps)),
    )
    c = 1 - eta * mp.mpf(ridge)
    shift = 2 * eta * c ** (period - 1) * (1 - c**steps) / (1 - c**period)
    exact = shift**2 * (1 - c * c) / (1 - c ** (2 * steps)) / eta**2
    return run, exact


@pytest.mark.parametrize("rows", [0, 10**9])
@pytest.mark.parametrize("rate", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("period", [1, 5])
def test_long_schedules_a_row_for_each_step_are_not_rounded_down(period, rate, rows, monkeypatch):
    """Steps that contract by 1 - eta ridge, exactly: one block, and a sum of powers.

    Equal steps repeat their rounding: plain running sums were off by 1e-11 here, and by 1e-9 in
    longer runs.
    """
    monkeypatch.setattr(positions, "FEW_ROWS", rows)
    steps = 4000
    for seed in range(4):
        ridge = 2.0 * rate * random.Random(seed).uniform(0.5, 2.0)
        run, exact = row_for_each_step(ridge, period, steps)
        assert near(positions.hidden_by_position(run)[0], exact, "1e-10")


@pytest.mark.parametrize("seed", range(3))
def test_many_steps_between_two_visits_are_not_rounded_down(seed):
    period, steps = 500, 50_000
    ridge = 0.04 * random.Random(seed).uniform(0.5, 2.0)
    run, exact = row_for_each_step(ridge, period, steps)
    assert near(positions.group(run, [0]), exact, "1e-11")


def test_running_sums_in_two_parts():
    draw = np.random.default_rng(0)
    for scale in (1e-9, 1.0, 1e5):
        logs = scale * draw.normal(0.1, 1.0, 3000)
        coarse, fine = running_sums(logs)
        exact = np.array([float(x) for x in accumulate(map(Fraction, logs.tolist()))])
        assert coarse + fine == pytest.approx(exact, rel=1e-15, abs=1e-17 * scale)
        for first, last in ((0, 2999), (1200, 1210), (2000, 2001)):
            change = (coarse[last] - coarse[first]) + (fine[last] - fine[first])
            between = sum(map(Fraction, logs[first + 1 : last + 1].tolist()))
            assert change == pytest.approx(float(between), rel=1e-15, abs=1e-17 * scale)
    still, same = running_sums(np.zeros(3))
    assert not still.any() and not same.any()
    for extreme in (1e-300, 1e290):
        coarse, fine = running_sums(np.full(3, extreme))
        assert (coarse + fine).tolist() == pytest.approx([extreme, 2 * extreme, 3 * extreme])


def test_a_group_in_a_run_with_a_silent_step():
    """Before a noisy step silence costs nothing."""
    run = make_run(
        objective=replace(FLAT, ridge=0.5),
        records=2,
        batches=Cyclic(1),
        schedule=Schedule.of_steps(np.full(5, 0.5), [1.0, 0.0, 1.0, 1.0, 0.5]),
    )
    stds = run.gradient_noise_stds.tolist()
    rows = [(mp.mpf(i % 2), mp.mpf(0.75), mp.mpf(0.5) * mp.mpf(std)) for i, std in enumerate(stds)]
    # what the silent step adds is hidden by the next, so that both are one step of the staircase
    merged = [rows[0], (rows[1][0] * rows[2][1], rows[1][1] * rows[2][1], rows[2][2]), *rows[3:]]
    assert near(positions.group(run, [1]), least_cost(merged))
