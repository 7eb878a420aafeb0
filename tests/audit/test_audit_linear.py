"""The linear oracle against closed forms, direct covariances and a numerical optimum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import lsq_linear

from oracles.tight import (
    programme_blocks,
    programme_value,
    tight_instance,
    tight_instance_by_rotation,
)
from wane.audit import ImpreciseError, exact_joint_mu, exact_mu, exact_scalar_mu, linear_step
from wane.errors import InvalidDescription

EXACT = 1e-12
SOLVER = 1e-7

# (shifts, constants, noise_stds, mu squared), reference values of the joint programme.
PROGRAMMES = [
    ([1, 0, 0, 2, 0, 1], [1, 1.1, 0.9, 1, 1.2, 0.8], [1, 1, 1, 1, 1, 1], 3.679822392),
    ([1, 0, 0, 1, 0, 0, 1], [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [1] * 7, 1.059340659),
    ([0.5, 0, 0.5, 0, 0.5, 0], [1.01] * 6, [2, 2, 2, 1, 1, 0.5], 0.2825500329),
    ([3, 0, 0, 0, 0.1, 0, 0, 0.1], [1] * 8, [1] * 8, 1.28),
    ([1, 1, 1, 1, 1], [1, 0.9, 0.9, 0.9, 0.9], [1] * 5, 4.892008123),
    ([1] * 20, [0.99] * 20, [1] * 20, 19.93309925),
    (([0] * 19 + [1]) * 5, [0.99] * 100, [1] * 100, 1.156347942),
    ([1] * 5, [1.3] * 5, [1] * 5, 5.0),
    ([1, 0, 2, 1], [0.9, 0.9, 0.5, 1], [1, math.sqrt(2), math.sqrt(0.5), 1], 6.288256228),
    ([0, 1, 1], [1, 0.8, 0.8], [1, 0.5, 1], 2.793103448),
]


def random_programme(rng, longest=10):
    steps = int(rng.integers(1, longest + 1))
    shifts = rng.exponential(1.0, steps) * (rng.random(steps) < 0.5)
    constants = np.exp(rng.normal(0.0, 0.4, steps))
    noises = np.exp(rng.normal(0.0, 0.5, steps))
    return shifts, constants, noises


def numerical_optimum(shifts, constants, noises):
    """Bounded least squares over the slacks w >= 0; feasible, hence never below the optimum."""
    steps = len(shifts)
    if steps == 1:
        return (shifts[0] / noises[0]) ** 2
    design = np.zeros((steps, steps - 1))
    for t in range(steps):
        if t < steps - 1:
            design[t, t] = -1.0 / noises[t]
        if t > 0:
            design[t, t - 1] = constants[t] / noises[t]
    target = -np.asarray(shifts) / noises
    found = lsq_linear(design, target, bounds=(0.0, np.inf), method="bvls", tol=1e-14)
    slack = np.maximum(found.x, 0.0)
    return float(np.sum((design @ slack - target) ** 2))


@pytest.mark.parametrize(("shifts", "constants", "noises", "value"), PROGRAMMES)
def test_programme_and_its_tight_instances_match_the_reference(shifts, constants, noises, value):
    assert float(programme_value(shifts, constants, noises)) == pytest.approx(value, rel=1e-9)
    for build in (tight_instance, tight_instance_by_rotation):
        instance = build(shifts, constants, noises)
        assert exact_mu(instance.steps) ** 2 == pytest.approx(instance.mu_squared, rel=EXACT)
        assert instance.mu_squared == pytest.approx(value, rel=1e-9)


def test_programme_is_exactly_rational():
    assert programme_value([3, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]) == Fraction(9, 4)
    assert programme_value([1, 0], [2, 2], [1, 1]) == Fraction(4, 5)
    (first, second) = programme_blocks([0, 1], [1, 1], [1, 1])
    assert (first.cost, second.cost) == (0, 1)


def test_random_programmes_match_a_numerical_optimum():
    rng = np.random.default_rng(20)
    for _ in range(150):
        shifts, constants, noises = random_programme(rng)
        value = float(programme_value(shifts, constants, noises))
        found = numerical_optimum(shifts, constants, noises)
        assert math.isfinite(found)
        assert found >= value * (1.0 - EXACT)
        assert found <= value * (1.0 + SOLVER) + EXACT


def test_tight_instances_respect_the_constants_and_attain_the_programme():
    rng = np.random.default_rng(21)
    for _ in range(150):
        shifts, constants, noises = random_programme(rng, longest=14)
        value = float(programme_value(shifts, constants, noises))
        line = tight_instance(shifts, constants, noises)
        assert all(m <= c for m, c in zip(line.multipliers, constants, strict=True))
        turned = tight_instance_by_rotation(shifts, constants, noises)
        for step, c, s in zip(turned.steps, constants, shifts, strict=True):
            assert np.linalg.norm(step.matrix, 2) <= c * (1.0 + EXACT)
            assert np.linalg.norm(step.shift_difference) == pytest.approx(s, rel=EXACT)
        assert exact_mu(line.steps) ** 2 == pytest.approx(value, rel=EXACT)
        assert exact_mu(turned.steps) ** 2 == pytest.approx(value, rel=1e-10)
        scalar = exact_scalar_mu(line.multipliers, shifts, noises)
        assert float(scalar) ** 2 == pytest.approx(value, rel=EXACT)


def test_no_linear_chain_within_the_constants_exceeds_the_programme():
    rng = np.random.default_rng(22)
    for _ in range(150):
        shifts, constants, noises = random_programme(rng)
        steps = []
        for s, c, d in zip(shifts, constants, noises, strict=True):
            matrix, direction = rng.normal(size=(3, 3)), rng.normal(size=3)
            matrix *= c / np.linalg.norm(matrix, 2)
            steps.append(
                linear_step(matrix, s * direction / np.linalg.norm(direction), noise_std=d)
            )
        bound = math.sqrt(programme_value(shifts, constants, noises))
        assert exact_mu(steps) <= bound * (1.0 + EXACT)


@pytest.mark.parametrize("contraction", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("steps", [1, 2, 7, 60])
def test_constant_shifts_follow_the_closed_form(contraction, steps):
    c, power = contraction, contraction**steps
    closed = 0.7 * math.sqrt((1 - power) / (1 + power) * (1 + c) / (1 - c)) / 1.3
    step = linear_step(c * np.eye(2), [0.0, 0.7], noise_std=1.3)
    assert exact_mu([step] * steps) == pytest.approx(closed, rel=EXACT)
    scalar = exact_scalar_mu(np.full(steps, c), 0.7, 1.3)
    assert float(scalar) == pytest.approx(closed, rel=EXACT)


@pytest.mark.parametrize(("factor", "steps"), [(1.3, 4000), (1.1, 9000), (5.0, 2000)])
def test_long_expanding_chains_neither_overflow_nor_vanish(factor, steps):
    shifts = np.zeros(steps)
    shifts[0] = 1.0
    limit = 1.0 - factor**-2
    assert float(exact_scalar_mu(factor, shifts, 1.0)) ** 2 == pytest.approx(limit, rel=1e-10)


def test_long_expanding_chains_in_matrix_form():
    quiet = linear_step(1.9 * np.eye(2), [0.0, 0.0], noise_std=1.0)
    chain = [linear_step(np.eye(2), [0.6, 0.8], noise_std=1.0)] + [quiet] * 1500
    assert exact_mu(chain) ** 2 == pytest.approx(1.0 - 1.9**-2, rel=1e-10)


def test_modes_of_very_different_size_are_kept_apart():
    matrix = np.diag([3.0, 0.3])
    chain = [linear_step(matrix, [1.0, 1.0], noise_std=1.0)]
    chain += [linear_step(matrix, [0.0, 1.0], noise_std=1.0)] * 1000
    closed = (1 - 1 / 9) + (1 + 0.3) / (1 - 0.3)
    assert exact_mu(chain) ** 2 == pytest.approx(closed, rel=1e-10)


def test_noiseless_contraction_loses_nothing():
    chain = [linear_step([[0.1]], [1.0], noise_std=0.5)]
    chain += [linear_step([[0.1]], [0.0], noise_std=0.0)] * 800
    assert exact_mu(chain) == pytest.approx(2.0, rel=EXACT)
    shifts, noises = np.zeros(3001), np.zeros(3001)
    shifts[0], noises[0] = 1.0, 0.5
    assert float(exact_scalar_mu(0.1, shifts, noises)) == pytest.approx(2.0, rel=EXACT)


def test_joint_release_is_the_stacked_gaussian_and_the_sum_over_segments():
    rng = np.random.default_rng(23)
    for _ in range(20):
        steps = [
            linear_step(
                0.6 * rng.normal(size=(3, 3)),
                rng.normal(size=3),
                noise_factor=rng.normal(size=(3, 3)) + 2.0 * np.eye(3),
            )
            for _ in range(7)
        ]
        joint = exact_joint_mu(steps, [2, 5, 7]) ** 2
        parts = sum(exact_mu(steps[a:b]) ** 2 for a, b in ((0, 2), (2, 5), (5, 7)))
        assert joint == pytest.approx(parts, rel=EXACT)
        assert joint == pytest.approx(stacked_mu_squared(steps, [2, 5, 7]), rel=1e-9)
        assert exact_joint_mu(steps, [7]) == exact_mu(steps)


def stacked_mu_squared(steps, released):
    """Every iterate written out as a linear image of all the noises."""
    size = steps[0].shift_difference.size
    mean, image = np.zeros(size), np.zeros((size, size * len(steps)))
    means, images = [], []
    for t, step in enumerate(steps, start=1):
        mean = step.matrix @ mean + step.shift_difference
        image = step.matrix @ image
        image[:, (t - 1) * size : t * size] += step.noise_factor
        if t in released:
            means.append(mean)
            images.append(image)
    m, f = np.concatenate(means), np.vstack(images)
    return float(m @ np.linalg.solve(f @ f.T, m))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1.5, 1.5), st.floats(-2, 2), st.floats(0.1, 3)),
        min_size=1,
        max_size=8,
    )
)
def test_hiding_iterates_never_tells_more(rows):
    steps = [linear_step([[c]], [s], noise_std=d) for c, s, d in rows]
    everything = exact_joint_mu(steps, range(1, len(steps) + 1))
    composed = math.sqrt(sum((s / d) ** 2 for _, s, d in rows))
    assert everything == pytest.approx(composed, rel=1e-10, abs=1e-14)
    assert exact_mu(steps) <= everything * (1.0 + 1e-10) + 1e-14


def test_scalar_chains_are_vectorised():
    rng = np.random.default_rng(24)
    c, s = rng.normal(size=(4, 3, 6)), rng.normal(size=(4, 3, 6))
    mu = exact_scalar_mu(c, s, np.full(6, 0.8))
    assert mu.shape == (4, 3)
    for i in range(4):
        for j in range(3):
            rows = zip(c[i, j], s[i, j], strict=True)
            chain = [linear_step([[a]], [b], noise_std=0.8) for a, b in rows]
            assert mu[i, j] == pytest.approx(exact_mu(chain), rel=EXACT)


def test_degenerate_chains_are_named():
    assert float(exact_scalar_mu([1.0], [1.0], [0.0])) == math.inf
    assert float(exact_scalar_mu([1.0], [0.0], [0.0])) == 0.0
    with pytest.raises(ImpreciseError):
        exact_mu([linear_step(np.eye(2), [1.0, 0.0], noise_factor=[[1.0], [0.0]])])
    parallel = linear_step(np.diag([1.0, 1.0]), [1.0, 0.0], noise_factor=[[1.0, 0.0], [1.0, 1e-12]])
    with pytest.raises(ImpreciseError):
        exact_mu([parallel])


def test_nonsense_is_refused():
    with pytest.raises(InvalidDescription):
        linear_step(np.eye(2), [1.0, 0.0, 0.0], noise_std=1.0)
    with pytest.raises(InvalidDescription):
        linear_step(np.eye(1), [math.nan], noise_std=1.0)
    with pytest.raises(InvalidDescription):
        linear_step(np.eye(1), [1.0])
    with pytest.raises(InvalidDescription):
        linear_step(np.eye(1), [1.0], noise_std=-1.0)
    with pytest.raises(InvalidDescription):
        exact_mu([])
    step = linear_step(np.eye(1), [1.0], noise_std=1.0)
    with pytest.raises(InvalidDescription):
        exact_joint_mu([step], [2])
    with pytest.raises(InvalidDescription):
        exact_mu([step, linear_step(np.eye(2), [1.0, 0.0], noise_std=1.0)])
    with pytest.raises(InvalidDescription):
        exact_scalar_mu([1.0], [math.inf], [1.0])
    with pytest.raises(InvalidDescription):
        exact_scalar_mu([1.0], [1.0], [-1.0])
    for bad in (([1], [1], []), ([-1], [1], [1]), ([1], [0], [1]), ([math.nan], [1], [1])):
        with pytest.raises(InvalidDescription):
            programme_value(*bad)
