"""Certified runs inside dp_accounting: its own tests, its calibration, no foreign factor two."""

import json
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
    release_of,
)
from wane.extra.privacy_loss_distribution import privacy_loss_distribution
from wane.guarantees.fields import guarantee_from_fields, guarantee_to_fields
from wane.ledger import Ledger

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
        dp_event.RandomizedResponseDpEvent(0.5, 2),  # who answers is seen
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
        dp_event.LaplaceDpEvent(0.0),
        dp_event.RandomizedResponseDpEvent(0.0, 3),
        dp_event.SingleEpochTreeAggregationDpEvent(0.0, 4),
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


def hockey_stick(p, q, epsilon):
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))


@pytest.mark.parametrize("times", [1, 3])
def test_laplace_noise_is_never_below_its_exact_profile(times):
    """Sums of losses of Laplace noise, on a grid from the densities themselves."""
    scale, step = 2.0, 0.01
    x = np.arange(-60.0, 60.0, step)
    loss = (np.abs(x - 1.0) - np.abs(x)) / scale
    mass = np.exp(-np.abs(x) / scale) * step / (2.0 * scale)
    cells = np.round(loss / 1e-3).astype(int) + 500
    one = np.bincount(cells, mass, 1001)
    law, low = one, -0.5
    for _ in range(times - 1):
        law, low = np.convolve(law, one), low - 0.5
    losses = low + 1e-3 * np.arange(len(law))
    accountant = HiddenStateAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_event.LaplaceDpEvent(scale), times)
    for epsilon in (0.1, 0.4, 0.9):
        exact = float(np.sum(law * np.maximum(-np.expm1(epsilon - losses), 0.0)))
        assert exact <= accountant.get_delta(epsilon) + 1e-6
    assert accountant.get_epsilon(1e-9) <= times / scale * (1.0 + 1e-9)
    doubled = HiddenStateAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    doubled.compose(dp_event.LaplaceDpEvent(scale))
    assert doubled.get_epsilon(0.0) == pytest.approx(2.0 / scale)


def test_randomised_response_of_buckets_is_exact_at_once_and_sound_twice():
    p, k = 0.4, 3
    first, second = np.full(k, p / k), np.full(k, p / k)
    first[0] += 1.0 - p
    second[1] += 1.0 - p
    accountant = HiddenStateAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.RandomizedResponseDpEvent(p, k))
    level = math.log(first[0] / second[0])
    assert accountant.get_epsilon(0.0) == pytest.approx(level, rel=1e-12)
    accountant.compose(dp_event.RandomizedResponseDpEvent(p, k))
    two = [np.multiply.outer(law, law).ravel() for law in (first, second)]
    for epsilon in (0.0, 0.5, level, 1.5 * level):
        assert hockey_stick(*two, epsilon) <= accountant.get_delta(epsilon) * (1.0 + 1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 8, 9, 1000])
def test_a_leaf_lies_below_as_many_nodes_as_are_charged(steps):
    """Nodes of a tree are blocks of 2^j leaves that are complete; the worst leaf is counted."""
    above = [
        sum((leaf >> j << j) + 2**j <= steps for j in range(steps.bit_length() + 1))
        for leaf in range(steps)
    ]
    relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    accountant = HiddenStateAccountant(relation)
    accountant.compose(dp_event.SingleEpochTreeAggregationDpEvent(2.0, [1, steps]))
    assert accountant.guarantee.mu == pytest.approx(math.sqrt(max(above)) / 2.0)
    theirs = rdp.RdpAccountant([2.0], neighboring_relation=relation)
    theirs.compose(dp_event.SingleEpochTreeAggregationDpEvent(2.0, [1, steps]))
    assert accountant.guarantee.renyi(2.0) == pytest.approx(float(theirs._rdp[0]))
    added = HiddenStateAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert not added.supports(dp_event.SingleEpochTreeAggregationDpEvent(2.0, steps))


def test_events_are_rows_of_a_ledger(tmp_path):
    """Mixed events become one release, which is read back, composed and never grows cheaper."""
    mixed = dp_event.ComposedDpEvent(
        [
            dp_event.LaplaceDpEvent(4.0),
            dp_event.GaussianDpEvent(5.0),
            dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(10.0), 3),
            dp_event.SampledWithoutReplacementDpEvent(100, 5, dp_event.GaussianDpEvent(2.0)),
            dp_event.SingleEpochTreeAggregationDpEvent(30.0, 100),
        ]
    )
    stated = release_of(mixed, name="a week of counts", adjacency="zero-out")
    accountant = HiddenStateAccountant(RELATIONS[Adjacency.ZERO_OUT])
    accountant.compose(mixed)
    one = certify(stated)
    assert one.epsilon(1e-6) >= accountant.get_epsilon(1e-6) * (1.0 - 1e-9)
    assert one.epsilon(1e-6) <= accountant.get_epsilon(1e-6) * (1.0 + 1e-6)
    ledger = Ledger(tmp_path / "ledger.jsonl", new=True)
    account = ledger.account("survey", new=True)
    for name in ("first", "second"):
        with account.spend(one, name=name):
            pass
    again = Ledger(tmp_path / "ledger.jsonl").account("survey")
    assert again.total is not None and again.total.epsilon(1e-6) > one.epsilon(1e-6)
    both = accountant.compose(mixed).get_epsilon(1e-6)
    assert again.total.epsilon(1e-6) == pytest.approx(both, rel=1e-3)
    whole = accountant.guarantee
    assert guarantee_from_fields(json.loads(json.dumps(guarantee_to_fields(whole)))) == whole
    with pytest.raises(InvalidDescription, match="RandomizedResponseDpEvent"):
        release_of(dp_event.RandomizedResponseDpEvent(0.5, 2), name="a poll")
