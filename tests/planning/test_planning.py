"""Plans: the risk is never below an exact one nor above no step, and the run meets its target."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wane import (
    Ball,
    Diameter,
    GradientNoise,
    InvalidDescription,
    NoisyDescent,
    Objective,
    PublicRecords,
    plan,
)
from wane.cli.main import main
from wane.describe.fields import run_from_fields
from wane.planning import Problem, excess_risk_of, plan_descent
from wane.planning.risk import EqualSteps, Landscape, risk_of_steps, square_after


def exact_quadratic_risk(
    steps: list[EqualSteps],
    curvature: float,
    ridge: float,
    target: float,
    dimension: int,
    *,
    gap: float = 0.0,
) -> float:
    """E of h/2 |x - t|^2 after the steps on the whole space, by mean and variance.

    Public records have the same curvature and a gradient that is larger by `gap` everywhere.
    """
    mean, variance = 0.0, 0.0
    for phase in steps:
        h = 0.0 if phase.cool_down else curvature
        factor, pull = 1.0 - phase.size * (h + ridge), phase.size * h * target
        pull -= phase.size * gap * phase.public
        for _ in range(phase.count):
            mean = factor * mean + pull
            variance = factor * factor * variance + (phase.size * phase.noise) ** 2
    return 0.5 * curvature * ((mean - target) ** 2 + dimension * variance)


def drawn_steps(rng: np.random.Generator, high: float) -> list[EqualSteps]:
    """A few phases of any order and kind; steps up to the edge of stability."""
    kinds = ({}, {}, {}, {"cool_down": True}, {"public": True})
    phases = [
        EqualSteps(
            int(rng.integers(1, 12)),
            float(10.0 ** rng.uniform(-3.0, math.log10(1.99))) / high,
            float(10.0 ** rng.uniform(-3.0, 1.0)),
            **kinds[int(rng.integers(5))],
        )
        for _ in range(int(rng.integers(1, 6)))
    ]
    if rng.random() < 0.5:
        phases.sort(key=lambda phase: -phase.size)
    return phases


def test_no_risk_is_below_that_of_a_quadratic() -> None:
    """The proof's bounds hold without the projection, so exact Gaussian laws are an oracle."""
    rng = np.random.default_rng(31)
    closest = math.inf
    for _ in range(4000):
        high = float(10.0 ** rng.uniform(-1.0, 1.0))
        low = float(rng.choice([0.0, high * rng.random(), high]))
        ridge = float(rng.choice([0.0, high * 10.0 ** rng.uniform(-3.0, 0.0)]))
        radius, dimension = float(10.0 ** rng.uniform(-1.0, 1.0)), int(rng.integers(1, 5))
        steps = drawn_steps(rng, high + ridge)
        gap = float(rng.choice([0.0, 10.0 ** rng.uniform(-3.0, 0.0)]))
        land = Landscape(low + ridge, high + ridge, dimension, ridge, radius, 1e6, gap)
        bound = risk_of_steps(land, steps)
        for share, sign in ((0.0, 1.0), (0.3, -1.0), (1.0, 1.0), (1.0, -1.0)):
            curvature = low + share * (high - low)
            exact = exact_quadratic_risk(steps, curvature, ridge, radius, dimension, gap=sign * gap)
            assert exact <= bound * (1.0 + 1e-12)
            closest = min(closest, bound / exact if exact > 0.0 else math.inf)
    assert closest < 1.001  # equal steps on isotropic quadratics are met exactly


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("factor, noise", [(0.9, 0.2), (0.9, 0.3), (0.7, 0.3), (0.5, 0.3)])
def test_the_ball_makes_noise_push_inwards(factor: float, noise: float, public: bool) -> None:
    """The closed form without the ball is too small for a minimiser on its edge, by up to 7 %."""
    count, size = 5, 1.0 - factor
    kind = {"public": True} if public else {"cool_down": True}
    steps = EqualSteps(count, size, noise / size, **kind)
    # a ridge of one on steps without records; public losses x^2/2, gradients 1 away at x = 1
    land = Landscape(1.0, 1.0, 1, 0.0 if public else 1.0, 1.0, 1e6, 1.0)
    rng = np.random.default_rng(5)
    x = np.ones(200_000)
    for _ in range(count):
        x = np.clip(factor * x + noise * rng.standard_normal(x.shape), -1.0, 1.0)
    square = (x - 1.0) ** 2
    error = float(square.std()) / math.sqrt(len(x))
    free = (1.0 - factor**count) ** 2
    free += noise * noise * sum(factor ** (2 * i) for i in range(count))
    assert float(square.mean()) - 4.0 * error <= square_after(land, steps, 0.0)
    if factor == 0.9:
        assert float(square.mean()) - 4.0 * error > 1.01 * free


