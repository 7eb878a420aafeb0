"""The runner: it does what the description says, and says nothing but the release."""

import warnings

import numpy as np
import pytest

import wane
from wane.describe import domains
from wane.errors import InvalidDescription
from wane.run import LinearSums, descend, links, private_generator, seeded_generator_voids_privacy
from wane.run.descent import chooser

N, D = 24, 4
BATCHES = (
    wane.FullBatch(),
    wane.Cyclic(5),
    wane.ShuffledOnce(5),
    wane.Poisson(5),
    wane.WithoutReplacement(5),
)


@pytest.fixture
def finer_release(monkeypatch):
    """The grid of a release, so fine that it is lost in the tolerance of a comparison."""
    monkeypatch.setattr("wane.run.safeguards.FINER", 50)


def sums(seed=0, shape=(N, D), **changes):
    rng = np.random.default_rng(seed)
    make = {"feature_norm": 1.0, "gradient_bound": 0.3, **changes}
    return LinearSums(rng.normal(size=shape), rng.choice([-1.0, 1.0], shape[0]), links.Logistic(),
                      **make)  # fmt: skip


def run_of(gradients, **changes):
    make = {
        "objective": gradients.objective,
        "records": gradients.records,
        "steps": 12,
        "step_size": 0.5,
        "noise": wane.GradientNoise(0.1),
        **changes,
    }
    if "schedule" in changes:
        make = {k: v for k, v in make.items() if k not in ("steps", "step_size", "noise")}
    return wane.NoisyDescent(**make)


def by_hand(run, gradients, seed):
    """The same loop written out, drawing in the same order."""
    generator = seeded_generator_voids_privacy(seed)
    choose = chooser(run, generator)
    x = np.asarray(run.domain.prox(np.zeros(D), float(run.plan.step_size[0])))
    used, path = 0, []
    for phase, std in zip(run.plan, run.gradient_noise_stds, strict=True):
        for _ in range(phase.repeat):
            g = run.objective.ridge * x
            if not phase.cool_down:
                g = g + gradients(x, choose(used)) / run.batch_size
                used += 1
            noise = std * generator.standard_normal(D)
            x = np.asarray(run.domain.prox(x - phase.step_size * (g + noise), phase.step_size))
            path.append(x)
    return np.array(path)


@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: b.kind)
@pytest.mark.parametrize("cool_down", [0, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.usefixtures("finer_release")
def test_every_kind_of_batch(batches, cool_down, ridge):
    from dataclasses import replace

    gradients = sums()
    objective = replace(gradients.objective, ridge=ridge)
    run = run_of(gradients, objective=objective, batches=batches, cool_down=cool_down)
    got = descend(run, gradients, generator=seeded_generator_voids_privacy(1))
    np.testing.assert_allclose(got, by_hand(run, gradients, 1)[-1], rtol=1e-12)


@pytest.mark.usefixtures("finer_release")
def test_schedules():
    gradients = sums()
    schedule = wane.Schedule(
        [
            wane.Phase(3, 0.5, wane.GradientNoise(0.1)),
            wane.Phase(2, 0.1, wane.GradientNoise(0.3), cool_down=True),
            wane.Phase(4, 0.2, wane.IterateNoise(0.05)),
        ]
    )
    run = run_of(gradients, schedule=schedule, batches=wane.Cyclic(7))
    got = descend(run, gradients, generator=seeded_generator_voids_privacy(2))
    np.testing.assert_allclose(got, by_hand(run, gradients, 2)[-1], rtol=1e-12)


DOMAINS = (
    domains.Unbounded(),
    domains.Ball(0.5),
    domains.Box(-0.1, 0.2, D),
    domains.LOneBall(0.3),
    domains.Simplex(),
    domains.Orthant(),
    domains.SecondOrderCone(),
    domains.Halfspace((1.0, 0.0, 0.0, 1.0), 0.1),
    domains.Affine(((1.0, 1.0, 1.0, 1.0),), (1.0,)),
    domains.PositiveSemidefiniteCone(2),
    domains.Ridge(0.5),
    domains.Lasso(0.05),
    domains.ElasticNet(0.05, 0.1),
    domains.LTwoNorm(0.1),
    domains.LInfinityNorm(0.1),
    domains.LogBarrier(0.1),
    domains.GroupLasso(0.1, ((0, 1), (2, 3))),
    domains.SortedLOne((0.2, 0.1, 0.05, 0.0)),
    domains.TotalVariation(0.1),
    domains.NuclearNorm(0.1, 2, 2),
    domains.WithRidge(domains.Ball(0.5), 0.3),
    domains.Product((domains.Ball(0.2), domains.Unbounded()), (3, 1)),
)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.kind)
@pytest.mark.usefixtures("finer_release")
def test_every_domain(domain):
    gradients = sums()
    run = run_of(gradients, domain=domain, batches=wane.Cyclic(6))
    got = descend(run, gradients, generator=seeded_generator_voids_privacy(3))
    np.testing.assert_allclose(got, by_hand(run, gradients, 3)[-1], rtol=1e-10, atol=1e-14)
    assert np.isfinite(domain.penalty(got))


@pytest.mark.usefixtures("finer_release")
def test_releases():
    gradients = sums()
    make = {"batches": wane.Poisson(6), "cool_down": 2}
    path = by_hand(run_of(gradients, **make), gradients, 4)

    def released(release):
        run = run_of(gradients, release=release, **make)
        return descend(run, gradients, generator=seeded_generator_voids_privacy(4))

    np.testing.assert_allclose(released(wane.LastIterate()), path[-1])
    np.testing.assert_allclose(released(wane.EveryIterate()), path)
    # the last iterate is seen whether it is listed or not
    np.testing.assert_allclose(released(wane.Iterates((3, 7))), path[[2, 6, 13]])
    np.testing.assert_allclose(released(wane.Iterates((3, 14))), path[[2, 13]])


def test_choosers():
    generator = seeded_generator_voids_privacy(0)
    gradients = sums()

    def batches(kind, count):
        choose = chooser(run_of(gradients, batches=kind), generator)
        return [np.arange(N)[choose(step)] for step in range(count)]

    cyclic = batches(wane.Cyclic(5), 10)
    np.testing.assert_array_equal(np.concatenate(cyclic[:5]), np.arange(N))
    np.testing.assert_array_equal(cyclic[0], cyclic[5])
    shuffled = batches(wane.ShuffledOnce(5), 10)
    assert sorted(np.concatenate(shuffled[:5])) == list(range(N))
    np.testing.assert_array_equal(shuffled[1], shuffled[6])
    assert not np.array_equal(np.concatenate(shuffled[:5]), np.arange(N))
    fixed = batches(wane.WithoutReplacement(5), 300)
    assert {len(set(batch)) for batch in fixed} == {5}
    poisson = batches(wane.Poisson(6), 4000)
    assert all(len(set(batch)) == len(batch) for batch in poisson)
    sizes = np.array([len(batch) for batch in poisson])
    assert sizes.mean() == pytest.approx(6.0, abs=0.2)
    assert sizes.var() == pytest.approx(6.0 * 0.75, rel=0.12)
    joined = np.bincount(np.concatenate(poisson), minlength=N) / 4000
    assert np.abs(joined - 0.25).max() < 0.04
    together = np.mean([0 in batch and 1 in batch for batch in map(set, poisson)])
    assert together == pytest.approx(1 / 16, abs=0.02)


class Spoiled:
    """Gradients that leave the floats, as those of diverging runs do."""

    records, shape, gradient_bound = N, (D,), 1.0

    def __init__(self, value):
        self.value = value

    def __call__(self, parameters, rows):
        return np.full(D, self.value)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: d.kind)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1e200])
