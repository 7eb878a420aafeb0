"""People who have several rows: the target is theirs, and every document says so."""

import json

import numpy as np
import pytest

from runs import make_run
from wane import Adjacency, certify
from wane.certificates import certificate_document
from wane.cli import main
from wane.describe import Cyclic, Poisson
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn import (
    PrivateCurvature,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateRidge,
    load_model,
)
from wane.report import privacy_statement
from wane.tables import Schema

RUN = make_run(records=1000, steps=400, step_size=1.0, batches=Cyclic(50))
X = np.random.default_rng(3).normal(size=(500, 2))
Y = (X[:, 0] > 0).astype(int)

SCHEMA = """
rows_per_person = 3
[target]
name = "label"
classes = ["no", "yes"]
[columns.a]
type = "numeric"
low = 0
high = 7
"""
TABLE = "a,label\n" + "".join(f"{i % 7},{'yes' if i % 3 else 'no'}\n" for i in range(400))


@pytest.mark.parametrize(("rows", "epsilon"), [(5, 6.17), (10, 14.43)])
def test_an_epsilon_of_one_row_is_not_that_of_a_person(rows, epsilon):
    """What a fit at epsilon 1 promised people with several rows."""
    per_row = GaussianDP.from_target(epsilon=1.0, delta=1e-5)
    assert per_row.group(rows).epsilon(1e-5) == pytest.approx(epsilon, abs=0.005)


def test_a_certificate_for_persons_is_that_of_a_group():
    one, many = certify(RUN), certify(RUN).for_persons(4)
    assert many.mu == pytest.approx(4 * one.mu)
    assert many.epsilon(1e-5) == one.group(4).epsilon(1e-5)
    assert one.for_persons(1) is one
    with pytest.raises(InvalidDescription, match="set once"):
        many.for_persons(2)
    for bad in (0, 1.5, True):
        with pytest.raises(InvalidDescription, match="rows_per_person"):
            one.for_persons(bad)


def test_releases_for_different_people_do_not_compose():
    with pytest.raises(InvalidDescription, match="rows_per_person"):
        certify(RUN).compose(certify(RUN).for_persons(2))


@pytest.mark.parametrize("rows", [1, 5, 10])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_a_fit_meets_the_target_for_persons(rows, adjacency):
    model = PrivateLogisticRegression(
        classes=[0, 1], epsilon=8.0, rows_per_person=rows, adjacency=adjacency
    ).fit(X, Y)
    found = model.certificate_
    assert found.rows_per_person == rows
    assert 7.99 <= found.epsilon(1e-5) <= 8.0
    assert certify(model.run_).group(rows).epsilon(1e-5) <= 8.0


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("rows", [1, 4])
def test_a_mean_meets_the_target_for_persons(rows, adjacency):
    model = PrivateMean(
        feature_bounds=(-4.0, 4.0), epsilon=2.0, rows_per_person=rows, adjacency=adjacency
    ).fit(X)
    found = model.certificate_
    assert found.rows_per_person == rows and 1.99 <= found.epsilon(1e-5) <= 2.0
    # the mean of so many rows that change at once, beside the noise on it
    noise = model.run_.noise.value * model.run_.objective.gradient_bound / len(X)
    apart = (2 if adjacency is Adjacency.REPLACE_ONE else 1) * rows * 2**0.5 / len(X)
    assert apart / noise <= found.mu * (1 + 1e-9)
    said = certificate_document(found, delta=1e-5).get("rows_per_person", 1)
    assert said == rows
    with pytest.raises(InvalidDescription, match="rows_per_person"):
        PrivateMean(feature_bounds=(-4.0, 4.0), rows_per_person=0).fit(X)


def test_random_batches_meet_it_too():
    model = PrivateLogisticRegression(
        classes=[0, 1], epsilon=8.0, rows_per_person=2, batches=Poisson(100), steps=20
    ).fit(X, Y)
    assert model.certificate_.epsilon(1e-5) <= 8.0


def test_a_private_curvature_has_no_group_guarantee():
    with pytest.raises(InvalidDescription, match="rows_per_person must be 1"):
        PrivateLogisticRegression(
            classes=[0, 1], rows_per_person=2, curvature=PrivateCurvature()
        ).fit(X, Y)


def test_models_remember_it(tmp_path):
    model = PrivateRidge(target_bound=4.0, epsilon=8.0, rows_per_person=3).fit(X, X[:, 0])
    model.save_model(tmp_path / "model.npz")
    found = load_model(tmp_path / "model.npz")
    assert found.rows_per_person == 3
    assert found.certificate_.epsilon(1e-5) == model.certificate_.epsilon(1e-5)


def test_documents_say_it():
    made = certificate_document(certify(RUN).for_persons(4), delta=1e-5)
    assert made["unit"] == "one person: at most 4 rows of the data"
    assert made["rows_per_person"] == 4
    said = privacy_statement(made)
    assert "for one person" in said and "Nobody may have more than 4 rows" in said


def test_the_command_takes_it_from_the_schema(tmp_path, capsys):
    pytest.importorskip("flint")
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    assert Schema.from_file(tmp_path / "schema.toml").rows_per_person == 3
    words = ["fit", tmp_path / "data.csv", "--schema", tmp_path / "schema.toml", "--model"]
    words += ["logistic", "--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out", "--out"]
    words = [str(word) for word in words]
    assert main([*words, str(tmp_path / "one")]) == 0
    made = json.loads((tmp_path / "one" / "certificate.json").read_text())
    assert made["rows_per_person"] == 3 and made["epsilon"] <= 8.0
    assert "at most 3 rows" in (tmp_path / "one" / "model-card.md").read_text()
    assert main(["verify", str(tmp_path / "one")]) == 0
    assert main([*words, str(tmp_path / "two"), "--rows-per-person", "5"]) == 0
    assert json.loads((tmp_path / "two" / "certificate.json").read_text())["rows_per_person"] == 5
    assert main([*words, str(tmp_path / "three"), "--rows-per-person", "2"]) == 2
    sample = ["sample", *words[1:4], *words[6:]]
    assert main([*sample, str(tmp_path / "four")]) == 2
    assert "rows_per_person must be 1 to sample" in capsys.readouterr().err


BAD = """[target]
name = "label"
classes = ["no"]

[columns.a]
type = "numeric"
low = 5
high = 1

[columns.b]
type = "numbers"
low = 0

[columns."c d"]
type = "numeric"
lo = 3
"""


def test_all_mistakes_of_a_schema_are_told_with_their_lines(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(BAD)
    with pytest.raises(InvalidDescription, match="4 mistakes") as error:
        Schema.from_file(path)
    for words in (
        "line 3: target.classes",
        "line 8: columns.a.high",
        "line 11: columns.b.type",
        "line 14: columns.c d has the unknown key 'lo'",
    ):
        assert words in str(error.value)


def test_one_mistake_is_told_as_one(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA.replace("high = 7", "high = -7"))
    with pytest.raises(InvalidDescription, match=r"line 9: columns\.a\.high") as error:
        Schema.from_file(path)
    assert "mistakes" not in str(error.value)
