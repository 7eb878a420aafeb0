"""What the command line says about a calibrated linear diffusion: fields for JSON, and text."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane import arguments
from wane.describe.matrices import read
from wane.errors import InvalidDescription
from wane.mechanisms.calibration import PrivacyTarget
from wane.mechanisms.linear_calibration import calibrated_linear_diffusion
from wane.report.text import round_up_to

Summary = tuple[dict[str, Any], str]


def linear_summary(
    target: PrivacyTarget,
    *,
    sensitivity: float | None,
    sensitivity_matrix: str | None,
    box: str | None,
    ellipsoid: str | None,
    centre: str | None,
    time: float | None,
) -> Summary:
    """Return the calibrated linear diffusion, its errors, and the least possible one."""
    if (sensitivity is None) == (sensitivity_matrix is None):
        raise InvalidDescription(
            "sensitivity or sensitivity-matrix must be given, exactly one of them."
        )
    made = calibrated_linear_diffusion(
        target,
        sensitivity=sensitivity if sensitivity_matrix is None else _matrix(sensitivity_matrix),
        box=None if box is None else _numbers("box", box),
        ellipsoid=None if ellipsoid is None else _matrix(ellipsoid),
        centre=None if centre is None else _numbers("centre", centre),
        time=1.0 if time is None else time,
    )
    goal = (target.epsilon, target.delta)
    fields: dict[str, Any] = {
        "mechanism": "linear",
        "mu": made.mu,
        "epsilon": None if goal[1] is None else made.guarantee.epsilon(goal[1]),
        "delta": goal[1],
        "dimension": made.dimension,
        "shrinkage": made.shrinkage.tolist(),
        "noise_covariance": made.noise_covariance.tolist(),
        "mean_squared_error": made.mean_squared_error,
        "least_possible_error": made.least_possible_error,
        "description": {"kind": made.kind, **made.parameters()},
    }
    return fields, _text(fields)


def _numbers(name: str, words: str) -> list[float]:
    try:
        return [arguments.real(name, float(word)) for word in words.split(",")]
    except ValueError:
        raise InvalidDescription(
            f"{name} must be numbers with commas between them, got {words!r:.60}."
        ) from None


def _matrix(path: str) -> Any:
    """The matrix of a file, of equal rows and made symmetric to the last bit."""
    found = np.asarray(read(path), dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidDescription(f"matrix {path!r:.60} must be square.")
    if not np.allclose(found, found.T, rtol=1e-9, atol=0.0):
        raise InvalidDescription(f"matrix {path!r:.60} must be symmetric.")
    return (0.5 * (found + found.T)).tolist()


def _text(fields: dict[str, Any]) -> str:
    shrunk = np.array(fields["shrinkage"])
    noise = np.sqrt(np.diag(np.array(fields["noise_covariance"])))
    lines = ["release   A statistic + Normal(0, S), by entry:"]
    lines += [
        f"  {place + 1:>4}  A {shrunk[place, place]:.6g}   noise {noise[place]:.6g}"
        for place in range(len(noise))
    ]
    lines.append(f"mu        {round_up_to(fields['mu'])}")
    if fields["epsilon"] is not None:
        epsilon, delta = round_up_to(fields["epsilon"]), round_up_to(fields["delta"])
        lines.append(f"epsilon   {epsilon} at delta {delta}")
    lines += [
        f"mean squared error         {fields['mean_squared_error']:.6g}",
        f"  least of all linear ones {fields['least_possible_error']:.6g}",
    ]
    return "\n".join(lines)
