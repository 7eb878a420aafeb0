"""Folders of statistics that a forger made consistent with themselves, and hashed again."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("flint")

from trust.edits import plain
from wane.certificates import certificate_document, certify, with_files
from wane.cli import main
from wane.describe.fields import description_from_fields
from wane.describe.files import sha256_of
from wane.documents import check_folder
from wane.documents.rewriting import circumstances_of
from wane.mechanisms import IteratedLaplace, OrnsteinUhlenbeckMechanism
from wane.report import html_page

SCHEMA = """
[target]
name = "ill"
classes = ["no", "yes"]
[columns.colour]
type = "categorical"
categories = ["red", "green"]
[columns.shape]
type = "categorical"
categories = ["round", "square"]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one level of readers, and one with two."""
    place, rng = tmp_path_factory.mktemp("statistics"), np.random.default_rng(0)
    rows = zip(
        *(rng.choice(w, 200) for w in (["red", "green"], ["round"], ["no", "yes"])), strict=True
    )
    text = "\n".join(",".join(row) for row in [("colour", "shape", "ill"), *rows])
    (place / "table.csv").write_text(text + "\n")
    (place / "schema.toml").write_text(SCHEMA)
    words = ["release", "counts", str(place / "table.csv"), "--schema", str(place / "schema.toml")]
    words += ["--epsilon", "2", "--delta", "1e-6", "--adjacency", "zero-out"]
    assert main([*words, "--out", str(place / "one")]) == 0
    assert main([*words, "--levels", "team=2,public=0.5", "--out", str(place / "two")]) == 0
    return place


@pytest.fixture(params=["one", "two"])
def either(request, made, tmp_path):
    return copied(made, tmp_path, request.param)


@pytest.fixture
def levels(made, tmp_path):
    return copied(made, tmp_path, "two")


def copied(made, tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(made / name, folder)
    return folder


def read(folder, name="certificate.json"):
    return json.loads((folder / name).read_text())


def write(folder, name, fields):
    (folder / name).write_text(json.dumps(fields))


def rebound(folder, document=None):
    """The folder with all of its hashes and its page as a forger would make them."""
    ours = ("certificate.json", "certificate.html")
    names = [entry for entry in sorted(folder.iterdir()) if entry.name not in ours]
    hashes = {entry.name: sha256_of(entry) for entry in names}
    document = plain(with_files(document or read(folder), hashes))
    write(folder, "certificate.json", document)
    (folder / "certificate.html").write_text(html_page(document))
    return folder


def certified(document, mechanism):
    """The document of another mechanism, in the same circumstances."""
    said = circumstances_of(document)
    return plain(certificate_document(certify(mechanism), delta=1e-6, circumstances=said))


def contradicted(folder, words):
    found = check_folder(folder)
    assert not found.verified
    assert any(words in line for line in found.contradictions), found.contradictions


def test_what_is_hashed_again_without_a_change_is_verified(either):
    found = check_folder(rebound(either))
    assert found.verified and not found.contradictions


@pytest.mark.parametrize("kind", ["laplace", "pulled"])
def test_a_mechanism_whose_sensitivity_means_something_else(either, kind):
    """Laplace noise was verified for the Euclidean sensitivity: of ten columns epsilon 1.46, and
    their absolute changes sum to 3.2 times as much."""
    document = read(either)
    process = document["description"].get("mechanism", document["description"])
    given = {"sensitivity": process["sensitivity"], "dimension": process["dimension"]}
    if kind == "laplace":
        mechanism = IteratedLaplace(
            first_scale=2.0, second_scale=2.0, adjacency="zero-out", **given
        )
    else:
        mechanism = OrnsteinUhlenbeckMechanism(
            time=process["time"], reversion=1.0, adjacency="zero-out", **given
        )
    forged = certified(document, mechanism)
    write(either, "description.json", forged["description"])
    contradicted(rebound(either, forged), "mechanism, sensitivity")


def test_a_level_that_claims_more_than_it_is(levels):
    """Its certificate was compared by its hash only: epsilon 0.0035 for 0.5 was in a folder
    that was verified."""
    level = read(levels, "certificate-public.json")
    later = level["description"] | {"levels": {"public": 1e6}}
    forged = certified(level, description_from_fields(later))
    assert forged["epsilon"] < 0.01
    write(levels, "certificate-public.json", plain(with_files(forged, level["files"])))
    contradicted(rebound(levels), "description of certificate-public.json")


def test_a_number_in_the_certificate_of_a_level(levels):
    level = read(levels, "certificate-public.json")
    write(levels, "certificate-public.json", level | {"epsilon": 0.1})
    contradicted(rebound(levels), "certificate-public.json: ")


def test_levels_that_the_certificate_does_not_count(levels):
    """The certificate of the stricter level was verified beside the values of both."""
    document = read(levels)
    forged = certified(
        document, description_from_fields(document["description"]).seen_by(["public"])
    )
    assert forged["epsilon"] <= 0.5
    write(levels, "description.json", forged["description"])
    contradicted(rebound(levels, forged), "the levels in statistic.json")
    statistic = read(levels, "statistic.json")
    statistic["levels"].pop("team")
    write(levels, "statistic.json", statistic)
    contradicted(
        rebound(levels, forged), "'statistic-team.json' is not a file of one of the levels"
    )


def test_values_of_a_level_that_are_not_those_of_the_whole(levels):
    values = read(levels, "statistic-public.json")
    write(levels, "statistic-public.json", values | {"noise_std": 0.1})
    contradicted(rebound(levels), "statistic-public.json is not the level")


def test_a_level_without_its_files(levels):
    (levels / "certificate-public.json").unlink()
    contradicted(rebound(levels), "certificate-public.json")


def test_levels_without_their_statistic(levels):
    (levels / "statistic.json").unlink()
    contradicted(rebound(levels), "statistic.json is missing")


@pytest.mark.parametrize("name", ["statistic.json", "schema.json", "description.json"])
def test_files_that_hold_something_else(either, name):
    (either / name).write_text("[]")
    contradicted(rebound(either), name)


def test_people_with_more_rows_than_are_protected(either):
    schema = read(either, "schema.json")
    write(either, "schema.json", schema | {"rows_per_person": 5})
    contradicted(rebound(either), "rows_per_person of schema.json")


def test_a_level_of_a_seeded_release_claims_nothing(made, tmp_path):
    words = ["release", "counts", str(made / "table.csv"), "--schema", str(made / "schema.toml")]
    words += ["--epsilon", "2", "--delta", "1e-6", "--adjacency", "zero-out"]
    words += ["--levels", "team=2,public=0.5", "--seed-voids-privacy", "1"]
    assert main([*words, "--out", str(tmp_path / "seeded")]) == 0
    found = check_folder(tmp_path / "seeded")
    assert found.void and not found.verified and not found.contradictions
