"""Kernels of which only a rounded matrix is known: every number holds for the true one."""

import math

import mpmath
import numpy as np
import pytest
from scipy import sparse

from wane.errors import InvalidDescription
from wane.mechanisms import MarkovKernel
from wane.theorems.kernel import matrices
from wane.theorems.kernel.amplification import pure_renyi
from wane.theorems.kernel.balance import Balance
from wane.theorems.kernel.known import Known
from wane.theorems.kernel.pairs import rounding
from wane.theorems.kernel.turns import TurnedWalk

FAR, NEAR = 0.7, 0.4


def stored(true, directions, error):
    """The matrix on paper: each true entry is off by this fraction of the stored one."""
    return true / (1.0 + error * directions)


def known(rows, **errors):
    return MarkovKernel(matrices.Trusted(np.asarray(rows)), **errors)


@pytest.mark.parametrize("error", [0.02, 0.1])
def test_coefficients_hold_for_the_farthest_true_kernel(error):
    """Every entry is off by as much as may be, so that the true rows are farther apart."""
    true = np.array([[FAR, 1 - FAR], [NEAR, 1 - NEAR]])
    apart = np.array([[1.0, -1.0], [-1.0, 1.0]])
    made = known(stored(true, apart, error), relative_error=error)
    assert FAR - NEAR <= made.dobrushin < (FAR - NEAR) * 1.05 + 3.0 * error
    for epsilon in (0.1, 0.3, 0.5):
        exact = max(
            np.maximum(p - math.exp(epsilon) * q, 0.0).sum()
            for p, q in ((true[0], true[1]), (true[1], true[0]))
        )
        assert exact <= made.dobrushin_at(epsilon) <= exact + 4.0 * error
    common = np.minimum(true[0], true[1]).sum()
    assert 1 - common <= made.doeblin.coefficient <= 1 - common + 4.0 * error
    ratio = min((true[i, j] / true[1 - i, j]) for i in (0, 1) for j in (0, 1))
    assert 1 - ratio <= made.ultra_mixing <= 1 - ratio * (1 - error) / (1 + error) + 0.01 * error


def test_the_law_of_what_ignores_the_input():
    made = MarkovKernel(np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]))
    assert made.doeblin.coefficient == pytest.approx(0.3, rel=1e-9)
    assert made.doeblin.witness.tolist() == pytest.approx([2 / 7, 3 / 7, 2 / 7])
    assert MarkovKernel(np.eye(2)).doeblin.witness is None


def test_thresholds_of_the_curve_are_lowered():
    """P - e^epsilon Q for one pair of rows, where e^epsilon itself is rounded."""
    made = MarkovKernel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    for epsilon in np.random.default_rng(1).uniform(0.01, 1.0, 200).tolist():
        exact = (3 - mpmath.exp(mpmath.mpf(epsilon))) / 4
        assert exact <= made.dobrushin_at(epsilon) <= exact + mpmath.mpf("1e-13")


