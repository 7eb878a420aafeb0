"""Every certificate that wane makes is verified, and none of them once it was tampered with."""

import copy
import json
import math
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("flint")

from laws.strategies import runs
from runs import RIDGE_RUN, make_run
from trust.tally import COUNTS
from wane.analyses import ANALYSES
from wane.certify import JointCertificate, certify
from wane.describe import Poisson, WithoutReplacement
from wane.describe.domains import Ball
from wane.describe.fields import run_from_fields, run_to_fields
from wane.errors import NoTheoremApplies
from wane.report import certificate_document
from wane.verify import Outcome, verify
from wane.verify.claims import contradictions, described_run, fingerprint
from wane.verify.theorems import THEOREMS
from wane.web.presets import PRESETS

NOT_COMPUTED_AGAIN: dict[str, str] = {}
"""Theorems of the registry without a verifier, with the reason."""
HERE = Path(__file__).parents[2]
SAMPLED = ("poisson", "without-replacement")


def document_of(certificate, **at):
    made = certificate_document(certificate, **(at or {"delta": 1e-5}))
    return json.loads(json.dumps(made, allow_nan=False))


def failures(found):
    return [row for row in found.checked if row.outcome is not Outcome.VERIFIED]


def test_every_theorem_has_a_verifier():
    names = {analysis.name for analysis in ANALYSES}
    assert names == set(THEOREMS) | set(NOT_COMPUTED_AGAIN)
    assert not set(THEOREMS) & set(NOT_COMPUTED_AGAIN)


def described():
    """By where they come from: descriptions that ship with wane, or that tests share."""
    made = {f"preset: {p['name']}": p["run"] for p in PRESETS}
    made["bundled"] = tomllib.loads((files("wane.cli.specs") / "logistic.toml").read_text())
    for page in (HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))):
        for i, block in enumerate(page.read_text(encoding="utf-8").split("```toml\n")[1:]):
            fields = tomllib.loads(block.partition("```")[0])
            if fields.get("kind") == "noisy-descent":
                made[f"{page.name}, {i}"] = fields
    made["tests: a ridge"] = run_to_fields(RIDGE_RUN)
    made["tests: plain"] = run_to_fields(make_run())
    return made


DESCRIBED = described()


def lower(value):
    return value if not isinstance(value, float) else value * (1.0 - 1e-6)


def lowered(document):
    document["epsilon"] = lower(document["epsilon"])


def redescribed(document):
    document["description"]["records"] += 1


def rehashed(document):
    document["configuration_sha256"] = document["configuration_sha256"][::-1]


TAMPERED = (lowered, redescribed, rehashed)


def check(document):
    """The document is verified; lowered, described otherwise or with another hash it is not."""
    found = verify(document)
    assert found.verified, (failures(found), found.contradictions)
    COUNTS["certificates verified"] += 1
    COUNTS["certified numbers proven again"] += len(found.checked)
    for tamper in TAMPERED:
        changed = copy.deepcopy(document)
        tamper(changed)
        if changed == document:  # an epsilon of zero or infinity cannot be lowered
            continue
        # a document that contradicts itself is never called verified, whatever its numbers are
        assert contradictions(changed, described_run(changed)), tamper
        COUNTS["tampered certificates refused"] += 1


def kind(run):
    return run.get("batches", {}).get("kind")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if kind(run) in SAMPLED else name
        for name, run in DESCRIBED.items()
    ],
)
def test_descriptions_that_ship_with_wane(name):
    check(document_of(certify(run_from_fields(DESCRIBED[name]))))


def fitted():
    from wane.learn import PrivateLinearRegression, PrivateLogisticRegression, PrivateMean

    generator = np.random.default_rng(3)
    X = generator.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    yield "logistic", PrivateLogisticRegression(classes=[0, 1], steps=60).fit(X, y)
    yield "linear", PrivateLinearRegression(target_bound=(-1.0, 1.0), steps=60).fit(X, X[:, 0])
    yield "mean", PrivateMean(feature_bounds=(-1.0, 1.0)).fit(X)


def test_fits_are_verified():
    for name, model in fitted():
        made = document_of(model.certificate_)
        assert made["epsilon"] != math.inf, name
        check(made)


SAMPLED_IN_A_BALL = {
    "objective": make_run().objective,
    "records": 400,
    "steps": 3000,
    "step_size": 0.5,
    "domain": Ball(radius=0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("batches", [Poisson(20), WithoutReplacement(20)])
def test_hidden_sampled_steps_are_planned_again(batches):
    check(document_of(certify(make_run(**SAMPLED_IN_A_BALL, batches=batches))))


@pytest.mark.slow
def test_random_descriptions_of_all_kinds_are_verified():
    tried = Counter()

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(runs())
    def each(run):
        try:
            document = document_of(certify(run))
        except NoTheoremApplies:
            return
        found = verify(document)
        assert not found.contradictions
        assert not found.count(Outcome.TOO_SMALL), failures(found)
        tried["verified" if found.verified else "not verified"] += 1

    each()
    for what, count in tried.items():
        COUNTS[f"random certificates {what}"] += count
    assert tried["verified"] > 9 * tried["not verified"]


# several releases


def joint_document(*runs):
    """What several runs leak together, each release with its own description."""
    parts = tuple(certify(run) for run in runs)
    document = document_of(JointCertificate(parts))
    for row, part in zip(document["releases"], parts, strict=True):
        row.setdefault("description", run_to_fields(part.run))
    return document


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
        assert not verify(changed).verified
        COUNTS["tampered certificates refused"] += 1


def test_one_run_released_twice_needs_no_second_description():
    part = certify(RIDGE_RUN)
    assert verify(document_of(JointCertificate((part, part)))).verified


def test_releases_that_are_not_described_are_not_called_verified():
    document = joint_document(RIDGE_RUN, make_run(adjacency=RIDGE_RUN.adjacency))
    for row in document["releases"]:
        row.pop("description")
    found = verify(document)
    assert found.count(Outcome.NOT_VERIFIED) == len(found.checked) and not found.verified


def test_the_fingerprint_is_that_of_the_report():
    document = document_of(certify(RIDGE_RUN))
    assert fingerprint([document["description"]]) == document["configuration_sha256"]
