"""The sentences of a certificate: what was released, what stays secret, what it rests on."""

from __future__ import annotations

import enum
import inspect
import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from wane.describe import (
    Adjacency,
    EveryIterate,
    Fact,
    Iterates,
    LastIterate,
    NoisyDescent,
)
from wane.describe.choices import Poisson, ShuffledOnce, WithoutReplacement
from wane.describe.constants import defined
from wane.describe.description import Description
from wane.report.text import CERTIFICATE, shown
from wane.theorems.theorem import Basis, Theorem

LOSS_CONSTANTS = (
    "gradient_bound",
    "gradient_difference_bound",
    "smoothness",
    "strong_convexity",
    "holder_exponent",
    "holder_constant",
    "dimension",
)

ONE_ROW = "one record: one row of the data"
CALCULATION = "Privacy calculation"
"""The title of what was computed from a description alone."""

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

OF_MECHANISMS = {
    Adjacency.ZERO_OUT: (
        "Two data sets are neighbours if in one of them one record is null, that is, it adds "
        "nothing to the statistic. The number of records is public."
    ),
    Adjacency.ADD_REMOVE: (
        "Two data sets are neighbours if one has a record more than the other. What is divided by "
        "is public, or part of the release."
    ),
}
"""Adjacency of a statistic, where it is not worded as that of gradients."""

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
    "at delta {delta} for the one release, with the steps taken in exact arithmetic."
)

NO_TUNING = (
    "Nothing is charged for choosing the settings. That is right if they were chosen without the "
    "private records; trying several on them and keeping the best is a release of its own."
)


HEADINGS = ("Claim", "Source", "Translation", "Differs from the paper", "Tight", "Proof")
"""How the parts of a theorem's docstring begin."""
DECLARED_PROX = (
    "declared of a prox of the user's own, and not checked: that it is the prox of a convex "
    "function is tried at some points when it runs, and proven nowhere"
)


