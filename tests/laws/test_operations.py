"""What is made from certificates is above the truth too: targets, curves, groups, compositions.

Each law takes cases drawn from meanings, does something with the description, and computes the
exact laws of what came out.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from laws.draw import ON_THE_LINE, SHAPES, Case, Shape, draw
from laws.line import QUADRATURE, hockey_stick
from wane import calibrate, certify, curve
from wane.certificates import mu_by_position
from wane.describe import Adjacency, GradientNoise, IterateNoise, LastIterate, NoisyDescent
from wane.errors import NoTheoremApplies, Unreachable
from wane.guarantees import GaussianDP

EPSILON, DELTA = 0.5, 0.05


def bounded(seed: int, **wanted) -> Iterator[Case]:
    """Cases on a set, with some theorem that applies; only those of the wanted shape."""
    rng = np.random.default_rng(seed)
    fitting = [s for s in SHAPES if all(getattr(s, n) in values for n, values in wanted.items())]
    while True:
        shape, family = fitting[int(rng.integers(len(fitting)))], str(rng.choice(ON_THE_LINE))
        case = draw(rng, shape, family)
        if case is not None and not case.line.prox.artificial and certify(case.run).applicable:
            yield case


def exact(case: Case, epsilon: float) -> float:
    return float(np.max(hockey_stick(*case.laws, epsilon))) - QUADRATURE


def constant(run: NoisyDescent) -> NoisyDescent:
    """The same run by steps, step size and noise instead of a schedule."""
    phase, *rest = run.plan
    return replace(
        run,
        schedule=None,
        steps=phase.repeat,
        step_size=phase.step_size,
        noise=phase.noise,
        cool_down=sum(p.repeat for p in rest),
    )


FAST = {"batches": ("full", "cyclic", "shuffled-once"), "release": ("last",)}


@pytest.mark.parametrize("over", ["noise", "steps", "step-size"])
def test_calibrated_runs_meet_their_target(over):
    met = closest = 0
    for case in bounded(1, **FAST, schedule=("constant", "cool-down")):
        std, eta = case.line.plan[0].std, case.line.plan[0].eta
        # a noise on the iterate stays where the oracle sees it, whatever the step size
        noise = IterateNoise(std) if over == "step-size" else GradientNoise(std / eta)
        run = replace(constant(case.run), noise=noise)
        if over == "steps":
            run = run.noise_scaled(3.0)
        try:
            found = calibrate(run, epsilon=EPSILON, delta=DELTA, over=over).run
        except Unreachable:
            continue
        if found.total_steps > 200:
            continue
        made = case.of(found)
        if made is None:
            continue
        leak = exact(made, EPSILON)
        assert leak <= DELTA, (found, leak)
        met, closest = met + 1, max(closest, leak / DELTA)
        if met == 8:
            break
    assert closest > 0.1  # the targets are not empty ones


def test_sampled_runs_meet_their_target():
    met = 0
    for case in bounded(2, batches=("poisson", "without-replacement"), release=("last",)):
        try:
            found = calibrate(case.run, epsilon=EPSILON, delta=DELTA).run
        except Unreachable:
            continue
        made = case.of(found)
        if made is None:
            continue
        assert exact(made, EPSILON) <= DELTA, found
        met += 1
        if met == 2:
            return


@pytest.mark.parametrize("over", ["noise", "steps"])
def test_every_point_of_a_curve_is_above_the_truth(over):
    met = 0
    for case in bounded(3, **FAST, schedule=("constant",)):
        run = constant(case.run)
        start, stop = (0.5, 4.0) if over == "noise" else (1, 30)
        made = curve(run, over=over, start=start, stop=stop, points=3, delta=DELTA)
        for value, epsilon in zip(made.values, made.best, strict=True):
            other = replace(run, steps=int(value)) if over == "steps" else run.noise_scaled(value)
            there = case.of(other)
            if there is not None and epsilon is not None and epsilon < 50:
                assert exact(there, epsilon) <= DELTA, (other, epsilon)
                met += 1
        if met >= 20:
            return


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_groups_are_above_the_truth(adjacency):
    """Two or three records at once, exchanged, nulled or gone."""
    rng, met = np.random.default_rng(4), 0
    for case in bounded(5, adjacency=(adjacency,), release=("last",)):
        size = int(rng.integers(2, 4))
        if len(case.first) <= size or (met % 3 and case.shape.batches == "without-replacement"):
            continue
        places = rng.choice(len(case.first), size, replace=False)
        kinds = len(case.line.losses)
        second = list(case.first)
        for place in places:
            second[place] = None if adjacency is Adjacency.ZERO_OUT else (second[place] + 1) % kinds
        if adjacency is Adjacency.ADD_REMOVE:
            second = [k for i, k in enumerate(case.first) if i not in places]
        try:
            guarantee = certify(case.run).group(size)
        except NoTheoremApplies:
            continue
        made = case.of(case.run, second=tuple(second))
        if made is None:
            continue
        epsilon = float(rng.choice([0.0, 1.0]))
        assert exact(made, epsilon) <= guarantee.delta(epsilon), case.run
        met += 1
        if met == 8:
            return


def test_compositions_are_above_the_truth():
    """Two runs on the same records; their laws are independent."""
    met = 0
    for case in bounded(6, **FAST):
        louder = case.run.noise_scaled(1.5)
        other = case.of(louder)
        if other is None:
            continue
        one = case.of(case.run)
        worst = [int(np.argmax(hockey_stick(*c.laws, 0.3))) for c in (one, other)]
        pairs = [
            np.outer(a[worst[0]], b[worst[1]]).ravel()
            for a, b in zip(one.laws, other.laws, strict=True)
        ]
        guarantee = certify(case.run).compose(certify(louder))
        for epsilon in (0.0, 1.0):
            leak = float(hockey_stick(*pairs, epsilon)) - 2 * QUADRATURE
            assert leak <= guarantee.delta(epsilon), case.run
        met += 1
        if met == 20:
            return


def test_every_position_is_above_the_truth():
    met = 0
    for case in bounded(7, batches=("cyclic",), adjacency=tuple(Adjacency)[:2], release=("last",)):
        try:
            mus = mu_by_position(case.run)
        except NoTheoremApplies:
            continue
        place = (
            next(i for i, (a, b) in enumerate(zip(case.first, case.second, strict=True)) if a != b)
            if case.first != case.second
            else 0
        )
        mu = float(mus[place // case.line.size])
        made = case.of(replace(case.run, release=LastIterate()))
        assert made is not None
        for epsilon in (0.0, 1.0):
            assert exact(made, epsilon) <= GaussianDP(mu).delta(epsilon), case.run
        met += 1
        if met == 20:
            return


def test_a_shape_without_a_theorem_says_so():
    """Where nothing applies nothing is claimed: places move if a record comes or goes."""
    shape = Shape("cyclic", Adjacency.ADD_REMOVE, "last", "constant")
    made = None
    while made is None:
        made = draw(np.random.default_rng(8), shape, "waves")
    assert not certify(made.run).applicable
    with pytest.raises(NoTheoremApplies):
        certify(made.run).epsilon(1e-5)
    assert math.isfinite(float(np.max(hockey_stick(*made.laws, 0.0))))
