"""`wane plan`: from a privacy target and public constants to the run of least certified risk."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

from wane import report
from wane.certificates.parts import DEFAULT_DELTA, json_number
from wane.cli.folder import check_new
from wane.cli.options import Result, Verb, number, whole
from wane.describe.fields import run_to_fields
from wane.planning import Plan, Problem, plan

_WITH_HYPOTHESES = ("objective_perturbation_risk", "dynamics_paper_risk")
_POINTS = 9
_SPREAD = 8.0
"""A plot shows targets from an eighth to eight times the one that is asked for."""


def register(verb: Verb) -> None:
    """Add the command."""
    words = "step sizes, steps, noise, ridge and public steps for the least certified risk"
    made = verb("plan", plan_command, words, spec=False)
    made.add_argument("--epsilon", type=number, help="target, with --delta")
    made.add_argument("--delta", type=number, help="of --epsilon")
    made.add_argument("--mu", type=number, help="target: Gaussian privacy, instead")
    made.add_argument(
        "--gradient-bound", type=number, required=True, metavar="C", help="of a record"
    )
    words = "Lipschitz constant of a record's gradient"
    made.add_argument("--smoothness", type=number, required=True, metavar="M", help=words)
    words = "of a record's loss (default 0, which is convex)"
    made.add_argument("--strong-convexity", type=number, default=0.0, metavar="m", help=words)
    made.add_argument("--dimension", type=whole, required=True, metavar="d", help="of the weights")
    made.add_argument("--records", type=whole, required=True, metavar="n", help="how many")
    made.add_argument(
        "--start-distance",
        type=number,
        required=True,
        metavar="R",
        help="a public bound on the distance of the start, the origin, from the minimiser",
    )
    words = "replace-one (the default) or zero-out"
    made.add_argument("--adjacency", default="replace-one", metavar="A", help=words)
    words = "public records, whose losses obey the same constants (with --public-gradient-gap)"
    made.add_argument("--public-records", type=whole, metavar="k", help=words)
    words = "how far their average gradient may be from that of the others"
    made.add_argument("--public-gradient-gap", type=number, metavar="G", help=words)
    made.add_argument("--most-steps", type=whole, default=20_000, help="(default 20000)")
    made.add_argument("--plot", metavar="FILE", help="draw the risks against the target")
    made.add_argument("--force", action="store_true", help="replace the file")


def plan_command(options: Namespace) -> Result:
    """Plan, and set the rivals beside it."""
    if options.plot:
        check_new(options.plot, force=options.force)
    constants = _constants(options)
    target = {"epsilon": options.epsilon, "delta": options.delta, "mu": options.mu}
    found = plan(**constants, **target)
    made = _fields(found, target)
    if options.plot:
        _draw(constants, target, options.plot)
    return made, _text(found, made)


def _constants(options: Namespace) -> dict[str, Any]:
    return {
        "gradient_bound": options.gradient_bound,
        "smoothness": options.smoothness,
        "strong_convexity": options.strong_convexity,
        "dimension": options.dimension,
        "records": options.records,
        "start_distance": options.start_distance,
        "adjacency": options.adjacency,
        "public_records": options.public_records,
        "public_gradient_gap": options.public_gradient_gap,
        "most_steps": options.most_steps,
    }


def _fields(found: Plan, target: dict[str, float | None]) -> dict[str, Any]:
    delta = DEFAULT_DELTA if target["delta"] is None else target["delta"]
    certificate, run = found.certificate, found.run
    epsilon = 0.0 if certificate is None else certificate.epsilon(delta)
    return {
        "description": None if run is None else run_to_fields(run),
        "excess_risk": found.excess_risk,
        "no_step_risk": found.no_step_risk,
        "output_perturbation_risk": found.output_perturbation_risk,
        "objective_perturbation_risk": found.objective_perturbation_risk,
        "dynamics_paper_risk": _printed_risk(found.problem, target["epsilon"], target["delta"]),
        "epsilon": json_number(epsilon),
        "delta": delta,
        "mu": 0.0 if certificate is None else json_number(certificate.least_mu),
        "theorem": None if certificate is None else certificate.best(delta).analysis.name,
        "steps": 0 if run is None else run.total_steps,
        "ridge": 0.0 if run is None else run.objective.ridge,
        "cool_down": 0 if run is None else run.cool_down,
        "public_steps": 0 if run is None else int(run.plan.repeat[run.plan.public].sum()),
        "adjacency": found.problem.adjacency.value,
        "target": str(found.goal),
        "note": _note(found),
    }


def _note(found: Plan) -> str | None:
    """Say so where steps are so long that only the ball keeps the iterates."""
    if found.run is None:
        return None
    largest = float(found.run.plan.step_size.max())
    limit = 2.0 / (found.problem.smoothness + found.run.objective.ridge)
    if largest <= limit:
        return None
    return (
        f"Steps of size {largest:.4g} are longer than 2/(smoothness + ridge) = {limit:.4g}: "
        "without the ball the run could explode; its bound on the risk holds in the ball."
    )


def _printed_risk(problem: Problem, epsilon: float | None, delta: float | None) -> float | None:
    """What the dynamics paper's own design promises, None where its hypotheses fail."""
    from wane_papers.dynamics.printed import design_with_delta, excess_risk

    m, M, C = problem.strong_convexity, problem.smoothness, problem.gradient_bound
    if epsilon is None or delta is None or m <= 0.0 or not 0.0 < epsilon <= -2.0 * math.log(delta):
        return None
    size = {"L": C, "lam": m, "beta": M, "d": problem.dimension}
    square, steps = design_with_delta(eps=epsilon, delta=delta, n=problem.records, **size)
    if not steps > 0.0:
        return None
    whole_steps = max(1, math.ceil(steps))
    return float(excess_risk(sigma2=square, eta=m / (2.0 * M * M), K=whole_steps, **size))


