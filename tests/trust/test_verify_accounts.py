"""The verifier's grids are never below the truth, and near it however small the losses are."""

import math

import numpy as np
import pytest

pytest.importorskip("flint")

from runs import make_run
from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.balls.gaussian import gaussian_delta
from wane.balls.lemmas.accounts import AccountBuilder, Sampled, _norms, _sums
from wane.balls.lemmas.sampled_steps import PairOrder, PlainStep, SampledStep, exceeding
from wane.describe import Adjacency, EveryIterate, NoiseMultiplier, Objective, Poisson
from wane.theorems.composition.verifier import poisson_composition

DEVIATIONS = (0.0, 0.3, 1.0, 3.0, 5.0, 7.0)


def near(account, exact, epsilon):
    """Not below the truth, nor above that of an epsilon smaller by 3e-5 and what no grid holds."""
    found, less = account.delta(ball(epsilon)), ball(epsilon) * ball(1.0 - 3e-5)
    return top(exact(ball(epsilon))) <= found <= exact(less) * ball(1.0 + 1e-5) + ball(1e-27)


@pytest.mark.parametrize("spacing", [1e-15, 1e-4, 0.3, 900.0])
def test_sums_without_a_subtraction(spacing):
    generator = np.random.default_rng(0)
    mass, losses = generator.random(60) ** 4, spacing * np.arange(60)
    above, here = _sums(mass, spacing)
    norms = _norms(mass, spacing)
    for i, point in enumerate(losses):
        share = -np.expm1(point - losses[i:])
        assert math.isclose(above[i], np.sum(share * mass[i:]), rel_tol=1e-12)
        assert math.isclose(here[i], np.sum((1.0 - share) * mass[i:]), rel_tol=1e-12)
        assert math.isclose(norms[i], np.linalg.norm(share * mass[i:]), rel_tol=1e-12)


@pytest.mark.parametrize("mu", [1e-13, 1e-6, 0.01, 0.3, 4.0])
def test_gaussian_steps_on_a_grid(mu):
    """At 1e-13 the widest cell allowed once took two terabytes."""
    with bits(PRECISION):
        account = AccountBuilder().bound([(PlainStep(ball(mu)), 4)], (PairOrder.REMOVE,))
        for place in DEVIATIONS:
            epsilon = 2.0 * mu * place + 2.0 * mu * mu
            assert near(account, lambda e: gaussian_delta(e, ball(2.0 * mu)), epsilon), place


@pytest.mark.parametrize("direction", PairOrder)
@pytest.mark.parametrize(("mu", "rate"), [(0.015, 0.16), (0.3, 0.5)])
def test_one_sampled_step_on_a_grid(direction, mu, rate):
    """Down to deltas of 1e-12; cells were once joined as if only those above 1e-8 mattered."""
    with bits(PRECISION):
        step = SampledStep(ball(mu), ball(rate))
        account = Sampled((AccountBuilder().account([(step, 1)], direction),))

        def exact(epsilon):
            return ball(exceeding(step, direction, float(epsilon)))

        for place in DEVIATIONS:
            outcome = np.array([-place if direction is PairOrder.ADD else place + mu / 2.0])
            epsilon = max(float(step.losses(direction, outcome)[0]), 0.0)
            assert near(account, exact, epsilon), place


def normal(x, mean):
    return np.exp(-((x - mean) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)


@pytest.mark.parametrize("direction", PairOrder)
def test_one_step_exactly(direction):
    """Against the integral of what one density exceeds the other by, on a fine grid."""
    mu, rate = 1.3, 0.3
    x, width = np.linspace(-14.0, 14.0, 400_001, retstep=True)
    plain, up, down = normal(x, 0.0), normal(x, mu), normal(x, -mu)
    mixed, mirrored = (1 - rate) * plain + rate * up, (1 - rate) * plain + rate * down
    one, other = {
        PairOrder.REMOVE: (mixed, plain),
        PairOrder.ADD: (plain, mixed),
        PairOrder.REPLACE: (mixed, mirrored),
        PairOrder.FIXED: (mixed, plain),  # the same at losses above zero
    }[direction]
    with bits(PRECISION):
        step = SampledStep(ball(mu), ball(rate))
        for epsilon in (0.0, 0.1, 0.3, 1.0, 2.5):
            exact = width * float(np.sum(np.maximum(one - math.exp(epsilon) * other, 0.0)))
            (known,) = AccountBuilder().bound([(step, 1)], (direction,)).accounts
            assert known.delta(epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_steps_that_show_for_certain_whether_they_use_the_record():
    """Beyond the mean loss of all three, which four in a thousand runs of them can reach."""
    run = make_run(
        objective=Objective(gradient_bound=1.0),
        records=50,
        steps=3,
        noise=NoiseMultiplier(1e-4),
        batches=Poisson(8),
        adjacency=Adjacency.ZERO_OUT,
        release=EveryIterate(),
    )
    with bits(PRECISION):
        bound, square = poisson_composition(run), 3e8
        far, near = (bound.delta(ball(square / 2 + z * math.sqrt(square))) for z in (5.0, -5.0))
        assert 1e-10 < far < 1e-8
        assert 0.16**3 * 0.999 < near < 0.16**3 * 1.001
