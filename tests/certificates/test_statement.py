"""Statements and registry entries repeat the certificate, and mark what only a deployer knows."""

import json
import re

import pytest

from wane import (
    Adjacency,
    Cyclic,
    EveryIterate,
    GaussianDP,
    NoiseMultiplier,
    NoisyDescent,
    certify,
    losses,
    report,
)
from wane.certificates import (
    Circumstances,
    NoiseSource,
    Particulars,
    certificate_document,
    stated_release,
    together,
)
from wane.cli import statement as command
from wane.cli.options import number
from wane.describe.fields import description_to_fields, run_to_fields
from wane.errors import InvalidDescription
from wane.mechanisms import BrownianMechanism
from wane.report.statement import BLANK
from wane.report.text import shown

DELTA = 1e-6
RUN = NoisyDescent(
    objective=losses.logistic(1.0, ridge=0.01),
    records=1000,
    steps=400,
    step_size=1.0,
    noise=NoiseMultiplier(4.0),
    batches=Cyclic(50),
    adjacency=Adjacency.ZERO_OUT,
)

# sections and fields of the registry's schema; those with choices list them
REGISTRY = {
    "basic": {
        "name": None,
        "data_curators": None,
        "intended_use": None,
        "data_product_type": {
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        },
        "data_product_region": None,
        "description": None,
        "publication_date": None,
        "data_product_sector": {
            "Technology",
            "Healthcare",
            "Education",
            "Government",
            "Energy",
            "Finance",
        },
    },
    "dp_variant": {
        "variant_name": {
            "Pure DP",
            "Approximate DP",
            "Zero-concentrated DP",
            "Renyi DP",
            "Custom",
        },
        "data_domain": None,
        "unprotected_quantities": None,
    },
    "privacy_loss": {
        "privacy_unit": None,
        "privacy_unit_details": None,
        "privacy_parameters": None,
        "privacy_parameters_details": None,
    },
    "deployment_model": {
        "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
        "model_name_details": None,
        "actors": None,
        "release_type": {"One release", "Many releases"},
        "release_type_details": None,
        "data_source_type": {"Static", "Dynamic"},
        "data_source_type_details": None,
        "access_type": {"Interactive", "Non-interactive"},
        "access_type_details": None,
    },
    "accounting": {"post_processing": None, "composition": None},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": None,
        "mechanisms": None,
        "justification": None,
    },
    "administrative": {"sources": None, "notes": None, "registry_authors": None},
}


@pytest.fixture(scope="module")
def document():
    return certificate_document(certify(RUN), delta=DELTA)


@pytest.fixture(scope="module")
def void():
    circumstances = Circumstances(noise=NoiseSource.SEED, voids=("A seed was used.",))
    return certificate_document(certify(RUN), delta=DELTA, circumstances=circumstances)


def test_the_statement_says_what_the_certificate_says(document):
    text = report.privacy_statement(document)
    epsilon = shown(document["epsilon"])
    assert f"({epsilon}, 1e-06)-differentially private" in text
    assert f"exp({epsilon}) Pr" in text
    for value in (document["mu"], document["zcdp"], document["composition_epsilon"]):
        assert shown(value) in text
    for words in (
        document["released"],
        document["adjacency_meaning"],
        document["tuning"],
        document["noise"]["meaning"],
        document["numerics"],
        document["configuration_sha256"],
        *document["secret"],
    ):
        assert words in text


def test_every_assumption_of_the_theorem_is_listed_with_its_basis(document):
    text = report.privacy_statement(document)
    best = next(v for v in document["verdicts"] if v["theorem"] == document["theorem"])
    assert len(best["hypotheses"]) > 3
    for hypothesis in best["hypotheses"]:
        row = next(line for line in text.splitlines() if hypothesis["statement"] in line)
        assert row.endswith(f"| {document['bases'][hypothesis['basis']]} |")


def test_no_number_is_rounded_in_the_favourable_direction(document):
    entry = report.registry_entry(document)
    parameters = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": document["epsilon"], "delta": DELTA}
    claimed = re.search(r"release is \(([0-9.]+),", report.privacy_statement(document))
    assert float(claimed[1]) >= document["epsilon"]


def test_the_entry_has_the_fields_of_the_registry(document):
    entry = report.registry_entry(document)
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    assert entry["status"] == "Draft"
    assert {name: list(part) for name, part in entry["deployment"].items()} == {
        name: list(fields) for name, fields in REGISTRY.items()
    }
    for name, fields in REGISTRY.items():
        for field, choices in fields.items():
            value = entry["deployment"][name][field]
            if choices is not None and not value.startswith(BLANK):
                assert value in choices
    json.dumps(entry, allow_nan=False)


