"""Targets, calibrated releases, and what the command line says of them."""

import json
import math

import mpmath
import numpy as np
import pytest

from wane.errors import InvalidDescription, Unreachable
from wane.guarantees import GaussianDP
from wane.mechanisms import LaplaceKernel, MarkovKernel, PrivacyTarget, calibration, summaries
from wane.mechanisms.calibration import calibrated_brownian, calibrated_ornstein_uhlenbeck
from wane.mechanisms.linear_summary import linear_summary
from wane.theorems.laplace.sums import LaplaceSumDP

mp = mpmath.mp.clone()
mp.dps = 40


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1.0},
        {"delta": 0.1},
        {"order": 2.0},
        {"divergence": 0.1},
        {"mu": 1.0, "epsilon": 1.0, "delta": 0.1},
        {"epsilon": -0.5, "delta": 0.1},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": -0.5},
        {"epsilon": 1.0, "delta": 1.5},
        {"mu": 0.0},
        {"mu": -0.5},
        {"order": 1.0, "divergence": 0.1},
        {"order": 0.5, "divergence": 0.1},
        {"order": 2.0, "divergence": 0.0},
        {"order": 2.0, "divergence": -0.5},
    ],
)
def test_targets_without_a_meaning_are_refused(given):
    with pytest.raises(InvalidDescription):
        PrivacyTarget(**given)


def test_the_largest_mu_of_a_target():
    assert PrivacyTarget(mu=0.5).largest_mu == 0.5
    for order, divergence in ((1.5, 0.1), (2.0, 3.0), (40.0, 1e-6)):
        found = PrivacyTarget(order=order, divergence=divergence).largest_mu
        exact = mp.sqrt(2 * mp.mpf(divergence) / mp.mpf(order))
        assert exact * (1 - mp.mpf("1e-12")) <= found <= exact
        assert GaussianDP(found).renyi(order) <= divergence
    for epsilon, delta in ((0.0, 0.1), (1.0, 1e-5)):
        found = PrivacyTarget(epsilon=epsilon, delta=delta).largest_mu
        assert GaussianDP(found).delta(epsilon) <= delta < GaussianDP(found * 1.0001).delta(epsilon)
    with pytest.raises(Unreachable, match="nothing to calibrate"):
        PrivacyTarget(epsilon=1.0, delta=1.0).largest_mu  # noqa: B018


@pytest.mark.parametrize("mu", [0.1, 1.0, 20.0])
def test_calibrated_processes_meet_their_mu_and_hardly_miss_it(mu):
    made = calibrated_brownian(PrivacyTarget(mu=mu), sensitivity=0.5, diffusion_scale=2.0)
    assert made.mu <= mu <= made.mu * (1 + 1e-12)
    time = (0.5 / (2.0 * mu)) ** 2 / 2.0
    assert made.time == pytest.approx(time, rel=1e-9) and made.diffusion_scale == 2.0
    pulled = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(mu=mu), sensitivity=0.5, norm_bound=3.0, dimension=4, time=0.25
    )
    assert pulled.mu <= mu <= pulled.mu * (1 + 1e-9)
    std = 0.5 / mu
    factor = 9.0 / (9.0 + 4 * std**2)
    assert pulled.scale == pytest.approx(factor, rel=1e-6) and pulled.time == 0.25
    assert pulled.mean_squared_error() == pytest.approx(
        9.0 * 4 * std**2 / (9.0 + 4 * std**2), rel=1e-6
    )
    for wrong in ({"norm_bound": 0.0}, {"dimension": 0}, {"time": 0.0}, {"sensitivity": 0.0}):
        given = {"sensitivity": 0.5, "norm_bound": 3.0, "dimension": 4} | wrong
        with pytest.raises(InvalidDescription):
            calibrated_ornstein_uhlenbeck(PrivacyTarget(mu=mu), **given)


def test_factors_beyond_doubles_are_unreachable():
    assert calibration._best_exponent(1.0, 1.0, 2) == pytest.approx(math.log(3.0))
    assert calibration._best_exponent(1e70, 1.0, 1) == pytest.approx(140 * math.log(10.0))
    for std, norm in ((1e160, 1.0), (1e-170, 1.0)):
        with pytest.raises(Unreachable, match="out of proportion"):
            calibration._best_exponent(std, norm, 1)


# what the command line says


def test_words_and_fields_of_a_calibrated_release():
    target = PrivacyTarget(epsilon=1.0, delta=1e-5)
    given = {"sensitivity": 1.0, "norm_bound": 5.0, "dimension": 3}
    fields, text = summaries.ornstein_uhlenbeck_summary(**given, time=None, target=target)
    assert fields["time"] == 1.0 and fields["reversion"] > 0.0 and fields["mechanism"] == "ou"
    assert fields["epsilon"] <= 1.0 and fields["delta"] == 1e-5 and "description" not in fields
    assert fields["mean_squared_error"] < fields["shrunk_gaussian_error"] * (1 + 1e-9)
    assert "worst mean squared error" in text and "best scaled Gaussian" in text
    assert f"{fields['scale']:.10g} * statistic" in text and "at delta 1e-05" in text
    described, _ = summaries.ornstein_uhlenbeck_summary(
        **given, time=2.0, target=target, adjacency="zero-out"
    )
    assert described["time"] == 2.0 and described["description"]["kind"]
    plain, text = summaries.brownian_summary(
        sensitivity=1.0, norm_bound=None, dimension=None, time=None, target=PrivacyTarget(mu=0.5)
    )
    assert plain["reversion"] == 0.0 and plain["epsilon"] is plain["delta"] is None
    assert plain["mean_squared_error"] is None and "error" not in text and "epsilon" not in text
    assert plain["noise_std"] == pytest.approx(2.0, rel=1e-9)
    for missing in ("norm_bound", "dimension"):
        with pytest.raises(InvalidDescription, match="norm-bound and dimension"):
            summaries.ornstein_uhlenbeck_summary(
                **(given | {missing: None}), time=1.0, target=target
            )
    with pytest.raises(InvalidDescription, match="time must be left out"):
        summaries.brownian_summary(**given, time=1.0, target=target)


