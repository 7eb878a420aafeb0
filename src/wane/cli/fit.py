"""`wane fit`, `wane predict`, `wane schema init`: from a table and its schema to a model."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane import arguments, learn
from wane.cli.folder import new_file, new_folder, write_json, write_text
from wane.cli.options import (
    Result,
    Verb,
    account_of,
    add_checkpoint,
    add_release,
    add_seed,
    checkpoint_of,
    confirm,
    earlier_releases,
    number,
    particulars_of,
    whole,
)
from wane.cli.release import Release
from wane.describe import Adjacency
from wane.describe.files import sha256_of
from wane.errors import InvalidDescription, MissingExtra
from wane.report.text import certificate_text
from wane.tables import (
    ClassTarget,
    Schema,
    as_file,
    cell_text,
    kept_cells,
    parquet_bytes,
    read_blocks,
    read_table,
    schema_template,
)


def models_by_command() -> dict[str, Any]:
    """Return the models that the command line offers, by the word that names each."""
    return {kind.command: kind for kind in learn.MODELS if kind.command is not None}


class _Models:
    """The words for models, looked up when one is given, since models need scikit-learn."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(models_by_command()))

    def __contains__(self, word: object) -> bool:
        return word in models_by_command()


def register(verb: Verb) -> None:
    """Add the three commands."""
    _register_fit(verb)
    _register_predict(verb)
    template = verb("schema", schema, "write a schema with column names only", spec=False)
    template.add_argument("action", choices=["init"], help="write a new one")
    template.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    template.add_argument("--out", default="schema.toml", metavar="FILE", help="where to write")
    template.add_argument("--delimiter", default=",", help="of a CSV file (default a comma)")
    template.add_argument(
        "--header",
        choices=["yes", "no"],
        help="whether the first line of a CSV file holds names (asked for unless it is certain)",
    )
    template.add_argument(
        "--no-header", dest="header", action="store_const", const="no", help="same as --header no"
    )
    template.add_argument("--force", action="store_true", help="replace the file")


def _register_fit(verb: Verb) -> None:
    fitting = verb("fit", fit, "fit a private linear model to a table", spec=False)
    fitting.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    fitting.add_argument("--schema", required=True, metavar="FILE", help="its public schema")
    words = "the column to predict; the schema describes it, and must name the same one"
    fitting.add_argument("--target", metavar="COLUMN", help=words)
    fitting.add_argument(
        "--model", required=True, choices=_Models(), metavar="MODEL", help="which: %(choices)s"
    )
    fitting.add_argument("--epsilon", type=number, required=True, help="privacy loss, at most")
    fitting.add_argument("--delta", type=number, required=True, help="delta of --epsilon")
    adjacencies = [Adjacency.ZERO_OUT.value, Adjacency.REPLACE_ONE.value]
    words = "which tables are compared: with a record blanked, or exchanged for another"
    fitting.add_argument("--adjacency", required=True, choices=adjacencies, help=words)
    fitting.add_argument(
        "--rows-per-person",
        type=whole,
        metavar="K",
        help="protect people who have up to K rows (default: as the schema says, else 1)",
    )
    add_release(fitting)
    add_checkpoint(fitting)
    fitting.add_argument(
        "--release-noise",
        type=number,
        metavar="TIMES",
        help="add exact noise to the release, so many times the noise that protects it",
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
    add_seed(fitting)


def _register_predict(verb: Verb) -> None:
    predicting = verb("predict", predict, "predict with a fitted model", spec=False)
    predicting.add_argument("model", metavar="MODEL_DIR", help="a folder that wane fit wrote")
    predicting.add_argument("data", metavar="DATA", help="table, a CSV or Parquet file")
    predicting.add_argument("--out", required=True, metavar="FILE", help="CSV file to write")
    predicting.add_argument("--force", action="store_true", help="replace the file")
    predicting.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="copy this column, such as an identifier, beside the predictions",
    )


def fit(options: Namespace) -> Result:
    """`wane fit`: everything is checked before any noise is drawn."""
    with as_file(options.data) as options.data:
        return _fit(options)


