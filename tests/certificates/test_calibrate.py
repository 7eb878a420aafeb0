"""Noise that has no formula: the least that will do, found with few answers, from any start."""

import importlib
import json
import math
from dataclasses import replace

import pytest

import wane
from wane.cli import main
from wane.describe.domains import Unbounded
from wane.describe.fields import run_to_fields
from wane.errors import InvalidDescription, Unreachable

home = importlib.import_module("wane.certificates.calibration")

CONVEX = wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=1e-3)
COMMON = {"records": 1000, "steps": 300, "step_size": 1.0, "noise": wane.NoiseMultiplier(2.0)}
RUNS = {
    "Poisson": wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0), batches=wane.Poisson(20), **COMMON
    ),
    "fixed size, seen": wane.NoisyDescent(
        objective=CONVEX,
        batches=wane.WithoutReplacement(20),
        release=wane.EveryIterate(),
        **COMMON,
    ),
    "Poisson on a ball": wane.NoisyDescent(
        objective=CONVEX, batches=wane.Poisson(20), domain=wane.Ball(0.5), **COMMON
    ),
}
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def epsilon(run, noise):
    return wane.certify(replace(run, noise=wane.NoiseMultiplier(noise))).epsilon(TARGET["delta"])


@pytest.fixture
def answers(monkeypatch):
    """The runs that calibration certifies."""
    asked = []

    def counting(run, facts, theorems=None):
        asked.append(theorems)
        return wane.certify(run, theorems, facts=facts(run))

    monkeypatch.setattr(home, "certify_with", counting)
    return asked


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_least_noise_that_will_do(run, answers):
    noise = wane.calibrate(run, **TARGET).value
    assert len(answers) <= 16
    assert epsilon(run, noise) <= TARGET["epsilon"] < epsilon(run, noise * (1.0 - 2e-6))


def test_all_theorems_are_asked_only_when_the_leader_may_have_changed(answers):
    """Hidden steps lead where the search begins, contraction where it ends."""
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=1.0),
        records=1000,
        steps=10**6,
        step_size=1.0,
        noise=wane.GradientNoise(1.0),
        batches=wane.WithoutReplacement(100),
        domain=wane.Diameter(1.0),
    )
    target = {"epsilon": 0.27, "delta": 1e-5}
    made = wane.calibrate(run, **target)
    assert wane.certify(run).best(1e-5).theorem.name == "fixed_size_last_iterate"
    assert made.certificate.best(1e-5).theorem.name == "fixed_size_contraction"
    assert answers.count(None) <= 4 < len(answers)
    assert len(made.certificate.verdicts) == len(wane.certify(run).verdicts)
    less = run.noise_scaled(made.value * (1.0 - 2e-6))
    assert made.reached <= 0.27 < wane.certify(less).epsilon(1e-5)


def test_where_composition_wins_the_others_are_asked_twice(answers):
    wane.calibrate(RUNS["Poisson on a ball"], epsilon=4.0, delta=1e-6)
    assert answers.count(None) == 2 < len(answers)


@pytest.mark.parametrize("factor", [1e-9, 1e-2, 1.0 + 1e-7, 3.0, 1e6])
def test_any_start_leads_there(factor, answers):
    run = RUNS["Poisson"]
    noise = wane.calibrate(run, **TARGET).value
    answers.clear()
    start = replace(run, noise=wane.NoiseMultiplier(noise * factor))
    found = wane.calibrate(start, **TARGET).value
    assert found == pytest.approx(noise, rel=2e-6)
    assert len(answers) <= 60
    assert epsilon(run, found) <= TARGET["epsilon"]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.2), (0.0, 1e-6), (1e-9, 1e-9), (50.0, 0.5), (1.0, 1.0)]
)
def test_targets_at_the_edge(epsilon, delta):
    made = wane.calibrate(RUNS["Poisson"], epsilon=epsilon, delta=delta)
    assert made.certificate.epsilon(delta) <= epsilon
    assert made.value > 0.0


def test_what_no_noise_reaches_is_said(monkeypatch):
    monkeypatch.setattr(home, "LARGEST_FACTOR", 2.0)
    with pytest.raises(Unreachable, match="No amount of noise reaches"):
        wane.calibrate(RUNS["Poisson"], epsilon=1e-3, delta=1e-6)


