"""Objective perturbation as a rival: its number faces densities summed on grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wane.planning import Problem, objective_perturbation_risk_of, plan
from wane.planning.rivals import objective_perturbation_delta

RNG = np.random.default_rng(11)


def logistic(points, labels, theta):
    """Sum of the losses, their slopes and curvatures at each row of theta."""
    margins = theta @ (points * labels[:, None]).T
    chance = 1.0 / (1.0 + np.exp(margins))
    value = np.logaddexp(0.0, -margins).sum(axis=1)
    return value, -chance @ (points * labels[:, None]), chance * (1.0 - chance)


def density(points, labels, records, theta, *, ridge, noise):
    """The law of the minimiser of mean loss + ridge/2 |t|^2 + <b, t>, by its optimality."""
    dimension = theta.shape[1]
    _, slope, curve = logistic(points, labels, theta)
    slope = slope / records + ridge * theta
    hessian = np.einsum("tk,ki,kj->tij", curve, points, points) / records
    hessian = hessian + ridge * np.eye(dimension)
    gauss = np.exp(-0.5 * (slope**2).sum(axis=1) / noise**2)
    return gauss / (noise * math.sqrt(2.0 * math.pi)) ** dimension * np.linalg.det(hessian)


def grid(dimension, reach, count):
    line = np.linspace(-reach, reach, count)
    mesh = np.meshgrid(*[line] * dimension, indexing="ij")
    return np.stack([axis.ravel() for axis in mesh], axis=1), (line[1] - line[0]) ** dimension


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("replaced", [False, True])
def test_delta_is_never_below_the_exact_one(dimension, replaced):
    """Logistic losses of a few records on the unit sphere; the change may be any record."""
    closest, records = 0.0, 4
    for _ in range(40):
        points = RNG.standard_normal((records, dimension))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        labels = RNG.choice([-1.0, 1.0], records)
        other = points.copy(), labels.copy()
        if replaced:
            other[0][0] = -points[0] if RNG.random() < 0.5 else np.roll(points[0], 1)
        else:
            other = points[1:], labels[1:]
        ridge, level = 10.0 ** RNG.uniform(-1.5, 0.5), RNG.uniform(0.2, 1.5)
        noise = (2.0 if replaced else 1.0) / records / level
        theta, cell = grid(dimension, (1.0 + 8.0 * noise) / ridge, 20001 if dimension == 1 else 401)
        first = density(points, labels, records, theta, ridge=ridge, noise=noise) * cell
        second = density(*other, records, theta, ridge=ridge, noise=noise) * cell
        assert first.sum() == pytest.approx(1.0, abs=1e-5)
        price = math.log1p(0.25 / (records * ridge))
        for epsilon in (price + 0.5 * level**2, price + level**2, price + 2.0 * level):
            bound = objective_perturbation_delta(
                epsilon, level, price, in_a_plane=replaced and dimension > 1
            )
            for one, two in ((first, second), (second, first)):
                exact = float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())
                assert exact <= bound + 1e-6
                closest = max(closest, exact / bound)
    assert closest > 0.05


def test_nothing_is_claimed_below_the_price_of_curvature():
    assert objective_perturbation_delta(0.1, 0.5, 0.2, in_a_plane=False) == 1.0
    assert objective_perturbation_delta(0.3, 0.5, 0.2, in_a_plane=True) == 1.0


@pytest.mark.parametrize("level", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("in_a_plane", [False, True])
def test_closed_forms_are_the_integrals_of_the_proof(level, in_a_plane):
    """E (1 - exp(e - level^2/2 - level chi))_+ for chi of one or two degrees of freedom."""
    chi = np.linspace(0.0, 14.0, 700_001)
    law = np.exp(-0.5 * chi**2) * (chi if in_a_plane else math.sqrt(2.0 / math.pi))
    for rest in (0.5 * level**2, level**2, 3.0 * level + level**2):
        loss = 0.5 * level**2 + level * chi
        exact = np.trapezoid(law * np.maximum(-np.expm1(rest - loss), 0.0), chi)
        found = objective_perturbation_delta(
            rest * (1.0 + 1e-12), level, 0.0, in_a_plane=in_a_plane
        )
        assert found == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.parametrize("ridge", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("noise", [0.05, 0.4])
def test_the_risk_is_above_the_exact_one(ridge, noise):
    """The promised risk at a ridge and a noise faces the mean of the loss under the exact law."""
    points, labels = np.array([[1.0], [0.8], [-0.9]]), np.array([1.0, -1.0, -1.0])
    theta, cell = grid(1, (1.0 + 9.0 * noise) / ridge, 40001)
    law = density(points, labels, 3, theta, ridge=ridge, noise=noise) * cell
    value = logistic(points, labels, theta)[0] / 3
    least = theta[np.argmin(value)][0]
    exact = float((law * (value - value.min())).sum())
    assert exact <= noise**2 / (2.0 * ridge) + 0.5 * ridge * least**2


def problem(**changes):
    given = {
        "gradient_bound": 1.0,
        "smoothness": 0.25,
        "dimension": 3,
        "records": 1000,
        "start_distance": 2.0,
        "adjacency": "zero-out",
    }
    return Problem(**(given | changes))


def test_the_number_is_that_of_the_best_ridge_and_the_least_noise():
    """A search of its own, coarse in both, never finds less, and comes near."""
    known = problem()
    promised = objective_perturbation_risk_of(known, 1.0, 1e-6)
    best = math.inf
    for ridge in np.geomspace(1e-4, 1.0, 120):
        price = math.log1p(0.25 / (1000 * ridge))
        for level in np.geomspace(1e-2, 1.0, 400):
            if objective_perturbation_delta(1.0, level, price, in_a_plane=False) <= 1e-6:
                noise = 1e-3 / level
                best = min(best, 3 * noise**2 / (2.0 * ridge) + 0.5 * ridge * 4.0)
    assert promised == pytest.approx(best, rel=0.02)
    assert promised < known.no_step_risk


def test_goals_without_one_epsilon_and_delta_leave_no_number():
    assert objective_perturbation_risk_of(problem(), 0.0, 1e-6) == problem().no_step_risk
    constants = {
        "gradient_bound": 1.0,
        "smoothness": 0.25,
        "dimension": 3,
        "records": 1000,
        "start_distance": 2.0,
        "most_steps": 20,
    }
    assert plan(mu=0.3, **constants).objective_perturbation_risk is None
    assert plan(epsilon=1.0, delta=1e-6, **constants).objective_perturbation_risk > 0.0
