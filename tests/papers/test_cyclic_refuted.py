"""The printed statements fail on exact instances, by the known factors."""

import math

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane_papers.cyclic.printed import printed_fade, printed_lipschitz, printed_renyi
from wane_papers.cyclic.refuted import (
    clip_jacobian,
    clipped_step_expands,
    clipping_remembers,
    last_batch_has_no_cover,
    unstable_batch,
    weakly_convex_clipping_remembers,
)

TABLE = 1e-9
# (order, shift, m, M, step size, steps per epoch, steps, printed constant, printed bound)
PRINTED = [
    (2, 1, 0, 1, 0.5, 100, 100, 1.0, 0.08),
    (2, 1, 0, 1, 0.5, 20, 200, 1.0, 4.0),
    (2, 1, 0, 1, 0.5, 20, 205, 1.0, 5.6),
    (4, 0.5, 0.01, 1, 0.4, 50, 500, 1.004031478, 0.9677985634),
    (2, 1, 0.1, 1, 0.2, 10, 35, 1.021585221, 4.626327335),
]


@pytest.mark.parametrize("row", PRINTED)
def test_the_printed_bound_is_read_as_printed(row):
    order, shift, m, big, step_size, per_epoch, steps, constant, value = row
    lipschitz = printed_lipschitz(step_size, m, big)
    assert lipschitz == pytest.approx(constant, rel=TABLE)
    assert printed_renyi(order, shift, lipschitz, steps, per_epoch) == pytest.approx(
        value, rel=TABLE
    )


def test_ce1_a_clipped_convex_step_is_not_nonexpansive():
    found = clipped_step_expands()
    assert found.claimed == 1.0
    assert found.exact == pytest.approx(1.0644410, abs=5e-8)
    assert clipped_step_expands(1.0 + 1e-12).exact == pytest.approx(1.064518671, rel=TABLE)
    assert found.exact < math.sqrt(8 / 7)


def test_ce1_holds_for_two_actual_points():
    def step(x):
        gradient = np.array([x[0], 0.0]) + 1.001 * np.array([0.8, 0.6])
        length = np.linalg.norm(gradient)
        return x - 0.5 * gradient * min(1.0, 1.0 / length)

    x = 1e-5 * np.array([0.6, 0.8])
    moved = np.linalg.norm(step(x) - step(np.zeros(2))) / np.linalg.norm(x)
    assert moved == pytest.approx(clipped_step_expands().exact, rel=1e-4)
    assert moved > 1.06


@pytest.mark.parametrize(
    ("batches", "ratio"), [(3, 1.485001485), (10, 4.95), (100, 49.5), (1000, 495.0)]
)
def test_ce2_the_last_batch_breaks_the_printed_bound(batches, ratio):
    found = last_batch_has_no_cover(batches)
    assert found.ratio == pytest.approx(ratio, rel=TABLE)
    assert last_batch_has_no_cover(batches, order=7.0).ratio == pytest.approx(ratio, rel=TABLE)


@pytest.mark.parametrize(
    ("batches", "ratio"),
    [
        (17, 1.105329406),
        (18, 1.150916004),
        (40, 2.281798253),
        (100, 5.657741178),
        (300, 16.97312012),
        (1000, 56.57706707),
    ],
)
def test_ce3_clipping_alone_breaks_the_printed_bound(batches, ratio):
    found = clipping_remembers(batches)
    assert found.ratio == pytest.approx(ratio, rel=TABLE)
    assert found.exact > found.claimed


def test_ce3_the_four_clipped_records_make_a_symmetric_unstable_mode():
    jacobian = unstable_batch(0.5, 0.0, 1.0, 1.01)
    expected = np.diag([1 - 3 * 0.5 / 8 / 1.01, 1 + 0.5 / 8 / 1.01])
    assert np.allclose(jacobian, expected, rtol=0.0, atol=1e-14)
    assert jacobian[1, 1] == pytest.approx(1.061881188, rel=TABLE)


def test_ce5_weak_convexity_does_not_save_the_printed_bound():
    found = weakly_convex_clipping_remembers()
    assert found.ratio == pytest.approx(5.0243, rel=1e-5)
    assert printed_lipschitz(0.495, 0.01, 1.0) == pytest.approx(1.005, abs=5e-5)
    growth = 1 + 0.495 * (1.01**2 / (8 * 0.99)) / 1.01
    assert unstable_batch(0.495, 0.01, 1.0, 1.01)[1, 1] == pytest.approx(growth, rel=1e-12)


def test_clipped_jacobian_is_the_derivative_of_the_clipped_gradient():
    hessian = np.array([[1.0, 0.3], [0.3, 0.2]])
    for scale in (0.5, 1.7):
        offset = scale * np.array([0.6, -0.8])

        def clip(x, offset=offset):
            gradient = hessian @ x + offset
            return gradient * min(1.0, 1.0 / np.linalg.norm(gradient))

        h = 1e-6
        columns = [(clip(h * e) - clip(-h * e)) / (2 * h) for e in np.eye(2)]
        assert np.allclose(clip_jacobian(offset, hessian, 1.0), np.stack(columns).T, atol=1e-8)


def test_printed_share_has_its_limits():
    assert printed_fade(1.0, 0) == 0.0
    assert printed_fade(1.0, 4) == 0.25
    assert printed_fade(1.5, 1) == pytest.approx(1.0)
    with pytest.raises(InvalidDescription):
        clipped_step_expands(0.9)
    with pytest.raises(InvalidDescription):
        unstable_batch(0.1, 0.5, 1.0, 1.01)
