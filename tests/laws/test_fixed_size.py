"""Batches of fixed size: the one dominating pair against every batch there is, step by step."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import ndtr

from oracles.tiny_sgd import TinyDescent, fixed_size_pair
from runs import make_run
from wane.audit import ScalarMap, interval
from wane.describe import Adjacency, GradientNoise, Objective, WithoutReplacement
from wane.describe.domains import Diameter
from wane.guarantees import GaussianDP, NumericalDP, Pair, SampledGaussianStep
from wane.numerics.normal import gaussian_delta
from wane.theorems.composition.statement import fixed_size_composition
from wane.theorems.sampled.statement import fixed_size_last_iterate
from wane.theorems.theorem import Applies

QUADRATURE = 1e-6
ORDERS = np.exp([-3.0, -1.2, -0.4, -0.05, 0.0, 0.05, 0.4, 1.2, 3.0])


def profile(order, rate, mu):
    """Lemma S: the hockey-stick divergence of the pair, at any order."""
    if order < 1.0:
        return 1.0 - order + order * profile(1.0 / order, rate, mu)
    return rate * gaussian_delta(math.log1p((order - 1.0) / rate), mu)


def step_of(gradients, size, noise):
    """Means and weights of one step: every batch there is."""
    drawn = list(combinations(gradients, size))
    return [(1.0 / len(drawn), sum(batch) / size, noise) for batch in drawn]


def cells(step, edges):
    """Exact probabilities of the cells between the edges."""
    below = sum(w * ndtr((edges - mean) / noise) for w, mean, noise in step)
    return np.diff(below, prepend=0.0, append=1.0)


def hockey_stick(p, q, order):
    return float(np.maximum(p - order * q, 0.0).sum())


def product_profile(rate, mu, order):
    """Two uses of the pair: its second use in closed form, averaged over the loss of the first."""
    # the second use has a kink at order one: no panel may reach across it
    kink = math.log1p(math.expm1(abs(math.log(order))) / rate) / mu
    edges = np.unique([*np.linspace(0.0, 0.5 * mu + 9.0, 12), min(kink, 0.5 * mu + 9.0)])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(edges)
    x = ((edges[:-1] + half)[:, None] + np.outer(half, nodes)).ravel()
    weights = np.outer(half, weights).ravel()
    plain = np.exp(-0.5 * (x + 0.5 * mu) ** 2) / math.sqrt(2 * math.pi)
    ratio = 1.0 - rate + rate * np.exp(mu * x)
    still = (1.0 - rate) * math.erf(mu / math.sqrt(8.0))
    parts = [(plain * ratio * weights, ratio), (plain * weights, 1.0 / ratio)]
    return still * profile(order, rate, mu) + sum(
        float(m) * profile(order / float(r), rate, mu)
        for masses, ratios in parts
        for m, r in zip(masses, ratios, strict=True)
    )


def neighbours(rng, n):
    """Gradients up to one, at the ends or anywhere, of which the first is replaced."""
    g = rng.choice([-1.0, 1.0], n) if rng.random() < 0.7 else rng.uniform(-1, 1, n)
    other = g.copy()
    other[0] = -g[0] if rng.random() < 0.7 else 0.0
    return g, other


def test_one_step_with_every_batch():
    """Cells lose a little, so that this is a lower bound on the truth."""
    rng = np.random.default_rng(1)
    edges = np.linspace(-9, 9, 2001)
    closest = 0.0
    for _ in range(150):
        n = int(rng.integers(2, 6))
        b = int(rng.integers(1, n))
        noise = float(rng.choice([0.35, 0.6, 1.0, 2.0]))
        p, q = (cells(step_of(g, b, noise), edges) for g in neighbours(rng, n))
        for order in ORDERS:
            bound, trivial = profile(order, b / n, 2 / (b * noise)), max(1.0 - order, 0.0)
            found = hockey_stick(p, q, order)
            assert found <= bound + 1e-12
            if bound - trivial > 1e-3:
                closest = max(closest, (found - trivial) / (bound - trivial))
    assert closest > 0.999  # it is attained


def test_two_steps_of_which_the_second_depends_on_the_first():
    """Both outcomes are seen, and other gradients follow each of four ranges of the first."""
    rng = np.random.default_rng(2)
    edges = np.linspace(-7, 7, 351)
    ranges = np.searchsorted([-0.7, 0.0, 0.7], np.append(edges[0], edges))
    for _ in range(12):
        n = int(rng.integers(2, 5))
        b = int(rng.integers(1, n))
        noise = float(rng.choice([0.6, 1.0, 2.0]))

        def step(n=n, b=b, noise=noise):
            return [cells(step_of(g, b, noise), edges) for g in neighbours(rng, n)]

        p, q = step()
        after = [step() for _ in range(4)]
        for order in ORDERS:
            found = sum(
                hockey_stick(np.outer(p[ranges == k], u), np.outer(q[ranges == k], v), order)
                for k, (u, v) in enumerate(after)
            )
            assert found <= product_profile(b / n, 2 / (b * noise), order) + 1e-9


@pytest.mark.parametrize(("rate", "mu"), [(0.05, 1.0), (0.5, 0.4), (0.9, 3.0)])
def test_the_account_has_this_profile(rate, mu):
    step = SampledGaussianStep(mu, rate, Pair.FIXED_SIZE)
    once, twice = (NumericalDP(((step, count),)) for count in (1, 2))
    for epsilon in (0.0, 0.02, 0.3, 1.0):
        order = math.exp(epsilon)
        exact = profile(order, rate, mu)
        assert exact <= once.delta(epsilon) <= exact * (1 + 1e-4) + 1e-12
        exact = product_profile(rate, mu, order)
        assert exact * (1 - 1e-9) <= twice.delta(epsilon) <= exact * (1 + 1e-3) + 1e-12


def test_directions_must_not_be_composed_apart():
    """Their larger delta lies below a run that exists, which turns round after what it has seen."""
    rate, mu, noise = 0.5, 2.0, 1.0
    apart = NumericalDP(((SampledGaussianStep(mu, rate, Pair.ADD_OR_REMOVE), 2),))
    merged = NumericalDP(((SampledGaussianStep(mu, rate, Pair.FIXED_SIZE), 2),))
    edges = np.linspace(-8, 8, 801)
    # n = 2, b = 1: the record stands out in the first step, and then either it or its replacement
    p, q = (cells(step_of(g, 1, noise), edges) for g in ((1.0, -1.0), (-1.0, -1.0)))
    up = p > q
    exact = hockey_stick(np.outer(p[up], q), np.outer(q[up], p), 1.0)
    exact += hockey_stick(np.outer(p[~up], p), np.outer(q[~up], q), 1.0)
    assert apart.delta(0.0) * 1.01 < exact <= merged.delta(0.0)


def test_never_above_the_replace_pair():
    for rate, mu, count in product((1e-3, 0.1, 0.7), (0.1, 1.0, 4.0), (1, 60)):
        new, old = (
            NumericalDP(((SampledGaussianStep(mu, rate, pair), count),))
            for pair in (Pair.FIXED_SIZE, Pair.REPLACE)
        )
        for order in (1.01, 2.0, 30.0):
            assert new.renyi(order) <= old.renyi(order)
        for delta in (1e-3, 1e-7):
            assert new.epsilon(delta) <= old.epsilon(delta) * (1 + 1e-4)


def certified(analysis, run):
    verdict = analysis(run)
    assert isinstance(verdict, Applies), verdict.obstacles
    return verdict.guarantee


def test_all_records_in_every_batch_are_a_gaussian_mechanism():
    run = make_run(records=20, batches=WithoutReplacement(20), steps=9, noise=GradientNoise(0.5))
    moved = 2.0 * run.objective.gradient_bound / 20
    made = certified(fixed_size_composition, run)
    assert made.epsilon(1e-6) == pytest.approx(
        GaussianDP(3.0 * moved / 0.5).epsilon(1e-6), rel=1e-9
    )


def bent(centre):
    return ScalarMap(lambda x: np.tanh(x - centre))


@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT])
@pytest.mark.parametrize(("size", "steps", "noise"), [(1, 1, 0.7), (1, 2, 0.5), (2, 3, 0.4)])
def test_against_the_exact_last_iterate(adjacency, size, steps, noise):
    """Three records whose losses curve: what the pair of Theorem F and composition must cover."""
    others = (bent(2.0), bent(2.0))
    gone = ScalarMap(np.zeros_like)
    neighbour = bent(2.0) if adjacency is Adjacency.REPLACE_ONE else gone
    for first, second in ((bent(-2.0), neighbour), (neighbour, bent(-2.0))):
        tiny = TinyDescent(
            records=(first, *others),
            neighbour=(second, *others),
            steps=steps,
            step_size=0.6,
            gradient_noise_std=noise,
            divisor=float(size),
            prox=interval(-1.0, 1.0),
        )
        exact = fixed_size_pair(tiny, batch_size=size)
        run = make_run(
            objective=Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
            records=3,
            steps=steps,
            step_size=0.6,
            noise=GradientNoise(noise),
            batches=WithoutReplacement(size),
            domain=Diameter(2.0),
            adjacency=adjacency,
        )
        for analysis in (fixed_size_composition, fixed_size_last_iterate):
            made = certified(analysis, run)
            for epsilon in (0.0, 0.5, 2.0):
                assert exact.hockey_stick(epsilon).lower <= made.delta(epsilon) + QUADRATURE
            for order in (1.5, 6.0):
                assert exact.renyi(order).lower <= made.renyi(order) * (1 + QUADRATURE)


def test_the_last_iterate_gains_from_the_pair():
    """A long run on convex losses in a small set: fewer steps count, each less than before."""
    run = make_run(
        objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        records=1000,
        steps=2000,
        step_size=2.0,
        noise=GradientNoise(2.0 / 50),
        batches=WithoutReplacement(50),
        domain=Diameter(1.0),
    )
    composed = certified(fixed_size_composition, run).epsilon(1e-5)
    hidden = certified(fixed_size_last_iterate, run).epsilon(1e-5)
    assert composed == pytest.approx(20.851, abs=0.01)  # 29.67 by the replace pair
    assert hidden == pytest.approx(11.58, abs=0.05)  # 12.81 by the replace pair
