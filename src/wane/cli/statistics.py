"""`wane release`: a statistic of a table, published with its certificate."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from wane.certificates import Circumstances, NoiseSource, certificate_document, with_files
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
from wane.describe import Adjacency
from wane.describe.fields import description_to_fields
from wane.describe.files import sha256_of
from wane.errors import InvalidDescription
from wane.report.text import certificate_text
from wane.tables import Schema, as_file

KINDS = ("mean", "counts", "histogram", "covariance", "quantiles")
TUNING = "None: the noise was calibrated from public numbers alone, which costs nothing."
POST_PROCESSING = {
    "mean": "Means are moved into their public bounds and shares between 0 and 1",
    "counts": "Counts are whole, not negative, and add up to the same total in every column",
    "histogram": "Counts are whole, not negative, and add up to the same total in every column",
    "covariance": "The matrix is symmetric, and its negative eigenvalues are set to zero",
    "quantiles": "The counts of the tree are made consistent, and quantiles put in order",
}
"""What is done to the noisy numbers afterwards; it costs no privacy."""


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("release", publish, "publish a statistic of a table privately", spec=False)
    made.add_argument("statistic", choices=KINDS, help="what to publish")
    made.add_argument("data", metavar="TABLE", help="table, a CSV or Parquet file")
    made.add_argument("--schema", required=True, metavar="FILE", help="its public schema")
    made.add_argument("--epsilon", type=number, required=True, help="privacy loss, at most")
    made.add_argument("--delta", type=number, required=True, help="probability of a larger loss")
    words = "which data sets are compared: the certificate protects one such change"
    adjacencies = [a.value for a in Adjacency]
    made.add_argument("--adjacency", required=True, choices=adjacencies, help=words)
    made.add_argument("--columns", metavar="A,B", help="which columns (default: all that suit)")
    made.add_argument(
        "--levels",
        metavar="NAME=EPSILON,...",
        help="several readers, the most accurate first; all together cost what the first costs",
    )
    made.add_argument("--bins", type=whole, metavar="N", help="of a histogram (default 10)")
    made.add_argument("--probabilities", metavar="P,Q", help="of quantiles (default 0.25,0.5,0.75)")
    words = "protect people who have up to K rows (default: as the schema says, else 1)"
    made.add_argument("--rows-per-person", type=whole, metavar="K", help=words)
    add_release(made)
    add_seed(made)


def publish(options: Namespace) -> Result:
    """`wane release`: everything is checked before the release is entered and noise is drawn."""
    from wane import statistics  # slow to import

    schema = Schema.from_file(options.schema)
    kind = statistics.STATISTICS[options.statistic]
    names = None if options.columns is None else tuple(_listed(options.columns))
    statistic = kind.of(
        schema, adjacency=Adjacency(options.adjacency), columns=names, **_own(options)
    )
    account = account_of(options)
    with new_folder(options.out, force=options.force) as folder, as_file(options.data) as data:
        found = statistics.publish(
            statistic,
            data,
            schema,
            epsilon=options.epsilon,
            delta=options.delta,
            levels=_levels(options.levels),
            account=account,
            rows_per_person=options.rows_per_person,
            seed_voids_privacy=options.seed_voids_privacy,
        )
        document = _write(folder, options, found, schema, account)
    confirm(account)  # only now is it out
    made = _fields(options, found, document)
    return made, _text(made, document)


def _own(options: Namespace) -> dict[str, Any]:
    """Return the options of one statistic; those of another are refused."""
    made: dict[str, Any] = {}
    for name, owner in (("bins", "histogram"), ("probabilities", "quantiles")):
        given = getattr(options, name)
        if given is None:
            continue
        if options.statistic != owner:
            raise InvalidDescription(f"--{name} must go with {owner}, got {options.statistic}.")
        made[name] = given
    if "probabilities" in made:
        made["probabilities"] = tuple(
            _number("--probabilities", text) for text in _listed(made["probabilities"])
        )
    return made


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidDescription(f"{name} must hold numbers, got {text!r:.60}.") from None


def _levels(text: str | None) -> dict[str, float] | None:
    """Return names and epsilons as they stand on the command line."""
    if text is None:
        return None
    made: dict[str, float] = {}
    for part in _listed(text):
        name, equals, value = part.partition("=")
        if not equals:
            raise InvalidDescription(
                f"--levels must be written as team=2,public=0.5, got {part!r:.60}."
            )
        if name.strip() in made:
            raise InvalidDescription(f"--levels must have distinct names, got {name!r:.60} twice.")
        made[name.strip()] = _number("--levels", value)
    return made


def _write(
    folder: Path, options: Namespace, found: Any, schema: Schema, account: Any
) -> dict[str, Any]:
    """Write the values, the schema, the description and the certificates; return the whole one."""
    write_json(folder / "schema.json", schema.to_fields())
    write_json(folder / "statistic.json", _public(found, found.levels or {}))
    write_json(
        folder / "description.json", description_to_fields(found.certificate.nominal.description)
    )
    for name, level in (found.levels or {}).items():
        write_json(folder / f"statistic-{name}.json", _public(level, {}, found.statistic))
        said = _circumstances(options, found, schema, name)
        document = certificate_document(level.certificate, delta=options.delta, circumstances=said)
        file = folder / f"statistic-{name}.json"
        bound = with_files(document, {file.name: sha256_of(file)})
        write_json(folder / f"certificate-{name}.json", bound)
    earlier = earlier_releases(account, options.delta)
    said = _circumstances(options, found, schema, None, earlier)
    document = certificate_document(found.certificate, delta=options.delta, circumstances=said)
    return write_certificate(folder, document)


def _public(found: Any, levels: dict[str, Any], statistic: Any = None) -> dict[str, Any]:
    """Return the fields of a file of values."""
    made = {
        **(statistic or found.statistic).to_fields(),
        "value": found.value,
        "noise_std": found.noise_std,
        "noise": found.noise,
    }
    if levels:
        made["levels"] = {name: _public(one, {}, found.statistic) for name, one in levels.items()}
    return made


def _circumstances(
    options: Namespace, found: Any, schema: Schema, level: str | None, earlier: Any = None
) -> Circumstances:
    """Return how the release was carried out, in words."""
    names = ", ".join(column.name for column in found.statistic.columns)
    seeded = options.seed_voids_privacy is not None
    process = getattr(found.released.mechanism, "mechanism", found.released.mechanism)
    what = f"The {options.statistic} of {names}"
    of_level = "" if level is None else f", at level {level!r} and stricter ones"
    return Circumstances(
        noise=NoiseSource.SEED if seeded else NoiseSource.OPERATING_SYSTEM,
        released=f"{what}{of_level}, and nothing else. {POST_PROCESSING[options.statistic]}.",
        origin="worked out by wane from the bounds and categories of the public schema",
        declared=(
            "worked out by wane from the public schema, and enforced: cells outside their bounds "
            "are moved to them, and sums are exact"
        ),
        tuning=TUNING,
        voids=found.certificate.void_because,
        context=(
            ("statistic", options.statistic),
            *(() if found.records is None else (("records", str(found.records)),)),
            ("SHA-256 of the schema", schema.hash),
        ),
        grid=_grid(process),
        earlier=earlier,
        particulars=particulars_of(options, what[:200]),
    )


def _grid(process: Any) -> float:
    from wane.run.diffusions import grid_at  # slow to import

    return grid_at(process, process.time)


def _fields(options: Namespace, found: Any, document: dict[str, Any]) -> dict[str, Any]:
    levels = None
    if found.levels is not None:
        levels = {
            name: {
                "value": one.value,
                "epsilon": _epsilon(one.certificate, options.delta),
                "noise_std": one.noise_std,
                "mu": one.certificate.mu,
                "certificate": str(Path(options.out) / f"certificate-{name}.json"),
            }
            for name, one in found.levels.items()
        }
    return {
        "statistic": options.statistic,
        "value": found.value,
        "noise_std": found.noise_std,
        "noise": found.noise,
        "epsilon": document["epsilon"],
        "delta": document["delta"],
        "mu": document["mu"],
        "adjacency": document["adjacency"],
        "theorem": document["theorem"],
        "certificate": str(Path(options.out) / "certificate.json"),
        "levels": levels,
        "written": str(options.out),
        "rows_per_person": document["rows_per_person"],
        "status": document["status"],
    }


def _epsilon(certificate: Any, delta: float) -> float | str:
    return "infinity" if certificate.void_because else float(certificate.epsilon(delta))


def _text(made: dict[str, Any], document: dict[str, Any]) -> str:
    shown = made["levels"] or {made["statistic"]: made}
    lines = ["void: no privacy is claimed"] if made["status"] == "void" else []
    for name, one in shown.items():
        lines += [f"{name}:", *_lines(one["value"])]
    return "\n".join((*lines, certificate_text(document), f"written  {made['written']}"))


def _lines(value: dict[str, Any], indent: str = "  ") -> list[str]:
    made = []
    for name, one in value.items():
        if isinstance(one, dict):
            made += [f"{indent}{name}", *_lines(one, indent + "  ")]
        else:
            made.append(f"{indent}{name}  {one:.6g}")
    return made
