"""Exact noise on a release: on the grid, of the law it names, and claimed for what it is worth."""

import json
import math

import numpy as np
import pytest
from sklearn.base import clone

from wane import (
    Adjacency,
    Cyclic,
    FullBatch,
    GradientNoise,
    LossForm,
    NoisyDescent,
    Objective,
    Poisson,
    ShuffledOnce,
    losses,
)
from wane.cli import main
from wane.describe.domains import Ball
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn import PrivateLogisticRegression, PrivateRidge, load_model
from wane.learn.exact import ends_apart, exact_guarantee
from wane.run import (
    DiscreteGaussian,
    LinearSums,
    descend,
    links,
    release_grid,
    seeded_generator_voids_privacy,
)
from wane.run.safeguards import protecting_noise

CHANCE = np.random.default_rng(6)
ROWS = CHANCE.uniform(-0.5, 0.5, (400, 3))
LABELS = np.where(ROWS[:, 0] > 0, 1, 0)
COUNT, COLUMNS = 20, 3


def described(**changes) -> NoisyDescent:
    fields = {
        "objective": losses.logistic(1.0, ridge=0.01),
        "records": COUNT,
        "steps": 41,
        "step_size": 2.0,
        "noise": GradientNoise(0.1),
        "adjacency": Adjacency.ZERO_OUT,
    }
    return NoisyDescent(**(fields | changes))


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateRidge])
def test_the_release_is_that_of_the_run_plus_whole_steps_of_the_grid(kind):
    public = {"classes": (0, 1)} if kind is PrivateLogisticRegression else {"target_bound": 1.0}
    plain = kind(epsilon=4.0, seed_voids_privacy=2, fit_intercept=False, **public)
    plain.fit(ROWS, LABELS)
    noisy = clone(plain).set_params(release_noise=3.0).fit(ROWS, LABELS)
    grid = release_grid(plain.run_)
    assert noisy.run_ == plain.run_
    assert noisy.certificate_.nominal.epsilon(1e-5) == plain.certificate_.nominal.epsilon(1e-5)
    if kind is PrivateLogisticRegression:  # whose coefficients are the iterate itself
        moved = (noisy.coef_ - plain.coef_) / grid
        assert np.array_equal(moved, np.rint(moved)) and np.any(moved != 0)
        assert np.abs(moved).max() * grid < 12 * 3.0 * protecting_noise(plain.run_)
    assert not np.array_equal(clone(noisy).fit(ROWS, LABELS).coef_, noisy.coef_), "no seed for it"


def test_the_noise_has_the_size_that_was_asked_for():
    run = described()
    noise = DiscreteGaussian.on_release(run, 2.5)
    assert noise.std == 2.5 * protecting_noise(run) == 2.5 * 2.0 * 0.1
    drawn = noise.add(np.zeros(4000))
    assert drawn.std() == pytest.approx(noise.std, rel=0.06)
    assert np.array_equal(np.rint(drawn / noise.spacing) * noise.spacing, drawn)


def test_sizes_that_mean_nothing_are_refused_before_any_noise(monkeypatch):
    monkeypatch.setattr("wane.learn.base.generator", lambda seed: pytest.fail("noise was drawn"))
    for wrong in (0.0, -1.0, math.nan, math.inf, "much", 1e-9, 1e300):
        model = PrivateLogisticRegression(classes=(0, 1), epsilon=4.0, release_noise=wrong)
        with pytest.raises(InvalidDescription, match="release_noise must be"):
            model.fit(ROWS, LABELS)
    with pytest.raises(InvalidDescription, match="adds no noise"):
        DiscreteGaussian.on_release(described(noise=GradientNoise(0.0)), 1.0)


BATCHES = [FullBatch(), Cyclic(6), ShuffledOnce(6), Poisson(6)]


