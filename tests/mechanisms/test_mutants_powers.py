"""Powers of kernels by every way there is: entries in fractions, ceilings in closed form."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from wane.errors import InvalidDescription
from wane.mechanisms import MarkovKernel
from wane.theorems.kernel import kernels, matrices


def exact_power(rows, times):
    """The power of rows divided by their sums."""
    given = [[Fraction(x) for x in row] for row in np.asarray(rows).tolist()]
    base = [[x / sum(row) for x in row] for row in given]
    size = len(base)
    made = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    for _ in range(times):
        made = [
            [sum(row[k] * base[k][j] for k in range(size)) for j in range(size)] for row in made
        ]
    return made


def assert_enclosed(made, exact):
    stored = made.matrix.toarray() if sparse.issparse(made.matrix) else made.matrix
    r = Fraction(made.relative_error)
    for one, true in zip(stored.tolist(), exact, strict=True):
        lost = Fraction(0)
        for q, p in zip(one, true, strict=True):
            assert p >= (1 - r) * Fraction(q) * (1 - Fraction(1, 10**14))
            lost += max(p - (1 + r) * Fraction(q), Fraction(0))
        assert lost <= Fraction(made.lost_mass) * (1 + Fraction(1, 10**9)) + Fraction(1, 10**250)


def by_rows(kernel, times, factors):
    return kernel._by_rows(kernel._few_rows(), times, factors)


def lazy(n, stay):
    """Stay with this probability, else go anywhere: the ceiling of every power is known."""
    return stay * np.eye(n) + (1.0 - stay) / n


@pytest.mark.parametrize("times", [2, 3, 4, 7])
@pytest.mark.parametrize("stay", [0.5, 0.9])
def test_powers_through_few_rows_have_the_ceiling_of_all_their_factors(times, stay):
    kernel = MarkovKernel(lazy(6, stay))
    made = by_rows(kernel, times, [])
    assert_enclosed(made, exact_power(lazy(6, stay), times))
    assert stay**times <= made.ceiling <= stay**times * (1 + 1e-9)
    assert made.relative_error < 1e-10 and made.lost_mass == 0.0
    further = by_rows(kernel, times, [kernel, kernel.then(kernel)])
    assert_enclosed(further, exact_power(lazy(6, stay), times + 3))
    assert stay ** (times + 3) <= further.ceiling <= stay**times * (1 + 1e-9)


def test_powers_through_few_rows_end_early_once_rows_agree():
    """From an exponent on all rows agree to a part in 1e7: the rest is post-processing."""
    kernel = MarkovKernel(lazy(5, 0.01))
    made = by_rows(kernel, 4000, [])
    assert np.allclose(made.matrix, 0.2, rtol=1e-6)
    assert_enclosed(made, [[Fraction(1, 5)] * 5] * 5)
    assert made.ceiling <= 1e-12 and made.relative_error < 1e-6


@pytest.mark.parametrize("times", range(33, 48))
def test_ceilings_of_powers_that_end_early_count_no_step_twice(times):
    kernel = MarkovKernel(matrices.Trusted(lazy(5, 0.1)), relative_error=3e-8)
    made = by_rows(kernel, times, [])
    assert made is not None
    assert 0.1**times * (1 - 1e-9) <= made.ceiling <= 0.1 ** (times // 2)


def test_what_two_crowds_never_share_is_lost_mass():
    crowds = np.kron(np.eye(2), np.full((3, 3), 1 / 3))
    for lost, wrong in ((0.0, 0.0), (1e-9, 0.0), (0.0, 1e-9)):
        kernel = MarkovKernel(matrices.Trusted(crowds), lost_mass=lost, relative_error=wrong)
        made = by_rows(kernel, 4, [])
        assert_enclosed(made, exact_power(crowds, 4))
        assert 0.0 < made.lost_mass < 1e-7
        assert made.lost_mass >= 4 * lost * 0.9
        assert made.dobrushin == pytest.approx(1.0, abs=1e-6)


def test_errors_are_small_beside_every_entry_or_nothing_is_said():
    rows = lazy(4, 0.5)
    rows[:, 3] *= 1e-13
    rows /= rows.sum(axis=1, keepdims=True)
    made = by_rows(MarkovKernel(rows), 3, [])
    assert made is None or made.relative_error < 1e-3 or made.lost_mass > 0.0
    assert made is None or made.lost_mass < 1e-9


@pytest.mark.parametrize("rate", [1e-9, 1e-4])
def test_errors_of_the_base_are_errors_of_the_power(rate):
    rows = lazy(4, 0.5)
    kernel = MarkovKernel(matrices.Trusted(rows), relative_error=rate)
    made = by_rows(kernel, 3, [])
    if made is not None:
        assert 3 * rate * 0.9 <= made.relative_error <= 60 * rate
        shaken = rows * (1.0 + rate * np.array([[1, -1, 1, -1]] * 4))
        power = np.linalg.matrix_power(shaken, 3)
        assert np.all(np.abs(power / made.matrix - 1.0) <= made.relative_error)
    else:
        assert rate > 1e-6


@pytest.mark.parametrize("times", [1, 2, 5, 12, 31])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_ceilings_of_powers_are_never_below_the_truth(times, form):
    made = MarkovKernel(form(lazy(4, 0.75))).power(times)
    assert 0.75**times <= made.dobrushin <= 0.75**times * (1 + 1e-7)
    assert made.doeblin_coefficient >= 0.75**times
    near = MarkovKernel(form(0.75 * np.eye(4)[[1, 2, 3, 0]] + 0.25 / 4)).power(times)
    assert 0.75**times <= near.dobrushin <= 0.75**times * (1 + 1e-7)


def test_long_powers_of_sparse_walks_go_through_few_rows_or_are_squared(monkeypatch):
    monkeypatch.setattr(kernels, "_MANY", 6)
    monkeypatch.setattr(kernels, "_LONG", 4)
    monkeypatch.setattr(kernels, "_FEW_TIMES", 3)
    monkeypatch.setattr(kernels.matrices, "thinned", sparse.csr_array)
    walk = 0.5 * np.eye(6) + 0.25 * np.eye(6, k=1) + 0.25 * np.eye(6, k=-1)
    walk[0, 0] = walk[-1, -1] = 0.75
    kernel = MarkovKernel(sparse.csr_array(walk))
    assert kernel._through_few_rows(11) is None  # 2 times 4 and 3
    for times in (12, 13, 14, 15, 19, 40):
        made = kernel._through_few_rows(times)
        assert_enclosed(made, exact_power(walk, times))
        assert made.relative_error < 1e-9
    small = MarkovKernel(sparse.csr_array(lazy(5, 0.5)))
    assert small._through_few_rows(12) is None
    assert MarkovKernel(walk)._through_few_rows(12) is None


def test_turned_walks_are_taken_for_such_up_to_a_size(monkeypatch):
    ring = 0.5 * np.eye(5) + 0.5 * np.roll(np.eye(5), 1, axis=1)
    kernel = MarkovKernel(sparse.csr_array(ring))
    made = kernel._turned_power(7)
    assert_enclosed(made, exact_power(ring, 7))
    assert made.ceiling <= 1.0 and kernel._turned_power(1) is not None
    assert MarkovKernel(ring)._turned_power(7) is None
    assert MarkovKernel(sparse.csr_array(lazy(3, 0.5) * [[1, 1, 1]])).power(2).dobrushin > 0.0
    monkeypatch.setattr(matrices, "MOST_DENSE", 24)
    assert kernel._turned_power(7) is None
    monkeypatch.setattr(matrices, "MOST_DENSE", 25)
    assert kernel._turned_power(7) is not None


def test_little_lost_mass_becomes_an_error():
    rows = np.array([[0.75, 0.25], [0.5, 0.5]])
    made = MarkovKernel(matrices.Trusted(rows), relative_error=1e-6, lost_mass=1e-9)
    moved = made._without_little_mass()
    assert moved.lost_mass == 0.0
    assert 1e-6 + 4e-9 <= moved.relative_error <= (1e-6 + 4e-9) * (1 + 5e-6)
    much = MarkovKernel(matrices.Trusted(rows), relative_error=1e-9, lost_mass=1e-6)
    assert much._without_little_mass().lost_mass == 1e-6
    clean = MarkovKernel(rows)
    assert clean._without_little_mass() is clean


def test_one_row_stands_for_all_of_a_kernel_that_forgets(monkeypatch):
    monkeypatch.setattr(kernels, "_MANY", 3)
    rows = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.4, 0.2, 0.4]])
    kernel = MarkovKernel(rows)
    share = kernel.doeblin_coefficient
    for times in (60, 500):
        made = kernel._forgotten(times)
        assert_enclosed(made, exact_power(rows, 60))
        assert share**times <= made.ceiling <= share**times * (1 + 1e-9)
        assert np.all(made.matrix == made.matrix[0])
    assert kernel._forgotten(5) is None
    assert MarkovKernel(lazy(3, 0.75))._forgotten(10**6) is None  # forgets too little at a time
    monkeypatch.setattr(kernels, "_MANY", 4)
    assert kernel._forgotten(500) is None


@pytest.mark.parametrize("m", [1.0, 1.5])
def test_bounds_that_are_known_already_are_not_searched_for(monkeypatch, m):
    """The ceiling answers where the search could only find more."""
    rows = lazy(3, 0.5)

    def coefficient(**known):
        return MarkovKernel(matrices.Trusted(rows), **known).coefficients([m])[0]

    found = coefficient()
    assert coefficient(ceiling=0.1) == 0.1 and coefficient(ceiling=0.9) == found
    assert coefficient(lost_mass=0.01) == pytest.approx(found + 0.01, rel=1e-9)
    exact = max(0.5 + 0.5 / 3 - m * 0.5 / 3, 0.0)
    assert exact <= found <= exact * (1 + 1e-12)
    monkeypatch.setattr(kernels, "largest_gap", lambda *a, **k: 1 / 0)
    assert coefficient(ceiling=0.01, lost_mass=0.01) == 0.01
    assert coefficient(relative_error=1.0, ceiling=0.5) == 0.5
    assert coefficient(relative_error=0.4, ceiling=0.01) == (0.01 if m < 2.0 else found)
    with pytest.raises(ZeroDivisionError):
        coefficient(ceiling=0.02, lost_mass=0.01)
    far = sparse.csr_array(np.eye(3))
    assert MarkovKernel(matrices.Trusted(far), ceiling=0.5).coefficients([m, 9.0]) == [0.5, 0.5]


def test_questions_are_answered_in_the_order_they_are_asked():
    kernel = MarkovKernel(lazy(3, 0.5))
    many = [3.0, 1.0, 2.0, 1.0]
    assert kernel.coefficients(many) == [kernel.coefficients([m])[0] for m in many]
    assert kernel.dobrushin_curve([0.0, 0.5]) == [kernel.dobrushin_at(e) for e in (0.0, 0.5)]
    found = kernel.amplify(epsilon=0.5, delta=0.25)
    m = 1 + math.expm1(0.5) / 0.25
    assert found.exact.epsilon == found.threshold.epsilon == found.dobrushin.epsilon == 0.5
    exact = 0.25 * max(0.5 + 0.5 / 3 - m * 0.5 / 3, 0.0)
    assert found.exact.delta == found.threshold.delta == pytest.approx(exact, rel=1e-9)
    assert found.dobrushin.delta == pytest.approx(0.125, rel=1e-9)
    assert found.doeblin.epsilon == pytest.approx(math.log1p(0.5 * math.expm1(0.5)), rel=1e-9)
    assert kernel.amplified_delta(0.25, epsilon=0.5, delta=0.1) == pytest.approx(
        kernel.amplified_curve([0.25], epsilon=0.5, delta=0.1)[0]
    )


def test_shapes_must_fit():
    wide = MarkovKernel([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    assert (wide.inputs, wide.outputs) == (2, 3) and "2 inputs, 3 outputs" in repr(wide)
    for wrong in (lambda: wide.power(2), lambda: wide.then(wide), lambda: wide.power(0)):
        with pytest.raises(InvalidDescription):
            wrong()
    assert wide.then(MarkovKernel(lazy(3, 0.5))).outputs == 3
