"""Every loss of the folder: its derivative, how it is bounded, its constants, its prior.

The tests walk `wane.losses.LOSSES`.  A new loss needs nothing here, unless it has a field or a kind
of target that no other has: then add its values to FIELDS or to `targets_for`.
"""

import inspect
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from wane import losses
from wane.describe import LossForm
from wane.errors import InvalidDescription
from wane.losses import LOSSES, envelope, registry

FIELDS = {
    "classes": (2, 3, 7),
    "largest_count": (5.0,),
    "level": (0.3,),
    "outputs": (3,),
    "width": (0.5, 1.3),
}
"""By a field's name: the values with which losses are tried."""


def members(kind):
    names = list(inspect.signature(kind).parameters)
    return [kind(*values) for values in itertools.product(*(FIELDS[name] for name in names))]


LINKS = tuple(link for kind in LOSSES for link in members(kind))
CLASSES = tuple(link for link in LINKS if isinstance(link, losses.ClassesLoss))
SAMPLED = tuple(link for link in LINKS if isinstance(link, losses.SampledLoss))
UNCAPPED = math.sqrt(2.0)
ids = [repr(link) for link in LINKS]


def targets_for(link, rng, n):
    """Targets of the first kind that the loss can use."""
    one = (
        lambda: rng.normal(size=n),
        lambda: rng.choice([-1.0, 1.0], n),
        lambda: rng.integers(0, 6, n).astype(float),
    )
    several = (
        lambda: rng.integers(0, link.outputs, n).astype(float),
        lambda: rng.normal(size=(n, link.outputs)),
    )
    for kind in one if link.outputs == 1 else several:
        targets = kind()
        try:
            usable = link.usable(targets)
        except np.exceptions.AxisError:  # it wants one column for each output
            continue
        if usable.shape == (n,) and usable.all():
            return targets
    raise AssertionError(f"{link!r} has targets of a new kind; add them here")


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


def margins_on_a_grid(link):
    """Margins all over the place: every value of one, or all gaps between two classes of many."""
    line = np.concatenate([np.linspace(-9.0, 9.0, 3001), [-60.0, 60.0]])
    if link.outputs == 1:
        return line
    two = np.full((len(line), link.outputs), -60.0)
    two[:, 0], two[:, 1] = line / 2.0, -line / 2.0
    rng = np.random.default_rng(4)
    spread = rng.normal(size=(1000, link.outputs)) * np.exp(rng.uniform(-2, 3, (1000, 1)))
    return np.concatenate([two, spread])


def targets_on_a_grid(link, margins):
    """The least, the largest and a middle target, each at all margins."""
    n = len(margins)
    drawn = targets_for(link, np.random.default_rng(6), 200)
    if drawn.ndim == 2:
        return [np.zeros((n, link.outputs)), np.tile(drawn[0], (n, 1))]
    return [np.full(n, y) for y in sorted({drawn.min(), drawn.max(), float(np.median(drawn))})]


def jacobians(link, margins, targets, caps, step=1e-5):
    """The symmetric part of the residuals' derivative at each of the margins."""
    columns = []
    for k in range(link.outputs):
        move = np.zeros_like(as_rows(margins))
        move[:, k] = step
        move = move.reshape(margins.shape)
        after = as_rows(link.residuals(margins + move, targets, caps))
        before = as_rows(link.residuals(margins - move, targets, caps))
        columns.append((after - before) / (2.0 * step))
    found = np.stack(columns, axis=2)
    return (found + found.transpose(0, 2, 1)) / 2.0


def bounds_of(link):
    """The gradient bounds with which this loss can be had, for rows of length two."""
    for clip in (None, 0.3, 1.5):
        try:
            link.objective(2.0, clip, 0.0)
        except InvalidDescription:  # it has no bound of its own, or may not be clipped
            continue
        yield clip


