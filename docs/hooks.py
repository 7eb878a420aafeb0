"""Runs every Python block of a page while the site is built, and shows what it prints.

The blocks of one page share their names and run in order.  A block that fails, fails the build.
Formulas become MathML, which browsers draw without any script.  Every command has a page that is
made from its parser (`docs/command_pages.py`), and every notebook one that shows its answers
(`docs/notebook_pages.py`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->\n")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
COMMANDS = "<!-- every command, with a link to its page -->"
NOTEBOOK = re.compile(r"(\(|/)(notebooks/\w+)\.ipynb\)")
LONG = 36
"""Letters of a formula in a line that may be wider than a phone."""
FORMULA = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]+`)"
    r"|\$\$(?P<shown>.+?)\$\$"
    r"|(?<![\w\\])\$(?P<inline>[^\s$](?:[^$]*?[^\s$])?)\$(?!\d)",
    re.S | re.M,
)


def executed(markdown: str, name: str) -> str:
    """Return the page with what each block prints put under it.

    A page that needs libraries which are not installed is shown as it stands.
    """
    needed = NEEDS.match(markdown)
    if needed and any(find_spec(library) is None for library in needed[1].split(", ")):
        return markdown
    names: dict[str, Any] = {"__name__": "__main__"}

    def run(found: re.Match[str]) -> str:
        printed, value = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            if name.startswith("notebooks/"):
                value = _made_by("notebook_pages").ran(found[1], name, names)
            else:
                exec(compile(found[1], name, "exec"), names)
        shown = printed.getvalue().rstrip()
        answers = (f"```text\n{shown}\n```" if shown else "", value)
        return "\n\n".join([found[0], *filter(None, answers)])

    with _elsewhere():
        return BLOCK.sub(run, markdown)


@contextlib.contextmanager
def _elsewhere() -> Any:
    """Run in a folder that is thrown away, so that no page leaves files behind.

    Pages may import the loaders of `benchmarks`.
    """
    before = Path.cwd()
    if str(HERE.parent) not in sys.path:
        sys.path.insert(0, str(HERE.parent))  # before any other package of that name
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def without_formulas(markdown: str) -> tuple[str, list[str]]:
    """Return the page with a mark in place of each formula, and the formulas as MathML.

    A line that starts with a tag would end its paragraph, so formulas come back in at the end.
    """
    from latex2mathml.converter import convert

    formulas: list[str] = []

    def marked(found: re.Match[str]) -> str:
        if found["code"]:
            return found["code"]
        shown = found["shown"]
        formula = " ".join((shown or found["inline"]).split())
        made = convert(formula, display="block" if shown else "inline")
        wide = shown or len(formula) > LONG  # scrolls by itself, with the keyboard as well
        formulas.append(made.replace("<math ", '<math tabindex="0" ', 1) if wide else made)
        mark = f"formula{len(formulas) - 1}marked"
        return f"\n\n{mark}\n\n" if shown else mark

    return FORMULA.sub(marked, markdown), formulas


def _made_by(name: str) -> Any:
    """A module beside this one; the site builder does not look for modules here."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_config(config: Any) -> Any:
    """List the pages of commands under their table, and notebooks; called by the site builder."""
    commands = [
        {f"wane {name}": f"commands/{name}.md"} for name in _made_by("command_pages").parsers()
    ]
    notebooks = _made_by("notebook_pages").titles().items()
    books = [{title: f"notebooks/{name}.md"} for name, title in notebooks]
    after = {
        "commands.md": {"Each command": commands},
        "tutorials/audit.md": {"Notebooks": books},
    }
    config["nav"] = _listed(config["nav"], after)
    return config


def _listed(entry: Any, after: dict[str, Any]) -> Any:
    if isinstance(entry, dict):
        return {title: _listed(below, after) for title, below in entry.items()}
    if isinstance(entry, list):
        return [
            made for one in entry for made in (_listed(one, after), _follows(one, after)) if made
        ]
    return entry


def _follows(entry: Any, after: dict[str, Any]) -> Any:
    return after.get(entry) if isinstance(entry, str) else None


def on_files(files: Any, config: Any) -> Any:
    """Add the page of each command and of each notebook; called by the site builder."""
    from mkdocs.structure.files import File

    commands, books = _made_by("command_pages"), _made_by("notebook_pages")
    made = {f"commands/{name}.md": commands.page(name) for name in commands.parsers()}
    made |= {f"notebooks/{name}.md": books.page(name) for name in books.titles()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Execute the page and take its formulas out; called by the site builder."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, _made_by("command_pages").index())
    if page.file.src_uri == "README.md":
        page.meta["hide"] = ["toc"]  # the three doors need the width
    if not page.file.src_uri.startswith("notebooks/"):
        markdown = NOTEBOOK.sub(r"\1\2.md)", markdown)
    text, page.formulas = without_formulas(executed(markdown, page.file.src_uri))
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Put the formulas back in; called by the site builder."""
    return re.sub(r"formula(\d+)marked", lambda found: page.formulas[int(found[1])], html)


def on_post_page(output: str, **_: Any) -> str:
    """Give the theme's search dialog a name for screen readers; called by the site builder."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


if __name__ == "__main__":
    for path in sys.argv[1:]:
        sys.stdout.write(executed(Path(path).read_text(encoding="utf-8"), path) + "\n")