def test_long_steps_on_public_records_settle() -> None:
    land = Landscape(0.5, 1.0, 3, 0.0, 2.0, 1.0, 0.1)
    assert square_after(land, EqualSteps(10**12, 1.0, 0.0, public=True)) == pytest.approx(0.04)
    slow = EqualSteps(10**12, 1e-9, 0.0, public=True)
    assert square_after(land, slow) == math.inf  # not followed so far
    unknown = Landscape(0.5, 1.0, 3, 0.0, 2.0, 1.0)
    assert square_after(unknown, EqualSteps(1, 1.0, 0.0, public=True)) == math.inf


def projected_risk(
    run: NoisyDescent, center: np.ndarray, slope: float, curvature: float, draws: int
) -> tuple[float, float]:
    """Mean and standard error of a Huber loss's risk over runs simulated from the words alone."""
    rng = np.random.default_rng(7)
    radius = run.domain.diameter / 2.0
    points = np.zeros((draws, len(center)))
    for phase, noise in zip(run.plan, run.gradient_noise_stds, strict=True):
        for _ in range(phase.repeat):
            apart = points - center
            lengths = np.linalg.norm(apart, axis=1, keepdims=True)
            gradient = apart * np.minimum(curvature, slope / np.maximum(lengths, 1e-300))
            if phase.cool_down:
                gradient = np.zeros_like(points)
            gradient = gradient + run.objective.ridge * points
            gradient += noise * rng.standard_normal(points.shape)
            points = points - phase.step_size * gradient
            outside = np.linalg.norm(points, axis=1, keepdims=True) / radius
            points = points / np.maximum(outside, 1.0)
    far = np.linalg.norm(points - center, axis=1)
    knee = slope / curvature
    loss = np.where(far <= knee, 0.5 * curvature * far**2, slope * far - 0.5 * slope * knee)
    return float(loss.mean()), float(loss.std() / math.sqrt(draws))


@pytest.mark.parametrize(
    "constants",
    [
        {"smoothness": 1.0, "records": 200, "dimension": 2, "start_distance": 2.0, "mu": 1.0},
        {"smoothness": 50.0, "records": 100, "dimension": 1, "start_distance": 1.0, "mu": 1.0},
        {"smoothness": 0.3, "records": 60, "dimension": 3, "start_distance": 3.0, "mu": 0.5},
        {"smoothness": 5.0, "records": 400, "dimension": 2, "start_distance": 0.5, "mu": 0.3},
    ],
)
def test_promised_risks_hold_for_projected_runs(constants: dict[str, Any]) -> None:
    """Huber losses, least on the edge of the ball, where the gradient still vanishes."""
    found = plan(gradient_bound=1.0, most_steps=400, **constants)
    assert found.run is not None
    if constants["smoothness"] == 50.0:  # long steps, by the bound on the gradients alone
        assert found.run.plan.step_size[0] * 50.0 > 2.0
    center = np.zeros(constants["dimension"])
    center[0] = constants["start_distance"]
    M = constants["smoothness"]
    for curvature in (M, 0.3 * M, 0.05 * M):
        mean, error = projected_risk(found.run, center, 1.0, curvature, 4000)
        assert mean - 5.0 * error <= found.excess_risk


