"""What a stranger adds from outside: the files of examples/extending, run and put to the tests."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from losses import test_losses as walk
from wane.losses import LOSSES, SampledLoss

ROOT = Path(__file__).parents[2]
LOSS = ROOT / "examples" / "extending" / "loss" / "pseudo_huber.py"


@pytest.fixture(scope="module")
def stranger():
    return runpy.run_path(str(LOSS), run_name="pseudo_huber")


@pytest.fixture(params=[0.25, 2.0])
def loss(stranger, request):
    return stranger["PseudoHuber"](width=request.param)


def test_a_strangers_loss_is_planned_certified_run_and_sampled(stranger):
    made = stranger["main"]()
    assert 1.9 <= made["epsilon"] <= 2.0
    np.testing.assert_allclose(made["weights"], [0.8, -0.5, 0.3], atol=0.15)
    assert made["conditioning of the posterior"] > 1.0


def test_a_strangers_loss_passes_what_walks_the_losses(loss):
    assert type(loss) not in LOSSES and isinstance(loss, SampledLoss)
    walk.test_residuals_are_the_derivative_of_the_loss(loss)
    walk.test_monotone_short_and_smooth(loss)
    for clip in walk.bounds_of(loss):
        walk.test_constants_against_a_grid_of_hessians(loss, clip)
    walk.test_what_means_nothing_is_no_target(loss)
    walk.test_every_loss_has_a_prior_that_can_be_planned_with(loss)
    walk.test_what_is_said_of_a_loss_that_is_sampled(loss)


@pytest.mark.parametrize("constant", ["gradient_bound", "smoothness"])
def test_a_constant_that_is_halved_is_caught(stranger, constant):
    """What walks the losses can fail."""

    class Halved(stranger["PseudoHuber"]):
        def objective(self, feature_norm, gradient_bound, ridge=0.0):
            made = super().objective(feature_norm, gradient_bound, ridge)
            return replace(made, **{constant: getattr(made, constant) / 2.0})

    with pytest.raises(AssertionError):
        walk.test_constants_against_a_grid_of_hessians(Halved(0.25), None)


def test_a_third_derivative_that_is_halved_is_caught(stranger):
    class Halved(stranger["PseudoHuber"]):
        third_derivative = 0.5 * stranger["PseudoHuber"](0.25).third_derivative

    with pytest.raises(AssertionError):
        walk.test_what_is_said_of_a_loss_that_is_sampled(Halved(0.25))
