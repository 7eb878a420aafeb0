"""A certified run as a measurement of the real OpenDP."""

from dataclasses import replace

import numpy as np
import opendp.prelude as dp
import pytest

from wane import Adjacency, GradientNoise, NoisyDescent, Poisson, certify, losses
from wane.audit.measured import canary_pair
from wane.errors import InvalidDescription
from wane.extra.opendp import measurement
from wane.run import descend, private_generator

DELTA = 1e-5
RUN = NoisyDescent(
    objective=losses.logistic(1.0, ridge=0.1),
    records=50,
    steps=20,
    step_size=1.0,
    noise=GradientNoise(0.05),
    adjacency=Adjacency.ZERO_OUT,
)


@pytest.fixture
def made():
    dp.enable_features("contrib", "honest-but-curious")
    certificate = certify(RUN)

    def fit(records):
        return descend(certificate.run, records, generator=private_generator())

    return certificate, measurement(certificate, fit, delta=DELTA)


def test_the_map_is_the_certificate(made):
    certificate, wrapped = made
    assert wrapped.map(1) == (certificate.epsilon(DELTA), DELTA)
    assert wrapped.map(2) == (certificate.group(2).epsilon(DELTA), DELTA)
    assert wrapped.check(1, (certificate.epsilon(DELTA), DELTA))
    assert not wrapped.check(2, (certificate.epsilon(DELTA), DELTA))


def test_the_measurement_runs_the_run(made):
    records, _ = canary_pair(RUN)
    released = made[1](records)
    assert released.shape == (2,) and np.isfinite(released).all()


def test_the_librarys_flags_are_asked_for():
    dp.disable_features("honest-but-curious")
    try:
        with pytest.raises(dp.OpenDPException, match="honest-but-curious"):
            measurement(certify(RUN), lambda records: records, delta=DELTA)
    finally:
        dp.enable_features("honest-but-curious")


def test_two_runs_compose_better_in_concentrated_privacy(made):
    certificate, _ = made

    def fit(records):
        return descend(certificate.run, records, generator=private_generator())

    wrapped = measurement(certificate, fit)
    assert wrapped.map(1) >= certificate.mu**2 / 2
    assert wrapped.map(1) == pytest.approx(certificate.mu**2 / 2, rel=1e-12)
    assert wrapped.map(2) == pytest.approx(4 * wrapped.map(1), rel=1e-12)
    both = dp.c.make_composition([wrapped, wrapped])
    assert both.map(1) == pytest.approx(2 * wrapped.map(1), rel=1e-9)
    apart = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(both), DELTA).map(1)[0]
    summed = 2 * certificate.epsilon(DELTA / 2)
    assert apart < 0.85 * summed


def test_rho_is_for_gaussian_certificates():
    sampled = certify(replace(RUN, batches=Poisson(5), noise=GradientNoise(0.5)))
    with pytest.raises(InvalidDescription, match="delta must be given"):
        measurement(sampled, lambda records: records)
