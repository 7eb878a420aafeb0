"""Certified runs inside dp_accounting: its own tests, its calibration, no foreign factor two."""

import math
import unittest
from dataclasses import replace

import attr
import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event, pld, privacy_accountant_test, rdp

from runs import RIDGE_RUN
from wane import (
    Adjacency,
    Cyclic,
    GaussianDP,
    GradientNoise,
    InvalidDescription,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Poisson,
    RenyiDP,
    certify,
)
from wane.describe import EveryIterate, WithoutReplacement
from wane.extra.dp_accounting import (
    RELATIONS,
    HiddenStateAccountant,
    HiddenStateDpEvent,
    _epsilon_delta,
    event_of,
    gaussian_event_of,
)
from wane.extra.privacy_loss_distribution import privacy_loss_distribution

EVENTS = [
    event_of(RIDGE_RUN),
    event_of(replace(RIDGE_RUN, batches=Cyclic(100))),
    event_of(replace(RIDGE_RUN, batches=Poisson(100), noise=NoiseMultiplier(2.0))),
    dp_event.GaussianDpEvent(3.0),
    dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0)),
    dp_event.ZCDpEvent(0.1),
]


class Conformance(privacy_accountant_test.PrivacyAccountantTest):
    """The library's own tests of any accountant."""

    __test__ = False  # run below by unittest: the base class's own skip confuses pytest

    def _make_test_accountants(self):
        return [HiddenStateAccountant(relation) for relation in RELATIONS.values()]


def test_the_librarys_own_tests_pass():
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Conformance).run(result)
    assert result.testsRun >= 10
    assert not result.failures and not result.errors and not result.skipped


def epsilon(*composed):
    accountant = HiddenStateAccountant()
    for event, count in composed:
        accountant.compose(event, count)
    return accountant.get_epsilon(1e-5)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_composing_k_times_is_k_single_compositions(event):
    once = epsilon((event, 3))
    assert once == pytest.approx(epsilon(*[(event, 1)] * 3), rel=1e-9)
    assert once == pytest.approx(epsilon((dp_event.SelfComposedDpEvent(event, 3), 1)), rel=1e-9)
    assert once == pytest.approx(epsilon((dp_event.ComposedDpEvent([event] * 3), 1)), rel=1e-9)
    assert once > epsilon((event, 1))


@pytest.mark.parametrize("adjacency", list(RELATIONS))
def test_a_run_alone_has_the_epsilon_of_its_certificate(adjacency):
    run = replace(RIDGE_RUN, adjacency=adjacency, batches=Poisson(100), noise=NoiseMultiplier(2.0))
    accountant = HiddenStateAccountant(RELATIONS[adjacency]).compose(event_of(run))
    assert accountant.get_epsilon(1e-5) == certify(run).epsilon(1e-5)
    assert accountant.get_delta(1.0) == certify(run).guarantee.delta(1.0)


def test_runs_compose_with_ordinary_events():
    accountant = HiddenStateAccountant().compose(event_of(RIDGE_RUN)).compose(EVENTS[3])
    expected = GaussianDP((certify(RIDGE_RUN).mu ** 2 + 1 / 9) ** 0.5).epsilon(1e-5)
    assert accountant.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)
    sampled = HiddenStateAccountant().compose(event_of(RIDGE_RUN)).compose(EVENTS[4], 100)
    assert sampled.get_epsilon(1e-5) > accountant.get_epsilon(1e-5) / 2


@pytest.mark.parametrize("event", EVENTS[3:5], ids=lambda event: type(event).__name__)
def test_ordinary_events_agree_with_the_librarys_own_accountant(event):
    ours = HiddenStateAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    theirs = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    mine, other = (a.compose(event, 20).get_epsilon(1e-5) for a in (ours, theirs))
    assert mine == pytest.approx(other, rel=2e-3)


def test_the_event_survives_the_librarys_serialisation():
    event = EVENTS[0]
    assert dp_event.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    assert event.run == RIDGE_RUN


def test_the_librarys_calibration_finds_the_noise():
    found = dp_accounting.calibrate_dp_mechanism(
        HiddenStateAccountant,
        lambda std: event_of(replace(RIDGE_RUN, noise=GradientNoise(std))),
        target_epsilon=1.0,
        target_delta=1e-5,
        bracket_interval=dp_accounting.ExplicitBracketInterval(1e-3, 1.0),
    )
    reached = certify(replace(RIDGE_RUN, noise=GradientNoise(found))).epsilon(1e-5)
    assert 0.99 < reached <= 1.0