QUIET = {**COMMON, "noise": wane.NoiseMultiplier(20.0)}
GAUSSIAN = wane.NoisyDescent(objective=CONVEX, batches=wane.Cyclic(20), **QUIET)
GOALS = [
    ({"renyi": (8.0, 0.5)}, lambda certificate: certificate.renyi(8.0), 0.5),
    ({"renyi": (1.5, 2.0)}, lambda certificate: certificate.renyi(1.5), 2.0),
    ({"zcdp": 0.1}, lambda certificate: certificate.zcdp, 0.1),
    ({"mu": 0.7}, lambda certificate: certificate.mu, 0.7),
    ({"epsilon": 1.0, "delta": 1e-6}, lambda certificate: certificate.epsilon(1e-6), 1.0),
]


@pytest.mark.parametrize(("goal", "measure", "wanted"), GOALS)
@pytest.mark.parametrize("over", ["noise", "steps", "step-size"])
def test_every_target_is_met_from_the_private_side(goal, measure, wanted, over):
    found = wane.calibrate(GAUSSIAN, over=over, **goal)
    assert measure(found.certificate) <= wanted
    assert found.reached == measure(found.certificate)
    if over == "noise":
        assert measure(found.certificate) == pytest.approx(wanted, rel=1e-9)
        assert measure(wane.certify(found.run.noise_scaled(1.0 - 1e-9))) > wanted


def test_a_divergence_may_be_the_target_of_sampled_runs():
    found = wane.calibrate(RUNS["Poisson"], renyi=(8.0, 0.2))
    assert 0.2 * (1 - 1e-4) <= found.certificate.renyi(8.0) <= 0.2


def test_gaussian_targets_of_sampled_runs_are_unreachable():
    for goal in ({"zcdp": 0.1}, {"mu": 0.5}):
        with pytest.raises(Unreachable, match="No amount of noise reaches"):
            wane.calibrate(RUNS["Poisson"], **goal)


@pytest.mark.parametrize(
    "goal",
    [
        {},
        {"epsilon": 1.0},
        {"delta": 1e-5},
        {"mu": 1.0, "delta": 1e-5},
        {"mu": 1.0, "zcdp": 1.0},
        {"renyi": (2.0, 1.0), "epsilon": 1.0, "delta": 1e-5},
        {"renyi": 2.0},
        {"renyi": (1.0, 1.0)},
        {"renyi": (2.0, 0.0)},
        {"zcdp": 0.0},
        {"mu": 0.0},
    ],
)
def test_targets_that_are_none_are_refused(goal):
    with pytest.raises(InvalidDescription):
        wane.calibrate(GAUSSIAN, **goal)


def test_the_divergence_of_a_certificate_is_the_least_of_all_theorems():
    certificate = wane.certify(GAUSSIAN)
    each = [v.guarantee.renyi(3.0) for v in certificate.applicable]
    assert len(each) > 1
    assert certificate.renyi(3.0) == min(each) < max(each)
    with pytest.raises(InvalidDescription, match="order must be"):
        certificate.renyi(1.0)


def test_of_equal_epsilons_the_smaller_mu_is_best():
    """Both theorems give epsilon 0 at a large delta; composition has a far larger mu."""
    run = replace(GAUSSIAN, noise=wane.NoiseMultiplier(1e6), steps=5000)
    certificate = wane.certify(run)
    mus = {v.analysis.name: v.guarantee.mu for v in certificate.applicable}
    assert certificate.epsilon(1e-2) == 0.0
    assert mus["last_iterate"] < 0.2 * mus["gaussian_composition"]
    assert certificate.best(1e-2).guarantee.mu == min(mus.values())
    assert certificate.epsilon(0.0) == float("inf")
    assert certificate.best(0.0).guarantee.mu == min(mus.values())


def test_runs_on_other_numbers_of_records_are_not_composed():
    one, other = (wane.certify(replace(GAUSSIAN, records=n)) for n in (1000, 2000))
    assert one.compose(one).mu == pytest.approx(2**0.5 * one.mu)
    with pytest.raises(InvalidDescription, match="records must be the same"):
        one.compose(other)


STEEP = wane.NoisyDescent(
    objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, ridge=0.25),
    records=1000,
    steps=300,
    step_size=0.5,
    noise=wane.NoiseMultiplier(40.0),
)


def test_no_step_is_returned_at_which_the_run_explodes():
    found = wane.calibrate(STEEP, epsilon=10.0, delta=1e-5, over="step-size")
    assert found.value == pytest.approx(2.0 / 1.25) and found.value <= 2.0 / 1.25
    assert "explodes" in found.note
    longer = wane.certify(replace(STEEP, step_size=100.0))
    assert longer.epsilon(1e-5) <= 10.0  # privacy alone would allow it


