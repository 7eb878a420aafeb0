"""`wane completion`: a script for the shell, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from wane.cli.options import Result, Verb

SHELLS = ("bash", "zsh")
_SCRIPT = """\
_wane() {{
    local options="" values="" current="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
        *) COMPREPLY=($(compgen -W "$values" -- "$current") $(compgen -f -- "$current")) ;;
    esac
}}
complete -o filenames -F _wane wane
"""


def register(verb: Verb, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command; `parser` returns the one whose commands are completed."""
    made = verb(
        "completion",
        lambda options: completion(options, parser()),
        "a script that completes commands and options in the shell",
        spec=False,
    )
    made.add_argument("shell", choices=SHELLS, help="for which shell")


def completion(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Result:
    """`wane completion`: print the script."""
    text = script(parser, options.shell)
    return {"shell": options.shell, "script": text}, text.rstrip("\n")


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell; zsh reads the one of bash."""
    verbs = dict(commands(parser))
    cases = "\n".join(_case(name, made) for name, made in verbs.items())
    start = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return start + _SCRIPT.format(commands=" ".join(verbs), cases=cases)


def _case(name: str, parser: argparse.ArgumentParser) -> str:
    words = list(dict.fromkeys(_words(parser)))
    options = " ".join(word for word in words if word.startswith("-"))
    values = " ".join(word for word in words if not word.startswith("-"))
    return f'        {name}) options="{options}" values="{values}" ;;'


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a parser, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every word that may follow a command: choices, further commands and options."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for name, made in action.choices.items():
                yield name
                yield from _words(made)
        elif action.choices is not None:
            yield from map(str, action.choices)
