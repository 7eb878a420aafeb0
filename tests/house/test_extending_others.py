"""A stranger's mechanism and bridge, from outside."""

import runpy
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import wane
from runs import make_run
from wane.describe import Adjacency
from wane.errors import MissingExtra

PLACE = Path(__file__).parents[2] / "examples" / "extending"


@pytest.fixture(scope="module")
def counting():
    return runpy.run_path(str(PLACE / "mechanism" / "noisy_count.py"), run_name="noisy_count")


@pytest.mark.parametrize("variance", [2, 9, 64, 400])
def test_a_strangers_mechanism_never_claims_less_than_the_exact_law(counting, variance):
    mechanism = counting["NoisyCount"](Fraction(variance), Adjacency.ADD_REMOVE)
    certificate = mechanism.certificate()
    for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0):
        exact = counting["exact_delta"](float(variance), epsilon)
        assert certificate.delta(epsilon) >= exact
    assert certificate.void_because == ()


def test_half_of_it_is_caught(counting):
    """At half the rho the claim is below the exact law, so the oracle can fail."""
    claimed = wane.RenyiDP.zcdp(0.5 / 64 / 8)
    assert claimed.delta(0.2) < counting["exact_delta"](64.0, 0.2)


def test_what_is_released_is_a_whole_number_near_the_count(counting):
    mechanism = counting["NoisyCount"](Fraction(4), Adjacency.ADD_REMOVE)
    drawn = [mechanism.release(1000) for _ in range(50)]
    assert all(isinstance(value, int) and abs(value - 1000) < 40 for value in drawn)
    assert len(set(drawn)) > 1


def test_two_compose_as_one_certificate(counting):
    mechanism = counting["NoisyCount"](Fraction(64), Adjacency.ADD_REMOVE)
    one = mechanism.certificate()
    two = one.compose(mechanism.certificate())
    assert one.epsilon(1e-6) < two.epsilon(1e-6) < 2.0 * one.epsilon(1e-6)


def test_a_strangers_bridge(monkeypatch):
    bridge = runpy.run_path(str(PLACE / "bridge" / "frames.py"), run_name="frames")
    certificate = wane.certify(make_run())
    frame = bridge["verdict_frame"](certificate, 1e-5)
    assert frame["epsilon"].min() == certificate.epsilon(1e-5)
    assert set(frame.index[~frame["applies"]]) == {v.theorem.name for v in certificate.obstacles}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"install wane\[pandas\]"):
        bridge["verdict_frame"](certificate, 1e-5)
