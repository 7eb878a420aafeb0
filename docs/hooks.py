"""Runs every Python block of a page while the site is built, and shows what it prints.

The blocks of one page share their names and run in order.  A block that fails, fails the build.
Formulas become MathML, which browsers draw without any script.  Every command has a page that is
made from its parser (`docs/command_pages.py`).
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
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found[1], name, "exec"), names)
        shown = printed.getvalue().rstrip()
        return found[0] + (f"\n\n```text\n{shown}\n```" if shown else "")

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


def _command_pages() -> Any:
    """The module beside this one; the site builder does not look for modules here."""
    spec = importlib.util.spec_from_file_location("command_pages", HERE / "command_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_config(config: Any) -> Any:
    """List the page of each command under their table; called by the site builder."""
    pages = [{f"wane {name}": f"commands/{name}.md"} for name in _command_pages().parsers()]
    config["nav"] = [_listed(entry, pages) for entry in config["nav"]]
    return config


def _listed(entry: Any, pages: list[dict[str, str]]) -> Any:
    if isinstance(entry, dict):
        return {title: _listed(below, pages) for title, below in entry.items()}
    if isinstance(entry, list):
        at = entry.index("commands.md") + 1 if "commands.md" in entry else 0
        return [*entry[:at], {"Each command": pages}, *entry[at:]] if at else entry
    return entry


def on_files(files: Any, config: Any) -> Any:
    """Add the page of each command; called by the site builder."""
    from mkdocs.structure.files import File

    made = _command_pages()
    for name in made.parsers():
        files.append(File.generated(config, f"commands/{name}.md", content=made.page(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Execute the page and take its formulas out; called by the site builder."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, _command_pages().index())
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
