"""Checkpoints: sealed, owner-only, exact to the bit, refused when they do not belong, and gone."""

import os
import pickle
import signal
import stat
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from trust.tally import COUNTS
from wane import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    GradientNoise,
    Iterates,
    NoisyDescent,
    Phase,
    Poisson,
    PublicRecords,
    Schedule,
    ShuffledOnce,
    WithoutReplacement,
    losses,
)
from wane.errors import InvalidDescription, MissingExtra
from wane.run import (
    Checkpoint,
    LinearSums,
    descend,
    links,
    new_checkpoint_key,
    private_generator,
    seeded_generator_voids_privacy,
)

ROWS, COLUMNS, STEPS = 60, 5, 37
BATCHES = {
    "full": FullBatch(),
    "cyclic": Cyclic(7),
    "shuffled": ShuffledOnce(7),
    "poisson": Poisson(7),
    "without replacement": WithoutReplacement(7),
}


def records(seed: int = 0, rows: int = ROWS) -> LinearSums:
    chance = np.random.default_rng(seed)
    features = chance.uniform(-0.4, 0.4, (rows, COLUMNS))
    return LinearSums(features, np.sign(features[:, 0] + 1e-9), links.Logistic(), feature_norm=1.0)


def described(**changes) -> NoisyDescent:
    fields = {
        "objective": losses.logistic(1.0, ridge=0.01),
        "records": ROWS,
        "steps": STEPS,
        "step_size": 1.0,
        "noise": GradientNoise(0.1),
        "adjacency": Adjacency.ZERO_OUT,
    }
    return NoisyDescent(**(fields | changes))


class Cut(Exception):
    """The machine stops here."""


def cut_off(run, checkpoint, after: int, *, seed: int = 3, sums=None):
    def stop(done: int) -> None:
        if done == after:
            raise Cut

    with pytest.raises(Cut):
        descend(
            run,
            sums or records(),
            generator=seeded_generator_voids_privacy(seed),
            progress=stop,
            checkpoint=checkpoint,
        )


@pytest.fixture
def checkpoint(tmp_path) -> Checkpoint:
    return Checkpoint(tmp_path / "run.checkpoint", new_checkpoint_key(), every=5)


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("release", [None, EveryIterate(), Iterates((4, 11))], ids=str)
def test_a_run_that_was_cut_off_ends_where_it_would_have(tmp_path, checkpoint, batches, release):
    run = described(batches=batches, **({"release": release} if release else {}))
    whole = descend(run, records(), generator=seeded_generator_voids_privacy(3))
    for after in (1, 5, 18):  # before, at and after a saving; each goes on from the last
        cut_off(run, checkpoint, after)
        assert checkpoint.path.exists()
    seen = []
    end = descend(
        run,
        records(),
        generator=private_generator(),  # its state is replaced by the saved one
        progress=seen.append,
        checkpoint=checkpoint,
    )
    assert seen == list(range(16, STEPS + 1))
    assert end.tobytes() == whole.tobytes()
    assert list(tmp_path.iterdir()) == [], "deleted on release"


def test_schedules_are_taken_up_in_the_right_phase(checkpoint):
    plan = Schedule(
        (
            Phase(repeat=8, step_size=1.0, noise=GradientNoise(0.1)),
            Phase(repeat=9, step_size=0.5, noise=GradientNoise(0.2)),
            Phase(repeat=3, step_size=0.5, noise=GradientNoise(0.3), cool_down=True),
        )
    )
    run = NoisyDescent(
        objective=losses.logistic(1.0, ridge=0.01),
        records=ROWS,
        schedule=plan,
        batches=Cyclic(7),
        adjacency=Adjacency.ZERO_OUT,
    )
    whole = descend(run, records(), generator=seeded_generator_voids_privacy(3))
    cut_off(run, checkpoint, 12)
    cut_off(run, checkpoint, 18)
    end = descend(run, records(), generator=private_generator(), checkpoint=checkpoint)
    assert end.tobytes() == whole.tobytes()