def random_constants(rng: np.random.Generator) -> dict[str, Any]:
    M = float(10.0 ** rng.uniform(-2.0, 2.0))
    return {
        "mu": float(10.0 ** rng.uniform(-2.0, 0.7)),
        "gradient_bound": float(10.0 ** rng.uniform(-1.0, 2.0)),
        "smoothness": M,
        "strong_convexity": float(rng.choice([0.0, M * 10.0 ** rng.uniform(-4.0, 0.0)])),
        "dimension": int(10.0 ** rng.uniform(0.0, 4.0)),
        "records": int(10.0 ** rng.uniform(1.0, 6.0)),
        "start_distance": float(10.0 ** rng.uniform(-1.0, 1.5)),
        "adjacency": str(rng.choice(["replace-one", "zero-out", "add-remove"])),
    }


def check_random_plans(seeds: range, most_steps: int) -> None:
    """Every plan meets its target and stays below no step, and below what quadratics really do."""
    moved = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        constants = random_constants(rng)
        found = plan(**constants, most_steps=most_steps)
        assert found.excess_risk <= found.no_step_risk
        if found.run is None:
            continue
        moved += 1
        assert found.certificate is not None and found.certificate.least_mu is not None
        assert found.certificate.least_mu <= constants["mu"]
        assert found.run.total_steps <= most_steps + found.run.cool_down
        problem, ridge = found.problem, found.run.objective.ridge
        steps = [
            EqualSteps(p.repeat, p.step_size, float(s), p.cool_down)
            for p, s in zip(found.run.plan, found.run.gradient_noise_stds, strict=True)
        ]
        land = Landscape(
            low=problem.strong_convexity + ridge,
            high=problem.smoothness + ridge,
            dimension=problem.dimension,
            ridge=ridge,
            radius=problem.start_distance,
            gradient_bound=1e30,  # the oracle runs on the whole space, where no gradient is bounded
        )
        if max(s.size for s in steps) * land.high > 2.0:
            continue  # kept together by the projection alone, as in the simulated runs above
        promised = risk_of_steps(land, steps)
        for share in (0.0, 0.5, 1.0):
            h = land.low - ridge + share * (land.high - land.low)
            exact = exact_quadratic_risk(steps, h, ridge, land.radius, problem.dimension)
            assert exact <= promised * (1.0 + 1e-9)
    assert moved > len(seeds) // 2


def test_plans_are_never_worse_than_no_step() -> None:
    check_random_plans(range(40), most_steps=200)


@pytest.mark.slow
def test_a_thousand_plans_are_never_worse_than_no_step() -> None:
    check_random_plans(range(1000), most_steps=60)


PUBLIC: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "gradient_bound": 1.0,
    "smoothness": 1.0,
    "strong_convexity": 0.1,
    "dimension": 50,
    "records": 2000,
    "start_distance": 3.0,
    "adjacency": "zero-out",
    "most_steps": 400,
}


def test_public_records_lower_the_risk_as_far_as_they_are_alike() -> None:
    """Steps on them come before and after, and the noise is that of the private ones between."""
    alone = plan(**PUBLIC)
    assert alone.run is not None and not alone.run.plan.public.any()
    risks = []
    for gap in (0.0, 0.003, 0.03, 0.1):
        found = plan(**PUBLIC, public_records=500, public_gradient_gap=gap)
        assert found.run is not None and found.certificate is not None
        public = found.run.plan.public
        assert public[0] and not public.all() and found.run.public is not None
        assert found.run.public.records == 500
        assert found.certificate.epsilon(1e-6) <= 1.0
        assert found.excess_risk == excess_risk_of(found.run, public_gradient_gap=gap)
        assert found.run.total_steps <= PUBLIC["most_steps"] + 64
        h = 0.1  # the losses' least curvature, and gradients off by the gap, either way
        steps = [
            EqualSteps(p.repeat, p.step_size, float(s), public=p.public)
            for p, s in zip(found.run.plan, found.run.gradient_noise_stds, strict=True)
        ]
        for sign in (1.0, -1.0):
            exact = exact_quadratic_risk(steps, h, 0.0, 3.0, 50, gap=sign * gap)
            assert exact <= found.excess_risk
        risks.append(found.excess_risk)
    assert risks == sorted(risks) and risks[1] < 0.2 * alone.excess_risk
    assert risks[-1] < alone.excess_risk


