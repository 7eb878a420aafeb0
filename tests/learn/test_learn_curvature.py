"""The released curvature covers both neighbours, costs what it says, and lengthens steps."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from learn_cases import declared, targets

from runs import make_run
from wane.certificates import (
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.describe import (
    Adjacency,
    Cyclic,
    Fact,
    FactKind,
    FullBatch,
    NoiseMultiplier,
    NoisyDescent,
)
from wane.describe.domains import Ball
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, WithFailure
from wane.learn import (
    CurvatureBound,
    PrivateCurvature,
    PrivateLogisticRegression,
    PublicData,
    curvature as module,
    load_model,
)
from wane.learn.curvature import _largest_eigenvalue, _lost, private_curvature
from wane.learn.plan import Problem, plan
from wane.ledger import Budget, BudgetExceeded, Ledger
from wane.losses import Logistic, SoftmaxEnvelope, Squared
from wane.verify import verify

LINKS = [(Logistic(), 0.2), (Logistic(), None), (SoftmaxEnvelope(4), 0.3), (Squared(), 0.5)]
MU, BETA = 0.05, 1e-6


class Fixed:
    """Stands in for a generator whose next normal number is known."""

    def __init__(self, value: float) -> None:
        self.value = value

    def standard_normal(self) -> float:
        return self.value


def rows(seed: int, n: int = 60, d: int = 3, scale: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    made = generator.standard_normal((n, d)) * scale
    return made / np.maximum(1.0, np.linalg.norm(made, axis=1, keepdims=True))


def released(features, link, bound, z=0.0, adjacency=Adjacency.ZERO_OUT, **more):
    return private_curvature(
        features,
        link,
        feature_norm=1.0,
        gradient_bound=bound,
        mu=MU,
        failure_probability=BETA,
        adjacency=adjacency,
        generator=Fixed(z),  # type: ignore[arg-type]
        **more,
    )


@pytest.mark.parametrize(("link", "bound"), LINKS, ids=str)
def test_one_record_moves_the_eigenvalue_by_at_most_its_own_curvature(link, bound):
    generator = np.random.default_rng(1)
    M = link.objective(1.0, bound, 0.0).smoothness
    largest = 0.0
    for seed in range(60):
        here = rows(seed, n=12, scale=generator.choice([0.05, 1.0, 3.0]))
        there = here.copy()
        there[0] = generator.choice([0.0, 1.0]) * rows(seed + 1000, 1)[0]
        values = [_largest_eigenvalue(x, link, 1.0, bound, 0.0) for x in (here, there)]
        largest = max(largest, abs(values[0] - values[1]) / (M / 12))
    assert largest <= 1.0 + 1e-12
    same, null = np.tile([1.0, 0, 0], (12, 1)), np.tile([1.0, 0, 0], (12, 1))
    null[0] = 0.0
    values = [_largest_eigenvalue(x, link, 1.0, bound, 0.0) for x in (same, null)]
    assert values[0] - values[1] == pytest.approx(M / 12)  # attained


@pytest.mark.parametrize("bound", [0.05, 0.2, 0.6])
def test_it_covers_every_hessian_of_the_average(bound):
    """Short rows may bend more for their length, once their residual may be longer."""
    generator = np.random.default_rng(2)
    for seed in range(30):
        here = rows(seed, n=20, scale=0.4) * generator.uniform(0.02, 1.0, (20, 1))
        top = _largest_eigenvalue(here, Logistic(), 1.0, bound, 0.0)
        for _ in range(20):
            p = 1.0 / (1.0 + np.exp(here @ (generator.standard_normal(3) * 30)))
            inside = p * np.linalg.norm(here, axis=1) <= bound
            hessian = (here * (p * (1 - p) * inside)[:, None]).T @ here / len(here)
            assert np.linalg.eigvalsh(hessian)[-1] <= top * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_at_the_edge_of_failure_both_neighbours_are_still_covered(adjacency):
    z = 4.753424308822899  # P(Z < -z) = 1e-6
    features = np.concatenate([rows(0, 400), 0.01 * rows(1, 400)])
    found = released(features, Logistic(), 0.2, -z * (1 - 1e-9), adjacency)
    neighbour = features.copy()
    neighbour[-1] = [1.0, 0.0, 0.0]
    for x in (features, neighbour):
        assert found.smoothness >= _largest_eigenvalue(x, Logistic(), 1.0, 0.2, 0.0)


def test_the_noise_is_that_of_its_guarantee():
    features = np.concatenate([rows(3, 1000), np.zeros((9000, 3))])
    low, high = (released(features, Logistic(), None, z).smoothness for z in (0.0, 1.0))
    assert high - low == pytest.approx(0.25 / 10_000 / MU, rel=2.0**-9)  # the grid's spacing
    guarantee = certify(released(features, Logistic(), None).release).guarantee
    assert guarantee == WithFailure(GaussianDP(MU), BETA)


def test_never_worse_than_one_record():
    assert released(rows(4, 50), Logistic(), 0.2, z=50.0).smoothness == pytest.approx(0.16)
    assert released(rows(4, 50), Logistic(), 0.2, z=-1e9).smoothness > 0.0


def test_rows_that_mean_nothing_or_are_too_long_do_no_harm():
    odd = rows(5, 2000)
    odd[0], odd[1], odd[2] = np.nan, np.inf, 1e200
    found = released(odd, Logistic(), 0.2, intercept=0.1)
    assert math.isfinite(found.smoothness) and found.smoothness <= 0.16


def test_longer_steps_are_certified_together_with_the_bound():
    features = rows(6, 40_000, d=8)
    of = Problem(link=Logistic(), records=40_000, features=8, feature_norm=1.0)
    run = plan(
        of,
        epsilon=1.0,
        delta=1e-5,
        adjacency=Adjacency.ZERO_OUT,
        batches=FullBatch(),
        ridge=0.001,
        clip=1.0,
        steps=3000,
        step_size=7.0,
    )
    bound = released(features, Logistic(), 1.0)
    assert bound.smoothness < 0.05
    longer = replace(run, step_size=5 * run.step_size)
    known = certify(longer).epsilon(1e-5)  # the theorems expand, and charge for every iterate
    found = certify(longer, facts=[bound.about(longer)])
    assert found.best().analysis.name == "averaged_last_iterate"
    joint = together((certify(bound.release), found))
    assert joint.epsilon(1e-5) < 0.75 * known
    assert verify(certificate_document(joint, delta=1e-5)).verified


def test_the_bound_is_of_no_other_run():
    """One record bends, the others are flat: batches of one bend a thousand times the average."""
    features = np.zeros((1000, 2))
    features[0, 0] = 1.0
    bound = released(features, Logistic(), 1.0)
    run = NoisyDescent(
        objective=Logistic().objective(1.0, 1.0, 0.01),
        records=1000,
        steps=50,
        step_size=1.5 / (bound.smoothness + 0.02),
        noise=NoiseMultiplier(5.0),
        adjacency=Adjacency.ZERO_OUT,
    )
    fact = bound.about(run)
    hidden = certify(run, facts=[fact])
    assert hidden.epsilon(1e-5) < certify(run).epsilon(1e-5)
    for changes in (
        {"batches": Cyclic(1)},
        {"batches": Cyclic(1000)},
        {"steps": 51},
        {"objective": replace(run.objective, ridge=0.1)},
        {"adjacency": Adjacency.REPLACE_ONE},
        {"records": 1001},
    ):
        other = replace(run, **changes)
        assert certify(other, facts=[fact]).epsilon(1e-5) == certify(other).epsilon(1e-5)
    for changes in ({"records": 1001}, {"objective": Logistic().objective(1.0, 0.5, 0.0)}):
        with pytest.raises(InvalidDescription, match="records and gradient_bound"):
            bound.about(replace(run, **changes))


def test_the_average_of_losses_that_bend_down_is_not_used():
    run = make_run()
    fact = Fact.of(run, FactKind.AVERAGE_SMOOTHNESS, 0.01)
    names = {v.analysis.name for v in certify(run, facts=[fact]).applicable}
    assert "averaged_last_iterate" in names
    for changes in ({"strong_convexity": -0.1}, {"strong_convexity": None}, {"clipped": True}):
        bent = replace(run, objective=replace(run.objective, **changes))
        fact = Fact.of(bent, FactKind.AVERAGE_SMOOTHNESS, 0.01)
        names = {v.analysis.name for v in certify(bent, facts=[fact]).applicable}
        assert "averaged_last_iterate" not in names


def test_where_the_average_is_not_what_runs_it_is_refused():
    of = Problem(link=Logistic(), records=200, features=3, feature_norm=1.0)
    bound = released(rows(7, 200), Logistic(), 0.2)

    def planned(adjacency=Adjacency.ZERO_OUT, **choices):
        return plan(of, epsilon=1.0, delta=1e-5, adjacency=adjacency, **choices)

    with pytest.raises(InvalidDescription, match="batches"):
        bound.about(planned(batches=Cyclic(50)))
    with pytest.raises(InvalidDescription, match="domain"):
        bound.about(planned(batches=FullBatch(), domain=Ball(1.0)))
    with pytest.raises(InvalidDescription, match="adjacency"):
        bound.about(planned(Adjacency.REPLACE_ONE, batches=FullBatch()))
    with pytest.raises(InvalidDescription, match="adjacency"):
        released(rows(7, 20), Logistic(), 0.2, adjacency=Adjacency.ADD_REMOVE)
    with pytest.raises(InvalidDescription, match="failure_probability"):
        private_curvature(
            rows(7, 20),
            Logistic(),
            feature_norm=1.0,
            gradient_bound=0.2,
            mu=MU,
            failure_probability=0.0,
            adjacency=Adjacency.ZERO_OUT,
            generator=np.random.default_rng(0),
        )


def two_clouds(n: int = 3000, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, (X[:, 0] > X[:, 1]).astype(int)


def curved(**changes):
    given = {"classes": [0, 1], "curvature": PrivateCurvature()} | changes
    return PrivateLogisticRegression(**given)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (8.0, 1e-9)])
def test_an_estimator_takes_longer_steps_within_its_target(adjacency, epsilon, delta):
    X, y = two_clouds()
    target = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
    model = curved(**target).fit(X, y)
    plain = PrivateLogisticRegression(classes=[0, 1], batches=FullBatch(), **target).fit(X, y)
    assert model.run_.step_size > 1.5 * plain.run_.step_size
    assert model.run_.steps < plain.run_.steps
    assert isinstance(model.run_.batches, FullBatch)
    bound, run = model.certificate_.each
    assert run.run == model.run_ and run == certify(model.run_, facts=run.facts)
    (fact,) = run.facts
    assert fact.kind is FactKind.AVERAGE_SMOOTHNESS
    assert isinstance(bound.guarantee, WithFailure)
    assert bound.guarantee.probability == pytest.approx(0.01 * delta)
    assert 0.99 * epsilon < model.certificate_.epsilon(delta) <= epsilon
    spent = bound.guarantee.inner.mu**2 + run.mu**2
    assert bound.guarantee.inner.mu**2 == pytest.approx(0.01 * spent, rel=1e-4)
    # without the bound nothing of the sort could be claimed: the step is beyond one record's limit
    M = plain.run_.objective.smoothness
    assert model.run_.objective.smoothness == M
    assert model.run_.step_size * M > 2.0 >= model.run_.step_size * fact.value


def test_whatever_the_bound_turns_out_to_be_the_promise_is_kept():
    X, y = two_clouds(400)
    ready = curved(epsilon=2.0)._prepare(X, y)
    promised = ready.certificate.epsilon(1e-5)
    assert promised <= 2.0 and len(ready.certificate.parts) == 2
    seen = set()
    for z in (-1e9, -40.0, -4.0, 0.0, 3.0, 1e9):
        made = ready.first(Fixed(z))
        (fact,) = made.certificate.parts[1].facts
        seen.add(fact.value)
        assert made.certificate.epsilon(1e-5) <= promised
        assert made.certificate.each[1].mu <= ready.certificate.each[1].mu
        assert made.run.objective.gradient_bound == made.gradients.objective.gradient_bound
    M = ready.gradients.objective.smoothness
    assert len(seen) >= 4 and max(seen) == M


def test_the_promise_is_in_the_ledger_before_any_noise(tmp_path, monkeypatch):
    X, y = two_clouds(800)
    account = Ledger(tmp_path / "ledger.db", new=True).account("people", new=True)
    account.set_budget(Budget(1.0, 1e-5, Adjacency.ZERO_OUT))
    honest = module.private_curvature

    def watched(*rows, **changes):
        assert len(account.entries) == 1 and not account.entries[0].confirmed
        return honest(*rows, **changes)

    monkeypatch.setattr(module, "private_curvature", watched)
    model = curved(account=account).fit(X, y)
    (entry,) = account.entries
    assert entry.confirmed
    assert model.certificate_.epsilon(1e-5) <= entry.certificate.epsilon(1e-5) <= 1.0
    with pytest.raises(BudgetExceeded):
        curved(account=account).fit(X, y)
    assert len(account.entries) == 1


def test_every_step_of_the_run_is_nonexpansive_on_both_neighbours():
    """Adversarial rows, all in one direction: where the average bends as one record does."""
    generator = np.random.default_rng(5)
    for seed in range(6):
        X, y = two_clouds(60, 3, seed)
        X[: 10 * seed] = generator.standard_normal(3)
        model = curved(epsilon=8.0, step_size=None, fit_intercept=bool(seed % 2))
        ready = model._prepare(X, y).first(generator)
        Z = X.copy()
        Z[0] = 9.0 * generator.standard_normal(3)
        other = model._prepare(Z, y).gradients
        eta, n = ready.run.step_size, len(X)
        for sums in (ready.gradients, other):
            for _ in range(40):
                a, b = generator.standard_normal((2, *sums.shape)) * generator.choice([0.1, 1, 9])
                after = (a - b) - eta / n * (sums(a, slice(0, n)) - sums(b, slice(0, n)))
                assert np.linalg.norm(after) <= np.linalg.norm(a - b) * (1.0 + 1e-9)


def test_with_a_ridge_the_bound_lets_the_certificate_rest_on_longer_steps():
    X, y = two_clouds(4000)
    fixed = {"ridge": 0.002, "step_size": 20.0, "steps": 400, "clip": 0.2, "epsilon": 1.0}
    with_bound = curved(**fixed).fit(X, y)
    without = PrivateLogisticRegression(classes=[0, 1], batches=FullBatch(), **fixed).fit(X, y)
    noise = [m.run_.gradient_noise_stds[0] for m in (with_bound, without)]
    assert noise[0] < 0.5 * noise[1]


@pytest.mark.parametrize("name", ["svc", "envelope", "one-vs-rest", "PrivateLasso", "poisson"])
def test_other_models_take_longer_steps_too_and_survive_files(name, tmp_path):
    model, kind = declared(steps=None, epsilon=8.0, curvature=PrivateCurvature(share=0.05))[name]
    generator = np.random.default_rng(3)
    X = generator.standard_normal((600, 4))
    model.fit(X, targets(kind, generator, 600)).save_model(tmp_path / "model.npz")
    found = load_model(tmp_path / "model.npz")
    assert found.certificate_.epsilon(1e-5) == model.certificate_.epsilon(1e-5) <= 8.0
    assert pickle.loads(pickle.dumps(model)).certificate_ == model.certificate_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batches": Cyclic(50)}, "batches must be None or FullBatch"),
        ({"curvature": 0.05}, "curvature must be"),
        ({"checkpoint": object()}, "checkpoint must be None with curvature"),
        ({"release_noise": 1.0}, "release_noise must be None with curvature"),
        ({"tune_on": PublicData([[1.0]], [0])}, "tune_on must be None with curvature"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value.split()[0],
)
def test_what_does_not_go_together_is_refused(changes, message):
    with pytest.raises(InvalidDescription, match=message):
        curved(**changes).fit(*two_clouds(200))
    for field in ("share", "failure"):
        for value in (0.0, 0.6, math.nan):
            with pytest.raises(InvalidDescription, match=field):
                PrivateCurvature(**{field: value})


def test_what_arithmetic_loses_is_counted():
    """A relative margin on M/n would not cover it: with n rows M/n itself is that much smaller."""
    long = np.random.default_rng(8).uniform(1.0, 9.0, (200_000, 2))
    found = _largest_eigenvalue(long, Logistic(), 1.0, 0.2, 0.0)
    exact = long.astype(np.longdouble)
    exact /= np.sqrt((exact * exact).sum(axis=1))[:, None]
    a, b, c = ((exact[:, i] * exact[:, j]).mean() for i, j in ((0, 0), (0, 1), (1, 1)))
    M = Logistic().objective(1.0, 0.2, 0.0).smoothness
    top = np.longdouble(M) * ((a + c) / 2 + np.sqrt(((a - c) / 2) ** 2 + b * b))
    assert abs(found - top) <= M * _lost(*long.shape)
    # and at a million rows it is above the relative 1e-9 of one record's share
    assert _lost(10**6, 50) > 1e-9 / 10**6


def test_a_plan_in_view_of_the_bound_has_the_same_time_and_the_same_noise():
    of = Problem(link=Logistic(), records=20_000, features=8, feature_norm=1.0)
    target = {"epsilon": 1.0, "delta": 1e-5, "adjacency": Adjacency.ZERO_OUT}
    plain = plan(of, batches=FullBatch(), clip=0.2, **target)
    release = stated_release("a bound", GaussianDP(0.1), "a test", Adjacency.ZERO_OUT)
    bound = CurvatureBound(0.04, release, 20_000, 0.2)
    longer = plan(of, batches=FullBatch(), clip=0.2, curvature=bound, **target)
    assert longer.objective == plain.objective and 3.9 * longer.steps < plain.steps
    reached, noise = zip(
        *((r.steps * r.step_size, r.step_size**2 * r.steps * r.gradient_noise_stds[0] ** 2)
          for r in (plain, longer)), strict=True,
    )  # fmt: skip
    assert reached[0] == pytest.approx(reached[1], rel=1e-3)
    assert noise[0] == pytest.approx(noise[1], rel=1e-3)
    for changes in ({"batches": Cyclic(50)}, {"clip": None}, {"domain": Ball(1.0)}):
        given = {"batches": FullBatch(), "clip": 0.2, "curvature": bound} | changes
        with pytest.raises(InvalidDescription, match="curvature of the average"):
            plan(of, **target, **given)
