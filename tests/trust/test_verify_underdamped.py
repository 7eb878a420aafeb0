"""Documents of underdamped samples are verified, and none of them once it was tampered with."""

import copy
import json

import numpy as np
import pytest

pytest.importorskip("flint")

from laws.samplers import gaussian_divergence, kinetic_cases
from trust.documents import check, document_of, valid
from trust.sealed import sealed
from wane.balls.lemmas.posterior import target_of
from wane.certificates import certify
from wane.cli import main
from wane.describe import Adjacency, Objective
from wane.describe.fields import description_from_fields, description_to_fields
from wane.documents import check_document
from wane.errors import InvalidDescription
from wane.report import html_page
from wane.sampling import Losses, Posterior, UnderdampedRun
from wane.theorems.gibbs.transfer import closeness
from wane.verify import Outcome, verify

CONVEX = Losses(
    objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
    dimension=3,
    height_at_start=0.7,
)
BOUNDED = Losses(
    objective=Objective(gradient_bound=100.0, smoothness=1.0, strong_convexity=-0.5),
    dimension=2,
    range_of_loss=0.1,
    height_at_start=0.1,
)
BENT = Losses(
    objective=Objective(gradient_difference_bound=2.0, smoothness=0.5, strong_convexity=0.1),
    dimension=2,
    shared_curvature=0.2,
    height_at_start=0.3,
)
ZERO, REPLACED, ADDED = Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
DIRECT, THROUGH = {"kinetic_composition", "kinetic_last_state"}, {"gibbs_transfer"}
RUNS = {
    "one": (CONVEX, ZERO, 10.0, 1, 1.0, DIRECT | THROUGH),
    "several": (CONVEX, REPLACED, 10.0, 7, 1.0, DIRECT | THROUGH),
    "bounded": (BOUNDED, ZERO, 100.0, 2, 1.0, DIRECT | THROUGH | {"range_transfer"}),
    "bent": (BENT, REPLACED, 1.0, 1, 2.0, DIRECT | THROUGH),
    "added": (CONVEX, ADDED, 10.0, 1, 1.0, DIRECT),
    "light": (CONVEX, ZERO, 10.0, 1, 0.5, {"kinetic_composition"}),
}


def made(name, **changed):
    losses, adjacency, prior, samples, heaviness, _ = RUNS[name]
    posterior = Posterior(
        losses=losses, records=50, prior_precision=prior, temperature=2.0, adjacency=adjacency
    )
    target = posterior.target
    friction = (target.strong_convexity + target.smoothness) ** 0.5 * (1.0 + 1e-12) * heaviness
    settings = {"step_size": 2e-3, "steps": 50_000, "samples": samples, "friction": friction}
    return UnderdampedRun(posterior=posterior, **(settings | changed))


QUICK = ("added", "light")
"""Of the others the transfers take seconds to verify."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in RUNS]
)
def test_documents_are_verified(name):
    document = document_of(certify(made(name)), delta=1e-6)
    valid(document)
    assert document["description"]["kind"] == "underdamped-chains"
    applying = {row["theorem"] for row in document["verdicts"] if row["applies"]}
    assert applying == RUNS[name][-1]
    check(document)
    found = check_document(document)
    assert found.verified, found.contradictions
    assert "velocities" in html_page(document)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bounded", "several"])
def test_every_smaller_verdict_is_refused(name):
    document = document_of(certify(made(name)), delta=1e-6)
    for place, row in enumerate(document["verdicts"]):
        assert row["applies"] or row["theorem"] == "range_transfer"
        if not row["applies"]:
            continue
        less = copy.deepcopy(document)
        less["verdicts"][place]["epsilon"] *= 0.9
        found = verify(sealed(less))
        assert not found.verified
        bad = [one for one in found.checked if one.outcome is not Outcome.VERIFIED]
        assert {one.claim.where for one in bad} == {f"verdict {row['theorem']}"}


def test_another_chain_is_not_what_was_certified():
    document = document_of(certify(made("added")), delta=1e-6)
    for name, value in (("friction", 9.0), ("steps", 70_000), ("temperature", 1.0), ("samples", 2)):
        forged = copy.deepcopy(document)
        forged["description"][name] = value
        assert not verify(sealed(forged)).verified, name
    forged = copy.deepcopy(document)
    forged["description"]["losses"]["objective"]["gradient_bound"] = 0.5
    assert not verify(sealed(forged)).verified


@pytest.mark.parametrize("name", RUNS)
def test_descriptions_are_read_as_they_were_written(name):
    run = made(name)
    fields = json.loads(json.dumps(description_to_fields(run)))
    assert description_from_fields(fields) == run
    for change in ({"friction": 0.0}, {"losses": 3}, {"more": 1}, {"adjacency": "none"}):
        with pytest.raises(InvalidDescription):
            description_from_fields(fields | change)


@pytest.mark.slow
def test_a_person_with_several_rows():
    certificate = certify(made("several")).for_persons(2)
    document = document_of(certificate, delta=1e-6)
    assert document["rows_per_person"] == 2
    assert verify(document).verified
    direct = {v.theorem.name: v.conclusion for v in certify(made("several")).applicable}
    grouped = {v.theorem.name: v.conclusion for v in certificate.applicable}
    for name in DIRECT:
        assert grouped[name].mu == pytest.approx(2 * direct[name].mu)


def test_the_command_certifies_and_verifies_chains(tmp_path, capsys):
    place = tmp_path / "chains.json"
    place.write_text(json.dumps(description_to_fields(made("added"))))
    assert main(["certify", str(place), "--delta", "1e-6", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["epsilon"] == certify(made("added")).epsilon(1e-6)
    certify(made("added")).save(tmp_path / "certificate.json", delta=1e-6)
    assert main(["verify", str(tmp_path / "certificate.json")]) == 0
    capsys.readouterr()


def test_distances_in_balls_lie_between_exact_gaussian_chains_and_the_certified():
    met, source = 0, kinetic_cases(np.random.default_rng(5))
    while met < 12:
        case = next(source)
        target = target_of(case.sampled)
        table = closeness(case.sampled.chain)
        if target is None or not table.useful:
            continue
        chain, rows = target.chain(), (table.orders, table.chain_first, table.target_first)
        for order, first, second in zip(*rows, strict=True):
            for chain_first, certified in ((True, first), (False, second)):
                if order > 8.0 or not certified < 1e6:
                    continue
                found = float(chain.divergence(order, chain_first=chain_first))
                pairs = zip(case.laws, case.targets, strict=True)
                exact = [
                    gaussian_divergence(*(pair if chain_first else pair[::-1]), order)
                    for pair in pairs
                ]
                assert max(exact) * (1 - 1e-9) - 1e-9 <= found <= certified
                met += 1