def test_public_records_that_are_not_alike_are_left_alone() -> None:
    found = plan(**PUBLIC, public_records=500, public_gradient_gap=1.0)
    assert found.run == plan(**PUBLIC).run


def test_a_gap_is_asked_for() -> None:
    for given in ({"public_records": 5}, {"public_gradient_gap": 0.1}):
        with pytest.raises(InvalidDescription, match="must be given together"):
            plan(**PUBLIC, **given)
    found = plan(**PUBLIC, public_records=500, public_gradient_gap=0.01)
    assert found.run is not None
    with pytest.raises(InvalidDescription, match="public_gradient_gap must bound"):
        excess_risk_of(found.run)
    with pytest.raises(InvalidDescription, match="public_gradient_gap must be at least 0"):
        excess_risk_of(found.run, public_gradient_gap=-1.0)
    other = replace(found.run.objective, ridge=0.0, smoothness=2.0)
    run = replace(found.run, public=PublicRecords(records=500, objective=other))
    with pytest.raises(InvalidDescription, match=r"public\.objective must be absent"):
        excess_risk_of(run, public_gradient_gap=0.01)


def test_a_fixed_step_size_can_be_worse_than_none() -> None:
    """Why the step size is chosen too: the older plan must take at least one step."""
    given = {
        "mu": 0.1,
        "strong_convexity": 1.0,
        "smoothness": 1.0,
        "dimension": 100,
        "records": 10,
    }
    older = plan_descent(sensitivity=2.0, step_size=1.0, start_distance_squared=1.0, **given)
    newer = plan(gradient_bound=1.0, start_distance=1.0, **given)
    assert older.excess_risk > 100.0 * newer.no_step_risk
    assert newer.excess_risk < newer.no_step_risk


def test_equal_steps_reach_the_ideal_risk() -> None:
    """Theorem E's optimum over real numbers of steps, (M/2) D N/(D + N), without its gap."""
    found = plan(
        mu=0.3,
        gradient_bound=1.0,
        smoothness=1.0,
        strong_convexity=1.0,
        dimension=5,
        records=1000,
        start_distance=0.9,
    )
    floor = 5 * (2.0 / 1000 / 0.3) ** 2
    ideal = 0.5 * 0.81 * floor / (0.81 + floor)
    assert found.excess_risk == pytest.approx(ideal, rel=1e-6)


def test_convex_risk_is_that_of_the_noise_alone() -> None:
    """R S sqrt(d)/mu up to a few per cent, whatever the gradients' length."""
    found = plan(
        mu=1.0, gradient_bound=1.0, smoothness=0.1, dimension=10, records=10_000, start_distance=1.0
    )
    assert found.excess_risk <= 1.1 * (2.0 / 10_000) * math.sqrt(10.0)


def test_strong_convexity_shortens_the_distance() -> None:
    problem = Problem(
        gradient_bound=1.0,
        smoothness=1.0,
        strong_convexity=0.3,
        dimension=1,
        records=10,
        start_distance=50.0,
    )
    assert problem.start_distance == pytest.approx(1.0 / 0.3)
    assert problem.start_distance * 0.3 >= 1.0
    assert problem.strong_convexity * problem.start_distance <= 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"strong_convexity": -0.1}, "not convex"),
        ({"strong_convexity": 2.0}, "at most smoothness"),
        ({"adjacency": "swap"}, "adjacency must be one of"),
        ({"start_distance": 0.0}, "start_distance must be"),
        ({"most_steps": 0}, "most_steps must be"),
        ({"mu": None}, "the target must be one of"),
    ],
)
def test_bad_constants_are_refused(change: dict[str, Any], words: str) -> None:
    good = {
        "mu": 1.0,
        "gradient_bound": 1.0,
        "smoothness": 1.0,
        "dimension": 1,
        "records": 10,
        "start_distance": 1.0,
    }
    with pytest.raises(InvalidDescription, match=words):
        plan(**(good | change))


