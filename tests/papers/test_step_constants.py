"""Lipschitz constants of one step against reference values."""

import math

import numpy as np
import pytest
from vectors import TEN_DIGITS, cases

from wane import losses
from wane.describe import Objective
from wane.describe.domains import Ridge
from wane.theorems.lemmas import lipschitz as facts

SHEET = "cyclic_and_clipping"


def value_of(log_constant: np.ndarray) -> float:
    return float(np.exp(log_constant).item())


def one(x: float) -> np.ndarray:
    return np.array([float(x)])


# the vectors' m is the weak-convexity modulus: the lower end of the spectrum is -m


@cases(SHEET, "L_smooth")
def test_unclipped_step(case):
    got = value_of(facts.log_gradient_lipschitz(one(case["lam"]), -case["m"], case["M"]))
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "L_clip")
def test_clipped_step(case):
    got = value_of(facts.log_clipped_lipschitz(one(case["lam"]), -case["m"], case["M"]))
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "explicit_ridge_clip")
def test_clipped_step_with_ridge_outside(case, run_with):
    run = run_with(
        objective=Objective(
            gradient_bound=1.0,
            smoothness=case["M"],
            strong_convexity=-case["m"],
            clipped=True,
            ridge=case["mu"],
        )
    )
    got = value_of(facts.log_step_lipschitz(run, one(case["lam"])))
    assert got == pytest.approx(case["value"], rel=TEN_DIGITS)


@cases(SHEET, "ridge_threshold")
def test_ridge_in_the_prox_just_outweighs_clipping(case, run_with):
    objective = Objective(
        gradient_bound=1.0, smoothness=case["M"], strong_convexity=0.0, clipped=True
    )
    eta = one(case["lam"])

    def log_constant(ridge: float) -> float:
        run = run_with(objective=objective, domain=Ridge(ridge))
        step = facts.log_step_lipschitz(run, eta) + facts.log_prox_lipschitz(run, eta)
        return float(step.item())

    threshold = case["value"]
    assert log_constant(threshold * (1 + 1e-8)) < 0 < log_constant(threshold * (1 - 1e-8))


@cases(SHEET, "glm_smoothness_clipped_logistic")
def test_curvature_of_the_clipped_logistic_loss(case):
    made = losses.logistic(case["R"], clip=case["C"])
    assert made.smoothness == pytest.approx(case["value"], rel=TEN_DIGITS)
    assert made.gradient_bound == min(case["C"], case["R"])


def test_softmax_constants():
    made = losses.softmax(3.0)
    assert made.gradient_bound >= math.sqrt(2.0) * 3.0
    assert made.gradient_bound == pytest.approx(math.sqrt(2.0) * 3.0)
    assert made.smoothness == pytest.approx(0.5 * 9.0)
    assert not made.clipped
