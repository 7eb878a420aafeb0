"""Model files that were forged, damaged or exchanged, each as it was once accepted."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trust.tables import fit_to, write_table
from wane.cli import main
from wane.errors import InvalidDescription
from wane.learn import PrivateCurvature, PrivateLogisticRegression, load_model

OLD = Path(__file__).parents[1] / "golden" / "0.1.0"
X = np.random.default_rng(3).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)


def fitted(**settings):
    return PrivateLogisticRegression(classes=[0, 1], steps=60, **settings).fit(X, Y)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    fitted().save_model(place / "plain.npz")
    fitted(seed_voids_privacy=1).save_model(place / "void.npz")
    PrivateLogisticRegression(classes=[0, 1], epsilon=4.0, curvature=PrivateCurvature()).fit(
        X, Y
    ).save_model(place / "curvature.npz")
    return place


def rewritten(source, out, change=None, **arrays):
    with np.load(source) as archive:
        held = {name: archive[name] for name in archive.files}
    about = json.loads(str(held["about"]))
    if change is not None:
        change(about)
    np.savez(out, **(held | {"about": np.array(json.dumps(about))} | arrays))
    return out


def refused(path):
    with pytest.raises(InvalidDescription) as error:
        load_model(path)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_an_unchanged_file_is_read(files, tmp_path):
    for name in ("plain.npz", "void.npz", "curvature.npz"):
        load_model(rewritten(files / name, tmp_path / name))


def test_a_forged_side_release(files, tmp_path):
    """It gave epsilon 0.0."""

    def nothing(about):
        about["releases"] = [
            {"name": "x", "guarantee": {"mu": 0.0}, "source": "x", "adjacency": "zero-out"}
        ]

    assert "its releases give" in refused(
        rewritten(files / "plain.npz", tmp_path / "m.npz", nothing)
    )


def test_emptied_voids(files, tmp_path):
    """They gave epsilon 1.0 in place of infinity."""
    path = rewritten(files / "void.npz", tmp_path / "m.npz", lambda about: about.update(voids=[]))
    assert "seed" in refused(path)


def test_a_run_that_is_not_the_released_one(files, tmp_path):
    def longer(about):
        about["run"]["steps"] = 61

    assert "last of its releases" in refused(
        rewritten(files / "plain.npz", tmp_path / "m.npz", longer)
    )


@pytest.mark.parametrize(
    "coef",
    [
        np.array([[np.nan, 1.0]]),
        np.array([[np.inf, 1.0]]),
        np.array([[1.0 + 2.0j, 1.0]]),
        np.array([[1.0, 2.0, 3.0]]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        np.array([["1", "2"]]),
        np.array([[1, 2]]),
        np.array([[1.0, 2.0]], dtype=np.float32),
        np.zeros((1, 2, 1)),
        np.zeros((0, 2)),
    ],
    ids=str,
)
def test_coefficients_that_are_none(files, tmp_path, coef):
    refused(rewritten(files / "plain.npz", tmp_path / "m.npz", coef=coef))


def test_swapped_classes(files, tmp_path):
    path = rewritten(
        files / "plain.npz", tmp_path / "m.npz", lambda about: about.update(classes=[1, 0])
    )
    assert "in order" in refused(path)


MALFORMED = {
    "no columns": lambda about: about.pop("columns"),
    "columns as text": lambda about: about.update(columns="two"),
    "an unknown parameter": lambda about: about["parameters"].update(magic=1),
    "an unknown enumeration": lambda about: about["parameters"].update(adjacency={"enum": "x"}),
    "a scaler without norm": lambda about: about.update(scaler={"feature_norm": None}),
    "a scaler of other columns": lambda about: about["scaler"].update(low=[0.0], high=[1.0]),
    "no releases": lambda about: about.update(releases=[]),
    "releases of no kind": lambda about: about.update(releases=[{}]),
    "a release as text": lambda about: about.update(releases="none"),
    "no certificate": lambda about: about.pop("certificate"),
    "a delta of 2": lambda about: about["certificate"].update(delta=2.0),
    "parameters as a list": lambda about: about.update(parameters=[]),
    "names of other columns": lambda about: about.update(column_names=["a"]),
    "an estimator as a list": lambda about: about.update(estimator=["x"]),
    "a run of nothing": lambda about: about.update(run={}),
    "voids as a number": lambda about: about.update(voids=3),
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED)
def test_malformed_models_are_refused_in_one_line(files, tmp_path, change):
    refused(rewritten(files / "plain.npz", tmp_path / "m.npz", change))


def test_an_archive_with_more_in_it(files, tmp_path):
    refused(rewritten(files / "plain.npz", tmp_path / "m.npz", extra=np.zeros(3)))


def test_no_file_and_a_folder(tmp_path):
    assert "cannot be read" in refused(tmp_path / "none.npz")
    assert "cannot be read" in refused(tmp_path)


# bound to the certificate


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    place = write_table(tmp_path_factory.mktemp("fit"))
    for name in ("one", "two"):
        fit_to(place, name)
    return place


def test_a_model_of_another_run_in_a_good_folder(releases, tmp_path, capsys):
    mixed = tmp_path / "mixed"
    shutil.copytree(releases / "one", mixed)
    assert main(["predict", str(mixed), str(releases / "data.csv"), "--out", f"{tmp_path}/a"]) == 0
    shutil.copy(releases / "two" / "model.npz", mixed)
    assert "certificate.json" in refused(mixed / "model.npz")
    words = ["predict", str(mixed), str(releases / "data.csv"), "--out", f"{tmp_path}/b"]
    assert main(words) == 2
    assert not (tmp_path / "b").exists()


def test_a_schema_with_other_words_in_a_good_folder(releases, tmp_path, capsys):
    mixed = tmp_path / "mixed"
    shutil.copytree(releases / "one", mixed)
    text = (mixed / "schema.json").read_text()
    (mixed / "schema.json").write_text(text.replace('"no"', '"perhaps"'))
    assert main(["predict", str(mixed), str(releases / "data.csv"), "--out", f"{tmp_path}/b"]) == 2


# what wane 0.1 wrote


def test_models_of_wane_0_1_are_read(tmp_path):
    for name in ("fit/model.npz", "void/model.npz", "curvature.npz"):
        model = load_model(OLD / name)
        assert np.isfinite(model.predict(np.zeros((3, 2)))).all()
    assert np.isinf(load_model(OLD / "void" / "model.npz").certificate_.epsilon(1e-5))
    rows = tmp_path / "rows.csv"
    rows.write_text("age,income\n50,5\n20,1\n")
    assert main(["predict", str(OLD / "fit"), str(rows), "--out", f"{tmp_path}/out.csv"]) == 0
