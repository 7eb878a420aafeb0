"""What a certificate says, as plain data; looks everything up, never computes a bound."""

from __future__ import annotations

import math
from typing import Any

from wane.certificates.analyse import composition_of
from wane.certificates.calibration import Calibrated
from wane.certificates.certificate import Certificate, delta_for
from wane.certificates.parts import epsilon_of, gaussian_mu_of, json_number
from wane.describe import NoisyDescent
from wane.describe.kinds import description_to_fields
from wane.errors import NoTheoremApplies
from wane.theorems.theorem import Applies, Basis, Finding, Verdict


def certificate_fields(
    certificate: Certificate,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    ran: bool = False,
) -> dict[str, Any]:
    """Return what a certificate says at one delta (or at one epsilon) as JSON-ready data.

    A hypothesis that a runner enforces is only declared as long as nothing `ran`.
    """
    if epsilon is not None:
        delta = delta_for(certificate, epsilon)
    assert delta is not None
    best = certificate.best(delta)
    return {
        "epsilon": json_number(epsilon_of(best.conclusion, delta)),
        "delta": delta,
        "mu": json_number(gaussian_mu_of(best.conclusion)),
        "theorem": best.theorem.name,
        "citation": str(best.theorem.source),
        "adjacency": certificate.run.adjacency.value,
        "release": description_to_fields(certificate.run)["release"],
        "composition_epsilon": json_number(composition_epsilon(certificate, delta)),
        "lower_bound_epsilon": json_number(certificate.lower_bound_epsilon(delta)),
        "verdicts": verdict_fields(certificate, delta, ran=ran),
    }


def verdict_fields(
    certificate: Certificate, delta: float, *, ran: bool = False
) -> list[dict[str, Any]]:
    """Return every theorem's answer as JSON-ready data."""
    return [_verdict(v, delta, ran) for v in certificate.verdicts]


def bracket_fields(certificate: Certificate, delta: float) -> dict[str, Any]:
    """Return lower and upper bounds on epsilon and mu, and their ratios (None if not known)."""
    lower, upper = certificate.bracket(delta)
    lower_mu, upper_mu = certificate.bracket_mu(delta)
    return {
        "delta": delta,
        "lower_epsilon": json_number(lower),
        "upper_epsilon": json_number(upper),
        "ratio": _ratio(lower, upper),
        "lower_mu": json_number(lower_mu) if upper_mu is not None else None,
        "upper_mu": json_number(upper_mu),
        "mu_ratio": _ratio(lower_mu, upper_mu),
        "theorem": certificate.best(delta).theorem.name,
        "adjacency": certificate.run.adjacency.value,
    }


def _ratio(lower: float | None, upper: float | None) -> float | None:
    if lower is None or upper is None or not lower > 0.0 or not math.isfinite(upper):
        return None
    return upper / lower


def calibrated_fields(result: Calibrated[Any], delta: float) -> dict[str, Any]:
    """Return a calibrated run, its certificate and the value that was searched for."""
    return {
        **certificate_fields(result.certificate, delta=delta),
        "description": description_to_fields(result.run),
        "value": result.value,
        "over": result.over.value,
        "limited": result.limited,
        "note": result.note or None,
        "target": {"words": str(result.goal), "reached": json_number(result.reached)},
    }


def composition_epsilon(certificate: Certificate, delta: float) -> float | None:
    """Return epsilon of the same run with every iterate released; None if nothing applies."""
    if not isinstance(certificate.run, NoisyDescent):
        return None
    try:
        composed = composition_of(certificate.run).for_persons(certificate.rows_per_person)
        return composed.epsilon(delta)
    except NoTheoremApplies:
        return None


def _verdict(verdict: Verdict[Any], delta: float, ran: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "theorem": verdict.theorem.name,
        "citation": str(verdict.theorem.source),
        "applies": isinstance(verdict, Applies),
        "epsilon": None,
        "mu": None,
        "hypotheses": [_finding(f, ran) for f in verdict.findings],
        "obstacles": [],
    }
    if isinstance(verdict, Applies):
        made["epsilon"] = json_number(epsilon_of(verdict.conclusion, delta))
        made["mu"] = json_number(gaussian_mu_of(verdict.conclusion))
    else:
        made["obstacles"] = [_finding(f, ran) for f in verdict.obstacles]
    return made


def _finding(finding: Finding, ran: bool) -> dict[str, Any]:
    enforced = finding.basis is Basis.ENFORCED
    basis = Basis.DECLARED if enforced and not ran else finding.basis
    return {
        "statement": finding.statement,
        "holds": finding.holds,
        "because": finding.because,
        "remedy": finding.remedy,
        "basis": basis.value,
    }
