"""Every document is read by one reader, and a text with two meanings has none."""

import ast
import json
from pathlib import Path

import pytest

import wane
from wane.cli import main
from wane.describe.files import parse, read_json
from wane.errors import InvalidDescription

HERE = Path(wane.__file__).parent
OWN = {"describe/files.py", "certificates/document.py", "run/checkpoint.py"}
"""The reader itself, a file of the package, and what was decrypted under the user's own key."""

TWICE = """{"kind": "noisy-descent", "records": 1000, "steps": 100, "step_size": 0.1,
"noise": {"multiplier": 0.01}, "objective": {"gradient_bound": 1.0}, "noise": {"multiplier": 90}}"""


def test_a_key_twice_is_refused_where_the_last_one_won_in_silence(tmp_path, capsys):
    """The second noise gave epsilon 0.497 where the first gives 159.4."""
    with pytest.raises(InvalidDescription, match="every key once, got 'noise' twice"):
        parse(TWICE.encode(), "run.json")
    path = tmp_path / "run.json"
    path.write_text(TWICE)
    for command in ("certify", "statement", "verify", "explain"):
        assert main([command, str(path)]) == 2
        assert "'noise' twice" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"a": {"b": 1, "b": 1}}', '[{"a": 1}, {"b": 2, "b": 3}]'])
def test_a_key_twice_is_refused_at_any_depth(text):
    with pytest.raises(InvalidDescription, match="'b' twice"):
        read_json(text, "it")


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "[-Infinity]", '"\\ud800"', "{"])
def test_what_json_does_not_know_is_refused(text):
    with pytest.raises(InvalidDescription, match="it must"):
        read_json(text, "it")


def test_endless_numbers_and_nesting_are_refused():
    for text in ("1" * 5000, "[" * 100_000):
        with pytest.raises(InvalidDescription):
            read_json(text, "it")


def test_whole_numbers_beyond_doubles_are_refused_by_name():
    with pytest.raises(InvalidDescription, match="step_size must be a finite number"):
        wane.arguments.real("step_size", 10**309)


def test_all_else_is_read_as_the_standard_library_reads_it():
    value = {"a": [1, 2.5, None, True, "x"], "b": {"c": "\u00e9"}}
    assert read_json(json.dumps(value), "it") == value


def test_no_other_module_reads_json():
    found = {
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"json.loads", "json.load"}
    }
    assert found <= OWN
