"""Guarantees as plain data: what is read back is what was written, and never promises more."""

import itertools
import json
import math

import pytest

from wane.errors import InvalidDescription
from wane.guarantees import (
    GaussianDP,
    GaussianMixture,
    GaussianMixtureStep,
    GaussianStep,
    Guarantee,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
    WithFailure,
    fields,
)
from wane.guarantees.chain import ChainDP
from wane.guarantees.fields import ListedCurve, guarantee_from_fields, guarantee_to_fields
from wane.guarantees.renyi import LinearCurve

STEPS = (
    (GaussianStep(0.5), 1),
    (SampledGaussianStep(1.0, 0.25, Pair.REPLACE), 3),
    (SampledGaussianStep(1.0, 0.25, Pair.FIXED_SIZE), 2),
    (GaussianMixtureStep((0.5, 1.0), (0.25, 0.75)), 4),
)
KINDS = {
    "Gaussian": GaussianDP(1.5),
    "nothing": GaussianDP(0.0),
    "mixture": GaussianMixture((0.5, 2.0), (0.75, 0.25)),
    "steps": NumericalDP(STEPS),
    "zCDP": RenyiDP.zcdp(0.3),
    "failure": WithFailure(NumericalDP(STEPS), 1e-6),
    "chain": ChainDP(NumericalDP(STEPS), 3),
    "listed": RenyiDP(ListedCurve((1.5, 2.0, 8.0), (0.1, 0.2, 0.9)), max_order=8.0),
}


def kept(guarantee: Guarantee) -> Guarantee:
    """What a file gives back."""
    return guarantee_from_fields(json.loads(json.dumps(guarantee_to_fields(guarantee))))


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_back_is_what_was_written(name):
    assert kept(KINDS[name]) == KINDS[name]


def test_no_promise_is_written_down_as_none():
    with pytest.raises(InvalidDescription, match="infinite mu"):
        guarantee_to_fields(GaussianDP(math.inf))
    with pytest.raises(InvalidDescription, match="finite at some order"):
        guarantee_to_fields(RenyiDP(lambda order: math.inf))
    with pytest.raises(InvalidDescription, match="own kinds"):
        guarantee_to_fields(3.0)


def test_curves_are_listed_between_a_thousandth_and_a_million_above_one():
    """The best order for a small leak is large, for a large one near 1: both ends are kept."""
    assert fields.ORDERS[0] == pytest.approx(1.001, rel=1e-12)
    assert fields.ORDERS[-1] == pytest.approx(1e6 + 1.0, rel=1e-12)
    ratios = [(b - 1.0) / (a - 1.0) for a, b in itertools.pairwise(fields.ORDERS)]
    assert ratios == pytest.approx([10.0**0.125] * 72)
    for rho in (1e-9, 1e-3, 1.0, 100.0):
        exact = RenyiDP.zcdp(rho)
        listed = kept(RenyiDP(lambda order, rho=rho: rho * order))
        assert exact.epsilon(1e-5) <= listed.epsilon(1e-5) <= 1.2 * exact.epsilon(1e-5)


def test_a_listed_curve_answers_with_the_next_larger_order():
    curve = ListedCurve((1.5, 2.0, 8.0), (0.1, 0.2, 0.9))
    asked = {1.1: 0.1, 1.5: 0.1, 1.6: 0.2, 2.0: 0.2, 7.9: 0.9, 8.0: 0.9, 8.1: math.inf}
    assert {order: curve(order) for order in asked} == asked


def test_a_curve_is_listed_up_to_its_largest_order_where_it_is_finite():
    ends = fields.ORDERS[30]
    written = guarantee_to_fields(RenyiDP(LinearCurve(0.5), max_order=ends))
    assert written["orders"] == list(fields.ORDERS[:31])
    assert written["values"] == pytest.approx([0.5 * order for order in fields.ORDERS[:31]])
    assert kept(RenyiDP(LinearCurve(0.5), max_order=ends)).max_order == ends
    steep = guarantee_to_fields(RenyiDP(lambda order: 1.0 if order < 3.0 else math.inf))
    assert steep["orders"] == [order for order in fields.ORDERS if order < 3.0]
    assert set(steep["values"]) == {1.0}
