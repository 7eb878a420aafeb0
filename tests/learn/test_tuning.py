"""`tune_on=`: settings chosen on public rows, for nothing; on private rows they are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from learn_cases import declared, targets
from sklearn.base import clone

import wane.learn.base
from wane.cli import main
from wane.describe import Adjacency
from wane.errors import InvalidDescription
from wane.learn import PrivateLogisticRegression, PublicData, load_model, tuned
from wane.learn.parts import Reader
from wane.learn.tuning import refuse_private
from wane.ledger import Budget, Ledger


def rows(n=400, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X, (X[:, 0] > X[:, 1]).astype(int)


PUBLIC = PublicData(*rows(200, seed=1))


def model(**changes):
    return PrivateLogisticRegression(**({"classes": [0, 1], "tune_on": PUBLIC} | changes))


def test_a_fit_uses_what_did_best_and_leaves_its_own_parameters_alone():
    X, y = rows()
    bad = {"steps": 1, "step_size": 1e-6}
    made = model(**bad).fit(X, y)
    chosen = tuned(model(**bad), PUBLIC, records=400)
    assert made.run_.steps == chosen.steps
    assert (made.steps, made.step_size) == (1, 1e-6) and made.tune_on is PUBLIC
    assert made.n_features_in_ == 4 and made.certificate_.epsilon(1e-5) <= 1.0
    assert made.predict(X).shape == (400,)


def test_the_choice_looks_at_public_rows_and_at_the_number_of_private_ones_alone():
    X, y = rows()
    Z, w = rows(seed=9)
    one, other = model(seed_voids_privacy=3).fit(X, y), model(seed_voids_privacy=4).fit(-Z, w)
    assert one.run_ == other.run_
    assert not np.array_equal(one.coef_, other.coef_)


def test_longer_or_shorter_runs_win_where_they_are_better(monkeypatch):
    """Public rows of pure noise in one direction: the score decides, ties go to the plan."""
    X, y = rows()
    planned = model(tune_on=None).fit(X, y).run_
    monkeypatch.setattr(PrivateLogisticRegression, "score", lambda self, X, y: 0.5)
    assert model().fit(X, y).run_ == planned
    monkeypatch.setattr(PrivateLogisticRegression, "score", lambda self, X, y: self.run_.steps)
    assert model().fit(X, y).run_.steps == pytest.approx(4 * planned.steps, rel=0.02)


def test_trials_spend_nothing_and_the_fit_is_entered_once(tmp_path):
    account = Ledger(tmp_path / "ledger.db", new=True).account("people", new=True)
    account.set_budget(Budget(1.0, 1e-5, Adjacency.ZERO_OUT))
    made = model(account=account).fit(*rows())
    (entry,) = account.entries
    assert entry.confirmed and entry.certificate == made.certificate_
    found = tuned(model(account=account, tune_on=None), PUBLIC, records=400, repeats=1)
    assert len(account.entries) == 1 and found.account is account


def test_a_fitted_start_stays_fitted():
    X, y = rows()
    first = PrivateLogisticRegression(classes=[0, 1]).fit(X, y)
    again = model(warm_start=first).fit(X, y)
    assert len(again.certificate_.parts) == 2


def test_seeds_void_as_ever():
    assert math.isinf(model(seed_voids_privacy=1).fit(*rows()).certificate_.epsilon(1e-5))


@pytest.mark.parametrize("name", ["svc", "envelope", "several", "poisson", "PrivateRidge"])
def test_every_kind_of_model_can_be_tuned(name, tmp_path):
    generator = np.random.default_rng(2)
    made, kind = declared(epsilon=4.0)[name]
    X, Z = generator.standard_normal((2, 200, 4))
    made.set_params(tune_on=PublicData(Z, targets(kind, generator, 200)))
    made.fit(X, targets(kind, generator, 200)).save_model(tmp_path / "model.npz")
    assert made.certificate_.epsilon(1e-5) <= 4.0
    assert np.array_equal(load_model(tmp_path / "model.npz").predict(X), made.predict(X))


def test_private_rows_are_refused_with_the_reason_and_nothing_is_spent(tmp_path):
    account = Ledger(tmp_path / "ledger.db", new=True).account("people", new=True)
    X, y = rows()
    for private in ((X, y), X, True, {"X": X, "y": y}):
        with pytest.raises(InvalidDescription, match="would release which did best"):
            model(tune_on=private, account=account).fit(X, y)
    with pytest.raises(InvalidDescription, match="at least 4 rows"):
        model(tune_on=PublicData(*rows(2, seed=9)), account=account).fit(X, y)
    assert account.entries == ()


@pytest.mark.parametrize(
    "name", ["epsilon", "delta", "adjacency", "account", "seed_voids_privacy", "tune_on"]
)
def test_no_candidate_may_change_the_target(name):
    with pytest.raises(InvalidDescription, match=f"leave {name} alone"):
        tuned(model(), PUBLIC, records=400, candidates=[{"clip": 0.1}, {name: 5.0}])


def test_rows_in_parts_are_tuned_beforehand():
    with pytest.raises(InvalidDescription, match=r"tune_on must be None for rows in parts.*tuned"):
        Reader.of(model())


def test_a_clone_keeps_the_public_rows():
    copy = clone(model())
    assert isinstance(copy.tune_on, PublicData) and np.array_equal(copy.tune_on.X, PUBLIC.X)


def test_on_the_command_line_a_file_of_public_rows_is_named(tmp_path, capsys, monkeypatch):
    described = tmp_path / "schema.toml"
    column = "[columns.{}]\ntype = 'numeric'\nlow = -4\nhigh = 4\n"
    described.write_text(
        "[target]\nname = 'y'\nclasses = ['0', '1']\n" + column.format("a") + column.format("b")
    )
    for name, seed in (("private.csv", 1), ("public.csv", 2)):
        X, y = rows(300, seed)
        lines = [f"{a},{b},{label}" for (a, b), label in zip(X[:, :2], y, strict=True)]
        (tmp_path / name).write_text("\n".join(["a,b,y", *lines]))
    seen = []
    honest = wane.learn.base.tuned

    def watched(estimator, tune_on, **more):
        seen.append((len(tune_on.X), more["records"]))
        return honest(estimator, tune_on, **more)

    monkeypatch.setattr(wane.learn.base, "tuned", watched)
    words = f"fit {tmp_path}/private.csv --schema {described} --model logistic --epsilon 4"
    words += f" --delta 1e-5 --adjacency zero-out --out {tmp_path}/out"
    assert main([*words.split(), "--tune-on", f"{tmp_path}/public.csv"]) == 0
    assert seen == [(300, 300)] and "epsilon" in capsys.readouterr().out
    for name in ("certificate.json", "model-card.md"):
        text = (tmp_path / "out" / name).read_text()
        assert "public.csv" in text and "SHA-256" in text
        assert "planned from public numbers alone" not in text
    (tmp_path / "copy.csv").write_bytes((tmp_path / "private.csv").read_bytes())
    (tmp_path / "link.csv").hardlink_to(tmp_path / "private.csv")
    (tmp_path / "more.csv").write_text((tmp_path / "private.csv").read_text() + "\n1,2,no\n")
    for name in ("private.csv", "copy.csv", "link.csv", "more.csv"):
        again = words.replace("/out", "/again").split()
        assert main([*again, "--tune-on", f"{tmp_path}/{name}"]) == 2, name
        assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "taken",
    [
        lambda X, y: (X, y),
        lambda X, y: (X[::-1], y[::-1]),
        lambda X, y: (np.vstack([X, X + 7.0]), np.r_[y, y]),
        lambda X, y: (X[:40], y[:40]),
    ],
    ids=["the same", "in another order", "and more", "a part"],
)
def test_private_rows_are_not_taken_for_public_ones(taken):
    X, y = rows(120)
    with pytest.raises(InvalidDescription, match="must hold none of the private records"):
        model(tune_on=PublicData(*taken(X, y))).fit(X, y)


def test_coarse_tables_that_share_rows_by_chance_may_be_tuned_on():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(40, 2)), rng.integers(0, 2, size=40)
    many = rng.integers(0, 2, size=(4000, 2))
    refuse_private(PublicData(many, rng.integers(0, 2, size=4000)), X, y)


def test_a_statement_about_tuning_names_the_rows_by_their_hash():
    X, y = rows(50)
    public, other = PublicData(X, y, name="census 1990"), PublicData(X, 1 - y, name="census 1990")
    assert public.sha256 == PublicData(X.copy(), y.copy()).sha256 != other.sha256
    assert "census 1990" in public.statement
    assert public.sha256 in public.statement
