"""Kernels on infinitely many inputs: every formula with many digits, and every edge."""

import math

import mpmath
import numpy as np
import pytest

from wane.errors import InvalidDescription, Unreachable
from wane.mechanisms import (
    DensityKernel,
    GaussianKernel,
    LaplaceKernel,
    calibrated_power,
    noise_kernels,
)

mp = mpmath.mp.clone()
mp.dps = 40
MULTIPLIERS = [1.0, 1.25, 3.0, 40.0]


def near_and_not_below(found, exact, relative="1e-10"):
    assert exact <= found <= exact * (1 + mp.mpf(relative)) + mp.mpf("1e-300"), (found, exact)


def hockey_stick(mu, m):
    e = mp.log(m)
    return max(mp.ncdf(mu / 2 - e / mu) - m * mp.ncdf(-mu / 2 - e / mu), mp.mpf(0))


def chain(ratio, lipschitz, steps):
    """mu^2 = (B/s)^2 c^r (1 - c)/(1 - c^r)."""
    c = mp.mpf(lipschitz) ** 2
    factor = c**steps * (1 - c) / (1 - c**steps) if c != 1 else mp.mpf(1) / steps
    return mp.mpf(ratio) * mp.sqrt(factor)


def cut(share, blocks, multiplier, most=64):
    """g(m) <= g_1(m) g_2(1 + (m - 1)/g_1(m)), again and again; at the end a power."""
    total, at, m = mp.mpf(1), mp.mpf(multiplier), mp.mpf(multiplier)
    for done in range(1, blocks + 1):
        one = share(at)
        if done == most:
            return total * one ** (blocks - done + 1)
        total *= one
        if total == 0:
            return total
        at = 1 + (m - 1) / total
    return total