def _fit(options: Namespace) -> Result:
    described = Schema.from_file(options.schema)
    if options.target not in (None, described.target.name):
        raise InvalidDescription(
            f"--target must be the schema's, {described.target.name!r:.60}, got "
            f"{options.target!r:.60}; describe that column as [target] in the schema."
        )
    model = _estimator(options, described)
    from wane.learn.loading import require_loadable  # needs scikit-learn

    require_loadable(model)
    with new_folder(options.out, force=options.force) as folder:
        _fit_to(model, options.data, described, options.stream_above)
        context = (
            ("model", options.model),
            ("target", described.target.name),
            ("features", str(len(described.names))),
            ("SHA-256 of the schema", described.hash),
        )
        earlier = earlier_releases(model.account, options.delta)
        release = Release(
            model,
            model.words,
            options.delta,
            context,
            earlier=earlier,
            particulars=particulars_of(options, model.words),
        )
        write_json(folder / "schema.json", described.to_fields())
        document = release.write(folder)
    confirm(model.account)  # only now is it out
    text = f"{certificate_text(document)}\nwritten  {options.out}"
    if document["status"] == "void":
        text = f"void: no privacy is claimed\n{text}"
    place = Path(options.out)
    found = {
        "written": str(place),
        "model": str(place / "model.npz"),
        "certificate": str(place / "certificate.json"),
        "steps": model.n_iter_,
    }
    return {**document, **found}, text


def _fit_to(model: Any, data: str, described: Schema, most_mib: float) -> None:
    """Fit in memory, or block by block where the file's summary says that it is too large."""
    most = arguments.real("--stream-above", most_mib, least=0.0) * 2**20
    size = parquet_bytes(data, described)
    if size is not None and size > most:
        learn.fit_table(model, data, described)
        return
    table = read_table(data, described)
    model.fit(table.features, table.targets)


def predict(options: Namespace) -> Result:
    """`wane predict`: a CSV file with one prediction for each row."""
    model, described = loaded_release(Path(options.model))
    rows = 0
    with (
        as_file(options.data) as data,
        new_file(options.out, force=options.force) as place,
        place.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        kept = kept_cells(data, described, tuple(options.keep))
        for header, lines in _predictions(model, described, data):
            if not rows:
                writer.writerow([cell_text(name) for name in (*options.keep, *header)])
            for line in lines:
                writer.writerow([cell_text(cell) for cell in (*next(kept), *line)])
            rows += len(lines)
    return {"written": str(options.out), "rows": rows}, f"{rows} predictions in {options.out}"


def schema(options: Namespace) -> Result:
    """`wane schema init`: names of columns, and nothing else that the file holds."""
    if len(options.delimiter.encode()) != 1:
        raise InvalidDescription(
            f"--delimiter must be one ASCII character, got {options.delimiter!r:.60}."
        )
    header = None if options.header is None else options.header == "yes"
    with as_file(options.data) as data:
        text = schema_template(data, delimiter=options.delimiter, header=header)
    with new_file(options.out, force=options.force) as place:
        write_text(place, text)
    return {"written": str(options.out)}, f"{options.out} written; fill in types and bounds"


def _estimator(options: Namespace, described: Schema) -> Any:
    kind = models_by_command()[options.model]
    arguments.real("epsilon", options.epsilon, above=0.0)
    arguments.real("delta", options.delta, above=0.0, most=0.5)
    return kind(
        epsilon=options.epsilon,
        delta=options.delta,
        adjacency=Adjacency(options.adjacency),
        rows_per_person=described.rows_of_a_person(options.rows_per_person, "--rows-per-person"),
        feature_norm=described.feature_norm,
        account=account_of(options),
        checkpoint=checkpoint_of(options),
        tune_on=_public(options, described),
        release_noise=options.release_noise,
        progress=options.progress,
        seed_voids_privacy=options.seed_voids_privacy,
        **kind.arguments_for(described.target),
    )


def _public(options: Namespace, described: Schema) -> Any:
    """Return the rows of a table as public ones; to name the file is to declare them so."""
    if options.tune_on is None:
        return None
    public, private = Path(options.tune_on), Path(options.data)
    if (
        public.exists()
        and private.exists()
        and (public.samefile(private) or sha256_of(public) == sha256_of(private))
    ):
        raise InvalidDescription(
            f"--tune-on {public!s:.120} must be another table than the private one, got the same "
            "file; leave it out, or name a table whose rows are public."
        )
    table = read_table(public, described)
    return learn.PublicData(table.features, table.targets, name=f"the table {public.name!r:.80}")


def loaded_release(folder: Path) -> tuple[Any, Schema]:
    """Return the model and the schema of a release, both the ones that its certificate names."""
    described = Schema.from_file(folder / "schema.json")
    from wane.learn.loading import bound_to_document  # slow to import

    complaint = f"{folder!s:.120} must hold a model that wane fit wrote, got a damaged one."
    try:
        model = learn.load_model(folder / "model.npz")
        bound_to_document(folder / "schema.json", (folder / "schema.json").read_bytes())
        fits = model.n_features_in_ == len(described.names)
    except (InvalidDescription, MissingExtra):
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
