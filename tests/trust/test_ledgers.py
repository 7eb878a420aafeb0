"""What a ledger once accepted, forgot or believed; and the ledgers of wane 0.1."""

import copy
import json
import shutil
import sqlite3
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runs import RIDGE_RUN, make_run
from wane import Adjacency, Ball, GradientNoise, NoisyDescent, Objective, certify
from wane.cli import main
from wane.describe import Poisson, ShuffledOnce, WithoutReplacement
from wane.describe.fields import run_to_fields
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP, NumericalDP, RenyiDP, WithFailure
from wane.guarantees.fields import guarantee_from_fields, guarantee_to_fields
from wane.guarantees.mixture import GaussianMixture
from wane.guarantees.steps import GaussianStep, Pair, SampledGaussianStep
from wane.ledger import Budget, BudgetExceeded, Ledger, stored
from wane.ledger.storage import LedgerFault
from wane.report.text import visible

OLD = Path(__file__).parents[1] / "golden" / "0.1.0"
CERTIFICATE = certify(RIDGE_RUN)


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.db", new=True)


@pytest.fixture
def account(book):
    return book.account("patients", new=True)


def edited_by_hand(path, *statements):
    raw = sqlite3.connect(path)
    for trigger in ("never_changed", "never_deleted"):
        raw.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


# one unit for each data set


def test_two_adjacencies_on_one_data_set(account):
    """Both were accepted, and then nothing could be shown or limited."""
    with account.spend(CERTIFICATE):
        pass
    other = certify(replace(RIDGE_RUN, adjacency=Adjacency.REPLACE_ONE))
    with pytest.raises(InvalidDescription, match="do not add up"), account.spend(other):
        pass
    assert account.total.epsilon(1e-5) == CERTIFICATE.epsilon(1e-5)


def test_two_numbers_of_rows_per_person_on_one_data_set(account):
    with account.spend(CERTIFICATE):
        pass
    wider = CERTIFICATE.for_persons(3)
    with pytest.raises(InvalidDescription, match="rows_per_person"), account.spend(wider):
        pass


def test_a_budget_at_delta_one_limits_nothing_and_is_refused():
    with pytest.raises(InvalidDescription, match="limits nothing"):
        Budget(1.0, 1.0, Adjacency.ZERO_OUT)


# what is read back is what was spent


def samples():
    """Of losses with a small range: the theorem for that is by far the best."""
    from wane.describe import Objective
    from wane.sampling import Losses, OverdampedRun, Posterior

    known = Objective(gradient_bound=5.0, smoothness=1.0, strong_convexity=0.0)
    losses = Losses(
        objective=known,
        dimension=2,
        laplacian_lipschitz=1.0,
        height_at_start=0.5,
        range_of_loss=0.01,
    )
    posterior = Posterior(losses=losses, records=100, prior_precision=50.0, temperature=1.0)
    return OverdampedRun(posterior=posterior, step_size=0.02, steps=4000)


def test_a_sample_is_read_back_with_its_best_theorem(account):
    """It was spent at 0.198 and read back at 120.7."""
    from wane.sampling import certify_samples

    run = samples()
    certificate = certify_samples(run)
    assert certificate.best(1e-5).analysis.name == "range_transfer"
    with account.spend(certificate):
        pass
    spent, found = certificate.epsilon(1e-5), account.total.epsilon(1e-5)
    assert found == pytest.approx(spent, rel=1e-9)
    assert found < certify(run.descent).epsilon(1e-5) / 2


def underdamped(**changed):
    """The same posterior, sampled by underdamped chains."""
    from wane.sampling import UnderdampedRun

    posterior = samples().posterior
    settings = {"step_size": 0.02, "steps": 20_000, "friction": 2.0, "samples": 3}
    return UnderdampedRun(posterior=posterior, **(settings | changed))


@pytest.mark.parametrize("run", [samples(), underdamped()], ids=["overdamped", "underdamped"])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_sample_costs_the_same_before_and_after_reading(account, monkeypatch, run, rows):
    """By what was kept, and computed again by another version from the chain in the row."""
    certificate = certify(run).for_persons(rows)
    with account.spend(certificate):
        pass
    spent = [certificate.epsilon(delta) for delta in (1e-5, 1e-9)]
    assert account.total.epsilon(1e-5) == spent[0]
    (entry,) = account.entries
    again = stored.certificate_in(entry.content)
    assert [again.epsilon(delta) for delta in (1e-5, 1e-9)] == spent
    assert again.parts[0].description == certificate.parts[0].description
    monkeypatch.setattr(stored, "__version__", "9.9.9")
    assert account.total.epsilon(1e-5) == spent[0]


