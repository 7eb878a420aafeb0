"""The constant of docs/proofs/softmax-laplacian.md: its polynomial inequality, box by box."""

import numpy as np
import pytest
from flint import arb, fmpq

from wane.losses import Softmax
from wane.sampling.models import linear_losses

TOUCHING = (fmpq(1, 100), fmpq(1, 10))
"""Half widths in P and z of the box around (2/3, 0) that the page treats by hand."""


def polynomial(p, z):
    q, r = 1 - p, z * z
    s = p * p + r
    inside = p * p * (p * q - r) ** 2 + s * s * r
    return inside * q - (2 * s - z) * r * r - arb(fmpq(16, 729)) * q


def slopes(p, z):
    """Partial derivatives of the polynomial, by the product rule."""
    q, r = 1 - p, z * z
    s, a = p * p + r, p * q - r
    inside = p * p * a * a + s * s * r
    by_p = (2 * p * a * a + 2 * p * p * a * (1 - 2 * p) + 4 * p * s * r) * q - inside
    by_p += -4 * p * r * r + arb(fmpq(16, 729))
    by_z = (-4 * p * p * a * z + 4 * z * s * r + 2 * z * s * s) * q
    by_z -= (4 * z - 1) * r * r + (2 * s - z) * 4 * z * r
    return by_p, by_z


def ball(low, high):
    middle, radius = (low + high) / 2, (high - low) / 2
    return arb(middle, float(fmpq(radius.p, radius.q)) * (1 + 1e-12) + 1e-300)


def is_negative(box):
    (p0, p1), (z0, z1) = box
    p, z = ball(p0, p1), ball(z0, z1)
    if polynomial(p, z) < 0:
        return True
    centre = arb((p0 + p1) / 2), arb((z0 + z1) / 2)
    by_p, by_z = slopes(p, z)
    return polynomial(*centre) + by_p * (p - centre[0]) + by_z * (z - centre[1]) < 0


def needs_no_proof(box):
    """Inside the box treated by hand, or where z^2 exceeds what probabilities allow."""
    (p0, p1), (z0, z1) = box
    x = max(abs(p0 - fmpq(2, 3)), abs(p1 - fmpq(2, 3)))
    if x <= TOUCHING[0] and z1 <= TOUCHING[1]:
        return True
    return z0 * z0 > (1 - p0) * min(p1, 1 - p0)


def test_the_polynomial_is_negative_on_every_box():
    waiting = [((fmpq(4, 9), fmpq(9, 10)), (fmpq(0), fmpq(1, 2)))]
    boxes = 0
    while waiting:
        box = waiting.pop()
        boxes += 1
        assert boxes < 20_000
        if needs_no_proof(box) or is_negative(box):
            continue
        (p0, p1), (z0, z1) = box
        if p1 - p0 > z1 - z0:
            middle = (p0 + p1) / 2
            waiting += [((p0, middle), (z0, z1)), ((middle, p1), (z0, z1))]
        else:
            middle = (z0 + z1) / 2
            waiting += [((p0, p1), (z0, middle)), ((p0, p1), (middle, z1))]


def test_slopes_are_those_of_the_polynomial():
    h = 1e-6
    for p, z in ((0.5, 0.1), (0.7, 0.3), (0.85, 0.05)):
        by_p, by_z = (float(v) for v in slopes(arb(p), arb(z)))
        rise = float(polynomial(arb(p + h), arb(z)) - polynomial(arb(p - h), arb(z)))
        assert by_p == pytest.approx(rise / (2 * h), abs=1e-8)
        rise = float(polynomial(arb(p), arb(z + h)) - polynomial(arb(p), arb(z - h)))
        assert by_z == pytest.approx(rise / (2 * h), abs=1e-8)


def test_the_declared_constant_is_approached_and_never_exceeded():
    rng = np.random.default_rng(0)
    declared = linear_losses(Softmax(4), columns=1, feature_norm=1.0).laplacian_lipschitz
    assert declared == pytest.approx(8 / 27, rel=1e-12)
    worst = 0.0
    for classes in (2, 3, 10, 100):
        p = rng.dirichlet(np.full(classes, 0.3), size=20_000)
        p[0] = np.r_[2 / 3, np.full(classes - 1, 1 / 3 / (classes - 1))]
        bend = 2.0 * p * (p - (p**2).sum(axis=1, keepdims=True))
        worst = max(worst, float(np.linalg.norm(bend, axis=1).max()))
    assert 0.99 * declared < worst <= declared
