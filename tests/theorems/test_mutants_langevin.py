"""Distances of chains: formulas in forty digits, what a search returns, and every hypothesis."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from wane.describe.chain import (
    Diffusion,
    Direction,
    Overdamped,
    PointStart,
    Question,
    Target,
)
from wane.numerics.search import Found
from wane.theorems import chain_hypotheses as conditions
from wane.theorems.kinetic import optimised as kinetic_search, statement as kinetic_theorems
from wane.theorems.kinetic.optimised import kinetic, kinetic_error, kinetic_free
from wane.theorems.langevin import girsanov as optimised
from wane.theorems.langevin.girsanov import (
    convex_divergence,
    largest_variance,
    lipschitz_divergence,
    mixing_divergence,
    triangle_orders,
    weak_triangle,
)
from wane.theorems.lemmas.kinetic import KineticFree, kinetic_discretisation, kinetic_divergence
from wane.theorems.lemmas.letters import KineticLetters, Letters
from wane.theorems.lemmas.shifted_girsanov import Free, ShiftedGirsanov
from wane.theorems.registry import THEOREMS

BY_NAME = {theorem.name: theorem for theorem in THEOREMS}
mp = mpmath.mp.clone()
mp.dps = 40
CHAIN = Letters(3, 0.5, 2.0, math.inf, 1.7, 0.01, 40, s0=0.25, r0=0.4)
LONG = replace(CHAIN, N=900)
SLOW = replace(CHAIN, eta=3e-4, N=40_000)
WALK = Letters(2, 0.0, 1.5, math.inf, 0.8, 0.02, 30, s0=0.1, r0=0.3)
HEAVY = KineticLetters(2, 1.0, 2.0, 2.0, 1.0, 0.01, 3000, s0=0.25, r0=0.4)
BOTH = pytest.mark.parametrize("way", Direction)
HAIR = mp.mpf("1e-11")


def price(way, p, order):
    """Step 2 of the proofs: half of c (p c - 1), c the order or one minus it."""
    c = mp.mpf(order) if way is Direction.CHAIN_FIRST else 1 - mp.mpf(order)
    return c * (mp.mpf(p) * c - 1) / 2


def near(found, exact, hair=HAIR):
    return exact <= found <= exact * (1 + hair)


@BOTH
@pytest.mark.parametrize("x", [CHAIN, WALK])
@pytest.mark.parametrize("free", [(4.0, 4.0, 0.2), (3.0, 20.0, 0.5)])
@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_girsanov_for_convex_potentials(way, x, free, order):
    q1, q2, u3 = free
    found = convex_divergence(x, way, order, q1=q1, q2=q2, u3=u3)
    p = 1 / (1 - 1 / mp.mpf(q1) - 1 / mp.mpf(q2))
    lam, L, eta = price(way, p, order) / 2, mp.mpf(x.L), mp.mpf(x.eta)
    lp = q1 * lam
    th = 2 * L * eta * mp.sqrt(lp / (1 - mp.mpf(u3)))
    W = x.N * lp * L**2 * eta**3 / (3 * mp.mpf(u3))
    heat = mp.mpf(x.s0) + 2 * x.N * eta
    v = min(max(mp.mpf(x.s0), 1 / mp.mpf(x.m)), heat) if x.m else heat
    r = q2 / mp.mpf(q1) * W * L**2
    left = 1 - 2 * r * v
    exact = -x.N * mp.mpf(x.d) / (2 * q1) * mp.log(mp.cos(th))
    exact += (-mp.mpf(x.d) / 2 * mp.log(left) + r * mp.mpf(x.r0) ** 2 / left) / q2
    assert near(found, exact / (mp.mpf(order) - 1))
    assert near(largest_variance(x), v)


@BOTH
@pytest.mark.parametrize("x", [CHAIN, WALK])
@pytest.mark.parametrize(("q1", "u3"), [(1.5, 0.2), (6.0, 0.6)])
@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_girsanov_for_bounded_gradients(way, x, q1, u3, order):
    found = lipschitz_divergence(x, way, order, q1=q1, u3=u3)
    lam, L, eta = price(way, mp.mpf(q1) / (mp.mpf(q1) - 1), order) / 2, mp.mpf(x.L), mp.mpf(x.eta)
    th = 2 * L * eta * mp.sqrt(q1 * lam / (1 - mp.mpf(u3)))
    W = x.N * q1 * lam * L**2 * eta**3 / (3 * mp.mpf(u3))
    exact = (-x.N * mp.mpf(x.d) / 2 * mp.log(mp.cos(th)) + W * mp.mpf(x.B) ** 2) / q1
    assert near(found, exact / (mp.mpf(order) - 1))


def test_free_parameters_at_their_edges_prove_nothing():
    way = Direction.CHAIN_FIRST
    for q1, u3 in ((1.0, 0.5), (0.5, 0.5), (2.0, 0.0), (2.0, 1.0), (2.0, -0.1), (2.0, 1.1)):
        assert lipschitz_divergence(CHAIN, way, 2.0, q1=q1, u3=u3) == math.inf
    for q1, q2, u3 in (
        (2.0, 2.0, 0.5),
        (1.0, 9.0, 0.5),
        (9.0, 1.0, 0.5),
        (4.0, 4.0, 1.0),
        (4.0, 4.0, 0.0),
        (4.0, 4.0, -0.5),
    ):
        assert convex_divergence(CHAIN, way, 2.0, q1=q1, q2=q2, u3=u3) == math.inf


@pytest.mark.parametrize("m", [0.2, 3.0])
@pytest.mark.parametrize("time", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("order", [1.0, 1.5, 4.0])
def test_mixing_from_one_point(m, time, order):
    """With no spread of the start beyond the target's own: a scaled chi-square."""
    d, variance = 3, 0.3
    found = mixing_divergence(order, d=d, m=m, time=time, variance=variance, offset=0.0)
    spread = mp.mpf(variance) + 1 / mp.mpf(m)
    each = mp.mpf(m) / (2 * (mp.exp(2 * mp.mpf(m) * mp.mpf(time)) - 1))
    if order == 1.0:
        exact = each * d * spread
    else:
        v = 2 * mp.mpf(order) * (mp.mpf(order) - 1) * each * spread
        exact = -mp.mpf(d) / 2 * mp.log1p(-v) / (mp.mpf(order) - 1) if v < 1 else mp.inf
    assert found == math.inf if exact == mp.inf else near(found, exact)


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_mixing_from_a_distance(order):
    """Two Gaussians in one dimension whose means have come together: Harnack is exact there."""
    m, time, offset = 0.7, 6.0, 5.0
    found = mixing_divergence(order, d=1, m=m, time=time, variance=0.0, offset=offset)
    each = m / (2.0 * math.expm1(2.0 * m * time))
    root = math.sqrt(1.0 / m) + offset
    if order == 1.0:
        assert found == pytest.approx(each * root**2, rel=1e-12)
    else:
        assert order * each * offset**2 <= found <= order * each * root**2 * 1.5
    far = {"d": 1, "m": m, "time": time, "variance": 0.0}
    assert mixing_divergence(order, **far, offset=math.inf) == math.inf
    assert mixing_divergence(order, **(far | {"m": 0.0}), offset=1.0) == math.inf


