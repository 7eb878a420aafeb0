"""A certified run as a measurement of the real OpenDP."""

import numpy as np
import opendp.prelude as dp
import pytest

from wane import Adjacency, GradientNoise, NoisyDescent, certify, losses
from wane.audit.measured import canary_pair
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
