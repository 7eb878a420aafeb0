"""`wane fit`, `wane predict`, `wane schema init`: from a table and its schema to a model."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane import learn
from wane.cli.folder import new_file, new_folder, write_text
from wane.cli.models import MODELS
from wane.cli.options import (
    Result,
    Verb,
    account_of,
    add_checkpoint,
    checkpoint_of,
    number,
    whole,
)
from wane.cli.release import Release, write_json
from wane.describe import Adjacency, check
from wane.errors import InvalidDescription, MissingExtra
from wane.report.text import certificate_text
from wane.tables import (
    ClassTarget,
    Schema,
    parquet_bytes,
    read_blocks,
    read_table,
    schema_template,
)


def register(verb: Verb) -> None:
    """Add the three commands."""
    _register_fit(verb)
    _register_predict(verb)
    template = verb("schema", schema, "write a schema with column names only", spec=False)
    template.add_argument("action", choices=["init"])
    template.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    template.add_argument("--out", default="schema.toml", metavar="FILE", help="where to write")
    template.add_argument("--delimiter", default=",", help="of a CSV file (default a comma)")
    template.add_argument("--no-header", action="store_true", help="the first line is a record")
    template.add_argument("--force", action="store_true", help="replace the file")


def _register_fit(verb: Verb) -> None:
    fitting = verb("fit", fit, "fit a private linear model to a table", spec=False)
    fitting.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    fitting.add_argument("--schema", required=True, metavar="FILE", help="its public schema")
    fitting.add_argument("--model", required=True, choices=sorted(MODELS))
    fitting.add_argument("--epsilon", type=number, required=True)
    fitting.add_argument("--delta", type=number, required=True)
    adjacencies = [Adjacency.ZERO_OUT.value, Adjacency.REPLACE_ONE.value]
    fitting.add_argument("--adjacency", required=True, choices=adjacencies)
    fitting.add_argument("--out", required=True, metavar="DIR", help="new folder for the release")
    fitting.add_argument("--force", action="store_true", help="replace an earlier release")
    fitting.add_argument("--ledger", metavar="FILE", help="enter the release there")
    fitting.add_argument("--dataset", metavar="NAME", help="whose budget the ledger keeps")
    add_checkpoint(fitting)
    fitting.add_argument(
        "--release-noise",
        type=number,
        metavar="TIMES",
        help="add exact noise to the release, so many times as large as the run's last noise",
    )
    fitting.add_argument(
        "--tune-on",
        metavar="FILE",
        help="table of rows that are public: the settings that do best on them are used",
    )
    fitting.add_argument("--progress", action="store_true", help="show steps and time")
    fitting.add_argument(
        "--stream-above",
        type=number,
        default=1024,
        metavar="MIB",
        help="read a larger Parquet table anew at each step, in the file's order (default 1024)",
    )
    fitting.add_argument(
        "--seed-voids-privacy", type=whole, metavar="N", help="repeatable, and not private at all"
    )


def _register_predict(verb: Verb) -> None:
    predicting = verb("predict", predict, "predict with a fitted model", spec=False)
    predicting.add_argument("model", metavar="MODEL_DIR", help="a folder that wane fit wrote")
    predicting.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    predicting.add_argument("--out", required=True, metavar="FILE", help="CSV file to write")
    predicting.add_argument("--force", action="store_true", help="replace the file")


def fit(options: Namespace) -> Result:
    """`wane fit`: everything is checked before any noise is drawn."""
    described = Schema.from_file(options.schema)
    kind = MODELS[options.model]
    model = _estimator(options, described)
    with new_folder(options.out, force=options.force) as folder:
        _fit_to(model, options.data, described, options.stream_above)
        context = (
            ("model", options.model),
            ("target", described.target.name),
            ("features", str(len(described.names))),
            ("SHA-256 of the schema", described.hash),
        )
        release = Release(model, kind.words, options.delta, context)
        document = release.write(folder)
        write_json(folder / "schema.json", described.to_fields())
    text = f"{certificate_text(document)}\nwritten  {options.out}"
    if document["status"] == "void":
        text = f"void: no privacy is claimed\n{text}"
    return {"written": str(options.out), "certificate": document}, text


def _fit_to(model: Any, data: str, described: Schema, most_mib: float) -> None:
    """Fit in memory, or block by block where the file's summary says that it is too large."""
    most = check.real("--stream-above", most_mib, least=0.0) * 2**20
    size = parquet_bytes(data, described)
    if size is not None and size > most:
        learn.fit_table(model, data, described)
        return
    table = read_table(data, described)
    model.fit(table.features, table.targets)


