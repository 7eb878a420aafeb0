"""The documentation site: strict, every snippet run, every generated page current."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import wane

ROOT = Path(wane.__file__).parents[2]


def _script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path):
    """Every Python block of every page runs, every link and reference resolves."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "start.html").exists()


@pytest.mark.slow
def test_the_loss_pages_are_current():
    pages = _script("theorems")
    for kind in pages.CLASSES:
        written = (ROOT / "docs" / "losses" / f"{kind.file}.md").read_text(encoding="utf-8")
        assert written == pages.page(kind), kind.file


def test_a_failing_snippet_fails_the_page():
    hooks = _script("hooks")
    assert "```text\n3\n```" in hooks.executed("```python\nprint(1 + 2)\n```\n", "page.md")
    with pytest.raises(ZeroDivisionError):
        hooks.executed("```python\n1 / 0\n```\n", "page.md")


def test_formulas_are_taken_out_and_code_is_left_alone():
    hooks = _script("hooks")
    text, formulas = hooks.without_formulas(
        "so $x^2$ and `$y$` and\n$$z$$\n\n```sh\necho $HOME $x\n```"
    )
    assert len(formulas) == 2 and all(made.startswith("<math") for made in formulas)
    assert "`$y$`" in text and "echo $HOME $x" in text and "formula0marked" in text


def test_every_page_stands_in_the_menu_once():
    """Pages are read in an order that somebody chose; a page outside it is found by nobody."""
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = [word for word in menu.split() if word.endswith(".md")]
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert set(listed) == there
    assert listed[:2] == ["README.md", "start.md"]


def test_every_command_has_a_page_with_its_options_and_an_example():
    made = _script("command_pages")
    index = made.index()
    for name, parser in made.parsers().items():
        page = made.page(name)
        assert f"(commands/{name}.md)" in index
        assert made.examples(name), f"README has no line for wane {name}"
        for action in parser._actions:
            if not isinstance(action, made.HIDDEN):
                assert action.help, f"wane {name} {action.dest} has no word of help"
                assert all(f"{option}" in page for option in action.option_strings)


def test_the_pages_of_commands_are_put_into_menu_and_site():
    hooks = _script("hooks")
    config = hooks.on_config({"nav": [{"Home": "README.md"}, {"How to": ["a.md", "commands.md"]}]})
    pages = config["nav"][1]["How to"][2]["Each command"]
    assert {"wane fit": "commands/fit.md"} in pages and {"wane score": "commands/score.md"} in pages
    assert config["nav"][0] == {"Home": "README.md"}


def test_the_usage_of_a_command_fits_a_phone():
    """Lines break between options, never within one."""
    made = _script("command_pages")
    for name, parser in made.parsers().items():
        lines = made._usage(parser).splitlines()
        words = " ".join(" ".join(lines).split())
        assert words == " ".join(parser.format_usage().removeprefix("usage: ").split()), name
        for line in lines:
            several = line.strip().count(" ") > 1 or " [" in line.strip()
            assert line.count("[") == line.count("]"), f"{name}: {line}"
            assert len(line) <= made.WIDE + 4 or not several, f"{name}: {line}"


def test_notebooks_are_pages_that_show_their_answers():
    hooks, books = _script("hooks"), _script("notebook_pages")
    assert set(books.titles()) == {path.stem for path in books.FOLDER.glob("*.ipynb")}
    for name, title in books.titles().items():
        assert f"# {title}\n" in books.page(name)
        assert f"({name}.ipynb)" in books.page(name)
    config = hooks.on_config({"nav": [{"Tutorials": ["tutorials/audit.md"]}]})
    assert {"Auditing a certificate": "notebooks/audit.md"} in config["nav"][0]["Tutorials"][1][
        "Notebooks"
    ]
    assert hooks.NOTEBOOK.sub(r"\1\2.md)", "[a](notebooks/b.ipynb)") == "[a](notebooks/b.md)"
    cell = "```python\nprint(3)\nx = 2\nx + 2\n```\n"
    made = hooks.executed(cell, "notebooks/some.md")
    assert "```text\n3\n```" in made and "```text\n4\n```" in made
    shown = (
        "```python\nclass A:\n    def _repr_html_(self):\n        return '<b>x</b>'\n\nA()\n```\n"
    )
    assert '<div class="answer"><b>x</b></div>' in hooks.executed(shown, "notebooks/some.md")
    with pytest.raises(ZeroDivisionError):
        hooks.executed("```python\n1 / 0\n```\n", "notebooks/some.md")
    assert "4" not in hooks.executed("```python\n2 + 2\n```\n", "start.md")
