"""Mixing times of projected Langevin, and the command that prints them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from wane import mixing, modulus
from wane.audit.mixing_law import fewest_mixing_steps
from wane.cli import main
from wane.describe import (
    Cyclic,
    FullBatch,
    NoisyDescent,
    Objective,
    Poisson,
    ShuffledOnce,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Box, Diameter, WithRidge
from wane.errors import NoTheoremApplies
from wane.theorems.lemmas.moduli import AffineSquare
from wane_papers.modulus.printed_mixing import printed_steps

SPEC = """
records = 1
steps = 100
step_size = {step_size}
noise = {{ temperature = 1.0 }}
objective = {{ smoothness = 1.0, strong_convexity = 0.0 }}
domain = {{ diameter = 2.0 }}
"""


def run(**objective):
    return NoisyDescent(
        objective=Objective(**objective),
        records=1,
        steps=1,
        step_size=0.01,
        noise=Temperature(1.0),
        domain=Diameter(2.0),
    )


def test_boosting_beats_the_paper():
    smooth = run(smoothness=1.0, strong_convexity=0.0)
    found = mixing.mixing(smooth, 0.01)
    assert printed_steps(smooth, 0.01) == 2800
    assert 3.5 * found.steps <= 2800
    assert found.tv <= 0.01
    assert found.block_tv ** (found.steps // found.block) <= 0.01


def test_convexity_is_not_assumed():
    convex = mixing.mixing(run(smoothness=1.0, gradient_bound=1.0, strong_convexity=0.0), 0.1)
    unsaid = run(smoothness=1.0, gradient_bound=1.0)
    assert mixing.mixing(unsaid, 0.1).steps > convex.steps
    assert printed_steps(unsaid, 0.1) is None


def test_nothing_known():
    with pytest.raises(NoTheoremApplies):
        mixing.mixing(run(), 0.1)


def test_command(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.format(step_size=0.01))
    assert main(["mixing", str(spec), "--tv", "0.01", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {"steps", "tv", "theorem", "printed_steps"} <= set(made)
    spec.write_text(SPEC.format(step_size=5.0))
    assert main(["mixing", str(spec), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["printed_steps"] is None
    assert main(["mixing", str(spec), "--tv", "2"]) == 2


BATCHES = [FullBatch(), Poisson(3), WithoutReplacement(3), Cyclic(3), ShuffledOnce(3)]


@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: b.kind)
@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_certified_times_lie_above_an_exact_chain(batches, ridge, curvature):
    """A quotient near one shows that the two compute the same thing from two sides."""
    domain = Box((-1.0,), (1.0,))
    made = NoisyDescent(
        objective=Objective(smoothness=1.0, strong_convexity=curvature),
        records=10,  # the last batch of three holds one record
        steps=1,
        step_size=0.1,
        noise=Temperature(1.0),
        batches=batches,
        domain=WithRidge(domain, ridge) if ridge else domain,
    )
    found, least = mixing.mixing(made, 0.01), fewest_mixing_steps(made, 0.01)
    if isinstance(batches, Poisson) and curvature:
        assert least is None  # batches bend by how many they are
        return
    assert least is not None and least <= found.steps <= 3 * least
    if isinstance(batches, Cyclic | ShuffledOnce):
        assert found.steps % 4 == found.block % 4 == 0  # whole passes only


def test_the_exact_chain_agrees_with_a_plain_grid():
    made = run(smoothness=1.0, strong_convexity=0.0)
    std, count = math.sqrt(0.02), 801
    edges = np.linspace(-1.0, 1.0, count + 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    z = (np.concatenate([[-np.inf], edges[1:-1], [np.inf]])[None] - middle[:, None]) / std
    kernel = np.diff(stats.norm.cdf(z), axis=1)
    law = np.zeros((2, count))
    law[0, 0] = law[1, -1] = 1.0
    steps = 0
    while 0.5 * np.abs(law[0] - law[1]).sum() > 0.25:
        law, steps = law @ kernel, steps + 1
    assert abs(fewest_mixing_steps(made, 0.25) - steps) <= 1


def test_large_poisson_batches_are_not_forgotten():
    """With one record wanted of a hundred, a batch of fifty expands: a cap, and what exceeds it."""
    made = NoisyDescent(
        objective=Objective(smoothness=4.0, strong_convexity=0.0),
        records=100,
        steps=1,
        step_size=0.1,
        noise=Temperature(1.0),
        batches=Poisson(1),
        domain=Diameter(2.0),
    )
    found = mixing.mixing(made, 0.01)
    # five records drive no two points apart, six do, and come with probability 0.0005
    alone = mixing.mixing(replace(made, batches=WithoutReplacement(1)), 0.01)
    assert alone.steps <= found.steps < 1.1 * alone.steps
    assert found.block_tv > alone.block_tv
    gentle = replace(made, objective=Objective(smoothness=0.1, strong_convexity=0.0))
    assert mixing.mixing(gentle, 0.01).steps == alone.steps


def test_a_sum_of_parts_faces_an_exact_chain():
    """|x|^2/2 + |x|^1.5/1.5 on an interval: from the moduli of the parts, and on nodes."""
    eta, radius, tv = 0.2, 1.0, 0.05
    std = math.sqrt(2 * eta)
    phi = modulus.sum_of_parts(
        eta,
        [
            lambda e: modulus.smooth_convex(e, smoothness=1.0, strong_convexity=1.0),
            lambda e: modulus.hoelder(e, exponent=0.5, constant=math.sqrt(2.0)),
        ],
    )
    found = mixing.mixing_of_modulus(phi, noise_std=std, diameter=2 * radius, tv=tv)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = np.concatenate([(nodes - 1) / 2, (nodes + 1) / 2, [-radius, radius]])
    w = np.concatenate([weights, weights]) / 2
    moved = x - eta * (x + np.sign(x) * np.sqrt(np.abs(x)))
    kernel = np.empty((len(x), len(x)))
    kernel[:, :-2] = stats.norm.pdf(x[None, :-2], moved[:, None], std) * w
    kernel[:, -2] = stats.norm.cdf((-radius - moved) / std)
    kernel[:, -1] = stats.norm.sf((radius - moved) / std)
    assert kernel.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    law, apart = np.eye(len(x))[-2:], []
    for _ in range(found.steps):
        law = law @ kernel
        apart.append(0.5 * np.abs(law[0] - law[1]).sum())
    assert apart[found.block - 1] <= found.block_tv and apart[-1] <= found.tv <= tv
    needed = next(i + 1 for i, gap in enumerate(apart) if gap <= tv)
    assert needed <= found.steps <= 6 * needed
    with pytest.raises(NoTheoremApplies):
        mixing.mixing_of_modulus(lambda t, u: 3 * u, noise_std=1e-3, diameter=2.0, tv=tv)


def test_copies_after_some_steps_and_the_papers_infimum(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        SPEC.format(step_size=0.1)
        .replace("smoothness = 1.0", "smoothness = 40.0, gradient_bound = 1.0")
        .replace("diameter = 2.0", "diameter = 1.0")
    )
    assert main(["mixing", str(spec), "--after", "50", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    harmonic = sum(1 / t for t in range(1, 51))
    # the reference has 1 + ln T in place of the harmonic number
    wanted = 0.05 + (0.5127542217 - 0.05) * harmonic / (1 + math.log(50))
    assert made["printed_kl"] == pytest.approx(wanted, rel=1e-6)
    assert made["exponent"] == pytest.approx(0.181, abs=1e-3)
    assert made["kl"] <= made["printed_kl"]
    assert main(["mixing", str(spec), "--after", "0"]) == 2


def test_the_divergence_over_layers_of_batches_is_the_mean_over_them():
    """One step that shrinks much, less or nothing, as the batch is small, large or larger.

    Given the batch both copies are normal, and the divergence of the mixtures is at most the mean.
    """
    std, widest, shrinks, chances = 0.7, 2.0, (0.25, 0.5, 1.0), (0.9, 0.08, 0.02)
    larger = (0.1, 0.02, 0.0)
    layers = [
        mixing._Chain(AffineSquare(2.0 * math.log(c)), std**2, widest, exceeded=p)
        for c, p in zip(shrinks, larger, strict=True)
    ]
    apart = [widest * c / std for c in shrinks]
    exact = sum(p * 0.5 * d**2 for p, d in zip(chances, apart, strict=True))
    for order in (layers, layers[::-1]):
        assert exact <= mixing._layered_kl(order, 1) <= exact * (1.0 + 1e-9)
    assert math.isinf(mixing._layered_kl(layers[:2], 1))  # of the largest nothing is known
