"""Moduli of common steps: the formula of each with many digits, and runs that follow each other."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import wane
from wane import InvalidDescription, NoTheoremApplies
from wane.modulus import (
    bounded_change,
    descent_ascent,
    fine_tuned,
    from_values,
    hoelder,
    smooth,
    smooth_convex,
    steps as made_of,
    sum_of_parts,
)

mp = mpmath.mp.clone()
mp.dps = 40
SIZES = [0.05, 0.4, 1.5]
APART = [1e-6, 0.03, 0.7, 2.0, 50.0]


def near_and_not_below(found, exact, relative="1e-13"):
    assert exact * (1 - mp.mpf("1e-16")) <= found <= exact * (1 + mp.mpf(relative)), (found, exact)


FORMULAS = [
    (lambda e: smooth_convex(e, 2.0, 0.5), lambda e, u: u * max(1 - e / 2, 2 * e - 1)),
    (lambda e: smooth_convex(e, 2.0), lambda e, u: u * max(mp.mpf(1), 2 * e - 1)),
    (lambda e: smooth_convex(e, 2.0, 2.0), lambda e, u: u * abs(1 - 2 * e)),
    (lambda e: smooth(e, 2.0), lambda e, u: u * (1 + 2 * e)),
    (lambda e: smooth(e, 2.0, 0.5), lambda e, u: u + e * min(2 * u, mp.mpf(0.5))),
    (lambda e: smooth(e, 0.0), lambda e, u: u),
    (lambda e: smooth(e, 2.0, 0.0), lambda e, u: u),
    (lambda e: bounded_change(e, 3.0), lambda e, u: mp.sqrt(u**2 + (3 * e) ** 2)),
    (lambda e: bounded_change(e, 0.0), lambda e, u: u),
    (
        lambda e: bounded_change(e, 3.0, 0.25),
        lambda e, u: mp.sqrt((1 - e / 2) * u**2 + (3 * e) ** 2),
    ),
    (lambda e: hoelder(e, 0.0, 3.0), lambda e, u: mp.sqrt(u**2 + (3 * e) ** 2)),
    (lambda e: hoelder(e, 0.0, 3.0, 2.0), lambda e, u: mp.sqrt(u**2 + (2 * e) ** 2)),
    (lambda e: hoelder(e, 0.5, 0.0), lambda e, u: u),
    (lambda e: hoelder(e, 1.0, 2.0), lambda e, u: u * max(mp.mpf(1), 2 * e - 1)),
    (
        lambda e: descent_ascent(e, smoothness=1.5, strong_monotonicity=0.25),
        lambda e, u: u * mp.sqrt(1 - e / 2 + (1.5 * e) ** 2),
    ),
    (
        lambda e: descent_ascent(e, smoothness=1.5, change=0.5),
        lambda e, u: mp.sqrt(u**2 + e**2 * min((1.5 * u) ** 2, mp.mpf(0.25))),
    ),
    (
        lambda e: descent_ascent(e, smoothness=0.0, change=0.0),
        lambda e, u: u,
    ),
]


@pytest.mark.parametrize("number", range(len(FORMULAS)))
def test_every_modulus_is_its_formula(number):
    make, formula = FORMULAS[number]
    phi = make(SIZES)
    for step, size in enumerate(SIZES, start=1):
        single = make(size)
        for u in APART:
            exact = formula(mp.mpf(size), mp.mpf(u))
            if exact > 1e-12:
                near_and_not_below(phi(step, u), exact)
            assert single(step, u) == single(7, u) == phi(step, u)


def test_a_hoelder_gradient_has_the_modulus_of_its_claim():
    """psi(w) = w + e^2 s^2 - (4 e p/(1+p)) H^(-1/p) s^((1+p)/p) at the worst change s."""
    for size, p, H, G in ((0.3, 0.5, 2.0, math.inf), (0.3, 0.25, 1.0, 0.2), (1.2, 0.75, 0.5, 9.0)):
        phi = hoelder(size, p, H, G)
        for u in APART:
            free = (mp.mpf(size) / 2) ** (mp.mpf(p) / (1 - p)) * mp.mpf(H) ** (1 / mp.mpf(1 - p))
            s = min(free, H * mp.mpf(u) ** p, mp.mpf(G))
            lost = 4 * size * mp.mpf(p) / (1 + p) * mp.mpf(H) ** (-1 / mp.mpf(p))
            psi = mp.mpf(u) ** 2 + mp.mpf(size) ** 2 * s**2 - lost * s ** ((1 + p) / mp.mpf(p))
            near_and_not_below(phi(1, u), mp.sqrt(psi), "1e-12")


@pytest.mark.parametrize(
    "call",
    [
        lambda: smooth_convex(0.1, 0.0),
        lambda: smooth_convex(0.1, -0.5),
        lambda: smooth_convex(0.1, 1.0, -0.5),
        lambda: smooth_convex(0.1, 1.0, 1.5),
        lambda: smooth(0.1, -0.5),
        lambda: smooth(0.1, 1.0, -0.5),
        lambda: bounded_change(0.1, -0.5),
        lambda: bounded_change(0.1, 1.0, -0.5),
        lambda: hoelder(0.1, -0.5, 1.0),
        lambda: hoelder(0.1, 1.5, 1.0),
        lambda: hoelder(0.1, 0.5, -0.5),
        lambda: hoelder(0.1, 0.5, 1.0, -0.5),
        lambda: descent_ascent(0.1, smoothness=-0.5),
        lambda: descent_ascent(0.1, smoothness=1.0, change=-0.5),
        lambda: descent_ascent(0.1, smoothness=1.0, strong_monotonicity=-0.5),
        lambda: descent_ascent(0.1, smoothness=1.0, strong_monotonicity=1.5),
        lambda: smooth(0.0, 1.0),
        lambda: smooth(-0.5, 1.0),
        lambda: smooth([0.5, 0.0], 1.0),
        lambda: smooth([0.5, -0.5], 1.0),
        lambda: smooth([0.1, 0.2], 1.0)(3, 1.0),
        lambda: sum_of_parts(0.1, []),
        lambda: sum_of_parts(0.1, [lambda e: smooth(e, 1.0), 2.0]),
        lambda: sum_of_parts([0.1], [lambda e: smooth(e, 1.0)])(2, 1.0),
        lambda: from_values([1.0], [[1.0]])(2, 0.5),
        lambda: from_values([], []),
        lambda: from_values([[1.0]], [1.0]),
        lambda: from_values([1.0], [[[1.0]]]),
        lambda: from_values([1.0, 2.0], [1.0]),
        lambda: from_values([0.0, 1.0], [1.0, 2.0]),
        lambda: from_values([-1.0, 1.0], [1.0, 2.0]),
        lambda: from_values([2.0, 1.0], [1.0, 2.0]),
        lambda: from_values([1.0, 1.0], [1.0, 2.0]),
        lambda: from_values([1.0, 2.0], [-0.5, 2.0]),
        lambda: from_values([1.0, 2.0], [2.0, 1.0]),
        lambda: from_values([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]]),
    ],
)
def test_what_is_no_step_is_refused(call):
    with pytest.raises(InvalidDescription):
        call()


def test_tables_are_read_row_by_row_and_upwards():
    phi = from_values([0.5, 2.0], [[0.0, 0.0], [0.25, 0.5]])
    assert [phi(t, u) for t in (1, 2) for u in (0.1, 0.5, 0.6, 2.0)] == [0.0] * 4 + [
        0.25,
        0.25,
        0.5,
        0.5,
    ]
    assert phi(1, 2.0001) == math.inf
    same = from_values([0.5], [0.25])
    assert same(1, 0.5) == same(9, 0.5) == 0.25


LIPSCHITZ = (0.5, 1.25, 3.0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lipschitz_parts_add_up_whatever_their_weights(count):
    """sum a_i (1 + (e/a_i) M_i) = 1 + e (M_1 + ... + M_k) if the a_i sum to one."""
    parts = [lambda e, M=M: smooth(e, M) for M in LIPSCHITZ[:count]]
    phi = sum_of_parts(SIZES, parts)
    grid = np.array(APART)
    for step, size in enumerate(SIZES, start=1):
        for u in APART:
            exact = mp.mpf(u) * (1 + mp.mpf(size) * sum(map(mp.mpf, LIPSCHITZ[:count])))
            near_and_not_below(phi(step, u), exact)
        assert phi.on_grid(step, grid).tolist() == pytest.approx(
            [phi(step, u) for u in APART], rel=1e-14
        )


@pytest.mark.parametrize("changes", [(1.0, 1.0), (99.0, 1.0), (1.0, 99.0), (2.0, 2.0, 2.0)])
def test_kinks_add_up_at_the_weights_that_are_tried(changes):
    """The best weights are in proportion to the changes: u^2 + (e (G_1 + ... + G_k))^2."""
    parts = [lambda e, G=G: bounded_change(e, G) for G in changes]
    phi = sum_of_parts(0.1, parts)
    for u in APART:
        exact = mp.sqrt(mp.mpf(u) ** 2 + (mp.mpf(0.1) * mp.mpf(sum(changes))) ** 2)
        near_and_not_below(phi(1, u), exact)
        assert phi.on_grid(1, np.array([u, 2.0 * u]))[0] == pytest.approx(phi(1, u), rel=1e-14)


def test_one_part_may_count_for_nearly_everything():
    for place in range(3):
        changes = [0.0, 0.0, 0.0]
        changes[place] = 1.0
        phi = sum_of_parts(0.1, [lambda e, G=G: bounded_change(e, G) for G in changes])
        exact = math.hypot(0.01, 0.1)
        assert exact <= phi(1, 0.01) <= exact * 1.03


def test_weights_sum_to_one():
    assert made_of._weights(1) == [[1.0]]
    for parts in (2, 3, 5):
        rows = made_of._weights(parts)
        assert all(len(row) == parts and min(row) > 0.0 for row in rows)
        assert np.sum(rows, axis=1).tolist() == pytest.approx([1.0] * len(rows), abs=1e-15)


def test_parts_of_ones_own_are_asked_distance_by_distance():
    asked = []

    def own(e):
        def phi(step, u):
            assert u > 0.0, "zero is not asked"
            asked.append(step)
            return u + e

        return phi

    phi = sum_of_parts([0.1, 0.2], [own, own])
    for step, size in ((1, 0.1), (2, 0.2)):
        found = phi.on_grid(step, np.array([0.0, 0.5, 2.0]))
        assert found[0] == 0.0
        assert found[1:].tolist() == pytest.approx([0.5 + 2.0 * size, 2.0 + 2.0 * size], rel=1e-14)
        assert phi(step, 0.5) == pytest.approx(0.5 + 2.0 * size, rel=1e-14)
    assert set(asked) == {1, 2}


def test_grids_are_answered_like_distances_and_belong_to_who_asked():
    for make, _ in FORMULAS:
        phi = make(SIZES)
        for step in (1, 2, 3):
            wanted = [phi(step, u) for u in APART]
            for _ in range(2):
                found = phi.on_grid(step, np.array(APART))
                assert found.tolist() == pytest.approx(wanted, rel=1e-14, abs=1e-14)
                found[:] = -1.0
        assert phi.on_grid(1, np.array([0.0]))[0] >= 0.0


# runs in a row


def run(**changes):
    """Twenty steps with all of ten records, of quadratics with curvature one."""
    given = {
        "objective": wane.Objective(
            gradient_difference_bound=2.0, smoothness=1.0, strong_convexity=1.0
        ),
        "records": 10,
        "steps": 4,
        "step_size": 0.25,
        "noise": wane.GradientNoise(0.5),
    }
    return wane.NoisyDescent(**(given | changes))


def followed(runs):
    """The exact mu of such quadratics: shifts s, deviations v and slopes 1 - eta."""
    gap = variance = mp.mpf(0)
    for each in runs:
        eta = mp.mpf(each.step_size)
        for _ in range(each.steps):
            gap = (1 - eta) * gap + eta * mp.mpf(2) / 10
            variance = (1 - eta) ** 2 * variance + (eta * mp.mpf(each.noise.value)) ** 2
    return gap / mp.sqrt(variance)


def test_runs_in_a_row_pay_what_the_exact_end_says():
    for runs in (
        (run(),),
        (run(), run(steps=7)),
        (run(steps=2), run(step_size=0.25, steps=3), run(steps=1)),
    ):
        exact, found = followed(runs), fine_tuned(*runs)
        assert exact <= found.mu <= exact * (1 + mp.mpf("1e-6"))
        assert len(found.noise_stds) == sum(each.steps for each in runs)


def test_runs_in_a_row_keep_their_own_maps_noises_and_sizes():
    """Nothing differs but in the first run, so that the rest only shrinks and hides."""
    first = run(steps=1, step_size=0.5)
    quiet = run(steps=1, step_size=0.125, noise=wane.GradientNoise(4.0))
    found = fine_tuned(first, quiet)
    assert found.noise_stds == pytest.approx((0.25, 0.5), rel=1e-12)
    reached = [0.5 * 0.2, found.distances[1] * (1 - 0.125) + 0.125 * 0.2]
    for i in (0, 1):
        paid = found.distances[i + 1] + found.payments[i]
        assert paid == pytest.approx(reached[i], rel=1e-12)
        assert paid >= reached[i] * (1 - 1e-15)


def test_one_bounded_set_bounds_what_came_before():
    """In a ball of diameter D all but the last steps cost no more than D."""
    flat = wane.Objective(gradient_difference_bound=2.0, smoothness=1.0, strong_convexity=0.0)
    given = {"objective": flat, "steps": 70, "domain": wane.Ball(0.25)}
    one, free = fine_tuned(run(**given)), fine_tuned(run(**given | {"domain": wane.Unbounded()}))
    shift, noise = 0.25 * 0.2, 0.25 * 0.5
    exact = min((0.5 + shift * k) / (noise * math.sqrt(k)) for k in range(1, 71))
    assert exact <= one.mu <= exact * (1 + 1e-6) < free.mu
    # iterates are only as close as the widest of the sets
    wider = fine_tuned(run(**given), run(**given | {"domain": wane.Ball(50.0), "steps": 1}))
    assert wider.mu > one.mu * 1.02
    unbounded = fine_tuned(run(**given), run(**given | {"domain": wane.Unbounded(), "steps": 1}))
    assert unbounded.mu == pytest.approx(
        fine_tuned(*(run(**given | {"domain": wane.Unbounded(), "steps": n}) for n in (70, 1))).mu
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"batches": wane.Cyclic(5)},
        {"release": "every-iterate"},
        {"objective": wane.Objective(smoothness=1.0)},
        {"objective": wane.Objective(gradient_difference_bound=1.0)},
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_runs_of_which_too_little_is_known_are_refused(changes, place):
    runs = [run(), run()]
    runs[place] = replace(runs[place], **changes)
    with pytest.raises(NoTheoremApplies):
        fine_tuned(*runs)


def test_runs_of_other_records_are_refused():
    with pytest.raises(InvalidDescription, match="same number of records"):
        fine_tuned()
    with pytest.raises(InvalidDescription, match="same number of records"):
        fine_tuned(run(), run(records=11))
    with pytest.raises(InvalidDescription):
        fine_tuned(run(), 3.0)
