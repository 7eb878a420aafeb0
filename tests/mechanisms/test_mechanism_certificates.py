"""Mechanisms are descriptions: certified, documented, verified, spent and released like a run."""

import json
import math

import numpy as np
import pytest

import wane
from trust.documents import valid
from wane.balls.arithmetic import PRECISION, ball, bits
from wane.certificates import certificate_document, certificate_from_fields, certificate_to_fields
from wane.cli import main
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.fields import KINDS, class_of, description_from_fields, description_to_fields
from wane.documents import check_document
from wane.errors import InvalidDescription
from wane.ledger import Ledger
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    IteratedLaplace,
    KernelRelease,
    LinearDiffusion,
    MarkovKernel,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
)
from wane.report import html_page
from wane.verify.judge import verifiers

PROCESS = OrnsteinUhlenbeckMechanism(
    sensitivity=1.0,
    time=1.0,
    reversion=0.7,
    diffusion_scale=2.0,
    norm_bound=3.0,
    adjacency="zero-out",
)
PLAIN = BrownianMechanism(sensitivity=0.5, time=2.0, adjacency="zero-out")
STATED = wane.StatedRelease(
    name="a vote", source="a page", adjacency=wane.Adjacency.ZERO_OUT, epsilon=1.0, delta=1e-3
)
SLANTED = LinearDiffusion(
    reversion=((0.7, 0.2), (-0.1, 0.4)),
    covariance=((1.0, 0.3), (0.3, 0.5)),
    sensitivity=((1.0, 0.2), (0.2, 0.5)),
    basis=((1.0, 0.5), (0.0, 1.0)),
    centre=(1.0, 0.0),
    adjacency="zero-out",
)
DECLARED = DeclaredDiffusion(
    sensitivity=0.5,
    time=1.0,
    steps=8,
    low=-2.0,
    high=3.0,
    drift_lipschitz=1.0,
    drift_contraction=0.5,
    drift_at_centre=0.2,
    adjacency="zero-out",
)
TREE = {"stem": Branch(None, 1.0), "left": Branch("stem", 0.5), "right": Branch("stem", 0.7)}
GAME = wane.modulus.NoisyDescentAscent(
    records=100, steps=30, step_size=0.1, noise_std=0.5, gradient_bound=1.0, smoothness=1.0
)
MATRIX = [[0.7, 0.3], [0.2, 0.8]]
ALL = {
    "brownian-motion": PLAIN,
    "ornstein-uhlenbeck": PROCESS,
    "linear-diffusion": SLANTED,
    "declared-diffusion": DECLARED,
    "nested-release": NestedRelease(PROCESS, {"team": 1.0, "public": 2.0}),
    "branched-release": BranchedRelease(PROCESS, TREE).seen_by(["left", "right"]),
    "iterated-laplace": IteratedLaplace(1.0, 1.0, 2.0, dimension=2, adjacency="zero-out"),
    "kernel-release": KernelRelease(STATED, MATRIX, power=3),
    "noisy-descent-ascent": GAME,
}


# Trees and paths of a process with a matrix of reversions go through the same doors.
HELD = {
    "nested": NestedRelease(SLANTED, {"team": 1.0, "public": 2.0}),
    "branched": BranchedRelease(SLANTED, TREE).seen_by(["left", "right"]),
    "whole": BranchedRelease(SLANTED, {**TREE, "other": Branch(None, 1.5)}),
}


def document(mechanism, delta=1e-5):
    made = certificate_document(wane.certify(mechanism), delta=delta)
    return json.loads(json.dumps(made))


def test_every_kind_is_met_here():
    chains = {"overdamped-chains", "underdamped-chains"}  # those are met in tests/trust
    assert set(KINDS) == set(ALL) | chains
    assert all(class_of(kind).kind == kind for kind in KINDS)


@pytest.mark.parametrize("kind", ALL)
def test_documents_are_verified(kind):
    made = document(ALL[kind])
    valid(made)
    found = check_document(made)
    assert found.verified, (found.contradictions, found.numbers)
    page = html_page(made).replace("iterated-laplace", "")  # the kind's own name
    assert ("iterate" in page) == (kind == "noisy-descent-ascent")


