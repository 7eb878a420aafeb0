"""All certificates of a session are verified if that is asked for, whichever process made them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("flint")

from runs import RIDGE_RUN
from trust.collected import (
    LATE,
    NOT_VERIFIED,
    ON_PURPOSE,
    REFUSED,
    VERIFIED,
    TakesLong,
    Verdict,
    stopped_after,
    verdict,
)
from trust.sealed import sealed
from wane.certificates import (
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.guarantees import RenyiDP

TESTS = Path(__file__).parents[1]
GENUINE = """
import numpy as np
import pytest

from runs import RIDGE_RUN, make_run
from wane.certificates import certify
from wane.cli import release, statement
from wane.learn import PrivateMean
from wane.certificates import certificate_document

@pytest.mark.parametrize("run", [RIDGE_RUN, make_run(), make_run()])
def test_a_document_that_is_forged_afterwards(run):
    certificate_document(certify(run), delta=1e-5)["epsilon"] = 0.0

def test_documents_made_elsewhere():
    release.certificate_document(certify(make_run(records=300)), delta=1e-5)
    statement.certificate_document(certify(make_run(records=400)), delta=1e-5)

def test_a_fit():
    PrivateMean(feature_bounds=(-1.0, 1.0)).fit(np.zeros((50, 2)))
"""
FALSE = """
from runs import RIDGE_RUN
from wane.certificates import certify
from wane.certificates import certificate_document

def test_a_wrong_fingerprint(monkeypatch):
    monkeypatch.setattr("wane.certificates.document.configuration_hash", lambda *given: "0" * 64)
    certificate_document(certify(RIDGE_RUN), delta=1e-6)
"""
UNPROVEN = """
from runs import RIDGE_RUN
from wane.certificates import certify, stated_release, together
from wane.guarantees import RenyiDP
from wane.certificates import certificate_document

def test_a_side_release_of_another_kind():
    side = certify(stated_release("a bound", RenyiDP.zcdp(0.1), "a page", RIDGE_RUN.adjacency))
    certificate_document(together((side, certify(RIDGE_RUN))), delta=1e-5)
"""


def session(folder, how, **files):
    """Run these test files, each in a folder of its own, with everything verified."""
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS} {TESTS / 'papers'}\n")
    for name, text in files.items():
        (folder / name).mkdir()
        (folder / name / f"test_{name}.py").write_text(text)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *how],
        cwd=folder,
        env=kept | {"WANE_VERIFY_ALL": "60", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("how", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "xdist"])
def test_what_tests_make_is_verified_and_what_is_false_fails_the_session(tmp_path, how):
    if how:
        pytest.importorskip("xdist")
    done = session(tmp_path, how, genuine=GENUINE, false=FALSE)
    lines = done.stdout.splitlines()
    counts = "trust: 1 certificate documents refused, 5 certificate documents verified"
    assert counts in lines, done.stdout + done.stderr
    assert done.returncode == 1 and not any("failed" in line for line in lines)
    (refused,) = (line for line in lines if line.startswith("refused: "))
    assert refused.endswith("test_false.py::test_a_wrong_fingerprint")
    assert Path(refused.removeprefix("refused: ").partition(",")[0]).exists()


def test_what_is_not_proven_fails_the_session(tmp_path):
    done = session(tmp_path, (), unproven=UNPROVEN)
    assert "trust: 1 certificate documents not verified" in done.stdout.splitlines()
    assert done.returncode == 1


def test_nothing_is_left_where_all_is_verified(tmp_path):
    done = session(tmp_path, (), genuine=GENUINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trust: 5 certificate documents verified" in done.stdout.splitlines()
    assert not list(tmp_path.glob("wane-certificates-*"))


def test_verdicts_have_reasons():
    document = certificate_document(certify(RIDGE_RUN), delta=1e-5)
    assert verdict(document, "me") == Verdict(VERIFIED, "me")
    lowered = verdict(sealed(document | {"zcdp": 0.999 * document["zcdp"]}), "me")
    assert lowered.outcome == REFUSED and list(lowered.why) == ["too small"]
    late = verdict(document, "me", seconds=1e-6)
    assert late.outcome == LATE and list(late.why) == ["verifying takes more than 1e-06 seconds"]
    side = certify(stated_release("a bound", RenyiDP.zcdp(0.1), "a page", RIDGE_RUN.adjacency))
    parts = together((side, certify(RIDGE_RUN)))
    unknown = certificate_document(parts, delta=1e-5)
    beyond = verdict(unknown, "me")
    assert beyond.outcome == NOT_VERIFIED and "releases" in next(iter(beyond.why))
    assert verdict(unknown, "here.py::test_verdicts_have_reasons").outcome == ON_PURPOSE


def test_what_takes_long_is_stopped():
    with pytest.raises(TakesLong), stopped_after(0.05):
        time.sleep(5.0)
    with stopped_after(0.05):
        pass
    time.sleep(0.1)  # and nothing rings any more
