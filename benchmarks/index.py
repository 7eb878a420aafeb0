"""The front page of docs/benchmarks: what is measured, when and where each page was made."""

from __future__ import annotations

from pathlib import Path

from benchmarks.suite import SECTIONS

HEAD = """# Benchmarks

What wane costs and what it gives, beside its peers. One command measures everything and writes
every page, table and plot here:

```sh
pip install -e '.[dev]'
python -m benchmarks                       # everything, under 40 minutes on two cores
python -m benchmarks --quick               # a small version, under 5 minutes, in build/benchmarks
python -m benchmarks tightness start-up    # some of it
```

Peers run at pinned versions in environments of their own, which the command makes on first use
(under the user's cache); one that cannot be installed is named in the tables. Times are compared
within one run, in which everyone takes turns; tables give medians and spread. Every number is in a
CSV file beside its page."""

FURTHER = {
    "held-apart": "accuracy on data that the planner's constants were not chosen on",
    "not-ahead": "**where wane is not ahead**, by how much and why",
}
MADE = "Made by "


def made(page: Path) -> str:
    """Return the line in which a page says when and where it was made."""
    lines = page.read_text().splitlines()
    return next((line for line in lines if line.startswith(MADE)), "")


def text(folder: Path) -> str:
    """List the pages that are there."""
    pages = {section.name: section.about for section in SECTIONS} | FURTHER
    there = {name: about for name, about in pages.items() if (folder / f"{name}.md").exists()}
    listed = [f"- [{name}]({name}.md): {about}" for name, about in there.items()]
    stamps = [f"- {name}: {line}" for name in there if (line := made(folder / f"{name}.md"))]
    return "\n\n".join((HEAD, "\n".join(listed), "## When and where", "\n".join(stamps))) + "\n"


def write(folder: Path) -> None:
    (folder / "README.md").write_text(text(folder))
