"""`wane fit`, `predict` and `schema init`: what they write, and that failures leave nothing."""

import csv
import errno
import json
import os
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from wane import report
from wane.certificates import certificate_schema
from wane.cli import demo, folder, main
from wane.cli.fit import models_by_command
from wane.ledger import Ledger
from wane.tables import BoundedTarget, Schema

SCHEMA = """
[target]
name = "label"
classes = ["no", "yes"]

[columns.a]
type = "numeric"
low = -1
high = 1

[columns.b]
type = "numeric"
low = -1
high = 1
missing = "indicator"

[columns.kind]
type = "categorical"
categories = ["x", "y"]
"""
SECRET = "SECRETCELL"
FILES = {
    "model.npz",
    "schema.json",
    "description.json",
    "certificate.json",
    "certificate.html",
    "model-card.md",
}


def rows(count: int = 800) -> list[list[object]]:
    random = np.random.default_rng(5)
    made = []
    for a, b in random.uniform(-1, 1, (count, 2)):
        label = "yes" if a - b > 0 else "no"
        made.append([round(a, 4), round(b, 4), "x" if a > 0 else "y", label, round(a - b, 4)])
    return made


def write_csv(path: Path, lines: list[list[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "kind", "label", "value"])
        writer.writerows(lines)
    return path


@pytest.fixture
def data(tmp_path) -> Path:
    return write_csv(tmp_path / "data.csv", rows())


@pytest.fixture
def schema(tmp_path) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return path


def run(capsys, *words: object) -> tuple[int, str, str]:
    status = main([str(w) for w in words])
    out, err = capsys.readouterr()
    lines = err.splitlines(keepends=True)
    return status, out, "".join(line for line in lines if not line.startswith("wane: note: "))


def fit_words(data, schema, out, *more: object) -> tuple[object, ...]:
    target = ("--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out")
    return ("fit", data, "--schema", schema, "--model", "logistic", *target, "--out", out, *more)


@pytest.fixture
def fitted(capsys, data, schema, tmp_path) -> Path:
    out = tmp_path / "model"
    status, _, err = run(capsys, *fit_words(data, schema, out))
    assert (status, err) == (0, "")
    return out


@pytest.fixture
def no_noise(monkeypatch):
    """Fails the test if noise is drawn."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("wane.randomness._new_key", refuse)


def test_fit_writes_the_whole_release(capsys, fitted, schema):
    assert {entry.name for entry in fitted.iterdir()} == FILES
    made = json.loads((fitted / "certificate.json").read_text())
    jsonschema.Draft202012Validator(certificate_schema()).validate(made)
    assert made["status"] == "certified"
    assert made["epsilon"] <= 8
    assert made["adjacency"] == "zero-out"
    assert made["noise"]["source"] == "operating-system"
    assert "user" not in made["bases"]["declared"], "nobody had to vouch for a constant"
    assert made["context"]["SHA-256 of the schema"] == Schema.from_file(schema).hash
    status, out, _ = run(capsys, "certify", fitted / "description.json", "--json")
    assert status == 0
    again = json.loads(out)
    assert again["epsilon"] == made["epsilon"]
    assert again["configuration_sha256"] == made["configuration_sha256"]
    card = (fitted / "model-card.md").read_text()
    for said in (report.shown(made["epsilon"]), "zero-out", "1e-05", *made["secret"]):
        assert said in card
    assert Schema.from_file(schema).hash in card
    assert "Intended use" in card
    assert (fitted / "certificate.html").read_text() == report.html_page(made)
    assert (fitted / "model.npz").read_bytes()[:2] == b"PK"
    np.load(fitted / "model.npz", allow_pickle=False)


def test_fit_answers_in_one_object(capsys, data, schema, tmp_path):
    place = tmp_path / "answered"
    words = ("--json", "--target", "label")
    status, out, _ = run(capsys, *fit_words(data, schema, place, *words))
    assert status == 0
    answer = json.loads(out)
    certificate = json.loads(Path(answer["certificate"]).read_text())
    for name in ("epsilon", "delta", "mu", "theorem"):
        assert answer[name] == certificate[name]
    assert answer["steps"] == certificate["description"]["steps"]
    assert Path(answer["model"]).is_file() and answer["written"] == str(place)


def test_predict(capsys, fitted, tmp_path):
    fresh = rows(900)[800:]
    path = write_csv(tmp_path / "fresh.csv", [[*r[:3], "", ""] for r in fresh])
    out = tmp_path / "predictions.csv"
    status, said, err = run(capsys, "predict", fitted, path, "--out", out)
    assert (status, err) == (0, "")
    assert "100 predictions" in said
    with out.open() as file:
        found = list(csv.DictReader(file))
    assert set(found[0]) == {"label", "probability of no", "probability of yes"}
    right = sum(line["label"] == truth[3] for line, truth in zip(found, fresh, strict=True))
    assert right >= 85
    for line in found:
        likely = float(line["probability of yes"]) > 0.5
        assert line["label"] == ("yes" if likely else "no")
    assert run(capsys, "predict", fitted, path, "--out", out)[0] == 2
    assert run(capsys, "predict", fitted, path, "--out", out, "--force")[0] == 0


REGRESSIONS = [w for w, kind in models_by_command().items() if kind.target is BoundedTarget]


@pytest.mark.parametrize("model", REGRESSIONS)
def test_every_regression(capsys, data, schema, tmp_path, model):
    low = 0 if model == "poisson" else -2
    target = f'[target]\nname = "value"\nlow = {low}\nhigh = 2\n'
    schema.write_text(SCHEMA.replace('[target]\nname = "label"\nclasses = ["no", "yes"]\n', target))
    words = list(fit_words(data, schema, tmp_path / "out"))
    words[words.index("logistic")] = model
    assert run(capsys, *words)[::2] == (0, "")
    predictions = tmp_path / "predictions.csv"
    assert run(capsys, "predict", tmp_path / "out", data, "--out", predictions)[0] == 0
    with predictions.open() as file:
        found = [float(line["value"]) for line in csv.DictReader(file)]
    truth = [max(float(line[4]), low) for line in rows()]
    assert np.corrcoef(found, truth)[0, 1] > 0.5


@pytest.mark.parametrize("model", sorted(set(models_by_command()) - set(REGRESSIONS)))
def test_every_classification(capsys, data, schema, tmp_path, model):
    words = list(fit_words(data, schema, tmp_path / "out"))
    words[words.index("logistic")] = model
    assert run(capsys, *words)[::2] == (0, "")
    assert run(capsys, "predict", tmp_path / "out", data, "--out", tmp_path / "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text().startswith("label")


@pytest.fixture(params=[("models.MODELS", ()), ("loading.ENUMS", {})], ids=lambda p: p[0])
def forgotten(monkeypatch, request):
    """The command line offers a model that the loader does not know, or not what it is given."""
    offered = models_by_command()
    monkeypatch.setattr("wane.cli.fit.models_by_command", lambda: offered)
    name, value = request.param
    monkeypatch.setattr(f"wane.learn.{name}", value)


@pytest.mark.usefixtures("forgotten", "no_noise")
def test_nothing_is_spent_for_a_model_that_cannot_be_loaded(capsys, data, schema, tmp_path):
    ledger = tmp_path / "ledger.db"
    more = ("--ledger", ledger, "--dataset", "people", "--new")
    status, _, err = run(capsys, *fit_words(data, schema, tmp_path / "out", *more))
    assert status == 2 and "nothing was spent" in err
    assert Ledger(ledger).account("people").entries == ()
    assert not (tmp_path / "out").exists()


def test_a_large_parquet_table_is_streamed(capsys, schema, tmp_path, monkeypatch):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("wane.run.safeguards.FINER", 45)  # a coarse grid would enlarge differences
    names = ["a", "b", "kind", "label", "value"]
    made = pa.table(dict(zip(names, map(list, zip(*rows(), strict=True)), strict=True)))
    parquet.write_table(made, tmp_path / "data.parquet")
    words = fit_words(tmp_path / "data.parquet", schema, tmp_path / "small")
    assert run(capsys, *words, "--seed-voids-privacy", 1)[0] == 0
    monkeypatch.setattr("wane.cli.fit.read_table", lambda *given: pytest.fail("read as a whole"))
    words = fit_words(tmp_path / "data.parquet", schema, tmp_path / "large")
    status, _, err = run(capsys, *words, "--seed-voids-privacy", 1, "--stream-above", 0.01)
    assert (status, err) == (0, "")
    assert {entry.name for entry in (tmp_path / "large").iterdir()} == FILES
    small, large = (np.load(tmp_path / name / "model.npz")["coef"] for name in ("small", "large"))
    np.testing.assert_allclose(large, small, rtol=1e-6, atol=1e-8)
    words = fit_words(tmp_path / "data.parquet", schema, tmp_path / "no", "--stream-above", -1)
    assert run(capsys, *words)[0] == 2


def test_a_seed_voids_the_certificate(capsys, data, schema, tmp_path):
    words = fit_words(data, schema, tmp_path / "out", "--seed-voids-privacy", 1)
    status, out, err = run(capsys, *words)
    assert (status, err) == (0, "")
    assert "no privacy is claimed" in out
    made = json.loads((tmp_path / "out" / "certificate.json").read_text())
    jsonschema.Draft202012Validator(certificate_schema()).validate(made)
    assert made["status"] == "void"
    assert made["epsilon"] == "infinity"
    assert "Void" in (tmp_path / "out" / "model-card.md").read_text()
    again = fit_words(data, schema, tmp_path / "again", "--seed-voids-privacy", 1)
    assert run(capsys, *again)[0] == 0
    one, two = (np.load(tmp_path / name / "model.npz")["coef"] for name in ("out", "again"))
    np.testing.assert_array_equal(one, two)


def test_progress_shows_steps_and_time_only(capsys, data, schema, tmp_path):
    status, _, err = run(capsys, *fit_words(data, schema, tmp_path / "out", "--progress"))
    assert status == 0
    words = err.replace("\r", "\n").split("\n")
    assert any("step" in word for word in words)
    for word in words:
        assert not set(word) - set(" 0123456789%|/[]:<,.?steps#\u2588▏▎▍▌▋▊▉"), word


BAD = {
    "no file": ("data.csv", None, "cannot be read"),
    "header only": ("data.csv", "a,b,kind,label\n", "at least one row"),
    "unknown label": ("data.csv", f"a,b,kind,label\n1,1,x,{SECRET}\n", "label"),
    "text": ("data.csv", f"a,b,kind,label\n{SECRET},1,x,no\n", "'a'"),
    "missing column": ("data.csv", "a,b,label\n1,1,no\n", "'kind'"),
    "duplicate column": ("data.csv", "a,a,b,kind,label\n1,1,1,x,no\n", "'a'"),
    "one row": ("data.csv", "a,b,kind,label\n1,1,x,no\n", ""),
    "not utf-8": ("data.csv", b"a,b,kind,label\n1,1,\xff\xfe,no\n", "UTF-8"),
    "truncated parquet": ("data.csv", b"PAR1\0\0\0", "Parquet"),
    "schema without bounds": ("schema.toml", SCHEMA.replace("high = 1\n", "", 1), "columns.a.high"),
    "schema cut": ("schema.toml", SCHEMA[: SCHEMA.index("[columns.a]")], "columns"),
    "schema gone": ("schema.toml", None, "cannot be read"),
    "schema template": ("schema.toml", '[target]\nname=""\n[columns.a]\ntype=""\n', "target"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.usefixtures("no_noise")
def test_bad_input_spends_nothing(capsys, data, schema, bad):
    tmp_path = data.parent
    name, content, word = bad
    path = tmp_path / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    status, out, err = run(capsys, *fit_words(data, schema, tmp_path / "out"))
    assert status in (1, 2)
    assert out == ""
    assert err.count("\n") == 1
    assert word in err
    assert SECRET not in err
    assert {p.name for p in tmp_path.iterdir()} <= {"data.csv", "schema.toml"}


@pytest.mark.usefixtures("no_noise")
def test_a_target_that_the_schema_does_not_describe(capsys, data, schema, tmp_path):
    words = fit_words(data, schema, tmp_path / "out", "--target", "b")
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "") and "'label'" in err and "'b'" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "old, new",
    [
        ("8", "0"),
        ("8", "nan"),
        ("8", "-1"),
        ("1e-5", "0"),
        ("1e-5", "1"),
        ("zero-out", "add-remove"),
        ("logistic", "ridge"),
        ("logistic", "forest"),
    ],
)
@pytest.mark.usefixtures("no_noise")
def test_bad_options_spend_nothing(capsys, data, schema, old, new):
    words = [str(word) for word in fit_words(data, schema, data.parent / "out")]
    words[words.index(old)] = new
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert not (data.parent / "out").exists()


def test_a_folder_is_replaced_only_on_demand(capsys, data, schema, fitted):
    words = fit_words(data, schema, fitted)
    before = (fitted / "model.npz").read_bytes()
    status, _, err = run(capsys, *words)
    assert status == 2
    assert "--force" in err
    assert (fitted / "model.npz").read_bytes() == before
    assert run(capsys, *words, "--force")[0] == 0
    assert (fitted / "model.npz").read_bytes() != before
    assert {entry.name for entry in fitted.iterdir()} == FILES
    assert {p.name for p in fitted.parent.iterdir()} == {"data.csv", "schema.toml", "model"}


@pytest.mark.usefixtures("no_noise")
def test_a_folder_of_others_is_never_replaced(capsys, data, schema, tmp_path):
    for name in ("photographs", "."):
        place = tmp_path / "home" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "letter.txt").write_text("dear")
        status, _, err = run(capsys, *fit_words(data, schema, place, "--force"))
        assert status == 2
        assert "other files" in err
        assert (place / "letter.txt").read_text() == "dear"


@pytest.mark.usefixtures("no_noise")
def test_a_read_only_folder(capsys, data, schema, monkeypatch):
    def read_only(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", read_only)  # root may write into any other folder
    status, out, err = run(capsys, *fit_words(data, schema, data.parent / "out"))
    assert (status, out) == (2, "")
    assert "cannot be written: Read-only file system" in err


@pytest.mark.usefixtures("no_noise")
def test_a_place_that_cannot_be(capsys, data, schema, tmp_path):
    for place in (data / "below", tmp_path / ("x" * 5000), "\0", schema):
        status, out, err = run(capsys, *fit_words(data, schema, place))
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert len(err) < 400


@pytest.mark.parametrize("victim", ["certificate.html", "model-card.md", "model.npz"])
def test_a_full_disk_leaves_nothing(capsys, data, schema, monkeypatch, victim):
    whole, tmp_path = Path.open, data.parent

    def full(self, *arguments, **options):
        if self.name == victim:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    status, out, err = run(capsys, *fit_words(data, schema, tmp_path / "out"))
    assert (status, out) == (2, "")
    assert "No space left" in err
    assert {p.name for p in tmp_path.iterdir()} == {"data.csv", "schema.toml"}


def test_an_interrupted_fit_leaves_nothing(capsys, data, schema, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("wane.randomness._new_key", interrupted)
    status, _, err = run(capsys, *fit_words(data, schema, tmp_path / "out"))
    assert status == 130
    assert "interrupted" in err
    assert {p.name for p in tmp_path.iterdir()} == {"data.csv", "schema.toml"}


def damaged_copies(fitted: Path):
    model = (fitted / "model.npz").read_bytes()
    schema = (fitted / "schema.json").read_bytes()
    yield "model.npz", model[: len(model) // 2]
    yield "model.npz", b""
    yield "model.npz", b"not a model at all"
    yield "model.npz", model[:100] + b"\xff" * 300 + model[400:]
    yield "model.npz", None
    yield "schema.json", schema[: len(schema) // 2]
    yield "schema.json", None
    fewer = json.loads(schema)
    del fewer["columns"]["kind"]
    yield "schema.json", json.dumps(fewer).encode()


def test_damaged_models(capsys, fitted, data, tmp_path):
    for name, content in damaged_copies(fitted):
        kept = (fitted / name).read_bytes()
        if content is None:
            (fitted / name).unlink()
        else:
            (fitted / name).write_bytes(content)
        status, out, err = run(capsys, "predict", fitted, data, "--out", tmp_path / "p.csv")
        assert (status, out) == (2, ""), name
        assert err.count("\n") == 1
        assert not (tmp_path / "p.csv").exists()
        (fitted / name).write_bytes(kept)
    status, _, err = run(capsys, "predict", tmp_path / "nowhere", data, "--out", tmp_path / "p")
    assert status == 2


def test_schema_init(capsys, data, tmp_path):
    out = tmp_path / "new.toml"
    assert run(capsys, "schema", "init", data, "--out", out)[0] == 0
    made = tomllib.loads(out.read_text())
    assert list(made["columns"]) == ["a", "b", "kind", "label", "value"]
    status, _, err = run(capsys, "schema", "init", data, "--out", out)
    assert status == 2
    assert "--force" in err
    assert run(capsys, "schema", "init", data, "--out", out, "--force", "--no-header")[0] == 0
    assert "header" in tomllib.loads(out.read_text())
    assert run(capsys, "schema", "init", data, "--out", tmp_path / "x", "--delimiter", "")[0] == 2
    assert run(capsys, "schema", "init", tmp_path / "gone", "--out", tmp_path / "x")[0] == 2
    assert not (tmp_path / "x").exists()


def test_certify_writes_a_page(capsys, fitted, tmp_path):
    page = tmp_path / "page.html"
    words = ("certify", fitted / "description.json", "--html", page)
    status, out, _ = run(capsys, *words)
    assert status == 0
    assert out.startswith("epsilon")
    assert page.read_text().startswith("<!DOCTYPE html>")
    status, _, err = run(capsys, *words[:-1], tmp_path / "no" / "page.html")
    assert status == 2
    assert "cannot be written" in err


def demo_json(capsys, out: Path) -> dict:
    status, said, err = run(capsys, "demo", "--out", out, "--json")
    assert (status, err) == (0, "")
    return json.loads(said)


def test_demo(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "FACTORS", (1, 2))
    made = demo_json(capsys, tmp_path / "demo")
    short, longer = made["certificates"]
    assert short["epsilon"] <= 1
    assert short["composition_epsilon"] > short["epsilon"]
    assert longer["steps"] > short["steps"]
    assert {p.name for p in (tmp_path / "demo").iterdir()} == FILES - {"schema.json"}
    certificate = json.loads((tmp_path / "demo" / "certificate.json").read_text())
    jsonschema.Draft202012Validator(certificate_schema()).validate(certificate)
    assert certificate["epsilon"] == short["epsilon"]
    status, out, _ = run(capsys, "demo", "--out", tmp_path / "demo")
    assert status == 0
    for word in ("composition", "wane", "test accuracy", "noise", "certificate.html"):
        assert word in out


@pytest.mark.slow
def test_demo_levels_off(capsys, tmp_path):
    short, middle, long = demo_json(capsys, tmp_path / "demo")["certificates"]
    assert long["steps"] > 90 * short["steps"]
    assert long["epsilon"] < 1.01 * short["epsilon"]
    assert long["composition_epsilon"] > 20 * short["composition_epsilon"]
    assert min(line["accuracy"] for line in (short, middle, long)) > 0.8


def test_what_is_written_may_be_replaced():
    assert FILES <= folder.OURS
