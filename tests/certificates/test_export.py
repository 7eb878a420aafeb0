"""wane's convolution and dp_accounting's agree, and neither is below a Renyi lower road."""

import pytest

from wane.errors import InvalidDescription
from wane.extra.privacy_loss_distribution import privacy_loss_distribution
from wane.guarantees import (
    GaussianDP,
    GaussianStep,
    NumericalDP,
    Pair,
    RenyiDP,
    SampledGaussianStep,
)

CASES = [
    (1 / 3, 0.025, 2000, Pair.REPLACE),
    (0.5, 0.01, 5000, Pair.ADD_OR_REMOVE),
    (2.0, 0.3, 10, Pair.REPLACE),
    (1.0, 0.001, 20_000, Pair.REPLACE),
    (4.0, 0.01, 100, Pair.ADD_OR_REMOVE),
    (1.0, 0.05, 2000, Pair.FIXED_SIZE),
    (3.0, 0.3, 10, Pair.FIXED_SIZE),
    (0.4, 0.01, 5000, Pair.FIXED_SIZE),
]


@pytest.mark.parametrize("mu, rate, count, pair", CASES)
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
def test_two_convolutions_agree(mu, rate, count, pair, delta):
    ours = NumericalDP(((SampledGaussianStep(mu, rate, pair), count), (GaussianStep(0.3), 1)))
    theirs = privacy_loss_distribution(ours).get_epsilon_for_delta(delta)
    assert ours.epsilon(delta) == pytest.approx(theirs, rel=2e-3)
    assert ours.epsilon(delta) <= RenyiDP(ours.renyi).epsilon(delta) * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_gaussian(mu):
    theirs = privacy_loss_distribution(GaussianDP(mu)).get_epsilon_for_delta(1e-6)
    assert theirs == pytest.approx(GaussianDP(mu).epsilon(1e-6), rel=1e-3)
    assert theirs >= GaussianDP(mu).epsilon(1e-6) * (1 - 1e-9)


def test_what_is_only_a_bound_cannot_be_exported():
    with pytest.raises(InvalidDescription, match="Gaussian"):
        privacy_loss_distribution(RenyiDP.zcdp(0.5))
