"""Every certificate that a session's tests release is verified when they are done.

That is every document that `certificate_document` returns, whoever calls it, and a document of
every certificate that a fitted estimator holds.  A test that forges a document does so afterwards,
to its own copy.  Asked for by an environment variable, WANE_VERIFY_ALL, since it takes minutes; its
value is how many seconds a process may spend on it, after which the rest is counted.

Under xdist each process verifies what it was the first to make, and leaves the verdict in a folder
that they share; the process that prints reads them, and fails the session unless each is verified.
Only what took too long, which tells of the machine, and what tests leave unproven on purpose is let
pass, and counted.
"""

import functools
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import wane.certificates.document as home
from trust.tally import COUNTS
from wane.errors import InvalidDescription
from wane.verify import CheckedClaim, Outcome, Verification, verify

SECONDS = 150.0
"""No document may take longer, to be made or to be verified."""
FOLDER = "folder of certificate documents"
NAMED_BY = ("configuration_sha256", "status", "delta", "epsilon")
VERIFIED, NOT_VERIFIED, REFUSED = "verified", "not verified", "refused"
LATE, ON_PURPOSE = "not verified in time", "left unproven on purpose"
WITHOUT_PROOF = {
    "test_verdicts_have_reasons",
    "test_side_releases_of_other_kinds_are_not_called_verified",
    # its document hides that chains were sampled, and with that why no lower bound is stated
    "test_samples_without_a_sampler_are_not_called_verified",
    "test_verify_refuses_the_claim_that_counted_all_records",
    # the grid that bears so many steps is too coarse for a proof, which verify says
    "test_the_document_is_written_in_seconds[Poisson, 1e12 steps]",
    # two kinds of random batches name different pairs of laws, which verify does not compose
    "test_batches_of_different_kinds_are_not_composed_again",
}
"""Tests of documents that do not say enough to be verified, or more than the verifier composes."""

Note = Callable[[dict[str, Any]], None]
Keep = Callable[["Fit"], None]


class TakesLong(Exception):
    """Something was stopped, which says nothing about the document."""


@dataclass(frozen=True)
class Verdict:
    """What became of a document.

    Attributes:
        outcome: verified, or why not, in the words above.
        made_by: the test that was the first to make it.
        why: by reason, the first number that has it.
    """

    outcome: str
    made_by: str
    why: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """A certificate of a fitted estimator."""

    certificate: Any
    delta: float

    @property
    def name(self) -> tuple[str, float]:
        """The same for fits that are certified alike."""
        return home.configuration_hash(self.certificate), self.delta


def verdict(document: dict[str, Any], made_by: str, seconds: float = SECONDS) -> Verdict:
    """Verify within a time, and say why not."""
    try:
        with stopped_after(seconds):
            found = verify(document)
    except TakesLong as error:
        return Verdict(LATE, made_by, {f"verifying takes {error}": "the document"})
    except InvalidDescription as error:
        return Verdict(NOT_VERIFIED, made_by, {str(error): "the document"})
    proven = all(row.outcome is Outcome.VERIFIED for row in found.checked)
    # a void document claims nothing, so it is never called verified; it must not be wrong either
    if found.verified or (found.void and proven and not found.contradictions):
        return Verdict(VERIFIED, made_by)
    on_purpose = made_by.partition("::")[2] in WITHOUT_PROOF
    if found.count(Outcome.TOO_SMALL) or (found.contradictions and not on_purpose):
        outcome = REFUSED
    else:
        outcome = ON_PURPOSE if on_purpose else NOT_VERIFIED
    return Verdict(outcome, made_by, _reasons(found))


def _reasons(found: Verification) -> dict[str, str]:
    reasons = dict.fromkeys(found.contradictions, "the document")
    for row in found.checked:
        if row.outcome is not Outcome.VERIFIED:
            reasons.setdefault(row.why or row.outcome.value, _compared(row))
    return reasons


