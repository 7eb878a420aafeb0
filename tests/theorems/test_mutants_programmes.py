"""The modulus theorem against its own programme, solved by brute force on a grid of distances."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from runs import make_run
from wane import mu_by_position
from wane.describe import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.domains import Diameter
from wane.guarantees import Pair
from wane.theorems.lemmas import positions as records
from wane.theorems.lemmas.loss_moduli import Batch, cool_down_modulus, step_modulus
from wane.theorems.registry import THEOREMS

BY_NAME = {a.name: a for a in THEOREMS}
NONSMOOTH = Objective(gradient_bound=1.0, strong_convexity=0.0)


def brute_force(steps, diameter: float, points: int = 401) -> float:
    """Least sum of (a/sigma)^2 over starts at the diameter after any step, ending at zero."""
    phis = {phi for phi, _, _ in steps}
    top = 2.0 * max(phi(diameter) + shift for phi, shift, _ in steps)
    grid = np.linspace(0.0, top, points)
    moved = {phi: np.array([phi(u) if u > 0 else 0.0 for u in grid.tolist()]) for phi in phis}
    cost, best = np.where(grid == 0.0, 0.0, math.inf), math.inf
    for phi, shift, sigma in reversed(steps[-60:]):  # longer windows are worse in all cases here
        gap = (moved[phi] + shift)[:, None] - grid[None, :]
        paid = np.where(gap >= 0.0, (gap / sigma) ** 2, math.inf) + cost[None, :]
        cost = paid.min(axis=1)
        best = min(best, float(np.interp(diameter, grid, cost)))
    return best


def described(run: NoisyDescent, used) -> list:
    """(phi, shift, sigma) of each step; `used` says whether the record is used at a data step."""
    made, data = [], 0
    for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        for _ in range(phase.repeat):
            size = run.batch_size
            if phase.cool_down:
                phi, shift = cool_down_modulus(run.objective, phase.step_size), 0.0
            else:
                batch = Batch(phase.step_size, size, run.last_batch_size, size)
                phi = step_modulus(run.objective, batch)
                shift = phase.step_size * run.gradient_sensitivity if used(data) else 0.0
                data += 1
            made.append((phi, shift, phase.step_size * std))
    return made


def scheduled(phases, **changes) -> NoisyDescent:
    return make_run(
        objective=NONSMOOTH, records=10, schedule=Schedule(phases), domain=Diameter(0.1), **changes
    )


SMALL = {"records": 10, "step_size": 0.1, "noise": GradientNoise(0.5), "domain": Diameter(0.1)}
FULL = {
    "nonsmooth": make_run(objective=NONSMOOTH, steps=200, **SMALL),
    "nonconvex": make_run(
        objective=Objective(gradient_bound=0.2, smoothness=4.0), steps=1000, **SMALL
    ),
    "two step sizes": make_run(  # one below and one above 2/M, where a bounded gradient helps
        objective=Objective(gradient_bound=0.05, smoothness=1.0, strong_convexity=0.0),
        records=1,
        schedule=Schedule(
            [Phase(300, 0.1, GradientNoise(0.5)), Phase(300, 4.0, GradientNoise(0.5))]
        ),
        domain=Diameter(1.0),
    ),
    "met before a cool-down": scheduled(
        [
            Phase(200, 0.1, GradientNoise(0.2)),
            Phase(1, 0.1, GradientNoise(50.0), cool_down=True),
            Phase(3, 0.1, GradientNoise(0.1), cool_down=True),
            Phase(2, 0.1, GradientNoise(1.0)),
        ]
    ),
    "cool-down last": scheduled(
        [Phase(40, 0.1, GradientNoise(0.3)), Phase(3, 0.2, GradientNoise(0.5), cool_down=True)]
    ),
    "cool-down between": scheduled(
        [
            Phase(40, 0.1, GradientNoise(0.3)),
            Phase(3, 0.1, GradientNoise(0.5), cool_down=True),
            Phase(6, 0.05, GradientNoise(0.5)),
        ]
    ),
}


def value(name: str, run: NoisyDescent) -> float:
    return BY_NAME[name](run).guarantee.mu ** 2


@pytest.mark.parametrize("name", FULL)
def test_full_batches(name):
    run = FULL[name]
    best = brute_force(described(run, lambda _: True), run.domain.diameter)
    assert best < records.composed(run), "the programme must matter here"
    if run.objective.smoothness is not None:
        assert best < records.hidden(run, diameter=run.domain.diameter)
    assert value("last_iterate_modulus", run) == pytest.approx(best, rel=2e-2)


@pytest.mark.parametrize("steps", [90, 91, 92])
def test_cyclic_batches(steps):
    """The record used last is the worst; positions are counted from the end."""
    run = make_run(
        objective=NONSMOOTH,
        steps=steps,
        batches=Cyclic(3),
        records=9,
        step_size=0.02,
        noise=GradientNoise(0.8),
        domain=Diameter(0.02),
    )
    last = (steps - 1) % 3
    best = brute_force(described(run, lambda t: t % 3 == last), run.domain.diameter)
    assert best < records.composed(run)
    assert value("last_iterate_modulus", run) == pytest.approx(best, rel=2e-2)


def test_a_record_comes_back_every_epoch():
    """In a wide set the best start is many epochs back, and each of them counts."""
    run = make_run(
        objective=NONSMOOTH,
        steps=300,
        batches=Cyclic(1),
        records=3,
        step_size=0.02,
        noise=GradientNoise(2.0),
        domain=Diameter(0.2),
    )
    best = brute_force(described(run, lambda t: t % 3 == 2), run.domain.diameter)
    assert best < 0.2 * records.composed(run)
    assert value("last_iterate_modulus", run) == pytest.approx(best, rel=2e-3)


def test_sampled_steps():
    """Replaced and fixed-size records move both runs; a record of a fixed-size batch by 2C."""
    phases = [
        Phase(5, 0.1, GradientNoise(0.5)),
        Phase(2, 0.2, GradientNoise(0.25)),
        Phase(3, 0.3, GradientNoise(0.5)),
        Phase(4, 0.1, GradientNoise(9.0), cool_down=True),
    ]
    run = make_run(
        objective=replace(NONSMOOTH, gradient_bound=3.0), records=20, schedule=Schedule(phases)
    )

    def parts(name, batches, adjacency):
        made = BY_NAME[name](replace(run, batches=batches, adjacency=adjacency)).guarantee.parts
        return {(round(a.mu, 12), a.rate, a.pair): count for a, count in made}

    for adjacency, pair in (
        (Adjacency.REPLACE_ONE, Pair.REPLACE),
        (Adjacency.ZERO_OUT, Pair.ADD_OR_REMOVE),
        (Adjacency.ADD_REMOVE, Pair.ADD_OR_REMOVE),
    ):
        once = parts("poisson_composition", Poisson(5), adjacency)
        assert once == {(1.2, 0.25, pair): 8, (2.4, 0.25, pair): 2}
    for adjacency in (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT):
        twice = parts("fixed_size_composition", WithoutReplacement(5), adjacency)
        assert twice == {(2.4, 0.25, Pair.FIXED_SIZE): 8, (4.8, 0.25, Pair.FIXED_SIZE): 2}


@pytest.mark.parametrize("steps", [3, 4, 5, 6, 7])
def test_short_cyclic_runs(steps):
    """Where the first step is the best start, steps that do not exist would show."""
    run = make_run(
        objective=Objective(gradient_bound=1.0, smoothness=0.01),
        records=3,
        steps=steps,
        batches=Cyclic(1),
        step_size=0.1,
        noise=GradientNoise(0.8),
        domain=Diameter(0.3),
    )
    last = (steps - 1) % 3
    best = brute_force(described(run, lambda t: t % 3 == last), run.domain.diameter)
    known = (best, records.hidden(run, diameter=run.domain.diameter), records.composed(run))
    assert value("last_iterate_modulus", run) == pytest.approx(min(known), rel=2e-2)


def test_sampled_shifts_are_rounded_up():
    for bound, std in np.random.default_rng(5).uniform(0.1, 9.0, (60, 2)).tolist():
        run = make_run(
            objective=replace(NONSMOOTH, gradient_bound=bound),
            records=20,
            steps=1,
            noise=GradientNoise(std),
            batches=Poisson(7),
        )
        ((atom, _),) = BY_NAME["poisson_composition"](run).guarantee.parts
        assert atom.mu >= Fraction(bound) / (7 * Fraction(std))


@pytest.mark.parametrize("batches", [FullBatch(), Cyclic(5)], ids=["full", "cyclic"])
def test_one_step_is_composed(batches):
    run = make_run(objective=NONSMOOTH, steps=1, batches=batches, **SMALL)
    assert value("last_iterate_modulus", run) == pytest.approx(records.composed(run), rel=1e-12)


def test_short_runs_are_composed():
    run = make_run(objective=NONSMOOTH, steps=2, **(SMALL | {"domain": Diameter(50.0)}))
    assert value("last_iterate_modulus", run) == pytest.approx(records.composed(run), rel=1e-12)


def test_where_a_lipschitz_constant_says_all_the_joint_programme_is_used():
    smooth = Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.2)
    run = make_run(objective=smooth, steps=40, **SMALL)
    joint = records.hidden(run, diameter=run.domain.diameter)
    assert value("last_iterate_modulus", run) == pytest.approx(joint, rel=1e-12)
    assert value("last_iterate_bounded", run) == pytest.approx(joint, rel=1e-12)
    assert value("last_iterate", run) > 1.5 * joint


def test_an_incomplete_batch_weighs_less_in_a_secret_order():
    run = make_run(records=23, batches=ShuffledOnce(10), steps=3)
    made = BY_NAME["secret_order"](run).guarantee
    mus = mu_by_position(run).tolist()
    expected = dict(zip(mus, (10 / 23, 10 / 23, 3 / 23), strict=True))
    assert dict(zip(made.mus, made.weights, strict=True)) == pytest.approx(expected, rel=1e-12)
    cyclic = replace(run, batches=FullBatch())
    assert BY_NAME["last_iterate"](cyclic).guarantee.mu > 0
