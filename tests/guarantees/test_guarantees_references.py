"""Conversions against reference values computed independently with many digits."""

from __future__ import annotations

import math

import pytest

from wane.guarantees import GaussianDP, GaussianMixture, RenyiDP

QUADRATURE = 1e-9

GAUSSIAN_DELTA = [  # epsilon, mu, delta
    (1.0, 1.0, 0.1269367375066439),
    (1.0, math.sqrt(0.5), 0.03963259300474614),
    (0.1, 0.1, 0.008751768145809594),
    (3.0, 2.0, 0.1838130765444722),
    (0.0, 0.5, 0.1974126513658474),
]
GAUSSIAN_DELTA_TEN_DIGITS = [
    (0.0, 1.0, 0.3829249225),
    (0.5, 0.1, 6.856582456e-09),
    (3.0, 0.8, 7.016058167e-05),
    (8.0, 2.0, 0.0004954017389),
    (1.0, 0.25, 2.924272105e-06),
    (10.0, 5.0, 0.6166237304),
]
GAUSSIAN_EPSILON = [  # delta, mu, epsilon
    (1e-5, 1.0, 4.377178096),
    (1e-5, 0.2, 0.7255217509),
    (1e-6, 0.5, 2.25408465),
    (1e-8, 2.0, 12.7492464),
    (1e-3, 0.05, 0.08401766266),
    (1e-5, 5.0, 33.10373234),
]
GAUSSIAN_MU = [  # epsilon, delta, mu
    (1.0, 1e-5, 0.2680511232),
    (0.1, 1e-6, 0.02754465024),
    (3.0, 1e-5, 0.7191174352),
    (8.0, 1e-6, 1.531545118),
    (0.5, 1e-3, 0.2169137192),
]
RENYI_TO_EPSILON = [  # order, divergence, delta, epsilon
    (10.0, 0.5, 1e-5, 1.418010636783972),
    (2.0, 0.1, 1e-3, 5.621460917862246),
    (32.0, 1.2, 1e-6, 1.502115000239115),
    (5.5, 0.02, 1e-5, 1.998924276256027),
    (100.0, 3.0, 1e-9, 3.152758711125876),
]
# contraction, batches, epochs, shift over noise, order, divergence, epsilon, delta
SECRET_ORDER = [
    (1.0, 20, 1, 1.0, 2.0, 0.2090991154, 1.0, 0.009767422257),
    (1.0, 20, 10, 1.0, 4.0, 1.948516893, 1.0, 0.06179015265),
    (1.0, 100, 1, 2.0, 2.0, 0.5817112296, 2.0, 0.005340245799),
    (1.02, 50, 5, 1.0, 3.0, 0.550926876, 1.0, 0.01305318659),
    (0.98, 50, 5, 1.0, 3.0, 0.2583342635, 1.0, 0.003947446018),
]


@pytest.mark.parametrize(("epsilon", "mu", "delta"), GAUSSIAN_DELTA)
def test_gaussian_delta(epsilon: float, mu: float, delta: float) -> None:
    assert GaussianDP(mu).delta(epsilon) == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "mu", "delta"), GAUSSIAN_DELTA_TEN_DIGITS)
def test_gaussian_delta_ten_digits(epsilon: float, mu: float, delta: float) -> None:
    assert GaussianDP(mu).delta(epsilon) == pytest.approx(delta, rel=QUADRATURE)


@pytest.mark.parametrize(("delta", "mu", "epsilon"), GAUSSIAN_EPSILON)
def test_gaussian_epsilon(delta: float, mu: float, epsilon: float) -> None:
    assert GaussianDP(mu).epsilon(delta) == pytest.approx(epsilon, rel=QUADRATURE)


@pytest.mark.parametrize(("epsilon", "delta", "mu"), GAUSSIAN_MU)
def test_gaussian_from_target(epsilon: float, delta: float, mu: float) -> None:
    weakest = GaussianDP.from_target(epsilon=epsilon, delta=delta)
    assert weakest.mu == pytest.approx(mu, rel=QUADRATURE)
    assert weakest.delta(epsilon) <= delta


@pytest.mark.parametrize(("order", "divergence", "delta", "epsilon"), RENYI_TO_EPSILON)
def test_renyi_to_epsilon(order: float, divergence: float, delta: float, epsilon: float) -> None:
    # A curve that is finite at one order only leaves no choice of the order.
    def only_there(at: float) -> float:
        return divergence if at == order else math.inf

    guarantee = RenyiDP(only_there, max_order=order)
    assert guarantee.epsilon(delta) == pytest.approx(epsilon, rel=QUADRATURE)
    assert guarantee.epsilon(delta) >= epsilon * (1 - 1e-15)
    assert guarantee.delta(epsilon) == pytest.approx(delta, rel=1e-9)


def theta(contraction: float, steps: int) -> float:
    """c^(2(r-1)) / sum over j < r of c^(2j)."""
    return contraction ** (2 * (steps - 1)) / sum(contraction ** (2 * j) for j in range(steps))


def amplification(contraction: float, batches: int, epochs: int, last: int) -> float:
    """K of a record whose last visit is followed, inclusively, by `last` steps."""
    c, n = contraction, epochs
    if c >= 1.0 or n == 1:
        return (n - 1) * theta(c, batches) + theta(c, last)
    y = -math.log(c)
    pooled = (batches - 2 * last) * math.log(c) + math.log(1 - c ** (2 * last)) > math.log(
        1 - c**batches
    ) + math.log(1 + c ** ((n - 1) * batches))
    if pooled:
        shape = ((1 - c ** (n * batches)) / (1 - c**batches)) ** 2
        return (
            c ** (2 * (last - 1)) * shape * (1 - c**2) / (1 - c ** (2 * ((n - 1) * batches + last)))
        )
    split = math.expm1(2 * y) / math.expm1(batches * y) ** 2
    return split * math.tanh(batches * (n - 1) * y / 2) + theta(c, last)


@pytest.mark.parametrize(
    ("contraction", "batches", "epochs", "ratio", "order", "divergence", "epsilon", "delta"),
    SECRET_ORDER,
)
def test_secret_order(
    *,
    contraction: float,
    batches: int,
    epochs: int,
    ratio: float,
    order: float,
    divergence: float,
    epsilon: float,
    delta: float,
) -> None:
    mus = tuple(
        ratio * math.sqrt(amplification(contraction, batches, epochs, last))
        for last in range(1, batches + 1)
    )
    mixture = GaussianMixture(mus, (1.0 / batches,) * batches)
    assert mixture.renyi(order) == pytest.approx(divergence, rel=QUADRATURE)
    assert mixture.delta(epsilon) == pytest.approx(delta, rel=QUADRATURE)
    assert mixture.delta(mixture.epsilon(delta)) <= delta
    assert mixture.epsilon(delta) == pytest.approx(epsilon, rel=1e-8)
