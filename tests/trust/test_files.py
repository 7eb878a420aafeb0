"""Files appear once, whole, and never over another; a release is confirmed when it is there."""

import os
import sqlite3

import pytest

from trust.tables import SCHEMA, write_table
from wane.cli import folder, main
from wane.cli.release import Release
from wane.errors import InvalidDescription
from wane.ledger import Ledger

SPEC = """
records = 1000
steps = 100
step_size = 1.0
[noise]
multiplier = 4.0
[objective]
gradient_bound = 1.0
smoothness = 0.25
strong_convexity = 0.0
"""
TABLE = "a,label\n" + "".join(f"{i % 7},{'yes' if i % 3 else 'no'}\n" for i in range(400))


@pytest.fixture
def place(tmp_path):
    write_table(tmp_path, TABLE, SCHEMA)
    (tmp_path / "run.toml").write_text(SPEC)
    return tmp_path


def fit_words(place, out, *more):
    words = ["fit", place / "data.csv", "--schema", place / "schema.toml", "--model", "logistic"]
    words += ["--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out", "--out", out, *more]
    return [str(word) for word in words]


@pytest.mark.parametrize(
    "words",
    [
        ["certify", "run.toml", "--html", "OUT.html"],
        ["curve", "run.toml", "--from", "1", "--to", "9", "--points", "3", "--plot", "OUT.svg"],
    ],
)
def test_pages_and_plots_do_not_overwrite(place, monkeypatch, capsys, words):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(place)
    (out,) = (word for word in words if word.startswith("OUT"))
    (place / out).write_text("mine")
    assert main(words) == 2
    assert (place / out).read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert (place / out).read_text() != "mine"


def test_two_runs_to_one_folder(place, capsys):
    """The second spent its budget before it was refused."""
    ledger = place / "ledger.db"
    with folder.new_folder(place / "out"):
        words = fit_words(place, place / "out", "--ledger", ledger, "--dataset", "d", "--new")
        assert main(words) == 2
        assert "one run at a time" in capsys.readouterr().err
    assert not ledger.exists() or not Ledger(ledger).account("d").entries


def test_what_killed_runs_leave_is_cleaned_up(place):
    (place / ".wane-0123456789abcdef").mkdir()
    with folder.new_folder(place / "held") as held:
        assert main(fit_words(place, place / "out")) == 0
        assert held.is_dir(), "the folder of a run that still runs stays"
    left = {entry.name for entry in place.iterdir() if entry.name.startswith(".wane-")}
    assert left == set()


def test_a_killed_run_to_the_same_folder_does_not_stand_in_the_way(place):
    child = os.fork()
    if child == 0:
        with folder.new_folder(place / "out") as made:
            (made / "half").write_text("x")
            os._exit(0)
    os.waitpid(child, 0)
    assert main(fit_words(place, place / "out")) == 0
    assert not (place / "out" / "half").exists()


def test_a_release_that_cannot_be_written_is_spent_and_not_confirmed(place, monkeypatch):
    ledger = place / "ledger.db"

    def full(*_):
        raise InvalidDescription("the disk is full")

    monkeypatch.setattr(Release, "write", full)
    more = ("--ledger", ledger, "--dataset", "d")
    assert main(fit_words(place, place / "out", *more, "--new")) == 2
    (entry,) = Ledger(ledger).account("d").entries
    assert not entry.confirmed
    monkeypatch.undo()
    assert main(fit_words(place, place / "out", *more)) == 0
    assert [entry.confirmed for entry in Ledger(ledger).account("d").entries] == [False, True]


def test_the_confirmation_comes_after_the_folder(place, monkeypatch):
    ledger, seen = place / "ledger.db", []
    taken = folder._take_place

    def noted(*arguments):
        rows = sqlite3.connect(ledger).execute("SELECT kind FROM rows").fetchall()
        seen.append([kind for (kind,) in rows])
        taken(*arguments)

    monkeypatch.setattr(folder, "_take_place", noted)
    more = ("--ledger", ledger, "--dataset", "d", "--new")
    assert main(fit_words(place, place / "out", *more)) == 0
    assert seen == [["dataset", "release"]]
    (entry,) = Ledger(ledger).account("d").entries
    assert entry.confirmed


def test_the_certificate_names_the_ledger(place):
    import json

    ledger = place / "ledger.db"
    for name, more in (("one", ("--new",)), ("two", ())):
        words = ("--ledger", ledger, "--dataset", "people", *more)
        assert main(fit_words(place, place / name, *words)) == 0
    said = json.loads((place / "two" / "certificate.json").read_text())["earlier_releases"]
    assert said["source"] == "ledger" and said["releases"] == 2
    assert said["epsilon"] == Ledger(ledger).account("people").total.epsilon(1e-5)
    assert Ledger(ledger).knows(said["head"])
    assert "one earlier release" in (place / "two" / "model-card.md").read_text()
