"""One page for each command, made from the parsers, with the README's lines as examples.

`docs/hooks.py` puts them into the site while it is built, so that no page can fall behind its
command: `python docs/command_pages.py fit` prints one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wane.cli.completion import commands
from wane.cli.main import _parser

ROOT = Path(__file__).parents[1]
PART = re.compile(r"\[[^\]]*\]|--?\S+(?: \{[^}]*\}| [A-Z][\w-]*)?|\{[^}]*\}|\S+")
"""An option in brackets, one that must be given with its value, or a word."""
WIDE = 36
"""Letters of a line that fit a phone."""
HIDDEN = (argparse._HelpAction, argparse._SubParsersAction)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, in the order in which `wane --help` lists them."""
    return dict(commands(_parser()))


def index() -> str:
    """Return a table of all commands, each with a link to its page."""
    rows = [
        f"| [`wane {name}`](commands/{name}.md) | {_sentence(parser.description)} |"
        for name, parser in parsers().items()
    ]
    return "\n".join(["| command | what it does |", "| --- | --- |", *rows])


def page(name: str) -> str:
    """Return the page of one command, as Markdown."""
    parser = parsers()[name]
    parts = [f"# wane {name}", _sentence(parser.description), *_body(parser)]
    found = examples(name)
    if found:
        parts += ["## Examples", "```sh\n" + "\n".join(found) + "\n```"]
    parts.append("[All commands](../commands.md)")
    return "\n\n".join(parts) + "\n"


def examples(name: str) -> list[str]:
    """Return the README's lines that call this command, whole."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M))
    whole = re.findall(r"^(wane(?:.*\\\n)*.*)$", blocks, re.M)
    return [line for line in whole if line.split()[1] == name]


def _body(parser: argparse.ArgumentParser, depth: int = 2) -> Iterator[str]:
    yield f"```text\n{_usage(parser)}\n```"
    shown = [one for one in parser._actions if not isinstance(one, HIDDEN)]
    for title, wanted in (("Arguments", False), ("Options", True)):
        rows = [_row(one) for one in shown if bool(one.option_strings) is wanted]
        if rows:
            yield f"{'#' * depth} {title}"
            header = f"| {title.lower().removesuffix('s')} | meaning |"
            yield "\n".join([header, "| --- | --- |", *rows])
    for name, inner in commands(parser):
        yield f"{'#' * depth} wane {parser.prog.split()[-1]} {name}"
        if inner.description:
            yield _sentence(inner.description)
        yield from _body(inner, depth + 1)


def _usage(parser: argparse.ArgumentParser) -> str:
    """The usage in lines that fit a phone, broken between options and not within them."""
    text = " ".join(parser.format_usage().removeprefix("usage: ").split())
    lines = [""]
    for part in PART.findall(text):
        joined = f"{lines[-1]} {part}".lstrip()
        if len(joined) > WIDE and lines[-1].strip():
            lines.append(f"    {part}")
        else:
            lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    return "\n".join(lines)


def _row(action: argparse.Action) -> str:
    words = (action.help or "").replace("%(choices)s", _choices(action))
    known = _choices(action)
    if known and known not in words:
        words = f"{words}; one of {known}" if words else f"one of {known}"
    if action.option_strings and action.required:
        words = f"{words} (must be given)".strip()
    cells = f"| {_named(action)} | {_sentence(words)} |"
    return cells.replace("||", "| |")


def _named(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    metavar: Any = action.metavar or action.dest.upper()
    values = (
        ""
        if action.nargs == 0
        else " " + (" ".join(metavar) if isinstance(metavar, tuple) else str(metavar))
    )
    return f"`{', '.join(action.option_strings)}{values}`"


def _choices(action: argparse.Action) -> str:
    return "" if action.choices is None else ", ".join(str(one) for one in action.choices)


def _sentence(words: str | None) -> str:
    text = (words or "").strip().rstrip(".").replace("|", "\\|")
    return f"{text[0].upper()}{text[1:]}." if text else ""


if __name__ == "__main__":
    for wanted in sys.argv[1:] or parsers():
        sys.stdout.write(page(wanted) + "\n")
