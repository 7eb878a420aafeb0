"""Links: derivatives of their losses, monotone and bounded however they are capped."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import losses
from wane.describe import LossForm
from wane.errors import InvalidDescription
from wane.losses import envelope

SCALARS = (
    losses.Logistic(),
    losses.Squared(),
    losses.Huber(0.7),
    losses.SmoothedHinge(0.5),
    losses.Quantile(0.3, 0.2),
    losses.PoissonCounts(5.0),
)
CLASSES = tuple(
    kind(K)
    for kind in (losses.Softmax, losses.SoftmaxClamp, losses.SoftmaxEnvelope, losses.OneVsRest)
    for K in (2, 3, 7)
)
LINKS = (*SCALARS, *CLASSES, losses.MultiSquared(3))
UNCAPPED = math.sqrt(2.0)
ids = [repr(link) for link in LINKS]


def targets_for(link, rng, n):
    if isinstance(link, losses.Logistic | losses.SmoothedHinge):
        return rng.choice([-1.0, 1.0], n)
    if isinstance(link, losses.PoissonCounts):
        return rng.integers(0, 6, n).astype(float)
    if isinstance(link, losses.MultiSquared):
        return rng.normal(size=(n, link.outputs))
    if link.outputs > 1:
        return rng.integers(0, link.outputs, n).astype(float)
    return rng.normal(size=n)


def margins_for(link, rng, n, scale):
    return rng.normal(scale=scale, size=n if link.outputs == 1 else (n, link.outputs))


def as_rows(values):
    return values[:, None] if values.ndim == 1 else values


def caps_for(link, rng, n):
    return np.full(n, UNCAPPED) if isinstance(link, losses.Softmax) else rng.uniform(0.01, 1.4, n)


@pytest.mark.parametrize("link", LINKS, ids=ids)
def test_residuals_are_the_derivative_of_the_loss(link):
    rng = np.random.default_rng(0)
    u, y = margins_for(link, rng, 200, 1.5), targets_for(link, rng, 200)
    exact = as_rows(link.residuals(u.copy(), y, np.full(200, 1e6)))
    for k in range(link.outputs):
        move = np.zeros_like(as_rows(u))
        move[:, k] = 1e-6
        move = move.reshape(u.shape)
        slope = (link.losses(u + move, y) - link.losses(u - move, y)) / 2e-6
        np.testing.assert_allclose(exact[:, k], slope, atol=5e-6)


@pytest.mark.parametrize("link", LINKS, ids=ids)
@given(seed=st.integers(0, 10**9), scale=st.sampled_from([0.1, 1.0, 5.0, 50.0, 2000.0]))
@settings(max_examples=25, deadline=None)
def test_monotone_short_and_smooth(link, seed, scale):
    rng = np.random.default_rng(seed)
    n = 200
    y, caps = targets_for(link, rng, n), caps_for(link, rng, n)
    u = margins_for(link, rng, n, scale)
    near = np.where(rng.random(n) < 0.5, 1.0, 1e-3)
    v = u + margins_for(link, rng, n, scale) * (near if u.ndim == 1 else near[:, None])
    with np.errstate(over="ignore"):
        at_u = as_rows(link.residuals(u.copy(), y, caps))
        at_v = as_rows(link.residuals(v.copy(), y, caps))
    assert np.isfinite(at_u).all()
    assert (np.linalg.norm(at_u, axis=1) <= caps * (1 + 1e-14)).all()
    moved, apart = at_u - at_v, as_rows(u - v)
    product = (moved * apart).sum(axis=1)
    # co-coercivity: <r(u) - r(v), u - v> >= |r(u) - r(v)|^2 / M, with M of features of length one
    M = [
        link.objective(1.0, max(cap, UNCAPPED) if cap == UNCAPPED else cap, 0.0).smoothness
        for cap in caps
    ]
    slack = 4 * link.error(scale * 5) * (np.abs(apart).max(axis=1) + 1.0)
    assert (product >= np.square(moved).sum(axis=1) / np.array(M) - slack).all()


@pytest.mark.parametrize("link", CLASSES, ids=[repr(link) for link in CLASSES])
def test_loose_caps_change_nothing(link):
    rng = np.random.default_rng(1)
    u, y = margins_for(link, rng, 100, 3.0), targets_for(link, rng, 100)
    loose = link.residuals(u, y, np.full(100, 10.0))
    if isinstance(link, losses.OneVsRest):
        return
    np.testing.assert_allclose(
        loose, losses.Softmax(link.outputs).residuals(u, y, np.full(100, 10.0)), atol=1e-15
    )


def test_plain_clipping_of_softmax_is_not_monotone():
    """The test above can fail: shortening the softmax residual does violate it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000).astype(float)
    u, v = rng.normal(scale=3, size=(2, 20_000, 3))
    caps = np.full(20_000, 0.3)

    def clipped(margins):
        plain = losses.Softmax(3).residuals(margins, y, caps)
        return plain * np.minimum(1.0, 0.3 / np.linalg.norm(plain, axis=1))[:, None]

    product = ((clipped(u) - clipped(v)) * (u - v)).sum(axis=1)
    assert product.min() < -0.01


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 300.0])
def test_envelope_solves_its_equations(classes, scale):
    """u = log p + t q + constant, |q| = cap, t >= 0, where the plain residual is too long."""
    rng = np.random.default_rng(classes)
    u = rng.normal(scale=scale, size=(500, classes))
    y = rng.integers(0, classes, 500)
    cap = np.full(500, 0.25)
    plain = losses.Softmax(classes).residuals(u, y, cap)
    q = losses.SoftmaxEnvelope(classes).residuals(u, y.astype(float), cap)
    long = np.linalg.norm(plain, axis=1) > 0.25
    assert long.any()
    np.testing.assert_allclose(q[~long], plain[~long], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(q[long], axis=1), 0.25, rtol=1e-13)
    p = q + np.eye(classes)[y]
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-13)
    with np.errstate(divide="ignore"):
        v = np.log(p)
    for i in np.flatnonzero(long):
        seen = p[i] > 1e-200
        # two unknowns, t and the constant, fit all classes
        design = np.stack([q[i][seen], np.ones(seen.sum())], axis=1)
        found, *_ = np.linalg.lstsq(design, (u - v)[i][seen], rcond=None)
        np.testing.assert_allclose(design @ found, (u - v)[i][seen], atol=1e-9 * (1 + 5 * scale))
        assert found[0] >= -1e-9