@pytest.mark.parametrize("batches", BATCHES, ids=lambda batches: batches.kind)
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_ends_with_the_same_noise_are_no_farther_apart_than_claimed(batches, adjacency):
    """Every record in turn is made as bad as a record can be."""
    run = described(batches=batches, adjacency=adjacency)
    claimed, worst = ends_apart(run), 0.0
    rows = np.zeros((COUNT, COLUMNS))
    labels = np.ones(COUNT)
    rows[:, 0] = 1e-12

    def end(rows, labels):
        sums = LinearSums(rows, labels, links.Logistic(), feature_norm=1.0)
        return descend(run, sums, generator=seeded_generator_voids_privacy(5))

    for place in range(COUNT):
        bad, other, label = rows.copy(), rows.copy(), labels.copy()
        bad[place, 1] = 1.0
        if adjacency is Adjacency.REPLACE_ONE:
            other[place, 1] = -1.0
        else:
            other[place] = 0.0
        apart = np.linalg.norm(end(bad, label) - end(other, label))
        assert apart <= claimed
        worst = max(worst, float(apart))
    assert worst > 0.0


def test_the_claim_is_exact_where_it_can_be():
    """Linear losses move in a straight line: so many visits times one step's sensitivity."""
    line = Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0, form=LossForm.GLM)
    full = described(objective=line)
    assert ends_apart(full) == pytest.approx(41 * 2.0 / COUNT, rel=1e-9)
    assert ends_apart(full) >= 41 * 2.0 / COUNT
    cyclic = described(objective=line, batches=Cyclic(5))  # 41 steps, 4 batches: 11 visits
    assert ends_apart(cyclic) == pytest.approx(11 * 2.0 / 5, rel=1e-9)
    sampled = described(objective=line, batches=Poisson(5))
    assert ends_apart(sampled) == pytest.approx(41 * 2.0 / 5, rel=1e-9)
    replaced = described(objective=line, adjacency=Adjacency.REPLACE_ONE)
    assert ends_apart(replaced) == pytest.approx(2 * 41 * 2.0 / COUNT, rel=1e-9)


def test_nothing_is_claimed_of_steps_that_may_expand():
    wild = described(step_size=9.0)  # beyond 2/smoothness
    assert math.isinf(ends_apart(wild)) and exact_guarantee(wild, 1.0, 3) is None
    penned = described(step_size=9.0, domain=Ball(0.5))
    assert ends_apart(penned) == penned.domain.diameter
    bent = Objective(gradient_bound=0.1, smoothness=0.5, strong_convexity=0.0, clipped=True)
    assert math.isinf(ends_apart(described(objective=bent)))


def test_a_crowded_poisson_batch_may_expand():
    """All other records in one batch of intended size five: 1 - 1.9 * 9/5 is below minus one."""
    count, bound = 10, 10.0
    targets = np.zeros(count)
    targets[0] = bound

    def sums(first: float) -> LinearSums:
        rows = np.ones((count, 1))
        rows[0] = first
        return LinearSums(
            rows, targets * first, links.Squared(), feature_norm=1.0, gradient_bound=bound
        )

    run = described(
        objective=sums(1.0).objective,
        records=count,
        steps=2,
        step_size=1.9,
        batches=Poisson(5),
    )
    worst = 0.0
    for seed in range(400):
        ends = [
            descend(run, sums(first), generator=seeded_generator_voids_privacy(seed))
            for first in (1.0, 0.0)
        ]
        worst = max(worst, float(abs(ends[0] - ends[1])[0]))
    assert worst > 2 * 1.9 * bound / 5, "more than the sum of the steps' own shifts"
    assert worst <= ends_apart(run)
    few = described(batches=Poisson(5), step_size=1.9)  # at most four times as crowded: 0.25 each
    assert math.isfinite(ends_apart(few))


def test_the_second_guarantee_is_that_of_the_noise_alone():
    run = described()
    alone = exact_guarantee(run, 4.0, COLUMNS)
    noise = DiscreteGaussian.on_release(run, 4.0)
    assert alone.epsilon(1e-5) == noise.guarantee(ends_apart(run), COLUMNS).epsilon(1e-5)
    # no better than the Gaussian mechanism at the least shift that the grid allows
    assert alone.epsilon(1e-5) > GaussianDP(ends_apart(run) / noise.std).epsilon(1e-5)
    assert exact_guarantee(run, 8.0, COLUMNS).epsilon(1e-5) < alone.epsilon(1e-5)


