"""Tiny stochastic descent against closed mixtures, and the laws every sampler obeys."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from oracles.tiny_sgd import (
    TinyDescent,
    cyclic_pair,
    fixed_size_pair,
    poisson_pair,
    shuffled_once_pair,
)
from wane.audit import (
    ScalarMap,
    clipped,
    exact_scalar_mu,
    gaussian_hockey_stick,
    gaussian_renyi,
    interval,
    soft_threshold,
)
from wane.errors import InvalidDescription

QUADRATURE = 1e-10
NAIVE = 1e-8
UP = ScalarMap(np.ones_like)
DOWN = ScalarMap(lambda x: -np.ones_like(x))
LINE = ScalarMap(lambda x: x)


def pull(centre):
    return ScalarMap(lambda x: x - centre)


def bend(centre):
    return ScalarMap(lambda x: np.tanh(x - centre))


def descent(records, neighbour, **settings):
    given = {"steps": 1, "step_size": 1.0, "gradient_noise_std": 1.0, "divisor": 1.0}
    given.update(settings)
    return TinyDescent(records=tuple(records), neighbour=tuple(neighbour), **given)


def mixture_renyi(first, second, order, noise_std=1.0):
    """Order-alpha divergence of two Gaussian mixtures by a plain trapezoid rule."""
    x = np.linspace(-60.0, 60.0, 240_001)

    def log_density(mixture):
        terms = [math.log(w) - 0.5 * ((x - m) / noise_std) ** 2 for w, m in mixture]
        return logsumexp(terms, axis=0) - math.log(noise_std * math.sqrt(2 * math.pi))

    p, q = log_density(first), log_density(second)
    step = x[1] - x[0]
    return float(logsumexp(order * p + (1 - order) * q) + math.log(step)) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 4.0, 8.0])
def test_one_poisson_step_is_a_mixture_of_gaussians(order):
    run = descent([UP, UP, UP], [UP, UP, DOWN], gradient_noise_std=1.5)
    pair = poisson_pair(run, rate=0.3)
    chance = {k: math.comb(2, k) * 0.3**k * 0.7 ** (2 - k) for k in range(3)}
    first = [(w * r, -(k + j)) for k, w in chance.items() for j, r in ((0, 0.7), (1, 0.3))]
    second = [(w * r, -(k - j)) for k, w in chance.items() for j, r in ((0, 0.7), (1, 0.3))]
    closed = mixture_renyi(first, second, order, 1.5)
    assert pair.renyi(order).value == pytest.approx(closed, rel=NAIVE)
    closed = mixture_renyi(second, first, order, 1.5)
    assert pair.renyi(order, reverse=True).value == pytest.approx(closed, rel=NAIVE)


def test_one_fixed_size_step_needs_the_doubled_shift():
    """One of ten records a step, noise one: order 8 costs 13.37, not 1.48."""
    pair = fixed_size_pair(descent([UP] * 10, [UP] * 9 + [DOWN]), batch_size=1)
    found = pair.renyi(8.0, reverse=True).value
    assert found == pytest.approx(13.37, abs=5e-3)
    closed = mixture_renyi([(0.9, -1.0), (0.1, 1.0)], [(1.0, -1.0)], 8.0)
    assert found == pytest.approx(closed, rel=QUADRATURE)


def test_poisson_descent_exceeds_the_rule_for_the_largest_batch():
    """The contractive record must not be assumed present: exact .1717 and .0969 after 20 steps."""
    run = descent(
        [LINE, UP], [LINE, DOWN], steps=20, gradient_noise_std=0.5, prox=interval(-1.0, 1.0)
    )
    pair = poisson_pair(run, rate=0.05)
    assert pair.hockey_stick(0.0).value == pytest.approx(0.1717, abs=5e-5)
    assert pair.hockey_stick(0.2).value == pytest.approx(0.0969, abs=5e-5)
    assert pair.hockey_stick(0.0).error < 1e-12


@pytest.mark.parametrize("steps", [3, 8])
def test_cyclic_quadratics_are_gaussian(steps):
    records = [pull(a) for a in (0.3, -0.2, 0.9, 0.1)]
    neighbour = [records[0], pull(1.1), *records[2:]]
    settings = {"steps": steps, "step_size": 0.4, "gradient_noise_std": 0.8, "divisor": 2.0}
    pair = cyclic_pair(descent(records, neighbour, ridge=0.1, **settings), batch_size=2)
    # A batch of two quadratics, divided by two, contracts by step_size*(1 + ridge).
    multipliers = np.full(steps, 1.0 - 0.4 * 1.1)
    shifts = [0.4 / 2.0 * 1.3 if t % 2 == 0 else 0.0 for t in range(steps)]
    mu = float(exact_scalar_mu(multipliers, shifts, 0.4 * 0.8))
    assert pair.renyi(3.0).value == pytest.approx(gaussian_renyi(mu, 3.0), rel=QUADRATURE)
    delta = gaussian_hockey_stick(mu, 0.5)
    assert pair.hockey_stick(0.5).value == pytest.approx(delta, rel=QUADRATURE)


def test_shuffling_once_is_the_average_over_orders():
    one, two, other = pull(0.5), pull(-0.3), pull(2.0)
    settings = {"steps": 3, "step_size": 0.5, "gradient_noise_std": 1.0}
    pair = shuffled_once_pair(descent([one, two], [one, other], **settings), batch_size=1)
    std = 0.5 * math.sqrt(1 + 0.25 + 0.0625)

    def means(a, b):
        orders = ((a, b, a), (b, a, b))
        return [(0.5, sum(0.5 * c * 0.5 ** (2 - t) for t, c in enumerate(o))) for o in orders]

    closed = mixture_renyi(means(0.5, -0.3), means(0.5, 2.0), 3.0, std)
    assert pair.renyi(3.0).value == pytest.approx(closed, rel=QUADRATURE)
    worst = max(
        cyclic_pair(descent(a, b, **settings), batch_size=1).renyi(3.0).value
        for a, b in (((one, two), (one, other)), ((two, one), (other, one)))
    )
    assert pair.renyi(3.0).value < worst


def test_every_sampler_agrees_on_the_full_batch():
    records, neighbour = [bend(0.0), bend(1.0)], [bend(0.0), bend(-1.0)]
    settings = {"steps": 4, "step_size": 0.6, "divisor": 2.0, "prox": interval(-1.0, 1.0)}
    run = descent(records, neighbour, **settings)
    pairs = [
        poisson_pair(run, rate=1.0),
        fixed_size_pair(run, batch_size=2),
        cyclic_pair(run, batch_size=2),
        shuffled_once_pair(run, batch_size=2),
    ]
    values = [p.renyi(2.5).value for p in pairs] + [p.renyi(2.5, reverse=True).value for p in pairs]
    assert all(math.isfinite(v) and v > 0.0 for v in values)
    assert values[1:4] == pytest.approx([values[0]] * 3, rel=QUADRATURE)
    assert values[5:] == pytest.approx([values[4]] * 3, rel=QUADRATURE)


@pytest.mark.parametrize("sampler", [poisson_pair, fixed_size_pair, shuffled_once_pair])
def test_equal_records_may_be_counted_together(sampler):
    same, changed = bend(0.2), bend(-0.9)
    # Equal functions in separate objects are not recognised, so they are enumerated one by one.
    copies = [bend(0.2) for _ in range(4)]
    settings = {"steps": 3, "step_size": 0.5, "divisor": 2.0, "prox": soft_threshold(0.1)}
    together = descent([same] * 4, [same] * 3 + [changed], **settings)
    apart = descent(copies, [*copies[:3], changed], **settings)
    option = {"rate": 0.4} if sampler is poisson_pair else {"batch_size": 2}
    one, two = sampler(together, **option), sampler(apart, **option)
    assert one.renyi(3.0).value == pytest.approx(two.renyi(3.0).value, rel=QUADRATURE)
    assert one.hockey_stick(0.2).value == pytest.approx(two.hockey_stick(0.2).value, rel=QUADRATURE)


def test_removing_a_record_is_a_neighbour_under_poisson_sampling():
    run = descent([bend(0.0), bend(1.0)], [bend(0.0)], steps=3, prox=interval(-2.0, 2.0))
    pair = poisson_pair(run, rate=0.5)
    assert 0.0 < pair.hockey_stick(0.1).lower < 1.0
    with pytest.raises(InvalidDescription):
        fixed_size_pair(run, batch_size=1)


def test_sampling_hides_more_than_the_full_batch():
    """At equal divisor a record seen half the time is harder to find, in both directions."""
    records, neighbour = [UP, LINE], [DOWN, LINE]
    run = descent(records, neighbour, steps=2, gradient_noise_std=2.0, prox=interval(-1.0, 1.0))
    rare, always = poisson_pair(run, rate=0.5), poisson_pair(run, rate=1.0)
    for epsilon in (0.0, 0.5):
        for reverse in (False, True):
            seldom = rare.hockey_stick(epsilon, reverse=reverse)
            often = always.hockey_stick(epsilon, reverse=reverse)
            assert seldom.upper < often.lower


def test_clipped_gradients_on_the_grid():
    steep = [clipped(ScalarMap(lambda x, a=a: 3.0 * (x - a)), 1.0, -5.0, 5.0) for a in (0, 1, -1)]
    settings = {"steps": 6, "step_size": 0.3, "gradient_noise_std": 1.0}
    run = descent(steep[:2], [steep[0], steep[2]], prox=interval(-2.0, 2.0), **settings)
    for pair in (cyclic_pair(run, batch_size=1), fixed_size_pair(run, batch_size=1)):
        found = pair.renyi(4.0)
        # Plain composition: three visits (or six half-chances), shift at most 2*0.3 against 0.3.
        assert 0.0 < found.lower <= 6 * gaussian_renyi(2.0, 4.0)
        assert found.error < 1e-10 * found.value


def test_nonsense_is_refused():
    run = descent([UP, UP, UP], [UP, UP, DOWN])
    for bad in (0, 4):
        with pytest.raises(InvalidDescription):
            fixed_size_pair(run, batch_size=bad)
    for sampler in (cyclic_pair, shuffled_once_pair):
        with pytest.raises(InvalidDescription):
            sampler(run, batch_size=2)
    with pytest.raises(InvalidDescription):
        poisson_pair(run, rate=0.0)
    with pytest.raises(InvalidDescription):
        descent([UP], [DOWN], steps=0)
    with pytest.raises(InvalidDescription):
        descent([UP], [DOWN], step_size=math.nan)
    many = [bend(0.01 * i) for i in range(13)]
    with pytest.raises(InvalidDescription):
        poisson_pair(descent(many, many), rate=0.5)
    with pytest.raises(InvalidDescription):
        shuffled_once_pair(descent(many[:8], many[:8]), batch_size=1)


@pytest.mark.slow
def test_six_distinct_records_without_a_domain():
    centres = (-1.0, -0.5, 0.0, 0.3, 0.7, 1.0)
    records = [bend(a) for a in centres]
    run = descent(
        records,
        [*records[:5], bend(-1.0)],
        steps=6,
        step_size=0.5,
        gradient_noise_std=0.6,
        divisor=3.0,
    )
    pair = poisson_pair(run, rate=0.5)
    assert pair.renyi(4.0).error < 1e-10
    assert pair.renyi(4.0).value == pytest.approx(0.974832778940741, rel=1e-10)
