"""The house rules that no linter knows."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

import wane
from wane.errors import MissingExtra
from wane.theorems.registry import THEOREMS
from wane.theorems.theorem import Theorem

ROOT = Path(wane.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
HARD_LIMIT = 500
LONGEST_FUNCTION = 45
BANNED = {"sigma", "L", "lr", "alpha", "beta", "R", "lam", "gamma", "N", "p"}
HEAVY = ("arviz", "torch", "dask", "matplotlib", "pandas", "sklearn", "dp_accounting", "mpmath")


def modules():
    found = []
    for info in pkgutil.walk_packages([str(ROOT)], "wane."):
        if not info.name.endswith("__main__"):
            with suppress(MissingExtra):  # a bridge to a library that is not here
                found.append(importlib.import_module(info.name))
    return found


def test_public_names_are_sorted_and_complete():
    assert wane.__all__ == sorted(wane.__all__)
    for name in wane.__all__:
        assert hasattr(wane, name), name


def test_public_names_are_what_they_were_whatever_was_imported():
    """A package that shares its name with a public function would hide it once it is imported."""
    modules()
    assert inspect.isfunction(wane.certify)
    assert inspect.isfunction(wane.calibrate)
    assert inspect.isfunction(wane.curve)
    for name in wane.__all__:
        value = getattr(wane, name)
        assert not inspect.ismodule(value) or name == "losses", name


def test_no_file_of_a_loss_hides_the_function_of_its_name():
    """In `wane.losses` files and functions share names; the function wins, whatever is imported."""
    modules()
    importlib.import_module("wane.losses.huber")
    for name in wane.losses.__all__:
        assert not inspect.ismodule(getattr(wane.losses, name)), name
    assert wane.losses.huber(1.0, width=1.0).smoothness == 1.0


@pytest.mark.parametrize("package", [wane, wane.learn, wane.sampling], ids=lambda p: p.__name__)
def test_no_module_hides_a_public_function(package):
    """Importing a module sets it on its package, where it would hide a function of its name."""
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    public_modules = {"losses"} if package is wane else set()
    assert modules & set(package.__all__) == public_modules


def test_importing_wane_loads_no_theorem():
    code = "import sys, wane; print(sorted(m for m in sys.modules if m.startswith('wane')))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == str(["wane", "wane._lazy", "wane._version", "wane.errors"])


SLOW = ("scipy.stats", "scipy.signal", "scipy.optimize", "scipy.ndimage", "scipy.integrate")
FIRST = "objective=wane.Objective(gradient_bound=1.0), records=10, steps=2, step_size=1.0"


def test_a_first_epsilon_waits_for_no_slow_part_of_scipy():
    """Whichever theorem needs one of them imports it where it is called."""
    code = (
        f"import sys, wane; run = wane.NoisyDescent({FIRST}, noise=wane.NoiseMultiplier(5.0)); "
        f"wane.certify(run).epsilon(1e-5); print([m for m in {SLOW!r} if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_size_budget(path):
    text = path.read_text()
    assert len(text.splitlines()) <= HARD_LIMIT
    assert text.isascii()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            doc = ast.get_docstring(node) or ""
            assert length - len(doc.splitlines()) <= LONGEST_FUNCTION, f"{path.name}:{node.name}"


def test_every_analysis_is_registered():
    found = {
        id(value): value.name
        for module in modules()
        if module.__name__.endswith(".statement")
        for value in vars(module).values()
        if isinstance(value, Theorem)
    }
    assert set(found) == {id(a) for a in THEOREMS}, sorted(found.values())
    names = [a.name for a in THEOREMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("analysis", THEOREMS, ids=lambda a: a.name)
def test_theorems_are_documented_and_their_citation_resolves(analysis):
    doc = inspect.getdoc(analysis.formula) or ""
    assert doc.splitlines()[0].endswith("."), "the first line is the conclusion in words"
    assert "Claim." in doc
    keys = re.findall(r"^@\w+\{(\S+),", (ROOT / "references.bib").read_text(), re.M)
    assert analysis.source.key in keys
    if analysis.source.key == "wane":
        page = analysis.source.place.partition(",")[0]
        proof = ROOT.parents[1] / page
        assert proof.is_file(), f"{analysis.name} cites {page}, which does not exist"


def test_public_signatures_use_words():
    for module in modules():
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(value) and module.__name__.count(".") <= 1:
                assert not BANNED & set(inspect.signature(value).parameters), name
    for name in wane.__all__:
        value = getattr(wane, name)
        if inspect.isclass(value) and hasattr(value, "__dataclass_fields__"):
            assert not BANNED & set(value.__dataclass_fields__), name


def test_import_is_light():
    code = f"import sys, wane, wane.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"


def imported(path):
    """The modules that a file imports anywhere, by full name; only absolute imports are used."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, path
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted((ROOT / "report").glob("*.py")), ids=lambda p: p.name)
def test_reports_see_errors_and_the_standard_library(path):
    """Not even for types or inside a function: whoever renders a document has nothing to ask."""
    for name in imported(path):
        known = name.startswith(("wane.errors.", "wane.report."))
        assert known or name.partition(".")[0] in sys.stdlib_module_names, name


def test_the_contract_of_reports_forbids_every_other_room():
    settings = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c.get("source_modules") == ["wane.report"])
    rooms = {info.name for info in pkgutil.iter_modules([str(ROOT)], "wane.")}
    others = rooms - {"wane._lazy", "wane._version", "wane.errors", "wane.report"}
    assert set(contract["forbidden_modules"]) == others
    assert contract.keys() == {"name", "type", "source_modules", "forbidden_modules"}


def test_no_machine_paths():
    for path in [*SOURCES, *ROOT.parents[1].glob("*.md"), *ROOT.parents[1].glob("docs/**/*.md")]:
        assert not re.search(r"(?<![\w.])/(home|root|tmp|mnt|opt)/", path.read_text()), path
