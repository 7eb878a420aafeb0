"""`wane score`: its numbers are scikit-learn's, and the warning stands beside them."""

import csv
import json

import numpy as np
import pytest
from sklearn import metrics

from wane import learn
from wane.cli import main
from wane.cli.fit import loaded_release
from wane.tables import read_table, source

CLASSES = """
[target]
name = "y"
classes = ["no", "yes", "maybe"]
[columns.a]
type = "numeric"
low = -1
high = 1
[columns.b]
type = "numeric"
low = -1
high = 1
"""
NUMBER = CLASSES.replace('classes = ["no", "yes", "maybe"]', "low = -3\nhigh = 3")


def table(path, *, classes, third=True, rows=300, seed=0):
    draw = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["a", "b", "y"])
        for a, b in draw.uniform(-1, 1, size=(rows, 2)):
            number = 2 * a - b + draw.normal()
            word = "yes" if number > 0.5 else "maybe" if third and number < -1.5 else "no"
            lines.writerow([a, b, word if classes else number])
    return str(path)


@pytest.fixture(params=["logistic", "svm", "ridge"])
def release(request, tmp_path):
    classes = request.param != "ridge"
    schema = CLASSES if classes else NUMBER
    if request.param == "svm":  # of two classes only; the third word becomes the first below
        schema = schema.replace(', "maybe"', "")
    (tmp_path / "schema.toml").write_text(schema)
    data = table(tmp_path / "data.csv", classes=classes, third=request.param == "logistic")
    arguments = ["--schema", str(tmp_path / "schema.toml"), "--model", request.param]
    goal = ["--epsilon", "5", "--delta", "1e-5", "--adjacency", "zero-out"]
    assert main(["fit", data, *arguments, *goal, "--out", str(tmp_path / "release")]) == 0
    return tmp_path / "release", classes


def test_the_numbers_are_those_of_scikit_learn(release, tmp_path, capsys, monkeypatch):
    folder, classes = release
    third = "maybe" in (folder / "schema.json").read_text()
    other = table(tmp_path / "other.csv", classes=classes, third=third, rows=157, seed=1)
    monkeypatch.setattr(source, "BLOCK_BYTES", 2048)  # so that there are several blocks
    capsys.readouterr()
    assert main(["score", str(folder), other, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model, described = loaded_release(folder)
    rows = read_table(other, described)
    guessed = model.predict(rows.features)
    assert found["rows"] == 157
    if not classes:
        expected = {
            "mean_absolute_error": metrics.mean_absolute_error(rows.targets, guessed),
            "root_mean_squared_error": metrics.root_mean_squared_error(rows.targets, guessed),
            "r_squared": metrics.r2_score(rows.targets, guessed),
        }
    else:
        expected = {
            "accuracy": metrics.accuracy_score(rows.targets, guessed),
            "accuracy_of_the_commonest_class": np.bincount(rows.targets).max() / 157,
        }
        if isinstance(model, learn.PrivateLogisticRegression):
            likely = model.predict_proba(rows.features)
            expected["log_loss"] = metrics.log_loss(rows.targets, likely, labels=[0, 1, 2])
    del found["rows"]
    assert "Do not publish" in found.pop("not_private")
    assert found == pytest.approx(expected, rel=1e-10)


def test_it_says_what_a_score_is(release, tmp_path, capsys):
    folder, _ = release
    capsys.readouterr()
    assert main(["score", str(folder), str(tmp_path / "data.csv")]) == 0
    assert "a score on private rows is a release of its own" in capsys.readouterr().out
    arguments = ["score", str(folder), str(tmp_path / "data.csv"), "--rows-are-public", "--json"]
    assert main(arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert "You said that the rows are public" in said["public_by_declaration"]
    assert "not_private" not in said


def test_what_cannot_be_scored_is_refused_in_one_line(release, tmp_path, capsys):
    folder, _ = release
    (tmp_path / "bare.csv").write_text("a,b\n0.1,0.2\n")
    capsys.readouterr()
    assert main(["score", str(folder), str(tmp_path / "bare.csv")]) == 2
    assert main(["score", str(tmp_path), str(tmp_path / "data.csv")]) == 2
    assert main(["score", str(folder), str(tmp_path / "nothing.csv")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 3 and "'y'" in said