def test_short_steps_are_calibrated_without_a_note():
    """Under a temperature the noise shrinks with the step's square root, so privacy decides."""
    run = replace(STEEP, noise=wane.Temperature(0.0002))
    found = wane.calibrate(run, mu=0.5, over="step-size")
    assert found.value < 2.0 / 1.25 and found.note == ""
    assert (
        found.certificate.mu
        <= 0.5
        < wane.certify(replace(run, step_size=found.value * (1 + 1e-6))).mu
    )


def test_undeclared_smoothness_is_said():
    run = replace(STEEP, objective=wane.Objective(gradient_bound=1.0))
    found = wane.calibrate(run, epsilon=10.0, delta=1e-5, over="step-size")
    assert "not known" in found.note and not found.limited
    linear = replace(STEEP, objective=wane.Objective(gradient_bound=1.0, smoothness=0.0))
    assert wane.calibrate(linear, epsilon=10.0, delta=1e-5, over="step-size").note == ""


def test_a_curve_along_the_step_size_is_made_of_certificates():
    run = replace(STEEP, noise=wane.Temperature(0.0002))
    made = wane.curve(run, over="step_size", start=0.01, stop=1.0, points=4, delta=1e-5)
    assert made.axis.value == "step-size" and made.values[-1] == 1.0
    for size, epsilon in zip(made.values, made.best, strict=True):
        assert epsilon == wane.certify(replace(run, step_size=size)).epsilon(1e-5)
    scheduled = replace(run, steps=None, step_size=None, noise=None, schedule=list(run.plan))
    with pytest.raises(wane.InvalidDescription, match="over must not be step-size"):
        wane.curve(scheduled, over="step-size", start=0.1, stop=1.0)


CYCLIC = wane.NoisyDescent(
    objective=wane.Objective(gradient_bound=1.0, smoothness=0.5, strong_convexity=0.0, ridge=0.2),
    records=60,
    steps=47,
    step_size=0.5,
    noise=wane.NoiseMultiplier(2.0),
    batches=wane.Cyclic(5),
)


@pytest.mark.parametrize("domain", [Unbounded(), wane.Ball(0.3)])
def test_a_curve_over_positions_is_that_of_each_record(domain):
    """Linear losses, followed step by step for one batch of the order, leak at least half of it."""
    run = replace(CYCLIC, domain=domain)
    made = wane.curve(run, over="position", delta=1e-5)
    assert made.values == tuple(range(1, 13))
    mus = wane.mu_by_position(run)
    assert made.best == tuple(wane.GaussianDP(float(mu)).epsilon(1e-5) for mu in mus)
    assert max(made.best) == pytest.approx(wane.certify(run).epsilon(1e-5), rel=1e-9)
    (name,) = made.theorems
    assert name == ("last_iterate" if math.isinf(domain.diameter) else "last_iterate_bounded")
    # a batch that is used for the last time so many steps before the end has faded since then
    for place, epsilon in zip(made.values, made.best, strict=True):
        gap = variance = 0.0
        for step in range(run.steps):
            keep = 1.0 - run.step_size * 0.2  # losses that do not bend at all
            moved = run.step_size * 2.0 / 5 if step % 12 == place - 1 else 0.0
            gap = keep * gap + moved
            variance = keep**2 * variance + (run.step_size * 2.0 / 5) ** 2
        if math.isinf(domain.diameter):
            exact = wane.GaussianDP(gap / math.sqrt(variance)).epsilon(1e-5)
            assert exact * (1.0 - 1e-9) <= epsilon <= exact * 2.0


def test_a_curve_over_some_positions(tmp_path, capsys):
    few = wane.curve(CYCLIC, over="position", start=2, stop=12.0, points=3)
    assert few.values == (2, 7, 12)
    for wrong in ({"start": 0}, {"stop": 13}, {"start": 2.5}, {"start": 5, "stop": 4}):
        with pytest.raises(InvalidDescription, match="must be"):
            wane.curve(CYCLIC, over="position", **wrong)
    with pytest.raises(InvalidDescription, match="say where to begin"):
        wane.curve(CYCLIC, over="steps", stop=3)
    with pytest.raises(wane.NoTheoremApplies, match="by position"):
        wane.curve(replace(CYCLIC, batches=wane.Poisson(5)), over="position")
    place = tmp_path / "cyclic.json"
    place.write_text(json.dumps(run_to_fields(CYCLIC)))
    assert main(["curve", str(place), "--over", "position", "--from", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["over"] == "position" and printed["values"][0] == 2
