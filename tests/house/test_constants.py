"""The definitions of constants are quoted, not told again; the derived numbers have one home."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import wane
from wane.describe import Objective
from wane.describe.constants import CONSTANTS

ROOT = Path(wane.__file__).parent


def test_the_docstring_quotes_every_definition():
    text = " ".join(inspect.getdoc(Objective).split())
    for field in fields(Objective):
        sentence = CONSTANTS[f"objective.{field.name}"].sentence
        assert f"{field.name}: {sentence}" in text, field.name


def test_no_theorem_forms_what_one_record_can_do_by_itself():
    """Only the room of descriptions turns declared bounds into numbers that theorems use."""
    declared = {"gradient_bound", "gradient_difference_bound"}
    # these say in words what was declared, and the letters are those of a potential, no record's
    allowed = {"hypotheses.py", "chain_hypotheses.py", "letters.py"}
    paths = sorted((ROOT / "theorems").rglob("*.py"))
    assert len(paths) > 20
    for path in paths:
        reads = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and node.attr in declared
        }
        assert not reads or path.name in allowed, path.name


def test_no_constant_excludes_what_losses_share():
    """The sentence that gave `gradient_bound` its second meaning is gone for good."""
    for path in ROOT.rglob("*.py"):
        assert not re.search(r"nor is any other part that\s+all losses share", path.read_text())
