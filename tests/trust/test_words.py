"""Words of a schema or a holder stay words in cards, statements and pages."""

import copy
import json

import pytest

from runs import make_run
from trust.edits import plain
from trust.sealed import sealed
from wane.certificates import Circumstances, NoiseSource, certificate_document, certify
from wane.cli import main
from wane.report import html_page, privacy_statement
from wane.report.card import model_card
from wane.report.text import markdown, visible

NASTY = "x\n## Privacy\n<script>alert(1)</script> [a](b) \u202eevil\x1b[2J |`"
RUN = make_run(records=1000, steps=400, step_size=1.0)


@pytest.fixture(scope="module")
def document():
    circumstances = Circumstances(
        noise=NoiseSource.OPERATING_SYSTEM,
        released=NASTY,
        tuning=NASTY,
        context=(("target", NASTY), (NASTY, "x")),
    )
    return certificate_document(certify(RUN), delta=1e-5, circumstances=circumstances)


@pytest.mark.parametrize("made", [lambda d: model_card(d, "a model"), privacy_statement])
def test_markdown_shows_names_as_they_are(document, made):
    text = made(document)
    assert "<script>" not in text.replace("\\<", "")
    assert "\u202e" not in text and "\x1b" not in text
    assert text.count("\n## Privacy") == made(document | {"context": {}}).count("\n## Privacy")
    assert "](b)" not in text.replace("\\]", "")


def test_pages_show_names_as_they_are(document):
    page = html_page(document)
    assert "<script>" not in page and "\u202e" not in page and "\x1b" not in page
    assert "\\u202e" in page


def test_plain_words_stay_plain():
    assert markdown("age in years: 3.5") == "age in years: 3.5"
    assert visible("caf\u00e9") == "caf\u00e9"


# statements


def refused(tmp_path, capsys, document, words):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    assert main(["statement", str(path)]) == 2
    assert words in capsys.readouterr().err


@pytest.fixture(scope="module")
def calculated():
    return plain(certificate_document(certify(RUN), delta=1e-5))


def test_a_statement_of_an_edited_document_is_refused(tmp_path, capsys, calculated):
    """A statement of epsilon -1 was printed with a straight face."""
    refused(tmp_path, capsys, calculated | {"epsilon": -1.0}, "document_sha256")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("epsilon", -1.0, "epsilon must be at least 0"),
        ("epsilon", "much", "epsilon must be a number"),
        ("delta", 2.0, "delta must be at most 1"),
        ("version", 7, "version 1, got"),
        ("format", "other", "wane-certificate"),
        ("description", None, "description must be in the document"),
        ("status", "CERTIFIED", "status must be"),
    ],
)
def test_a_statement_checks_what_it_repeats(*, tmp_path, capsys, calculated, field, value, words):
    refused(tmp_path, capsys, sealed(copy.deepcopy(calculated) | {field: value}), words)


def test_a_statement_of_a_whole_document_is_written(tmp_path, capsys, calculated):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(calculated))
    assert main(["statement", str(path)]) == 0
    assert "a calculation, nothing was run" in capsys.readouterr().out
