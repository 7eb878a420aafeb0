"""Certificates of samples face posteriors of concrete losses: privacy, distance to the target."""

import math
import sys
from collections import Counter

import numpy as np
import pytest

from laws.line import DIVERGENCE, _renyi
from laws.loss_cases import OnLine, Sum, parabola
from laws.samplers import (
    KineticCase,
    SampledCase,
    gaussian_divergence,
    kinetic_cases,
    sampled_cases,
)
from laws.soundness import comparisons
from wane.audit.concrete import Family
from wane.audit.meaning import PREDICATES, Truth
from wane.certificates.analyse import certify_distance
from wane.describe.chain import Direction
from wane.guarantees import GaussianDP
from wane.sampling import certify_samples, certify_underdamped
from wane.theorems.gibbs.transfer import closeness
from wane.theorems.theorem import Applies

ORDERS = (1.5, 2.0, 3.0, 5.0, 8.0)
GAUSSIAN = 1e-9
"""The relative error of the recursions of a Gaussian chain."""


def judge_privacy(case: SampledCase, met: Counter, worst: dict[str, float]) -> None:
    for verdict in certify_samples(case.sampled).applicable:
        name = verdict.analysis.name
        met[name] += 1
        for question, exact, certified in comparisons(case, verdict.guarantee, None):
            assert exact <= certified, (name, question, exact, certified, case.sampled, case.data)
            if certified > 1e-4:
                worst[name] = max(worst.get(name, 0.0), exact / certified)


def judge_distance(case: SampledCase, met: Counter, worst: dict[str, float]) -> None:
    table = closeness(case.sampled.chain)
    for law, target in zip(case.laws, case.targets, strict=True):
        for place, order in enumerate(table.orders):
            if order not in ORDERS:
                continue
            for name, pair, bounds in (
                ("chain first", (law, target), table.chain_first),
                ("target first", (target, law), table.target_first),
            ):
                exact = float(_renyi(*pair, order)[0]) * (1 - DIVERGENCE) - DIVERGENCE
                assert exact <= bounds[place], (name, order, exact, bounds[place], case.sampled)
                if math.isfinite(bounds[place]):
                    met[name] += 1
                    worst[name] = max(worst.get(name, 0.0), exact / bounds[place])


def judge_samples(seed: int, count: int) -> tuple[Counter, dict[str, float]]:
    met, worst, source = Counter(), {}, sampled_cases(np.random.default_rng(seed))
    for _ in range(count):
        case = next(source)
        judge_privacy(case, met, worst)
        judge_distance(case, met, worst)
    return met, worst


def test_samples_are_no_less_private_and_no_further_from_their_target_than_certified():
    met, _ = judge_samples(0, 25)
    assert met["gibbs_transfer"] >= 3 and met["chain first"] >= 20


@pytest.mark.slow
def test_many_posteriors():
    met, worst = judge_samples(1, 400)
    for name, count in sorted(met.items()):
        print(f"{name:24} {count:6d}  {worst.get(name, 0.0):.6f}", file=sys.stderr)
    for name in ("last_iterate", "gaussian_composition", "gibbs_transfer", "range_transfer"):
        assert met[name] >= 50, met
    assert min(met["chain first"], met["target first"]) >= 50


def judge_kinetic(case: KineticCase, met: Counter, worst: dict[str, float]) -> None:
    mu = case.mu * (1 - GAUSSIAN)
    for verdict in certify_underdamped(case.sampled).verdicts:
        if not isinstance(verdict, Applies):
            continue
        name, guarantee = verdict.analysis.name, verdict.guarantee
        met[name] += 1
        if isinstance(guarantee, GaussianDP):
            assert mu <= guarantee.mu, (name, mu, guarantee.mu, case)
            worst[name] = max(worst.get(name, 0.0), mu / guarantee.mu)
        else:
            for order in ORDERS:
                assert order * mu**2 / 2 <= guarantee.renyi(order), (name, order, case)
    table = closeness(case.sampled.chain)
    for law, target in zip(case.laws, case.targets, strict=True):
        for order, first, second in zip(
            table.orders, table.chain_first, table.target_first, strict=True
        ):
            for pair, bound in (((law, target), first), ((target, law), second)):
                if math.isfinite(bound):
                    exact = gaussian_divergence(*pair, order)
                    assert exact * (1 - GAUSSIAN) - GAUSSIAN <= bound, (order, case)
                    met["kinetic distance"] += 1


def test_underdamped_samples_are_above_the_truth():
    met, worst, source = Counter(), {}, kinetic_cases(np.random.default_rng(3))
    for _ in range(70):
        judge_kinetic(next(source), met, worst)
    assert min(met["kinetic_composition"], met["kinetic_last_state"]) >= 30, met
    assert met["kinetic distance"] >= 50
    assert max(worst.values()) > 0.5


def test_the_constants_of_a_target_are_true_of_it():
    """For both data sets of a pair, one record more and one less included."""
    source = sampled_cases(np.random.default_rng(4))
    for _ in range(12):
        case = next(source)
        n, target = case.line.records, case.sampled.posterior.target
        for data in case.data:
            parts = [Scaled(case.line.losses[k], 1 / n) for k in data if k is not None]
            whole = OnLine(Sum((*parts, parabola(case.line.ridge))))
            family = Family((whole,), np.full(1, -np.inf), np.full(1, np.inf))
            for name in ("strong_convexity", "smoothness"):
                assert PREDICATES[f"target.{name}"](target, family) is not Truth.REFUTED
            slope = float(whole.gradient(np.zeros((1, 1)))[0, 0])
            start = case.sampled.posterior.start.distance
            assert start is not None  # a zero of the slope must lie within it
            ends = whole.gradient(np.array([[-start - 1e-9], [start + 1e-9]]))[:, 0]
            assert ends[0] <= 0.0 <= ends[1], (slope, start)


class Scaled:
    """A scalar times a positive number."""

    def __init__(self, scalar, by: float):
        self.scalar, self.by, self.kinks = scalar, by, scalar.kinks

    def slope(self, x):
        return self.by * self.scalar.slope(x)

    def bend(self, x):
        return self.by * self.scalar.bend(x)

    def slope_within(self, a, b):
        return tuple(self.by * end for end in self.scalar.slope_within(a, b))

    def bend_within(self, a, b):
        return tuple(self.by * end for end in self.scalar.bend_within(a, b))


@pytest.mark.slow
def test_optimised_distances_are_above_the_truth():
    """The delivered bounds are the least, so the nearest to a violation."""
    source = sampled_cases(np.random.default_rng(5))
    for _ in range(4):
        case = next(source)
        for order in (1.5, 3.0):
            for direction in Direction:
                bound = certify_distance(case.sampled.chain, order=order, direction=direction)
                for law, target in zip(case.laws, case.targets, strict=True):
                    first = direction is Direction.CHAIN_FIRST
                    pair = (law, target) if first else (target, law)
                    exact = float(_renyi(*pair, order)[0]) * (1 - DIVERGENCE) - DIVERGENCE
                    assert exact <= bound.value