def test_words_and_fields_of_a_kernel(tmp_path):
    path = str(tmp_path / "kernel.csv")
    np.savetxt(path, [[0.75, 0.25], [0.25, 0.75]], delimiter=",")
    fields, text = summaries.kernel_summary(path, epsilon=1.0, delta=0.1, points=5)
    assert (fields["inputs"], fields["outputs"], fields["power"]) == (2, 2, 1)
    assert [e for e, _ in fields["curve"]] == [0.0, 0.25, 0.5, 0.75, 1.0]
    kernel = MarkovKernel([[0.75, 0.25], [0.25, 0.75]])
    assert fields["curve"][-1][1] == fields["delta"] == fields["statements"]["exact"]["delta"]
    assert fields["delta"] == kernel.amplified_delta(1.0, epsilon=1.0, delta=0.1)
    assert fields["delta_before"] == 0.1 and fields["doeblin_witness"] == pytest.approx([0.5, 0.5])
    assert "2 inputs, 2 outputs, power 1" in text
    twice, _ = summaries.kernel_summary(path, epsilon=1.0, delta=0.1, power=2)
    assert twice["dobrushin"] == pytest.approx(0.25) and len(twice["curve"]) == 21
    met, _ = summaries.kernel_summary(path, epsilon=1.0, delta=0.1, target=(0.25, 1e-4))
    assert met["power"] > 1 and met["delta"] <= 1e-4
    noise = LaplaceKernel(diameter=1.0, scale=1.0)
    fields, text = summaries.kernel_summary("", epsilon=1.0, delta=0.1, noise=noise)
    assert fields["inputs"] is fields["outputs"] is fields["doeblin_witness"] is None
    assert "noise on a bounded input, power 1" in text
    json.dumps(fields)
    for wrong in (1, 10_001):
        with pytest.raises(InvalidDescription):
            summaries.kernel_summary(path, epsilon=1.0, delta=0.1, points=wrong)


def test_words_and_fields_of_a_linear_release(tmp_path):
    paths = {}
    for name, rows in {
        "round": [[4.0, 1.0], [1.0, 2.0]],
        "slanted": [[4.0, 1.0], [0.5, 2.0]],
        "wide": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    }.items():
        paths[name] = str(tmp_path / f"{name}.csv")
        np.savetxt(paths[name], rows, delimiter=",")
    empty = dict.fromkeys(
        ("sensitivity_matrix", "ellipsoid", "centre", "time", "box", "sensitivity")
    )
    target = PrivacyTarget(epsilon=1.0, delta=1e-5)
    fields, text = linear_summary(target, **(empty | {"sensitivity": 1.0, "box": "1,2.5"}))
    assert fields["epsilon"] <= 1.0 and fields["delta"] == 1e-5 and fields["dimension"] == 2
    assert fields["mean_squared_error"] == pytest.approx(fields["least_possible_error"], rel=1e-6)
    for place in (0, 1):
        std = math.sqrt(fields["noise_covariance"][place][place])
        line = f"{place + 1:>4}  A {fields['shrinkage'][place][place]:.6g}   noise {std:.6g}"
        assert line in text
    assert "at delta 1e-05" in text and "least of all linear ones" in text
    slanted, text = linear_summary(
        PrivacyTarget(mu=0.5),
        **(
            empty | {"sensitivity_matrix": paths["round"], "ellipsoid": paths["round"], "time": 2.0}
        ),
    )
    assert slanted["mu"] <= 0.5 and slanted["epsilon"] is slanted["delta"] is None
    assert "epsilon" not in text and slanted["description"]["time"] == 2.0
    for wrong in (
        {},
        {"sensitivity": 1.0, "sensitivity_matrix": paths["round"]},
        {"sensitivity": 1.0, "box": "1,two"},
        {"sensitivity": 1.0, "ellipsoid": paths["slanted"]},
        {"sensitivity": 1.0, "ellipsoid": paths["wide"]},
    ):
        with pytest.raises(InvalidDescription):
            linear_summary(
                target, **({**empty, "box": None if "ellipsoid" in wrong else "1,2"} | wrong)
            )


def test_sums_of_noises_at_their_edges():
    sure = LaplaceSumDP(0, (2,))
    assert sure.delta(0.0) == sure.epsilon(0.1) == sure.renyi(2.0) == 0.0
    made = LaplaceSumDP(3, (2, 1))
    assert made.renyi(math.inf) == made.renyi(1e9) == made.pure_epsilon
    assert made.delta(made.pure_epsilon) == 0.0 < made.delta(made.pure_epsilon * (1 - 1e-6))
    assert made.epsilon(1.0) == 0.0
    far = LaplaceSumDP(10**6, (2,))
    assert far.delta(1.0) == 1.0 and far.renyi(2.0) == far.pure_epsilon
    for wrong in ({"shift": -1}, {"scales": (0,)}, {"scales": (1 << 14,)}):
        with pytest.raises(InvalidDescription):
            LaplaceSumDP(**({"shift": 1, "scales": (2,)} | wrong))
