"""Statistics of tables: sensitivities against adversarial tables, values, levels, folders."""

import csv
import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import wane
from twins.tables import numeric_target, schema_of, worst_distance
from wane.cli import main
from wane.describe import Adjacency
from wane.documents import check_folder
from wane.errors import InvalidDescription
from wane.ledger import Budget, BudgetExceeded, Ledger
from wane.mechanisms import BrownianMechanism, NestedRelease
from wane.statistics import STATISTICS, planned
from wane.statistics.consistent import consistent_leaves, onto_simplex, quantiles_of, whole_counts
from wane.tables import ClassTarget, Fill, Indicate, NumericColumn, Scale, Schema, Zero

RULES = {
    "zero": schema_of(Zero()),
    "unit": schema_of(Zero(), Scale.UNIT),
    "indicate": schema_of(Indicate()),
    "indicate unit": schema_of(Indicate(), Scale.UNIT),
    "fill": schema_of(Fill(0.0)),
    "target": numeric_target(),
}
NEAR = {"covariance": 0.94}
"""How near the worst pair comes to the sensitivity where it is not attained."""
ADJACENCIES = list(Adjacency)
TARGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=lambda a: a.value)
def test_no_pair_of_tables_is_farther_apart(rule, name, adjacency):
    schema = RULES[rule]
    if name == "counts" and rule == "target":
        return  # no words
    made = STATISTICS[name].of(schema, adjacency=adjacency)
    found = worst_distance(made, schema)
    assert found <= made.sensitivity
    assert found >= NEAR.get(name, 1.0 - 1e-6) * made.sensitivity, (found, made.sensitivity)


@pytest.mark.parametrize("columns", [("age",), ("colour",), ("smoker",), ("age", "ill")])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=lambda a: a.value)
def test_some_columns(columns, adjacency):
    for rule in ("zero", "indicate", "fill"):
        made = STATISTICS["mean"].of(RULES[rule], adjacency=adjacency, columns=columns)
        found = worst_distance(made, RULES[rule])
        assert 0.999 * made.sensitivity <= found <= made.sensitivity


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_second_moments_by_search(d):
    """The Frobenius sensitivity of (1, z)(1, z)^T, against random and corner points of the cube."""
    rng = np.random.default_rng(d)
    points = np.concatenate((rng.uniform(-1, 1, (400, d)), rng.choice([-1.0, 1.0], (200, d))))
    ones = np.concatenate((np.ones((600, 1)), points), axis=1)
    outer = np.einsum("ni,nj->nij", ones, ones).reshape(600, -1)
    apart = np.linalg.norm(outer[:, None] - outer[None], axis=2).max()
    assert apart <= math.sqrt(2.0) * (d + 1) * (1 + 1e-12)
    assert apart >= 0.94 * math.sqrt(2.0) * (d + 1)
    without = np.sqrt((np.linalg.norm(outer, axis=1) ** 2).max() - 1.0)
    assert without <= math.sqrt((d + 1) ** 2 - 1.0) * (1 + 1e-12)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, 4000),
            "height": rng.normal(1.0, 0.5, 4000),
            "colour": rng.choice(["red", "green", "blue"], 4000, p=[0.5, 0.3, 0.2]),
            "smoker": rng.choice(["yes", "no"], 4000),
            "ill": rng.choice(["no", "yes"], 4000, p=[0.9, 0.1]),
        }
    )
    frame["height"] += 0.02 * frame["age"]
    place = tmp_path_factory.mktemp("statistics") / "table.csv"
    frame.to_csv(place, index=False)
    return frame, place


