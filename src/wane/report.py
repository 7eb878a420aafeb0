"""A certificate as plain data and as text; renders, never computes a bound of its own."""

from __future__ import annotations

import math
from typing import Any

from wane.certify import Calibrated, Certificate, Curve, composition_of
from wane.certify.certificate import epsilon_of, gaussian_mu_of
from wane.describe.fields import run_to_fields
from wane.errors import NoTheoremApplies
from wane.numerics.display import round_up_to
from wane.theory import Applies, Finding, Verdict


def certificate_fields(
    certificate: Certificate, *, delta: float | None = None, epsilon: float | None = None
) -> dict[str, Any]:
    """Return what a certificate says at one delta (or at one epsilon) as JSON-ready data."""
    if epsilon is not None:
        delta = certificate.delta(epsilon)
    assert delta is not None
    best = certificate.best(delta)
    if epsilon is None:
        epsilon = epsilon_of(best.guarantee, delta)
    return {
        "epsilon": _number(epsilon),
        "delta": delta,
        "mu": _number(gaussian_mu_of(best.guarantee)),
        "theorem": best.analysis.name,
        "citation": str(best.analysis.source),
        "adjacency": certificate.run.adjacency.value,
        "release": run_to_fields(certificate.run)["release"],
        "composition_epsilon": _number(composition_epsilon(certificate, delta)),
        "lower_bound_epsilon": _number(certificate.lower_bound_epsilon(delta)),
        "verdicts": verdict_fields(certificate, delta),
    }


def verdict_fields(certificate: Certificate, delta: float) -> list[dict[str, Any]]:
    """Return every theorem's answer as JSON-ready data."""
    return [_verdict(v, delta) for v in certificate.verdicts]


def bracket_fields(certificate: Certificate, delta: float) -> dict[str, Any]:
    """Return lower and upper bound on epsilon, and their ratio (None where none is known)."""
    lower, upper = certificate.bracket(delta)
    known = lower is not None and lower > 0.0 and math.isfinite(upper)
    return {
        "delta": delta,
        "lower_epsilon": _number(lower),
        "upper_epsilon": _number(upper),
        "ratio": upper / lower if known and lower is not None else None,
        "theorem": certificate.best(delta).analysis.name,
        "adjacency": certificate.run.adjacency.value,
    }


def bracket_text(fields: dict[str, Any]) -> str:
    """Return the bracket as the lines a person reads."""
    lines = [
        f"upper  epsilon {shown(fields['upper_epsilon'])}  at delta {fields['delta']:.6g}, "
        f"by {fields['theorem']}",
        f"lower  epsilon {_shown_down(fields['lower_epsilon'])}  by an exact member of the class",
        f"ratio  {shown(fields['ratio'])}",
    ]
    return "\n".join(lines)


def calibrated_fields(result: Calibrated, delta: float) -> dict[str, Any]:
    """Return a calibrated run, its certificate and the value that was searched for."""
    return {
        **certificate_fields(result.certificate, delta=delta),
        "description": run_to_fields(result.run),
        "value": result.value,
        "over": result.over.value,
        "limited": result.limited,
    }


def curve_fields(made: Curve) -> dict[str, Any]:
    """Return a curve as JSON-ready data."""
    return {
        "over": made.axis.value,
        "delta": made.delta,
        "values": list(made.values),
        "epsilon": [_number(e) for e in made.best],
        "theorems": {name: [_number(e) for e in row] for name, row in made.theorems.items()},
    }


def composition_epsilon(certificate: Certificate, delta: float) -> float | None:
    """Return epsilon of the same run with every iterate released; None if nothing applies."""
    try:
        return composition_of(certificate.run).epsilon(delta)
    except NoTheoremApplies:
        return None


def certificate_text(fields: dict[str, Any]) -> str:
    """Return the few lines that a person reads first."""
    lines = [
        f"epsilon  {shown(fields['epsilon'])}  at delta {fields['delta']:.6g}",
        f"mu       {shown(fields['mu'])}",
        f"theorem  {fields['theorem']} [{fields['citation']}]",
        f"released {_release_words(fields['release'])}, adjacency {fields['adjacency']}",
        f"lower bound (an exact member of the class): epsilon "
        f"{_shown_down(fields['lower_bound_epsilon'])}",
        f"composition (every iterate released): epsilon {shown(fields['composition_epsilon'])}",
    ]
    return "\n".join(lines)


def curve_text(made: Curve) -> str:
    """Return a curve as a table, one column per theorem that ever applies."""
    shown_names = [n for n, row in made.theorems.items() if any(e is not None for e in row)]
    header = [made.axis.value, "epsilon", *shown_names]
    rows = [
        [f"{value:.6g}", shown(made.best[i]), *(shown(made.theorems[n][i]) for n in shown_names)]
        for i, value in enumerate(made.values)
    ]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [header, *rows]
    )


def shown(value: float | str | None) -> str:
    """A number as text, never rounded down."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else round_up_to(value)


def _shown_down(value: float | None) -> str:
    return "-" if value is None else f"{value * (1.0 - 1e-6):.6g}"


def _verdict(verdict: Verdict, delta: float) -> dict[str, Any]:
    made: dict[str, Any] = {
        "theorem": verdict.analysis.name,
        "citation": str(verdict.analysis.source),
        "applies": isinstance(verdict, Applies),
        "epsilon": None,
        "mu": None,
        "hypotheses": [_finding(f) for f in verdict.findings],
        "obstacles": [],
    }
    if isinstance(verdict, Applies):
        made["epsilon"] = _number(epsilon_of(verdict.guarantee, delta))
        made["mu"] = _number(gaussian_mu_of(verdict.guarantee))
    else:
        made["obstacles"] = [_finding(f) for f in verdict.obstacles]
    return made


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "statement": finding.statement,
        "holds": finding.holds,
        "because": finding.because,
        "remedy": finding.remedy,
        "basis": finding.basis.value,
    }


def _number(value: float | None) -> float | str | None:
    """JSON knows no infinity: say it in a word that every parser reads."""
    return "infinity" if value is not None and math.isinf(value) else value


def _release_words(release: str | list[int]) -> str:
    return release if isinstance(release, str) else f"{len(release)} listed iterates"
