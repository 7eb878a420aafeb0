"""Every certificate that wane makes is verified, and none of them once it was tampered with."""

import copy
import json
import math
import runpy
import tomllib
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("flint")

from laws.strategies import runs
from runs import RIDGE_RUN, make_run
from trust.sealed import sealed
from trust.tally import COUNTS
from wane.analyses import ANALYSES
from wane.certify import JointCertificate, SideRelease, certify
from wane.describe import (
    Adjacency,
    EveryIterate,
    NoiseMultiplier,
    Objective,
    Poisson,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Ball
from wane.describe.fields import run_from_fields, run_to_fields
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP, RenyiDP, WithFailure
from wane.report import Account, Sampler, certificate_document, certificate_schema
from wane.sampling import Losses, OverdampedRun, Posterior, certify_samples
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


def valid(document):
    jsonschema.Draft202012Validator(certificate_schema()).validate(document)


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
        for forged in (changed, sealed(changed)):
            assert contradictions(forged, described_run(forged)), tamper
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
        objective=Objective(gradient_bound=2.0, smoothness=1000.0, strong_convexity=1000.0),
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


def joint_document(*parts):
    """What several runs and side releases leak together."""
    made = (part if isinstance(part, SideRelease) else certify(part) for part in parts)
    return document_of(JointCertificate(tuple(made)))


def side(guarantee):
    return SideRelease("a bound", guarantee, "docs/proofs/curvature.md", RIDGE_RUN.adjacency)


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
    assert verify(document_of(JointCertificate((part, part)))).verified


def test_releases_that_are_not_described_are_not_called_verified():
    document = joint_document(RIDGE_RUN, make_run(adjacency=RIDGE_RUN.adjacency))
    for row in document["releases"]:
        row.pop("description")
    found = verify(document)
    assert found.count(Outcome.NOT_VERIFIED) == len(found.checked) and not found.verified


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
    parts = JointCertificate((side(GaussianDP(0.3)), certify(RIDGE_RUN)))
    document = certificate_document(parts, delta=1e-5, account=Account(voids=("a seed",)))
    valid(document)
    assert document["releases"][0]["guarantee"] is None
    found = verify(document)
    assert found.verified and all(row.why == "claims nothing" for row in found.checked)


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


# samples of posteriors


def sampled_document(run, certificate=None, delta=1e-6):
    """As `wane sample` writes it, the chains described."""
    known = run.posterior.losses
    sampler = Sampler(
        samples=run.samples,
        dimension=known.dimension,
        laplacian_lipschitz=known.laplacian_lipschitz,
        height_at_start=known.height_at_start,
        range_of_loss=known.range_of_loss,
    )
    made = certificate or certify_samples(run)
    return document_of(made, delta=delta, account=Account(sampler=sampler))


CONVEX = Losses(
    objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
    dimension=3,
    laplacian_lipschitz=0.1,
    height_at_start=0.7,
)
CURVED = replace(
    CONVEX,
    objective=Objective(gradient_bound=1.0, smoothness=0.5, strong_convexity=0.2),
    laplacian_lipschitz=None,
)
BOUNDED = Losses(
    objective=Objective(gradient_bound=100.0, smoothness=1.0, strong_convexity=-0.5),
    dimension=2,
    range_of_loss=0.1,
    height_at_start=0.1,
)
ZERO, REPLACED = Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE
SAMPLERS = {
    "one convex": (CONVEX, ZERO, 10.0, 0.05, 5000, 1, {"gibbs_transfer"}),
    "several convex": (CONVEX, REPLACED, 10.0, 0.05, 5000, 7, {"gibbs_transfer"}),
    "a strongly convex": (CURVED, ZERO, 1.0, 0.01, 5000, 2, {"gibbs_transfer"}),
    "a bounded one": (BOUNDED, ZERO, 100.0, 1e-4, 10**5, 1, {"gibbs_transfer", "range_transfer"}),
    "bounded, replaced": (BOUNDED, REPLACED, 100.0, 1e-4, 10**5, 3, {"range_transfer"}),
    "too rough": (CONVEX, ZERO, 10.0, 3.0, 3, 1, set()),
}


def sampled_run(name):
    known, adjacency, prior, step_size, steps, samples, _ = SAMPLERS[name]
    posterior = Posterior(
        losses=known, records=50, prior_precision=prior, temperature=1.0, adjacency=adjacency
    )
    return OverdampedRun(posterior=posterior, step_size=step_size, steps=steps, samples=samples)


def lower_transfer(document):
    for row in document["verdicts"]:
        if row["theorem"].endswith("transfer") and row["applies"]:
            row["epsilon"] *= 0.9


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_are_computed_again(name):
    document = sampled_document(sampled_run(name))
    valid(document)
    rows = [r for r in document["verdicts"] if r["applies"] and r["theorem"].endswith("transfer")]
    assert SAMPLERS[name][-1] <= {r["theorem"] for r in rows}
    check(document)


@pytest.mark.slow
def test_closeness_is_searched_in_short_blocks_of_steps():
    """What a search finds best in long blocks may be worse in short ones than where it began."""
    known = Losses(
        objective=Objective(
            gradient_bound=1.0, smoothness=2.3984422010130455, strong_convexity=0.7195326603039136
        ),
        dimension=2,
        height_at_start=1.0,
        range_of_loss=0.001,
    )
    posterior = Posterior(
        losses=known, records=10, prior_precision=1.0, temperature=23.69195662618299, adjacency=ZERO
    )
    check(
        sampled_document(
            OverdampedRun(
                posterior=posterior, step_size=2.097474742425872e-06, steps=1_599_830, samples=4
            )
        )
    )


@pytest.mark.slow
def test_the_best_order_may_lie_in_a_second_valley():
    """Between the orders of a grid, where two pairs of orders are about equally good on it."""
    known = Losses(
        objective=Objective(gradient_bound=4 / 3, smoothness=4 / 3, strong_convexity=0.4),
        dimension=300,
        height_at_start=0.11,
        range_of_loss=0.001,
    )
    posterior = Posterior(
        losses=known, records=300, prior_precision=4 / 3, temperature=1.0, adjacency=REPLACED
    )
    run = OverdampedRun(
        posterior=posterior, step_size=2.5644800318131076e-05, steps=1_213_614, samples=50
    )
    check(sampled_document(run))


def test_samples_by_the_range_of_the_loss():
    document = sampled_document(sampled_run("a bounded one"))
    assert document["theorem"] == "range_transfer"
    assert verify(document).verified
    less = copy.deepcopy(document)
    for row in (less, *less["releases"], *less["curve"]):
        row["epsilon"] *= 0.9
    lower_transfer(less)
    less = sealed(less)
    assert not contradictions(less, described_run(less))
    found = verify(less)
    assert not found.verified and found.count(Outcome.NOT_VERIFIED) > 10


def test_tampered_samplers_are_refused():
    document = sampled_document(sampled_run("several convex"))
    assert verify(document).verified
    for change in (
        lower_transfer,
        lambda d: d["sampler"].update(samples=6),
        lambda d: d["sampler"].update(dimension=1),
        lambda d: d["sampler"].update(laplacian_lipschitz=0.0),
        lambda d: d["sampler"].update(height_at_start=0.0),
        lambda d: d.pop("sampler"),
        rehashed,
    ):
        changed = copy.deepcopy(document)
        change(changed)
        assert not verify(sealed(changed)).verified
        COUNTS["tampered certificates refused"] += 1
    for bad in ({"samples": 0}, {"kind": "underdamped"}, {"dimension": 1.5}, {"more": 1}):
        with pytest.raises(InvalidDescription):
            verify(document | {"sampler": document["sampler"] | bad})


def test_a_sampler_of_more_samples_proves_less():
    """The numbers of one sample are not those of two, even under the fingerprint of two."""
    one, two = (sampled_document(replace(sampled_run("one convex"), samples=k)) for k in (1, 2))
    names = ("description", "sampler", "configuration_sha256")
    found = verify(sealed(one | {name: two[name] for name in names}))
    assert not found.contradictions and not found.verified


def test_samples_without_a_sampler_are_not_called_verified():
    """Unless the descent by itself proves as much, as it does for the convex ones."""
    assert verify(document_of(certify_samples(sampled_run("one convex")))).verified
    found = verify(document_of(certify_samples(sampled_run("a bounded one"))))
    assert not found.verified and not found.count(Outcome.TOO_SMALL)
    assert any(row.why.endswith("range_transfer is not computed again") for row in failures(found))


def power(low, high):
    return st.floats(low, high).map(lambda place: 10.0**place)


@st.composite
def sampled_runs(draw):
    """Posteriors of all shapes, with chains that are long enough to be close to them."""
    smoothness, bent = draw(power(-2, 1)), draw(st.sampled_from([0.0, 0.3, 1.0, -0.4]))
    objective = Objective(
        gradient_bound=draw(power(-1, 2)),
        smoothness=smoothness,
        strong_convexity=bent * smoothness,
    )
    known = Losses(
        objective=objective,
        dimension=draw(st.sampled_from([1, 2, 10, 300])),
        laplacian_lipschitz=draw(st.sampled_from([None, smoothness])),
        height_at_start=draw(st.none() | power(-2, 0)),
        range_of_loss=draw(st.none() | power(-3, -1)),
    )
    posterior = Posterior(
        losses=known,
        records=draw(st.sampled_from([10, 300, 10**5])),
        prior_precision=draw(power(0, 3)),
        temperature=draw(power(-1, 2)),
        adjacency=draw(st.sampled_from([ZERO, REPLACED])),
    )
    step_size = draw(power(-6, -1)) / posterior.target.smoothness
    steps = round(draw(power(0.5, 1.5)) / (step_size * posterior.target.strong_convexity))
    return OverdampedRun(
        posterior=posterior,
        step_size=step_size,
        steps=max(steps, 1),
        samples=draw(st.sampled_from([1, 4, 50])),
    )


@pytest.mark.slow
def test_random_samplers_are_verified():
    @settings(
        derandomize=True, max_examples=20, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def each(data):
        try:
            run = data.draw(sampled_runs())
        except InvalidDescription:  # not strongly convex
            return
        found = verify(sampled_document(run))
        assert found.verified, (failures(found), found.contradictions)
        COUNTS["random samplers verified"] += 1

    each()


def test_the_example_of_a_private_posterior():
    pytest.importorskip("sklearn")
    example = runpy.run_path(str(HERE / "examples" / "private_posterior.py"))
    rows = np.random.default_rng(0).uniform(example["LOW"], example["HIGH"], (300, 5))
    labels = (rows[:, 0] > 15.0).astype(int)
    model = example["sampled"](rows, labels, step_size=0.1, steps=2000)
    check(document_of(model.certificate_, delta=example["DELTA"]))
    check(sampled_document(model.sampling_, model.certificate_, example["DELTA"]))


def test_the_fingerprint_is_that_of_the_report():
    document = document_of(certify(RIDGE_RUN))
    assert fingerprint([document["description"]]) == document["configuration_sha256"]
