"""The ledger keeps every spend: through crashes, crowds, bad files and clumsy hands."""

import os
import random
import signal
import sqlite3
import stat
import time
from dataclasses import replace

import numpy as np
import pytest

from runs import RIDGE_RUN
from wane import Adjacency, certify
from wane.errors import InvalidDescription
from wane.ledger import Budget, BudgetExceeded, Ledger
from wane.ledger.storage import LedgerFault

CERTIFICATE = certify(RIDGE_RUN)
BUDGET = Budget(6.0, 1e-5, Adjacency.ZERO_OUT)  # three releases fit, a fourth does not


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "ledger.db", new=True).account("patients", new=True)


def test_spending_adds_up_and_stops_at_the_budget(account):
    account.set_budget(BUDGET)
    for _ in range(3):
        with account.spend(CERTIFICATE):
            pass
    with pytest.raises(BudgetExceeded, match="Nothing was spent"), account.spend(CERTIFICATE):
        pytest.fail("a release beyond the budget must not begin")
    assert len(account.entries) == 3
    assert account.total.mu == pytest.approx(CERTIFICATE.mu * 3**0.5)
    assert account.budget == BUDGET


def test_a_release_that_fails_is_spent_but_not_confirmed(account):
    with pytest.raises(RuntimeError), account.spend(CERTIFICATE):
        raise RuntimeError
    (entry,) = account.entries
    assert not entry.confirmed
    assert account.total.mu == CERTIFICATE.mu


def test_it_is_written_before_the_release_begins(account):
    with account.spend(CERTIFICATE):
        assert len(account.entries) == 1


def test_accounts_are_apart_and_the_file_is_the_owners(account):
    other = account.ledger.account("customers", new=True)
    with other.spend(CERTIFICATE):
        pass
    assert account.total is None and len(other.entries) == 1
    assert account.ledger.datasets() == ("patients", "customers")
    assert stat.S_IMODE(account.ledger.path.stat().st_mode) == 0o600


def test_adjacencies_do_not_mix(account):
    account.set_budget(BUDGET)
    replaced = certify(replace(RIDGE_RUN, adjacency=Adjacency.REPLACE_ONE))
    with pytest.raises(InvalidDescription, match="adjacency"), account.spend(replaced):
        pass
    assert account.entries == ()


def test_a_budget_below_what_is_spent_is_refused(account):
    with account.spend(CERTIFICATE):
        pass
    with pytest.raises(BudgetExceeded):
        account.set_budget(Budget(0.1, 1e-5, Adjacency.ZERO_OUT))
    assert account.budget is None


def test_a_void_certificate_is_refused(account):
    void = CERTIFICATE.void(("a seed was given",))
    with pytest.raises(InvalidDescription, match="a seed was given"), account.spend(void):
        pass


def test_rows_are_neither_changed_nor_deleted(account):
    with account.spend(CERTIFICATE):
        pass
    raw = sqlite3.connect(account.ledger.path)
    for statement in ("DELETE FROM rows", "UPDATE rows SET dataset = 'x'"):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)
    raw.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM rows WHERE number = 1",
        "UPDATE rows SET content = replace(content, '0.01', '0.10')",
        "UPDATE rows SET dataset = 'other'",
    ],
)
def test_a_clumsy_hand_is_noticed(account, statement):
    for _ in range(2):
        with account.spend(CERTIFICATE):
            pass
    raw = sqlite3.connect(account.ledger.path)
    raw.execute("DROP TRIGGER never_changed")
    raw.execute("DROP TRIGGER never_deleted")
    raw.execute(statement)
    raw.commit()
    raw.close()
    with pytest.raises(LedgerFault, match="changed by hand"):
        _ = account.entries


def test_bad_files_get_one_line(tmp_path):
    (tmp_path / "text").write_text("this is no ledger at all, but long enough to be read" * 50)
    with pytest.raises(LedgerFault, match="cannot be used"):
        Ledger(tmp_path / "text")
    with pytest.raises(InvalidDescription, match="directory"):
        Ledger(tmp_path)
    with pytest.raises(LedgerFault, match="cannot be used"):
        Ledger(tmp_path / "no" / "such" / "folder.db", new=True)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, None])
def test_bad_names_are_refused(account, name):
    with pytest.raises(InvalidDescription, match="dataset must be a name"):
        account.ledger.account(name)


def _forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def test_a_crowd_never_overspends(account):
    account.set_budget(BUDGET)

    def spend():
        for _ in range(3):
            try:
                with account.spend(CERTIFICATE):
                    pass
            except BudgetExceeded:
                return

    for child in [_forked(spend) for _ in range(6)]:
        os.waitpid(child, 0)
    assert len(account.entries) == 3
    assert all(entry.confirmed for entry in account.entries)


@pytest.mark.slow
def test_500_kills_lose_no_spend_and_double_none(tmp_path):
    """A child spends and notes what it began; it is killed at a random instant."""
    chance = random.Random(7)
    begun = torn = 0
    trials = 500
    for trial in range(trials):
        path = tmp_path / f"{trial % 25}.db"
        new = not path.exists()
        account = Ledger(path, new=new).account("patients", new=new)
        before = len(account.entries)
        notes = os.open(tmp_path / "notes", os.O_RDWR | os.O_CREAT | os.O_TRUNC)

        def spend(account=account, notes=notes):
            for _ in range(3):
                os.write(notes, b"a")  # about to enter
                with account.spend(CERTIFICATE):
                    os.write(notes, b"r")  # inside: noise is being drawn

        child = _forked(spend)
        time.sleep(chance.uniform(0.0, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        log = os.pread(notes, 100, 0)
        os.close(notes)
        entries = account.entries  # reads and checks the whole file
        added = len(entries) - before
        assert log.count(b"r") <= added <= log.count(b"a")
        begun += log.count(b"a")
        torn += sum(not entry.confirmed for entry in entries[before:])
    print(f"{trials} kills, {begun} spends begun, {torn} cut off and counted as spent")
    assert torn > 0


def test_a_fit_enters_itself_and_stops_at_the_budget(account):
    from wane.learn import PrivateLogisticRegression

    account.set_budget(Budget(1.2, 1e-5, Adjacency.ZERO_OUT))
    rng = np.random.default_rng(0)
    features = rng.uniform(-0.5, 0.5, (500, 2))
    labels = (features[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(epsilon=1.0, classes=[0, 1], account=account)
    model.fit(features, labels)
    (entry,) = account.entries
    assert entry.confirmed and entry.certificate == model.certificate_
    with pytest.raises(BudgetExceeded):
        model.fit(features, labels)
    with pytest.raises(InvalidDescription, match="void"):
        model.set_params(seed_voids_privacy=1, epsilon=0.1).fit(features, labels)
    with pytest.raises(ValueError, match="0 sample"):
        model.set_params(seed_voids_privacy=None).fit(features[:0], labels[:0])
    assert len(account.entries) == 1
