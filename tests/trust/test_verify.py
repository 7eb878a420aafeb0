"""`wane verify`: what certify claims is proven again, and what was tampered with is not."""

import copy
import hashlib
import json
import math
import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, reject, settings

pytest.importorskip("flint")

from importlib.resources import files

from laws.strategies import runs
from runs import possible
from trust.sealed import sealed
from trust.tally import COUNTS
from wane.certificates import certificate_document, certify
from wane.cli import main
from wane.describe import (
    Adjacency,
    Cyclic,
    Fact,
    FactKind,
    FullBatch,
    GradientNoise,
    IterateNoise,
    Iterates,
    LastIterate,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    ShuffledOnce,
    Temperature,
)
from wane.describe.domains import Ball, Diameter, Ridge, Unbounded
from wane.describe.fields import run_from_fields
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.losses.files import spelled_out
from wane.verify import Outcome, Quantity, verify
from wane.web.presets import PRESETS

SEARCHED = {
    "last_iterate_modulus",
    "poisson_last_iterate",
    "fixed_size_last_iterate",
    "poisson_contraction",
    "fixed_size_contraction",
}
"""Theorems whose second computation is a search of its own, and agrees to about 1e-4."""


def document_of(run, *, facts=(), **at):
    made = certificate_document(certify(run, facts=facts), **(at or {"delta": 1e-5}))
    return json.loads(json.dumps(made, allow_nan=False))


def tally(kind, tried):
    for what, number in tried.items():
        COUNTS[f"{kind} descriptions: {what}"] += number


def failures(found):
    return [row for row in found.checked if row.outcome is not Outcome.VERIFIED]


def preset(name):
    (found,) = (p["run"] for p in PRESETS if name in p["name"])
    return run_from_fields(spelled_out(found))


SAMPLED = [p["name"] for p in PRESETS if p["run"]["batches"]["kind"] == "poisson"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(p["name"], marks=pytest.mark.slow) if p["name"] in SAMPLED else p["name"]
        for p in PRESETS
    ],
)
def test_presets_are_verified(name):
    found = verify(document_of(preset(name)))
    assert found.verified, failures(found)
    assert len(found.checked) > 30


