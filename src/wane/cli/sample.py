"""`wane sample`: private posterior samples from a table, with both certificates."""

from __future__ import annotations

import csv
from argparse import Namespace
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from wane import arguments
from wane.certificates import Particulars, certificate_document
from wane.certificates.parts import json_number
from wane.cli.folder import new_folder, write_certificate, write_json
from wane.cli.options import (
    Result,
    Verb,
    account_of,
    add_release,
    add_seed,
    confirm,
    earlier_releases,
    number,
    particulars_of,
    whole,
)
from wane.cli.release import TUNING
from wane.describe import Adjacency, files
from wane.describe.fields import run_to_fields
from wane.errors import InvalidDescription
from wane.report.text import certificate_text, shown
from wane.tables import BoundedTarget, ClassTarget, Schema, as_file, read_table

SPECS = {".toml", ".json"}
KIND = "posterior"


@dataclass(frozen=True)
class Job:
    """What is to be sampled, as the options or a description say; None where neither does."""

    data: str | None = None
    schema: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    adjacency: str | None = None
    samples: int = 1
    prior_precision: float = 1.0
    temperature: float | None = None
    order: float = 2.0
    distance: float = 0.1
    step_size: float | None = None
    steps: int | None = None
    intercept: bool = True

    def require(self, name: str) -> Any:
        """Return what must be said somewhere."""
        value = getattr(self, name)
        if value is None:
            raise InvalidDescription(f"{name} must be given, as an option or in the description.")
        return value


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("sample", sample, "private posterior samples from a table", spec=False)
    made.add_argument(
        "source", metavar="DATA|SPEC", help="a CSV or Parquet table, or a TOML or JSON description"
    )
    made.add_argument("--schema", metavar="FILE", help="the table's public schema")
    made.add_argument("--epsilon", type=number, help="of all samples together")
    made.add_argument("--delta", type=number, help="delta of --epsilon")
    adjacencies = [Adjacency.ZERO_OUT.value, Adjacency.REPLACE_ONE.value]
    words = "which tables are compared: with a record blanked, or exchanged for another"
    made.add_argument("--adjacency", choices=adjacencies, help=words)
    made.add_argument("--samples", type=whole, help="how many (default 1)")
    made.add_argument("--prior-precision", type=number, help="of the normal prior (default 1)")
    made.add_argument("--temperature", type=number, help="default: the lowest that is private")
    made.add_argument("--order", type=number, help="Renyi order of the distance (default 2)")
    made.add_argument("--distance", type=number, help="to the posterior, at most (default 0.1)")
    made.add_argument("--step-size", type=number, help="together with --steps, instead of a plan")
    made.add_argument("--steps", type=whole, help="together with --step-size, instead of a plan")
    words = "leave the intercept out"
    made.add_argument(
        "--no-intercept", dest="intercept", action="store_false", default=None, help=words
    )
    add_release(made)
    made.add_argument("--progress", action="store_true", help="show steps and time")
    add_seed(made)


def sample(options: Namespace) -> Result:
    """`wane sample`: everything is checked before any noise is drawn."""
    job = _job(options)
    described = Schema.from_file(job.require("schema"))
    model = _estimator(job, described, options)
    with new_folder(options.out, force=options.force) as folder:
        with as_file(job.require("data")) as data:
            table = read_table(data, described)
        model.fit(table.features, table.targets)
        particulars = particulars_of(options, model._product())
        document = _released(model, job, described, folder, particulars)
    confirm(model.account)  # only now are they out
    made = {"written": str(options.out), **document}
    return made, _text(made)


def _job(options: Namespace) -> Job:
    """Return the description, if one is given, with what the options say on top of it."""
    source = Path(options.source)
    job = _described(source) if source.suffix.lower() in SPECS else Job(data=options.source)
    said = {f.name: getattr(options, f.name, None) for f in fields(Job)}
    return replace(job, **{name: value for name, value in said.items() if value is not None})


def _described(path: Path) -> Job:
    given = files.read_table(path)
    if not isinstance(given, dict) or given.get("kind") != KIND:
        raise InvalidDescription(f'{path} must describe a posterior: kind = "{KIND}".')
    arguments.known_keys(str(path), given, ("kind", *(f.name for f in fields(Job))))
    said = {name: value for name, value in given.items() if name != "kind"}
    arguments.kind("intercept", said.get("intercept", True), (bool,))
    for name in ("data", "schema"):
        if name in said:
            arguments.kind(name, said[name], (str,))
            said[name] = str(path.parent / said[name])
    return Job(**said)


