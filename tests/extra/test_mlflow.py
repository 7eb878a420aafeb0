"""A release goes into MLflow's own store on this disk, and comes back as it was."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import wane
from wane.cli import main
from wane.errors import InvalidDescription

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's own


@pytest.fixture
def release(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame[["mean radius", "mean texture", "target"]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        '[target]\nname = "target"\nclasses = ["0", "1"]\n'
        '[columns."mean radius"]\ntype = "numeric"\nlow = 5\nhigh = 30\n'
        '[columns."mean texture"]\ntype = "numeric"\nlow = 5\nhigh = 40\n'
    )
    words = ["fit", tmp_path / "rows.csv", "--schema", tmp_path / "schema.toml"]
    words += ["--model", "logistic", "--epsilon", 2, "--delta", 1e-5]
    words += ["--adjacency", "zero-out", "--out", tmp_path / "release"]
    assert main([str(word) for word in words]) == 0
    return tmp_path / "release"


def test_a_round_trip(release, tmp_path, monkeypatch):
    from wane.extra.mlflow import load_release, log_release

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    run_id = log_release(release)
    logged = mlflow.get_run(run_id)
    document = json.loads((release / "certificate.json").read_text())
    assert logged.data.metrics["wane.epsilon"] == document["epsilon"]
    assert logged.data.metrics["wane.delta"] == 1e-5
    assert logged.data.tags["wane.configuration_sha256"] == document["configuration_sha256"]
    assert logged.info.status == "FINISHED"
    statement = mlflow.artifacts.load_text(f"runs:/{run_id}/privacy-statement.md")
    assert "epsilon" in statement
    before, after = wane.learn.load_model(release / "model.npz"), load_release(run_id)
    assert np.array_equal(before.coef_, after.coef_)
    assert after.certificate_.epsilon(1e-5) == before.certificate_.epsilon(1e-5)
    store = next((tmp_path / "store").rglob("model.npz"))
    store.write_bytes(store.read_bytes() + b"\0")
    with pytest.raises(InvalidDescription, match="names, got another"):
        load_release(run_id)


def test_an_edited_certificate_is_not_logged(release):
    from wane.extra.mlflow import log_release

    place = release / "certificate.json"
    place.write_text(place.read_text().replace("zero-out", "replace-one", 1))
    with pytest.raises(InvalidDescription, match="damaged or edited"):
        log_release(release)
