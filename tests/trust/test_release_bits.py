"""The bits of every release: whatever leaves wane is a multiple of a public power of two.

A number that is released with all the bits of a double tells what it was made from: numbers that
were near one on their way have no bits below 2^-53, others have.  So each way out is asked for the
same thing: 1e-6 < |y| < 1/2 and y no multiple of the grid, never; and the same on the neighbour.
"""

import numpy as np
import pytest

from learn.learn_cases import COLUMNS, declared, targets
from wane import (
    Adjacency,
    Cyclic,
    EveryIterate,
    GradientNoise,
    IterateNoise,
    Iterates,
    NoisyDescent,
    Objective,
    Phase,
    Schedule,
)
from wane.learn import PrivateMean
from wane.learn.curvature import private_curvature
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    DiffusionMechanism,
    IteratedLaplace,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
)
from wane.run import DiscreteGaussian, LinearSums, descend, links, private_generator, release_grid
from wane.run.safeguards import grid_below, protecting_noise, protecting_noises
from wane.sampling import (
    OverdampedRun,
    PosteriorLinearRegression,
    PosteriorLogisticRegression,
    PosteriorMean,
    UnderdampedRun,
    draw,
    linear_posterior,
    mean_posterior,
)
from wane.sampling.posterior_samples import kinetic_grid

ROWS = 300


def off_the_grid(values, spacing) -> int:
    """How many numbers are no multiples of the spacing; a spacing is a power of two."""
    assert spacing > 0.0 and np.frexp(spacing)[0] == 0.5
    steps = np.asarray(values, dtype=np.float64) / spacing
    return int((steps != np.rint(steps)).sum())


def rows(seed=0, count=ROWS):
    return np.random.default_rng(seed).uniform(-0.6, 0.6, (count, COLUMNS))


def neighbours(seed=0):
    """A table, and the same with one record made null."""
    first = rows(seed)
    second = first.copy()
    second[7] = np.nan
    return first, second


SCHEDULES = {
    "equal": [(12, 0.5, GradientNoise(0.1))],
    "falling": [(1, 0.5 * 0.03**k, GradientNoise(1.0)) for k in range(9)],
    "loud, then quiet": [(3, 0.5, GradientNoise(1.0)), (2, 0.5, GradientNoise(1e-12))],
    "quiet, then loud": [(3, 0.5, IterateNoise(1e-9)), (1, 0.5, IterateNoise(0.3))],
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("batches", [None, Cyclic(70)])
@pytest.mark.parametrize("release", [None, EveryIterate(), Iterates((2,))], ids=str)
def test_runs(name, batches, release):
    phases = [Phase(*phase) for phase in SCHEDULES[name]]
    options = {"batches": batches, "release": release}
    for table in neighbours():
        sums = LinearSums(table, np.sign(rows()[:, 0]), links.Logistic(), feature_norm=1.0)
        run = NoisyDescent(
            objective=sums.objective,
            records=ROWS,
            schedule=Schedule(phases),
            adjacency=Adjacency.ZERO_OUT,
            **{key: value for key, value in options.items() if value is not None},
        )
        found = descend(run, sums)
        assert np.count_nonzero(found) > 0 or name == "quiet, then loud"
        if release is None:
            assert off_the_grid(found, release_grid(run)) == 0
            continue
        steps = range(1, run.total_steps + 1) if release == EveryIterate() else (2, run.total_steps)
        noises = protecting_noises(run, steps)
        assert len(found) == len(noises)
        for iterate, noise in zip(found, noises, strict=True):
            assert off_the_grid(iterate, grid_below(noise)) == 0


def test_the_grid_is_far_below_the_noise_and_far_above_its_bits():
    """Whichever step's noise is the last, or the largest, that is left."""
    for name, given in SCHEDULES.items():
        run = NoisyDescent(
            objective=links.Logistic().objective(1.0, None),
            records=ROWS,
            schedule=Schedule([Phase(*phase) for phase in given]),
        )
        largest = float(np.max(run.plan.step_size * run.gradient_noise_stds))
        assert protecting_noise(run) == pytest.approx(largest), name
        assert 2.0**-11 * largest <= release_grid(run) <= 2.0**-10 * largest


@pytest.mark.parametrize("batches", ["full", "poisson:100", "without-replacement:100"])
def test_the_grid_counts_what_a_crowded_batch_does_to_earlier_noise(batches):
    """A batch of its size shrinks distances to 3/4 or less; of three times its size it need not."""
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, strong_convexity=0.0, smoothness=0.75, ridge=0.25),
        records=ROWS,
        batches=batches,
        schedule=[Phase(1, 1.0, GradientNoise(1.0)), Phase(40, 1.0, GradientNoise(1e-6))],
    )
    fullest = 3.0 if batches.startswith("poisson") else 1.0
    factor = max(0.75, abs(1.0 - 0.25 - 0.75 * fullest))
    assert factor == (1.5 if fullest > 1.0 else 0.75)
    assert protecting_noise(run) == pytest.approx(max(min(factor, 1.0) ** 40, 1e-6))


def fitted(model, kind, table):
    labels = None if kind is None else targets(kind, np.random.default_rng(1), ROWS)
    return model.fit(table, labels)


@pytest.mark.parametrize("name", tuple(declared()))
@pytest.mark.parametrize("exact", [None, 1.0], ids=["plain", "with exact noise"])
def test_estimators(name, exact, monkeypatch):
    """What the run hands to the model; coefficients are made from it and public numbers."""
    model, kind = declared(epsilon=8.0, steps=6)[name]
    model.set_params(release_noise=exact)
    seen = []
    plain = type(model)._keep
    monkeypatch.setattr(
        type(model), "_keep", lambda self, ready, end: (seen.append(end), plain(self, ready, end))
    )
    fitted(model, kind, rows())
    assert np.count_nonzero(seen[0]) > 0
    assert off_the_grid(seen[0], release_grid(model.run_)) == 0