@pytest.mark.parametrize(
    ("link", "clip"), [(link, clip) for link in LINKS for clip in bounds_of(link)], ids=repr
)
def test_constants_against_a_grid_of_hessians(link, clip):
    """No point of the grid passes the constants, and some point comes close to each of them."""
    made = link.objective(2.0, clip, 0.0)
    margins = margins_on_a_grid(link)
    least, most, longest = math.inf, 0.0, 0.0
    for length in (2.0, 0.9):
        caps = np.full(len(margins), 1e9 if clip is None else clip / length)
        for targets in targets_on_a_grid(link, margins):
            with np.errstate(over="ignore"):
                slopes = as_rows(link.residuals(margins.copy(), targets, caps))
                bends = jacobians(link, margins, targets, caps)
            ends = np.linalg.eigvalsh(bends) * length**2
            least, most = min(least, ends.min()), max(most, ends.max())
            longest = max(longest, np.linalg.norm(slopes, axis=1).max() * length)
    assert least >= made.strong_convexity - 1e-4
    assert 0.95 * made.smoothness <= most <= made.smoothness * (1.0 + 1e-4)
    assert 0.95 * made.gradient_bound <= longest <= made.gradient_bound * (1.0 + 1e-12)


@pytest.mark.parametrize("link", LINKS, ids=ids)
def test_what_means_nothing_is_no_target(link):
    several = isinstance(link, losses.MultiSquared)
    for wrong in (math.nan, math.inf, -math.inf):
        assert not link.usable(np.full((2, link.outputs) if several else 2, wrong)).any()
    assert 0.0 < link.error(1.0) <= link.error(100.0) < 1e-6


@pytest.mark.parametrize("link", LINKS, ids=ids)
def test_every_loss_has_a_prior_that_can_be_planned_with(link):
    prior = link.prior
    assert isinstance(prior, losses.Prior)
    assert prior.noise > 0.0 and prior.enough > 0.0 and prior.fading >= 0.0
    numbers = [r for r in prior.residuals if r is not None]
    assert numbers == sorted(numbers) and None not in prior.residuals[:-1]
    for bound in prior.residuals:
        assert link.objective(1.0, bound, 0.0).gradient_bound > 0.0


@pytest.mark.parametrize("link", SAMPLED, ids=repr)
def test_what_is_said_of_a_loss_that_is_sampled(link):
    """The height at margin zero, and how fast the trace of the Hessian changes."""
    drawn = targets_for(link, np.random.default_rng(8), 200)
    shape = 200 if link.outputs == 1 else (200, link.outputs)
    height = link.height(float(np.abs(drawn).max()))
    highest = link.losses(np.zeros(shape), drawn).max()
    assert 0.999 * height <= highest <= height
    assert not link.unclipped(1.0).clipped
    if link.third_derivative is None:
        return
    margins = margins_on_a_grid(link)
    steepest = 0.0
    for targets in targets_on_a_grid(link, margins):
        caps = np.full(len(margins), math.inf)

        def trace(at, targets=targets, caps=caps):
            return np.trace(jacobians(link, at, targets, caps, 1e-4), axis1=1, axis2=2)

        squares = np.zeros(len(margins))
        for k in range(link.outputs):
            move = np.zeros_like(as_rows(margins))
            move[:, k] = 1e-3
            move = move.reshape(margins.shape)
            squares += ((trace(margins + move) - trace(margins - move)) / 2e-3) ** 2
        steepest = max(steepest, math.sqrt(squares.max()))
    assert 0.6 * link.third_derivative <= steepest <= link.third_derivative * (1.0 + 1e-4) + 1e-6


def test_losses_are_found_by_walking_and_their_names_are_bound():
    exported = {v for name in losses.__all__ if isinstance(v := getattr(losses, name), type)}
    assert set(LOSSES) <= exported
    assert {kind.__name__ for kind in LOSSES} >= {"Logistic", "Huber", "SoftmaxClamp", "LogCosh"}
    for name, function in registry.constants().items():
        assert name in losses.__all__ and getattr(losses, name) is function
