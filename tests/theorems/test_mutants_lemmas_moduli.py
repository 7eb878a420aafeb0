"""Moduli of steps against their formulas in fifty digits: values, tangents and rows of losses."""

import math
import random

import numpy as np
import pytest
from formulas_of_moduli import DISTANCES, affine, monotone, mp, near, refined, smallest, triangle

from wane.theorems.lemmas import loss_moduli as rows
from wane.theorems.lemmas.moduli import (
    IDENTITY,
    SMALLEST_DISTANCE,
    AffineSquare,
    HolderOnDomain,
    Least,
    Narrowed,
    RefinedHolder,
    Scaled,
    Shifted,
    Triangle,
)

CASES = {
    "identity": (IDENTITY, affine(1)),
    "affine": (AffineSquare(-0.7, 0.3), affine(mp.exp(mp.mpf(-0.7)), 0.3)),
    "to one point": (AffineSquare(-math.inf, 0.3), affine(0, 0.3)),
    "refined": (RefinedHolder(0.3, 0.5, 1.3), refined(0.3, 0.5, 1.3)),
    "refined, nearly smooth": (RefinedHolder(0.3, 0.9, 1.3), refined(0.3, 0.9, 1.3)),
    "refined, little change": (RefinedHolder(3.0, 0.25, 2.0, 0.4), refined(3.0, 0.25, 2.0, 0.4)),
    "refined, some change": (RefinedHolder(3.0, 0.4, 2.0, 3.0), refined(3.0, 0.4, 2.0, 3.0)),
    "on a set": (HolderOnDomain(0.3, 0.5, 1.3), monotone(0.3, 0.5, 1.3)),
    "on a set, bounded": (HolderOnDomain(2.0, 0.3, 1.3, 1.5), monotone(2.0, 0.3, 1.3, 1.5)),
    "triangle": (Triangle(0.3, 1.0, 2.0), triangle(0.3, 1, 2.0)),
    "triangle, bounded": (Triangle(0.3, 1.0, 2.0, 0.6), triangle(0.3, 1, 2.0, 0.6)),
    "triangle, Hoelder": (Triangle(0.3, 0.5, 2.0, 5.0), triangle(0.3, 0.5, 2.0, 5.0)),
    "triangle, a bound": (Triangle(0.3, change=0.6), triangle(0.3, G=0.6)),
    "least": (
        Least((Triangle(0.3, 1.0, 2.0, 0.6), AffineSquare(0.1, 0.01), AffineSquare(0.0, 0.2))),
        smallest(triangle(0.3, 1, 2.0, 0.6), affine(mp.exp(mp.mpf(0.1)), 0.01), affine(1, 0.2)),
    ),
    "scaled": (
        Scaled(Triangle(0.3, 1.0, 2.0, 0.6), 0.7),
        lambda w: mp.mpf(0.7) ** 2 * triangle(0.3, 1, 2.0, 0.6)(w),
    ),
    "narrowed": (
        Narrowed(Triangle(0.3, 1.0, 2.0, 0.6), 0.7),
        lambda w: triangle(0.3, 1, 2.0, 0.6)(mp.mpf(0.7) ** 2 * w),
    ),
    "shifted": (
        Shifted(HolderOnDomain(2.0, 0.3, 1.3, 1.5), 0.25),
        lambda w: (mp.sqrt(monotone(2.0, 0.3, 1.3, 1.5)(w)) + mp.mpf(0.25)) ** 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_modulus_is_its_formula_rounded_up(name):
    modulus, psi = CASES[name]
    for d in DISTANCES:
        assert near(modulus(d), mp.sqrt(psi(mp.mpf(d) ** 2)))
    assert modulus(1e-200) == modulus(SMALLEST_DISTANCE) > 0.0


@pytest.mark.parametrize("name", CASES)
def test_tangents_touch_and_stay_above(name):
    modulus, psi = CASES[name]
    squares = [mp.mpf(d) ** 2 for d in DISTANCES]
    slopes, intercepts = modulus.tangents(np.array([float(w) for w in squares]))
    for w, slope, intercept in zip(squares, slopes.tolist(), intercepts.tolist(), strict=True):
        assert intercept >= 0.0 and slope > 0.0
        assert near(slope * w + intercept, psi(w))
        assert all(slope * v + intercept >= psi(v) * (1 - mp.mpf("1e-15")) for v in squares)


@pytest.mark.parametrize("name", ["refined", "on a set", "triangle, Hoelder", "triangle"])
def test_moduli_of_huge_distances_do_not_overflow(name):
    modulus, psi = CASES[name]
    for d in (1e60, 1e140):
        assert near(modulus(d), mp.sqrt(psi(mp.mpf(d) ** 2)))


def test_what_is_left_out_is_not_bounded():
    for made, psi in (
        (RefinedHolder(0.3, 0.5, 1.3), refined(0.3, 0.5, 1.3)),
        (HolderOnDomain(0.3, 0.5, 1.3), monotone(0.3, 0.5, 1.3)),
        (Triangle(0.3, 1.0, 2.0), triangle(0.3, 1, 2.0)),
        (Triangle(0.3, change=0.6), triangle(0.3, G=0.6)),
        (AffineSquare(-0.7), affine(mp.exp(mp.mpf(-0.7)))),
    ):
        assert near(made(2.0), mp.sqrt(psi(mp.mpf(4))))


def test_a_refined_modulus_beyond_the_doubles_is_infinite():
    """A change of 1e180 moves two points 1e380 apart."""
    assert RefinedHolder(1e200, 0.5, 1e190, 1e180)(1.0) == math.inf
    assert math.isfinite(RefinedHolder(1e10, 0.5, 1e190, 1e120)(1.0))


def test_an_exact_logarithm_has_an_exact_factor():
    assert IDENTITY.factor == 1.0
    for log_c in (-3.0, 1e-16, 2.0):
        assert near(AffineSquare(log_c).factor, mp.exp(mp.mpf(log_c)), "1e-13")


# one function for each kind of loss


@pytest.mark.parametrize("eta", [0.05, 0.6, 3.0])
def test_rows_are_their_formulas(eta):
    e, M, m, G, lam, kappa = (mp.mpf(x) for x in (eta, 1.25, 0.3, 1.7, 0.2, 0.15))
    found = {
        rows.affine(0.25, 0.5): affine(0.25, 0.5),
        rows.nonsmooth_convex(eta, 1.7): affine(1, (e * G) ** 2),
        rows.nonsmooth_convex(eta, 1.7, 0.1): affine(1 - 2 * e * mp.mpf(0.1), (e * G) ** 2),
        rows.strongly_convex_smooth(eta, 0.3, 1.25): affine(
            max((1 - e * m) ** 2, (1 - e * M) ** 2)
        ),
        rows.smooth_convex(eta, 1.25): affine(max(1, (e * M - 1) ** 2)),
        rows.smooth(eta, 1.25): affine((1 + e * M) ** 2),
        rows.smooth_bounded(eta, 1.25, 1.7): triangle(eta, 1, 1.25, 1.7),
        rows.weakly_smooth_refined(eta, 1.25, 0.0, 1.7): affine(1, (e * min(M, G)) ** 2),
        rows.weakly_smooth_refined(eta, 1.25, 0.0, 1.1): affine(1, (e * mp.mpf(1.1)) ** 2),
        rows.weakly_smooth_refined(eta, 1.25, 1.0): affine(max(1, (e * M - 1) ** 2)),
        rows.weakly_smooth_refined(eta, 0.0, 0.5): affine(1),
        rows.weakly_smooth_refined(eta, 0.5, 0.5): refined(eta, 0.5, 0.5),
        rows.weakly_smooth_refined(eta, 1.25, 0.5, 1.1): refined(eta, 0.5, 1.25, 1.1),
        rows.weakly_smooth_on_domain(eta, 1.25, 0.5, 1.1): monotone(eta, 0.5, 1.25, 1.1),
        rows.weakly_smooth(eta, 1.25, 0.5): affine(
            1, 4 * (1 - mp.mpf(0.5)) / mp.mpf(1.5) * (e * M / 2) ** 4
        ),
        rows.dissipative(eta, 0.2, 0.15, M=1.25): affine(
            1 - 2 * e * kappa + (e * M) ** 2, 2 * e * lam
        ),
        rows.dissipative(eta, 0.2, 0.15, G=1.7): affine(
            1 - 2 * e * kappa, 2 * e * lam + (e * G) ** 2
        ),
        rows.dissipative(eta, 0.2, 0.15, M=1.25, G=1.7): smallest(
            affine(1 - 2 * e * kappa + (e * M) ** 2, 2 * e * lam),
            affine(1 - 2 * e * kappa, 2 * e * lam + (e * G) ** 2),
        ),
        rows.saddle(eta, 1.7, 1.25, 0.1): smallest(
            affine(1 - 2 * e * mp.mpf(0.1) + (e * M) ** 2),
            affine(1 - 2 * e * mp.mpf(0.1), (e * G) ** 2),
        ),
    }
    for row, psi in found.items():
        for d in DISTANCES:
            assert near(row(d), mp.sqrt(psi(mp.mpf(d) ** 2)))


def test_factors_that_cancel_are_not_rounded_below_zero():
    assert rows.affine(0.0, 2.0) == rows.affine(-1.0, 2.0) == AffineSquare(-math.inf, 2.0)
    assert rows.nonsmooth_convex(5.0, 1.0, 0.1).log_factor > -math.inf, "it is raised"
    assert rows.nonsmooth_convex(50.0, 1.0, 0.1).log_factor == -math.inf
    for eta in (0.5 / 0.3, 2.5 / 1.5, 1.0 / 0.9):
        half = 0.5 / eta
        for row in (rows.nonsmooth_convex(eta, 1.0, half), rows.dissipative(eta, 0.0, half, G=1.0)):
            assert isinstance(row, AffineSquare)
            assert row.factor >= max(1 - 2 * mp.mpf(eta) * mp.mpf(half), 0)
        bent = rows.dissipative(eta, 0.0, 1.0 / eta, M=1.0 / eta)
        assert bent.factor >= 1 - 2 * eta * mp.mpf(1.0 / eta) + (eta * mp.mpf(1.0 / eta)) ** 2


def test_factors_near_zero_are_not_rounded_down():
    """All but the last digits of 1 - 2 eta kappa + (eta M)^2 cancel."""
    draw = random.Random(0)
    for _ in range(300):
        eta, off = draw.uniform(0.1, 9.0), draw.uniform(-1e-8, 1e-8)
        steep = (1.0 + off) / eta
        e, M = mp.mpf(eta), mp.mpf(steep)
        assert rows.dissipative(eta, 0.0, steep, M=steep).factor >= (1 - e * M) ** 2
        half = 0.5 * steep
        exact = max(1 - 2 * e * mp.mpf(half), 0)
        assert rows.dissipative(eta, 0.0, half, G=1.0).factor >= exact
        assert rows.nonsmooth_convex(eta, 1.0, half).factor >= exact


def test_what_a_weakly_smooth_step_adds_at_most():
    assert rows.weakly_smooth_offset(2.0, 1.0, 1.0) == 0.0
    assert rows.weakly_smooth_offset(2.0, 1.01, 1.0) == math.inf
    assert rows.weakly_smooth_offset(2.0, 0.0, 0.5) == 0.0
    assert rows.weakly_smooth_offset(1e30, 1e30, 0.95) == math.inf
    for eta, M, p in ((0.3, 2.0, 0.25), (3.0, 2.0, 0.75), (0.5, 1.0, 0.0)):
        e, L, q = mp.mpf(eta), mp.mpf(M), mp.mpf(p)
        exact = 4 * (1 - q) / (1 + q) * (e * L / 2) ** (2 / (1 - q))
        found = rows.weakly_smooth_offset(eta, M, p)
        assert found == pytest.approx(float(exact), rel=1e-13)
    # it is where the refined modulus ends up, far away
    far = RefinedHolder(3.0, 0.75, 2.0)(1e4) ** 2 - 1e8
    assert far == pytest.approx(rows.weakly_smooth_offset(3.0, 2.0, 0.75), rel=1e-5)
