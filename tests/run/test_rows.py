"""Both ways of multiplying stored rows are within the stated error of the exact products."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from wane.run import LinearSums, compiled_softmax, compiling, links, rows

UNIT = Fraction(1, 2**53)


def exact_sum(terms) -> tuple[Fraction, Fraction]:
    """The exact sum, and the sum of the lengths."""
    terms = list(terms)
    return sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0))


def near(found: float, left, right) -> bool:
    """Whether a computed inner product has the error that any order of additions may have."""
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    exact, length = exact_sum(Fraction(a) * Fraction(b) for a, b in pairs)
    return abs(Fraction(float(found)) - exact) <= (len(left) + 8) * UNIT * length


def windows(features):
    kernels = rows._kernels()
    assert kernels is not None, "the extra fast is among what the tests install"
    return [rows.CopiedRows(features, None, 64), rows.CompiledRows(features, kernels)]


@pytest.mark.parametrize("cancelling", [False, True])
@pytest.mark.parametrize("part", [slice(3, 50), np.array([40, 2, 2, 17, 33])], ids=["slice", "set"])
def test_products_are_those_of_double_precision(part, cancelling):
    rng = np.random.default_rng(1)
    features = (rng.standard_normal((64, 21)) * 10.0 ** rng.integers(-9, 9, (64, 21))).astype("f4")
    weights = rng.standard_normal(21)
    if cancelling:
        features[:, 1::2] = -features[:, :-1:2]
        weights[1::2] = weights[:-1:2] * (1 + 1e-9)
    features.setflags(write=False)
    taken = features[part]
    residuals = rng.standard_normal(len(taken))
    for view in windows(features):
        for row, found in zip(taken, view.times(part, weights), strict=True):
            assert near(found, row, weights)
        for column, found in zip(taken.T, view.gathered(part, residuals), strict=True):
            assert near(found, column, residuals)


@pytest.mark.parametrize("outputs", [2, 3, 10])
@pytest.mark.parametrize("part", [slice(3, 50), slice(7, 8), np.array([40, 2, 2, 17, 33])], ids=str)
def test_products_of_several_outputs_are_those_of_double_precision(part, outputs):
    rng = np.random.default_rng(4)
    features = (rng.standard_normal((64, 21)) * 10.0 ** rng.integers(-9, 9, (64, 21))).astype("f4")
    taken, weights = features[part], rng.standard_normal((21, outputs))
    residuals = rng.standard_normal((len(taken), outputs))
    view = rows.CompiledPairs(features, rows._kernels())
    for row, found in zip(taken, view.times(part, weights), strict=True):
        assert all(near(f, row, w) for f, w in zip(found, weights.T, strict=True))
    for column, found in zip(taken.T, view.gathered(part, residuals), strict=True):
        assert all(near(f, column, r) for f, r in zip(found, residuals.T, strict=True))


@pytest.mark.parametrize("intercept", [0.0, 1.0])
def test_sums_hardly_depend_on_the_way(monkeypatch, intercept):
    rng = np.random.default_rng(2)
    features = rng.standard_normal((5000, 7), dtype=np.float32)
    targets = np.where(rng.random(5000) < 0.5, 1.0, -1.0)

    def total():
        sums = LinearSums(
            features,
            targets,
            links.Logistic(),
            feature_norm=2.0,
            gradient_bound=0.3,
            intercept=intercept,
        )
        return sums(np.linspace(-1, 1, 7 + (intercept > 0)), slice(0, 5000))

    plain = total()
    monkeypatch.setattr(compiling, "COMPILED_FROM", 1)
    seen = []
    made = rows.CompiledRows.__init__
    monkeypatch.setattr(
        rows.CompiledRows, "__init__", lambda *given: (seen.append(1), made(*given))[1]
    )
    np.testing.assert_allclose(total(), plain, rtol=0, atol=1e-10)
    assert seen


@pytest.mark.parametrize("link", [links.Logistic(), links.SoftmaxEnvelope(3)], ids=["one", "many"])
def test_one_record_moves_a_compiled_sum_by_no_more_than_the_bound(monkeypatch, link):
    """Neighbouring tables, zero-out, with records that try to be longer than declared."""
    monkeypatch.setattr(compiling, "COMPILED_FROM", 1)
    rng = np.random.default_rng(3)
    for trial in range(300):
        n, d = int(rng.integers(2, 200)), int(rng.integers(1, 40))
        features = rng.standard_normal((n, d), dtype=np.float32)
        features *= np.float32(10.0) ** rng.integers(-18, 18, (n, 1))
        targets = rng.integers(0, link.outputs, n) if link.outputs > 1 else rng.choice([-1, 1], n)
        other = features.copy()
        other[int(rng.integers(n))] = 0.0
        pair = [
            LinearSums(f, targets, link, feature_norm=1.0, gradient_bound=0.3)
            for f in (features, other)
        ]
        x = rng.standard_normal(pair[0].shape) * 10.0 ** rng.integers(-3, 4)
        one, two = (sums(x, slice(0, n)) for sums in pair)
        assert np.linalg.norm(one - two) <= 0.3, trial


def test_rows_that_hold_no_record_are_copied_and_blanked(monkeypatch):
    monkeypatch.setattr(compiling, "COMPILED_FROM", 1)
    features = np.ones((4, 3), dtype=np.float32)
    features[1, 0] = np.nan
    sums = LinearSums(features, np.ones(4), links.Logistic(), feature_norm=9.0)
    found = sums(np.zeros(3), slice(0, 4))
    np.testing.assert_allclose(found, np.full(3, -1.5), rtol=1e-12)


def test_without_numba_rows_are_copied(monkeypatch):
    monkeypatch.setattr(compiling, "COMPILED_FROM", 1)
    monkeypatch.setitem(sys.modules, "numba", None)
    caches = (compiling.compiler, rows._kernels, compiled_softmax._kernels)
    for kept in caches:
        kept.cache_clear()
    try:
        features = np.ones((4, 3), dtype=np.float32)
        assert isinstance(rows.window(features, None, 4, 1), rows.CopiedRows)
        link = links.SoftmaxEnvelope(3)
        assert compiled_softmax.faster(link, 10**9) == link.residuals
    finally:
        for kept in caches:
            kept.cache_clear()
