"""The released curvature covers both neighbours, costs what it says, and lengthens steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from wane.certify import JointCertificate, certify
from wane.describe import Adjacency, Cyclic, FullBatch
from wane.describe.domains import Ball
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, WithFailure
from wane.learn.curvature import _largest_eigenvalue, private_curvature
from wane.learn.plan import Problem, plan
from wane.run.links import Logistic, SoftmaxEnvelope, Squared

LINKS = [(Logistic(), 0.2), (Logistic(), None), (SoftmaxEnvelope(4), 0.3), (Squared(), 0.5)]
MU, BETA = 0.05, 1e-6


class Fixed:
    """Stands in for a generator whose next normal number is known."""

    def __init__(self, value: float) -> None:
        self.value = value

    def standard_normal(self) -> float:
        return self.value


def rows(seed: int, n: int = 60, d: int = 3, scale: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    made = generator.standard_normal((n, d)) * scale
    return made / np.maximum(1.0, np.linalg.norm(made, axis=1, keepdims=True))


def released(features, link, bound, z=0.0, adjacency=Adjacency.ZERO_OUT, **more):
    return private_curvature(
        features,
        link,
        feature_norm=1.0,
        gradient_bound=bound,
        mu=MU,
        failure_probability=BETA,
        adjacency=adjacency,
        generator=Fixed(z),  # type: ignore[arg-type]
        **more,
    )


@pytest.mark.parametrize(("link", "bound"), LINKS, ids=str)
def test_one_record_moves_the_eigenvalue_by_at_most_its_own_curvature(link, bound):
    generator = np.random.default_rng(1)
    M = link.objective(1.0, bound, 0.0).smoothness
    largest = 0.0
    for seed in range(60):
        here = rows(seed, n=12, scale=generator.choice([0.05, 1.0, 3.0]))
        there = here.copy()
        there[0] = generator.choice([0.0, 1.0]) * rows(seed + 1000, 1)[0]
        values = [_largest_eigenvalue(x, link, 1.0, bound, 0.0) for x in (here, there)]
        largest = max(largest, abs(values[0] - values[1]) / (M / 12))
    assert largest <= 1.0 + 1e-12
    same, null = np.tile([1.0, 0, 0], (12, 1)), np.tile([1.0, 0, 0], (12, 1))
    null[0] = 0.0
    values = [_largest_eigenvalue(x, link, 1.0, bound, 0.0) for x in (same, null)]
    assert values[0] - values[1] == pytest.approx(M / 12)  # attained


@pytest.mark.parametrize("bound", [0.05, 0.2, 0.6])
def test_it_covers_every_hessian_of_the_average(bound):
    """Short rows may bend more for their length, once their residual may be longer."""
    generator = np.random.default_rng(2)
    for seed in range(30):
        here = rows(seed, n=20, scale=0.4) * generator.uniform(0.02, 1.0, (20, 1))
        top = _largest_eigenvalue(here, Logistic(), 1.0, bound, 0.0)
        for _ in range(20):
            p = 1.0 / (1.0 + np.exp(here @ (generator.standard_normal(3) * 30)))
            inside = p * np.linalg.norm(here, axis=1) <= bound
            hessian = (here * (p * (1 - p) * inside)[:, None]).T @ here / len(here)
            assert np.linalg.eigvalsh(hessian)[-1] <= top * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_at_the_edge_of_failure_both_neighbours_are_still_covered(adjacency):
    z = 4.753424308822899  # P(Z < -z) = 1e-6
    features = np.concatenate([rows(0, 400), 0.01 * rows(1, 400)])
    found = released(features, Logistic(), 0.2, -z * (1 - 1e-9), adjacency)
    neighbour = features.copy()
    neighbour[-1] = [1.0, 0.0, 0.0]
    for x in (features, neighbour):
        assert found.smoothness >= _largest_eigenvalue(x, Logistic(), 1.0, 0.2, 0.0)


def test_the_noise_is_that_of_its_guarantee():
    features = np.concatenate([rows(3, 1000), np.zeros((9000, 3))])
    low, high = (released(features, Logistic(), None, z).smoothness for z in (0.0, 1.0))
    assert high - low == pytest.approx(0.25 / 10_000 / MU, rel=1e-6)
    guarantee = released(features, Logistic(), None).release.guarantee
    assert guarantee == WithFailure(GaussianDP(MU), BETA)


def test_never_worse_than_one_record():
    assert released(rows(4, 50), Logistic(), 0.2, z=50.0).smoothness == pytest.approx(0.16)
    assert released(rows(4, 50), Logistic(), 0.2, z=-1e9).smoothness > 0.0


def test_rows_that_mean_nothing_or_are_too_long_do_no_harm():
    odd = rows(5, 2000)
    odd[0], odd[1], odd[2] = np.nan, np.inf, 1e200
    found = released(odd, Logistic(), 0.2, intercept=0.1)
    assert math.isfinite(found.smoothness) and found.smoothness <= 0.16


def test_longer_steps_are_certified_together_with_the_bound():
    features = rows(6, 40_000, d=8)
    of = Problem(link=Logistic(), records=40_000, features=8, feature_norm=1.0)
    run = plan(
        of,
        epsilon=1.0,
        delta=1e-5,
        adjacency=Adjacency.ZERO_OUT,
        batches=FullBatch(),
        ridge=0.001,
        clip=1.0,
        steps=3000,
        step_size=7.0,
    )
    bound = released(features, Logistic(), 1.0)
    assert bound.smoothness < 0.05
    longer = replace(run, step_size=5 * run.step_size)
    known = certify(longer).epsilon(1e-5)  # the theorems expand, and charge for every iterate
    joint = JointCertificate((bound.release, certify(bound.applied(longer))))
    assert joint.epsilon(1e-5) < 0.75 * known


def test_where_the_average_is_not_what_runs_it_is_refused():
    of = Problem(link=Logistic(), records=200, features=3, feature_norm=1.0)
    bound = released(rows(7, 200), Logistic(), 0.2)

    def planned(adjacency=Adjacency.ZERO_OUT, **choices):
        return plan(of, epsilon=1.0, delta=1e-5, adjacency=adjacency, **choices)

    with pytest.raises(InvalidDescription, match="batches"):
        bound.applied(planned(batches=Cyclic(50)))
    with pytest.raises(InvalidDescription, match="domain"):
        bound.applied(planned(batches=FullBatch(), domain=Ball(1.0)))
    with pytest.raises(InvalidDescription, match="adjacency"):
        bound.applied(planned(Adjacency.REPLACE_ONE, batches=FullBatch()))
    with pytest.raises(InvalidDescription, match="adjacency"):
        released(rows(7, 20), Logistic(), 0.2, adjacency=Adjacency.ADD_REMOVE)
    with pytest.raises(InvalidDescription, match="failure_probability"):
        private_curvature(
            rows(7, 20),
            Logistic(),
            feature_norm=1.0,
            gradient_bound=0.2,
            mu=MU,
            failure_probability=0.0,
            adjacency=Adjacency.ZERO_OUT,
            generator=np.random.default_rng(0),
        )