def test_the_second_guarantee_is_for_all_rows_of_a_person():
    """Linear losses move in a straight line: three rows move the end three times as far."""
    line = Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0, form=LossForm.GLM)
    run = described(objective=line)
    std = DiscreteGaussian.on_release(run, 4.0).std
    alone = exact_guarantee(run, 4.0, 1, rows_per_person=3)
    assert alone.epsilon(1e-5) >= GaussianDP(3 * 41 * 2.0 / COUNT / std).epsilon(1e-5)

    def claimed(rows_per_person: int) -> float:
        model = PrivateLogisticRegression(
            classes=(0, 1), epsilon=4.0, release_noise=20.0, steps=20, step_size=2.0
        )
        model.set_params(rows_per_person=rows_per_person).fit(ROWS, LABELS)
        words = json.loads(model.to_json())["numerics"]
        noise = DiscreteGaussian.on_release(model.run_, 20.0)
        exact = noise.guarantee(rows_per_person * ends_apart(model.run_), COLUMNS + 1)
        said = float(words.split("would give epsilon ")[1].split()[0])
        assert said >= exact.epsilon(1e-5)
        return said

    claimed(1), claimed(3)


def test_settings_of_a_later_fit_say_nothing_of_this_one(tmp_path):
    model = PrivateLogisticRegression(classes=(0, 1), epsilon=4.0).fit(ROWS, LABELS)
    model.set_params(release_noise=20.0)
    assert "discrete Gaussian" not in model.to_json()
    model.save_model(tmp_path / "model.npz")
    assert "discrete Gaussian" not in load_model(tmp_path / "model.npz").to_json()
    noisy = clone(model).fit(ROWS, LABELS)
    noisy.set_params(release_noise=None)
    assert "discrete Gaussian" in noisy.to_json()


def test_nothing_is_claimed_of_the_noise_alone_after_a_private_start():
    first = PrivateLogisticRegression(classes=(0, 1), epsilon=4.0).fit(ROWS, LABELS)
    later = clone(first).set_params(warm_start=first, release_noise=20.0).fit(ROWS, LABELS)
    words = json.loads(later.to_json())["numerics"]
    assert "discrete Gaussian" in words and "would give epsilon" not in words


def test_the_certificate_says_so(tmp_path, capsys):
    (tmp_path / "schema.toml").write_text(
        '[target]\nname="y"\nclasses=["0","1"]\n[columns.a]\ntype="numeric"\nlow=-0.5\nhigh=0.5\n'
    )
    lines = [f"{row[0]!r},{label}" for row, label in zip(ROWS.tolist(), LABELS, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,y", *lines]))

    def fit(name, *more):
        target = ["--epsilon", "4", "--delta", "1e-5", "--adjacency", "zero-out"]
        place = ["--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / name)]
        words = ["fit", str(tmp_path / "data.csv"), "--model", "logistic", *target, *place, *more]
        assert main(words) == 0
        capsys.readouterr()
        return json.loads((tmp_path / name / "certificate.json").read_text())

    plain = fit("plain")
    noisy = fit("noisy", "--release-noise", "20")
    void = fit("void", "--release-noise", "20", "--seed-voids-privacy", "1")
    assert noisy["epsilon"] == plain["epsilon"], "post-processing"
    assert "discrete Gaussian" not in plain["numerics"]
    model = load_model(tmp_path / "noisy" / "model.npz")
    assert model.release_noise == 20.0
    alone = exact_guarantee(model.run_, 20.0, 2).epsilon(1e-5)
    assert "sampled exactly" in noisy["numerics"]
    said = float(noisy["numerics"].split("would give epsilon ")[1].split()[0])
    assert alone <= said <= alone * 1.00001
    assert "sampled exactly" in void["numerics"] and "would give" not in void["numerics"]
    assert "sampled exactly" in (tmp_path / "noisy" / "certificate.html").read_text()
