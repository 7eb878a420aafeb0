"""Pictures of what certificates say (extra `plots`); each takes an axis and returns it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wane.errors import InvalidDescription, MissingExtra
from wane.guarantees import Guarantee
from wane.report.text import round_up_to

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wane.audit.measured import Evidence
    from wane.certificates import Certificate, Curve

MARKERS = ("o", "s", "^", "v", "D", "P", "X")
STYLES = ("-", "--", ":", "-.")


def plot_curve(made: Curve, axis: Axes | None = None) -> Axes:
    """Draw epsilon along steps or noise, one line per theorem, and return the axis."""
    axis = axis if axis is not None else new_axis()
    drawn = [(n, row) for n, row in made.theorems.items() if any(e is not None for e in row)]
    for (name, row), marker in zip(drawn, MARKERS * len(drawn), strict=False):
        pairs = [(x, e) for x, e in zip(made.values, row, strict=True) if e is not None]
        axis.plot(*zip(*pairs, strict=True), marker=marker, markevery=4, label=name, linewidth=1.4)
    axis.set_xscale("log")
    axis.set_yscale("log")
    words = {"noise": "noise, relative to the description", "step-size": "step size"}
    axis.set_xlabel(words.get(made.axis.value, made.axis.value))
    axis.set_ylabel(f"epsilon at delta = {round_up_to(made.delta)}")
    axis.grid(visible=True, which="both", alpha=0.25)
    axis.legend()
    return axis


def save_curve(made: Curve, path: str | Path) -> None:
    """Draw a curve into a PNG, SVG or PDF file."""
    save(plot_curve(made), _target(path))


def draw_lines(
    axis: Any,
    curves: dict[str, list[tuple[float, float]]],
    labels: tuple[str, str],
    *,
    logarithmic: str = "",
) -> Any:
    """Draw named curves given as points, and return the axis; `logarithmic` names x, y or both."""
    for (name, points), marker in zip(curves.items(), MARKERS * len(curves), strict=False):
        every = max(1, len(points) // 12)
        style = STYLES[len(axis.lines) % len(STYLES)]  # lines that coincide must both be seen
        axis.plot(*zip(*points, strict=True), style, marker=marker, markevery=every, label=name)
    for letter in logarithmic:
        # a bound of zero is worth showing, so a vertical axis with zeros stays linear below them
        positive = letter == "x" or all(y > 0.0 for line in curves.values() for _, y in line)
        axis.set(**{f"{letter}scale": "log" if positive else "symlog"})
    axis.set(xlabel=labels[0], ylabel=labels[1])
    axis.grid(visible=True, which="both", alpha=0.25)
    axis.legend(ncols=1 + len(curves) // 8, fontsize="small")
    return axis


def save_lines(
    curves: dict[str, list[tuple[float, float]]],
    labels: tuple[str, str],
    path: str | Path,
    *,
    logarithmic: str = "",
) -> None:
    """Draw named curves given as points into a PNG, SVG or PDF file."""
    target = _target(path)
    save(draw_lines(new_axis(), curves, labels, logarithmic=logarithmic), target)


def draw_contours(
    axis: Any,
    rows: list[dict[str, float]],
    columns: tuple[str, str, str],
    labels: tuple[str, str],
) -> Any:
    """Draw the third column as contours over the first two, and return the axis."""
    across, up, level = ([row[name] for row in rows] for name in columns)
    drawn = axis.tricontourf(across, up, level, levels=20)
    axis.figure.colorbar(drawn, ax=axis)
    axis.set(xlabel=labels[0], ylabel=labels[1])
    return axis


def plot_tradeoff(guarantees: Mapping[str, Guarantee], axis: Axes | None = None) -> Axes:
    """Draw what an attacker must give up: type II against type I error, one curve a guarantee."""
    axis = axis if axis is not None else new_axis()
    errors = [i / 200 for i in range(201)]
    curves = {
        name: [(error, guarantee.type_ii(error)) for error in errors]
        for name, guarantee in guarantees.items()
    }
    draw_lines(axis, curves, ("false-positive rate", "false-negative rate, at least"))
    axis.plot([0, 1], [1, 0], ":", color="gray", linewidth=1.0)  # knowing nothing
    return axis


def plot_audit(evidence: Evidence, guarantee: Guarantee, axis: Axes | None = None) -> Axes:
    """Draw measured attacks against what the certificate allows any attack."""
    axis = plot_tradeoff({"certified: no attack below": guarantee}, axis)
    found = [pair for point in evidence.points for pair in point.directions]
    axis.plot(
        [false_alarms for _, false_alarms in found],
        [1.0 - power for power, _ in found],
        "x",
        label=f"measured, confidence {evidence.confidence:g}",
    )
    axis.legend()
    return axis


def save_audit(evidence: Evidence, guarantee: Guarantee, path: str | Path) -> None:
    """Draw an audit into a PNG, SVG or PDF file."""
    save(plot_audit(evidence, guarantee), _target(path))


def plot_bracket(certificate: Certificate, axis: Axes | None = None) -> Axes:
    """Draw the certified epsilon and the largest epsilon known to be leaked, against delta."""
    axis = axis if axis is not None else new_axis()
    deltas = [10.0 ** (-k / 2) for k in range(4, 21)]
    brackets = [(delta, *certificate.bracket(delta)) for delta in deltas]
    curves = {
        "certified: at most": [(delta, upper) for delta, _, upper in brackets],
        "an exact instance: at least": [(d, low) for d, low, _ in brackets if low is not None],
    }
    known = {name: points for name, points in curves.items() if points}
    drawn: Axes = draw_lines(axis, known, ("delta", "epsilon"), logarithmic="x")
    return drawn


def _target(path: str | Path) -> Path:
    target = Path(path)
    if target.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InvalidDescription(f"plot must end in .png, .svg or .pdf, got {target.name!r}.")
    return target


def new_axis() -> Axes:
    """Return an axis on a figure of its own."""
    axis: Axes = _pyplot().subplots(figsize=(7.0, 4.2))[1]
    return axis


def save(axis: Axes, target: Path) -> None:
    """Write the axis's figure to a file and close it."""
    figure: Any = axis.figure
    try:
        figure.savefig(target, bbox_inches="tight", dpi=160)
    except OSError as error:
        raise InvalidDescription(f"plot cannot be written to {target}: {error.strerror}.") from None
    finally:
        _pyplot().close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg", force=False)
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("Plots need matplotlib; install wane[plots].") from None
    return plt