def test_bracketing_agrees_with_newton():
    rng = np.random.default_rng(3)
    others = np.sort(rng.normal(scale=8.0, size=(5, 20)), axis=0)
    others -= others.max(axis=0)
    gap, caps = rng.uniform(5.0, 30.0, 20), np.full(20, 0.3)
    start = (others - 1.0, np.full(20, 1.0), np.zeros(20))
    newton = envelope._steps(others, gap, caps, start, 40)
    bracket = envelope._bracket(others, gap, caps)
    assert (envelope._distance(others, gap, caps, newton) < 1e-11 * (1 + gap)).all()
    np.testing.assert_allclose(np.exp(bracket[0]), np.exp(newton[0]), atol=1e-10)


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e135])
def test_envelope_stays_finite_and_short(scale):
    rng = np.random.default_rng(0)
    u, y = rng.normal(scale=scale, size=(500, 10)), rng.integers(0, 10, 500)
    with np.errstate(all="ignore"):
        q = envelope.residuals(u, y, np.full(500, 1e-3))
    assert np.isfinite(q).all()
    assert (np.linalg.norm(q, axis=1) <= 1e-3 * (1 + 1e-14)).all()


@given(
    p=st.lists(st.floats(1e-9, 1.0), min_size=2, max_size=8),
    cap=st.floats(0.01, 1.4),
)
@settings(max_examples=300, deadline=None)
def test_curvature_of_the_envelope(p, cap):
    """Where the residual is no longer than the cap, the Hessian is below the constant."""
    p = np.array(p) / sum(p)
    if np.linalg.norm(p - np.eye(len(p))[0]) <= cap:
        top = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1]
        assert top <= losses.softmax_envelope(1.0, clip=cap).smoothness * (1 + 1e-12)


def test_curvature_of_the_envelope_is_attained():
    s = 0.3 / math.sqrt(2.0)
    p = np.array([1.0 - s, s])
    top = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1]
    assert losses.softmax_envelope(1.0, clip=0.3).smoothness == pytest.approx(top, rel=1e-12)


def test_constants():
    assert losses.huber(2.0, width=0.5).gradient_bound == pytest.approx(1.0)
    assert not losses.huber(2.0, width=0.5).clipped
    assert losses.huber(2.0, width=0.5, clip=0.3).clipped
    assert losses.smoothed_hinge(2.0, width=0.5).smoothness == pytest.approx(8.0)
    assert losses.quantile(2.0, level=0.3, width=0.1).gradient_bound == pytest.approx(1.4)
    assert losses.one_vs_rest(1.0, classes=4).gradient_bound == pytest.approx(2.0)
    assert losses.one_vs_rest(1.0, classes=4, clip=0.4).smoothness == pytest.approx(0.16)
    assert losses.multi_squared(3.0, clip=1.0).form is LossForm.RADIAL
    assert losses.softmax_envelope(1.0, clip=5.0) == losses.softmax(1.0)


def test_refusals():
    with pytest.raises(InvalidDescription, match="not monotone"):
        losses.Softmax(3).objective(1.0, 1.0, 0.0)
    for link in (losses.Squared(), losses.PoissonCounts(3.0), losses.MultiSquared(2)):
        with pytest.raises(InvalidDescription, match="gradient_bound"):
            link.objective(1.0, None, 0.0)
    for make in (
        lambda: losses.Softmax(1),
        lambda: losses.Huber(0.0),
        lambda: losses.Quantile(1.0),
    ):
        with pytest.raises(InvalidDescription):
            make()