def test_other_public_records_are_refused(checkpoint):
    """Two ends with the same noise differ by what one step did to a private iterate."""
    run = NoisyDescent(
        objective=losses.logistic(1.0, ridge=0.01),
        records=ROWS,
        schedule=[
            Phase(repeat=8, step_size=1.0, noise=GradientNoise(0.0)),
            Phase(repeat=9, step_size=0.5, noise=GradientNoise(0.2), public=True),
        ],
        public=PublicRecords(records=10),
        adjacency=Adjacency.ZERO_OUT,
    )

    def stop(done: int) -> None:
        if done == 12:
            raise Cut

    own = {"checkpoint": checkpoint, "public": records(7, 10)}
    whole = descend(
        run, records(), generator=seeded_generator_voids_privacy(3), public=records(7, 10)
    )
    with pytest.raises(Cut):
        descend(run, records(), generator=seeded_generator_voids_privacy(3), progress=stop, **own)
    kept = checkpoint.path.read_bytes()
    with pytest.raises(InvalidDescription, match="records it began with"):
        descend(run, records(), **own | {"public": records(8, 10)})
    assert checkpoint.path.read_bytes() == kept
    assert descend(run, records(), **own).tobytes() == whole.tobytes()


def test_a_checkpoint_changes_nothing_else(checkpoint):
    whole = descend(described(), records(), generator=seeded_generator_voids_privacy(3))
    kept = descend(
        described(),
        records(),
        generator=seeded_generator_voids_privacy(3),
        checkpoint=checkpoint,
    )
    assert kept.tobytes() == whole.tobytes()


def test_the_file_is_unreadable_without_the_key(checkpoint):
    """No eight bytes of the iterate, of the generator's key or of the sum are in the file."""
    iterates = descend(
        described(release=EveryIterate()), records(), generator=seeded_generator_voids_privacy(3)
    )
    cut_off(described(), checkpoint, 12)
    raw = checkpoint.path.read_bytes()
    state = seeded_generator_voids_privacy(3).bit_generator.state["state"]
    secrets = [value.tobytes() for value in iterates[9]]
    secrets += [word.tobytes() for word in state["keysetup"].view(np.uint64)]
    secrets += [repr(float(value)).encode() for value in iterates[9]]
    secrets += [str(int(word)).encode() for word in state["keysetup"] if word > 10**8]
    assert secrets
    for secret in secrets:
        assert secret not in raw
    assert b"keysetup" not in raw and b"iterate" not in raw
    # close to what random bytes would have: 8 bits a byte
    counts = np.bincount(np.frombuffer(raw, np.uint8), minlength=256) / len(raw)
    entropy = -(counts[counts > 0] * np.log2(counts[counts > 0])).sum()
    assert entropy > 7.5
    assert stat.S_IMODE(checkpoint.path.stat().st_mode) == 0o600