def test_probability_that_was_dropped_counts():
    """A third output that only one row has, with probability 0.1, is not in the matrix."""
    true = np.array([[0.5, 0.4, 0.1], [0.4, 0.6, 0.0]])
    made = known([[0.5, 0.4, 0.0], [0.4, 0.6, 0.0]], lost_mass=0.1)
    assert 0.2 <= made.dobrushin <= 0.3 + 1e-9
    common = np.minimum(true[0], true[1]).sum()
    assert 1 - common <= made.doeblin.coefficient <= 1 - common + 0.1 + 1e-9
    assert made.ultra_mixing == 1.0
    # an output that both rows have on paper may have all the mass that was dropped
    seen = known([[0.5, 0.4], [0.4, 0.5]], lost_mass=0.1)
    assert seen.ultra_mixing == pytest.approx(1 - 0.4 / 0.6, rel=1e-9)
    unseen = known([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    assert unseen.ultra_mixing == pytest.approx(1 - 0.4 / 0.5, rel=1e-9)
    assert known([[0.5, 0.4], [0.4, 0.5]]).ultra_mixing == pytest.approx(0.2, rel=1e-9)


def test_errors_of_a_matrix_grow_with_its_columns():
    wide = MarkovKernel(np.full((2, 1000), 1e-3))
    assert wide.relative_error == pytest.approx(rounding(1000), rel=1e-6, abs=0.0)
    assert known(np.eye(2), relative_error=0.5).relative_error == pytest.approx(0.75, rel=1e-9)
    with pytest.raises(InvalidDescription, match="relative_error"):
        known(np.eye(2), relative_error=-0.5)
    for position in (0.1, 0.0, 0.5):
        with pytest.raises(TypeError):
            MarkovKernel(np.eye(2), position)


def test_randomized_response():
    made = MarkovKernel.randomized_response(0.5)
    assert (made.inputs, made.outputs) == (2, 2)
    assert made.matrix[0, 0] == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert MarkovKernel.randomized_response(0.5, 4).matrix[1, 2] == pytest.approx(
        math.exp(-0.5) / (1 + 3 * math.exp(-0.5))
    )
    with pytest.raises(InvalidDescription, match="epsilon"):
        MarkovKernel.randomized_response(-0.5)


def test_errors_of_products_add_up():
    mixed = np.full((50, 50), 0.01)
    np.fill_diagonal(mixed, 0.51)
    fresh = MarkovKernel(mixed)
    assert fresh.then(fresh).relative_error >= 3.9 * rounding(50)
    assert fresh.then(fresh).relative_error <= 4.1 * rounding(50)
    rough = known(mixed, relative_error=0.3)
    assert rough.then(rough).relative_error >= 1e6
    assert known(mixed, relative_error=0.1).then(fresh).relative_error < 1.0


def test_probability_dropped_by_two_kernels_adds_up():
    half = np.full((2, 2), 0.5) + np.array([[0.1, -0.1], [-0.1, 0.1]])
    first, second = (known(half, lost_mass=lost) for lost in (0.1, 0.2))
    for made in (first.then(second), second.then(first)):
        assert 0.3 <= made.lost_mass <= 0.3 * 1.0101
    rough = [known(half, lost_mass=lost, relative_error=0.1) for lost in (0.1, 0.2)]
    assert 0.3 * 1.2 <= rough[0].then(rough[1]).lost_mass <= 0.3 * 1.25
    heavy = known(half, lost_mass=0.9)
    assert heavy.then(heavy).lost_mass == 1.0


def test_entries_that_may_underflow_are_dropped_and_counted():
    dusty = MarkovKernel(np.array([[1.0 - 1e-200, 1e-200], [0.5, 0.5]]))
    assert 1e-200 <= dusty.then(dusty).lost_mass <= 1e-149
    clean = MarkovKernel(np.array([[0.9, 0.1], [0.5, 0.5]]))
    assert clean.then(clean).lost_mass == 0.0


def test_once_is_a_power():
    made = MarkovKernel(np.array([[0.9, 0.1], [0.5, 0.5]]))
    assert made.power(1).dobrushin == pytest.approx(0.4, rel=1e-9)
    assert made.power(3).dobrushin == pytest.approx(0.064, rel=1e-9)


@pytest.mark.parametrize("lost", [0.0, 0.001])
def test_rows_that_hardly_differ_stand_for_all_later_powers(lost):
    """Later rows lie between the least and the largest entries, each as far off as may be."""
    rows = np.array([[0.505, 0.495], [0.5, 0.5]])
    made = known(rows, relative_error=0.01, lost_mass=lost)
    settled = made.settled(10)
    r = made.relative_error
    spread = max(((1 + r) * b + lost) / ((1 - r) * a) for a, b in ((0.5, 0.505), (0.495, 0.5))) - 1
    raised = spread * (1 + spread)
    assert raised * (1 + 5e-7) <= settled.relative_error <= raised * (1 + 3e-6)
    assert settled.lost_mass == lost
    assert settled.ceiling <= made.doeblin.coefficient**10 * (1 + 1e-9)
    power = np.linalg.matrix_power(rows, 50)
    assert np.all(np.abs(power / rows - 1) <= settled.relative_error)


def test_rows_that_differ_are_not_settled():
    assert known([[0.9, 0.1], [0.5, 0.5]], relative_error=0.01).settled(10) is None
    assert known([[0.9, 0.1], [1.0, 0.0]], relative_error=0.01).settled(10) is None
    # a state that no row reaches is reached by no power either
    unreached = known([[1.0, 0.0], [1.0, 0.0]], relative_error=0.01).settled(10)
    assert np.array_equal(unreached.matrix, [[1.0, 0.0], [1.0, 0.0]])
    # an error above one leaves no lower bound on any entry
    vague = known([[0.505, 0.495], [0.5, 0.5]], relative_error=0.62)
    assert 1.0 < vague.relative_error < 2.0 and vague.settled(10) is None
    assert vague.dobrushin == 1.0
    same = MarkovKernel(np.full((2, 2), 0.5))
    assert same.forgets_everything and same.settled(3).ceiling == 0.0
    other = MarkovKernel(np.array([[0.9, 0.1], [0.5, 0.5]]))
    for made in (same.then(other), other.then(same)):
        assert made.forgets_everything and made.dobrushin == 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.5, 0.1), (1.0, -0.5), (1.0, 1.5)])