def test_what_only_the_deployer_knows_is_blank(document):
    deployment = report.registry_entry(document)["deployment"]
    for field in ("name", "intended_use", "data_product_region", "publication_date"):
        assert deployment["basic"][field].startswith(BLANK)
    for field in ("data_curators",):
        assert deployment["basic"][field][0].startswith(BLANK)
    assert deployment["administrative"]["registry_authors"][0].startswith(BLANK)
    assert deployment["implementation"]["justification"].startswith(BLANK)
    text = report.privacy_statement(document)
    for part in ("utility and bias", "security and access control", "data collection"):
        assert re.search(rf"^\| .*{part} \| {BLANK}", text, re.M)


def test_a_void_certificate_states_that_it_is_void_and_is_never_registered(void):
    text = report.privacy_statement(void)
    assert "**Void: no privacy is claimed.** A seed was used." in text
    assert "differentially private for" not in text
    assert "mu =" not in text
    assert "true-positive rate above" not in text
    with pytest.raises(InvalidDescription, match="void"):
        report.registry_entry(void)


def test_an_infinite_epsilon_is_not_registered(document):
    with pytest.raises(InvalidDescription, match="finite epsilon"):
        report.registry_entry(document | {"epsilon": "infinity"})


def test_all_releases_are_listed():
    side = certify(
        stated_release(
            "A private bound.", GaussianDP(0.2), "docs/proofs/curvature.md", RUN.adjacency
        )
    )
    joint = together((side, certify(RUN)))
    made = certificate_document(joint, delta=DELTA)
    text = report.privacy_statement(made)
    entry = report.registry_entry(made)["deployment"]
    for said in (text, entry["accounting"]["composition"]):
        assert "A private bound." in said
        assert "last iterate only" in said
    assert entry["privacy_loss"]["privacy_parameters"]["epsilon"] == joint.epsilon(DELTA)


def test_every_iterate_released_is_said(document):
    from dataclasses import replace

    made = certificate_document(certify(replace(RUN, release=EveryIterate())), delta=DELTA)
    assert "Output of the mechanism: Every iterate of the run." in report.privacy_statement(made)


@pytest.mark.parametrize("missing", ["verdicts", "noise", "releases", "versions", "theorem"])
def test_a_damaged_document_is_refused(document, missing):
    damaged = {name: value for name, value in document.items() if name != missing}
    for render in (report.privacy_statement, report.registry_entry):
        if missing == "verdicts" and render is report.registry_entry:
            continue  # an entry lists no assumptions
        with pytest.raises(InvalidDescription, match="damaged"):
            render(damaged)


class Options:
    def __init__(self, source, *, json=False):
        self.source, self.json, self.delta = str(source), json, DELTA


def test_the_command_takes_a_description_or_a_certificate(tmp_path, document):
    description, certificate = tmp_path / "run.json", tmp_path / "certificate.json"
    description.write_text(json.dumps(run_to_fields(RUN)))
    certificate.write_text(json.dumps(document))
    for source in (description, certificate):
        assert command.statement(Options(source))[1] == report.privacy_statement(document)
        made = command.statement(Options(source, json=True))[0]
        assert made == report.registry_entry(document)


def test_a_mechanism_is_stated_in_its_own_words(tmp_path):
    count = BrownianMechanism(sensitivity=1.0, time=8.0, adjacency="add-remove")
    said = Circumstances(particulars=Particulars(organisation="Example Office"))
    made = certificate_document(certify(count), delta=DELTA, circumstances=said)
    (tmp_path / "certificate.json").write_text(json.dumps(made))
    (tmp_path / "description.json").write_text(json.dumps(description_to_fields(count)))
    _, told = command.statement(Options(tmp_path / "certificate.json"))
    assert "- Organisation: Example Office" in told
    assert "iterate" not in told and "None" not in told
    assert shown(made["epsilon"]) in command.statement(Options(tmp_path / "description.json"))[1]
    deployment = command.statement(Options(tmp_path / "certificate.json", json=True))[0][
        "deployment"
    ]
    assert deployment["basic"]["data_curators"] == ["Example Office"]
    assert "descent" not in deployment["implementation"]["mechanisms"]
    # where one record comes or goes, the number of records is not public
    assert "number of records" not in deployment["dp_variant"]["unprotected_quantities"]


def test_the_command_registers_itself():
    class Parser:
        def __init__(self):
            self.added = {}

        def add_argument(self, name, **options):
            self.added[name] = options

    made = {}

    def verb(name, run, words, *, spec=True):
        assert not spec
        made[name] = (run, Parser())
        return made[name][1]

    command.register(verb)
    run, parser = made["statement"]
    assert run is command.statement
    assert parser.added["--delta"]["type"] is number


def test_another_file_is_refused(tmp_path):
    other = tmp_path / "other.json"
    other.write_text("[]")
    with pytest.raises(InvalidDescription):
        command.statement(Options(other))