def predict(options: Namespace) -> Result:
    """`wane predict`: a CSV file with one prediction for each row."""
    model, described = _loaded(Path(options.model))
    rows = 0
    with new_file(options.out, force=options.force) as place, place.open("w", newline="") as file:
        writer = csv.writer(file)
        for header, lines in _predictions(model, described, options.data):
            if not rows:
                writer.writerow(header)
            writer.writerows(lines)
            rows += len(lines)
    return {"written": str(options.out), "rows": rows}, f"{rows} predictions in {options.out}"


def schema(options: Namespace) -> Result:
    """`wane schema init`: names of columns, and nothing else that the file holds."""
    if len(options.delimiter.encode()) != 1:
        raise InvalidDescription(
            f"--delimiter must be one ASCII character, got {options.delimiter!r:.60}."
        )
    text = schema_template(options.data, delimiter=options.delimiter, header=not options.no_header)
    with new_file(options.out, force=options.force) as place:
        write_text(place, text)
    return {"written": str(options.out)}, f"{options.out} written; fill in types and bounds"


def _estimator(options: Namespace, described: Schema) -> Any:
    kind = MODELS[options.model]
    check.real("epsilon", options.epsilon, above=0.0)
    check.real("delta", options.delta, above=0.0, most=0.5)
    return getattr(learn, kind.estimator)(
        epsilon=options.epsilon,
        delta=options.delta,
        adjacency=Adjacency(options.adjacency),
        feature_norm=described.feature_norm,
        account=account_of(options),
        checkpoint=checkpoint_of(options),
        tune_on=_public(options.tune_on, described),
        release_noise=options.release_noise,
        progress=options.progress,
        seed_voids_privacy=options.seed_voids_privacy,
        **kind.arguments_for(described.target),
    )


def _public(path: str | None, described: Schema) -> Any:
    """Return the rows of a table as public ones; to name the file is to declare them so."""
    if path is None:
        return None
    table = read_table(path, described)
    return learn.PublicData(table.features, table.targets)


def _loaded(folder: Path) -> tuple[Any, Schema]:
    described = Schema.from_file(folder / "schema.json")
    complaint = f"{folder!s:.120} must hold a model that wane fit wrote, got a damaged one."
    try:
        model = learn.load_model(folder / "model.npz")
        fits = model.n_features_in_ == len(described.names)
    except MissingExtra:
        raise
    except Exception:  # a damaged archive fails in more ways than its readers list
        raise InvalidDescription(complaint) from None
    if not fits:
        raise InvalidDescription(
            f"{folder!s:.120} must hold a model and its own schema, got {model.n_features_in_} and "
            f"{len(described.names)} features."
        )
    return model, described


def _predictions(
    model: Any, described: Schema, data: str
) -> Iterator[tuple[list[str], list[list[Any]]]]:
    """Yield a header and lines, block by block."""
    target = described.target
    for block in read_blocks(data, described, targets=False):
        found: NDArray[Any] = model.predict(block.features)
        if not isinstance(target, ClassTarget):
            yield [target.name], [[value] for value in found.tolist()]
            continue
        header, columns = [target.name], [np.asarray(target.classes)[found].tolist()]
        if hasattr(model, "predict_proba"):
            header += [f"probability of {name}" for name in target.classes]
            columns += model.predict_proba(block.features).T.tolist()
        yield header, [list(line) for line in zip(*columns, strict=True)]