def test_a_row_of_a_descent_with_a_sampler_is_read_with_its_persons():
    """Rows of earlier versions; those for several rows of a person were read as for one."""
    run = samples()
    old = {"run": run_to_fields(run.descent), "sampler": run.sampler.to_fields()}
    content = {"certificate": {"releases": [old | {"rows_per_person": 2}], "voids": []}}
    found = stored.certificate_in(content).epsilon(1e-5)
    assert found == pytest.approx(certify(run).for_persons(2).epsilon(1e-5), rel=1e-9)


def test_a_posterior_estimator_stores_its_chain(account):
    from wane.sampling.estimators import PosteriorLogisticRegression

    X = np.random.default_rng(1).uniform(-0.5, 0.5, (300, 2))
    y = (X[:, 0] > 0).astype(int)
    model = PosteriorLogisticRegression(
        classes=[0, 1], epsilon=4.0, account=account, step_size=0.05, steps=300, prior_precision=10
    )
    model.fit(X, y)
    (entry,) = account.entries
    described = entry.content["certificate"]["releases"][0]["run"]
    assert (described["kind"], described["samples"]) == ("overdamped-chains", 1)
    assert account.total.epsilon(1e-5) == model.certificate_.epsilon(1e-5)


def test_nothing_is_computed_while_the_file_is_locked(account, monkeypatch):
    """Eight rows of random batches kept it locked for 3.7 seconds."""
    from wane.ledger import book as module

    run = make_run(records=100, steps=3, step_size=1.0, batches=Poisson(5))
    certificate = certify(replace(run, adjacency=Adjacency.ZERO_OUT))
    account.set_budget(Budget(50.0, 1e-5, Adjacency.ZERO_OUT))
    state, asked = {"locked": False}, []
    locked, refuse = module.LedgerFile.locked, module._refuse_beyond

    @contextmanager
    def noted(self):
        with locked(self) as connection:
            state["locked"] = True
            try:
                yield connection
            finally:
                state["locked"] = False

    def watched(*arguments):
        asked.append(state["locked"])
        refuse(*arguments)

    monkeypatch.setattr(module.LedgerFile, "locked", noted)
    monkeypatch.setattr(module, "_refuse_beyond", watched)
    for _ in range(3):
        with account.spend(certificate):
            pass
    assert asked == [False] * 3
    assert len(account.entries) == 3


def test_gaussian_releases_are_not_certified_again(account, monkeypatch):
    with account.spend(CERTIFICATE):
        pass

    def forbidden(*_):
        raise AssertionError("certified again")

    monkeypatch.setattr("wane.ledger.stored.certificate_from_fields", forbidden)
    assert account.total.epsilon(1e-5) == CERTIFICATE.epsilon(1e-5)


KEPT = {
    "random batches": lambda: certify(
        NoisyDescent(
            objective=Objective(
                gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0, ridge=0.01
            ),
            records=10_000,
            step_size=0.5,
            steps=2000,
            noise=GradientNoise(0.01),
            batches=Poisson(100),
            domain=Ball(5.0),
            adjacency=Adjacency.ZERO_OUT,
        )
    ),
    "persons": lambda: certify(
        make_run(records=100, steps=3, step_size=1.0, batches=WithoutReplacement(5))
    ).for_persons(2),
    "a secret order": lambda: certify(make_run(batches=ShuffledOnce(50))),
}


@pytest.mark.parametrize("kind", KEPT)
def test_releases_of_every_kind_cost_what_was_spent_and_are_not_certified_again(
    account, monkeypatch, kind
):
    """Hidden bounds of random batches were certified again whenever the ledger was read."""
    certificate = KEPT[kind]()
    delta = 3e-7
    account.set_budget(Budget(50.0, delta, certificate.run.adjacency))
    asked = {at: certificate.epsilon(at) for at in (1e-5, 1e-6, delta)}
    with account.spend(certificate):
        pass

    def forbidden(*_):
        raise AssertionError("certified again")

    monkeypatch.setattr("wane.ledger.stored.certificate_from_fields", forbidden)
    stored._certificate.cache_clear()  # as another process reads it
    (part,) = account.total.each
    for at, spent in asked.items():
        assert part.epsilon(at) == spent
    others = {1e-3: 1.3, 1e-4: 1.3, 1e-8: 1.5}  # at other deltas a little more, and never less
    for at, more in others.items():
        assert certificate.epsilon(at) <= part.epsilon(at) <= more * certificate.epsilon(at)
    assert {v.analysis.name for v in part.applicable} == {
        v.analysis.name for v in certificate.applicable
    }


