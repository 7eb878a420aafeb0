"""The sampler paper's Figure 1, with its hidden constants made explicit."""

from __future__ import annotations

from wane_papers.exhibits import Chart, Exhibit, Row
from wane_papers.sampler.discretisation import certified_figure_one
from wane_papers.sampler.printed import figure_one


def _steps() -> list[Row]:
    printed, certified = figure_one(), certified_figure_one()
    names = ("row", "dimension", "printed_steps", "proved_steps")
    columns = {name: printed[name] for name in names}
    columns["certified_steps"] = certified["certified_steps"]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


FIGURES: tuple[Exhibit, ...] = (
    Exhibit(
        "sampler-figure-1",
        "Steps until Langevin is close to its target (order 2, divergence 0.1, time 3)",
        "ganesh2020langevin",
        "Figure 1",
        "orders of growth with hidden constants and logarithms, here taken as one: (1) strongly "
        "convex and smooth, (2) Lipschitz and smooth, (3) underdamped.",
        "the same route, corrected and with explicit constants, asks for far more steps; wane's "
        "own bounds ask for far fewer than either.  Smoothness 4, gradients at most 1 in row 2.",
        _steps,
        Chart(
            "dimension",
            {
                "printed_steps": "printed, constants one",
                "proved_steps": "proved by that route",
                "certified_steps": "certified by wane",
            },
            "dimension",
            "steps",
            by="row",
        ),
        {
            "row": "row of the figure",
            "dimension": "of the target",
            "printed_steps": "as printed, every hidden constant taken as one",
            "proved_steps": "by the paper's route, corrected, constants explicit",
            "certified_steps": "by wane's distance certificate",
        },
    ),
)
