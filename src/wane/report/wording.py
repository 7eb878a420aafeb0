"""The sentences of a certificate: what was released, what stays secret, what it rests on."""

from __future__ import annotations

import enum
import inspect
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.describe import Adjacency, EveryIterate, Iterates, LastIterate, NoisyDescent
from wane.describe.batches import Poisson, ShuffledOnce, WithoutReplacement
from wane.report.citations import reference
from wane.theory import Analysis

LOSS_CONSTANTS = (
    "gradient_bound",
    "smoothness",
    "strong_convexity",
    "holder_exponent",
    "holder_constant",
    "log_sobolev",
    "dimension",
)

UNIT = "one record: one row of the data"

ADJACENCY = {
    Adjacency.REPLACE_ONE: (
        "Two data sets are neighbours if one record is exchanged for any other. "
        "The number of records is public."
    ),
    Adjacency.ZERO_OUT: (
        "Two data sets are neighbours if in one of them one record is null, that is, it adds "
        "nothing to any gradient. The number of records is public."
    ),
    Adjacency.ADD_REMOVE: (
        "Two data sets are neighbours if one has a record more than the other. All divisors are "
        "public numbers and stay as they are."
    ),
}

NUMERICS = (
    "Every bound is computed in IEEE double precision with its rounding covered: epsilon, delta, "
    "mu and rates are never rounded down, the lower bound never up. The theorems speak of exact "
    "Gaussian noise; noise drawn in floating point only approximates it, and this certificate "
    "does not account for the difference."
)
ROUNDED = (
    " What was released is rounded to multiples of {grid:.6g}, a power of two far below the noise "
    "that comes from the description alone: this removes the low-order bits, through which noise "
    "in floating point is known to leak, and costs no privacy. It does not make the noise inside "
    "the run exact."
)
EXACT = (
    " To each released number, on that grid, noise from the discrete Gaussian law with parameter "
    "{std:.6g} was added, sampled exactly, in whole numbers and from the operating system. This is "
    "post-processing: it takes nothing from what is certified, and no more is claimed for it."
)
EXACT_ALONE = (
    " Alone, however the noise inside the run was drawn, this noise would give epsilon {epsilon} "
    "at delta {delta:g} for the one release, with the steps taken in exact arithmetic."
)

NO_TUNING = (
    "Nothing is charged for choosing the settings. That is right if they were chosen without the "
    "private records; trying several on them and keeping the best is a release of its own."
)


HEADINGS = ("Claim", "Source", "Translation", "Differs from the paper", "Tight", "Proof")
"""How the parts of a theorem's docstring begin."""


class NoiseSource(enum.Enum):
    """Where the noise of a run came from."""

    NOT_RUN = "not-run"
    OPERATING_SYSTEM = "operating-system"
    SEED = "seed"

    @property
    def meaning(self) -> str:
        """The source in words."""
        return {
            NoiseSource.NOT_RUN: (
                "This certificate was made from a description alone; whoever runs it must draw "
                "Gaussian noise that nobody else can repeat."
            ),
            NoiseSource.OPERATING_SYSTEM: (
                "Gaussian noise in double precision from the ChaCha stream cipher with 20 rounds, "
                "under a 256-bit key from the operating system that was kept nowhere."
            ),
            NoiseSource.SEED: (
                "The noise came from a seed. Whoever knows the seed can subtract the noise: "
                "nothing is private."
            ),
        }[self]


@dataclass(frozen=True)
class ExactNoise:
    """Exact noise on a release: its law's parameter, and what it gives alone at some delta.

    `epsilon` is as it will be printed, never rounded down; None claims nothing.
    """

    std: float
    delta: float
    epsilon: str | None = None

    @property
    def words(self) -> str:
        """What is said of it."""
        said = EXACT.format(std=self.std)
        if self.epsilon is None:
            return said
        return said + EXACT_ALONE.format(epsilon=self.epsilon, delta=self.delta)


def numerics(grid: float, exact: ExactNoise | None = None) -> str:
    """Return what is said of the numbers; a grid of 0 says that the release was not rounded."""
    said = NUMERICS + ROUNDED.format(grid=grid) if grid else NUMERICS
    return said if exact is None else said + exact.words


def released_words(run: NoisyDescent) -> str:
    """Return what leaves the room, in a sentence."""
    release = run.release
    if isinstance(release, EveryIterate):
        return "Every iterate of the run."
    if isinstance(release, Iterates):
        return f"The iterates after {len(release.steps)} listed steps, and the last one."
    return f"The last iterate only, after {run.total_steps} steps."