def test_risk_is_only_told_where_it_is_proved() -> None:
    objective = Objective(
        gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, ridge=0.1, dimension=2
    )
    given: dict[str, Any] = {
        "records": 10,
        "steps": 3,
        "step_size": 0.1,
        "noise": GradientNoise(0.1),
    }
    assert excess_risk_of(NoisyDescent(objective=objective, domain=Ball(1.0), **given)) > 0.0
    for domain in (Diameter(2.0), Ball(1.0, (1.0, 0.0))):
        with pytest.raises(InvalidDescription, match="ball about the origin"):
            excess_risk_of(NoisyDescent(objective=objective, domain=domain, **given))
    clipped = Objective(
        gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, clipped=True, dimension=2
    )
    with pytest.raises(InvalidDescription, match="clipping moves the minimiser"):
        excess_risk_of(NoisyDescent(objective=clipped, domain=Ball(1.0), **given))


CONSTANTS = [
    "--gradient-bound=1",
    "--smoothness=1",
    "--strong-convexity=0.1",
    "--dimension=10",
    "--records=5000",
    "--start-distance=3",
    "--adjacency=zero-out",
]


def test_the_command_prints_what_certify_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = tmp_path / "risks.svg"
    asked = ["plan", "--json", "--epsilon", "1", "--delta", "1e-6", *CONSTANTS]
    assert main([*asked, "--plot", str(picture), "--most-steps", "300"]) == 0
    made = json.loads(capsys.readouterr().out)
    described = tmp_path / "run.json"
    described.write_text(json.dumps(made["description"]))
    assert main(["certify", str(described), "--delta", "1e-6", "--json"]) == 0
    certified = json.loads(capsys.readouterr().out)
    assert certified["epsilon"] == made["epsilon"] <= 1.0
    assert made["excess_risk"] == excess_risk_of(run_from_fields(made["description"]))
    assert made["excess_risk"] <= made["output_perturbation_risk"] <= made["no_step_risk"]
    assert made["dynamics_paper_risk"] > made["excess_risk"]
    assert "objective perturbation" in picture.read_text()


def test_the_command_counts_public_steps(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--mu", "0.5", *CONSTANTS, "--most-steps", "300"]
    words += ["--public-records", "400", "--public-gradient-gap", "0.001"]
    assert main([*words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["description"]["public"]["records"] == 400
    assert 0 < made["public_steps"] < made["steps"]
    assert main(words) == 0
    assert f"{made['public_steps']} of them on public records" in capsys.readouterr().out


def test_the_command_says_when_no_step_is_best(capsys: pytest.CaptureFixture[str]) -> None:
    few = [*CONSTANTS, "--records", "3", "--dimension", "100000", "--strong-convexity", "0"]
    assert main(["plan", "--mu", "0.01", *few]) == 0
    assert capsys.readouterr().out.startswith("Take no step")
    assert main(["plan", "--json", "--mu", "0.01", *few]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["description"] is None and made["epsilon"] == 0.0
    assert made["excess_risk"] == made["no_step_risk"]


@pytest.mark.parametrize("smoothness, said", [("1e6", True), ("1", False)])
def test_steps_that_only_the_ball_keeps_are_told(capsys, smoothness, said):
    words = ["plan", "--epsilon", "1", "--delta", "1e-6", "--gradient-bound", "1"]
    words += ["--smoothness", smoothness, "--dimension", "3", "--records", "10000"]
    words += ["--start-distance", "1", "--most-steps", "60", "--json"]
    assert main(words) == 0
    note = json.loads(capsys.readouterr().out)["note"]
    assert ("could explode" in note) if said else note is None
