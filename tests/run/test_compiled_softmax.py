"""Compiled residuals are those of the links, and as short as these."""

import numpy as np
import pytest

from wane.losses import Logistic, Softmax, SoftmaxClamp, SoftmaxEnvelope
from wane.run import compiled_softmax, compiling

SCALES = (1e-3, 1.0, 30.0, 1e4)
SIZES = (1, compiled_softmax.WIDTH - 1, compiled_softmax.WIDTH, 2 * compiled_softmax.WIDTH + 3)


def compiled(link):
    found = compiled_softmax.faster(link, compiling.COMPILED_FROM)
    assert found != link.residuals, "the extra fast is among what the tests install"
    return found


def problem(rng, size, classes, scale):
    margins = scale * rng.standard_normal((size, classes))
    bounds = 10.0 ** rng.uniform(-3.0, 0.5, size)
    return margins, rng.integers(0, classes, size).astype(float), bounds


@pytest.mark.parametrize("kind", [Softmax, SoftmaxClamp, SoftmaxEnvelope])
@pytest.mark.parametrize("classes", [2, 3, 10, 17])
@pytest.mark.parametrize("size", SIZES)
def test_they_are_those_of_the_link(kind, classes, size):
    rng = np.random.default_rng([classes, size])
    link = kind(classes)
    for scale in SCALES:
        margins, targets, bounds = problem(rng, size, classes, scale)
        kept = margins.copy()
        found = compiled(link)(margins, targets, bounds)
        lengths = np.linalg.norm(margins, axis=1)
        allowed = np.array([2.0 * link.error(length) for length in lengths])
        off = np.linalg.norm(found - link.residuals(kept, targets, bounds), axis=1)
        assert (off <= allowed).all()
        assert np.array_equal(margins, kept)


@pytest.mark.parametrize("classes", [2, 10])
def test_they_are_as_short_as_the_bounds(classes):
    rng = np.random.default_rng(classes)
    for scale in SCALES:
        margins, targets, bounds = problem(rng, 500, classes, scale)
        for link in (SoftmaxClamp(classes), SoftmaxEnvelope(classes)):
            found = compiled(link)(margins, targets, bounds).astype(np.longdouble)
            lengths = np.sqrt(np.square(found).sum(axis=1))
            assert (lengths <= bounds * (1.0 + (classes + 16) * 2.0**-53)).all()


@pytest.mark.parametrize("kind", [Softmax, SoftmaxClamp, SoftmaxEnvelope])
def test_odd_records_do_not_disturb_their_neighbours(kind):
    """Margins beyond the floats and caps of zero give what the link gives."""
    rng = np.random.default_rng(5)
    link = kind(4)
    margins, targets, bounds = problem(rng, 40, 4, 1.0)
    before = compiled(link)(margins, targets, bounds)
    margins[3], margins[7], margins[11, 2], margins[15, 0] = np.inf, 1e200, np.nan, -np.inf
    bounds[20] = 0.0
    with np.errstate(all="ignore"):
        found, own = (
            compiled(link)(margins, targets, bounds),
            link.residuals(margins, targets, bounds),
        )
    odd = [3, 7, 11, 15, 20]
    np.testing.assert_allclose(found[odd], own[odd], rtol=0, atol=1e-9)
    even = np.setdiff1d(np.arange(40), odd)
    assert np.array_equal(found[even], before[even])
    if kind is not Softmax:
        assert not found[20].any()


def test_a_solution_that_is_not_certified_is_left_to_the_link(monkeypatch):
    link = SoftmaxEnvelope(10)
    margins, targets, bounds = problem(np.random.default_rng(6), 300, 10, 3.0)
    own = link.residuals(margins, targets, bounds)

    def nothing(margins, labels, bounds, made, done):
        made[:], done[:] = np.nan, False

    kernels = {SoftmaxEnvelope: nothing}
    monkeypatch.setattr(compiled_softmax, "_kernels", lambda: kernels)
    found = compiled_softmax.faster(link, compiling.COMPILED_FROM)(margins, targets, bounds)
    assert np.array_equal(found, own)


def test_small_tables_and_other_links_are_not_compiled():
    for link, numbers in ((SoftmaxEnvelope(3), compiling.COMPILED_FROM - 1), (Logistic(), 10**9)):
        assert compiled_softmax.faster(link, numbers) == link.residuals
