"""Plan a run from a privacy target and public constants, and compare it with other methods."""

from wane.planning.constant_steps import (
    descent_noise,
    excess_risk,
    output_perturbation_risk,
    plan_descent,
)
from wane.planning.problem import Problem
from wane.planning.risk import excess_risk_of
from wane.planning.rivals import (
    objective_perturbation_risk_of,
    output_perturbation_risk_of,
)
from wane.planning.search import Plan, plan

__all__ = [
    "Plan",
    "Problem",
    "descent_noise",
    "excess_risk",
    "excess_risk_of",
    "objective_perturbation_risk_of",
    "output_perturbation_risk",
    "output_perturbation_risk_of",
    "plan",
    "plan_descent",
]
