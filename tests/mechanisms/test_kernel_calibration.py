"""Which power of a kernel meets a target, and powers of walks that settle."""

import json

import numpy as np
import pytest
from scipy import sparse

from wane.cli import main
from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.mechanisms import AmplifiedGuarantee, MarkovKernel, calibrated_power
from wane.theorems.kernel import matrices
from wane.theorems.kernel.pairs import largest_gap


def circle(n, stay=0.5):
    walk = np.zeros((n, n))
    for place in range(n):
        for step, chance in ((-1, (1 - stay) / 2), (0, stay), (1, (1 - stay) / 2)):
            walk[place, (place + step) % n] += chance
    return walk


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_power_is_found(seed):
    rng = np.random.default_rng(seed)
    kernel = MarkovKernel(0.7 * np.eye(5) + 0.3 * rng.dirichlet(np.ones(5), size=5))
    before = GaussianDP(1.0) if seed % 2 else (1.0, 0.01)
    for epsilon, delta in ((0.5, 1e-3), (0.1, 1e-2), (0.05, 1e-6)):
        made = calibrated_power(kernel, before, epsilon=epsilon, delta=delta)

        def after(times, epsilon=epsilon):
            if times == 0:
                return 1.0
            power = kernel.power(times)
            if isinstance(before, GaussianDP):
                return AmplifiedGuarantee(before, power).delta(epsilon)
            return power.amplified_delta(epsilon, epsilon=before[0], delta=before[1])

        assert made.delta <= delta
        assert after(made.power) <= delta * (1 + 1e-9)
        assert after(made.power - 1) > delta
        assert made.delta == pytest.approx(after(made.power), rel=1e-6, abs=1e-15)


def test_a_target_that_is_met_already_needs_one_application():
    assert calibrated_power(MarkovKernel(circle(4)), (1.0, 0.1), epsilon=1.0, delta=0.1).power == 1


def test_a_kernel_that_keeps_its_input_never_meets_the_target():
    for matrix in (np.eye(3), [[1.0, 0.0], [0.5, 0.5]], np.eye(3)[[1, 2, 0]]):
        kernel = MarkovKernel(matrix)
        if kernel.power(1000).dobrushin < 0.5:  # an absorbing state forgets
            assert calibrated_power(kernel, (1.0, 0.1), epsilon=0.1, delta=0.01).power > 1
            continue
        with pytest.raises(Unreachable, match="no power up to 1024"):
            calibrated_power(kernel, (1.0, 0.1), epsilon=0.1, delta=0.01, most=1024)
    with pytest.raises(InvalidDescription, match="square"):
        calibrated_power(MarkovKernel([[0.5, 0.2, 0.3]]), (1.0, 0.1), epsilon=0.1, delta=0.01)


def test_the_command_takes_a_target(tmp_path, capsys):
    path = tmp_path / "walk.csv"
    np.savetxt(path, circle(5), delimiter=",")
    known = ["kernel", str(path), "--epsilon", "1", "--delta", "0.001", "--json"]
    assert main([*known, "--target-epsilon", "0.2", "--target-delta", "1e-5"]) == 0
    found = json.loads(capsys.readouterr().out)
    kernel = MarkovKernel(circle(5))
    made = calibrated_power(kernel, (1.0, 0.001), epsilon=0.2, delta=1e-5)
    assert found["power"] == made.power > 1


def test_a_walk_with_unreached_states_settles():
    """Columns without any entry say nothing about what the rows have in common."""
    n = 40
    rows = np.zeros((n, n))
    rows[:, : n // 2] = np.random.default_rng(0).dirichlet(np.ones(n // 2), size=n)
    kernel = MarkovKernel(rows)
    settled = kernel.power(64).settled(2)
    assert settled is not None
    precise = rows.astype(np.longdouble)
    exact = np.linalg.matrix_power(precise / precise.sum(axis=1, keepdims=True), 10**6)
    late = kernel.power(10**6)
    assert np.max(np.abs(late.matrix - exact)) <= late.relative_error
    assert late.dobrushin >= 0.0


def test_symmetric_products_are_the_same_products():
    walk = circle(300)
    square = matrices.product(walk, walk)
    assert np.max(np.abs(square - walk @ walk)) <= 1e-15
    kernel = MarkovKernel(sparse.csr_array(walk))
    late = kernel.power(10**5)
    eigen = 0.5 + 0.5 * np.cos(2 * np.pi * np.arange(300) / 300)
    column = np.fft.ifft(eigen**100_000).real
    assert late.matrix[0] == pytest.approx(column, rel=1e-6)


def test_disjoint_rows_are_as_far_apart_as_can_be():
    rows = circle(400)
    assert largest_gap(rows, 1.0).value == pytest.approx(1.0, abs=1e-12)
    assert largest_gap(rows, 5.0).value >= 1.0 - 1e-12
