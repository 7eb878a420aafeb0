"""Every certificate that wane makes is verified, and none of them once it was tampered with."""

import math
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

pytest.importorskip("flint")

from laws.strategies import runs
from runs import RIDGE_RUN, make_run
from trust.documents import check, document_of, failures
from trust.sealed import sealed
from trust.tally import COUNTS
from wane.certificates import certify
from wane.describe import (
    Adjacency,
    EveryIterate,
    LossForm,
    NoiseMultiplier,
    Objective,
    Poisson,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Ball, ElasticNet
from wane.describe.fields import run_from_fields, run_to_fields
from wane.errors import NoTheoremApplies
from wane.losses.files import spelled_out
from wane.theorems.registry import THEOREMS
from wane.verify import verify
from wane.verify.claims import fingerprint
from wane.verify.judge import verifiers
from wane.web.presets import PRESETS

NOT_COMPUTED_AGAIN = {theorem.name for theorem in THEOREMS if theorem.unverified}
"""Theorems of the registry without a verifier; each states its reason."""
HERE = Path(__file__).parents[2]
SAMPLED = ("poisson", "without-replacement")


def test_every_theorem_has_a_verifier():
    names = {analysis.name for analysis in THEOREMS}
    assert names == set(verifiers()) | NOT_COMPUTED_AGAIN
    assert not set(verifiers()) & NOT_COMPUTED_AGAIN


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
    check(document_of(certify(run_from_fields(spelled_out(DESCRIBED[name])))))


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
def test_the_power_of_attacks_on_hidden_sampled_steps():
    """The least bound at a rate of 1e-4 is that of a member made for a delta near 1e-3."""
    known = Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
    run = make_run(
        objective=known,
        records=1000,
        steps=2000,
        step_size=2.0,
        noise=NoiseMultiplier(2.0),
        batches=Poisson(50),
        domain=Ball(radius=0.5),
        adjacency=Adjacency.REPLACE_ONE,
    )
    check(document_of(certify(run)))


@pytest.mark.slow
def test_a_cool_down_draws_no_batch_that_could_be_too_large():
    """What is added to delta for large batches is little, but was enough to prove too little."""
    found = {
        "records": 38,
        "objective": {"gradient_bound": 0.5, "clipped": True},
        "adjacency": "replace-one",
        "batches": {"kind": "poisson", "size": 5},
        "domain": {"kind": "ball", "radius": 270.0},
        "schedule": [
            {"repeat": 13, "step_size": 600.0, "noise": {"multiplier": 380.0}},
            {"repeat": 34, "step_size": 600.0, "noise": {"multiplier": 900.0}, "cool_down": True},
        ],
    }
    document = document_of(certify(run_from_fields(found)))
    (hidden,) = (v for v in document["verdicts"] if v["theorem"] == "poisson_last_iterate")
    assert 0.0 < hidden["epsilon"] < document["composition_epsilon"]
    check(document)
    hidden["epsilon"] *= 0.999
    assert not verify(sealed(document)).verified


COOLED = {
    "records": 42,
    "objective": {
        "gradient_bound": 400.0,
        "smoothness": 400.0,
        "clipped": True,
        "form": "radial",
        "ridge": 0.001,
    },
    "adjacency": "replace-one",
    "batches": {"kind": "poisson", "size": 10},
    "domain": {"kind": "ball", "radius": 540.0},
}


def cooled(step_size, noise):
    """Sampled steps, and a cool-down that leaves nothing but a distance that has faded."""
    rows = ((5, 900.0, 450.0, False), (2, 140.0, 260.0, False), (14, step_size, noise, True))
    schedule = [
        {"repeat": n, "step_size": eta, "noise": {"iterate_std": s}, "cool_down": still}
        for n, eta, s, still in rows
    ]
    return document_of(certify(run_from_fields(COOLED | {"schedule": schedule})))


@pytest.mark.slow
def test_a_distance_that_has_faded_to_almost_nothing():
    """Losses of 1e-11 were to be joined in cells of 1e-4, which took two terabytes."""
    document = cooled(857.0, 676.0)
    assert document["curve"][0] == {"delta": 1e-12, "epsilon": 0.0}
    check(document)


@pytest.mark.slow
def test_a_distance_alone_is_gaussian():
    """On a grid its attacks looked stronger than they are, by less than a millionth."""
    document = cooled(140.0, 450.0)
    assert 0.5 < document["epsilon"] < 0.6
    check(document)


@pytest.mark.slow
def test_few_steps_with_small_losses():
    """Cells that are rare enough for a delta of 1e-8 are not for one of 1e-12."""
    run = make_run(
        objective=Objective(gradient_bound=2.0, smoothness=0.0, ridge=1000.0),
        records=56,
        steps=3,
        step_size=2.0,
        noise=Temperature(1000.0),
        batches=WithoutReplacement(9),
        adjacency=Adjacency.ZERO_OUT,
        release=EveryIterate(),
    )
    document = document_of(certify(run))
    assert document["curve"][0]["epsilon"] < 0.03
    check(document)


def forgetful(batch):
    """A prox that forgets in a few steps what was before."""
    return make_run(
        objective=Objective(gradient_bound=400.0, smoothness=1 / 3, form=LossForm.GLM, ridge=1.0),
        records=20,
        steps=52,
        step_size=0.99999,
        noise=Temperature(277.0),
        batches=Poisson(batch),
        domain=ElasticNet(786.0, 224.0),
        adjacency=Adjacency.ZERO_OUT,
    )


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_batches_that_every_record_joins_for_certain(adjacency):
    document = document_of(certify(replace(forgetful(20), adjacency=adjacency)))
    assert document["theorem"] == "poisson_last_iterate"
    check(document)


@pytest.mark.slow
def test_the_best_share_of_the_noise_may_be_a_round_one():
    check(document_of(certify(forgetful(11))))


@pytest.mark.slow
def test_random_descriptions_of_all_kinds_are_verified():
    @settings(
        derandomize=True,
        max_examples=20,
        deadline=None,
        phases=[Phase.generate],  # a smaller failure would take minutes to find
        suppress_health_check=list(HealthCheck),
    )
    @given(runs())
    def each(run):
        try:
            document = document_of(certify(run))
        except NoTheoremApplies:
            return
        found = verify(document)
        assert found.verified, (failures(found), found.contradictions)
        COUNTS["random certificates verified"] += 1

    each()


def test_the_fingerprint_is_that_of_the_report():
    document = document_of(certify(RIDGE_RUN))
    assert fingerprint([document["description"]]) == document["configuration_sha256"]