def test_values_are_near_the_truth(table):
    frame, place = table
    schema = RULES["zero"]
    for adjacency in ADJACENCIES:
        options = {"epsilon": 8.0, "delta": 1e-5, "adjacency": adjacency}
        mean = wane.statistics.mean(place, schema, **options)
        assert mean.value["age"] == pytest.approx(frame["age"].mean(), abs=1.0)
        assert mean.value["colour"]["red"] == pytest.approx(0.5, abs=0.05)
        assert mean.value["smoker"]["true"] == pytest.approx(
            (frame.smoker == "yes").mean(), abs=0.05
        )
        matrix = wane.statistics.covariance(place, schema, **options).value
        truth = frame[["age", "height"]].cov(ddof=0)
        assert matrix["age"]["age"] == pytest.approx(truth.loc["age", "age"], abs=20)
        assert matrix["age"]["height"] == matrix["height"]["age"]
        found = wane.statistics.quantiles(place, schema, columns=["age"], **options).value["age"]
        assert found["0.5"] == pytest.approx(frame["age"].median(), abs=1.5)
        assert found["0.25"] <= found["0.5"] <= found["0.75"]


def test_frames_and_files_are_the_same(table):
    frame, place = table
    options = TARGET | {"adjacency": "zero-out", "seed_voids_privacy": 1}
    one = wane.statistics.mean(place, RULES["zero"], **options)
    two = wane.statistics.mean(frame, RULES["zero"], **options)
    assert one.value == two.value
    assert one.certificate.void_because


def test_counts_are_whole_and_add_up(table):
    _, place = table
    for adjacency in ADJACENCIES:
        options = {"epsilon": 0.05, "delta": 1e-6, "adjacency": adjacency}
        counts = wane.statistics.counts(place, RULES["zero"], **options).value
        bins = wane.statistics.histogram(place, RULES["zero"], bins=7, **options).value
        for found in (counts, bins):
            totals = {sum(cells.values()) for cells in found.values()}
            assert len(totals) == 1
            assert adjacency is Adjacency.ADD_REMOVE or totals == {4000}
            assert all(
                type(n) is int and n >= 0 for cells in found.values() for n in cells.values()
            )


def test_a_covariance_has_no_negative_eigenvalue(table):
    _, place = table
    for seed in range(5):
        options = {"epsilon": 0.02, "delta": 1e-6, "adjacency": "zero-out"}
        found = wane.statistics.covariance(
            place, RULES["zero"], **options, seed_voids_privacy=seed
        ).value
        matrix = pd.DataFrame(found).to_numpy()
        assert np.array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() >= -1e-9 * np.abs(matrix).max()


def test_missing_cells_follow_the_rule(tmp_path):
    rows = [["10", "red"], ["", "red"], ["", "purple"], ["30", ""]] * 500
    place = tmp_path / "t.csv"
    with place.open("w", newline="") as file:
        csv.writer(file).writerows([["age", "colour"], *rows])
    options = {"epsilon": 50.0, "delta": 1e-3, "adjacency": "replace-one"}

    def means(rule):
        schema = RULES[rule]
        return wane.statistics.mean(place, schema, columns=["age", "colour"], **options).value

    assert means("zero")["age"] == pytest.approx((10 + 50 + 50 + 30) / 4, abs=1)
    assert means("unit")["age"] == pytest.approx((10 + 0 + 0 + 30) / 4, abs=1)
    assert means("fill")["age"] == pytest.approx((10 + 0 + 0 + 30) / 4, abs=1)
    shown = means("indicate")
    assert shown["age"] == pytest.approx(20, abs=1)
    assert shown["age missing"] == pytest.approx(0.5, abs=0.01)
    assert shown["colour"]["missing"] == pytest.approx(0.25, abs=0.01)
    assert means("fill")["colour"]["red"] == pytest.approx(0.75, abs=0.01)
    bins = wane.statistics.histogram(place, RULES["zero"], columns=["age"], **options).value["age"]
    assert bins["(missing)"] == pytest.approx(1000, abs=20)
    counts = wane.statistics.counts(place, RULES["zero"], columns=["colour"], **options).value
    assert counts["colour"]["(other)"] == pytest.approx(1000, abs=20)
    found = wane.statistics.quantiles(place, RULES["zero"], columns=["age"], **options).value
    assert 9.9 <= found["age"]["0.25"] <= 10.2 and 29.9 <= found["age"]["0.75"] <= 30.2


