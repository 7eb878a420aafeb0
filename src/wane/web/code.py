"""A description as Python code, written with the public classes that a user would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from wane.describe import Fact, NoisyDescent, Schedule

WIDTH = 88


def python_code(run: NoisyDescent, facts: tuple[Fact, ...], named: Any, delta: float) -> str:
    """Return a script that certifies this run; `named` is the objective as the page sent it.

    Where it names a loss, the script calls the function of `wane.losses`, as a user would.
    """
    described = _call("wane.NoisyDescent", _arguments(run, _named_loss(named)), 0)
    lines = ["import wane", "", f"run = {described}"]
    if facts:
        lines += ["facts = ["]
        lines += [f"    wane.Fact.of(run, {written(f.kind)}, {written(f.value)})," for f in facts]
        lines += ["]"]
    lines += [
        f"certificate = wane.certify(run{', facts=facts' if facts else ''})",
        f"print(certificate.epsilon({delta!r}))",
        f"print(certificate.explain({delta!r}))",
        "",
    ]
    return "\n".join(lines)


def written(value: Any, depth: int = 0) -> str:
    """Return Python code for a value of a description; what has its default is left out."""
    if isinstance(value, Enum):
        return f"wane.{type(value).__name__}.{value.name}"
    if is_dataclass(value):
        return _call(f"wane.{type(value).__name__}", _arguments(value), depth)
    if isinstance(value, Schedule):
        edge = "    " * depth
        rows = "".join(f"{edge}    {written(phase, depth + 1)},\n" for phase in value)
        return f"wane.Schedule([\n{rows}{edge}])"
    if isinstance(value, np.ndarray | np.generic):
        return written(value.tolist(), depth)
    if isinstance(value, tuple | list):
        inner = ", ".join(written(one, depth) for one in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return repr(value)


def _named_loss(objective: Any) -> dict[str, str]:
    if not isinstance(objective, Mapping) or "loss" not in objective:
        return {}
    constants = {key: repr(value) for key, value in objective.items() if key != "loss"}
    return {"objective": _call(f"wane.losses.{objective['loss']}", constants, 1)}


def _arguments(value: Any, instead: Mapping[str, str] | None = None) -> dict[str, str]:
    made = {}
    for field in fields(value):
        if not field.init:
            continue
        here = getattr(value, field.name)
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        if instead and field.name in instead:
            made[field.name] = instead[field.name]
        elif default is MISSING or repr(here) != repr(default):
            made[field.name] = written(here, 1)
    return made


def _call(name: str, arguments: Mapping[str, str], depth: int) -> str:
    short = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
    if len(short) + 4 * depth <= WIDTH - 20 and "\n" not in short and depth:
        return short
    edge = "    " * depth
    inside = "".join(f"{edge}    {key}={value},\n" for key, value in arguments.items())
    return f"{name}(\n{inside}{edge})" if arguments else f"{name}()"