@pytest.mark.parametrize("name", HELD)
def test_hierarchies_of_slanted_processes_are_verified(name):
    made = document(HELD[name])
    valid(made)
    assert check_document(made).verified
    for number in ("epsilon", "mu"):
        assert not check_document(made | {number: made[number] * (1 - 1e-6)}).verified
    fields = json.loads(json.dumps(description_to_fields(HELD[name])))
    assert description_to_fields(description_from_fields(fields)) == fields
    assert set(wane.release(HELD[name], [1.0, 0.5]).value)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("number", ["epsilon", "mu"])
def test_a_smaller_number_is_not_verified(kind, number):
    made = document(ALL[kind])
    if made[number] is None:
        return
    halved = made | {number: made[number] / 2}
    assert not check_document(halved).verified
    rows = [row | {number: row[number] / 2} for row in made["verdicts"]]
    assert not check_document(made | {"verdicts": rows}).verified


@pytest.mark.parametrize("kind", ALL)
def test_another_description_is_contradicted(kind):
    made = document(ALL[kind])
    other = document(BrownianMechanism(sensitivity=0.01, time=2.0, adjacency="zero-out"))
    assert not check_document(made | {"description": other["description"]}).verified


@pytest.mark.parametrize("kind", ALL)
def test_what_is_written_is_read_back(kind):
    fields = json.loads(json.dumps(description_to_fields(ALL[kind])))
    again = description_from_fields(fields)
    assert description_to_fields(again) == fields
    certificate = wane.certify(ALL[kind])
    back = certificate_from_fields(json.loads(json.dumps(certificate_to_fields(certificate))))
    assert back.epsilon(1e-6) == certificate.epsilon(1e-6)


@pytest.mark.parametrize("kind", ALL)
def test_what_was_spent_is_what_is_read(kind, tmp_path):
    account = Ledger(tmp_path / "book.db", new=True).account("patients", new=True)
    certificate = wane.certify(ALL[kind])
    with account.spend(certificate):
        pass
    assert account.total.epsilon(1e-5) == pytest.approx(certificate.epsilon(1e-5), rel=1e-12)
    with account.spend(certificate):
        pass
    assert account.total.epsilon(1e-5) > certificate.epsilon(1e-5)


def test_a_theorem_of_another_kind_proves_nothing():
    made = document(PLAIN)
    for name in ("gaussian_composition", "nested_release"):
        row = made["verdicts"][0] | {"theorem": name}
        assert not check_document(made | {"theorem": name, "verdicts": [row]}).verified


def test_an_adjacency_is_needed_to_certify():
    silent = BrownianMechanism(sensitivity=1.0, time=1.0)
    for wanted in (wane.certify, lambda m: wane.release(m, [0.0])):
        with pytest.raises(InvalidDescription, match="adjacency must be declared"):
            wanted(silent)
    with pytest.raises(InvalidDescription, match="adjacency must be one of"):
        BrownianMechanism(sensitivity=1.0, time=1.0, adjacency="nobody")


def test_certificates_are_the_lemmas():
    assert wane.certify(PROCESS).mu == PROCESS.mu
    levels = ALL["nested-release"]
    assert wane.certify(levels).mu == PROCESS.mu == levels.worst_case.mu
    assert wane.certify(levels.seen_by(["public"])).mu == PROCESS.mu_at(2.0)
    tree = BranchedRelease(PROCESS, TREE)
    assert wane.certify(tree.seen_by(["left"])).mu == tree.guarantee("left").mu
    assert wane.certify(PROCESS).group(3).mu == pytest.approx(3 * PROCESS.mu)
    assert wane.certify(PROCESS).for_persons(2).mu == pytest.approx(2 * PROCESS.mu)


def test_releases_come_with_their_certificate(tmp_path):
    account = Ledger(tmp_path / "book.db", new=True).account("patients", new=True)
    found = wane.release(PLAIN, [3.0, 4.0], account=account)
    assert found.value.shape == (2,) and found.certificate.mu == PLAIN.mu
    assert found.mechanism == PLAIN
    assert account.entries[0].confirmed
    levels = wane.release(ALL["nested-release"], [1.0]).value
    assert set(levels) == {"team", "public"}
    assert set(wane.release(ALL["branched-release"], [1.0]).value) == {"left", "right"}
    assert wane.release(ALL["iterated-laplace"], [1.0, 2.0]).value.shape == (2,)
    assert wane.release(ALL["kernel-release"], 1).value in (0, 1)


