"""Lemmas against their definitions, in forty digits: hulls, backward costs, tails and averages."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from oracles.rollout import certificate, shifts_spent
from wane.describe.chain import Direction
from wane.guarantees import GaussianDP
from wane.theorems.lemmas import isotonic
from wane.theorems.lemmas.family import Profile, Tuned
from wane.theorems.lemmas.kinetic import (
    Contraction,
    KineticFree,
    kinetic_discretisation,
    kinetic_divergence,
    steering_cost,
)
from wane.theorems.lemmas.letters import KineticLetters
from wane.theorems.lemmas.modulus_programme import (
    Steps,
    backward,
    constant_value,
    least,
    least_constant,
    least_over_windows,
    optimal_path,
    saddle_switch,
    value,
    values,
)
from wane.theorems.lemmas.programme import LEAST
from wane.theorems.lemmas.sampled_steps import (
    SampledRun,
    Split,
    binomial_tail,
    cap_for,
    fixed_size_renyi,
    poisson_renyi,
    random_offsets,
    with_bad_event,
)

mp = mpmath.mp.clone()
mp.dps = 40
wide = mpmath.mp.clone()
wide.dps = 1200


def near(found, exact, hair="1e-11"):
    return exact <= found <= exact * (1 + mp.mpf(hair))


# the joint programme of many different steps: the convex hull below its staircase


def hull(log_shift, log_variance, log_product):
    """The sum of (rise^2/run) over the greatest convex minorant of the staircase."""
    P, x, y = wide.mpf(1), [wide.mpf(0)], [wide.mpf(0)]
    for s, u, g in zip(log_shift, log_variance, log_product, strict=True):
        P *= wide.exp(wide.mpf(g))
        x.append(x[-1] + wide.exp(wide.mpf(u)) / P**2)
        y.append(y[-1] + wide.exp(wide.mpf(s)) / P)
    kept = [0]
    for i in range(1, len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return sum((y[b] - y[a]) ** 2 / (x[b] - x[a]) for a, b in pairwise(kept))


@pytest.mark.parametrize("drift", [-9.0, -0.5, 0.0, 0.5, 9.0])
@pytest.mark.parametrize("count", [1, 2, 50, 120])
def test_the_programme_is_the_hull_below_its_staircase(drift, count):
    """Drifts of nine leave the range of doubles every few dozen steps, so that chunks are many."""
    draw = np.random.default_rng(count)
    shift, variance = draw.normal(0.0, 1.0, (2, count))
    product = draw.normal(drift, 0.7, count)
    found = isotonic.mu_squared(shift, variance, product)
    assert near(found, hull(shift.tolist(), variance.tolist(), product.tolist()), "1e-9")


def test_chunks_that_pool_far_back():
    """Shifts that fall pool everything into one block, over the ends of all chunks."""
    count = 90
    shift = np.linspace(300.0, -300.0, count)
    variance, product = np.zeros(count), np.full(count, 9.0)
    for rows in ((shift, variance, product), (shift[::-1], variance, product)):
        found = isotonic.mu_squared(*rows)
        assert near(found, hull(*(row.tolist() for row in rows)), "1e-9")
    assert isotonic.mu_squared(np.full(3, -800.0), np.zeros(3), np.zeros(3)) >= LEAST


# the modulus programme of affine squares


def backwards(steps, distance):
    """The least cost of all the steps, one after the other from the last."""
    q = B = mp.mpf(0)
    rows = zip(steps.log_factor, steps.offset, steps.variance, strict=True)
    found = []
    for log_c, h, variance in reversed(list(rows)):
        g = q + mp.mpf(variance)
        B += mp.mpf(h) / g
        q = g / mp.exp(mp.mpf(log_c))
        found.append((q, B, mp.mpf(distance) ** 2 / q + B))
    return found[::-1]


def mixed(seed, count, spread=0.5):
    draw = np.random.default_rng(seed)
    return Steps(
        draw.normal(0.0, spread, count),
        draw.uniform(0.0, 0.3, count) * (draw.random(count) < 0.6),
        draw.uniform(0.2, 3.0, count),
    )


@pytest.mark.parametrize(
    ("seed", "count", "spread"), [(0, 1, 0.5), (1, 2, 0.5), (2, 90, 0.5), (3, 400, 30.0)]
)
def test_costs_from_every_step_on(seed, count, spread):
    steps, distance = mixed(seed, count, spread), 1.7
    exact = backwards(steps, distance)
    q, spent = backward(steps)
    for place in range(count):
        if exact[place][0] < mp.mpf("1e299"):
            assert q[place] == pytest.approx(float(exact[place][0]), rel=1e-12)
        assert spent[place] == pytest.approx(float(exact[place][1]), rel=1e-12, abs=1e-290)
    for found, (_, _, cost) in zip(values(steps, distance), exact, strict=True):
        assert near(found, cost) or cost < mp.mpf("1e-290")
    assert near(least(steps, distance), min(row[2] for row in exact)) or count > 90
    assert value(steps, distance) == values(steps, distance)[0]
    assert least(steps, 0.0) == 0.0


def test_no_steps_bring_nothing_together():
    none = Steps(np.zeros(0), np.zeros(0), np.zeros(0))
    assert value(none, 1.0) == least(none, 1.0) == math.inf
    assert least(none, 0.0) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_meeting_may_start_late_and_end_early(seed):
    noise = mixed(seed, 12).variance
    steps, distance = Steps(np.full(12, 0.1), np.full(12, 0.2), noise), 0.8
    cut = (
        Steps(*(column[first:last] for column in (steps.log_factor, steps.offset, steps.variance)))
        for first in range(12)
        for last in range(first + 1, 13)
    )
    exact = min(backwards(part, distance)[0][2] for part in cut)
    assert near(least_over_windows(steps, distance), exact)


def test_few_ends_are_the_deepest():
    """With one end to try it is the one before the step whose noise falls the most."""
    variance = np.array([9.0, 9.0, 9.0, 1e-4, 1e-3, 9e-4])
    steps = Steps(np.zeros(6), np.full(6, 1.0), variance)
    first_three = least(Steps(np.zeros(3), np.full(3, 1.0), variance[:3]), 0.1)
    assert first_three < 0.01 * least(steps, 0.1)
    assert least_over_windows(steps, 0.1, most_ends=1) == first_three
    assert least_over_windows(steps, 0.1) == first_three


def test_the_path_attains_the_value():
    steps, distance = mixed(5, 9), 1.3
    path = optimal_path(steps, distance)
    phis = [
        lambda u, c=c, h=h: math.sqrt(math.exp(c) * u * u + h)
        for c, h in zip(steps.log_factor.tolist(), steps.offset.tolist(), strict=True)
    ]
    found = certificate(phis, steps.variance.tolist(), distance, path)
    assert found == pytest.approx(value(steps, distance), rel=1e-11)


@pytest.mark.parametrize("log_c", [-math.inf, -3.0, -0.2, -1e-9, 0.0, 1e-9, 0.2, 3.0])
@pytest.mark.parametrize("h", [0.0, 0.4])
@pytest.mark.parametrize("count", [1, 2, 30])
def test_equal_steps_in_closed_form(log_c, h, count):
    variance, distance = 1.7, 0.9
    q = B = mp.mpf(0)
    costs = []
    for _ in range(count):
        g = q + mp.mpf(variance)
        B += mp.mpf(h) / g
        q = g / mp.exp(mp.mpf(log_c)) if log_c > -math.inf else mp.inf
        costs.append((mp.mpf(distance) ** 2 / q if q < mp.inf else 0) + B)
    found = constant_value(log_c, h, variance, distance, count)
    if log_c == -math.inf and h > 0.0:
        assert found >= costs[-1]  # infinite: a map to one point claims nothing, which is valid
        return
    assert near(found, costs[-1])
    steps, best = least_constant(log_c, h, variance, distance, count)
    assert near(best, min(costs), "1e-10")
    assert 1 <= steps <= count and near(best, costs[steps - 1], "1e-10")
    assert least_constant(log_c, h, variance, 0.0, count) == (0, 0.0)
    assert constant_value(log_c, h, variance, distance, 0) == math.inf


# paths through any modulus


def test_a_certificate_is_the_cost_of_its_path_in_fractions():
    """Each wish is pulled back between zero and what can be reached, and the last must be zero."""
    phis = [lambda u: 1.5 * u, lambda u: u + 0.25, lambda u: 0.5 * u]
    variances = [1.0, 0.5, 2.0]
    for path, hidden in (
        ([1.0, 0.5], [1.0, 0.5]),
        ([9.0, -1.0], [3.0, 0.0]),
        ([0.0], [0.0, 0.0]),
        ([], [0.0, 0.0]),
    ):
        u, total = Fraction(2), Fraction(0)
        for phi, variance, wanted in zip(phis, variances, [*hidden, 0.0], strict=True):
            reached = Fraction(phi(float(u))) if u > 0 else Fraction(0)
            total += (reached - Fraction(wanted)) ** 2 / Fraction(variance)
            u = Fraction(wanted)
        found = Fraction(certificate(phis, variances, 2.0, path))
        assert total <= found <= total * (1 + Fraction(1, 10**12))
    left, spent = shifts_spent(phis, variances, 2.0, [1.0, 0.75, 4.0])
    assert left == 0.0 and spent == 1.0 + 0.75**2 / 0.5 + 16.0 / 2.0
    assert shifts_spent(phis, variances, 2.0, [0.0, 0.0, 0.0]) == (1.625, 0.0)


@pytest.mark.parametrize("bend", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("jump", [0.0, 0.05, 2.0])
def test_saddle_steps_switch_where_it_costs_least(bend, jump):
    variance, distance, count = 1.3, 2.0, 25
    costs = []
    for jumping in range(count + 1):
        factors = np.array([0.0] * jumping + [math.log1p(bend**2)] * (count - jumping))
        offsets = np.array([jump**2] * jumping + [0.0] * (count - jumping))
        steps = Steps(factors, offsets, np.full(count, variance))
        costs.append(backwards(steps, distance)[0][2])
    found, switch = saddle_switch(jump, bend, variance, distance, count)
    best = costs[0] if bend == 0.0 else min(costs)
    assert near(found, best, "1e-10") and near(found, costs[switch], "1e-10")


# tails and averages of batches


@pytest.mark.parametrize(
    ("trials", "rate"), [(1, 0.5), (7, 0.25), (40, 0.05), (40, 0.9), (90, 0.01)]
)
def test_tails_of_binomials_in_fractions(trials, rate):
    q = Fraction(rate)
    chance = [math.comb(trials, k) * q**k * (1 - q) ** (trials - k) for k in range(trials + 1)]
    for most in range(-2, trials + 2):
        exact = sum(chance[max(most + 1, 0) :], Fraction(0))
        found = Fraction(binomial_tail(trials, rate, most))
        assert exact <= found <= exact * (1 + Fraction(1, 10**8)) + Fraction(1, 10**300)
        assert (found == 0) == (exact == 0)
    for probability in (1.0, 0.3, 1e-3, 1e-9, 0.0):
        cap = cap_for(trials, rate, probability)
        assert binomial_tail(trials, rate, cap) <= probability
        assert cap == 0 or binomial_tail(trials, rate, cap - 1) > probability


@pytest.mark.parametrize("trials", [10, 10**6])
def test_no_record_joins_at_rate_zero_and_faint_tails_stay_positive(trials):
    assert binomial_tail(trials, 0.0, 0) == 0.0
    assert binomial_tail(trials, 0.0, -1) in (0.0, 1.0)
    assert binomial_tail(trials, 1e-9, trials - 1) >= 5e-324


@pytest.mark.parametrize("horizon", [1, 2, 300])
@pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 800.0])
def test_offsets_of_random_batches_one_step_at_a_time(horizon, scale):
    weights, scaled = np.array([0.5, 0.3, 0.2]), scale * np.array([0.0, 0.4, 1.0])
    exact = sum(
        mp.log1p(
            sum(
                mp.mpf(w) * mp.expm1(mp.mpf(x) / r)
                for w, x in zip(weights.tolist(), scaled.tolist(), strict=True)
            )
        )
        for r in range(1, horizon + 1)
    )
    assert random_offsets(scaled, weights, horizon) == pytest.approx(float(exact), rel=1e-12)


def test_many_offsets_are_bounded_by_chords():
    weights, scaled = np.array([0.7, 0.3]), np.array([0.0, 2.0])
    r = np.arange(1.0, 40_001.0)
    exact = math.fsum(np.log1p(0.3 * np.expm1(2.0 / r)).tolist())
    assert exact * (1.0 - 1e-13) <= random_offsets(scaled, weights, 40_000) <= exact * (1.0 + 1e-5)


@pytest.mark.parametrize("order", [1.5, 2.0, 20.0])
def test_a_rare_event_is_counted_with_its_own_divergence(order):
    for good, p, bad in ((0.3, 1e-3, 4.0), (0.0, 1e-9, 900.0), (2.0, 0.5, 2.0)):
        a = mp.mpf(order) - 1
        exact = mp.log(mp.exp(a * mp.mpf(good)) + mp.mpf(p) * mp.exp(a * mp.mpf(bad))) / a
        exact = min(max(exact, mp.mpf(good)), mp.mpf(bad))
        found = with_bad_event(order, good, p, bad)
        assert float(exact) * (1 - 1e-15) <= found <= float(exact) * (1 + 1e-12)
    assert with_bad_event(order, 0.3, 0.0, 4.0) == 0.3
    assert with_bad_event(order, 5.0, 0.0, 4.0) == 4.0


RUN = SampledRun(rate=0.1, mu=0.8, variance=2.0, steps=50, diameter=0.6)


@pytest.mark.parametrize("zeroed", [False, True])
@pytest.mark.parametrize("order", [1.5, 4.0])
def test_theorem_f_without_contraction(zeroed, order):
    """R sampled steps, then a distance that fades as one over R, then harmonic offsets."""
    run, split, h = replace(RUN, zeroed=zeroed), Split(7, 0.3), 0.02
    s2 = mp.mpf(0.3) * 2
    harmonic = sum(mp.mpf(1) / k for k in range(1, 8))
    distance = order / (2 * s2) * (mp.mpf(0.6) ** 2 / 7 + mp.mpf(h) * harmonic)
    exact = 7 * mp.mpf(run.sampled(order, 0.3)) + distance
    assert near(fixed_size_renyi(run, split, order, h), exact, "1e-12")
    louder = SampledRun(0.1, 0.8 / math.sqrt(0.7), 2.0, 50, 0.6, zeroed)
    assert run.sampled(order, 0.3) == pytest.approx(louder.sampled(order), rel=1e-12)
    assert near(run.composed(order), 50 * mp.mpf(run.sampled(order)), "1e-14")


def test_two_real_records_are_further_apart_than_one_and_nothing():
    assert RUN.sampled(3.0) > replace(RUN, zeroed=True).sampled(3.0)


@pytest.mark.parametrize("order", [1.5, 4.0])
def test_theorem_p_without_contraction(order):
    split, others, cap = Split(5, 0.4), 6, 4
    s2, q = mp.mpf(0.4) * 2, mp.mpf(0.1)
    factor = mp.mpf(order) * (mp.mpf(order) - 1) / (2 * s2)
    spent = mp.mpf(0)
    for r in range(1, 6):
        mean = sum(
            mp.binomial(6, k) * q**k * (1 - q) ** (6 - k) * mp.expm1(factor * mp.mpf(0.01) * k / r)
            for k in range(cap + 1)
        )
        spent += mp.log1p(mean)
    good = 5 * mp.mpf(RUN.sampled(order, 0.4)) + mp.mpf(order) * mp.mpf(0.6) ** 2 / (2 * s2 * 5)
    good += spent / (mp.mpf(order) - 1)
    tail = sum(mp.binomial(6, k) * q**k * (1 - q) ** (6 - k) for k in range(cap + 1, 7))
    a, whole = mp.mpf(order) - 1, mp.mpf(RUN.composed(order))
    exact = mp.log(mp.exp(a * good) + 5 * tail * mp.exp(a * whole)) / a
    found = poisson_renyi(
        RUN, split, order, others=others, cap=cap, offset=lambda sizes: 0.01 * sizes
    )
    assert float(exact) * (1 - 1e-14) <= found <= float(exact) * (1 + 1e-9)


# families of guarantees


def test_a_tuned_guarantee_composes_its_reference_member():
    """Whose delta is one in a million, and that of every other tuned guarantee beside it."""

    def member(delta):
        return GaussianDP(0.3 if math.isclose(delta, 1e-6) else 0.7)

    tuned = Tuned(member, lambda order: 0.2 * order)
    reference = GaussianDP(0.3)
    assert tuned.absorb((GaussianDP(0.4),)) == reference.compose(GaussianDP(0.4))
    assert tuned.absorb((tuned,)) == reference.compose(reference)
    assert tuned.repeat(3) == reference.repeat(3)
    assert tuned.group(1) is tuned
    assert tuned.renyi(3.0) == pytest.approx(0.6)
    assert tuned.epsilon(1.0) == 0.0
    assert tuned.epsilon(2e-6) == reference.epsilon(2e-6)
    assert tuned.epsilon(1e-3) == GaussianDP(0.7).epsilon(1e-3)


def test_a_tuned_guarantee_has_the_least_delta_of_its_member_and_of_one_chosen_for_it():
    """Near one in a million that is the reference; far from it another member may know more."""

    def member(delta):
        return GaussianDP({True: 0.3, False: 0.29}[delta > 1e-7])

    tuned = Tuned(member, lambda order: 0.2 * order)
    near, far = (GaussianDP(mu) for mu in (0.3, 0.29))
    for delta in (2e-7, 1e-6, 5e-6, 1e-4, 0.01):
        epsilon = near.epsilon(delta)
        assert tuned.delta(epsilon) == near.delta(epsilon) > 0.0
        assert tuned.rough_delta(epsilon) == pytest.approx(near.rough_delta(epsilon), rel=1e-12)
    for delta in (1e-9, 1e-12):
        epsilon = near.epsilon(delta)
        assert tuned.delta(epsilon) == far.delta(epsilon) < near.delta(epsilon)
    asked = []
    Tuned(lambda delta: asked.append(delta) or far, lambda order: order).epsilon(3e-7)
    assert asked == [pytest.approx(10.0**-7.0)], "the next half power of ten below"


def test_a_profile_inverts_itself_and_falls_back():
    inner = GaussianDP(1.0)
    profile = Profile(inner.delta, GaussianDP(2.0))
    for delta in (0.3, 1e-3, 1e-9):
        found = profile.epsilon(delta)
        assert inner.epsilon(delta) * (1 - 1e-11) <= found <= inner.epsilon(delta) * (1 + 1e-9)
        assert inner.delta(found) <= delta
    assert profile.epsilon(0.9) == 0.0 and profile.epsilon(0.0) == math.inf
    assert Profile(lambda _: 0.5, inner).epsilon(0.1) == math.inf, "never reached"
    assert profile.renyi(2.0) == GaussianDP(2.0).renyi(2.0)
    assert profile.repeat(1) is profile and profile.repeat(2) == GaussianDP(2.0).repeat(2)
    assert profile.group(1) is profile
    assert profile.absorb((profile,)) == GaussianDP(2.0).compose(GaussianDP(2.0))
    assert profile.absorb((inner,)) == GaussianDP(2.0).compose(inner)
    exact = Profile(lambda e: 3.0 if e == 0.0 else 0.2, inner, inverse=lambda _: 7.0)
    assert exact.delta(0.0) == 1.0 and exact.epsilon(0.25) == 7.0


# friction


HEAVY = KineticLetters(2, 1.0, 2.0, 2.5, 0.7, 0.02, 400, s0=0.25, r0=0.4)


def girsanov(way, p, order):
    c = mp.mpf(order) if way is Direction.CHAIN_FIRST else 1 - mp.mpf(order)
    return c * (p * c - 1) / 2


@pytest.mark.parametrize("way", Direction)
@pytest.mark.parametrize(("order", "q"), [(1.5, 2.0), (4.0, 9.0)])
def test_the_discretisation_of_friction_in_forty_digits(way, order, q):
    x = replace(HEAVY, N=30, eta=0.004)
    L, mu, gam, eta = (mp.mpf(v) for v in (x.L, x.mu, x.gam, x.eta))
    lam = girsanov(way, mp.mpf(q) / (mp.mpf(q) - 1), order)
    z = 4 * q * lam * mu**2 * L**2 / (2 * gam**2) * (4 * eta**2 / mp.pi**2)
    b = z / (2 * (1 + mp.sqrt(1 - z)))
    left = 1 - b * L * mp.mpf(x.s0)
    exact = b * gam * x.d * x.N * eta - mp.mpf(x.d) / 2 * mp.log1p(-b)
    exact += -mp.mpf(x.d) / 2 * mp.log(left) + b * L * mp.mpf(x.r0) ** 2 / (2 * left)
    exact /= q * (mp.mpf(order) - 1)
    assert near(kinetic_discretisation(x, way, order, q), exact)
    assert near(kinetic_discretisation(replace(x, N=1), way, order, q, 30 * 0.004), exact, "1e-10")
    for wrong in (1.0, 0.5):
        assert kinetic_discretisation(x, way, order, wrong) == math.inf
    assert kinetic_discretisation(replace(x, eta=40.0), way, order, q) == math.inf


@pytest.mark.parametrize("way", Direction)
@pytest.mark.parametrize("window", [40, 90])
def test_steering_with_friction_in_forty_digits(way, window):
    """With the cost of steering as it is; tests of samplers compute that one again."""
    x, order = replace(HEAVY, N=2000), 2.0
    free = KineticFree(window=window, q1=6.0, q2=5.0, w_start=0.1, w_drift=0.7)
    L, mu, gam, eta = (mp.mpf(v) for v in (x.L, x.mu, x.gam, x.eta))
    k0 = mu * L * eta**2 / mp.sqrt(2)
    k1 = k0 / (1 - k0)
    C = mp.exp(-mp.mpf(x.rate) * eta) + k1
    step = Contraction.of(x)
    assert step.k1 == pytest.approx(float(k1), rel=1e-12)
    assert step.gap == pytest.approx(float(1 - C), rel=1e-9) and step.gap > 0.0
    rest = mp.mpf(x.N) - window
    lam = girsanov(way, 1 / (1 - 1 / mp.mpf(6) - 1 / mp.mpf(5)), order) / (2 * gam * mu)
    cost = mp.mpf(steering_cost(x, window))
    S = (1 - C**rest) / (1 - C)
    own = 1 - mp.mpf(0.1) - mp.mpf(0.7)
    W = lam * (
        cost**2 * k1**2 * S**2 / mp.mpf(0.7)
        + (mu * L) ** 2 * (4 * eta**2 / mp.pi**2) * window * eta / own
    )
    A0 = 5 * lam * cost**2 * C ** (2 * rest) * gam**2 / mp.mpf(0.1)
    v, far = mp.mpf(x.s0) + 1 / mp.mpf(x.m), mp.mpf(x.r0)

    def moment(w):
        return -mp.mpf(x.d) / 2 * mp.log(1 - 2 * A0 * v / w) + A0 * far**2 / (1 - w)

    least_moment = min(
        moment(mp.mpf(k) / 2000) for k in range(1, 2000) if 2 * A0 * v < mp.mpf(k) / 2000
    )
    exact = -mp.mpf(x.d) / (2 * 6) * mp.log(1 - 2 * 6 * W * mu) + least_moment / 5
    found = kinetic_divergence(x, way, order, free)
    assert math.isfinite(found)
    assert found == pytest.approx(float(exact / (mp.mpf(order) - 1)), rel=1e-4)