def _estimator(job: Job, described: Schema, options: Namespace) -> Any:
    from wane.sampling import estimators  # slow to import

    if described.rows_per_person != 1:
        raise InvalidDescription(
            f"rows_per_person must be 1 to sample, got {described.rows_per_person}; keep one row "
            "of each person, or fit a model instead."
        )
    common = {
        "epsilon": arguments.real("epsilon", job.require("epsilon"), above=0.0),
        "delta": arguments.real("delta", job.require("delta"), above=0.0, most=0.5),
        "adjacency": _adjacency(job.require("adjacency")),
        "feature_norm": described.feature_norm,
        "n_samples": job.samples,
        "prior_precision": arguments.real("prior_precision", job.prior_precision, above=0.0),
        "temperature": job.temperature,
        "order": job.order,
        "distance": job.distance,
        "step_size": job.step_size,
        "steps": job.steps,
        "fit_intercept": job.intercept,
        "account": account_of(options),
        "progress": options.progress,
        "seed_voids_privacy": options.seed_voids_privacy,
    }
    target = described.target
    if isinstance(target, ClassTarget):
        places = tuple(range(len(target.classes)))
        return estimators.PosteriorLogisticRegression(classes=places, **common)
    assert isinstance(target, BoundedTarget)
    return estimators.PosteriorLinearRegression(target_bound=(target.low, target.high), **common)


def _adjacency(word: object) -> Adjacency:
    try:
        return Adjacency(word)
    except ValueError:
        names = " or ".join(a.value for a in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE))
        raise InvalidDescription(f"adjacency must be {names}, got {word!r:.60}.") from None


def _released(
    model: Any, job: Job, described: Schema, folder: Path, particulars: Particulars
) -> dict[str, Any]:
    """Write the samples and both certificates, and return what they say."""
    distance = _distance_fields(model)
    context = (
        ("target", described.target.name),
        ("features", str(len(described.names))),
        ("samples", str(model.n_samples)),
        ("temperature of the posterior", f"{model.temperature_:.6g}"),
        ("prior precision", f"{model.prior_precision:g}"),
        ("distance from the posterior", _distance_text(distance)),
        ("SHA-256 of the schema", described.hash),
    )
    document = certificate_document(
        model.certificate_,
        delta=job.require("delta"),
        circumstances=replace(
            model._circumstances(),
            tuning=TUNING,
            context=context,
            earlier=earlier_releases(model.account, job.require("delta")),
            particulars=particulars,
        ),
    )
    write_json(folder / "distance.json", distance)
    write_json(folder / "description.json", run_to_fields(model.run_))
    write_json(folder / "schema.json", described.to_fields())
    _write_samples(folder / "samples.csv", model, described)
    document = write_certificate(folder, document)
    return {
        **document,
        "distance": distance,
        "steps": model.n_iter_,
        "samples": model.n_samples,
        "temperature": model.temperature_,
    }


def _distance_fields(model: Any) -> dict[str, Any]:
    found = model.distance_
    ways = {"chain_first": found.chain_first, "target_first": found.target_first}
    made: dict[str, Any] = {
        name: {
            "divergence": json_number(way.value),
            "theorem": way.best.theorem.name,
            "citation": str(way.best.theorem.source),
        }
        for name, way in ways.items()
    }
    return {
        "order": found.order,
        **made,
        "total_variation": found.total_variation,
        "steps": model.n_iter_,
        "step_size": model.run_.step_size,
    }


def _distance_text(distance: dict[str, Any]) -> str:
    chain, target = (distance[n]["divergence"] for n in ("chain_first", "target_first"))
    return (
        f"Renyi order {distance['order']:g}: D(chain || posterior) <= {shown(chain)}, "
        f"D(posterior || chain) <= {shown(target)}; total variation <= "
        f"{shown(distance['total_variation'])}"
    )


def _write_samples(path: Path, model: Any, described: Schema) -> None:
    """One line for each sample and output: its number, the class if there are many, the numbers."""
    names = list(described.names)
    outputs = model.coef_samples_.shape[1]
    classes = described.target.classes if isinstance(described.target, ClassTarget) else ()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", "output", *names, "intercept"])
        pairs = zip(model.coef_samples_, model.intercept_samples_, strict=True)
        for place, (coefficients, intercepts) in enumerate(pairs, start=1):
            for output in range(outputs):
                label = classes[output] if outputs > 1 else described.target.name
                row = [*coefficients[output].tolist(), float(intercepts[output])]
                writer.writerow([place, label, *(repr(value) for value in row)])


def _text(made: dict[str, Any]) -> str:
    lines = [
        certificate_text(made),
        f"distance {_distance_text(made['distance'])}",
        f"steps    {made['steps']}, temperature {made['temperature']:.6g}",
        f"written  {made['written']}",
    ]
    if made["status"] == "void":
        lines.insert(0, "void: no privacy is claimed")
    return "\n".join(lines)