def test_another_key_and_a_damaged_file_are_refused(checkpoint):
    cut_off(described(), checkpoint, 12)
    raw = checkpoint.path.read_bytes()
    other = Checkpoint(checkpoint.path, new_checkpoint_key(), every=5)
    with pytest.raises(InvalidDescription, match="key must be the one"):
        cut_off(described(), other, 12)
    assert checkpoint.path.read_bytes() == raw, "a refusal leaves the file as it is"
    for place in (len(raw) // 2, len(raw) - 1, 60):
        checkpoint.path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(InvalidDescription, match="damaged"):
            cut_off(described(), checkpoint, 12)
    for damaged, words in (
        (raw[:100], "damaged"),
        (raw[:55], "damaged"),
        (b"", "another file"),
        (b"PK\3\4" + raw, "another file"),
        (raw[:20], "another's"),
    ):
        checkpoint.path.write_bytes(damaged)
        with pytest.raises(InvalidDescription, match=words) as found:
            cut_off(described(), checkpoint, 12)
        assert "\n" not in str(found.value)


def test_another_description_start_or_data_set_is_refused(checkpoint):
    cut_off(described(), checkpoint, 12)
    with pytest.raises(InvalidDescription, match="of this description"):
        cut_off(described(noise=GradientNoise(0.11)), checkpoint, 30)
    with pytest.raises(InvalidDescription, match="of this description"):
        descend(
            described(),
            records(),
            generator=private_generator(),
            start=np.ones(COLUMNS),
            checkpoint=checkpoint,
        )
    changed = np.random.default_rng(0).uniform(-0.4, 0.4, (ROWS, COLUMNS))
    changed[17] *= 0.999  # the same noise on other records would show the difference
    sums = LinearSums(changed, np.sign(changed[:, 0]), links.Logistic(), feature_norm=1.0)
    with pytest.raises(InvalidDescription, match="records it began with"):
        cut_off(described(), checkpoint, 30, sums=sums)
    with pytest.raises(InvalidDescription, match="kind that the run began with"):
        descend(described(), records(), generator=np.random.default_rng(), checkpoint=checkpoint)


def test_bad_places_are_refused_before_any_noise(tmp_path):
    class NoNoise(np.random.Generator):
        def standard_normal(self, *arguments, **options):
            raise AssertionError("noise was drawn")

    generator = NoNoise(private_generator().bit_generator)
    for path in (tmp_path, tmp_path / "gone" / "file", tmp_path / ("x" * 300)):
        with pytest.raises(InvalidDescription, match="cannot be"):
            descend(
                described(),
                records(),
                generator=generator,
                checkpoint=Checkpoint(path, new_checkpoint_key()),
            )
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_does_not_end_the_run(checkpoint, monkeypatch):
    whole = descend(described(), records(), generator=seeded_generator_voids_privacy(3))
    synced = os.fsync
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        end = descend(
            described(),
            records(),
            generator=seeded_generator_voids_privacy(3),
            checkpoint=checkpoint,
        )
    assert end.tobytes() == whole.tobytes()
    assert len(calls) > 2
    assert {str(warning.message) for warning in said} == {
        f"checkpoint {checkpoint.path} cannot be written: No space left on device. "
        "The run goes on without saving."
    }
    assert not checkpoint.path.exists()


def test_a_file_that_cannot_be_deleted_does_not_cost_the_release(checkpoint, monkeypatch):
    whole = descend(described(), records(), generator=seeded_generator_voids_privacy(3))
    plain = Path.unlink

    def refuse(self, *arguments, **options):
        if self == checkpoint.path:
            raise OSError(30, "Read-only file system")
        plain(self, *arguments, **options)

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.warns(UserWarning, match="cannot be deleted: Read-only file system"):
        end = descend(
            described(),
            records(),
            generator=seeded_generator_voids_privacy(3),
            checkpoint=checkpoint,
        )
    assert end.tobytes() == whole.tobytes()


def test_the_key_does_not_slip_out(checkpoint):
    assert checkpoint.key.hex() not in repr(checkpoint) and repr(checkpoint.key) not in repr(
        checkpoint
    )
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(checkpoint)
    for key in (b"short", "x" * 32, None):
        with pytest.raises(InvalidDescription, match="key must be 32 bytes") as found:
            Checkpoint("file", key)
        assert "short" not in str(found.value)


def test_without_the_library_there_are_no_checkpoints(monkeypatch, tmp_path):
    for name in [m for m in sys.modules if m.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtra, match=r"wane\[checkpoints\]"):
        Checkpoint(tmp_path / "file", bytes(32))
    descend(described(), records(), generator=private_generator())


@pytest.mark.slow
def test_200_kills_lose_no_checkpoint(tmp_path):
    """A child runs; it is killed at a random instant; the next one goes on.  The end is exact."""
    run = described(steps=60)
    whole = descend(run, records(), generator=seeded_generator_voids_privacy(3))
    key, chance = new_checkpoint_key(), np.random.default_rng(1)
    path, out = tmp_path / "run.checkpoint", tmp_path / "end"
    kills = ends = 0
    while kills < 200:
        child = os.fork()
        if child == 0:
            try:
                end = descend(
                    run,
                    records(),
                    generator=seeded_generator_voids_privacy(3),
                    checkpoint=Checkpoint(path, key, every=3),
                )
                part = tmp_path / "end.part"
                part.write_bytes(end.tobytes())
                part.replace(out)
            finally:
                os._exit(0)
        time.sleep(float(chance.uniform(0.0, chance.choice([0.03, 0.1, 0.5]))))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        kills += os.WIFSIGNALED(status)
        for left in tmp_path.iterdir():
            raw = left.read_bytes()
            if left == out:
                ends += 1
                assert raw == whole.tobytes()
                out.unlink()
            elif left.name != "end.part":
                assert stat.S_IMODE(left.stat().st_mode) == 0o600
                assert raw == b"" or b"wane-checkpoint-1\n".startswith(raw[:18])
                assert b"keysetup" not in raw
    end = descend(
        run,
        records(),
        generator=seeded_generator_voids_privacy(3),
        checkpoint=Checkpoint(path, key),
    )
    assert end.tobytes() == whole.tobytes()
    COUNTS["runs killed and taken up again"] += kills
