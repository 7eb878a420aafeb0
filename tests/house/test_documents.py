"""What the documents show really runs, and its numbers are today's."""

import csv
import doctest
import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jinja2
import pytest
import yaml

import wane
from wane.describe.fields import run_from_fields
from wane.errors import MissingExtra
from wane.losses.files import spelled_out

ROOT = Path(wane.__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


@pytest.mark.parametrize("block", blocks("python"))
def test_readme_python(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("block", blocks("toml"))
def test_readme_descriptions(block):
    assert wane.certify(run_from_fields(spelled_out(tomllib.loads(block)))).mu > 0


def test_readme_commands_exist():
    listed = set(re.findall(r"^wane (\w+)", "\n".join(blocks("sh")), re.M))
    from wane.cli.main import _parser

    known = _parser()._subparsers._group_actions[0].choices
    assert listed
    assert listed <= set(known)


def test_docstrings():
    tried = 0
    for info in pkgutil.walk_packages(wane.__path__, "wane."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except MissingExtra:  # a bridge to a library that is not here
            continue
        result = doctest.testmod(module)
        assert result.failed == 0, info.name
        tried += result.attempted
    assert tried > 0


def test_the_published_table_is_current():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.published_table() in (ROOT / "docs" / "cyclic-table.md").read_text()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name
)
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def _figures():
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _gains() -> dict[str, list[float]]:
    with (ROOT / "docs" / "figures" / "gains.csv").open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {name: [float(cell) for cell in cells] for name, *cells in rows}


@pytest.mark.slow
def test_the_gains_are_current():
    now = {name: [float(cell) for cell in cells] for name, *cells in
           list(csv.reader(_figures().gains().splitlines()))[1:]}  # fmt: skip
    assert now.keys() == _gains().keys()
    for name, numbers in _gains().items():
        assert numbers == pytest.approx(now[name], rel=1e-4), name


def test_the_readme_tells_the_gains_as_they_are_and_rounds_no_epsilon_down():
    known = _gains()
    told = re.findall(r"^\| (.*?) \| ([\d.]+) \| ([\d.]+) \|$", README, re.M)
    short = {re.sub(r"^\*\*\w+:\*\* ", "", name): pair for name, *pair in told}
    short["Poisson batches with a ridge, 1,000 steps"] = short.pop("the same, 1,000 steps")
    names = {"fixed order, 50 passes, no ridge": "fixed order, 50 passes",
             "all records without a ridge or a bounded set, 1,000 steps":
             "all records without a ridge, 1,000 steps"}  # fmt: skip
    assert {names.get(name, name) for name in short} == set(known)
    for name, pair in short.items():
        for text, exact in zip(pair, known[names.get(name, name)], strict=False):
            digits = 10.0 ** -len(text.partition(".")[2])
            assert 0.0 <= float(text) - exact < digits, (name, text, exact)


def test_what_an_attacker_can_do_is_told_as_it_is():
    _, _, guesses, found = _gains()["fixed order, 50 passes"]
    for page in (README, (ROOT / "docs" / "approve.md").read_text()):
        (share,) = set(re.findall(r"([\d.]+) of 100\b", page)) - {"50"}
        assert 0.0 <= float(share) - 100 * guesses < 0.1
    (rate,) = set(re.findall(r"([\d.]+) of 1,000\b", page)) - {"1"}
    assert 0.0 <= float(rate) - 1000 * found < 0.1


def test_the_conda_recipe_is_of_this_version_and_asks_for_the_same():
    """Rendered and parsed as conda-build does; nothing here builds it."""
    text = (ROOT / "conda" / "meta.yaml").read_text()
    recipe = yaml.safe_load(jinja2.Template(text).render(PYTHON="python"))
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = built["project"]
    asked = {name: set(recipe["requirements"][name]) for name in ("host", "run", "run_constrained")}
    assert recipe["package"] == {"name": project["name"], "version": wane.__version__}
    python = f"python {project['requires-python']}"
    assert asked["run"] == {python, *map(_spaced, project["dependencies"])}
    assert asked["host"] == {python, "pip", *map(_spaced, built["build-system"]["requires"])}
    extras = {
        _spaced(line) for lines in project["optional-dependencies"].values() for line in lines
    }
    renamed = {line.replace("matplotlib-base ", "matplotlib ") for line in asked["run_constrained"]}
    assert renamed <= extras
    commands = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["entry_points"] == commands
    assert recipe["about"]["license"] == project["license"]
    assert (ROOT / recipe["about"]["license_file"]).exists()
    for line in recipe["test"]["commands"]:
        program, *arguments = line.split()
        assert program in project["scripts"]
        subprocess.run([sys.executable, "-m", "wane", *arguments], check=True, capture_output=True)


def _spaced(line: str) -> str:
    """A requirement as conda writes it."""
    return line.replace(">=", " >=", 1)


def test_every_extra_is_documented():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "installing.md").read_text()
    for name in set(project["optional-dependencies"]) - {"dev"}:
        assert f"| `{name}` |" in page, name