@pytest.mark.parametrize("lipschitz", [0.5, 1.0, 1.25])
@pytest.mark.parametrize("times", [1, 2, 3, 6, 17])
def test_gaussian_kernels_take_the_best_cut_into_equal_blocks(lipschitz, times):
    kernel = GaussianKernel(
        diameter=3.0, noise_std=2.0, lipschitz=lipschitz, projected=True, times=times
    )
    lengths = [2**k for k in range(5) if 2**k < times] + [times]
    for m, found in zip(MULTIPLIERS, kernel.coefficients(MULTIPLIERS), strict=True):
        exact = min(
            cut(lambda at, n=n: hockey_stick(chain(1.5, lipschitz, n), at), times // n, m)
            for n in lengths
        )
        if exact > mp.mpf("1e-25"):
            near_and_not_below(found, exact, "1e-8")
        else:
            assert 0.0 <= found < 1e-20
    assert list(kernel._lengths()) == lengths


def test_gaussian_kernels_at_their_edges():
    plain = GaussianKernel(diameter=3.0, noise_std=2.0)
    near_and_not_below(plain.dobrushin, hockey_stick(mp.mpf(1.5), mp.mpf(1)))
    near_and_not_below(plain.doeblin_coefficient, mp.erf(mp.mpf(3) / (mp.sqrt(8) * 2)))
    assert plain.ultra_mixing == 1.0
    wide = GaussianKernel(diameter=3.0, noise_std=2.0, dimension=2)
    assert wide.doeblin_coefficient == 1.0 and wide.dobrushin == plain.dobrushin
    for still in ({"diameter": 0.0}, {"diameter": 3.0, "lipschitz": 0.0}):
        kernel = GaussianKernel(noise_std=2.0, dimension=2, **still)
        assert kernel.dobrushin == kernel.doeblin_coefficient == kernel.ultra_mixing == 0.0
    often = GaussianKernel(diameter=3.0, noise_std=2.0, projected=True, times=3)
    near_and_not_below(often.doeblin_coefficient, mp.erf(mp.mpf(3) / (mp.sqrt(8) * 2)) ** 3)
    assert GaussianKernel(diameter=1e308, noise_std=1e-10).coefficients([1.0, 1e9]) == [1.0, 1.0]


@pytest.mark.parametrize("times", [1, 2, 5, 63, 64, 65, 100])
def test_laplace_kernels_are_cut_into_single_steps(times):
    kernel = LaplaceKernel(diameter=3.0, scale=0.5, lipschitz=0.5, projected=True, times=times)

    def share(at):
        return max(1 - mp.exp((mp.log(at) - 3) / 2), mp.mpf(0))

    for m, found in zip(MULTIPLIERS, kernel.coefficients(MULTIPLIERS), strict=True):
        near_and_not_below(found, cut(share, times, m), "1e-9")
    near_and_not_below(kernel.doeblin_coefficient, (1 - mp.exp(-1.5)) ** times)
    near_and_not_below(kernel.ultra_mixing, (1 - mp.exp(-3)) ** times)
    several = LaplaceKernel(
        diameter=3.0, scale=0.5, lipschitz=0.5, projected=True, times=times, dimension=2
    )
    assert several.doeblin_coefficient == several.ultra_mixing == kernel.ultra_mixing


def test_laplace_kernels_at_their_edges():
    ends = LaplaceKernel(diameter=1.0, scale=1.0)
    assert ends.coefficients([math.e * (1 + 1e-12), math.e * 2.0]) == [0.0, 0.0]
    assert 0.0 < ends.coefficients([math.e * (1 - 1e-9)])[0] < 1e-9
    for still in ({"diameter": 0.0}, {"diameter": 1.0, "lipschitz": 0.0}):
        kernel = LaplaceKernel(scale=1.0, **still)
        assert kernel.dobrushin == kernel.doeblin_coefficient == kernel.ultra_mixing == 0.0
    faint = LaplaceKernel(diameter=1e-300, scale=1e300)
    assert 0.0 < faint.dobrushin < 1e-300 and 0.0 < faint.ultra_mixing < 1e-300
    sharp = LaplaceKernel(diameter=1e300, scale=1e-300)
    assert sharp.dobrushin == sharp.ultra_mixing == sharp.doeblin_coefficient == 1.0


@pytest.mark.parametrize("kind", [GaussianKernel, LaplaceKernel])
@pytest.mark.parametrize(
    "changes",
    [
        {"diameter": -0.5},
        {"lipschitz": -0.5},
        {"dimension": 0},
        {"times": 0},
        {"times": 2},
        {"projected": 1},
        {"noise": 0.0},
        {"noise": -0.5},
    ],
)
def test_kernels_that_make_no_sense_are_refused(kind, changes):
    noise = "noise_std" if kind is GaussianKernel else "scale"
    given = {"diameter": 1.0, "noise": 1.0} | changes
    given[noise] = given.pop("noise")
    with pytest.raises(InvalidDescription):
        kind(**given)


def test_logarithms_of_multipliers_are_never_above_the_exact_ones():
    rng = np.random.default_rng(6)
    for size in (1e-9, 1.0, 40.0, 690.0):
        for m in (1.0 + np.expm1(rng.uniform(0.0, size, 300))).tolist():
            exact, found = mp.log(mp.mpf(m)), noise_kernels._log_down(m)
            assert max(exact * (1 - mp.mpf("1e-15")) - mp.mpf("1e-15"), 0) <= found <= exact
    assert noise_kernels._log_down(1.0) == 0.0


def test_every_statement_about_an_input_is_made():
    kernel = LaplaceKernel(diameter=1.0, scale=1.0)
    found = kernel.amplify(epsilon=1.0, delta=0.25)
    assert list(found) == ["dobrushin", "doeblin", "ultra_mixing", "exact"]
    m = 1 + mp.expm1(1) / mp.mpf(0.25)
    near_and_not_below(found["dobrushin"].delta, mp.mpf(0.25) * (1 - mp.exp(-0.5)))
    assert found["exact"].epsilon == found["dobrushin"].epsilon == 1.0
    assert found["exact"].delta == 0.0 and m > mp.e
    for name, share in (("doeblin", 1 - mp.exp(-0.5)), ("ultra_mixing", 1 - mp.exp(-1))):
        near_and_not_below(found[name].epsilon, mp.log1p(share * mp.expm1(1)))
    near = kernel.amplify(epsilon=0.25, delta=0.5)["exact"].delta
    m = 1 + mp.expm1(0.25) / mp.mpf(0.5)
    near_and_not_below(near, mp.mpf(0.5) * (1 - mp.exp((mp.log(m) - 1) / 2)))


def test_powers_multiply_and_multipliers_begin_at_one():
    kernel = GaussianKernel(diameter=1.0, noise_std=1.0, projected=True, times=3)
    assert kernel.power(4).times == 12 and kernel.power(1) == kernel
    for wrong in (0, -1):
        with pytest.raises(InvalidDescription):
            kernel.power(wrong)
    for wrong in (0.5, 0.999):
        with pytest.raises(InvalidDescription):
            kernel.coefficients([wrong])


# densities on an interval

LOW, HIGH, TILT = -1.0, 2.0, 0.125


def tilted(x, y):
    """1/W + a (x - c)(y - c): its integral over y is one, its slopes are a W/2."""
    return 1 / 3 + TILT * (x - 0.5) * (y - 0.5)


STEEP = TILT * 1.5


def density(**changes):
    given = {"density": tilted, "low": LOW, "high": HIGH, "input_slope": STEEP}
    return DensityKernel(**(given | {"output_slope": STEEP, "cells": 30} | changes))


def middles(cells):
    h = 3.0 / cells
    points = LOW + h * (np.arange(cells) + 0.5)
    values = tilted(points[:, None], points[None, :])
    return h, values, values / values.sum(axis=1, keepdims=True)


def gaps(rows, m):
    return np.maximum(rows[:, None, :] - m * rows[None, :, :], 0.0).sum(axis=2).max()


@pytest.mark.parametrize("cells", [2, 7, 30])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_cells_cost_what_the_theorem_says(cells, times):
    """The matrix's coefficient and (1 + m)(r W h (a + b)/4 + W b h/8)."""
    a, b = 0.25, 0.5
    kernel = density(cells=cells, times=times, input_slope=a, output_slope=b)
    h, _, rows = middles(cells)
    rows = np.linalg.matrix_power(rows, times)
    for m, found in zip((1.0, 1.1, 1.5), kernel.coefficients([1.0, 1.1, 1.5]), strict=True):
        hidden = times * 3.0 * h * (a + b) / 4 + 3.0 * b * h / 8
        exact = min(1.0, gaps(rows, m) + (1 + m) * hidden)
        assert exact <= found <= exact * (1 + 2e-4)
    error = min(1.0, times * 3.0 * h * (a + b) / 4)
    assert error <= kernel.error <= error * (1 + 2e-4)


def test_the_coefficient_lies_above_the_kernel_s_own():
    """Integrals of (p - m q)_+ in closed form: p - m q is linear in y."""
    kernel = density(cells=300)
    for m in (1.0, 1.2):
        y = np.linspace(LOW, HIGH, 200_001)
        exact = max(
            float(np.maximum(tilted(p, y) - m * tilted(q, y), 0.0).mean() * 3.0)
            for p, q in ((LOW, HIGH), (HIGH, LOW))
        )
        assert exact - 1e-9 <= kernel.coefficients([m])[0] <= exact + 0.03


@pytest.mark.parametrize("cells", [7, 30])
def test_smallest_and_largest_densities_of_one_step(cells):
    a, b = 0.25, 0.5
    kernel = density(cells=cells, input_slope=a, output_slope=b)
    h, values, _ = middles(cells)
    doubt = (a + b) * h / 2
    least, most = np.maximum(values.min(axis=0) - doubt, 0.0), values.max(axis=0) + doubt
    found = kernel._bounds
    assert np.all(found[0] <= least) and np.all(found[0] >= least - 2e-4 * doubt - 1e-11)
    assert np.all(found[1] >= most) and np.all(found[1] <= most + 2e-4 * doubt + 1e-11)
    doeblin, ultra = 1 - least.sum() * h, 1 - np.min(least / most)
    assert doeblin <= kernel.doeblin_coefficient <= min(1.0, doeblin + 1e-3 * doubt * 3 + 1e-9)
    assert ultra <= kernel.ultra_mixing <= min(1.0, ultra + 1e-3 * doubt + 1e-9)


def test_smallest_and_largest_densities_of_several_steps():
    a = b = STEEP
    for cells, times in ((40, 2), (200, 3)):
        kernel = density(cells=cells, times=times)
        h, values, rows = middles(cells)
        mixed = np.linalg.matrix_power(rows, times - 1) @ values
        doubt = (a + b) * h / 2
        wrong = (times - 1) * 3.0 * h * (a + b) / 4
        doubt += 2 * wrong * (values.max() + doubt)
        found = kernel._bounds
        ends = mixed.min(axis=0) - doubt, mixed.max(axis=0) + doubt
        for own, exact in zip(found, ends, strict=True):
            assert np.all(np.abs(own - np.maximum(exact, 0.0)) <= 1e-3 * doubt)
        assert np.all(found[0] <= mixed.min(axis=0) - doubt)
        assert np.all(found[1] >= mixed.max(axis=0) + doubt)
        once = density(cells=cells)
        direct = 1 - float(found[0].sum()) * h
        best = min(direct, once.doeblin_coefficient**times, 1.0)
        assert best * (1 - 1e-12) <= kernel.doeblin_coefficient <= best * (1 + 1e-9)
        direct = 1 - float(np.min(found[0] / found[1]))
        best = min(direct, once.ultra_mixing**times, 1.0)
        assert best * (1 - 1e-12) <= kernel.ultra_mixing <= best * (1 + 1e-9)


def test_many_steps_are_worth_their_product():
    once, often = density(cells=200), density(cells=200, times=40)
    assert once.doeblin_coefficient < 1.0
    assert often.doeblin_coefficient == pytest.approx(once.doeblin_coefficient**40, rel=1e-9)
    assert often.error == pytest.approx(min(1.0, 40 * once.error), rel=1e-6)
    assert once.power(5).times == 5 and once.power(5).power(2).times == 10
    assert density(cells=2, times=10**6).error == 1.0
    assert density(cells=2, times=10**6).coefficients([1.0]) == [1.0]


@pytest.mark.parametrize(
    "changes",
    [
        {"high": LOW},
        {"high": -2.0},
        {"input_slope": -0.5},
        {"output_slope": -0.5},
        {"input_slope": STEEP * 0.9},
        {"output_slope": STEEP * 0.9},
        {"cells": 1},
        {"cells": 4001},
        {"times": 0},
        {"density": 1.0},
        {"density": lambda x: x},
        {"density": lambda x, y: 1 / 3},
        {"density": lambda x, y: tilted(x, y)[0]},
        {"density": lambda x, y: tilted(x, y) * np.where(y > 1.9, np.nan, 1.0)},
        {"density": lambda x, y: -tilted(x, y)},
        {"density": lambda x, y: tilted(x, y) * 1.1},
        {"density": lambda x, y: tilted(x, y) * 0.9},
        {"density": lambda x, y: np.where(x > 1.9, 1.1, 1.0) * tilted(x, y), "input_slope": 9.0},
    ],
)
def test_densities_that_are_none_are_refused(changes):
    with pytest.raises(InvalidDescription):
        density(**changes)


def test_integrals_may_be_off_by_what_cells_explain():
    """b h W/4 with b = 0.5 and thirty cells is 0.0375."""
    for off, refused in ((0.036, False), (0.039, True), (-0.036, False), (-0.039, True)):
        changed = {"density": lambda x, y, off=off: tilted(x, y) * (1 + off)}
        changed |= {"output_slope": 0.5, "input_slope": 0.5}
        if refused:
            with pytest.raises(InvalidDescription, match="integrate to 1"):
                density(**changed)
        else:
            assert density(**changed).dobrushin <= 1.0


# powers that meet a target


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_smallest_power_of_a_noise_kernel_is_found(epsilon):
    kernel = LaplaceKernel(diameter=2.0, scale=1.0, projected=True)
    for delta in (0.3, 0.01, 1e-5):
        made = calibrated_power(kernel, (1.5, 0.1), epsilon=epsilon, delta=delta)

        def after(times):
            return kernel.power(times).amplified_delta(epsilon, epsilon=1.5, delta=0.1)

        assert made.delta == after(made.power) <= delta
        assert made.power == 1 or after(made.power - 1) > delta
        assert made.kernel == kernel.power(made.power)
        exactly = calibrated_power(
            kernel, (1.5, 0.1), epsilon=epsilon, delta=delta, most=made.power
        )
        assert exactly.power == made.power
        if made.power > 1:
            with pytest.raises(Unreachable, match=f"no power up to {made.power - 1} "):
                calibrated_power(
                    kernel, (1.5, 0.1), epsilon=epsilon, delta=delta, most=made.power - 1
                )


def test_what_integrates_to_one_over_inputs_is_no_density():
    """The outputs of one input have the whole probability, not the inputs of one output."""
    fields = {"low": 0.0, "high": 1.0, "cells": 50}
    with pytest.raises(InvalidDescription, match="integrate to 1"):
        DensityKernel(density=lambda x, y: 2.0 * x, input_slope=2.0, output_slope=0.0, **fields)
    made = DensityKernel(density=lambda x, y: 2.0 * y, input_slope=0.0, output_slope=2.0, **fields)
    assert made.matrix.dobrushin == pytest.approx(0.0, abs=1e-12)