def test_the_mean():
    model = PrivateMean(feature_norm=1.0).fit(rows())
    assert off_the_grid(model.mean_, release_grid(model.run_)) == 0


@pytest.mark.parametrize("name", ["logistic", "linear", "mean", "centre"])
def test_sampling_estimators(name, monkeypatch):
    settings = {"epsilon": 8.0, "steps": 20, "step_size": 0.05, "prior_precision": 10.0}
    model, kind = {
        "logistic": (PosteriorLogisticRegression(classes=[0, 1], **settings), "binary"),
        "linear": (PosteriorLinearRegression(target_bound=3.0, **settings), "real"),
        "mean": (PosteriorMean(**settings), None),
        "centre": (PosteriorMean(width=0.5, **settings), None),
    }[name]
    seen = []
    plain = type(model)._sampled

    def watched(self, *arguments):
        seen.append(plain(self, *arguments))
        return seen[-1]

    monkeypatch.setattr(type(model), "_sampled", watched)
    fitted(model, kind, rows())
    assert np.count_nonzero(seen[0]) > 0
    assert off_the_grid(seen[0], release_grid(model.run_)) == 0


@pytest.mark.parametrize("samples", [1, 5])
def test_draws(samples):
    for table in neighbours():
        potential = mean_posterior(table, norm=1.0, prior_precision=10.0)
        common = {"posterior": potential.posterior, "steps": 30, "samples": samples}
        run = OverdampedRun(step_size=0.05, **common)
        assert off_the_grid(draw(run, potential.sums), release_grid(run.descent)) == 0
        kinetic = UnderdampedRun(step_size=0.05, friction=2.0, **common)
        found = draw(kinetic, potential.sums)
        assert np.count_nonzero(found) > 0
        assert off_the_grid(found, kinetic_grid(kinetic.chain)) == 0


def test_the_grid_of_a_kinetic_chain_is_below_the_spread_of_its_samples():
    table = rows()
    for steps in (3, 400):
        potential = linear_posterior(
            table, np.sign(table[:, 0]), links.Logistic(), feature_norm=1.0, prior_precision=10.0
        )
        run = UnderdampedRun(
            posterior=potential.posterior, step_size=0.05, steps=steps, samples=500, friction=2.0
        )
        spread = draw(run, potential.sums).std(axis=0).min()
        assert 2.0**-14 * spread < kinetic_grid(run.chain) < 2.0**-9 * spread


STATISTIC = np.array([0.3, -0.9, 0.0, 2.0**-60])
PROCESSES = {
    "brownian": BrownianMechanism(sensitivity=1.0, time=0.5),
    "ornstein-uhlenbeck": OrnsteinUhlenbeckMechanism(sensitivity=1.0, time=0.5, reversion=0.7),
    "bounded": BrownianMechanism(sensitivity=1e-3, time=1e-6, norm_bound=3.0, dimension=4),
}


def spacing(process, time):
    return grid_below(float(np.sqrt(process.variance_after(time))))


@pytest.mark.parametrize("name", PROCESSES)
def test_mechanisms(name):
    process = PROCESSES[name]
    near, far = process.time, 2.0 * process.time
    assert off_the_grid(process.release(STATISTIC), spacing(process, near)) == 0
    for time, point in zip((near, far), process.path(STATISTIC, (near, far)), strict=True):
        assert off_the_grid(point, spacing(process, time)) == 0
    plan = NestedRelease(process, {"near": near, "far": far})
    for order in (("near", "far"), ("far", "near")):
        path = plan.open(STATISTIC)
        for level in order:
            shown = path.publish(level)
            assert off_the_grid(shown, spacing(process, plan.levels[level])) == 0
            assert np.array_equal(path.reader(level).points[level], shown)
    tree = BranchedRelease(process, {"a": Branch(None, near), "b": Branch("a", near)})
    drawn = tree.publish(STATISTIC)
    for member, point in drawn.coalition(["a", "b"]).items():
        assert off_the_grid(point, spacing(process, tree.times[member])) == 0


def test_a_diffusion_of_ones_own():
    made = DiffusionMechanism(
        drift=np.zeros_like, spread=np.ones_like, low=-1.0, high=1.0, sensitivity=0.5, time=0.2
    )
    found = [made.release(0.3) for _ in range(20)]
    assert off_the_grid(found, grid_below(made.noise_std)) == 0


def test_several_laplace_noises():
    made = IteratedLaplace(1.0, 0.7, 1.3, further_scales=(1e-9,), dimension=4)
    assert off_the_grid(made.release(STATISTIC), made.unit) == 0


def test_a_bound_on_the_curvature():
    found = private_curvature(
        rows(),
        links.Logistic(),
        feature_norm=1.0,
        gradient_bound=None,
        mu=0.5,
        failure_probability=1e-6,
        adjacency=Adjacency.ZERO_OUT,
        generator=private_generator(),
    )
    std = 0.25 / ROWS / 0.5
    coarse = 2.0 ** np.floor(np.log2(std) - 11)
    assert off_the_grid(found.smoothness, coarse) == 0


def test_exact_noise():
    noise = DiscreteGaussian(std=1.0, spacing=2.0**-10)
    assert off_the_grid(noise.add(rows().ravel()[:50]), 2.0**-10) == 0
