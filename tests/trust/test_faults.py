"""Faults: every one ends in the right result or in one line, and no spend is lost or doubled."""

import contextlib
import csv
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from cli.test_cli_fit import FILES, SCHEMA, fit_words, rows, run, write_csv
from trust.tally import COUNTS
from wane import Adjacency
from wane.cli import main
from wane.errors import WaneError
from wane.learn import PrivateLinearRegression, PrivateLogisticRegression
from wane.ledger import Budget, Ledger
from wane.ledger.storage import LedgerFault


@pytest.fixture
def data(tmp_path) -> Path:
    return write_csv(tmp_path / "data.csv", rows(300))


@pytest.fixture
def schema(tmp_path) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def refused(capsys, *words: object) -> str:
    """Run a command that must fail, and return its one line."""
    COUNTS["faults injected"] += 1
    status, out, err = run(capsys, *words)
    assert status in (1, 2)
    assert out == ""
    assert err.startswith("wane: ") and err.count("\n") == 1 and len(err) < 500, err
    assert "Traceback" not in err
    COUNTS["one-line errors"] += 1
    return err


def whole_release(folder: Path, files: Iterable[str] = FILES) -> None:
    """A folder that bears the release's name holds all of it, readable."""
    assert {entry.name for entry in folder.iterdir()} == set(files)
    assert json.loads((folder / "certificate.json").read_text())["status"] == "certified"
    for path in folder.glob("*.json"):
        json.loads(path.read_text())
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as model:
            assert np.isfinite(model["coef"]).all()