class NoiseSource(enum.Enum):
    """Where the noise of a run came from."""

    NOT_RUN = "not-run"
    OPERATING_SYSTEM = "operating-system"
    SEED = "seed"

    @property
    def ran(self) -> bool:
        """Whether anything was run at all."""
        return self is not NoiseSource.NOT_RUN

    @property
    def title(self) -> str:
        """What a document about it is called."""
        return CERTIFICATE if self.ran else CALCULATION

    @property
    def meaning(self) -> str:
        """The source in words."""
        return {
            NoiseSource.NOT_RUN: (
                "Nothing was run: this was computed from a description alone. Whoever runs it must "
                "draw Gaussian noise that nobody else can repeat."
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
        return said + EXACT_ALONE.format(epsilon=self.epsilon, delta=shown(self.delta))


@dataclass(frozen=True)
class EarlierReleases:
    """What a ledger holds of the same records, the release of this document included.

    Attributes:
        dataset: the public name of the records.
        releases: how many were written down, this one included.
        epsilon, delta: of all of them together.
        head: the hash of the ledger's last row when this was written.
    """

    dataset: str
    releases: int
    epsilon: float
    delta: float
    head: str

    def to_fields(self) -> dict[str, Any]:
        """Return what a document says of it."""
        earlier = {0: "no earlier release", 1: "one earlier release"}
        count = earlier.get(self.releases - 1, f"{self.releases - 1} earlier releases")
        meaning = f"The ledger lists {count} on the same records; the whole is counted there."
        epsilon = "infinity" if math.isinf(self.epsilon) else self.epsilon
        return {"source": "ledger", "meaning": meaning, **vars(self), "epsilon": epsilon}


UNKNOWN_EARLIER = {
    "source": "unknown",
    "meaning": (
        "Unknown: no ledger was kept. Other releases on the same records, if there were any, are "
        "not counted here, and their cost adds to this one's."
    ),
}


def unit_words(rows_per_person: int) -> str:
    """Return whom the guarantee protects."""
    if rows_per_person == 1:
        return ONE_ROW
    return f"one person: at most {rows_per_person} rows of the data"


def basis_words(declared: str, ran: bool) -> dict[str, str]:
    """Return what each basis of a hypothesis means; nothing is enforced where nothing ran."""
    made = {basis.value: basis.meaning for basis in Basis} | {Basis.DECLARED.value: declared}
    if not ran:
        made[Basis.ENFORCED.value] = "to be enforced by whoever runs it: nothing was run"
    return made


def numerics(grid: float, exact: ExactNoise | None = None) -> str:
    """Return what is said of the numbers; a grid of 0 says that the release was not rounded."""
    said = NUMERICS + ROUNDED.format(grid=grid) if grid else NUMERICS
    return said if exact is None else said + exact.words


def adjacency_words(run: NoisyDescent | Description) -> str:
    """Return which data sets are neighbours."""
    if isinstance(run, Description):
        return (ADJACENCY | OF_MECHANISMS)[run.declared_adjacency]
    return ADJACENCY[run.adjacency]


def released_words(run: NoisyDescent | Description) -> str:
    """Return what is released, in a sentence."""
    if isinstance(run, Description):
        return run.released_words()
    release = run.release
    if isinstance(release, EveryIterate):
        return "Every iterate of the run."
    if isinstance(release, Iterates):
        return f"The iterates after {len(release.steps)} listed steps, and the last one."
    return f"The last iterate only, after {run.total_steps} steps."


def secrets_of(run: NoisyDescent | Description) -> list[str]:
    """Return what must stay secret for ever, or the guarantee is void."""
    if isinstance(run, Description):
        return run.secrets()
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


def theorem_fields(theorem: Theorem[Any]) -> dict[str, Any]:
    """Return a theorem's statement: conclusion, claim, translation of symbols, citation."""
    doc = inspect.getdoc(theorem.formula) or ""
    _, *pieces = re.split(rf"^({'|'.join(HEADINGS)})\.\s", doc, flags=re.M)
    said = {
        name: " ".join(text.split()) for name, text in zip(pieces[::2], pieces[1::2], strict=True)
    }
    return {
        "name": theorem.name,
        "conclusion": theorem.summary,
        "claim": said.get("Claim", ""),
        "translation": said.get("Translation", ""),
        "differs_from_source": said.get("Differs from the paper", ""),
        "citation": str(theorem.source),
        "reference": reference(theorem.source.key),
    }


def symbol_rows(run: NoisyDescent | Description) -> list[dict[str, Any]]:
    """Return what each letter of the theorems stands for in this run."""
    rows = run.symbols() if isinstance(run, Description) else _symbols_of_descent(run)
    return [{"symbol": s, "meaning": m, "value": v} for s, m, v in rows if v is not None]


def _symbols_of_descent(run: NoisyDescent) -> list[tuple[str, str, Any]]:
    objective = run.objective
    return [
        ("n", "number of records", run.records),
        ("T", "number of steps", run.total_steps),
        ("b", "public divisor of each step's sum of gradients (batch size)", run.batch_size),
        ("eta", "step size", _range(run.plan.step_size)),
        ("s", "standard deviation of the noise on the averaged gradient", noise_range(run)),
        ("C", _meaning("gradient_bound"), objective.gradient_bound),
        ("E", _meaning("gradient_difference_bound"), objective.gradient_difference_bound),
        ("Delta", "how far one record moves the averaged gradient", run.gradient_sensitivity),
        ("M", _meaning("smoothness"), objective.smoothness),
        ("m", _meaning("strong_convexity"), objective.strong_convexity),
        ("lambda", _meaning("ridge"), objective.ridge),
        ("D", defined("domain", "diameter").sentence, _diameter(run)),
    ]


def _meaning(name: str) -> str:
    """Return the definition of a constant of the losses, as it is written once."""
    return f"{name}: {defined('objective', name).sentence}"


def constant_rows(
    run: NoisyDescent | Description,
    origin: str,
    *,
    ran: bool,
    sampler: dict[str, Any] | None = None,
    facts: tuple[Fact, ...] = (),
) -> list[dict[str, Any]]:
    """Return the constants of this run and of its sampler, each with where it comes from."""
    if isinstance(run, Description):
        return [{"name": n, "value": v, "origin": origin} for n, v in run.constants()]
    objective = run.objective
    rows: list[tuple[str, Any, str]] = [
        (f"objective.{name}", getattr(objective, name), origin) for name in LOSS_CONSTANTS
    ]
    rows += [
        ("objective.ridge", objective.ridge, "a setting of the run"),
        ("objective.form", objective.form.value, origin),
    ]
    if objective.clipped:
        done = "is clipped while running" if ran else "must be clipped by whoever runs it"
        rows.append(("objective.clipped", "yes", f"every record's gradient {done}"))
    rows += _public_rows(run)
    rows += [
        *_domain_rows(run),
        ("gradient_sensitivity", run.gradient_sensitivity, _sensitivity_words(run)),
        ("noise on the averaged gradient", noise_range(run), _noise_words(run)),
    ]
    chains = {name: value for name, value in (sampler or {}).items() if name != "kind"}
    rows += [(f"sampler.{name}", value, origin) for name, value in chains.items()]
    rows += [(f.kind.value, f.value, f"stated of this run only: {f.kind.meaning}") for f in facts]
    return [{"name": n, "value": v, "origin": o} for n, v, o in rows if v is not None]


def _domain_rows(run: NoisyDescent) -> list[tuple[str, Any, str]]:
    if not run.domain.declared:
        return [("domain.diameter", _diameter(run), "from the domain")]
    return [
        ("domain.prox", ", ".join(run.domain.declared), DECLARED_PROX),
        ("domain.strong_convexity", float(run.domain.strong_convexity), DECLARED_PROX),
        ("domain.diameter", _diameter(run), DECLARED_PROX),
    ]


def _public_rows(run: NoisyDescent) -> list[tuple[str, Any, str]]:
    if run.public is None or run.public.objective is None:
        return []
    apart = "declared: they need no protection and do not depend on the private records"
    losses = run.public.objective
    rows = [(f"public.objective.{name}", getattr(losses, name), apart) for name in LOSS_CONSTANTS]
    return [("public.records", run.public.records, apart), *rows]


def noise_range(run: NoisyDescent) -> float | str:
    """Return the noise of the steps: a number, or the range of a schedule's."""
    return _range(run.gradient_noise_stds)


def _diameter(run: NoisyDescent) -> float | None:
    return run.domain.diameter if math.isfinite(run.domain.diameter) else None


def _range(values: Any) -> float | str:
    low, high = float(np.min(values)), float(np.max(values))
    return low if low == high else f"{low:.6g} to {high:.6g}"


def _sensitivity_words(run: NoisyDescent) -> str:
    losses = run.objective
    replaced = run.adjacency is Adjacency.REPLACE_ONE
    bound = "2 x gradient_bound" if replaced else "gradient_bound"
    if replaced and losses.difference == losses.gradient_difference_bound:
        bound = "gradient_difference_bound"
    return f"{bound} / batch size, for {run.adjacency.value} adjacency"


def _noise_words(run: NoisyDescent) -> str:
    return "the schedule's" if run.noise is None else f"from {run.noise.key} in the description"


_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303"}


def reference(key: str) -> str:
    """Return authors, title, where and when of a key in `references.bib`; the key if unknown."""
    return _references().get(key, key)


@cache
def _references() -> dict[str, str]:
    raw = (files("wane") / "references.bib").read_text(encoding="utf-8")
    return {
        key: _sentence(body) for key, body in re.findall(r"@\w+\{(\S+?),\n(.*?)\n\}", raw, re.S)
    }


def _sentence(body: str) -> str:
    found = re.findall(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$(?=\s*\w+\s*=|\s*\Z)", body, re.S | re.M)
    entry = {name.lower(): _plain(value) for name, value in found}
    where = entry.get("journal") or entry.get("booktitle") or entry.get("howpublished")
    arxiv = f"arXiv:{entry['eprint']}" if "eprint" in entry else None
    authors = entry.get("author", "").replace(" and ", ", ")
    parts = (authors, entry.get("title"), where, entry.get("year"), arxiv)
    return ". ".join(part for part in parts if part) + "."


def _plain(value: str) -> str:
    value = re.sub(
        r"\\(['`\"^~])\{?(\w)\}?",
        lambda m: unicodedata.normalize("NFC", m.group(2) + _ACCENTS[m.group(1)]),
        value,
    )
    return " ".join(value.replace("{", "").replace("}", "").split())
