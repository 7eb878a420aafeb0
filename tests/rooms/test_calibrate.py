"""Noise that has no formula: the least that will do, found with few answers, from any start."""

import importlib
from dataclasses import replace

import pytest

import wane
from wane.errors import Unreachable

home = importlib.import_module("wane.certify.calibrate")

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

    def counting(run):
        asked.append(run)
        return wane.certify(run)

    monkeypatch.setattr(home, "certify", counting)
    return asked


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_least_noise_that_will_do(run, answers):
    noise = wane.calibrate(run, **TARGET).value
    assert len(answers) <= 16
    assert epsilon(run, noise) <= TARGET["epsilon"] < epsilon(run, noise * (1.0 - 2e-6))


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