def test_profiles_outside_of_their_range_are_refused(epsilon, delta):
    made = MarkovKernel.randomized_response(1.0)
    with pytest.raises(InvalidDescription):
        made.amplified_profile([epsilon], [delta])


@pytest.mark.parametrize("stored_as", [np.asarray, sparse.csr_array])
def test_extremes_of_columns(stored_as):
    """Of more rows than columns, with a column that has no zero and one that has no more."""
    rows = stored_as(np.array([[0.9, 0.0, 0.1], [0.2, 0.0, 0.8], [0.5, 0.0, 0.5], [0.3, 0.0, 0.7]]))
    assert matrices.column_maxima(rows).tolist() == [0.9, 0.0, 0.8]
    assert matrices.column_minima(rows).tolist() == [0.2, 0.0, 0.1]


def test_rows_are_turned_only_if_all_are_near_the_first():
    """Two rows that are near a third one need not be near each other."""
    size, near = 5, 14.0 * 2.0**-53

    def walk(*factors):
        made = np.zeros((size, size))
        for row, factor in enumerate(factors):
            made[row, row], made[row, (row + 1) % size] = 0.25 * (1.0 + factor), 0.75
        return sparse.csr_array(made)

    exact = Known(0.0, 0.0)
    assert TurnedWalk.of(walk(0.0, 0.0, near, 0.0, 0.0), exact) is not None
    apart = (-near, 0.0, near, 0.0, 0.0)
    assert TurnedWalk.of(walk(*apart), exact) is None
    turned = TurnedWalk.of(walk(near, 0.0, 0.0, 0.0, 0.0), exact)
    assert turned is not None and turned.known.relative_error >= near, "of all other rows"


@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.001, 2.0, 50.0])
def test_divergences_of_pure_privacy_in_eighty_digits(order):
    """Near order one half of them are lost; the divergence is never above epsilon."""
    mp = mpmath.mp.clone()
    mp.dps = 80
    for epsilon in (10.0 ** np.random.default_rng(4).uniform(-4.0, 2.0, 150)).tolist():
        a, e = mp.mpf(order), mp.mpf(epsilon)
        exact = mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)
        found = pure_renyi(order, epsilon)
        assert exact <= found <= epsilon * (1.0 + 1e-15), epsilon


def test_a_walk_whose_steps_weigh_the_same_both_ways_is_balanced():
    """A chain of three states, drawn to the last; its weights are those of the settled law."""
    rows = np.array([[0.5, 0.5, 0.0], [0.125, 0.375, 0.5], [0.0, 0.25, 0.75]])
    made = Balance.of(sparse.csr_array(rows), 0.0)
    assert made is not None
    assert (made.weights / made.weights[0]).tolist() == pytest.approx([1.0, 4.0, 8.0], rel=1e-14)
    assert 0.0 < made.error < 1e-14
    assert made.unevenness == pytest.approx(8.0, rel=1e-14)
    turned = np.array([[0.5, 0.375, 0.125], [0.125, 0.5, 0.375], [0.375, 0.125, 0.5]])
    assert Balance.of(sparse.csr_array(turned), 0.0) is None, "it goes round one way"
