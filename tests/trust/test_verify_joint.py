"""Documents of several releases are composed again, side releases included."""

import copy

import numpy as np
import pytest

pytest.importorskip("flint")

from runs import RIDGE_RUN, make_run
from trust.documents import document_of, failures, lower, rehashed, valid
from trust.sealed import sealed
from trust.tally import COUNTS
from wane.certificates import (
    Certificate,
    Circumstances,
    certificate_document,
    certify,
    stated_release,
    together,
)
from wane.describe import Adjacency, Poisson, WithoutReplacement
from wane.guarantees import GaussianDP, RenyiDP, WithFailure
from wane.verify import Outcome, verify


def joint_document(*parts):
    """What several runs and side releases leak together."""
    made = (part if isinstance(part, Certificate) else certify(part) for part in parts)
    return document_of(together(tuple(made)))


def side(guarantee):
    return certify(
        stated_release("a bound", guarantee, "docs/proofs/curvature.md", RIDGE_RUN.adjacency)
    )


def test_several_releases_are_composed_again():
    document = joint_document(RIDGE_RUN, make_run(adjacency=RIDGE_RUN.adjacency), RIDGE_RUN)
    found = verify(document)
    assert found.verified, failures(found)
    for change in (
        lambda d: d.update(epsilon=lower(d["epsilon"])),
        lambda d: d.update(mu=lower(d["mu"])),
        lambda d: d["curve"][3].update(epsilon=lower(d["curve"][3]["epsilon"])),
        lambda d: d["releases"][1].update(epsilon=lower(d["releases"][1]["epsilon"])),
        lambda d: d["releases"][0]["description"].update(steps=1),
        lambda d: d["releases"].pop(0),
        rehashed,
    ):
        changed = copy.deepcopy(document)
        change(changed)
        assert not verify(sealed(changed)).verified
        COUNTS["tampered certificates refused"] += 1


def test_one_run_released_twice_needs_no_second_description():
    part = certify(RIDGE_RUN)
    assert verify(document_of(together((part, part)))).verified


def test_releases_that_are_not_described_are_not_called_verified():
    document = joint_document(RIDGE_RUN, make_run(adjacency=RIDGE_RUN.adjacency))
    for row in document["releases"]:
        row.pop("description")
    found = verify(document)
    assert found.count(Outcome.NOT_VERIFIED) == len(found.checked) and not found.verified


def sampled(batches, **changes):
    return make_run(records=100, steps=3, step_size=1.0, batches=batches, **changes)


IN_PLACE = {"adjacency": Adjacency.REPLACE_ONE}
ZERO_OUT = {"adjacency": Adjacency.ZERO_OUT}


RANDOM = {
    "twice": lambda: (sampled(Poisson(5)), sampled(Poisson(5))),
    "two": lambda: (sampled(Poisson(5), **ZERO_OUT), sampled(Poisson(9), **ZERO_OUT)),
    "beside full batches": lambda: (sampled(Poisson(5), **IN_PLACE), make_run(**IN_PLACE)),
    "fixed size beside a bound": lambda: (
        certify(
            stated_release("a bound", WithFailure(GaussianDP(0.02), 1e-7), "by hand", **ZERO_OUT)
        ),
        sampled(WithoutReplacement(5), **ZERO_OUT),
    ),
}
QUICK = "beside full batches"


@pytest.mark.parametrize(
    "name", [n if n == QUICK else pytest.param(n, marks=pytest.mark.slow) for n in RANDOM]
)
def test_releases_with_random_batches_are_composed_again(name):
    document = joint_document(*RANDOM[name]())
    found = verify(document)
    assert found.verified, failures(found)
    COUNTS["certificates verified"] += 1
    document["epsilon"] *= 0.9
    document["curve"][8]["epsilon"] *= 0.9
    wrong = [row for row in verify(sealed(document)).checked if row.outcome is not Outcome.VERIFIED]
    assert len(wrong) == 2 and "epsilon" in {row.claim.where for row in wrong}
    COUNTS["tampered certificates refused"] += 1