def _draw(constants: dict[str, Any], target: dict[str, float | None], path: str) -> None:
    from wane.plots import save_lines

    name = "mu" if target["mu"] is not None else "epsilon"
    base = target[name]
    assert base is not None
    powers = [2.0 * i / (_POINTS - 1) - 1.0 for i in range(_POINTS)]
    rows = []
    for value in (base * _SPREAD**power for power in powers):
        at = target | {name: value}
        rows.append((value, _fields(plan(**constants, **at), at)))
    lines = {
        "plan": "excess_risk",
        "no step": "no_step_risk",
        "output perturbation": "output_perturbation_risk",
        "objective perturbation": "objective_perturbation_risk",
        "the dynamics paper's design": "dynamics_paper_risk",
    }
    points = {
        label: [(value, row[field]) for value, row in rows if row[field] is not None]
        for label, field in lines.items()
    }
    known = {label: line for label, line in points.items() if line}
    save_lines(known, (name, "excess risk, at most"), path, logarithmic="xy")


def _or_why_not(risk: float | None) -> str:
    return "its hypotheses fail" if risk is None else report.shown(risk)


def _text(found: Plan, made: dict[str, Any]) -> str:
    if found.run is None:
        head = "Take no step: nothing that these constants allow promises less than the start."
    else:
        sizes = found.run.plan.step_size
        noise = found.run.gradient_noise_stds
        head = (
            f"{made['steps']} steps of size {sizes.max():.4g} to {sizes.min():.4g}, "
            f"noise {noise.min():.4g} to {noise.max():.4g} on the averaged gradient, "
            f"ridge {made['ridge']:.4g}, cool-down {made['cool_down']}, "
            f"{made['public_steps']} of them on public records, "
            f"in a ball of radius {found.problem.start_distance:.6g} about the start"
        )
    noisy, printed = (_or_why_not(made[name]) for name in _WITH_HYPOTHESES)
    lines = [
        head,
        f"  target                  {made['target']}; certified epsilon "
        f"{report.shown(made['epsilon'])} at delta {report.shown(made['delta'])}",
        f"  excess risk at most     {report.shown(found.excess_risk)}",
        f"  taking no step          {report.shown(found.no_step_risk)}",
        f"  output perturbation     {report.shown(found.output_perturbation_risk)}",
        f"  objective perturbation  {noisy}",
        f"  the dynamics paper      {printed}",
        "The risk needs convex losses whose average is least within that ball; privacy does not.",
    ]
    return "\n".join([*lines, made["note"]] if made["note"] else lines)