def secrets_of(run: NoisyDescent) -> list[str]:
    """Return what must never leave the room, or the guarantee is void."""
    made = ["The records, and every number computed from them but the release."]
    if not isinstance(run.release, EveryIterate):
        others = "All iterates but the last" if isinstance(run.release, LastIterate) else "Others"
        made.append(f"{others}: checkpoints, averages and warm starts from them included.")
    made.append("Gradients, losses, training curves, and scores on the private records.")
    made.append("The noise, its key, its seed, and the state of the generator.")
    if isinstance(run.batches, ShuffledOnce | Poisson | WithoutReplacement):
        made.append("Which records each step used: order of shuffling, logs of a data loader.")
    made.append("Decisions taken in view of any of these, such as when to stop.")
    return made


def theorem_fields(analysis: Analysis[Any]) -> dict[str, Any]:
    """Return a theorem's statement: conclusion, claim, translation of symbols, citation."""
    doc = inspect.getdoc(analysis.formula) or ""
    _, *pieces = re.split(rf"^({'|'.join(HEADINGS)})\.\s", doc, flags=re.M)
    said = {
        name: " ".join(text.split()) for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    }
    return {
        "name": analysis.name,
        "conclusion": analysis.summary,
        "claim": said.get("Claim", ""),
        "translation": said.get("Translation", ""),
        "differs_from_source": said.get("Differs from the paper", ""),
        "citation": str(analysis.source),
        "reference": reference(analysis.source.key),
    }


def symbol_rows(run: NoisyDescent) -> list[dict[str, Any]]:
    """Return what each letter of the theorems stands for in this run."""
    objective = run.objective
    rows: list[tuple[str, str, Any]] = [
        ("n", "number of records", run.records),
        ("T", "number of steps", run.total_steps),
        ("b", "public divisor of each step's sum of gradients (batch size)", run.batch_size),
        ("eta", "step size", _range(run.plan.step_size)),
        ("s", "standard deviation of the noise on the averaged gradient", noise_range(run)),
        ("C", "bound on the norm of one record's gradient", objective.gradient_bound),
        ("Delta", "how far one record moves the averaged gradient", run.gradient_sensitivity),
        ("M", "upper end of one record's Hessian (smoothness)", objective.smoothness),
        ("m", "lower end of one record's Hessian (convexity)", objective.strong_convexity),
        ("lambda", "weight of the ridge term, the same for all records", objective.ridge),
        ("D", "diameter of the domain", _diameter(run)),
    ]
    return [{"symbol": s, "meaning": m, "value": v} for s, m, v in rows if v is not None]


def constant_rows(run: NoisyDescent, origin: str) -> list[dict[str, Any]]:
    """Return the constants of this run, each with where it comes from."""
    objective = run.objective
    rows: list[tuple[str, Any, str]] = [
        (f"objective.{name}", getattr(objective, name), origin) for name in LOSS_CONSTANTS
    ]
    rows += [
        ("objective.ridge", objective.ridge, "a setting of the run"),
        ("objective.form", objective.form.value, origin),
    ]
    if objective.clipped:
        rows.append(
            ("objective.clipped", "yes", "every record's gradient is clipped while running")
        )
    rows += [
        ("domain.diameter", _diameter(run), "from the domain"),
        ("gradient_sensitivity", run.gradient_sensitivity, _sensitivity_words(run)),
        ("noise on the averaged gradient", noise_range(run), _noise_words(run)),
    ]
    return [{"name": n, "value": v, "origin": o} for n, v, o in rows if v is not None]


def noise_range(run: NoisyDescent) -> float | str:
    """Return the noise of the steps: a number, or the range of a schedule's."""
    return _range(run.gradient_noise_stds)


def _diameter(run: NoisyDescent) -> float | None:
    return run.domain.diameter if math.isfinite(run.domain.diameter) else None


def _range(values: Any) -> float | str:
    low, high = float(np.min(values)), float(np.max(values))
    return low if low == high else f"{low:.6g} to {high:.6g}"


def _sensitivity_words(run: NoisyDescent) -> str:
    twice = "2 x " if run.adjacency is Adjacency.REPLACE_ONE else ""
    return f"{twice}gradient_bound / batch size, for {run.adjacency.value} adjacency"


def _noise_words(run: NoisyDescent) -> str:
    return "the schedule's" if run.noise is None else f"from {run.noise.key} in the description"
