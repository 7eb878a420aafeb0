"""Every claim of the package faces a law that half of it would break.

The walk finds the claim-makers; `caught.toml` says which law breaks when one of them is halved
(`scripts/halve.py` writes it).  A claim-maker that is met by no law fails here.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from twins.makers import Maker, halved, makers
from twins.registry import law_named, laws

CAUGHT: dict[str, str] = tomllib.loads((Path(__file__).parent / "caught.toml").read_text())

TARGET = "it is what was asked for, and half of it asks for more privacy"
LOWER = "a bound from below, which half of it weakens"
RISK = "it is about accuracy, and no privacy rests on it"

NO_CLAIM: dict[str, str] = {
    "certificates.calibration._Search.mu": TARGET,
    "certificates.calibration._Search.mu_by": TARGET,
    "certificates.certificate.Certificate.bracket_mu": LOWER,
    "certificates.certificate.Certificate.least_mu": LOWER,
    "certificates.goals.AdvantageGoal.mu_of": TARGET,
    "certificates.goals.DetectionGoal.mu_of": TARGET,
    "certificates.goals.GuessGoal.mu_of": TARGET,
    "certificates.goals._gaussian_mu": TARGET,
    "certificates.goals.ApproximateGoal.mu_of": TARGET,
    "certificates.goals.ConcentratedGoal.mu_of": TARGET,
    "certificates.goals.GaussianGoal.mu_of": TARGET,
    "certificates.goals.RenyiGoal.mu_of": TARGET,
    "guarantees.fields.guarantee_from_fields": "it reads a guarantee back that a document states",
    "learn.curvature.Budgets.epsilon": TARGET,
    "learn.curvature._bound": "it passes on what `private_curvature` claims",
    "mechanisms.calibration.PrivacyTarget.largest_mu": TARGET,
    "mechanisms.calibration._mu_of_divergence": TARGET,
    "mechanisms.calibration.calibrated_ornstein_uhlenbeck": "a mechanism, which claims by itself",
    "mechanisms.laplace.log_density": "a density, from which `continuous_renyi` is computed",
    "mechanisms.numerical.DiffusionMechanism.estimated_intrinsic_sensitivity": "an estimate",
    "theorems.log_sobolev.dynamics.settled_constant": LOWER,
    "theorems.theorem.FactHypothesis.value": "it looks a stated number up",
}
"""What the walk finds that claims nothing, with the reason."""


@pytest.mark.parametrize("name", laws())
def test_claims_are_not_below_the_exact_value(name):
    laws()[name]()


def test_every_claim_maker_is_met_by_a_law():
    found = {maker.name for maker in makers()}
    assert found - set(CAUGHT) - set(NO_CLAIM) == set(), "met by no law; write one"
    assert set(CAUGHT) | set(NO_CLAIM) <= found, "listed, but gone"
    assert not set(CAUGHT) & set(NO_CLAIM)


def test_half_of_any_claim_breaks_a_law(capsys):
    missed = [maker.name for maker in makers() if maker.name in CAUGHT and not _breaks(maker)]
    assert not missed, missed
    with capsys.disabled():
        print(f"\n{len(CAUGHT)} claims halved one at a time, all caught")


def _breaks(maker: Maker) -> bool:
    law = law_named(CAUGHT[maker.name])
    with halved(maker):
        try:
            law()
        except (Exception, pytest.fail.Exception):
            return True
    return False
