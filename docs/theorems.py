"""Writes one page per class of losses, from the registry: `python docs/theorems.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import wane
from wane.report.text import round_up_to
from wane.theorems.theorem import Applies, Verdict

HERE = Path(__file__).parent / "losses"
DELTA = 1e-5


@dataclass(frozen=True)
class LossClass:
    """A class of losses with one run that stands for it."""

    file: str
    title: str
    words: str
    objective: wane.Objective
    domain: wane.Domain = wane.Unbounded()
    steps: int = 2_000


CLASSES = (
    LossClass(
        "strongly-convex",
        "Strongly convex losses",
        "A ridge, or losses that bend everywhere. Every step pulls two runs together, so the last "
        "iterate forgets early records and epsilon levels off. Prefer full or cyclic batches: "
        "their bounds are exact on quadratics.",
        wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=0.01),
    ),
    LossClass(
        "convex",
        "Convex losses",
        "No ridge: steps do not expand, but do not pull together either. Cyclic batches gain a "
        "factor of the number of batches per epoch; full batches need a bounded set to gain.",
        wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
    ),
    LossClass(
        "convex-bounded",
        "Convex losses on a bounded set",
        "Two runs are never farther apart than the diameter, so epsilon stops growing whatever "
        "the number of steps.",
        wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        wane.Ball(0.1),
        100_000,
    ),
    LossClass(
        "clipped",
        "Clipped gradients",
        "Of a generalised linear model: clipping clamps one number and does no harm. Of anything "
        "else with three or more parameters it can make a convex step expand; wane then uses the "
        "exact constant of the clipped step.",
        wane.losses.least_squares(1.0, clip=1.0, ridge=0.01),
    ),
    LossClass(
        "weakly-smooth",
        "Weakly smooth and nonsmooth losses",
        "Gradients that change no faster than a power of the distance, or jump: on a bounded set "
        "the modulus of the step still bounds what is left of an early record.",
        wane.Objective(
            gradient_bound=1.0, strong_convexity=0.0, holder_exponent=0.5, holder_constant=1.0
        ),
        wane.Ball(0.1),
        100_000,
    ),
    LossClass(
        "nonconvex",
        "Nonconvex losses",
        "Smooth but not convex: steps may push runs apart, by a known factor. Short runs and "
        "bounded sets still gain; where nothing is known, composition is all there is.",
        wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=-0.05),
        wane.Ball(0.1),
        100_000,
    ),
)

BATCHES: dict[str, Any] = {
    "full": wane.FullBatch(),
    "cyclic": wane.Cyclic(500),
    "shuffled once": wane.ShuffledOnce(500),
    "Poisson": wane.Poisson(500),
    "fixed size": wane.WithoutReplacement(500),
}


def run_of(kind: LossClass, batches: Any) -> wane.NoisyDescent:
    """The run that stands for a class: ten thousand records, some batches of 500."""
    return wane.NoisyDescent(
        objective=kind.objective,
        records=10_000,
        steps=kind.steps,
        step_size=0.5,
        noise=wane.NoiseMultiplier(50.0 if isinstance(batches, wane.FullBatch) else 4.0),
        batches=batches,
        domain=kind.domain,
    )


def page(kind: LossClass) -> str:
    """One page: who applies to which batches, and what each theorem asks for."""
    runs = {name: run_of(kind, batches) for name, batches in BATCHES.items()}
    verdicts = {name: wane.certify(run).verdicts for name, run in runs.items()}
    composed = {
        name: wane.certify(replace(run, release=wane.EveryIterate())) for name, run in runs.items()
    }
    rows = [
        f"# {kind.title}",
        kind.words,
        f"Epsilon at delta = {DELTA:g} of one run: 10,000 records, {kind.steps:,} steps of size "
        "0.5, batches of 500, noise multiplier 4 (50 for full batches), replace-one. "
        "Made by `python docs/theorems.py` from the registry of theorems.",
        "\n".join(_table(verdicts, composed)),
        "## What each theorem asks for",
        *_hypotheses(verdicts),
    ]
    return "\n\n".join(rows) + "\n"


def _table(verdicts: dict[str, tuple[Verdict, ...]], composed: dict[str, Any]) -> list[str]:
    lines = [f"| theorem | {' | '.join(verdicts)} |", "| --- " * (len(verdicts) + 1) + "|"]
    names = [v.analysis.name for v in next(iter(verdicts.values()))]
    for place, name in enumerate(names):
        cells = [_cell(found[place]) for found in verdicts.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    cells = [round_up_to(c.epsilon(DELTA)) for c in composed.values()]
    lines.append(f"| every iterate published | {' | '.join(cells)} |")
    return lines


def _cell(verdict: Verdict) -> str:
    if not isinstance(verdict, Applies):
        return "no"
    epsilon = verdict.guarantee.epsilon(DELTA)
    return "no bound" if epsilon == float("inf") else round_up_to(epsilon)


def _hypotheses(verdicts: dict[str, tuple[Verdict, ...]]) -> list[str]:
    made = []
    for found in zip(*verdicts.values(), strict=True):
        analysis = found[0].analysis
        asked = [f"- {c.statement} ({c.basis.meaning})" for c in analysis.assumes]
        head = f"### `{analysis.name}`\n\n{analysis.summary} [{analysis.source}]"
        made.append(head + "\n\n" + "\n".join(asked))
        missing = [v for v in found if not isinstance(v, Applies)]
        if len(missing) == len(found):
            reasons = {f"{o.statement}: {o.because}" for v in missing for o in v.obstacles}
            shortest = min(reasons, key=len)
            made.append(f"Never applies to this run, for instance because {shortest}.")
    return made


def main() -> None:
    """Write all pages."""
    HERE.mkdir(exist_ok=True)
    for kind in CLASSES:
        (HERE / f"{kind.file}.md").write_text(page(kind), encoding="utf-8")


if __name__ == "__main__":
    main()
