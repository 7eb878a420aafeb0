"""Documents that were forged or damaged, each as it was once accepted; and those of wane 0.1."""

import copy
import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("flint")

from runs import make_run
from trust.edits import plain, resealed
from trust.tables import fit_to, write_table
from wane.certificates import (
    Circumstances,
    NoiseSource,
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.cli import main
from wane.describe import Poisson
from wane.documents import check_document, reading
from wane.documents.reading import ADDED
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.report import html_page

OLD = Path(__file__).parents[1] / "golden" / "0.1.0"
RUN = make_run(records=1000, steps=400, step_size=1.0)


@pytest.fixture(scope="module")
def document():
    return plain(certificate_document(certify(RUN), delta=1e-5))


def forged(document, **fields):
    return resealed(copy.deepcopy(document) | fields)


def contradicted(document, words):
    found = check_document(document)
    assert not found.verified
    assert any(words in line for line in found.contradictions), found.contradictions


def test_the_document_itself_is_verified(document):
    found = check_document(document)
    assert found.verified and not found.void and not found.contradictions


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("unit", "one person: all rows"),
        ("released", "Every iterate of the run."),
        ("secret", ["nothing"]),
        ("status", "CERTIFIED"),
        ("lower_bound_epsilon", 1e6),
        ("pure_epsilon", 0.1),
        ("title", "Privacy certificate"),
        ("theorem", "pure_magic"),
        ("theorem", "gaussian_comp\u043esition"),
    ],
)
def test_a_field_that_does_not_follow_from_the_description(document, field, value):
    contradicted(forged(document, **{field: value}), field)


def test_more_rows_per_person_than_were_charged_for(document):
    contradicted(forged(document, rows_per_person=2), "epsilon claims more than wane computes")


def test_other_constants(document):
    rows = copy.deepcopy(document["constants"])
    rows[0]["value"] = 0.5
    contradicted(forged(document, constants=rows), "constants.objective.gradient_bound.value")


def test_a_status_beside_reasons_against_it(document):
    contradicted(forged(document, void_because=["a seed was used"]), "void_because")


@pytest.mark.parametrize("name", ["pure_magic", "gaussian_comp\u043esition"])
def test_a_theorem_that_does_not_exist_proves_nothing(document, name):
    rows = copy.deepcopy(document["verdicts"])
    rows.append(next(r for r in rows if r["applies"]) | {"theorem": name, "epsilon": 0.01})
    contradicted(forged(document, verdicts=rows), "there is no theorem")


def test_a_true_positive_rate_of_zero_at_a_false_positive_rate_of_one(document):
    roc = copy.deepcopy(document["roc"])
    assert roc[-1]["false_positive_rate"] == 1.0
    roc[-1]["true_positive_rate"] = 0.0
    changed = forged(document, roc=roc)
    contradicted(changed, "roc")
    from wane.verify import verify

    assert not verify(changed).verified


def test_a_run_rewritten_as_a_side_release_is_named_as_stated():
    run = certify(RUN)
    cheaper = certify(stated_release("a run", GaussianDP(0.01), "as above", RUN.adjacency))
    made = plain(certificate_document(together((cheaper, run)), delta=1e-5))
    found = check_document(made)
    assert found.verified
    assert "releases.0" in [row.where for row in found.reading.stated]


@pytest.mark.parametrize("value", [10**309, -(10**400), True, "much", None, [1]])
def test_what_is_no_number_is_refused_in_one_line(document, value):
    with pytest.raises(InvalidDescription):
        check_document(forged(document, epsilon=value))


@pytest.mark.parametrize("share", [0.5, 0.999, 0.0])
def test_understated_claims_of_random_batches_end_in_a_verdict(share):
    run = make_run(records=100, steps=4, step_size=1.0, batches=Poisson(5))
    made = plain(certificate_document(certify(run), delta=1e-5))
    made["epsilon"] *= share
    from wane.verify import verify

    assert not verify(resealed(made)).verified


def test_the_first_line_of_a_contradicted_document(document, tmp_path, capsys):
    """It began with "NOT verified: 37 of 37 numbers proven"."""
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(forged(document, unit="one person: all rows")))
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out.startswith("NOT verified: the document is contradicted in 1")


