"""The contraction of hockey-stick divergences, summed over every size of a batch by hand."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint")

from runs import make_run
from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.describe import (
    Adjacency,
    GradientNoise,
    Objective,
    Phase,
    Poisson,
    Schedule,
    WithoutReplacement,
)
from wane.describe.domains import Diameter
from wane.theorems.contraction.recursion import (
    Kind,
    _batch_sizes,
    _differing,
    _gap,
    _separation,
    recursion,
    recursions_of,
)
from wane.theorems.contraction.verifier import contracted
from wane.theorems.registry import THEOREMS
from wane.verify.judge import verifiers

BY_NAME = {theorem.name: theorem for theorem in THEOREMS}
WIDE, ETA, STD = 0.1, 0.7, 0.5
BENT = Objective(gradient_bound=1.0, smoothness=0.8)
ROUND = Objective(gradient_bound=1.0, smoothness=0.2, strong_convexity=0.0)
CLOSE = replace(ROUND, gradient_difference_bound=0.05)
STRONG = replace(CLOSE, strong_convexity=0.15)
NEAR = replace(BENT, gradient_difference_bound=0.05)


def small(**changes):
    base = {"records": 4, "steps": 3, "step_size": ETA, "noise": GradientNoise(STD)}
    return make_run(**(base | {"domain": Diameter(WIDE), "batches": Poisson(1)} | changes))


def hockey_stick(epsilon, apart):
    """Of two unit Gaussians so far apart."""

    def upper_tail(x):
        return 0.5 * math.erfc(x / math.sqrt(2.0))

    x = epsilon / apart
    return upper_tail(x - apart / 2) - math.exp(epsilon) * upper_tail(x + apart / 2)


def moved(losses, eta, count, size):
    """How far apart a step on `count` records, divided by `size`, can leave two points WIDE apart.

    A convex quadratic of curvature at most 2 size/(eta count) moves none apart, and its least
    curvature brings them together; any function moves them by at most the change of its gradient.
    """
    share = eta * count / size
    if losses.strong_convexity is not None:
        assert share * losses.smoothness <= 1.0, "else the descent may expand"
        return WIDE * (1.0 - share * losses.strong_convexity)
    return WIDE + share * min(losses.smoothness * WIDE, 2.0 * losses.gradient_bound)


def met(run, losses, eta, others):
    """The same where the differing record takes part beside `others`."""
    C, b = losses.gradient_bound, run.batch_size
    if run.adjacency is not Adjacency.REPLACE_ONE:
        return moved(losses, eta, others, b) + eta * C / b
    difference = losses.gradient_difference_bound or 2.0 * C
    change = min(2.0 * C, losses.smoothness * WIDE)
    whole = moved(losses, eta, others, b) + eta * min(2.0 * C, difference + change) / b
    return min(whole, moved(losses, eta, others + 1, b) + eta * difference / b)


def exact(run, losses, epsilon, steps=((3, ETA, STD),)):
    """Theorem C, batch size by batch size; the larger of both data sets if a record is added."""
    n, b = run.records, run.batch_size
    found = []
    for total in (n - 1, n) if run.adjacency is Adjacency.ADD_REMOVE else (n - 1,):
        delta, rate = 0.0, b / n
        for count, eta, std in steps:
            if isinstance(run.batches, Poisson):
                laws = [
                    (math.comb(total, k) * rate**k * (1 - rate) ** (total - k), k, k)
                    for k in range(total + 1)
                ]
            else:
                laws = [(1.0, b, b - 1)]
            theta = fresh = 0.0
            for weight, alone, beside in laws:
                noise = eta * std
                theta += weight * hockey_stick(epsilon, moved(losses, eta, alone, b) / noise)
                fresh += weight * hockey_stick(epsilon, met(run, losses, eta, beside) / noise)
            for _ in range(count):
                delta = (1.0 - rate) * theta * delta + rate * fresh
        found.append(delta)
    return max(found)


def proven(name, run, epsilon):
    """What the verifier proves."""
    with bits(PRECISION):
        bound = verifiers()[name](run)
        assert not bound.tight
        return float(top(bound.delta(ball(epsilon))))


@pytest.mark.parametrize("losses", [BENT, ROUND, CLOSE, NEAR, STRONG])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_poisson_batches_one_size_at_a_time(losses, adjacency):
    """With three others every size has a bin of its own; with four the smallest two share one."""
    run = small(objective=losses, adjacency=adjacency)
    loose = 1.1 if adjacency is Adjacency.ADD_REMOVE else 1.0
    guarantee = BY_NAME["poisson_contraction"](run).guarantee
    for epsilon in (0.0, 0.2, 1.0):
        truth = exact(run, losses, epsilon)
        assert proven("poisson_contraction", run, epsilon) == pytest.approx(truth, rel=1e-9)
        assert truth <= guarantee.delta(epsilon) <= truth * loose * (1.0 + 1e-8)


def test_added_and_removed_records_have_both_numbers_of_others():
    """Against a data set with a record less there are three others of four, each with a chance."""
    fewer, more = recursions_of(small(objective=BENT, adjacency=Adjacency.ADD_REMOVE))
    chances = [math.comb(3, k) * 0.25**k * 0.75 ** (3 - k) for k in range(4)]
    assert fewer[0].weights.tolist() == pytest.approx(chances, rel=1e-8)
    assert more[0].weights[-1] == pytest.approx(0.25**4, rel=1e-8), "all four of four"


@pytest.mark.parametrize("losses", [BENT, ROUND, CLOSE, NEAR, STRONG])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_batches_of_two(losses, adjacency):
    run = small(objective=losses, adjacency=adjacency, batches=WithoutReplacement(2))
    guarantee = BY_NAME["fixed_size_contraction"](run).guarantee
    for epsilon in (0.0, 0.2, 1.0):
        truth = exact(run, losses, epsilon)
        assert proven("fixed_size_contraction", run, epsilon) == pytest.approx(truth, rel=1e-9)
        assert truth <= guarantee.delta(epsilon) <= truth * (1.0 + 1e-9)


def test_the_other_version_of_a_record_is_one_common_record_more():
    """Four of four: a step of 1.9/M moves no two points apart, one of 2.4/M would."""
    smooth = replace(ROUND, smoothness=2.0, gradient_difference_bound=0.05)
    made = Schedule([Phase(1, 0.95, GradientNoise(STD))])
    fields = {"schedule": made, "records": 5, "objective": smooth, "domain": Diameter(WIDE)}
    run = make_run(**fields, adjacency=Adjacency.REPLACE_ONE, batches=WithoutReplacement(4))
    apart = WIDE + 0.95 * 0.05 / 4
    assert _differing(run, 0.95, 3, 3) == pytest.approx(apart, rel=1e-12)
    truth = 0.8 * hockey_stick(0.2, apart / (0.95 * STD))
    assert proven("fixed_size_contraction", run, 0.2) == pytest.approx(truth, rel=1e-9)


def test_where_no_modulus_is_known_nothing_is_claimed():
    rough = small(objective=Objective(gradient_bound=None, smoothness=None))
    assert _gap(rough, ETA, 0, 3) == math.inf
    assert contracted(rough) is None
    assert contracted(small(objective=Objective(smoothness=0.2, strong_convexity=0.0))) is None


def test_phases_follow_one_another():
    """Each has its own step size and noise, and what the earlier ones leak fades in the later."""
    steps = ((2, 0.7, 0.5), (3, 0.3, 0.8), (1, 0.5, 0.2))
    made = Schedule([Phase(count, eta, GradientNoise(std)) for count, eta, std in steps])
    fields = {"schedule": made, "records": 4, "domain": Diameter(WIDE), "objective": ROUND}
    run = make_run(**fields, batches=Poisson(1), adjacency=Adjacency.ZERO_OUT)
    found = BY_NAME["poisson_contraction"](run).guarantee.delta(0.3)
    assert found == pytest.approx(exact(run, ROUND, 0.3, steps), rel=1e-8)


def test_a_step_without_records_only_lets_the_leak_fade():
    """Without a gradient two points stay WIDE apart, and nothing is added."""
    cool = Phase(2, 0.4, GradientNoise(0.6), cool_down=True)
    made = Schedule([Phase(3, ETA, GradientNoise(STD)), cool])
    fields = {"records": 4, "domain": Diameter(WIDE), "objective": ROUND, "batches": Poisson(1)}
    run = make_run(schedule=made, adjacency=Adjacency.ZERO_OUT, **fields)
    found = BY_NAME["poisson_contraction"](run).guarantee.delta(0.05)
    kept = hockey_stick(0.05, WIDE / (0.4 * 0.6)) ** 2
    assert found == pytest.approx(exact(run, ROUND, 0.05) * kept, rel=1e-8)


# the recursion itself


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("carried", [0.0, 0.3, 0.999999, 1.0])
@pytest.mark.parametrize("fresh", [0.0, 1e-9, 0.01])
@pytest.mark.parametrize("start", [0.0, 0.2])
@pytest.mark.parametrize("steps", [1, 2, 40])
def test_the_recursion_in_fractions(rate, carried, fresh, start, steps):
    delta = Fraction(start)
    for _ in range(steps):
        q = Fraction(rate)
        delta = (1 - q) * Fraction(carried) * delta + q * Fraction(fresh)
    found = recursion(carried, fresh, rate, steps, start)
    assert delta <= Fraction(found) <= delta * (1 + Fraction(1, 10**11)) + Fraction(1, 10**300)
    assert (found == 0.0) == (delta == 0)


@pytest.mark.parametrize("steps", [10**6, 10**9])
def test_long_recursions_are_not_rounded_down(steps):
    """A last digit of the factor counts as often as there are steps."""
    mp = mpmath.mp.clone()
    mp.dps = 60
    draw = np.random.default_rng(steps)
    for _ in range(200):
        carried = 1.0 - float(10.0 ** -draw.uniform(5, 12))
        rate, fresh = float(10.0 ** -draw.uniform(6, 12)), float(draw.uniform(0.0, 1e-6))
        x = mp.mpf(carried) * (1 - mp.mpf(rate))
        exact = x**steps * mp.mpf(0.1) + mp.mpf(rate) * mp.mpf(fresh) * (1 - x**steps) / (1 - x)
        assert exact <= recursion(carried, fresh, rate, steps, 0.1) <= exact * 1.001


def test_powers_are_not_rounded_down():
    """The logarithm of a small factor loses digits of the power."""
    for carried in np.random.default_rng(3).uniform(1e-90, 1e-80, 200).tolist():
        exact = Fraction(carried) ** 3
        found = Fraction(recursion(carried, 0.0, 0.0, 3, start=1.0))
        assert exact <= found <= exact * (1 + Fraction(1, 10**11))


def test_what_underflows_is_not_zero():
    least = 5e-324
    assert recursion(0.0, least, 0.5, 1) > 0.0
    assert recursion(1e-200, 0.0, 0.5, 2, start=1e-10) > 0.0
    assert recursion(1.0, 0.0, 0.0, 5, start=0.3) == pytest.approx(0.3, rel=1e-11)
    assert recursion(1.0, 1.0, 1.0, 5) == 1.0
    assert recursion(1.0, 1.0, 0.5, 10**9) == 1.0
    assert recursion(0.5, 0.0, 0.0, 1, start=1.0) >= 0.5
    assert recursion(0.5, 0.0, 0.0, 1) == 0.0, "nothing has leaked before"


@pytest.mark.parametrize(("rate", "fresh"), [(1e-3, 2e-322), (1e-6, 1e-318), (1e-9, 5e-324)])
def test_faint_leaks_of_many_steps_add_up(rate, fresh):
    """What one step leaks underflows, a million times as much does not."""
    steps, q = 10**6, Fraction(rate)
    mp = mpmath.mp.clone()
    mp.dps = 60
    kept = 1 - mp.mpf(q.numerator) / q.denominator
    assert mp.mpf(fresh) * (1 - kept**steps) <= mp.mpf(recursion(1.0, fresh, rate, steps))


def test_factors_next_to_one():
    """Where the raised factor is one, or a digit beside it, the sum of the powers is known, too."""
    for digits in range(12):
        carried = 1.0 - digits * 2.0**-53
        found = recursion(carried, 1e-3, 0.0, 7, start=0.1)
        exact = Fraction(carried) ** 7 * Fraction(0.1)
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**11))


def test_averages_do_not_underflow_to_nothing_nor_exceed_one():
    kind = Kind(1, 1.0, np.array([1e-200, 1e-200]), np.ones(2), np.ones(2))
    zero, faint = np.zeros(2), np.array([0.0, 1e-200])
    assert kind.then(zero, zero, 0.0) == 0.0
    assert kind.then(zero, faint, 0.0) >= 5e-324
    heavy = Kind(1, 1.0, np.array([0.7, 0.7]), np.ones(2), np.ones(2))
    assert heavy.then(np.ones(2), np.ones(2), 0.0) == 1.0
    assert heavy.then(np.ones(2), zero, 0.5) == 0.0, "every batch has the record"
    often = Kind(1, 0.5, np.array([0.7, 0.7]), np.ones(2), np.ones(2))
    assert often.then(np.ones(2), zero, 0.5) <= 0.25 * (1 + 1e-11)
    many = Kind(1, 1.0, np.full(100, 0.4), np.ones(100), np.ones(100))
    least = Fraction(5e-324)
    assert Fraction(many.then(np.zeros(100), np.full(100, 5e-324), 0.0)) >= 40 * least
    halves = Kind(1, 1.0, np.array([0.25, 0.5]), np.ones(2), np.ones(2))
    found = halves.then(zero, np.array([0.2, 0.1]), 0.0)
    assert 0.1 <= found <= 0.1 * (1 + 1e-11)


def test_separations_are_rounded_up():
    gaps = [0.0, 5e-324, 0.1, 0.3, 1.0, math.inf]
    found = _separation(gaps, 3.0)
    assert found[0] == 0.0 and found[1] >= 5e-324 and found[-1] == math.inf
    for gap, apart in zip(gaps[2:-1], found[2:-1], strict=True):
        assert (
            Fraction(gap) / 3
            <= Fraction(float(apart))
            <= Fraction(gap) / 3 * (1 + Fraction(1, 10**15))
        )
    random = np.random.default_rng(0).uniform(0.1, 9.0, (2000, 2)).tolist()
    for gap, noise in random:
        assert Fraction(float(_separation([gap], noise)[0])) >= Fraction(gap) / Fraction(noise)


@pytest.mark.parametrize(
    ("others", "records", "size"), [(3, 4, 1), (19, 20, 4), (200, 200, 60), (9, 9, 9)]
)
def test_bins_cover_every_size_with_at_least_its_probability(others, records, size):
    """Above any size there is no less weight than probability, so that no average is too small."""
    run = make_run(records=records, batches=Poisson(size))
    weights, ranges = _batch_sizes(run, others)
    rate = Fraction(size, records)
    chance = [
        math.comb(others, k) * rate**k * (1 - rate) ** (others - k) for k in range(others + 1)
    ]
    lows = [low for (low, _), _ in ranges]
    highs = [high for (_, high), _ in ranges]
    assert all(alone == beside for alone, beside in ranges)
    assert lows[0] == 0 and highs[-1] == others
    assert lows[1:] == [high + 1 for high in highs[:-1]], "no size is left out, none is in two bins"
    for place, low in enumerate(lows):
        above = sum(chance[low:], Fraction(0))
        assert float(above) * (1 - 1e-12) <= weights[place:].sum()
    assert 1.0 <= weights.sum() <= 1.0 + 1e-7
    if others > 100:
        assert len(ranges) >= 12
