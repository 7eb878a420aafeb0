"""Releases in MLflow (extra `mlflow`): model, certificate, statement and numbers at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wane.certificates import is_sealed
from wane.describe.files import read_table
from wane.errors import InvalidDescription, MissingExtra
from wane.learn.loading import DOCUMENT, load_model
from wane.report import privacy_statement

try:
    import mlflow
    from mlflow import artifacts
except ImportError:
    raise MissingExtra("This bridge needs MLflow; install wane[mlflow].") from None

RELEASE = "release"
STATEMENT = "privacy-statement.md"
MOST_BYTES = 64 * 2**20


def log_release(folder: str | Path) -> str:
    """Log a release folder to the active MLflow run, or to a new one, and return the run's id.

    All files go under `release`, a privacy statement beside them.  Epsilon and delta become metrics
    and the configuration's hash a tag.  Nothing is logged that is not in the folder: the folder is
    the release.  Do not log training curves of the same fit, since each is a release of its own.
    """
    place = Path(folder)
    document = read_table(place / DOCUMENT, most_bytes=MOST_BYTES)
    if not isinstance(document, dict) or not is_sealed(document):
        raise InvalidDescription(
            f"{place!s:.120} must hold a {DOCUMENT} as wane wrote it, got one that was damaged or "
            "edited; make the release again."
        )
    active = mlflow.active_run()
    run = mlflow.start_run() if active is None else active
    try:
        mlflow.log_artifacts(str(place), artifact_path=RELEASE)
        mlflow.log_text(privacy_statement(document), STATEMENT)
        mlflow.log_metrics(_numbers(document))
        mlflow.set_tags(
            {
                "wane.status": document["status"],
                "wane.adjacency": document["adjacency"],
                "wane.configuration_sha256": document["configuration_sha256"],
            }
        )
    finally:
        if active is None:
            mlflow.end_run()
    return str(run.info.run_id)


def load_release(run_id: str) -> Any:
    """Return the model of a logged release, certified anew; other files than logged are refused."""
    folder = artifacts.download_artifacts(run_id=run_id, artifact_path=RELEASE)
    return load_model(Path(folder) / "model.npz")


def _numbers(document: dict[str, Any]) -> dict[str, float]:
    """Return delta, and epsilon unless it is infinite, which MLflow cannot plot."""
    found = {"wane.delta": float(document["delta"])}
    epsilon = document["epsilon"]
    return found if isinstance(epsilon, str) else found | {"wane.epsilon": float(epsilon)}