def test_a_row_of_another_version_or_description_is_certified_again(account):
    certificate = KEPT["a secret order"]()
    with account.spend(certificate):
        pass
    (entry,) = account.entries
    (row,) = entry.content["certificate"]["releases"]
    for change in (
        lambda made: made["certified"].update(wane="0.1.0"),
        lambda made: made["run"].update(records=made["run"]["records"] + 1),
        lambda made: made["certified"].pop("claims"),
    ):
        other = copy.deepcopy(row)
        change(other)
        (part,) = stored.spent_in({"certificate": {"releases": [other], "voids": []}})
        found = {f.because for v in part.applicable for f in v.findings}
        assert not any("when it was spent" in because for because in found)


# any guarantee


GUARANTEES = {
    "gaussian": GaussianDP(0.7),
    "failure": WithFailure(GaussianDP(0.3), 1e-7),
    "mixture": GaussianMixture((0.1, 0.5), (0.5, 0.5)),
    "numerical": NumericalDP(
        ((GaussianStep(0.5), 2), (SampledGaussianStep(1.0, 0.1, Pair.ADD_OR_REMOVE), 3))
    ),
    "group": GaussianMixture((0.1, 0.5), (0.5, 0.5)).group(3),
    "zcdp": RenyiDP.zcdp(0.1),
    "curve": RenyiDP(lambda order: 0.1 * order + 0.01, max_order=64.0),
}


@pytest.mark.parametrize("name", GUARANTEES)
def test_guarantees_are_written_down_and_never_promise_more(name):
    guarantee = GUARANTEES[name]
    found = guarantee_from_fields(json.loads(json.dumps(guarantee_to_fields(guarantee))))
    for delta in (1e-3, 1e-6, 1e-9):
        was, now = guarantee.epsilon(delta), found.epsilon(delta)
        looser = 1.3 if name == "curve" else 1.0 + 1e-12
        assert now == was or was * (1.0 - 1e-12) <= now <= was * looser
    again = guarantee_from_fields(guarantee_to_fields(found))
    assert again.epsilon(1e-6) == pytest.approx(found.epsilon(1e-6), rel=1e-12)


@pytest.mark.parametrize("name", GUARANTEES)
def test_any_guarantee_is_spent_with_a_name_and_a_purpose(account, name):
    adjacency = Adjacency.ZERO_OUT
    words = {"name": "a mean", "purpose": "annual report", "adjacency": adjacency}
    with account.spend(GUARANTEES[name], **words):
        pass
    (entry,) = account.entries
    assert entry.confirmed and entry.content["certificate"]["releases"][0]["name"] == "a mean"
    assert account.total.epsilon(1e-6) >= GUARANTEES[name].epsilon(1e-6) * (1.0 - 1e-12)
    account.set_budget(Budget(1e6, 1e-6, adjacency))
    with account.spend(GUARANTEES[name], **words):
        pass


def test_a_bare_guarantee_needs_its_words(account):
    for words in (
        {},
        {"name": "x", "adjacency": Adjacency.ZERO_OUT},
        {"name": "x", "purpose": "y"},
    ):
        with pytest.raises(InvalidDescription), account.spend(GaussianDP(0.1), **words):
            pass
    assert account.entries == ()


# names


@pytest.mark.parametrize(
    "name", ["a\nb", "a\x1b[2Jb", "a\u202eb", "a\tb", "a\u200bb", "\ud800", "a\x00"]
)
def test_names_that_a_terminal_would_obey_are_refused(book, name, capsys):
    with pytest.raises(InvalidDescription, match="visible characters"):
        book.account(name, new=True)


@pytest.mark.parametrize("mark", ["\u034f", "\u115f", "\u2800", "\u3164", "\ufe0f", "\U000e0101"])
def test_names_that_look_alike_by_marks_that_are_not_seen_are_refused(book, mark):
    """Two accounts, each with its budget, would be one to whoever reads their names."""
    for name in (mark, f"people{mark}", f"peo{mark}ple"):
        with pytest.raises(InvalidDescription, match="visible characters"):
            book.account(name, new=True)
    assert visible(f"people{mark}") == "people" + ascii(mark)[1:-1]


def test_one_name_in_two_spellings_is_one_account(book):
    book.account("caf\u00e9  2024", new=True)
    assert book.account(" cafe\u0301 2024 ").dataset == "caf\u00e9 2024"
    assert book.account("caf\u00e9\u00a02024").dataset == "caf\u00e9 2024"


def test_a_mistyped_name_is_an_error_that_names_the_near_one(book, account):
    with pytest.raises(InvalidDescription, match="did you mean 'patients'"):
        book.account("Pateints")
    with pytest.raises(InvalidDescription, match="leave out --new"):
        book.account("patients", new=True)


