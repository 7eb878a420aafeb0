"""The web application's answers, headers and refusals."""

import json

import pytest
from starlette.testclient import TestClient

from wane.describe.fields import run_from_fields
from wane.errors import InvalidDescription
from wane.losses.files import spelled_out
from wane.web import serve
from wane.web.app import ASSETS, MOST_BYTES, application
from wane.web.presets import PRESETS


@pytest.fixture(scope="module")
def client():
    return TestClient(application(), base_url="http://127.0.0.1")


def question(**changes):
    return {"run": {**PRESETS[0]["run"], **changes}, "delta": 1e-5}


@pytest.mark.parametrize("path", ASSETS)
def test_assets_come_with_a_strict_policy(client, path):
    reply = client.get(path)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_page_needs_nothing_from_elsewhere(client):
    for path in ASSETS:
        text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "<script>" not in text


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset["name"])
def test_every_preset_is_a_description_with_a_certificate(client, preset):
    run_from_fields(spelled_out(preset["run"]))
    reply = client.post("/api/certify", json={"run": preset["run"], "delta": 1e-5})
    assert reply.status_code == 200, reply.text
    assert reply.json()["certificate"]["epsilon"] > 0


def test_the_answer_is_the_certificate(client):
    from wane import certify

    made = client.post("/api/certify", json=question()).json()
    assert made["certificate"]["epsilon"] == certify(
        run_from_fields(spelled_out(question()["run"]))
    ).epsilon(1e-5)
    again = client.post("/api/certify", json={"run": made["description"], "delta": 1e-5}).json()
    assert again == made


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset["name"])
def test_the_change_that_helps_most_does_what_it_says(client, preset):
    asked = {"run": preset["run"], "delta": 1e-5}
    before = client.post("/api/certify", json=asked).json()["certificate"]["epsilon"]
    made = client.post("/api/change", json=asked).json()
    if made["change"] is None:
        return
    assert "schedule" not in made["description"]  # the form can show it
    after = client.post("/api/certify", json=asked | {"run": made["description"]}).json()
    assert after["certificate"]["epsilon"] == made["epsilon"] < before


def test_curve_and_calibration(client):
    asked = question() | {"over": "steps", "start": 1, "stop": 1000, "points": 5}
    made = client.post("/api/curve", json=asked).json()
    assert made["values"][0] == 1 and made["theorems"]
    found = client.post(
        "/api/calibrate", json=question() | {"epsilon": 1.0, "over": "noise"}
    ).json()
    reached = client.post("/api/certify", json={"run": found["description"], "delta": 1e-5}).json()
    assert 0.99 < reached["certificate"]["epsilon"] <= 1.0


def test_the_code_runs_and_prints_the_same_epsilon(client, capsys):
    code = client.post("/api/code", json=question()).text
    exec(compile(code, "certificate.py", "exec"), {})
    epsilon = client.post("/api/certify", json=question()).json()["certificate"]["epsilon"]
    assert capsys.readouterr().out.splitlines()[0] == repr(epsilon)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset["name"])
def test_the_code_describes_the_same_run_with_public_classes(client, preset, monkeypatch):
    code = client.post("/api/code", json={"run": preset["run"], "delta": 1e-5}).text
    assert "import wane\n" in code and "from wane" not in code
    names = {}
    exec(compile(code.partition("certificate =")[0], "certificate.py", "exec"), names)
    assert names["run"] == run_from_fields(spelled_out(preset["run"]))


def test_code_holds_what_no_form_shows():
    import wane
    from wane.web.code import python_code

    phases = [wane.Phase(3, 1.0, wane.GradientNoise(2.0)), wane.Phase(4, 0.5, wane.IterateNoise(1))]
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_difference_bound=1.0, smoothness=0.25),
        records=10,
        schedule=wane.Schedule(phases),
        domain=wane.Box([0.0, 0.0], [1.0, 2.5]),
        release=wane.Iterates([2, 7]),
    )
    fact = wane.Fact.of(run, wane.FactKind.LOG_SOBOLEV, 0.5)
    names = {}
    exec(python_code(run, (fact,), None, 1e-5).partition("certificate =")[0], names)
    assert names["run"] == run and names["facts"] == [fact]