def test_another_adjacency_is_refused_and_named():
    accountant = HiddenStateAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    assert not accountant.supports(event_of(RIDGE_RUN))
    with pytest.raises(dp_accounting.UnsupportedEventError, match="zero-out"):
        accountant.compose(event_of(RIDGE_RUN))


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 7.7])
def test_exports_are_never_rescaled(mu):
    """As an event under ADD_OR_REMOVE_ONE, and as a loss distribution: the same epsilon."""
    guarantee = GaussianDP(mu)
    event = gaussian_event_of(guarantee)
    for accountant in (pld.PLDAccountant(), rdp.RdpAccountant()):
        accountant.compose(event)
        assert accountant.get_epsilon(1e-5) >= guarantee.epsilon(1e-5) * (1 - 1e-6)
    exported = privacy_loss_distribution(guarantee).get_epsilon_for_delta(1e-5)
    assert exported == pytest.approx(guarantee.epsilon(1e-5), rel=1e-3, abs=1e-4)
    assert 1.0 / event.noise_multiplier >= mu


def test_what_is_not_gaussian_is_not_exported_as_such():
    with pytest.raises(InvalidDescription, match="GaussianDP"):
        gaussian_event_of(RenyiDP.zcdp(0.1))
    assert gaussian_event_of(GaussianDP(0.0)) == dp_event.NoOpDpEvent()


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(1.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)),
        HiddenStateDpEvent(("{}",)),
    ],
)
def test_what_is_not_understood_is_refused(event):
    accountant = HiddenStateAccountant()
    assert not accountant.supports(event)
    assert accountant.get_epsilon(1e-5) == 0.0


def test_a_non_private_event_voids_everything():
    accountant = HiddenStateAccountant().compose(dp_event.NonPrivateDpEvent())
    assert accountant.get_delta(5.0) == 1.0
    with pytest.raises(InvalidDescription, match="non-private"):
        _ = accountant.guarantee


ADD, REPLACE, BLANK = (
    RELATIONS[a] for a in (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT)
)


def test_gaussians_composed_under_one_coin_are_one_gaussian():
    inside = dp_event.ComposedDpEvent(
        [
            dp_event.GaussianDpEvent(3.0),
            dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(6.0), 12),
        ]
    )
    once = HiddenStateAccountant(ADD).compose(dp_event.PoissonSampledDpEvent(0.1, inside), 20)
    multiplier = (1 / 9 + 12 / 36) ** -0.5
    plain = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(multiplier))
    expected = HiddenStateAccountant(ADD).compose(plain, 20).get_epsilon(1e-5)
    assert once.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="Gaussians composed"):
        HiddenStateAccountant(ADD).compose(
            dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0))
        )


@pytest.mark.parametrize("relation", [REPLACE, BLANK])
def test_samples_of_a_fixed_size_are_those_of_a_described_run(relation):
    event = dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(2.0))
    found = HiddenStateAccountant(relation).compose(event, 30).get_epsilon(1e-5)
    adjacency = {REPLACE: Adjacency.REPLACE_ONE, BLANK: Adjacency.ZERO_OUT}[relation]
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0),
        records=100,
        steps=30,
        step_size=1.0,
        noise=NoiseMultiplier(2.0),
        batches=WithoutReplacement(10),
        adjacency=adjacency,
        release=EveryIterate(),
    )
    assert found == pytest.approx(certify(run).epsilon(1e-5), rel=1e-6)
    # that library takes the multiplier to be of the distance, which is twice the norm bound
    twice = dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(1.0))
    theirs = rdp.RdpAccountant(neighboring_relation=REPLACE).compose(twice, 30)
    assert found <= theirs.get_epsilon(1e-5)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="one record more"):
        HiddenStateAccountant(ADD).compose(event)


def test_concentrated_privacy_with_an_offset():
    """(xi, rho)-zCDP: the divergence of order a is at most xi + rho a."""
    found = HiddenStateAccountant().compose(dp_event.ZCDpEvent(0.1, 0.3), 2)
    bound = min(
        0.6 + 0.2 * a + (math.log(1e5) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        for a in np.linspace(1.01, 60, 5000)
    )
    assert found.get_epsilon(1e-5) == pytest.approx(bound, rel=1e-3)
    assert found.get_epsilon(1e-5) > epsilon((dp_event.ZCDpEvent(0.1), 2)) + 0.5


def test_a_gaussian_without_noise_is_not_private():
    for event in (
        dp_event.GaussianDpEvent(0.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(0.0)),
    ):
        found = HiddenStateAccountant().compose(event)
        assert found.get_epsilon(1e-5) == math.inf and found.get_delta(3.0) == 1.0


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDelta:
    """The event of the next version, which this one does not have yet."""

    epsilon: float
    delta: float


@pytest.mark.parametrize("pure, delta", [(1.0, 0.0), (0.3, 1e-6), (0.0, 1e-7)])
def test_events_of_the_next_version_are_read(pure, delta):
    made = _epsilon_delta(EpsilonDelta(pure, delta), BLANK)
    assert made.epsilon(1e-5) <= pure * (1 + 1e-6)
    assert made.delta(pure + 1e-9) >= delta
    both = made.compose(GaussianDP(0.5))
    assert both.epsilon(1e-5) > GaussianDP(0.5).epsilon(1e-5)
    assert both.epsilon(1e-5) < GaussianDP(0.5).epsilon(9e-6) + pure + 0.35