def test_a_budget_is_asked_before_noise_is_drawn(tmp_path, monkeypatch):
    account = Ledger(tmp_path / "book.db", new=True).account("patients", new=True)
    account.set_budget(wane.ledger.Budget(0.1, 1e-5, wane.Adjacency.ZERO_OUT))
    monkeypatch.setattr("wane.run.drawing.draw", lambda *a, **k: pytest.fail("noise was drawn"))
    with pytest.raises(wane.ledger.BudgetExceeded):
        wane.release(PROCESS, [0.1], account=account)


def test_a_seed_voids_the_certificate():
    one, two = (wane.release(PLAIN, [3.0], seed_voids_privacy=7) for _ in range(2))
    assert np.array_equal(one.value, two.value)
    assert one.certificate.void_because and math.isinf(one.certificate.epsilon(1e-5))


def test_the_kernel_draws_its_own_law():
    release = KernelRelease(STATED, [[0.9, 0.1], [0.4, 0.6]], power=2)
    exact = np.linalg.matrix_power(np.array([[0.9, 0.1], [0.4, 0.6]]), 2)[1, 1]
    drawn = [wane.release(release, 1, seed_voids_privacy=i).value for i in range(2000)]
    assert np.mean(drawn) == pytest.approx(exact, abs=0.05)


def test_a_product_of_kernels_is_no_described_kernel():
    kernel = MarkovKernel(MATRIX)
    assert np.array_equal(KernelRelease(STATED, kernel).matrix, kernel.matrix)
    with pytest.raises(InvalidDescription, match="product of kernels"):
        KernelRelease(STATED, kernel.power(3))


def test_large_kernels_are_verified_pair_by_pair():
    """Pairs are preselected in doubles: the bound is that of all pairs, in balls."""
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.full(12, 0.3), 12)
    release = KernelRelease(STATED, rows)
    bound = verifiers()["kernel_amplification"](release)
    for epsilon in (0.0, 0.3, 0.9, 2.0, 20.0):
        with bits(PRECISION):
            before = 1e-3 + max(0.0, 0.999 * (math.e - math.exp(epsilon)) / (1 + math.e))
            m = 1.0 + math.expm1(epsilon) / before
            pairs = [
                np.maximum(p / p.sum() - m * q / q.sum(), 0.0).sum() for p in rows for q in rows
            ]
            expected = before * max(pairs)
            assert float(bound.delta(ball(epsilon))) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_bad_descriptions_are_refused_by_name():
    for fields, words in (
        ({"kind": "brownian-motion", "adjacency": "zero-out"}, "must have the keys"),
        ({"kind": "kernel-release", "adjacency": "zero-out", "before": 3}, "must have the keys"),
        ({"kind": "branched-release", "mechanism": {"kind": "kernel-release"}}, "of a diffusion"),
        ({"kind": "brownian-motion", "release": "last-iterate"}, "release must be"),
        ({"kind": "diffusion"}, "kind must be one of"),
    ):
        with pytest.raises(InvalidDescription, match=words):
            description_from_fields(fields)
    with pytest.raises(InvalidDescription, match="square"):
        KernelRelease(STATED, [[0.5, 0.5, 0.0]], power=2)
    with pytest.raises(InvalidDescription, match="must state mu"):
        other = wane.StatedRelease(
            name="x", source="y", adjacency=wane.Adjacency.ZERO_OUT, other='{"rho": 1.0}'
        )
        KernelRelease(other, MATRIX)


def test_the_command_prints_a_description_that_certify_reads(tmp_path, capsys):
    words = ["mechanism", "brownian", "--sensitivity", "0.5", "--mu", "0.3", "--json"]
    assert main([*words, "--adjacency", "zero-out"]) == 0
    made = json.loads(capsys.readouterr().out)
    place = tmp_path / "mechanism.json"
    place.write_text(json.dumps(made["description"]))
    assert main(["certify", str(place), "--delta", "1e-6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mu"] == made["mu"] <= 0.3 and found["adjacency"] == "zero-out"
    assert main(words) == 0
    assert "description" not in json.loads(capsys.readouterr().out)
