"""Notebooks as pages of the site: their cells are run while it is built, and their answers shown.

`docs/hooks.py` puts them into the site.  The notebooks themselves hold no outputs, so that what a
page shows is what the installed version says.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
NEEDS = {"opacus": "<!-- needs: opacus, torch -->\n"}
"""Of libraries that not every machine has: without them the cells are shown and not run."""


def titles() -> dict[str, str]:
    """Return the title of each notebook, by its name, in the order of the three doors."""
    order = ("table", "opacus", "posterior", "statistic", "audit")
    known = {path.stem: _cells(path.stem)[0][1].partition("\n")[0] for path in FOLDER.glob("*")}
    return {name: known[name].removeprefix("# ") for name in order}


def page(name: str) -> str:
    """Return one notebook as Markdown, with its code in blocks that the site runs."""
    parts = [
        text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in _cells(name)
    ]
    title, _, opening = parts[0].partition("\n")
    download = f"[The notebook itself]({name}.ipynb), to run on your own machine."
    return NEEDS.get(name, "") + "\n\n".join([title, opening.strip(), *parts[1:], download]) + "\n"


def _cells(name: str) -> list[tuple[str, str]]:
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def ran(code: str, name: str, names: dict[str, Any]) -> str:
    """Run a cell and return its last value as a notebook shows it: as HTML, or else as text."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    value = None
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    if value is None:
        return ""
    if hasattr(value, "_repr_html_"):
        return f'<div class="answer">{" ".join(value._repr_html_().split())}</div>'
    return f"```text\n{value!r}\n```"