def test_the_noise_is_what_is_said(table):
    _, place = table
    options = TARGET | {"adjacency": "zero-out", "columns": ["age"]}
    runs = [
        wane.statistics.mean(place, RULES["zero"], **options, seed_voids_privacy=seed)
        for seed in range(300)
    ]
    values = [run.value["age"] for run in runs]
    assert np.std(values) == pytest.approx(runs[0].noise_std, rel=0.15)
    mu = runs[0].certificate.nominal.mu
    assert runs[0].noise_std == pytest.approx(50.0 / 4000 / mu, rel=1e-6)


def test_levels_cost_what_the_first_costs(table):
    _, place = table
    options = {"epsilon": 2.0, "delta": 1e-6, "adjacency": "replace-one", "columns": ["age"]}
    levels = {"team": 2.0, "public": 0.5}
    found = wane.statistics.mean(place, RULES["zero"], **options, levels=levels)
    assert found.certificate.epsilon(1e-6) <= 2.0
    assert found.certificate.epsilon(1e-6) == pytest.approx(2.0, rel=1e-9)
    assert found.levels["public"].certificate.epsilon(1e-6) == pytest.approx(0.5, rel=1e-9)
    assert found.levels["public"].noise_std > found.levels["team"].noise_std == found.noise_std
    assert isinstance(found.certificate.description, NestedRelease)
    many = [
        wane.statistics.mean(place, RULES["zero"], **options, levels=levels, seed_voids_privacy=i)
        for i in range(200)
    ]
    team = np.array([one.levels["team"].value["age"] for one in many])
    public = np.array([one.levels["public"].value["age"] for one in many])
    assert abs(np.corrcoef(team, public - team)[0, 1]) < 0.25  # fresh noise on the same path


def test_people_with_several_rows_are_protected(table):
    _, place = table
    options = TARGET | {"adjacency": "zero-out", "columns": ["age"]}
    one = wane.statistics.mean(place, RULES["zero"], **options)
    three = wane.statistics.mean(place, RULES["zero"], **options, rows_per_person=3)
    assert three.certificate.rows_per_person == 3
    assert three.certificate.epsilon(1e-6) <= 1.0
    assert three.noise_std == pytest.approx(3 * one.noise_std, rel=1e-6)


def test_the_budget_is_asked_first(table, tmp_path, monkeypatch):
    _, place = table
    account = Ledger(tmp_path / "book.db", new=True).account("people", new=True)
    account.set_budget(Budget(1.2, 1e-6, Adjacency.ZERO_OUT))
    options = TARGET | {"adjacency": "zero-out", "columns": ["age"], "account": account}
    wane.statistics.mean(place, RULES["zero"], **options)
    assert account.total.epsilon(1e-6) <= 1.0 and account.entries[0].confirmed
    monkeypatch.setattr("wane.run.drawing.draw", lambda *a, **k: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetExceeded):
        wane.statistics.mean(place, RULES["zero"], **options)


def test_the_plan_sees_no_data():
    statistic = STATISTICS["counts"].of(RULES["zero"], adjacency=Adjacency.ADD_REMOVE)
    plan = planned(statistic, **TARGET)
    assert isinstance(plan, BrownianMechanism) and plan.adjacency is Adjacency.ADD_REMOVE
    assert wane.certify(plan).epsilon(1e-6) <= 1.0


def test_an_empty_table_has_counts_under_add_remove(tmp_path):
    place = tmp_path / "t.csv"
    place.write_text("age,colour\n")
    options = {"epsilon": 50.0, "delta": 1e-3, "columns": ["colour"]}
    found = wane.statistics.counts(place, RULES["zero"], adjacency="add-remove", **options)
    assert sum(found.value["colour"].values()) <= 2
    with pytest.raises(InvalidDescription, match="at least one row"):
        wane.statistics.counts(place, RULES["zero"], adjacency="zero-out", **options)


