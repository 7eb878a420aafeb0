"""Finite kernels and discrete divergences against reference tables and direct sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wane.audit import (
    finite_hockey_stick,
    finite_renyi,
    gaussian_hockey_stick,
    gaussian_renyi,
    private_vertices,
    push,
    pushed_hockey_stick,
    pushed_renyi,
    worst_rows,
    worst_two_point,
)
from wane.errors import InvalidDescription

TABLE = 1e-9
LOGISTIC = 1.0 / (1.0 + math.exp(-1.0))
KERNELS = {
    "A": [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]],
    "B": [[0.9, 0.1], [0.2, 0.8]],
    "C": [[0.5, 0.5, 0.0], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]],
    "D": [[0.4, 0.3, 0.2, 0.1], [0.1, 0.4, 0.3, 0.2], [0.2, 0.1, 0.4, 0.3]],
    "RR": [[LOGISTIC, 1 - LOGISTIC], [1 - LOGISTIC, LOGISTIC]],
    "A3": np.linalg.matrix_power([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]], 3),
}
# kernel -> largest delta between rows at epsilon 0, 0.5 and 1.
COEFFICIENTS = {
    "A": (0.6, 0.5351278729, 0.4281718172),
    "B": (0.7, 0.6351278729, 0.5281718172),
    "C": (0.5, 0.5, 0.5),
    "D": (0.4, 0.2351278729, 0.1281718172),
    "RR": (0.4621171573, 0.2876491366, 0.0),
    "A3": (0.195, 0.01627728992, 0.0),
}
# (kernel, epsilon, delta) of a mechanism -> exact amplified delta at 0, epsilon/2 and epsilon.
AMPLIFIED = {
    ("A", 1.0, 0.01): (0.2804975914, 0.1119914601, 0.0),
    ("A", 0.5, 0.001): (0.1474042462, 0.0547273558, 0.0),
    ("B", 1.0, 0.01): (0.32724719, 0.1414687246, 0.0),
    ("B", 0.5, 0.001): (0.1719716206, 0.06858233871, 0.0),
    ("C", 1.0, 0.01): (0.2337479928, 0.1473863226, 0.005),
    ("C", 0.5, 0.001): (0.1228368719, 0.06927491456, 0.0005),
    ("D", 1.0, 0.01): (0.1869983943, 0.02355966651, 0.0),
    ("D", 0.5, 0.001): (0.0982694975, 0.01316240707, 0.0),
    ("RR", 1.0, 0.01): (0.2160379159, 0.0, 0.0),
    ("RR", 0.5, 0.001): (0.1135300521, 0.0, 0.0),
    ("A3", 1.0, 0.01): (0.09116171721, 0.0, 0.0),
    ("A3", 0.5, 0.001): (0.04790638003, 0.0, 0.0),
}
COUPLED = [
    (1.5, 0.09350075808),
    (2.0, 0.1221093763),
    (4.0, 0.2125786962),
    (8.0, 0.2999438613),
    (16.0, 0.3500768029),
]

laws = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3).map(lambda v: np.array(v) / sum(v))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_rows_differ_by_the_reference_amounts(name):
    for epsilon, value in zip((0.0, 0.5, 1.0), COEFFICIENTS[name], strict=True):
        assert worst_rows(KERNELS[name], epsilon) == pytest.approx(value, rel=TABLE, abs=1e-15)


@pytest.mark.parametrize("case", AMPLIFIED)
def test_brute_force_over_two_points_is_the_exact_amplification(case):
    name, epsilon, delta = case
    for at, value in zip((0.0, epsilon / 2, epsilon), AMPLIFIED[case], strict=True):
        found = worst_two_point(KERNELS[name], at, mechanism_epsilon=epsilon, mechanism_delta=delta)
        assert found.delta == pytest.approx(value, rel=TABLE, abs=1e-15)
        i, j = found.states
        laws_on_points = np.zeros((2, len(KERNELS[name])))
        laws_on_points[0, [i, j]] += (found.first, 1.0 - found.first)
        laws_on_points[1, [i, j]] += (found.second, 1.0 - found.second)
        if found.delta:
            again = pushed_hockey_stick(laws_on_points[0], laws_on_points[1], KERNELS[name], at)
            assert again == pytest.approx(found.delta, rel=1e-12)


@pytest.mark.parametrize(("order", "value"), COUPLED)
def test_pushed_renyi_matches_the_reference(order, value):
    found = pushed_renyi([0.6, 0.3, 0.1], [0.3, 0.4, 0.3], KERNELS["A"], order)
    assert found == pytest.approx(value, rel=TABLE)


@settings(max_examples=60, deadline=None)
@given(laws, laws, st.floats(0.0, 2.0))
def test_no_mechanism_beats_the_worst_two_points(first, second, epsilon):
    """Any pair is (1, d)-close for some d; after the kernel it stays below the brute force."""
    delta = max(finite_hockey_stick(*pair, 1.0) for pair in ((first, second), (second, first)))
    worst = worst_two_point(KERNELS["A"], epsilon, mechanism_epsilon=1.0, mechanism_delta=delta)
    assert pushed_hockey_stick(first, second, KERNELS["A"], epsilon) <= worst.delta + 1e-14


@settings(max_examples=60, deadline=None)
@given(laws, laws, st.tuples(laws, laws, laws), st.floats(-1.0, 2.0), st.floats(1.01, 30.0))
def test_post_processing_tells_nothing_more(first, second, rows, epsilon, order):
    kernel = np.stack(rows)
    before, after = finite_renyi(first, second, order), pushed_renyi(first, second, kernel, order)
    assert math.isfinite(before)
    assert after <= before * (1.0 + 1e-10) + 1e-13
    hidden = pushed_hockey_stick(first, second, kernel, epsilon)
    assert hidden <= finite_hockey_stick(first, second, epsilon) + 1e-14


def test_private_vertices_are_private_and_include_randomised_response():
    epsilon, delta = 0.7, 0.05
    e = math.exp(epsilon)
    corners = private_vertices(epsilon, delta)
    for a, b in corners:
        for one, two in (((a, 1 - a), (b, 1 - b)), ((b, 1 - b), (a, 1 - a))):
            assert finite_hockey_stick(one, two, epsilon) <= delta + 1e-12
    response = ((e + delta) / (1 + e), (1 - delta) / (1 + e))
    assert min(abs(a - response[0]) + abs(b - response[1]) for a, b in corners) < 1e-12
    assert private_vertices(0.0, 1.0) == ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))


def test_renyi_of_coins_is_the_textbook_sum():
    p, q = 0.3, 0.6
    for order in (1.5, 2.0, 7.0):
        sums = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        closed = math.log(sums) / (order - 1)
        assert finite_renyi([p, 1 - p], [q, 1 - q], order) == pytest.approx(closed, rel=1e-13)
    assert finite_renyi([0.5, 0.5], [1.0, 0.0], 2.0) == math.inf
    assert finite_renyi([1.0, 0.0], [0.5, 0.5], 2.0) == pytest.approx(math.log(2.0), rel=1e-14)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_tiny_divergences_keep_their_digits(gap):
    chi = 4.0 * gap**2
    found = finite_renyi([0.5 + gap, 0.5 - gap], [0.5, 0.5], 2.0)
    assert found == pytest.approx(math.log1p(chi), rel=1e-9)


def test_gaussian_closed_forms():
    assert gaussian_renyi(0.5, 4.0) == pytest.approx(0.5)
    assert gaussian_hockey_stick(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-14)
    assert gaussian_hockey_stick(0.0, 1.0) == 0.0
    assert gaussian_hockey_stick(0.0, -1.0) == pytest.approx(1 - math.exp(-1.0))
    assert 0.0 < gaussian_hockey_stick(1.0, 30.0) < 1e-180


def test_push_is_a_law_and_nonsense_is_refused():
    assert push([0.2, 0.8], KERNELS["B"]).sum() == pytest.approx(1.0)
    with pytest.raises(InvalidDescription):
        push([0.2, 0.9], KERNELS["B"])
    with pytest.raises(InvalidDescription):
        finite_hockey_stick([math.nan, 1.0], [0.5, 0.5], 0.0)
    with pytest.raises(InvalidDescription):
        finite_renyi([1.0], [1.0], 1.0)
    with pytest.raises(InvalidDescription):
        private_vertices(-0.1, 0.0)
