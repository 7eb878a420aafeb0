"""What the documents show really runs, and its numbers are today's."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

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


def test_the_conda_recipe_is_of_this_version_and_asks_for_the_same():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    assert f'version = "{wane.__version__}"' in recipe
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"]:
        assert f"- {line.replace('>=', ' >=')}\n" in recipe, line


def test_every_extra_is_documented():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "installing.md").read_text()
    for name in set(project["optional-dependencies"]) - {"dev"}:
        assert f"| `{name}` |" in page, name