def test_batches_of_different_kinds_are_not_composed_again():
    document = joint_document(
        sampled(Poisson(5), **IN_PLACE), sampled(WithoutReplacement(5), **IN_PLACE)
    )
    (why,) = {row.why for row in verify(document).checked if row.claim.where == "epsilon"}
    assert why == "releases with different kinds of bounds are not composed again"


@pytest.mark.parametrize("failure", [0.0, 1e-7])
@pytest.mark.parametrize("last", [False, True])
def test_side_releases_are_composed_again(failure, last):
    inner = GaussianDP(0.3)
    bound = side(WithFailure(inner, failure) if failure else inner)
    parts = (RIDGE_RUN, bound) if last else (bound, RIDGE_RUN)
    document = joint_document(*parts)
    place = 1 if last else 0
    valid(document)
    assert document["releases"][place]["guarantee"] == {"mu": 0.3, "failure": failure}
    found = verify(document)
    assert found.verified, failures(found)
    COUNTS["certificates verified"] += 1
    for change in (
        lambda d: d.update(epsilon=lower(d["epsilon"])),
        lambda d: d["curve"][8].update(epsilon=lower(d["curve"][8]["epsilon"])),
        lambda d: d["attack"][1].update(
            true_positive_rate=d["attack"][1]["true_positive_rate"] / 2
        ),
        lambda d: d["releases"][place].update(epsilon=lower(d["releases"][place]["epsilon"])),
        lambda d: d["releases"][place]["guarantee"].update(mu=0.2),
        lambda d: d["releases"][place]["guarantee"].update(failure=1e-9),
        lambda d: d["releases"][place].update(what="another bound"),
        lambda d: d["releases"][1 - place]["description"].update(records=10**9),
        lambda d: d["releases"].pop(place),
        rehashed,
    ):
        changed = copy.deepcopy(document)
        change(changed)
        assert not verify(sealed(changed)).verified
        COUNTS["tampered certificates refused"] += 1


def test_a_failure_counts_in_full():
    """With the fingerprint of a smaller failure the old numbers are still true, but not the new."""
    document, smaller = (
        joint_document(side(WithFailure(GaussianDP(0.3), p)), RIDGE_RUN) for p in (1e-6, 1e-7)
    )
    swapped = document | {name: smaller[name] for name in ("epsilon", "curve", "attack", "roc")}
    assert verify(document).verified and not verify(sealed(swapped)).verified


def test_side_releases_of_other_kinds_are_not_called_verified():
    document = joint_document(side(RenyiDP.zcdp(0.1)), RIDGE_RUN)
    valid(document)
    assert document["releases"][0]["guarantee"] is None
    assert not verify(document).verified


def test_a_void_document_promises_nothing_of_its_side_releases():
    parts = together((side(GaussianDP(0.3)), certify(RIDGE_RUN)))
    document = certificate_document(
        parts, delta=1e-5, circumstances=Circumstances(voids=("a seed",))
    )
    valid(document)
    assert document["releases"][0]["guarantee"] is None
    found = verify(document)
    assert found.void and not found.contradictions
    assert all(row.why == "claims nothing" for row in found.checked)


def test_a_fit_with_a_private_curvature_bound_is_verified():
    """The bound is a side release that may fail, and the run was planned in view of it."""
    from wane.learn import PrivateCurvature, PrivateLogisticRegression

    X = np.random.default_rng(4).normal(size=(400, 3))
    model = PrivateLogisticRegression(classes=[0, 1], steps=60, curvature=PrivateCurvature())
    document = document_of(model.fit(X, (X[:, 0] > 0).astype(int)).certificate_)
    valid(document)
    assert len(document["releases"]) == 2 and document["releases"][0]["guarantee"]["failure"] > 0.0
    found = verify(document)
    assert found.verified, failures(found)
