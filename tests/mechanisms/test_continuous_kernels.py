"""Continuous kernels against integrals on fine grids, which share no code with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.mechanisms import (
    AmplifiedGuarantee,
    DensityKernel,
    GaussianKernel,
    LaplaceKernel,
    calibrated_power,
)

MULTIPLIERS = (1.0, 1.3, 3.0, 20.0)


def integral(first: Any, second: Any, multiplier: float, reach: float) -> float:
    """The integral of (p - m q)_+ by the midpoint rule."""
    edges = np.linspace(-reach, reach, 400_001)
    middles = 0.5 * (edges[1:] + edges[:-1])
    gap = np.maximum(first(middles) - multiplier * second(middles), 0.0)
    return float(gap.sum() * (edges[1] - edges[0]))


@pytest.mark.parametrize(("diameter", "lipschitz", "noise"), [(1.0, 1.0, 0.7), (2.0, 0.5, 1.3)])
def test_one_application_is_the_worst_pair(diameter: float, lipschitz: float, noise: float) -> None:
    shift, reach = diameter * lipschitz, 60.0 * noise
    fields = {"diameter": diameter, "lipschitz": lipschitz}
    gaussian = GaussianKernel(noise_std=noise, **fields)
    laplace = LaplaceKernel(scale=noise, **fields)
    for law, kernel in ((stats.norm, gaussian), (stats.laplace, laplace)):
        for m, claimed in zip(MULTIPLIERS, kernel.coefficients(MULTIPLIERS), strict=True):
            found = integral(
                lambda y, law=law: law.pdf(y, shift, noise),
                lambda y, law=law: law.pdf(y, 0.0, noise),
                m,
                reach,
            )
            assert found <= claimed + 1e-7
            assert claimed <= found + 1e-6
        edges = np.linspace(-reach, reach, 400_001)
        least = np.minimum.reduce([law.pdf(edges, x, noise) for x in np.linspace(0.0, shift, 9)])
        ignored = float(least.sum() * (edges[1] - edges[0]))
        assert 1.0 - ignored <= kernel.doeblin_coefficient + 1e-5
        assert kernel.doeblin_coefficient <= 1.0 - ignored + 1e-4
    ratio = math.exp(-shift / noise)
    assert laplace.ultra_mixing == pytest.approx(1.0 - ratio, rel=1e-12)
    assert laplace.ultra_mixing >= 1.0 - ratio
    assert gaussian.ultra_mixing == 1.0


def test_laplace_in_several_dimensions_never_exceeds_one() -> None:
    """Two coordinates on a grid: the whole shift in one of them is the worst."""
    kernel = LaplaceKernel(diameter=1.0, scale=0.8, dimension=2)
    points = np.linspace(-16.0, 16.0, 2001)
    cell = (points[1] - points[0]) ** 2
    zero = stats.laplace.pdf(points, 0.0, 0.8)
    for share in (0.0, 0.25, 0.5):
        moved = np.outer(
            stats.laplace.pdf(points, share, 0.8), stats.laplace.pdf(points, 1.0 - share, 0.8)
        )
        for m, claimed in zip((1.0, 1.5, 3.0), kernel.coefficients([1.0, 1.5, 3.0]), strict=True):
            found = float(np.maximum(moved - m * np.outer(zero, zero), 0.0).sum() * cell)
            assert found <= claimed + 1e-3


def projected_walk(cells: int, noise: float, slope: float, law: Any) -> np.ndarray:
    """x -> clip(slope (x - 0.5) + 0.5 + noise, 0, 1) between cells of [0, 1], ends included."""
    middles = (np.arange(cells) + 0.5) / cells
    start = np.concatenate([[0.0], middles, [1.0]])
    edges = np.arange(cells + 1) / cells
    below = law.cdf((edges[None, :] - (slope * (start - 0.5) + 0.5)[:, None]) / noise)
    inner = np.diff(below, axis=1)
    return np.concatenate([below[:, :1], inner, 1.0 - below[:, -1:]], axis=1)


@pytest.mark.parametrize("slope", [1.0, 0.7])
def test_projected_powers_are_never_below_a_fine_grid(slope: float) -> None:
    closest = math.inf
    for kernel, law, noise in (
        (
            GaussianKernel(diameter=1.0, noise_std=0.4, lipschitz=slope, projected=True),
            stats.norm,
            0.4,
        ),
        (
            LaplaceKernel(diameter=1.0, scale=0.3, lipschitz=slope, projected=True),
            stats.laplace,
            0.3,
        ),
    ):
        rows = projected_walk(240, noise, slope, law)
        for times in (1, 2, 3, 8):
            power = np.linalg.matrix_power(rows, times)
            made = kernel.power(times)
            for m, claimed in zip(MULTIPLIERS, made.coefficients(MULTIPLIERS), strict=True):
                exact = float(np.maximum(power[-1] - m * power[0], 0.0).sum())
                assert exact <= claimed + 1e-4  # the grid's own error
                if m == 1.0:
                    closest = min(closest, claimed / exact)
            least = float(power.min(axis=0).sum())
            assert 1.0 - least <= made.doeblin_coefficient + 1e-3
    assert closest < 1.01


def test_dobrushin_is_the_total_variation() -> None:
    exact = math.erf(1.0 / math.sqrt(8.0))
    assert exact <= GaussianKernel(diameter=1.0, noise_std=1.0).dobrushin <= exact * (1 + 1e-9)
    assert LaplaceKernel(diameter=1.0, scale=0.5).dobrushin == pytest.approx(1.0 - math.exp(-1.0))


def test_a_long_power_of_a_projected_walk_forgets_exponentially() -> None:
    kernel = GaussianKernel(diameter=1.0, noise_std=0.2, projected=True)
    assert kernel.power(10**6).dobrushin < 1e-300
    assert kernel.power(10**12).dobrushin > 0.0
    assert kernel.power(400).dobrushin < GaussianKernel(diameter=0.05, noise_std=0.2).dobrushin


def cosine(strength: float, **fields: Any) -> DensityKernel:
    """1 + c cos(pi x) cos(pi y) on [0, 1]; its powers have c^r/2^(r-1) in the place of c."""
    slope = math.pi * strength * 1.0001
    return DensityKernel(
        density=lambda x, y: 1.0 + strength * np.cos(np.pi * x) * np.cos(np.pi * y),
        low=0.0,
        high=1.0,
        input_slope=slope,
        output_slope=slope,
        **fields,
    )


@pytest.mark.parametrize("strength", [0.2, 0.9])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_density_on_an_interval_has_its_known_coefficients(strength: float, times: int) -> None:
    made = cosine(strength, cells=300).power(times)
    c = strength**times / 2.0 ** (times - 1)
    points = (np.arange(200_000) + 0.5) / 200_000
    wave = c * np.cos(np.pi * points)
    slack = 0.03 * times
    for m in (1.0, 1.1, 1.5):
        exact = float(np.maximum(1.0 + wave - m * (1.0 - wave), 0.0).mean())
        claimed = made.coefficients([m])[0]
        assert exact <= claimed <= exact + slack
    assert 2.0 * c / math.pi <= made.doeblin_coefficient <= 2.0 * c / math.pi + slack
    ultra = 1.0 - (1.0 - c) / (1.0 + c)
    assert ultra <= made.ultra_mixing <= ultra + 2.0 * slack
    finer = cosine(strength, cells=600).power(times)
    assert finer.error < 0.6 * made.error


def test_what_lies_between_the_middles_must_be_declared() -> None:
    with pytest.raises(InvalidDescription, match="input_slope must be at least"):
        DensityKernel(
            density=lambda x, y: 1.0 + 0.5 * np.cos(np.pi * x) * np.cos(np.pi * y),
            low=0.0,
            high=1.0,
            input_slope=0.1,
            output_slope=2.0,
        )
    with pytest.raises(InvalidDescription, match="integrate to 1"):
        DensityKernel(
            density=lambda x, y: 0.9 + 0.0 * x, low=0.0, high=1.0, input_slope=0.0, output_slope=0.0
        )
    with pytest.raises(InvalidDescription, match="density must return"):
        DensityKernel(
            density=lambda x, y: 1.0, low=0.0, high=1.0, input_slope=0.0, output_slope=0.0
        )


def test_a_whole_guarantee_is_amplified() -> None:
    """A two-point mechanism in front of Gaussian noise, its sums written out."""
    kernel = GaussianKernel(diameter=1.0, noise_std=0.8)
    made = AmplifiedGuarantee(GaussianDP(1.5), kernel)
    points = np.linspace(-12.0, 13.0, 200_001)
    cell = points[1] - points[0]
    for epsilon in (0.0, 0.5, 1.0):
        for threshold in (-0.5, 0.3, 0.75, 2.0):
            # release 1 if the Gaussian exceeds a threshold, else 0, then noise
            p, q = (float(stats.norm.sf(threshold, mean)) for mean in (1.5, 0.0))
            laws = [
                w * stats.norm.pdf(points, 1.0, 0.8) + (1 - w) * stats.norm.pdf(points, 0.0, 0.8)
                for w in (p, q)
            ]
            gap = np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum() * cell
            assert gap <= made.delta(epsilon) + 1e-7
    assert made.epsilon(1e-6) < GaussianDP(1.5).epsilon(1e-6)
    assert made.repeat(2).epsilon(1e-6) < GaussianDP(1.5).repeat(2).epsilon(1e-6)


def test_the_power_that_meets_a_target() -> None:
    kernel = GaussianKernel(diameter=1.0, noise_std=0.3, projected=True)
    made = calibrated_power(kernel, (1.0, 0.01), epsilon=0.1, delta=1e-6)
    assert made.delta <= 1e-6 and made.power > 1
    short = kernel.power(made.power - 1).amplified_delta(0.1, epsilon=1.0, delta=0.01)
    assert short > 1e-6
    with pytest.raises(Unreachable):
        calibrated_power(kernel, (1.0, 0.01), epsilon=0.1, delta=1e-6, most=2)


def test_refusals() -> None:
    with pytest.raises(InvalidDescription, match="times must be 1 unless projected"):
        GaussianKernel(diameter=1.0, noise_std=1.0).power(2)
    with pytest.raises(InvalidDescription, match="noise_std must be > 0"):
        GaussianKernel(diameter=1.0, noise_std=0.0)
    with pytest.raises(InvalidDescription, match="projected must be True or False"):
        LaplaceKernel(diameter=1.0, scale=1.0, projected="yes")  # type: ignore[arg-type]
    assert GaussianKernel(diameter=0.0, noise_std=1.0).dobrushin == 0.0
    assert LaplaceKernel(diameter=1.0, lipschitz=0.0, scale=1.0).dobrushin == 0.0


def test_amplified_deltas_of_a_gaussian_kernel_match_the_sheet() -> None:
    kernel = GaussianKernel(diameter=1.0, noise_std=1.0)
    assert kernel.amplified_delta(0.5, epsilon=1.0, delta=0.001) == pytest.approx(
        0.02803212861, rel=1e-8
    )
    assert kernel.amplified_delta(1.0, epsilon=4.0, delta=0.0) == pytest.approx(
        0.111095195, rel=1e-8
    )
    statements = kernel.amplify(epsilon=1.0, delta=0.01)
    assert statements["exact"].delta <= statements["dobrushin"].delta < 0.01