def _compared(row: CheckedClaim) -> str:
    return f"{row.claim.where}: {row.claim.value!r}, proven {row.proven!r}"


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Interrupt what is inside; where there are no such signals, wait for it."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TakesLong(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class Collector:
    """A pytest plugin: keeps documents while tests run, verifies them when all are done."""

    def __init__(self, folder: Path, seconds: float, *, prints: bool) -> None:
        self.folder = folder
        self.seconds = seconds
        self.prints = prints
        self.noted: list[tuple[Path, str]] = []
        self.fits: dict[tuple[str, float], tuple[Fit, str]] = {}

    def note(self, document: dict[str, Any], made_by: str | None = None) -> None:
        """Keep a document as it is now, unless some process has noted the same."""
        name = hashlib.sha256(json.dumps([document[key] for key in NAMED_BY]).encode()).hexdigest()
        text = json.dumps(document, allow_nan=False)
        try:
            with (self.folder / f"{name}.json").open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return
        self.noted.append((self.folder / f"{name}.json", made_by or _running()))

    def keep(self, fit: Fit) -> None:
        """Keep a certificate; its document is made when there is time."""
        self.fits.setdefault(fit.name, (fit, _running()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where the documents are."""
        node.workerinput[FOLDER] = str(self.folder)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Verify, before the counts are handed over."""
        ends = time.monotonic() + self.seconds
        for fit, made_by in self.fits.values():
            if time.monotonic() < ends:
                self._document(fit, made_by)
        # those of one test are alike: if time runs out, some of each have been seen
        random.Random(0).shuffle(self.noted)
        for place, made_by in self.noted:
            if time.monotonic() > ends:
                COUNTS["certificate documents left for want of time"] += 1
                continue
            found = verdict(json.loads(place.read_text(encoding="utf-8")), made_by)
            place.with_suffix(".verdict").write_text(json.dumps(vars(found)), encoding="utf-8")
            COUNTS[f"certificate documents {found.outcome}"] += 1
        failing = (REFUSED, NOT_VERIFIED)
        if self.prints and any(found.outcome in failing for _, found in self.verdicts()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _document(self, fit: Fit, made_by: str) -> None:
        make = getattr(home.certificate_document, "__wrapped__", home.certificate_document)
        try:
            with stopped_after(SECONDS):
                made = make(fit.certificate, delta=fit.delta)
        except TakesLong:
            COUNTS["certificates of fits that take long to write"] += 1
        else:
            self.note(made, made_by)

    def verdicts(self) -> list[tuple[Path, Verdict]]:
        """Those of all processes, with the documents."""
        return [
            (place.with_suffix(".json"), Verdict(**json.loads(place.read_text(encoding="utf-8"))))
            for place in sorted(self.folder.glob("*.verdict"))
        ]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Every document that was not verified, and the reasons with their counts."""
        if not self.prints:
            return
        expected = (VERIFIED, ON_PURPOSE)
        doubtful = [row for row in self.verdicts() if row[1].outcome not in expected]
        for place, found in doubtful:
            terminalreporter.write_line(f"{found.outcome}: {place}, made by {found.made_by}")
            for why, where in found.why.items():
                terminalreporter.write_line(f"    {why} ({where})")
        reasons = Counter((found.outcome, why) for _, found in doubtful for why in found.why)
        for (outcome, why), count in reasons.most_common():
            terminalreporter.write_line(f"certificate documents {outcome}: {count} for: {why}")
        if not doubtful:
            shutil.rmtree(self.folder)


def _running() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "none").removesuffix(" (call)")


def start(config: pytest.Config) -> None:
    """Keep every document and the certificate of every fit from here on."""
    handed = getattr(config, "workerinput", None)  # of an xdist worker
    made = handed[FOLDER] if handed else tempfile.mkdtemp(prefix="wane-certificates-")
    seconds = float(os.environ["WANE_VERIFY_ALL"])
    collector = Collector(Path(made), seconds, prints=handed is None)
    config.pluginmanager.register(collector, "certificate documents")
    watch_documents(collector.note)
    watch_fits(collector.keep)


def watch_documents(note: Note) -> None:
    """Show every new document to `note`, wherever its maker was imported already."""
    plain = home.certificate_document

    @functools.wraps(plain)
    def noting(*given: Any, **options: Any) -> dict[str, Any]:
        document = plain(*given, **options)
        note(document)
        return document

    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("certificate_document") is plain:
            module.certificate_document = noting


def watch_fits(keep: Keep) -> None:
    """Show the certificate of every fit to `keep`; of a void one, what it would have been."""
    from wane.learn.presented import Certified
    from wane.sampling.estimators import SamplingEstimator

    plain = Certified.__setattr__

    def noting(model: Any, name: str, value: Any) -> None:
        plain(model, name, value)
        last = "sampling_" if isinstance(model, SamplingEstimator) else "certificate_"
        if name == last:  # whatever a document needs is there by now
            found = getattr(model.certificate_, "nominal", model.certificate_)
            keep(Fit(found, model.delta))

    Certified.__setattr__ = noting  # type: ignore[method-assign]
