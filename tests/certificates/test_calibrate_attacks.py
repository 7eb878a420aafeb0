"""Calibration to what an attacker may achieve: exact Gaussian laws, and brute force over tests."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from runs import make_run
from wane import Poisson, calibrate, certify
from wane.certificates.goals import AdvantageGoal, DetectionGoal, GuessGoal
from wane.cli import main
from wane.describe import GradientNoise
from wane.errors import InvalidDescription

RUN = make_run(noise=GradientNoise(1.0), steps=1)
"""One full step: two Gaussians, mu apart."""


def best_guess(mu: float, prior: float) -> float:
    """The best of many thresholds, for N(0, 1) without and N(mu, 1) with the record."""
    cut = np.linspace(-12.0, 12.0 + mu, 200_001)
    right = prior * stats.norm.sf(cut - mu) + (1.0 - prior) * stats.norm.cdf(cut)
    return float(max(right.max(), prior, 1.0 - prior))


@pytest.mark.parametrize("advantage", [0.01, 0.1, 0.5, 0.9])
def test_an_advantage_is_met_and_barely(advantage):
    made = calibrate(RUN, advantage=advantage)
    exact = 2.0 * stats.norm.cdf(made.certificate.mu / 2.0) - 1.0
    assert exact <= advantage
    assert exact == pytest.approx(advantage, rel=1e-5)
    assert made.reached <= advantage


@pytest.mark.parametrize("rates", [(1e-3, 0.0024), (1e-3, 0.01), (0.05, 0.2), (0.5, 0.9)])
def test_a_true_positive_rate_is_met_and_barely(rates):
    low, high = rates
    made = calibrate(RUN, attack=rates)
    exact = stats.norm.sf(stats.norm.isf(low) - made.certificate.mu)
    assert exact <= high * (1 + 1e-12)
    assert exact == pytest.approx(high, rel=1e-4)


@pytest.mark.parametrize("prior", [1e-3, 0.2, 0.5, 0.7, 0.999])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_guess_is_right_as_often_as_asked_and_no_more(prior, share):
    surest = max(prior, 1.0 - prior)
    success = surest + share * (1.0 - surest)
    made = calibrate(RUN, guess=(prior, success))
    exact = best_guess(made.certificate.mu, prior)
    assert exact <= success
    assert exact - surest == pytest.approx(success - surest, rel=1e-3)
    assert GuessGoal(prior, success).level_of(made.certificate) >= exact


def test_sampled_runs_meet_their_target_too():
    run = make_run(noise=GradientNoise(0.02), batches=Poisson(10), steps=50)
    made = calibrate(run, advantage=0.05)
    assert certify(made.run).delta(0.0) <= 0.05
    assert made.reached >= 0.0499


@pytest.mark.parametrize(
    "goal, level",
    [
        (AdvantageGoal(0.2), 0.2),
        (DetectionGoal(0.01, 0.1), 0.1),
        (GuessGoal(0.3, 0.8), 0.8),
    ],
)
def test_the_mu_that_steers_has_that_level(goal, level):
    mu = goal.mu_of(level)
    run = make_run(noise=GradientNoise(RUN.gradient_sensitivity / mu), steps=1)
    assert goal.level_of(certify(run)) == pytest.approx(level, rel=1e-9)
    assert math.isinf(goal.mu_of(1.0))


@pytest.mark.parametrize(
    "given, said",
    [
        ({"advantage": 0.0}, "advantage"),
        ({"advantage": 1.5}, "advantage"),
        ({"attack": (0.1, 0.05)}, "true_positive_rate"),
        ({"attack": (0.0, 0.5)}, "false_positive_rate"),
        ({"attack": 0.5}, "attack must be a pair"),
        ({"guess": (0.3, 0.6)}, "success"),
        ({"guess": (1.0, 1.0)}, "prior"),
        ({"guess": (0.3,)}, "guess must be a pair"),
        ({"advantage": 0.1, "mu": 1.0}, "must be one of"),
    ],
)
def test_bad_targets_are_refused_by_name(given, said):
    with pytest.raises(InvalidDescription, match=said):
        calibrate(RUN, **given)


def test_on_the_command_line(tmp_path, capsys):
    spec = tmp_path / "run.toml"
    spec.write_text(
        'kind = "noisy-descent"\nrecords = 1000\nsteps = 1\nstep_size = 0.5\n'
        'release = "last-iterate"\nadjacency = "replace-one"\n[noise]\ngradient_std = 1.0\n'
        "[objective]\ngradient_bound = 1.0\nsmoothness = 1.0\nstrong_convexity = 0.0\n"
    )
    words = ["calibrate", str(spec), "--over", "noise", "--json"]
    for target in (
        ["--advantage", "0.1"],
        ["--attack", "0.001", "0.01"],
        ["--guess", "0.5", "0.6"],
    ):
        assert main([*words, *target]) == 0
        assert json.loads(capsys.readouterr().out)["value"] > 0.0
    assert main([*words, "--advantage", "0.1", "--mu", "1"]) == 2
