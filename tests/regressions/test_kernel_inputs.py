"""Kernels and couplings that are not probabilities, and rows that only look equal."""

import math
from fractions import Fraction

import pytest

from wane.errors import InvalidDescription
from wane.guarantees import PureDP
from wane.mechanisms import AmplifiedGuarantee, MarkovKernel, coupled_renyi
from wane.mechanisms.coupling import renyi_divergence

HALVES = {"first": [0.5, 0.5], "second": [0.5, 0.5], "coupling": [[0.5, 0.0], [0.0, 0.5]]}
IDENTITY = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": [0.7, 0.5], "coupling": [[0.7, 0.0], [0.0, 0.5]]},
        {"second": [0.6, 0.6]},
        {"second": [1.2, 0.0]},
        {"kernel": [[0.6, 0.6], [0.0, 1.0]]},
        {"kernel": [[0.2, 0.2], [0.2, 0.2]]},
        {"kernel": [[1.1, -0.1], [0.0, 1.0]]},
        {"coupling": [[0.5, 0.0], [0.1, 0.5]]},
        {"first": [1e-3, 1e-3], "coupling": [[1e-3, 0.0], [0.0, 1e-3]]},
    ],
)
def test_what_is_no_probability_gives_no_divergence(wrong):
    given = {"kernel": IDENTITY, **HALVES, **wrong}
    with pytest.raises(InvalidDescription, match="must"):
        coupled_renyi(2.0, **given)


def test_a_divergence_needs_probabilities_too():
    with pytest.raises(InvalidDescription, match="sum to 1"):
        renyi_divergence(2.0, [0.1, 0.1], [0.5, 0.5])
    assert renyi_divergence(2.0, [0.5, 0.5], [0.25, 0.75]) == pytest.approx(math.log(4 / 3))


def test_rows_that_differ_before_they_are_divided_by_their_sums_are_not_forgotten():
    rows = [[0.375701780262688, 0.6242982197373118], [0.3757017802626881, 0.6242982197373118]]
    kernel = MarkovKernel(rows)
    shares = [Fraction(row[0]) / (Fraction(row[0]) + Fraction(row[1])) for row in rows]
    exact = float(abs(shares[0] - shares[1]))
    assert exact > 3e-17
    assert (kernel.matrix[0] == kernel.matrix[1]).all()  # the doubles show no difference
    assert not kernel.forgets_everything
    assert kernel.dobrushin >= exact
    assert kernel.doeblin.coefficient >= exact
    assert MarkovKernel([rows[0], rows[0]]).forgets_everything


@pytest.mark.parametrize(("one", "other"), [(1.5e-323, 1e-323), (3e-310, 2e-310), (3e-289, 2e-289)])
def test_probabilities_near_the_smallest_double(one, other):
    """The products of their likelihood ratios were rounded down: 0.2231 for log(1.5) = 0.4055."""
    kernel = MarkovKernel([[one, 1.0], [other, 1.0]])
    assert AmplifiedGuarantee(PureDP(50.0), kernel).pure_epsilon >= math.log(1.5)
    assert kernel.ultra_mixing >= 1.0 / 3.0
    for multiplier in (1.0, 1.2, 1.4, 1.499):
        exact = Fraction(one) - Fraction(multiplier) * Fraction(other)
        assert Fraction(kernel.coefficients([multiplier])[0]) >= exact