def test_nothing_is_raised_for_what_records_hold(domain, value):
    objective = wane.Objective(gradient_bound=1.0, ridge=0.1)
    run = run_of(Spoiled(value), objective=objective, domain=domain, batches=wane.Cyclic(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = descend(run, Spoiled(value), generator=private_generator())
    assert got.shape == (D,)


Spoiled.objective = None


@pytest.mark.usefixtures("finer_release")
def test_neighbouring_runs_move_together():
    """Same noise, one record replaced, full batches: each step adds at most the sensitivity."""
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(N, D)), rng.choice([-1.0, 1.0], N)
    other = features.copy()
    other[5] = 1e6
    make = {"feature_norm": 1.0, "gradient_bound": 0.3}
    first, second = (LinearSums(f, labels, links.Logistic(), **make) for f in (features, other))
    run = run_of(first, steps=60, step_size=2.0 / first.objective.smoothness,
                 release=wane.EveryIterate())  # fmt: skip
    paths = [descend(run, g, generator=seeded_generator_voids_privacy(6)) for g in (first, second)]
    apart = np.linalg.norm(paths[0] - paths[1], axis=1)
    step = 2.0 / first.objective.smoothness * 2 * 0.3 / N
    assert (np.diff(apart, prepend=0.0) <= step * (1 + 1e-12) + 1e-15).all()
    assert apart[-1] > 0.0


def test_what_does_not_fit_is_refused_before_the_first_step():
    gradients = sums()
    generator = private_generator()
    with pytest.raises(InvalidDescription, match="bounded"):
        descend(run_of(gradients), sums(gradient_bound=0.5), generator=generator)
    with pytest.raises(InvalidDescription, match="records"):
        descend(run_of(gradients), sums(shape=(N + 1, D)), generator=generator)
    for start in (np.zeros(D + 1), np.full(D, np.nan)):
        with pytest.raises(InvalidDescription, match="start"):
            descend(run_of(gradients), gradients, generator=generator, start=start)
    from dataclasses import replace

    wrong = run_of(gradients, objective=replace(gradients.objective, dimension=D + 1))
    with pytest.raises(InvalidDescription, match="dimension"):
        descend(wrong, gradients, generator=generator)


def test_progress_hears_step_numbers_only():
    heard = []
    gradients = sums()
    descend(run_of(gradients, steps=5, cool_down=2), gradients, generator=private_generator(),
            progress=heard.append)  # fmt: skip
    assert heard == list(range(1, 8))


def test_private_generators_differ_and_seeded_ones_do_not():
    draws = [private_generator().random(4) for _ in range(2)]
    assert not np.array_equal(*draws)
    same = [seeded_generator_voids_privacy(3).random(4) for _ in range(2)]
    np.testing.assert_array_equal(*same)