def test_consistency():
    assert whole_counts(np.array([2.6, -1.0, 7.5]), 10) == [3, 0, 7]
    assert whole_counts(np.array([-5.0, -7.0]), 0) == [0, 0]
    near = onto_simplex(np.array([0.5, 2.0, -3.0]), 2.0)
    assert near.sum() == pytest.approx(2.0) and near[2] == 0.0
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 50, 8).astype(float)
    exact = [leaves.reshape(2, -1).sum(1), leaves.reshape(4, -1).sum(1), leaves]
    assert consistent_leaves(exact) == pytest.approx(leaves)
    noisy = [level + rng.normal(0, 3, level.shape) for level in exact]
    design = np.concatenate([np.kron(np.eye(n), np.ones((1, 8 // n))) for n in (2, 4, 8)])
    best = np.linalg.lstsq(design, np.concatenate(noisy), rcond=None)[0]
    assert consistent_leaves(noisy) == pytest.approx(best)
    shares = quantiles_of(np.array([0.0, 10.0, 0.0, 10.0]), np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    assert shares == pytest.approx([0.25, 0.375, 0.5, 0.875, 1.0])
    assert quantiles_of(np.array([-1.0, -2.0]), np.array([0.3])) == pytest.approx([0.5])


SCHEMA = """
feature_norm = 1.0
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
type = "numeric"
low = 0.0
high = 100.0
[columns.height]
type = "numeric"
low = -3.0
high = 5.0
[columns.colour]
type = "categorical"
categories = ["red", "green", "blue"]
"""


@pytest.fixture
def place(table, tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "table.csv").write_bytes(table[1].read_bytes())
    return tmp_path


def words(place, statistic, *more, out="out"):
    target = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "zero-out")
    files = (place / "table.csv", "--schema", place / "schema.toml", "--out", place / out)
    return [str(word) for word in ("release", statistic, *files, *target, *more)]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_command_writes_a_release_that_is_verified(place, capsys, statistic):
    assert main(words(place, statistic, "--json")) == 0
    made = json.loads(capsys.readouterr().out)
    wanted = {
        "statistic",
        "value",
        "noise_std",
        "epsilon",
        "delta",
        "mu",
        "adjacency",
        "certificate",
        "levels",
    }
    assert wanted <= set(made) and made["levels"] is None and made["epsilon"] <= 1.0
    assert check_folder(place / "out").verified
    assert main(["verify", str(place / "out")]) == 0
    released = json.loads((place / "out" / "statistic.json").read_text())
    assert released["value"] == made["value"]
    (place / "out" / "statistic.json").write_text("{}")
    assert not check_folder(place / "out").verified
    assert main(words(place, statistic, "--force")) == 0


def front(place, *more):
    """Number of records, band, what was released, and the whole page."""
    assert main(words(place, "mean", "--columns", "age", "--force", *more)) == 0
    page = (place / "out" / "certificate.html").read_text(encoding="utf-8")
    records = re.search(r"<dt>Records</dt><dd>(.*?)</dd>", page)[1]
    band = re.search(r'<li aria-current="true"><span>([a-z]+)', page)[1]
    return records, band, re.search(r'<dt>Released</dt><dd class="w">(.*?)</dd>', page)[1], page


def test_the_page_counts_the_records_and_weighs_delta_against_them(place, capsys):
    records, band, released, _ = front(place, "--delta", "0.0002")
    assert (records, band) == ("4,000", "strong")
    assert released.startswith("The mean of age, and nothing else.")
    assert "As the proof sees it: the position of the diffusion" in released
    records, band, _, page = front(place, "--delta", "0.00025")  # one over the number of records
    assert (records, band) == ("4,000", "weak") and "records: 4000" not in page


def test_the_page_keeps_a_number_of_records_that_is_not_public(place, capsys):
    records, band, _, page = front(place, "--delta", "0.00025", "--adjacency", "add-remove")
    assert 'class="blank"' in records and band == "strong"
    assert "4000" not in page and "4,000" not in page
    assert "one over the number of records, which is not stated here" in page


def test_the_command_with_levels_and_a_ledger(place, capsys):
    book = ("--ledger", str(place / "book.db"), "--dataset", "people", "--new")
    more = ("--levels", "team=1,public=0.25", "--columns", "age,colour", *book, "--json")
    assert main(words(place, "mean", *more)) == 0
    made = json.loads(capsys.readouterr().out)
    assert set(made["levels"]) == {"team", "public"}
    assert made["levels"]["public"]["epsilon"] <= 0.25
    assert made["levels"]["team"]["value"] == made["value"]
    assert check_folder(place / "out").verified
    assert main(["verify", made["levels"]["public"]["certificate"]]) == 0
    entries = Ledger(place / "book.db").account("people").entries
    assert len(entries) == 1 and entries[0].confirmed
    assert entries[0].certificate.epsilon(1e-6) <= 1.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--columns", "agee"), "must be among those of the schema"),
        (("--columns", "age,age"), "must be distinct"),
        (("--columns", ","), "at least one column"),
        (("--levels", "team"), "written as team=2"),
        (("--levels", "team=x"), "must hold numbers"),
        (("--levels", "team=1,team=0.5"), "distinct names"),
        (("--levels", "public=0.25,team=1"), "from the largest epsilon"),
        (("--levels", "team=2"), "must stay within epsilon"),
        (("--levels", "a/b=1"), "names of letters"),
        (("--levels", ""), "at least one level"),
        (("--bins", "5"), "must go with histogram"),
        (("--rows-per-person", "0"), "at least 1"),
        (("--delta", "0"), "delta must be > 0"),
        (("--epsilon", "-1"), "epsilon must be > 0"),
        (("--epsilon", "1e12"), "noise must be at least"),
    ],
)
def test_bad_input_is_refused_in_words(place, capsys, more, said):
    assert main(words(place, "mean", *more)) == 2
    assert said in capsys.readouterr().err
    assert not (place / "out").exists()


def test_other_refusals(place, capsys):
    assert main(words(place, "histogram", "--columns", "colour")) == 2
    assert "counts takes categories" in capsys.readouterr().err
    assert main(words(place, "counts", "--columns", "age")) == 2
    assert main(words(place, "histogram", "--bins", "0")) == 2
    assert main(words(place, "quantiles", "--probabilities", "2")) == 2
    assert main(words(place, "mean", "--ledger", str(place / "none.db"))) == 2
    with pytest.raises(InvalidDescription, match="adjacency must be given"):
        wane.statistics.mean(place / "table.csv", RULES["zero"], epsilon=1.0, delta=1e-6)
    only_words = Schema(
        columns=(NumericColumn(name="age", low=0.0, high=1.0),),
        target=ClassTarget(name="ill", classes=("a", "b")),
    )
    assert wane.statistics.STATISTICS["mean"].of(only_words, adjacency=Adjacency.ZERO_OUT)


def test_a_seed_claims_nothing(place, capsys):
    assert main(words(place, "mean", "--seed-voids-privacy", "3", "--json")) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["epsilon"] == "infinity" and made["mu"] is None and made["status"] == "void"
    assert main(["verify", str(place / "out")]) == 1


def test_the_sensitivity_is_that_of_the_released_schema(place, capsys):
    """Whoever narrows the bounds, or claims a smaller sensitivity, is contradicted."""
    assert main(words(place, "mean", "--columns", "age,colour")) == 0
    folder = place / "out"
    assert not [c for c in check_folder(folder).contradictions if "sensitivity" in c]
    document = json.loads((folder / "certificate.json").read_text())
    statistic = json.loads((folder / "statistic.json").read_text())
    (folder / "statistic.json").write_text(json.dumps(statistic | {"columns": ["age"]}))
    assert any("sensitivity" in c for c in check_folder(folder).contradictions)
    (folder / "statistic.json").write_text(json.dumps(statistic | {"statistic": "mode"}))
    assert any("do not describe" in c for c in check_folder(folder).contradictions)
    (folder / "statistic.json").write_text(json.dumps(statistic))
    smaller = document["description"] | {"sensitivity": 0.5}
    (folder / "certificate.json").write_text(json.dumps(document | {"description": smaller}))
    assert any("sensitivity, dimension" in c for c in check_folder(folder).contradictions)
