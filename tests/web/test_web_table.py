"""The page for the holder's own table: who may ask, what is answered, and that no row goes out."""

import csv
import json
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from wane.cli import main
from wane.errors import InvalidDescription
from wane.web.app import application
from wane.web.table import Desk, LocalTable

SCHEMA = {
    "feature_norm": 1.5,
    "target": {"name": "bought", "classes": ["no", "yes"]},
    "columns": {
        "age": {"type": "numeric", "low": 0, "high": 120, "missing": "zero"},
        "plan": {"type": "categorical", "categories": ["free", "full"], "missing": "zero"},
    },
}
MARK = "seldom-written-word"
FIT = {"model": "logistic", "epsilon": 1.0, "delta": 1e-5, "adjacency": "zero-out"}


@pytest.fixture
def desk(tmp_path):
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["age", "visits", "plan", "bought"])
        for i in range(400):
            plan = MARK if i == 7 else ("free", "full")[i % 2]
            lines.writerow([20 + i % 50, i % 11, plan, ("no", "yes")[i % 3 == 0]])
    return Desk(LocalTable(tmp_path / "people.csv", tmp_path / "release"))


@pytest.fixture
def client(desk):
    return TestClient(application(desk=desk), base_url="http://127.0.0.1")


def ask(client, desk, question, body, **headers):
    return client.post(
        f"/api/table/{question}", json=body, headers={"x-wane-token": desk.token, **headers}
    )


def test_without_a_table_there_is_no_such_page():
    client = TestClient(application(), base_url="http://127.0.0.1")
    assert client.get("/table").status_code == 404
    assert client.post("/api/table/names", json={}).status_code == 404
    assert client.get("/api/presets").json()["table"] is False


def test_only_the_holder_of_the_token_may_ask(client, desk):
    for token in ("", "x", desk.token[:-1], desk.token + "x", "\u00e4"):
        headers = {"x-wane-token": token.encode()}
        reply = client.post("/api/table/names", json={}, headers=headers)
        assert reply.status_code == 403 and "people" not in reply.text
    assert ask(client, desk, "names", {}).status_code == 200


def test_another_site_may_not_ask_even_with_the_token(client, desk):
    reply = ask(client, desk, "names", {}, origin="http://evil.example")
    assert reply.status_code == 403
    assert ask(client, desk, "names", {}, origin="http://127.0.0.1").status_code == 200
    assert ask(client, desk, "names", {}, host="evil.example").status_code == 400


def test_names_are_answered_and_no_cell(client, desk):
    made = ask(client, desk, "names", {}).json()
    assert made["columns"] == ["age", "visits", "plan", "bought"]
    assert {model["target"] for model in made["models"]} == {"classes", "bounds"}
    assert MARK not in json.dumps(made)


def test_a_first_line_that_may_be_a_record_is_asked_about(tmp_path):
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    desk = Desk(LocalTable(tmp_path / "words.csv", tmp_path / "out"))
    client = TestClient(application(desk=desk), base_url="http://127.0.0.1")
    refused = ask(client, desk, "names", {})
    assert refused.status_code == 422 and refused.json()["error"].startswith("--header must")
    assert ask(client, desk, "names", {"header": True}).json()["columns"] == ["a", "b"]
    unnamed = ask(client, desk, "names", {"header": False}).json()
    assert unnamed["columns"] == unnamed["header"] == ["column_1", "column_2"]