def forked(work) -> int:
    """Run in a child that says nothing and ends with the work's status."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            status = work()
        finally:
            os._exit(status)
    return child


def account(tmp_path: Path):
    path = tmp_path / "ledger.db"
    new = not path.exists()
    return Ledger(path, new=new).account("patients", new=new)


def ledger_words(tmp_path: Path) -> tuple[object, ...]:
    words = ("--ledger", tmp_path / "ledger.db", "--dataset", "patients")
    try:
        account(tmp_path)
    except LedgerFault:  # a disk that is full, or a file that is damaged: the command will tell
        return words if (tmp_path / "ledger.db").exists() else (*words, "--new")
    return words


def test_a_fit_with_a_ledger_is_entered_and_written(capsys, data, schema, tmp_path):
    words = fit_words(data, schema, tmp_path / "out", *ledger_words(tmp_path))
    assert run(capsys, *words)[::2] == (0, "")
    whole_release(tmp_path / "out")
    (entry,) = account(tmp_path).entries
    assert entry.confirmed


def sample_words(data, schema, out, *more: object) -> tuple[object, ...]:
    target = ("--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out")
    plan = ("--step-size", 0.05, "--steps", 1000, "--prior-precision", 10)
    return ("sample", data, "--schema", schema, *target, *plan, "--out", out, *more)


@pytest.fixture
def noise_notes(tmp_path, monkeypatch) -> int:
    """A file that gets a byte whenever noise is drawn, in whichever process."""
    from wane import randomness

    notes = os.open(tmp_path / "notes", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    plain = randomness._new_key

    def noted():
        os.write(notes, b"n")
        return plain()

    monkeypatch.setattr(randomness, "_new_key", noted)
    return notes


def killed_after(seconds: float, words: tuple[object, ...]) -> bool:
    """Run a command in a child and kill it; False if it had ended before."""
    child = forked(lambda: main([str(word) for word in words]))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kills"), [(fit_words, 200), (sample_words, 40)])
def test_kills_lose_no_spend_and_leave_no_half_release(
    *, capsys, data, schema, tmp_path, noise_notes, command, kills
):
    """A child works and notes when noise is drawn; it is killed at a random instant."""
    chance, paces = random.Random(3), []
    for name in ("first", "second"):  # the first one imports what it needs
        began = time.monotonic()
        assert run(capsys, *command(data, schema, tmp_path / name))[0] == 0
        paces.append(time.monotonic() - began)
    files = {entry.name for entry in (tmp_path / "first").iterdir()}
    tally = Counter()
    while tally["killed"] < kills:
        trial = tally["trials"] = tally["trials"] + 1
        out, home = tmp_path / f"out{trial}", tmp_path / f"home{trial % 40}"
        home.mkdir(exist_ok=True)
        before = len(account(home).entries)
        os.ftruncate(noise_notes, 0)
        words = command(data, schema, out, *ledger_words(home))
        longest = paces[-1] * chance.choice([0.3, 1.0, 2.0])
        tally["killed"] += killed_after(chance.uniform(0.0, longest), words)
        added = account(home).entries[before:]  # reads and checks the whole file
        drawn = os.fstat(noise_notes).st_size
        assert drawn <= len(added) <= 1, "noise without a spend, or a spend twice"
        tally["cut off"] += sum(not entry.confirmed for entry in added)
        if out.exists():
            whole_release(out, files)
            assert added, "a release without a spend"
            tally["whole"] += 1
        # confirmed once the folder is in place, never before
        assert out.exists() or not any(entry.confirmed for entry in added)
        for left in tmp_path.glob(".wane-*"):  # what a killed child could not take away
            shutil.rmtree(left)
    COUNTS["faults injected"] += tally["killed"]
    COUNTS["fits and samples killed"] += tally["killed"]
    COUNTS["spends cut off and counted"] += tally["cut off"]
    COUNTS["whole releases beside kills"] += tally["whole"]
    assert tally["cut off"] > 0


@pytest.mark.slow
def test_concurrent_fits_on_one_ledger_stop_at_the_budget(data, schema, tmp_path):
    account(tmp_path).set_budget(Budget(15.0, 1e-5, Adjacency.ZERO_OUT))
    children = {}
    for place in range(8):
        words = [
            str(w)
            for w in fit_words(data, schema, tmp_path / f"out{place}", *ledger_words(tmp_path))
        ]
        children[forked(lambda words=words: main(words))] = tmp_path / f"out{place}"
    statuses = {}
    for child, out in children.items():
        statuses[out] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert set(statuses.values()) == {0, 1}
    done = [out for out, status in statuses.items() if status == 0]
    found = account(tmp_path)
    assert len(found.entries) == len(done) and all(e.confirmed for e in found.entries)
    assert found.total.epsilon(1e-5) <= 15.0
    for out, status in statuses.items():
        assert out.exists() == (status == 0)
        if status == 0:
            whole_release(out)
    COUNTS["faults injected"] += len(statuses) - len(done)


@contextlib.contextmanager
def tiny_disk(place: Path, size: int):
    """A file system of so many bytes, or a skip where none may be mounted."""
    place.mkdir()
    tool = shutil.which("mount")
    made = tool and subprocess.run(
        [tool, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if not made or made.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield place
    finally:
        subprocess.run([shutil.which("umount"), "-l", str(place)], check=True)


@pytest.mark.parametrize("pages", [0, 1, 2, 4, 8])
def test_a_full_disk(capsys, data, schema, tmp_path, pages):
    """Whatever does not fit is refused in one line; what was entered in the ledger stays there."""
    with tiny_disk(tmp_path / "disk", (pages + 1) * 4096) as disk:
        (disk / "filler").write_bytes(b"x" * 4096)
        err = refused(capsys, *fit_words(data, schema, disk / "out", *ledger_words(tmp_path)))
        assert "No space left" in err
        assert [p.name for p in disk.iterdir()] == ["filler"]
    assert len(account(tmp_path).entries) == (pages > 0) or pages == 0


@pytest.mark.parametrize("pages", [0, 1, 2, 3])
def test_a_full_disk_under_the_ledger(capsys, data, schema, tmp_path, pages):
    """Without a spend on disk no noise is drawn."""
    with tiny_disk(tmp_path / "disk", (pages + 1) * 4096) as disk:
        (disk / "filler").write_bytes(b"x" * 4096)
        err = refused(capsys, *fit_words(data, schema, tmp_path / "out", *ledger_words(disk)))
        assert "ledger" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [0, 100, 4096, 20_000])
def test_files_that_may_not_grow(data, schema, tmp_path, size):
    """The limit of the shell, which also strikes in the middle of a file."""
    words = [str(w) for w in fit_words(data, schema, tmp_path / "out")]

    def limited() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = main(words)
        one_line = said.getvalue().count("\n") == 1 and "cannot be written" in said.getvalue()
        return status if one_line else 98

    child = forked(limited)
    COUNTS["faults injected"] += 1
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert {p.name for p in tmp_path.iterdir()} == {"data.csv", "schema.toml"}


def test_a_read_only_disk(capsys, data, schema, tmp_path):
    with tiny_disk(tmp_path / "disk", 2**20) as disk:
        subprocess.run(
            [shutil.which("mount"), "-o", "remount,ro", str(disk)], check=True, capture_output=True
        )
        err = refused(capsys, *fit_words(data, schema, disk / "out"))
        assert "Read-only" in err
        err = refused(capsys, *fit_words(data, schema, tmp_path / "out", *ledger_words(disk)))
        assert "ledger" in err
    assert not (tmp_path / "out").exists()


def csv_with(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["a,b,kind,label", *lines]) + "\n")
    return path


def good_lines(count: int = 300) -> list[str]:
    return [",".join(map(str, row[:4])) for row in rows(count)]


CELLS = {
    "nan": "nan",
    "infinite": "inf",
    "huge": "1e308",
    "beyond doubles": "1e999",
    "tiny": "5e-324",
    "empty": "",
    "text": "QUOTEDCELL",
    "hexadecimal": "0x10",
    "comma": '"1,5"',
    "nul": "1\x00",
    "long": "9" * 5000,
    "formula": "=1+1",
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_cells_of_every_kind(capsys, schema, tmp_path, cell):
    """One bad cell among good ones: a fit, or one line that does not quote it."""
    lines = good_lines()
    lines[5] = f"{cell},0.1,x,yes"
    data = csv_with(tmp_path / "bad.csv", *lines)
    COUNTS["faults injected"] += 1
    status, out, err = run(capsys, *fit_words(data, schema, tmp_path / "out"))
    if status == 0:
        whole_release(tmp_path / "out")
        return
    assert (out, err.count("\n")) == ("", 1)
    assert "QUOTEDCELL" not in err and "9999" not in err and "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_tables_that_are_wrong(capsys, schema, tmp_path):
    good = good_lines()
    bad = {
        "no rows": [],
        "one row": good[:1],
        "ragged": [*good, "1,2"],
        "too long": [*good, "1,2,x,yes,5,6"],
        "open quote": [*good, '"1,2,x,yes'],
        "unknown label": [*good, "0.1,0.1,x,perhaps"],
    }
    for name, lines in bad.items():
        data = csv_with(tmp_path / "bad.csv", *lines)
        refused(capsys, *fit_words(data, schema, tmp_path / "out")), name
    data.write_text("a,a,b,kind,label\n" + "\n".join(f"1,{line}" for line in good))
    assert "'a'" in refused(capsys, *fit_words(data, schema, tmp_path / "out"))
    for raw in (b"", b"\0" * 100, b"\xff\xfe" * 100, b"PAR1" + os.urandom(200) + b"PAR1"):
        data.write_bytes(raw)
        refused(capsys, *fit_words(data, schema, tmp_path / "out"))
    data.unlink()
    data.mkdir()
    refused(capsys, *fit_words(data, schema, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_one_class_only_is_a_fit_like_any_other(capsys, schema, tmp_path):
    """Classes are declared, so that their absence tells nothing."""
    data = csv_with(tmp_path / "one.csv", *[line.replace("no", "yes") for line in good_lines()])
    assert run(capsys, *fit_words(data, schema, tmp_path / "out"))[::2] == (0, "")
    whole_release(tmp_path / "out")


def parquet(path: Path, columns: dict) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_cut_off_anywhere(capsys, schema, tmp_path):
    made = [list(column) for column in zip(*rows(300), strict=True)]
    data = parquet(
        tmp_path / "data.parquet", dict(zip(("a", "b", "kind", "label"), made, strict=False))
    )
    assert run(capsys, *fit_words(data, schema, tmp_path / "good"))[0] == 0
    whole = data.read_bytes()
    chance = random.Random(2)
    for _ in range(15):
        data.write_bytes(whole[: chance.randrange(len(whole))])
        refused(capsys, *fit_words(data, schema, tmp_path / "out"))
    ended = 0
    for _ in range(15):  # a damaged page may still decode: then it is a table like any other
        place = chance.randrange(len(whole) - 8)
        data.write_bytes(whole[:place] + chance.randbytes(4) + whole[place + 4 :])
        COUNTS["faults injected"] += 1
        status, _, err = run(capsys, *fit_words(data, schema, tmp_path / "out", "--force"))
        ended += status == 0
        assert status == 0 or (err.count("\n") == 1 and "Traceback" not in err), err
    assert ended < 15


def test_parquet_of_wrong_types(capsys, schema, tmp_path):
    a, b, kind, label, _ = (list(column) for column in zip(*rows(300), strict=True))
    good = {"a": a, "b": b, "kind": kind, "label": label}
    whole_numbers = {"a": [0] * 300}
    assert run(
        capsys,
        *fit_words(parquet(tmp_path / "d.parquet", good | whole_numbers), schema, tmp_path / "o"),
    )[::2] == (0, "")
    for change in (
        {"a": ["QUOTEDCELL"] * 300},
        {"a": [b"QUOTEDCELL"] * 300},
        {"a": [[1.0]] * 300},
        {"a": [{"x": 1.0}] * 300},
        {"kind": [1.5] * 300},
        {"label": [b"yes"] * 300},
        {"label": [None] * 300},
    ):
        data = parquet(tmp_path / "d.parquet", good | change)
        COUNTS["faults injected"] += 1
        status, _, err = run(capsys, *fit_words(data, schema, tmp_path / "out", "--force"))
        assert status == 0 or (err.count("\n") == 1 and "QUOTEDCELL" not in err), (change, err)
        assert "Traceback" not in err


def test_damaged_models_are_refused_whatever_byte_is_hit(capsys, data, schema, tmp_path):
    assert run(capsys, *fit_words(data, schema, tmp_path / "out"))[0] == 0
    model, chance = tmp_path / "out" / "model.npz", random.Random(4)
    whole = model.read_bytes()
    survived = 0
    for trial in range(60):
        if trial % 2:
            model.write_bytes(whole[: chance.randrange(len(whole))])
        else:
            place = chance.randrange(len(whole))
            model.write_bytes(
                whole[:place] + bytes([whole[place] ^ (1 << trial % 8)]) + whole[place + 1 :]
            )
        COUNTS["faults injected"] += 1
        out = tmp_path / "predictions.csv"
        status, _, err = run(capsys, "predict", tmp_path / "out", data, "--out", out, "--force")
        if status == 0:  # a byte that the archive does not use
            survived += 1
            with out.open() as file:
                assert len(list(csv.reader(file))) == 301
        else:
            assert err.count("\n") == 1 and "Traceback" not in err, err
    assert survived < 20


def test_damaged_ledgers_are_refused(capsys, data, schema, tmp_path):
    ledger = tmp_path / "ledger.db"
    words = fit_words(data, schema, tmp_path / "out", *ledger_words(tmp_path))
    assert run(capsys, *words)[0] == 0
    whole, chance = ledger.read_bytes(), random.Random(5)
    for damage in (whole[:100], whole[: len(whole) // 2], b"not a ledger" * 1000):
        ledger.write_bytes(damage)
        refused(capsys, "ledger", "show", ledger)
        refused(capsys, *fit_words(data, schema, tmp_path / "other", *ledger_words(tmp_path)))
    lost = 0
    for _ in range(40):
        place = chance.randrange(len(whole))
        ledger.write_bytes(whole[:place] + chance.randbytes(1) + whole[place + 1 :])
        COUNTS["faults injected"] += 1
        status, out, err = run(capsys, "ledger", "show", ledger, "--json")
        if status == 0:  # the byte was one that SQLite does not use, or the same as before
            lost += json.loads(out)["datasets"].get("patients", {}).get("releases") != 1
        else:
            assert err.count("\n") == 1 and "Traceback" not in err, err
    assert lost == 0, "a damaged ledger never forgets a spend in silence"


@pytest.mark.slow
def test_100_000_columns():
    chance = np.random.default_rng(0)
    few = chance.standard_normal((20, 100_000), dtype=np.float32)
    with pytest.raises(WaneError, match="Too few rows"):
        PrivateLogisticRegression(classes=[0, 1], epsilon=1.0).fit(few, np.arange(20) % 2)
    many = chance.standard_normal((300, 100_000), dtype=np.float32)
    model = PrivateLinearRegression(target_bound=1.0, epsilon=8.0, steps=3).fit(many, many[:, 0])
    assert model.coef_.shape == (100_000,) and np.isfinite(model.coef_).all()
    assert model.certificate_.epsilon(1e-5) <= 8.0


def test_100_000_columns_of_a_table(capsys, schema, tmp_path):
    """A header that wide beside a narrow schema: the schema decides."""
    data = tmp_path / "wide.csv"
    header = ["a", "b", "kind", "label", *(f"c{k}" for k in range(100_000))]
    with data.open("w") as file:
        file.write(",".join(header) + "\n")
        for line in good_lines(20):
            file.write(line + ",1" * 100_000 + "\n")
    assert run(capsys, *fit_words(data, schema, tmp_path / "out"))[::2] == (0, "")
    whole_release(tmp_path / "out")