@pytest.mark.parametrize("time", [1.0, 300.0, 340.0])
def test_long_times_are_not_rounded_up(time):
    """Near the end of the range of doubles a last digit of the time counts six hundred times."""
    for tau in (0.7, 1.0, 1.0 / 3.0):
        chain = Diffusion(Target(1.0 * tau, 2.0 * tau, 1), time, temperature=tau)
        chain = replace(chain, start=PointStart(0.0), time=time / tau)
        found = BY_NAME["harnack_mixing"](Question(chain, 1.0, Direction.CHAIN_FIRST))
        m = mp.mpf(chain.target.strong_convexity) / mp.mpf(tau)
        each = m / (2 * mp.expm1(2 * m * mp.mpf(chain.time) * mp.mpf(tau)))
        assert near(found.conclusion.value, each / m)


@BOTH
@pytest.mark.parametrize("order", [1.0, 2.0])
def test_only_the_entropy_of_the_target_has_a_bound_of_its_own(monkeypatch, way, order):
    chain = Overdamped(Target(1.0, 2.0, 2), 0.01, 100, PointStart(0.5))
    monkeypatch.setattr(optimised, "shifted", lambda *_: Found(2.0, {}))
    monkeypatch.setattr(optimised, "shifted_entropy", lambda *_: Found(1.0, {}))
    found = BY_NAME["shifted_girsanov"](Question(chain, order, way)).conclusion
    own = order == 1.0 and way is Direction.REFERENCE_FIRST
    assert found.value == (1.0 if own else 2.0)


# searches return the theorem at what they return


@BOTH
@pytest.mark.parametrize("order", [1.0, 1.5, 3.0])
def test_what_the_searches_return_is_the_bound_there(way, order):
    asked = max(order, 1.01)  # nearer to one the divergence of this order is used
    found = optimised.convex(CHAIN, way, order)
    assert found.value == convex_divergence(CHAIN, way, asked, **found.parameters)
    found = optimised.lipschitz(CHAIN, way, order)
    assert found.value == lipschitz_divergence(CHAIN, way, asked, **found.parameters)
    found = kinetic(HEAVY, way, order)
    assert found.value == kinetic_divergence(HEAVY, way, asked, KineticFree(**found.parameters))
    found = kinetic_error(HEAVY, way, order)
    assert found.value == kinetic_discretisation(HEAVY, way, asked, found.parameters["q"])


@BOTH
@pytest.mark.parametrize("order", [1.0, 2.0])
def test_the_shifted_bound_is_the_induction_at_what_is_returned(way, order):
    """With the price of Girsanov's theorem in many digits, and the grouping of steps as it is."""
    asked = max(order, 1.01)
    found = optimised.shifted(LONG, way, order, effort=60)
    free = Free(**found.parameters)
    lam = float(price(way, free.p, asked) / 2)
    fine, rough = (
        ShiftedGirsanov(LONG, by).divergence(lam, free) / (asked - 1.0)
        for by in (optimised.FINE, optimised.ROUGH)
    )
    assert found.value == pytest.approx(min(fine, rough), rel=1e-9)
    assert math.isfinite(found.value)