def test_a_schema_to_start_from_is_shown(desk, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    table = LocalTable(desk.table.data, desk.table.out, tmp_path / "schema.json")
    made = Desk(table).names({})
    assert made["schema"]["columns"]["age"]["high"] == 120
    assert made["columns"] == ["age", "visits", "plan", "bought"]


def test_check_counts_and_warns_as_the_command_does(client, desk, tmp_path, capsys):
    made = ask(client, desk, "check", {"schema": SCHEMA}).json()
    assert made["columns"]["plan"]["unknown"] == 1 / 400
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    arguments = ["check", str(desk.table.data), "--schema", str(tmp_path / "schema.json")]
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {key: made[key] for key in printed} == printed
    assert MARK not in json.dumps(made)


def test_a_wrong_schema_is_refused_in_one_line(client, desk):
    wrong = SCHEMA | {"columns": {"age": {"type": "numeric", "low": "x", "high": 1}}}
    for question, body in (("check", {}), ("fit", FIT)):
        reply = ask(client, desk, question, body | {"schema": wrong})
        assert reply.status_code == 422 and "columns.age.low" in reply.json()["error"]
    assert not desk.table.out.exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": "1 --out=/tmp/x"}, "epsilon"),
        ({"model": "--force"}, "model"),
        ({"model": "elsewhere"}, "model"),
        ({"adjacency": None}, "adjacency"),
        ({"delta": 2}, "delta"),
    ],
)
def test_wrong_options_are_refused_by_name(client, desk, change, word):
    reply = ask(client, desk, "fit", FIT | change | {"schema": SCHEMA})
    assert reply.status_code == 422 and word in reply.json()["error"]
    assert not desk.table.out.exists()


def test_a_fit_is_the_release_of_wane_fit_and_happens_once(client, desk, capsys):
    assert client.get(f"/table/certificate/{desk.certificate}").status_code == 404
    made = ask(client, desk, "fit", FIT | {"schema": SCHEMA}).json()
    assert made["status"] == "certified" and made["epsilon"] <= 1.0
    assert MARK not in json.dumps(made)
    assert main(["certify", str(desk.table.out / "description.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == made["epsilon"]
    page = client.get(made["page"])
    assert page.text.startswith("<!DOCTYPE html>")
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert client.get("/table/certificate/guessed").status_code == 404
    again = ask(client, desk, "fit", FIT | {"schema": SCHEMA})
    assert again.status_code == 422 and "must not exist yet" in again.json()["error"]


def test_a_ledger_that_was_named_is_charged(client, desk, tmp_path, capsys):
    account = (f"--ledger={tmp_path / 'l.db'}", "--dataset=people", "--new")
    kept = Desk(LocalTable(desk.table.data, desk.table.out, None, account))
    kept.fit(FIT | {"schema": SCHEMA})
    assert main(["ledger", "show", str(tmp_path / "l.db")]) == 0
    assert "people" in capsys.readouterr().out


def test_places_are_checked_before_anything_is_served(tmp_path):
    with pytest.raises(InvalidDescription, match=r"--table .* must be a file"):
        LocalTable(tmp_path / "none.csv", tmp_path / "out")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InvalidDescription, match=r"--out .* must not exist yet"):
        LocalTable(tmp_path / "t.csv", tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--out", "x"],
        ["--schema", "x"],
        ["--table", "x.csv"],
        ["--table", "x.csv", "--out", "y", "--ledger", "l"],
        ["--table", "none.csv", "--out", "y"],
        ["--host", "0.0.0.0", "--table", __file__, "--out", "no-such-folder"],
    ],
)
def test_options_that_do_not_go_together_are_refused(wrong, capsys):
    assert main(["serve", *wrong]) == 2
    said = capsys.readouterr().err
    assert said.startswith("wane: ") and said.count("\n") == 1


def test_the_server_says_nothing_of_rows(desk):
    """The real thing: what it prints is one address, and a broken table adds nothing of a cell."""
    desk.table.data.write_text(f"age,visits,plan,bought\n1,2,{MARK}\n")
    places = ["--table", str(desk.table.data), "--out", str(desk.table.out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "wane", "serve", "--port", "0", *places],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    address = process.stderr.readline().split()[1]
    token = address.partition("#")[2]
    import urllib.error
    import urllib.request

    request = urllib.request.Request(
        address.partition("table#")[0] + "api/table/check",
        json.dumps({"schema": SCHEMA}).encode(),
        {"content-type": "application/json", "x-wane-token": token},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value as reply:
        said = reply.read().decode()
    process.terminate()
    out, err = process.communicate(timeout=30)
    assert "cells in every row" in said and MARK not in said
    assert MARK not in out + err and token not in out + err
