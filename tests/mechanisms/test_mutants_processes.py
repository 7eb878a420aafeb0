"""What is asked before positions of diffusions are certified, and what verifies them."""

import mpmath
import numpy as np
import pytest
from flint import arb

from wane.balls.arithmetic import bits
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.mechanisms import BrownianMechanism, DensityKernel, DiffusionMechanism, NestedRelease
from wane.theorems.diffusion import statement, verifier

mp = mpmath.mp.clone()
mp.dps = 40


def upper(bound, epsilon):
    with bits(200):
        return mp.mpf(bound.delta(arb(epsilon)).upper().str(35, radius=False))


def declared(**changes):
    known = {"drift_lipschitz": 1.0, "drift_at_centre": 0.0, "sensitivity": 0.5, "time": 1.0}
    return DeclaredDiffusion(adjacency="zero-out", **(known | changes))


@pytest.mark.parametrize("order", [1, -1])
def test_levels_of_a_path_are_verified_at_the_earliest(order):
    process = BrownianMechanism(sensitivity=1.0, time=0.5, adjacency="zero-out")
    levels = dict(list({"team": 0.5, "all": 8.0}.items())[::order])
    bound = verifier.nested_release(NestedRelease(process, levels))
    mu = mp.mpf(process.charged_sensitivity)  # over a deviation of one
    exact = mp.ncdf(mu / 2) - mp.ncdf(-mu / 2)
    assert abs(upper(bound, 0.0) - exact) <= exact * mp.mpf("1e-9")
    assert upper(bound, 0.0) == pytest.approx(GaussianDP(process.mu).delta(0.0), rel=1e-9)


@pytest.mark.parametrize("missing", ["drift_lipschitz", "drift_at_centre"])
def test_constants_that_are_missing_leave_nothing_to_verify(missing):
    made = declared(**{missing: None})
    assert verifier.declared_diffusion_release(made) is None
    assert verifier.reflected_chain(made) is None
    answer = statement.declared_drift(made)
    assert answer.holds is not True and missing in str(answer)
    assert statement.fine_cells(made).holds is True
    assert verifier.declared_diffusion_release(declared()) is not None
    assert verifier.reflected_chain(declared()) is None


def test_what_was_declared_is_said():
    assert "1" in str(statement.declared_drift(declared()))
    kinds = [
        str(statement.declared_drift(declared(dimension=2, drift_is_gradient=kind)))
        for kind in (True, False)
    ]
    assert "a gradient" in kinds[0] and "any drift" in kinds[1]
    assert "0.5" in str(statement.declared_distance(declared()))


def test_a_spread_that_depends_on_the_position_needs_its_constant():
    def made(**changes):
        given = {"drift": lambda x: -x, "sensitivity": 0.5, "time": 1.0, "drift_lipschitz": 1.0}
        given |= {"low": -3.0, "high": 3.0}
        return DiffusionMechanism(adjacency="zero-out", **(given | changes))

    assert statement.steady_spread(made(spread=2.0)).holds is True
    flat = made(spread=lambda x: np.full_like(x, 2.0), spread_lipschitz=0.0)
    assert statement.steady_spread(flat).holds is True
    unknown = made(spread=lambda x: 1.0 + 0.1 * np.cos(x))
    assert statement.steady_spread(unknown).holds is not True
    assert "spread_lipschitz" in str(statement.steady_spread(unknown))
    bent = made(spread=lambda x: 1.0 + 0.1 * np.cos(x), spread_lipschitz=0.1)
    assert statement.steady_spread(bent).holds is False


def test_each_slope_of_a_density_is_checked_along_its_own_axis():
    """1/2 + (x^2 - 1/3) y/8 on [-1, 1]: its slopes are 1/4 by x and 1/12 by y."""

    def density(x, y):
        return 0.5 + (x * x - 1.0 / 3.0) * y / 8.0

    given = {"density": density, "low": -1.0, "high": 1.0, "cells": 50}
    assert DensityKernel(input_slope=0.25, output_slope=0.09, **given).dobrushin < 1.0
    for slopes in ((0.2, 0.25), (0.25, 0.07), (0.09, 0.25)):
        with pytest.raises(InvalidDescription, match="must be at least"):
            DensityKernel(input_slope=slopes[0], output_slope=slopes[1], **given)