def test_a_void_certificate_is_called_void_first(tmp_path, capsys):
    """It was "verified: 6 of 6", status 0."""
    circumstances = Circumstances(noise=NoiseSource.SEED, voids=("A seed was used.",))
    made = certificate_document(certify(RUN), delta=1e-5, circumstances=circumstances)
    path = tmp_path / "void.json"
    path.write_text(json.dumps(made))
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out.startswith("void: ")
    assert main(["verify", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["void"] is True and told["verified"] is False


def test_a_seed_cannot_be_certified(document):
    noise = {"source": "seed", "meaning": NoiseSource.SEED.meaning}
    contradicted(forged(document, noise=noise), "the noise came from a seed")


def test_nothing_is_enforced_where_nothing_ran(document):
    page = html_page(certificate_document(certify(RUN), delta=1e-5))
    assert document["title"] == "Privacy calculation"
    assert "Privacy calculation" in page and "Privacy certificate" not in page
    assert "enforced while running" not in json.dumps(document) + page
    assert {h["basis"] for v in document["verdicts"] for h in v["hypotheses"]} == {
        "declared",
        "derived",
    }
    ran = Circumstances(noise=NoiseSource.OPERATING_SYSTEM)
    made = certificate_document(certify(RUN), delta=1e-5, circumstances=ran)
    assert made["title"] == "Privacy certificate"
    assert made["bases"]["enforced"] == "enforced while running"


def test_without_a_ledger_earlier_releases_are_unknown(document):
    assert document["earlier_releases"]["source"] == "unknown"
    assert "Unknown" in document["earlier_releases"]["meaning"]


# what wane 0.1 wrote


@pytest.mark.parametrize(
    "name",
    ["description-only.json", "joint.json", "fit/certificate.json", "sample/certificate.json"],
)
def test_documents_of_wane_0_1_are_read_and_what_they_lack_is_named(name, capsys):
    """They are not confirmed: the constants of their descriptions were defined otherwise."""
    assert main(["verify", str(OLD / name)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT verified: ")
    assert "certify the description again" in out
    assert "written by wane 0.1, which says nothing of: title, rows_per_person" in out


def test_a_void_document_of_wane_0_1(capsys):
    assert main(["verify", str(OLD / "void" / "certificate.json")]) == 1
    assert capsys.readouterr().out.startswith("void: ")


def test_a_folder_of_wane_0_1(capsys):
    assert main(["verify", str(OLD / "fit")]) == 1
    assert "files" in capsys.readouterr().out


def test_dropping_one_new_field_does_not_make_a_document_old(document):
    made = copy.deepcopy(document)
    del made["earlier_releases"]
    contradicted(resealed(made), "earlier_releases is missing")


WORDS = {
    "statement": {"claim": "epsilon is at most 0.001"},
    "noise": {"meaning": "The noise was drawn in hardware."},
    "bases": {"derived": "proven by a machine"},
}


def reworded(document):
    made = copy.deepcopy(document)
    for name, words in WORDS.items():
        made[name] |= words
    return made


@pytest.mark.parametrize("version", ["0.1", "0.2", "0.2.0 ", "0.3.7", "0.2.0\u200b", ""])
def test_another_version_is_no_licence_for_other_words(document, version):
    """Such a document was verified: whatever it said in words was taken for that version's."""
    made = reworded(document)
    made["versions"]["wane"] = version
    contradicted(resealed(made), "statement.claim says something else")
    kept = copy.deepcopy(document)
    kept["versions"]["wane"] = version
    contradicted(resealed(kept), "versions.wane says something else")


def test_dropping_every_new_field_proves_nothing(document):
    """Such a document was verified with other words, although it had the form of wane 0.1."""
    for made in (copy.deepcopy(document), reworded(document)):
        for name in ADDED:
            made.pop(name, None)
        contradicted(resealed(made), "written by wane 0.1")


def test_an_earlier_release_that_is_known_may_use_other_words(document, monkeypatch):
    monkeypatch.setattr(reading, "EARLIER", ("0.0.9",))
    made = reworded(document)
    made["versions"]["wane"] = "0.0.9"
    found = check_document(resealed(made))
    assert found.verified
    assert {row.where for row in found.reading.worded} == {
        f"{name}.{field}" for name, words in WORDS.items() for field in words
    }
    made["constants"][0]["value"] = 0.001
    assert not check_document(resealed(made)).verified


def test_statements_of_wane_0_1_are_written(capsys):
    for name in ("fit/certificate.json", "joint.json", "sample/certificate.json"):
        assert main(["statement", str(OLD / name)]) == 0
        assert "Unknown" in capsys.readouterr().out


# folders


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = write_table(tmp_path_factory.mktemp("fit"))
    for name in ("one", "two"):
        fit_to(place, name)
    return place


def test_a_folder_is_verified_with_its_files(folder, capsys):
    assert main(["verify", str(folder / "one")]) == 0
    out = capsys.readouterr().out
    for name in ("model.npz", "schema.json", "model-card.md", "description.json"):
        assert f"file as released: {name}" in out


@pytest.mark.parametrize("name", ["model.npz", "model-card.md", "certificate.html"])
def test_a_file_of_another_release_is_noticed(folder, tmp_path, name, capsys):
    place = tmp_path / "mixed"
    shutil.copytree(folder / "one", place)
    shutil.copy(folder / "two" / name, place / name)
    if (place / name).read_bytes() == (folder / "one" / name).read_bytes():
        pytest.skip("both releases have the same")
    assert main(["verify", str(place)]) == 1
    assert f"{name}" in capsys.readouterr().out.splitlines()[1]


def test_a_file_more_or_less_is_noticed(folder, tmp_path, capsys):
    place = tmp_path / "mixed"
    shutil.copytree(folder / "one", place)
    (place / "extra.txt").write_text("x")
    (place / "schema.json").unlink()
    assert main(["verify", str(place)]) == 1
    out = capsys.readouterr().out
    assert "'extra.txt' is not named by the document" in out
    assert "'schema.json' is missing" in out


def test_the_points_of_a_curve_share_a_line_unless_one_is_not_proven(document, tmp_path, capsys):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    points = len(document["curve"])
    assert main(["verify", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  verified: curve, {points} points" in lines
    assert not any("curve[" in line for line in lines)
    assert main(["verify", str(path), "--every-number"]) == 0
    assert capsys.readouterr().out.count("  verified: curve[") == points
    made = plain(document)
    made["curve"][3]["epsilon"] *= 0.99
    path.write_text(json.dumps(resealed(made)))
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out.count("curve[") >= points
