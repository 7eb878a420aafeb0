"""Fits that are taken up again: same end, one row in the ledger, one release for each row."""

import copy
import os
import pickle
import signal
import stat
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone

from trust.tally import COUNTS
from wane.cli import main
from wane.errors import InvalidDescription, MissingExtra
from wane.learn import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge, fit_table
from wane.ledger import Budget, BudgetExceeded, Ledger
from wane.run import Checkpoint, new_checkpoint_key
from wane.tables import Schema

CHANCE = np.random.default_rng(4)
ROWS = CHANCE.uniform(-0.5, 0.5, (400, 3))
LABELS = np.where(ROWS[:, 0] > 0, 1, 0)


class Cut(BaseException):
    """The machine stops here."""


class CutAt:
    """A sink for the progress bar that stops the run after so many steps."""

    def __init__(self, monkeypatch, after):
        from contextlib import contextmanager

        @contextmanager
        def counter(total, *, shown):
            def tell(done):
                if done == self.after:
                    raise Cut

            self.total = total
            yield tell

        self.after, self.total = after, None
        monkeypatch.setattr("wane.learn.base.step_counter", counter)


@pytest.fixture
def cut(monkeypatch):
    return CutAt(monkeypatch, None)


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "fit.checkpoint", new_checkpoint_key(), every=5)


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "ledger.db", new=True).account("patients", new=True)


def logistic(**changes):
    return PrivateLogisticRegression(**({"classes": (0, 1), "epsilon": 4.0} | changes))


def cut_off(cut, model, after=12, data=(ROWS, LABELS)):
    cut.after = after
    with pytest.raises(Cut):
        model.fit(*data)
    cut.after = None


@pytest.mark.parametrize(
    "model",
    [
        logistic(),
        PrivateLinearSVC(classes=(0, 1), epsilon=4.0),
        PrivateRidge(target_bound=1.0, epsilon=4.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_that_was_cut_off_ends_where_it_would_have(cut, checkpoint, model):
    whole = clone(model).set_params(seed_voids_privacy=7).fit(ROWS, LABELS)
    broken = clone(model).set_params(seed_voids_privacy=7, checkpoint=checkpoint)
    cut_off(cut, broken)
    assert checkpoint.path.exists() and not hasattr(broken, "coef_")
    assert stat.S_IMODE(checkpoint.path.stat().st_mode) == 0o600
    again = clone(broken).fit(ROWS, LABELS)
    assert np.array_equal(again.coef_, whole.coef_)
    assert np.array_equal(again.intercept_, whole.intercept_)
    assert not checkpoint.path.exists()


def test_private_noise_goes_on_too(cut, checkpoint):
    """Two takings-up of copies of one file draw the same noise, though nobody chose a seed."""
    model = logistic(checkpoint=checkpoint)
    cut_off(cut, model)
    sealed = checkpoint.path.read_bytes()
    one = clone(model).fit(ROWS, LABELS)
    checkpoint.path.write_bytes(sealed)
    other = clone(model).fit(ROWS, LABELS)
    assert np.array_equal(one.coef_, other.coef_)
    assert not np.array_equal(clone(model).fit(ROWS, LABELS).coef_, one.coef_), "a new run"


def test_the_ledger_counts_a_run_once(cut, checkpoint, account):
    model = logistic(checkpoint=checkpoint, account=account)
    for after in (1, 12, 30):
        cut_off(cut, model, after)
        (entry,) = account.entries
        assert not entry.confirmed
    # as much as one release: a second one would be refused
    epsilon = account.total.epsilon(1e-5)
    account.set_budget(Budget(epsilon, 1e-5, account.total.adjacency))
    model.fit(ROWS, LABELS)
    (entry,) = account.entries
    assert entry.confirmed
    assert account.total.epsilon(1e-5) == epsilon
    with pytest.raises(BudgetExceeded):
        model.fit(ROWS, LABELS)
    assert not checkpoint.path.exists(), "a refused run leaves no file"


def test_two_whole_runs_are_two_rows(checkpoint, account):
    model = logistic(checkpoint=checkpoint, account=account)
    model.fit(ROWS, LABELS)
    model.fit(ROWS, LABELS)
    assert [entry.confirmed for entry in account.entries] == [True, True]


def test_a_row_stands_for_one_release(cut, checkpoint, account):
    """A copy of the file cannot be ended a second time on the same row."""
    model = logistic(checkpoint=checkpoint, account=account, release_noise=1.0)
    cut_off(cut, model)
    sealed = checkpoint.path.read_bytes()
    model.fit(ROWS, LABELS)
    checkpoint.path.write_bytes(sealed)
    with pytest.raises(InvalidDescription, match=r"release \d+, which is confirmed"):
        clone(model).fit(ROWS, LABELS)
    assert checkpoint.path.read_bytes() == sealed, "a refusal leaves the file as it is"
    assert len(account.entries) == 1


def test_two_processes_cannot_both_end_a_run(checkpoint, account):
    certificate = logistic().fit(ROWS, LABELS).certificate_
    with (
        pytest.raises(InvalidDescription, match="confirmed"),
        account.spend(certificate, run="name"),
        account.spend(certificate, run="name"),
    ):
        pass
    assert len(account.entries) == 1
    other = logistic(epsilon=3.0).fit(ROWS, LABELS).certificate_
    with (
        pytest.raises(InvalidDescription, match="must be that of release"),
        account.spend(certificate, run="another"),
        account.spend(other, run="another"),
    ):
        pass


def test_another_ledger_counts_the_run_anew(cut, checkpoint, account, tmp_path):
    cut_off(cut, logistic(checkpoint=checkpoint, account=account))
    other = Ledger(tmp_path / "other.db", new=True).account("patients", new=True)
    logistic(checkpoint=checkpoint, account=other).fit(ROWS, LABELS)
    assert [entry.confirmed for entry in other.entries] == [True]
    assert [entry.confirmed for entry in account.entries] == [False], "spent, as any that was cut"


def changed(rows=None, labels=None):
    return (ROWS if rows is None else rows, LABELS if labels is None else labels)


def one_row_moved():
    rows = ROWS.copy()
    rows[17, 1] = np.nextafter(rows[17, 1], 1.0)
    return changed(rows)


def one_label_flipped():
    labels = LABELS.copy()
    labels[3] = 1 - labels[3]
    return changed(labels=labels)


def two_rows_swapped():
    order = np.arange(len(ROWS))
    order[[1, 2]] = 2, 1
    return ROWS[order], LABELS[order]


@pytest.mark.parametrize("other", [one_row_moved, one_label_flipped, two_rows_swapped])
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC])
def test_other_records_are_refused(cut, checkpoint, account, other, kind):
    """Even in the last bit, in a loss that is flat there, or in their order."""
    model = kind(classes=(0, 1), epsilon=4.0, checkpoint=checkpoint, account=account)
    cut_off(cut, model)
    sealed = checkpoint.path.read_bytes()
    with pytest.raises(InvalidDescription, match="records it began with"):
        clone(model).fit(*other())
    assert checkpoint.path.read_bytes() == sealed
    assert len(account.entries) == 1
    clone(model).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 5.0},
        {"seed_voids_privacy": None},
        {"release_noise": 2.0},
        {"adjacency": "replace"},
    ],
    ids=str,
)
def test_another_fit_is_refused(cut, checkpoint, change):
    """Above all one that would certify noise which came from a seed."""
    from wane import Adjacency

    if "adjacency" in change:
        change = {"adjacency": Adjacency.REPLACE_ONE}
    cut_off(cut, logistic(checkpoint=checkpoint, seed_voids_privacy=1))
    with pytest.raises(InvalidDescription, match="of this description and start"):
        logistic(**({"checkpoint": checkpoint, "seed_voids_privacy": 1} | change)).fit(ROWS, LABELS)