def test_the_certificate_page_downloads(client):
    reply = client.post("/api/page", json=question())
    assert reply.status_code == 200 and reply.text.startswith("<!DOCTYPE html>")


def test_descriptions_are_read_as_text(client):
    text = """
        records = 10
        steps = 3
        step_size = 1.0
        noise = {gradient_std = 1.0}
        objective = {gradient_bound = 1.0}
    """
    assert client.post("/api/read", json={"text": text}).json()["records"] == 10
    refused = client.post("/api/read", json={"text": "records = ["})
    assert refused.status_code == 422


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"step_size": -1.0}, "step_size"),
        ({"step_size": "abc"}, "step_size"),
        ({"records": 0}, "records"),
        ({"noise": {"multiplier": -1}}, "noise.multiplier"),
        ({"batches": {"kind": "cyclic", "size": 0}}, "batches.size"),
        ({"objective": {"loss": "logistic", "feature_norm": -2.0}}, "feature_norm"),
        ({"objective": {"loss": "logistic"}}, "objective.feature_norm"),
        ({"objective": {"loss": "cubic"}}, "objective.loss"),
    ],
)
def test_bad_values_name_their_field(client, changes, field):
    reply = client.post("/api/certify", json=question(**changes))
    assert reply.status_code == 422
    assert reply.json()["field"] == field


def test_long_schedules_are_sent_to_the_library(client):
    phases = [{"repeat": 1, "step_size": 0.1, "noise": {"gradient_std": 1.0}}] * 2001
    run = {k: v for k, v in PRESETS[0]["run"].items() if k not in {"steps", "step_size", "noise"}}
    reply = client.post("/api/certify", json={"run": run | {"schedule": phases}, "delta": 1e-5})
    assert reply.status_code == 422 and reply.json()["field"] == "schedule"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"[" * 100000, "application/json", 400),
        (b"{}", "text/plain", 415),
        (b" " * (MOST_BYTES + 1), "application/json", 413),
        (b"{}", "application/json", 422),
        (b'{"run": null}', "application/json", 422),
        (b'{"run": {"objective": {}}}', "application/json", 422),
        (json.dumps({"run": PRESETS[0]["run"], "delta": 2}).encode(), "application/json", 422),
        (b'{"run": {}, "delta": NaN}', "application/json", 400),
    ],
)
def test_malformed_requests_get_one_line(client, content, kind, status):
    reply = client.post("/api/certify", content=content, headers={"content-type": kind})
    assert reply.status_code == status
    assert "\n" not in reply.json()["error"]


def test_other_hosts_and_methods_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/api/certify").status_code == 405
    assert client.get("/nothing").status_code == 404
    assert client.get("/../pyproject.toml").status_code == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "example.org", ""])
def test_only_loopback_is_served(host):
    with pytest.raises(InvalidDescription, match="host must be a loopback address"):
        serve(host)


def test_a_bad_port_is_refused():
    with pytest.raises(InvalidDescription, match="port"):
        serve(port=70000)


def test_a_port_in_use_is_refused_in_words(capsys):
    import socket

    from wane.cli import main

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert f"port {port}" in said
    assert "http://" not in said  # no address of a page that is not there


def test_the_address_is_told_once_it_can_be_reached(monkeypatch):
    import socket

    import uvicorn

    told = []

    def run(self, sockets):
        assert told, "the address is told before the server starts to wait"
        place = sockets[0].getsockname()[:2]
        assert told[0] == f"http://{place[0]}:{place[1]}/"
        with socket.create_connection(place):
            pass

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve("127.0.0.1", 0, ready=told.append)
    assert told