def test_a_forged_line_of_an_old_file_is_shown_as_text(tmp_path, capsys):
    path = tmp_path / "old.db"
    shutil.copy(OLD / "ledger.sqlite", path)
    rows = sqlite3.connect(path).execute("SELECT * FROM rows ORDER BY number").fetchall()
    from wane.ledger.storage import _hash

    name, before = "x\nsafe: 0 releases, epsilon 0\x1b[2K\u202e", ""
    statements = []
    for number, kind, _, text, _ in rows:
        before = _hash(before, number, kind, name, text)
        quoted = name.replace("'", "''")
        statements.append(
            f"UPDATE rows SET dataset = '{quoted}', hash = '{before}' WHERE number = {number}"
        )
    edited_by_hand(path, *statements)
    assert main(["ledger", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out and "\u202e" not in out and "\\n" in out


# the file


def test_a_new_ledger_must_be_asked_for(tmp_path, capsys):
    with pytest.raises(InvalidDescription, match="--new"):
        Ledger(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
    Ledger(tmp_path / "one.db", new=True)
    with pytest.raises(InvalidDescription, match="must not exist yet"):
        Ledger(tmp_path / "one.db", new=True)
    assert [p.name for p in tmp_path.iterdir()] == ["one.db"]


def test_an_empty_file_is_no_ledger(tmp_path):
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerFault, match="a ledger never is"):
        Ledger(tmp_path / "empty.db")


def test_rows_removed_at_the_end_are_noticed(account):
    for _ in range(2):
        with account.spend(CERTIFICATE):
            pass
    edited_by_hand(account.ledger.path, "DELETE FROM rows WHERE number > 3")
    with pytest.raises(LedgerFault, match="missing at its end"):
        _ = account.entries


def test_a_document_names_the_row_that_the_ledger_must_hold(account, tmp_path, capsys):
    with account.spend(CERTIFICATE):
        said = account.so_far(1e-5)
    assert (said.releases, said.dataset) == (1, "patients")
    assert said.epsilon == CERTIFICATE.epsilon(1e-5)
    document = tmp_path / "certificate.json"
    document.write_text(json.dumps({"earlier_releases": said.to_fields()}))
    words = ["ledger", "check", str(account.ledger.path), "--document", str(document)]
    assert main(words) == 0
    edited_by_hand(
        account.ledger.path,
        "DELETE FROM rows WHERE number > 1",
        "UPDATE head SET number = 1, hash = (SELECT hash FROM rows)",
    )
    assert main(words) == 1
    assert "does NOT hold" in capsys.readouterr().out


def test_a_ledger_that_may_only_be_read_is_shown(account, capsys):
    with account.spend(CERTIFICATE):
        pass
    path = account.ledger.path
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert main(["ledger", "show", str(path)]) == 0
    finally:
        path.parent.chmod(0o700)
    assert "1 release," in capsys.readouterr().out


def test_the_commands_begin_ledgers_and_accounts_when_asked_to(tmp_path, capsys):
    path = str(tmp_path / "l.db")
    assert main(["ledger", "add", path, "--dataset", "a"]) == 2
    assert main(["ledger", "init", path]) == 0
    assert main(["ledger", "init", path]) == 2
    assert main(["ledger", "set-budget", path, "--dataset", "a", "--epsilon", "1"]) == 2
    assert main(["ledger", "add", path, "--dataset", "a"]) == 0
    assert main(["ledger", "set-budget", path, "--dataset", "a", "--epsilon", "1"]) == 0
    assert main(["ledger", "show", path, "--dataset", "b"]) == 2


# what wane 0.1 wrote


def test_a_ledger_of_wane_0_1_is_read_and_continued(tmp_path, capsys):
    path = tmp_path / "old.db"
    shutil.copy(OLD / "ledger.sqlite", path)
    before = path.read_bytes()
    assert main(["ledger", "show", str(path)]) == 0
    assert path.read_bytes() == before, "showing writes nothing"
    account = Ledger(path).account("people")
    assert len(account.entries) == 2 and account.budget.epsilon == 100
    with account.spend(CERTIFICATE):
        pass
    assert len(account.entries) == 3
    edited_by_hand(path, "DELETE FROM rows WHERE number = 5")
    with pytest.raises(LedgerFault):
        _ = account.entries


def test_two_adjacencies_in_a_ledger_of_wane_0_1(tmp_path, capsys):
    """`show` failed for the whole file."""
    path = tmp_path / "old.db"
    shutil.copy(OLD / "two-adjacencies.sqlite", path)
    assert main(["ledger", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "epsilon infinity" in out and "do not add up" in out
    other = Ledger(path).account("customers", new=True)
    other.set_budget(Budget(1.0, 1e-5, Adjacency.ZERO_OUT))
    with pytest.raises(BudgetExceeded), other.spend(CERTIFICATE):
        pass
