"""Cheapest paths against their closed form, digit by digit, and every edge of their arguments."""

import math

import mpmath
import numpy as np
import pytest

from wane import InvalidDescription
from wane.modulus import best_path, path, smooth

mp = mpmath.mp.clone()
mp.dps = 40


def decided(seed):
    """Linear maps, noises and a distance that nothing adds to: the best payments are known."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 25))
    slopes = rng.uniform(0.3, 1.3, count).tolist()
    noises = (10.0 ** rng.uniform(-0.5, 0.5, count)).tolist()
    if seed % 3 == 0:
        noises[0:-1:4] = [0.0] * len(noises[0:-1:4])
    return slopes, noises, float(10.0 ** rng.uniform(-2, 2))


def exact_mu(slopes, noises, distance):
    """N(D, V) against N(0, V), number by number."""
    mean, variance = mp.mpf(distance), mp.mpf(0)
    for slope, noise in zip(slopes, noises, strict=True):
        mean, variance = slope * mean, mp.mpf(slope) ** 2 * variance + mp.mpf(noise) ** 2
    return mean / mp.sqrt(variance)


@pytest.mark.parametrize("seed", range(12))
def test_paths_through_linear_maps_are_the_best_to_the_last_digits(seed):
    slopes, noises, distance = decided(seed)
    found = best_path(
        modulus=lambda t, u: slopes[t - 1] * u,
        shifts=[0.0] * len(slopes),
        noise_stds=noises,
        distance=distance,
    )
    exact = exact_mu(slopes, noises, distance)
    assert exact <= found.mu <= exact * (1 + mp.mpf("1.1e-15") * (8 + 4 * len(slopes)))
    assert (found.first_step, found.distances[0]) == (1, distance)
    assert found.noise_stds == tuple(noises)
    assert [len(found.distances) - 1, len(found.payments)] == [len(slopes)] * 2
    left = distance
    for t, slope in enumerate(slopes):  # the best payments are in proportion to v_t prod of slopes
        left = slope * left - found.payments[t]
        assert found.distances[t + 1] == pytest.approx(left, rel=1e-9, abs=1e-12 * distance)
        weight = noises[t] ** 2 * math.prod(slopes[t + 1 :])
        total = sum(n**2 * math.prod(slopes[i + 1 :]) ** 2 for i, n in enumerate(noises))
        assert found.payments[t] == pytest.approx(
            distance * math.prod(slopes) * weight / total, rel=1e-6, abs=1e-12 * distance
        )


def test_equal_shifts_are_paid_as_the_law_of_the_end_says():
    for c in (0.5, 0.9, 1.0):
        for count in (1, 2, 5, 17):
            mean = sum(mp.mpf(c) ** k for k in range(count)) * mp.mpf(0.25)
            exact = mean / mp.sqrt(sum(mp.mpf(c) ** (2 * k) for k in range(count)))
            found = best_path(
                modulus=lambda _, u, c=c: c * u,
                shifts=[0.25] * count,
                noise_stds=[1.0] * count,
                distance=0.0,
            )
            assert exact <= found.mu <= exact * (1 + mp.mpf("1e-7"))


def flat(count, shift, **options):
    """A map that moves no two points apart, the same shift and unit noise at every step."""
    asked = {"modulus": lambda _, u: u, "shifts": [shift] * count, "noise_stds": [1.0] * count}
    return best_path(**(asked | options))


def test_in_a_bounded_set_the_best_late_beginning_is_found():
    free = flat(90, 0.2, distance=0.0)
    assert 0.2 * math.sqrt(90) <= free.mu <= 0.2 * math.sqrt(90) * (1 + 1e-5)
    for diameter in (1.0, 2.0):
        bounded = flat(90, 0.2, distance=0.0, diameter=diameter)
        values = {k: (diameter + 0.2 * k) / math.sqrt(k) for k in range(1, 91)}
        best = min(values, key=values.__getitem__)
        assert values[best] <= bounded.mu <= values[best] * (1 + 1e-7)
        assert bounded.first_step == 91 - best and bounded.distances[0] == diameter
        assert len(bounded.noise_stds) == len(bounded.payments) == best
    # a distance beyond the diameter is the diameter; a late beginning that costs more is not taken
    assert flat(3, 0.0, distance=5.0, diameter=2.0).mu == pytest.approx(2.0 / math.sqrt(3.0))
    near = flat(3, 0.0, distance=1.0, diameter=2.0)
    assert near.mu == pytest.approx(1.0 / math.sqrt(3.0)) and near.first_step == 1
    wide = flat(3, 0.0, distance=1.0, diameter=1e9)
    assert wide.mu == pytest.approx(1.0 / math.sqrt(3.0))


def test_what_is_not_noisy_costs_everything_at_the_end_only():
    silent = flat(2, 0.0, noise_stds=[1.0, 0.0], distance=1.0)
    assert silent.mu == pytest.approx(1.0) and silent.payments == (1.0, 0.0)
    moved = flat(2, 1.0, noise_stds=[1.0, 0.0], distance=0.0)
    assert moved.mu == math.inf
    assert flat(3, 0.0, distance=0.0).mu == 0.0
    assert flat(1, 0.0, distance=1e-200).mu > 0.0  # whose square is zero
    assert flat(1, 0.0, distance=3.0, noise_stds=[1e-200]).mu == math.inf
    none = flat(2, 1.0, modulus=lambda _, u: 0.0, distance=0.0, noise_stds=[0.0, 2.0])
    assert none.mu == pytest.approx(0.5)  # forgotten after the first step


def test_a_modulus_may_be_infinite_beyond_what_is_needed():
    steep = flat(2, 0.0, modulus=lambda _, u: u if u <= 1.0 else math.inf, distance=1.0)
    assert steep.mu == pytest.approx(math.sqrt(0.5), rel=1e-9)
    assert flat(1, 0.0, modulus=lambda _, u: math.inf, distance=1.0).mu == math.inf


@pytest.mark.parametrize("wrong", ["many", -0.5, math.nan, None, 10**400])
def test_what_is_no_modulus_is_refused(wrong):
    with pytest.raises(InvalidDescription, match=r"modulus must return a number >= 0.* step 1 "):
        flat(1, 0.0, modulus=lambda _, u: wrong, distance=1.0)


def test_a_modulus_must_not_fall_but_by_rounding():
    """Only a fall beyond a part in 1e9 is one, and it is named with its step and distances."""

    def bent(depth):
        return lambda t, u: u if t == 1 else min(u, 1.0) - depth * (u > 2.0)

    with pytest.raises(
        InvalidDescription, match=r"at 2\.[01][0-9]* than at 1\.[89][0-9]* in step 2"
    ):
        flat(2, 0.0, modulus=bent(1e-8), distance=8.0)
    assert flat(2, 0.0, modulus=bent(1e-10), distance=8.0).mu > 0.0
    # the first fall above zero is named, not a later one
    with pytest.raises(InvalidDescription, match=r"at 1\.0[0-9]* than at 0\.9[0-9]* in step 2"):
        flat(
            2,
            0.0,
            modulus=lambda t, u: u if t == 1 else u - 0.5 * (u > 1.0) - (u > 3.0),
            distance=8.0,
        )


@pytest.mark.parametrize(
    "change",
    [
        {"shifts": [-0.5, 0.0]},
        {"noise_stds": [-0.5, 1.0]},
        {"distance": -0.5},
        {"diameter": 0.0},
        {"diameter": -0.5},
        {"shifts": []},
        {"shifts": [], "noise_stds": []},
        {"noise_stds": [1.0] * 3},
        {"shifts": [0.0] * 20_001, "noise_stds": [1.0] * 20_001},
        {"modulus": 1.0},
    ],
)
def test_bad_questions_are_refused(change):
    with pytest.raises(InvalidDescription):
        flat(2, 0.0, **({"distance": 1.0} | change))


def test_as_many_steps_as_are_promised_are_read():
    assert path.MOST_STEPS == 20_000
    read = path._Steps.read(lambda _, u: u, [0.0] * 20_000, [1.0] * 20_000)
    assert len(read) == 20_000
    assert path._Steps.read(lambda _, u: u, [0.5], [1.0]).reached(0, 0.0) == 0.5


def test_distances_are_asked_one_by_one_or_many_at_once():
    """With the same answers: zero is not asked of a function, and goes where the shift says."""
    grid = np.array([0.0, 0.5, 1.0, 3.0])
    many = path._Steps.read(smooth([0.1, 0.2, 0.3], 2.0), [0.25, 0.5, 0.0], [1.0] * 3)
    one = path._Steps.read(lambda t, u: u * (1.0 + 0.2 * t), [0.25, 0.5, 0.0], [1.0] * 3)
    for step, (slope, shift) in enumerate(((1.2, 0.25), (1.4, 0.5), (1.6, 0.0))):
        for steps in (many, one):
            found = steps.reached_from(step, grid)
            assert found[0] == shift
            assert found.tolist() == pytest.approx((slope * grid + shift).tolist(), rel=1e-12)
            assert steps.reached(step, 2.0) == pytest.approx(2.0 * slope + shift, rel=1e-12)
            assert steps.reached(step, 0.0) == shift


def test_what_a_path_claims_is_the_guarantee_of_its_mu():
    found = flat(4, 0.0, distance=2.0)
    assert found.guarantee.mu == found.mu == pytest.approx(1.0)
    assert found.renyi(4.0) == pytest.approx(2.0)
    assert found.delta(1.0) == pytest.approx(float(mp.ncdf(-0.5) - mp.e * mp.ncdf(-1.5)), rel=1e-9)
    assert found.epsilon(found.delta(1.0)) == pytest.approx(1.0, rel=1e-6)
