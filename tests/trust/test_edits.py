"""Every single edit of every field of a certificate of each kind, hashed anew, is noticed.

It is refused, or contradicted, or the field is named as stated and not checked.
"""

import json
from functools import cache

import numpy as np
import pytest

pytest.importorskip("flint")

from runs import RIDGE_RUN, make_run
from trust.edits import covered, edited, edits_of, leaves, plain
from trust.tally import COUNTS
from wane.certificates import (
    Circumstances,
    EarlierReleases,
    ExactNoise,
    NoiseSource,
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.describe import Cyclic, Fact, Poisson
from wane.describe.facts import FactKind
from wane.documents import reading
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP
from wane.mechanisms import IteratedLaplace
from wane.verify import verify

SMALL = {"records": 1000, "steps": 400, "step_size": 1.0}
READ = (
    "description",
    "releases",
    "facts",
    "sampler",
    "rows_per_person",
    "delta",
    "adjacency",
    "noise",
    "released_as",
    "constants",
    "bases",
    "tuning",
    "void_because",
    "status",
    "context",
    "rounding",
    "earlier_releases",
    "files",
)
"""All that a document is written again from; the rest is only compared."""


PLAIN = make_run(**SMALL)


def side():
    return certify(stated_release("a count", GaussianDP(0.3), "by hand", RIDGE_RUN.adjacency))


def sampled():
    from wane.describe import Objective
    from wane.sampling import Losses, OverdampedRun, Posterior, certify_samples

    known = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
    losses = Losses(
        objective=known,
        dimension=3,
        laplacian_lipschitz=1.0,
        height_at_start=0.7,
        range_of_loss=1.0,
    )
    posterior = Posterior(losses=losses, records=500, prior_precision=1.0, temperature=20.0)
    run = OverdampedRun(posterior=posterior, step_size=0.5, steps=200, samples=2)
    circumstances = Circumstances(noise=NoiseSource.OPERATING_SYSTEM, released="Two samples.")
    return certificate_document(certify_samples(run), delta=1e-5, circumstances=circumstances)


def fitted(seed=None):
    from wane.cli.release import Release
    from wane.learn import PrivateLogisticRegression

    X = np.random.default_rng(3).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], steps=60, seed_voids_privacy=seed)
    words = (("model", "logistic"), ("target", "t"))
    return Release(model.fit(X, y), "logistic regression", 1e-5, words).document()


def released():
    circumstances = Circumstances(
        noise=NoiseSource.OPERATING_SYSTEM,
        released="Three coefficients.",
        grid=2.0**-10,
        exact=ExactNoise(0.5, 1e-5, "3.2"),
        earlier=EarlierReleases("people", 3, 2.5, 1e-5, "0" * 64),
        files=(("model.npz", "1" * 64),),
        context=(("model", "logistic"),),
    )
    certificate = certify(make_run(**SMALL, batches=Cyclic(50))).for_persons(4)
    return certificate_document(certificate, delta=1e-5, circumstances=circumstances)


KINDS = {
    "a description": lambda: certificate_document(certify(make_run(**SMALL)), delta=1e-5),
    "random batches": lambda: certificate_document(
        certify(make_run(records=100, steps=3, step_size=1.0, batches=Poisson(5))), delta=1e-5
    ),
    "a fit": fitted,
    "a void fit": lambda: fitted(seed=1),
    "persons, files and a ledger": released,
    "a side release": lambda: certificate_document(
        together((side(), certify(RIDGE_RUN))), delta=1e-5
    ),
    "two runs": lambda: certificate_document(
        together((certify(make_run(**SMALL)), certify(make_run()))), delta=1e-5
    ),
    "samples": sampled,
    "a mechanism": lambda: certificate_document(
        certify(IteratedLaplace(1.0, 1.0, 2.0, dimension=2, adjacency="zero-out")), delta=1e-5
    ),
    "a fact of the run": lambda: certificate_document(
        certify(PLAIN, facts=[Fact.of(PLAIN, FactKind.LOG_SOBOLEV, 2.0)]), delta=1e-5
    ),
}


@cache
def made(kind):
    return json.dumps(KINDS[kind](), allow_nan=False)


@pytest.fixture
def once(monkeypatch):
    """What a document is written again from is the same for most edits: write it once."""
    known = {}
    rewritten = reading.rewritten

    def remembered(document):
        key = json.dumps({name: document.get(name, "gone") for name in READ}, sort_keys=True)
        if key not in known:
            try:
                known[key] = rewritten(document)
            except Exception as error:  # raised again below, each time
                known[key] = error
        if isinstance(known[key], Exception):
            raise known[key]
        return known[key]

    monkeypatch.setattr(reading, "rewritten", remembered)


def noticed(document, path, before):
    """How an edit is noticed; None if it is not."""
    try:
        found = reading.read_again(document)
        if found.contradictions:
            return "contradicted"
        if covered(path, (*found.stated, *before)):
            return "stated"
        numbers = verify(document)
    except (InvalidDescription, NoTheoremApplies):
        return "refused"
    if numbers.contradictions:
        return "contradicted"
    return None if all(row.outcome.value == "verified" for row in numbers.checked) else "unproven"


def edit_all(kind, every):
    document = json.loads(made(kind))
    before = reading.read_again(document).stated
    missed, counts = [], dict.fromkeys(("contradicted", "stated", "refused", "unproven"), 0)
    cases = [(path, new) for path, value in leaves(document) for new in edits_of(value)]
    for path, new in cases[::every]:
        if path[0] in ("document_sha256", "configuration_sha256"):  # hashed anew
            continue
        forged = edited(document, path, new)
        if forged is None:
            continue
        how = noticed(plain(forged), path, before)
        if how is None:
            missed.append((path, new))
        else:
            counts[how] += 1
    assert not missed, (len(missed), missed[:20])
    for how, count in counts.items():
        COUNTS[f"edits of a document {how}"] += count
    return counts


QUICK = [kind for kind in KINDS if kind != "random batches"]
"""Kinds that are certified in a moment."""


@pytest.mark.parametrize("kind", QUICK)
def test_some_edits_of_each_kind(kind, once):
    counts = edit_all(kind, 17)
    assert counts["contradicted"] > counts["stated"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_of_each_kind(kind, once):
    assert sum(edit_all(kind, 1).values()) > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_unedited_documents_are_not_contradicted(kind):
    found = reading.read_again(json.loads(made(kind)))
    assert not found.contradictions and not found.lacks and not found.worded