def test_the_bundled_description_is_verified_by_the_command(capsys, tmp_path):
    spec, place = files("wane.cli.specs") / "logistic.toml", tmp_path / "certificate.json"
    assert main(["certify", str(spec), "--json"]) == 0
    place.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["verify", str(place)]) == 0
    assert capsys.readouterr().out.startswith("verified: ")
    document = json.loads(place.read_text(encoding="utf-8"))
    document["epsilon"] *= 1.0 - 1e-6
    place.write_text(json.dumps(document), encoding="utf-8")
    assert main(["verify", str(place), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["verified"] and answer["contradictions"]
    assert {row["outcome"] for row in answer["numbers"]} == {"verified", "too small"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "wane-certificate", "version": 1}'])
def test_other_files_are_refused_in_one_line(capsys, tmp_path, text):
    place = tmp_path / "certificate.json"
    place.write_text(text, encoding="utf-8")
    assert main(["verify", str(place)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", [p["name"] for p in PRESETS if p["name"] not in SAMPLED])
def test_claims_are_within_a_billionth_of_what_is_proven(name):
    document = document_of(preset(name))
    for row in verify(document).checked:
        theorem = row.claim.theorem
        if row.proven and theorem not in SEARCHED:
            assert row.proven <= row.claim.value <= row.proven * (1.0 + 1e-9), row


def test_a_certificate_at_an_epsilon_is_verified():
    run = preset("Cyclic noisy SGD")
    assert verify(document_of(run, epsilon=3.0)).verified


def test_a_void_certificate_claims_nothing():
    from wane.certificates import Circumstances

    run = preset("Cyclic noisy SGD")
    made = certificate_document(
        certify(run), delta=1e-5, circumstances=Circumstances(voids=("seeded",))
    )
    found = verify(json.loads(json.dumps(made)))
    assert found.void and not found.verified and not found.contradictions
    assert all(row.why == "claims nothing" for row in found.checked)


# what must never pass


def lowered(value):
    return value * (1.0 - 1e-6)


def everywhere_lowered(document):
    """Epsilon lowered in all places, so that the document agrees with itself."""
    document["epsilon"] = lowered(document["epsilon"])
    for point in document["curve"]:
        if point["delta"] == document["delta"]:
            point["epsilon"] = document["epsilon"]
    for row in (*document["releases"], *document["verdicts"]):
        if row["epsilon"] is not None:
            row["epsilon"] = lowered(row["epsilon"])


def mu_lowered(document):
    document["mu"] = lowered(document["mu"])
    for row in document["verdicts"]:
        row["mu"] = None if row["mu"] is None else document["mu"]


def entry(*path):
    """Lower one number."""

    def change(document):
        *way, last = path
        for key in way:
            document = document[key]
        document[last] = lowered(document[last])

    return change


def described(hashed, **changes):
    """Change the description, and hide it from the fingerprint if `hashed`."""

    def change(document):
        document["description"] |= changes
        document.update({k: v for k, v in changes.items() if k in ("adjacency", "release")})
        if hashed:
            described = json.dumps([document["description"]], sort_keys=True, separators=(",", ":"))
            document["configuration_sha256"] = hashlib.sha256(described.encode()).hexdigest()

    return change


MUTATIONS = {
    "epsilon": entry("epsilon"),
    "epsilon everywhere": everywhere_lowered,
    "mu": entry("mu"),
    "mu everywhere": mu_lowered,
    "zcdp": entry("zcdp"),
    "composition": entry("composition_epsilon"),
    "curve": entry("curve", 0, "epsilon"),
    "curve at its end": entry("curve", -2, "epsilon"),
    "attack": entry("attack", 0, "true_positive_rate"),
    "roc": entry("roc", 3, "true_positive_rate"),
    "verdict": entry("verdicts", 0, "epsilon"),
    "release's epsilon": entry("releases", 0, "epsilon"),
    "adjacency": lambda d: d.update(adjacency="zero-out"),
    "adjacency, description too": described(False, adjacency="zero-out"),
    "release": lambda d: d.update(release="every-iterate"),
    "release, fingerprint too": described(True, release="every-iterate"),
    "hash": lambda d: d.update(configuration_sha256=d["configuration_sha256"][::-1]),
    "no hash": lambda d: d.pop("configuration_sha256"),
    "steps": described(False, steps=7999),
    "more steps, fingerprint too": described(True, steps=8001),
    "less noise, fingerprint too": described(True, noise={"multiplier": 2.999999}),
    "larger batches, fingerprint too": described(True, batches={"kind": "cyclic", "size": 2000}),
    "theorem": lambda d: d.update(theorem="gaussian_composition"),
    "no curve at delta": lambda d: d.update(delta=2e-5),
    "no verdicts": lambda d: d.update(verdicts=[]),
    "void for a part": lambda d: d.update(status="void", epsilon=lowered(d["epsilon"])),
}


@pytest.fixture(scope="module")
def genuine():
    return document_of(preset("Cyclic noisy SGD"))


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_was_tampered_with_is_not_verified(genuine, name):
    changed = copy.deepcopy(genuine)
    MUTATIONS[name](changed)
    assert changed != genuine
    assert not verify(changed).verified
    assert not verify(sealed(changed)).verified


def test_not_a_word_may_change(genuine):
    assert sealed(genuine) == genuine
    for words in ({"tuning": "none at all"}, {"noise": {**genuine["noise"], "source": "seeded"}}):
        found = verify(genuine | words)
        assert found.contradictions == ("document_sha256 is not that of the document",)
        assert not found.verified


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("curve"),
        lambda d: d.update(epsilon=-1.0),
        lambda d: d.update(epsilon="small"),
        lambda d: d.update(version=2),
        lambda d: d["curve"][0].update(delta=2.0),
        lambda d: d["description"].update(steps=-1),
    ],
)
def test_what_is_no_certificate_is_refused(genuine, change):
    changed = copy.deepcopy(genuine)
    change(changed)
    with pytest.raises(InvalidDescription):
        verify(changed)


IN_A_BALL = {
    "records": 100,
    "steps": 10**6,
    "step_size": 0.1,
    "noise": {"gradient_std": 0.5},
    "domain": {"kind": "ball", "radius": 1.0},
    "adjacency": "zero-out",
}
HOLDER = {"strong_convexity": 0.0, "holder_exponent": 0.5, "holder_constant": 1.0}


@pytest.mark.parametrize(
    ("known", "batches"),
    [
        ({"strong_convexity": 0.0}, {"kind": "full"}),
        ({"strong_convexity": 0.0, "ridge": 0.5}, {"kind": "cyclic", "size": 10}),
        ({"strong_convexity": 0.2}, {"kind": "full"}),
        (HOLDER, {"kind": "full"}),
        (HOLDER | {"holder_everywhere": True}, {"kind": "full"}),
        ({"dissipativity": [0.01, 0.5]}, {"kind": "full"}),
    ],
)
def test_the_modulus_programme_is_planned_again(known, batches):
    run = IN_A_BALL | {"objective": {"gradient_bound": 1.0, **known}, "batches": batches}
    document = document_of(run_from_fields(run))
    assert document["theorem"] == "last_iterate_modulus"
    assert document["epsilon"] < 0.8 * document["composition_epsilon"]
    found = verify(document)
    assert found.verified, failures(found)
    for row in document["verdicts"]:
        row["mu"] = row["mu"] and 0.999 * row["mu"]
    document["mu"] *= 0.999
    assert not verify(sealed(document)).verified


SMALL_SAMPLED = {
    "records": 1000,
    "steps": 40,
    "step_size": 0.1,
    "noise": {"multiplier": 1.0},
    "objective": {"gradient_bound": 1.0, "clipped": True},
    "release": "last-iterate",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "adjacency"),
    [
        ("poisson", "replace-one"),
        ("poisson", "add-remove"),
        ("without-replacement", "zero-out"),
    ],
)
def test_sampled_steps_are_convolved_again(kind, adjacency):
    batches = {"kind": kind, "size": 50}
    run = run_from_fields(SMALL_SAMPLED | {"batches": batches, "adjacency": adjacency})
    document = document_of(run)
    found = verify(document)
    assert found.verified, failures(found)
    alone = copy.deepcopy(document)
    alone["epsilon"] = lowered(alone["epsilon"])
    assert verify(sealed(alone)).contradictions
    for place in (document, *document["releases"], *document["verdicts"], *document["curve"]):
        if place.get("epsilon"):
            place["epsilon"] *= 0.998
    assert not verify(sealed(document)).verified


# random descriptions


@pytest.mark.parametrize("count", [25, pytest.param(150, marks=pytest.mark.slow)])
def test_random_descriptions_are_verified(count):
    tried = Counter()

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(runs(sampled=False))
    def each(run):
        try:
            document = document_of(run)
        except NoTheoremApplies:
            tried["no theorem"] += 1
            reject()  # which draws another, so that the number below does not hang on luck
        found = verify(document)
        assert not found.contradictions
        assert not found.count(Outcome.TOO_SMALL), failures(found)
        beyond = SEARCHED & {v["theorem"] for v in document["verdicts"] if v["applies"]}
        assert found.verified or beyond, failures(found)
        tried["verified" if found.verified else "not verified"] += 1
        tried["numbers"] += len(found.checked)

    each()
    assert 2 * tried["verified"] >= count
    assert 50 * tried["not verified"] <= tried["verified"]
    tally("random", tried)


# the ends of the floats


def any_size(chance):
    return chance.choice(
        [
            10.0 ** chance.uniform(-300, 300),
            10.0 ** chance.uniform(-20, 20),
            10.0 ** chance.uniform(-3, 3),
            1.0,
        ]
    )


def extreme_run(chance):
    M, steps, records = any_size(chance), int(10 ** chance.uniform(0, 12)), chance.randint(1, 10**5)
    near_one = 2.0 / M * (1.0 + chance.choice([-1, 0, 1]) * 10.0 ** chance.uniform(-16, -12))
    eta = chance.choice([any_size(chance), near_one, 10.0 ** chance.uniform(-17, -13) / M])
    m = chance.choice([None, 0.0, M, 1e-15 * M, -M * chance.random()])
    size = max(1, records // chance.randint(1, 40))
    looks = Iterates(tuple(chance.randint(1, steps) for _ in range(3)))
    noise = chance.choice([GradientNoise, NoiseMultiplier, IterateNoise, Temperature])
    domain = chance.choice(
        [
            Unbounded(),
            Ball(radius=any_size(chance)),
            Diameter(any_size(chance)),
            Ridge(any_size(chance)),
        ]
    )
    objective = Objective(
        gradient_bound=any_size(chance),
        gradient_difference_bound=chance.choice([None, None, any_size(chance)]),
        smoothness=chance.choice([M, M, None]),
        strong_convexity=m,
        clipped=chance.random() < 0.4,
        form=chance.choice(list(LossForm)),
        ridge=chance.choice([0.0, any_size(chance), 10.0 ** chance.uniform(-18, -10) / eta]),
    )
    return NoisyDescent(
        objective=possible(objective, domain.diameter),
        records=records,
        steps=steps,
        step_size=eta,
        noise=noise(any_size(chance)),
        cool_down=chance.choice([0, 0, int(10 ** chance.uniform(0, 9))]),
        batches=chance.choice([FullBatch(), Cyclic(size), ShuffledOnce(size)]),
        domain=domain,
        adjacency=chance.choice(list(Adjacency)),
        release=chance.choice([LastIterate(), LastIterate(), looks]),
    )


@pytest.mark.parametrize("count", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_no_extreme_description_is_certified_below_the_truth(count):
    chance = random.Random(count)
    tried = Counter()
    while tried["descriptions"] < count:
        try:
            run = extreme_run(chance)
        except InvalidDescription:
            tried["refused"] += 1
            continue
        tried["descriptions"] += 1
        try:
            facts = [Fact.of(run, kind, any_size(chance)) for kind in FactKind]
            document = document_of(run, facts=facts, delta=10.0 ** chance.uniform(-30, -1))
        except NoTheoremApplies:
            tried["no theorem"] += 1
            continue
        found = verify(document)
        assert not found.contradictions
        assert not found.count(Outcome.TOO_SMALL), (failures(found), run)
        assert not any(math.isnan(row.claim.value) for row in found.checked)
        tried["verified" if found.verified else "not verified"] += 1
        tried["numbers"] += len(found.checked)
    assert tried["verified"] > 20 * tried["not verified"]
    tally("extreme", tried)


# what it has found


def test_a_composition_too_small_to_be_squared_is_not_zero(run_with):
    run = run_with(noise=GradientNoise(1e200))
    found = verify(document_of(run))
    assert found.verified, failures(found)
    assert certify(run).mu > 0.0


def test_many_expanding_steps_do_not_round_the_shift_away():
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=22.0, ridge=1e12),
        records=27,
        steps=30,
        step_size=0.1,
        noise=IterateNoise(1.0),
        cool_down=10**9,
    )
    found = verify(document_of(run))
    mus = [row for row in found.checked if row.claim.quantity is Quantity.MU]
    assert mus and found.verified, failures(found)


@pytest.mark.parametrize("eta", [1e-284, 3.7e-284, 1e-290, 2.3e-300])
@pytest.mark.parametrize("bound", [1e285, 6.1e284, 1e290])
def test_opposite_extremes_do_not_keep_the_errors_of_their_logarithms(eta, bound):
    """A step size near 1e-284 with a bound near 1e285 once gave a mu that was 2e-14 too small."""
    run = NoisyDescent(
        objective=Objective(gradient_bound=bound, smoothness=1.0, strong_convexity=0.0),
        records=7,
        steps=1000,
        step_size=eta,
        noise=IterateNoise(1.0),
    )
    found = verify(document_of(run))
    mus = [row for row in found.checked if row.claim.quantity is Quantity.MU]
    assert mus and found.verified, failures(found)
    for row in mus:
        assert row.proven <= row.claim.value <= row.proven * (1.0 + 1e-9)
