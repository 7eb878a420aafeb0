"""What a certificate says, as the few lines a person reads first."""

from __future__ import annotations

from typing import Any

from wane.certify import Curve
from wane.numerics.display import round_up_to


def bracket_text(fields: dict[str, Any]) -> str:
    """Return the bracket as the lines a person reads."""
    lines = [
        f"upper  epsilon {shown(fields['upper_epsilon'])}  at delta {fields['delta']:.6g}, "
        f"by {fields['theorem']}",
        f"lower  epsilon {shown_down(fields['lower_epsilon'])}  by an exact member of the class",
        f"ratio  {shown(fields['ratio'])}",
    ]
    if fields["mu_ratio"] is not None:
        lines.append(
            f"mu     {shown_down(fields['lower_mu'])} to {shown(fields['upper_mu'])}, "
            f"ratio {shown(fields['mu_ratio'])}"
        )
    return "\n".join(lines)


def certificate_text(fields: dict[str, Any]) -> str:
    """Return the few lines that a person reads first."""
    lines = [
        f"epsilon  {shown(fields['epsilon'])}  at delta {fields['delta']:.6g}",
        f"mu       {shown(fields['mu'])}",
        f"theorem  {fields['theorem']} [{fields['citation']}]",
        f"released {release_words(fields['release'])}, adjacency {fields['adjacency']}",
        f"lower bound (an exact member of the class): epsilon "
        f"{shown_down(fields['lower_bound_epsilon'])}",
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


def shown_down(value: float | str | None) -> str:
    """A lower bound as text, never rounded up."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value * (1.0 - 1e-6):.6g}"


def release_words(release: str | list[int]) -> str:
    """What is released, in words."""
    return release if isinstance(release, str) else f"{len(release)} listed iterates"