def test_the_key_stays_with_the_user(checkpoint, tmp_path):
    model = logistic(checkpoint=checkpoint).fit(ROWS, LABELS)
    hidden = (checkpoint.key.hex(), repr(checkpoint.key))
    assert not any(secret in text for secret in hidden for text in (repr(model), str(vars(model))))
    assert not any(secret in model._repr_html_() for secret in hidden)
    model.save_model(tmp_path / "model.npz")
    assert checkpoint.key not in (tmp_path / "model.npz").read_bytes()
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(model)
    pickle.dumps(model.set_params(checkpoint=None))
    assert copy.deepcopy(checkpoint) is checkpoint


def test_something_else_is_no_checkpoint():
    for given in ("file", True, b"x" * 32):
        with pytest.raises(InvalidDescription, match="checkpoint must be"):
            logistic(checkpoint=given).fit(ROWS, LABELS)


def test_a_table_in_blocks_is_taken_up_again(cut, checkpoint, account, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    schema = tmp_path / "schema.toml"
    schema.write_text(
        "\n".join(
            [
                '[target]\nname = "y"\nclasses = ["0", "1"]',
                *(f"[columns.{name}]\ntype='numeric'\nlow=-0.5\nhigh=0.5" for name in "abc"),
            ]
        )
    )

    def write(rows):
        columns = dict(zip("abc", rows.T, strict=True))
        table = pa.table(columns | {"y": [str(label) for label in LABELS]})
        parquet.write_table(table, tmp_path / "data.parquet", row_group_size=150)

    def fit(model):
        return fit_table(model, tmp_path / "data.parquet", Schema.from_file(schema))

    write(ROWS)
    whole = fit(logistic(seed_voids_privacy=3))
    model = logistic(seed_voids_privacy=3, checkpoint=checkpoint)
    cut.after = 12
    with pytest.raises(Cut):
        fit(model)
    cut.after = None
    write(one_row_moved()[0])
    with pytest.raises(InvalidDescription, match="records it began with"):
        fit(model)
    write(ROWS)
    assert np.array_equal(fit(model).coef_, whole.coef_)


def test_rows_on_other_machines_have_no_checkpoint(checkpoint):
    from wane.learn.parts import Reader, fit_parts

    model = logistic(checkpoint=checkpoint)
    facts = Reader.of(model).facts(ROWS, LABELS)
    with pytest.raises(InvalidDescription, match="rows on other machines"):
        fit_parts(model, facts, lambda bounding: lambda parameters, wanted: [], in_order=True)


# the command line

SCHEMA = """
[target]
name = "y"
classes = ["0", "1"]
[columns.a]
type = "numeric"
low = -0.5
high = 0.5
"""


@pytest.fixture
def words(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    lines = [f"{row[0]!r},{label}" for row, label in zip(ROWS.tolist(), LABELS, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,y", *lines]))
    key = tmp_path / "key"
    key.write_bytes(new_checkpoint_key())
    key.chmod(0o600)

    def made(*more):
        target = ["--epsilon", "4", "--delta", "1e-5", "--adjacency", "zero-out"]
        place = ["--schema", str(tmp_path / "schema.toml"), "--out", str(tmp_path / "out")]
        return [
            "fit", str(tmp_path / "data.csv"), "--model", "logistic", *target, *place,
            *map(str, more),
        ]  # fmt: skip

    return made


def test_the_command_takes_a_run_up_again(cut, words, tmp_path, capsys):
    saved, key, ledger = tmp_path / "run", tmp_path / "key", tmp_path / "ledger.db"
    more = ("--checkpoint", saved, "--key-file", key, "--checkpoint-every", 5)
    more += ("--ledger", ledger, "--dataset", "patients")
    cut.after = 12
    with pytest.raises(Cut):
        main(words(*more, "--new"))
    assert saved.exists() and not (tmp_path / "out").exists()
    cut.after = None
    assert main(words(*more)) == 0
    assert not saved.exists() and (tmp_path / "out" / "certificate.json").exists()
    (entry,) = Ledger(ledger).account("patients").entries
    assert entry.confirmed


def test_the_command_refuses_in_words(words, tmp_path, capsys, monkeypatch):
    saved, key = tmp_path / "run", tmp_path / "key"
    short, shared = tmp_path / "short", tmp_path / "shared"
    short.write_bytes(b"SECRETKEY")
    short.chmod(0o600)
    shared.write_bytes(new_checkpoint_key())
    shared.chmod(0o644)
    for more, said in (
        (("--checkpoint", saved), "belong together"),
        (("--key-file", key), "belong together"),
        (("--checkpoint", saved, "--key-file", tmp_path / "none"), "must exist"),
        (("--checkpoint", saved, "--key-file", short), "must hold 32 bytes, got 9"),
        (("--checkpoint", saved, "--key-file", shared), "readable by its owner only"),
        (("--checkpoint", saved, "--key-file", tmp_path), "key-file"),
        (("--checkpoint", tmp_path, "--key-file", key), "cannot be"),
        (("--checkpoint", saved, "--key-file", key, "--checkpoint-every", 0), "every must be"),
        (("--release-noise", 0), "release_noise must be"),
    ):
        assert main(words(*more)) != 0
        err = capsys.readouterr().err
        assert said in err and "\n" not in err.strip() and "SECRETKEY" not in err, more
        assert not saved.exists() and not (tmp_path / "out").exists()
    for name in [m for m in sys.modules if m.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtra):
        Checkpoint(saved, new_checkpoint_key())
    assert main(words("--checkpoint", saved, "--key-file", key)) != 0
    assert "wane[checkpoints]" in capsys.readouterr().err
    assert not saved.exists()


@pytest.mark.slow
def test_kills_never_cost_a_second_row(tmp_path):
    """Only a fit that found no file may add a row, and what came out is confirmed."""
    path, key, ledger = tmp_path / "run", new_checkpoint_key(), tmp_path / "ledger.db"
    chance, births, kills, ends = np.random.default_rng(8), 0, 0, 0
    account = Ledger(ledger, new=True).account("patients", new=True)
    model = logistic(epsilon=0.5, steps=300, checkpoint=Checkpoint(path, key, every=3))
    model.set_params(account=account)
    while kills < 60:
        births += not path.exists()
        child = os.fork()
        if child == 0:
            try:
                clone(model).fit(ROWS, LABELS)
                (tmp_path / "end").touch()
            finally:
                os._exit(0)
        time.sleep(float(chance.uniform(0.0, chance.choice([0.1, 0.3, 1.0]))))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        kills += os.WIFSIGNALED(status)
        ended = (tmp_path / "end").exists()
        ends += ended
        (tmp_path / "end").unlink(missing_ok=True)
        entries = account.entries
        assert len(entries) <= births
        assert sum(entry.confirmed for entry in entries) >= ends
    model.fit(ROWS, LABELS)
    assert account.entries[-1].confirmed and not path.exists()
    COUNTS["fits killed and taken up again"] += kills
    COUNTS["rows for them"] += len(account.entries)