def test_the_entropy_is_the_least_of_both_groupings():
    found = optimised.shifted_entropy(LONG, effort=60)
    free = Free(**found.parameters)
    values = [
        ShiftedGirsanov(LONG, by).relative_entropy(free) for by in (optimised.FINE, optimised.ROUGH)
    ]
    assert found.value == min(values) < math.inf


@BOTH
def test_error_and_mixing_are_joined_at_what_is_returned(way):
    order = 2.0
    found = optimised.triangle(SLOW, way, order)
    assert math.isfinite(found.value)
    values = dict(found.parameters)
    p = values.pop("p")
    first, second = triangle_orders(order, p)
    conjugate = mp.mpf(p) / (mp.mpf(p) - 1)
    assert first == pytest.approx(p * order, rel=1e-14)
    assert second == pytest.approx(float(conjugate * (order - 1 / mp.mpf(p))), rel=1e-12)
    time = {"d": SLOW.d, "m": SLOW.m, "time": SLOW.N * SLOW.eta}
    start = {"variance": SLOW.s0, "offset": SLOW.r0}
    chain_first = way is Direction.CHAIN_FIRST
    error = convex_divergence(SLOW, way, first if chain_first else second, **values)
    mixing = mixing_divergence(second if chain_first else first, **time, **start)
    parts = (error, mixing) if chain_first else (mixing, error)
    assert found.value == pytest.approx(weak_triangle(order, p, *parts), rel=1e-12)
    exact = (order - 1 / mp.mpf(p)) / (order - 1) * mp.mpf(parts[0]) + mp.mpf(parts[1])
    assert near(found.value, exact, mp.mpf("1e-12"))


@pytest.mark.parametrize("order", [1.2, 2.0, 7.0])
@pytest.mark.parametrize("p", [1.1, 2.0, 9.0])
def test_triangles_in_forty_digits(order, p):
    found = weak_triangle(order, p, 0.3, 0.7)
    a, q = mp.mpf(order), mp.mpf(p)
    assert near(found, (a - 1 / q) / (a - 1) * mp.mpf(0.3) + mp.mpf(0.7), mp.mpf("1e-14"))


def test_points_are_admissible_parameters():
    """Windows hold at least one step and no more than there are; exponents are above one."""
    low = kinetic_free(HEAVY, np.full(5, -40.0))
    assert low.window == 1 and 1.0 <= low.q1 < 1.0 + 1e-14 and not low.admissible
    high = kinetic_free(HEAVY, np.full(5, 40.0))
    assert high.window == HEAVY.N and high.q1 > 1e17
    middle = kinetic_free(HEAVY, np.array([math.log(7.2), 0.0, math.log(3.0), 0.0, math.log(2.0)]))
    assert (middle.window, middle.q1, middle.q2) == (7, 2.0, pytest.approx(4.0))
    assert middle.w_start == pytest.approx(0.25) and middle.w_drift == pytest.approx(0.5)


# hypotheses, written down a second time

DISTANCES = {
    "shifted_girsanov": ["strongly_convex", "known_start"],
    "discretisation_and_mixing": ["strongly_convex", "known_start"],
    "girsanov_convex": ["convex", "known_start"],
    "girsanov_lipschitz": ["bounded_gradient"],
    "harnack_mixing": ["strongly_convex", "known_start"],
    "steered_kinetic": [
        "strongly_convex",
        "known_start",
        "stationary_velocity",
        "heavy_friction",
        "short_kinetic_step",
    ],
    "girsanov_kinetic": ["known_start", "stationary_velocity"],
    "kinetic_composition": ["bounded_share"],
}


@pytest.mark.parametrize("name", DISTANCES)
def test_every_theorem_on_chains_has_its_hypotheses_written_down_here(name):
    (theorem,) = [t for t in THEOREMS if t.name == name]
    assert theorem.title.startswith(name)
    needed = [getattr(conditions, each).statement for each in DISTANCES[name]]
    assert [h.statement for h in theorem.assumes] == needed


def test_theorems_on_samples_have_their_hypotheses_written_down_here():
    last = kinetic_theorems.kinetic_last_state
    assert last.title.startswith("kinetic_last_state")
    first, second = last.assumes
    assert first is conditions.bounded_share
    assert second.statement == "friction brings two chains together at every step"
    for name, own in (("gibbs_transfer", "bounded_share"), ("range_transfer", None)):
        (theorem,) = [t for t in THEOREMS if t.name == name]
        assert theorem.title.startswith(name)
        first, second, third = (h.statement for h in theorem.assumes)
        ranged = "each record's loss has a bounded range"
        assert first == (ranged if own is None else getattr(conditions, own).statement)
        assert second == conditions.same_number.statement
        assert third.startswith("the chain's distance to its target is certified")


def test_searches_start_inside():
    for point in kinetic_search.kinetic_starts(HEAVY):
        assert 1 <= kinetic_free(HEAVY, point).window <= HEAVY.N
