"""Pictures of what certificates say (extra `plots`); each takes an axis and returns it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from wane.certify import Curve
from wane.errors import InvalidDescription, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^", "v", "D", "P", "X")


def plot_curve(made: Curve, axis: Axes | None = None) -> Axes:
    """Draw epsilon along steps or noise, one line per theorem, and return the axis."""
    axis = axis if axis is not None else new_axis()
    drawn = [(n, row) for n, row in made.theorems.items() if any(e is not None for e in row)]
    for (name, row), marker in zip(drawn, MARKERS * len(drawn), strict=False):
        pairs = [(x, e) for x, e in zip(made.values, row, strict=True) if e is not None]
        axis.plot(*zip(*pairs, strict=True), marker=marker, markevery=4, label=name, linewidth=1.4)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("steps" if made.axis.value == "steps" else "noise, relative to the description")
    axis.set_ylabel(f"epsilon at delta = {made.delta:g}")
    axis.grid(visible=True, which="both", alpha=0.25)
    axis.legend()
    return axis


def save_curve(made: Curve, path: str | Path) -> None:
    """Draw a curve into a PNG, SVG or PDF file."""
    target = Path(path)
    if target.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InvalidDescription(f"plot must end in .png, .svg or .pdf, got {target.name!r}.")
    save(plot_curve(made), target)


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
