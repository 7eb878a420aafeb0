"""What the page asks, answered as plain data: one function per question, no web library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wane import arguments
from wane.certificates import (
    Certificate,
    bracket_fields,
    calibrate,
    calibrated_fields,
    certificate_document,
    certificate_fields,
    certify,
    change_fields,
    curve,
    curve_fields,
)
from wane.describe import NoisyDescent
from wane.describe.facts import StatedRun, stated_from_fields, stated_to_fields
from wane.describe.fields import run_to_fields
from wane.describe.files import parse
from wane.errors import InvalidDescription
from wane.losses.files import spelled_out
from wane.report import html_page
from wane.web.code import python_code

MOST_PHASES = 2000
MOST_POINTS = 40


@dataclass(frozen=True)
class Download:
    """A file that the page offers."""

    content: str
    media_type: str


def certified(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate at a delta, with the bracket and each theorem in words."""
    certificate, delta = _certificate(asked), _delta(asked)
    return {
        "certificate": certificate_fields(certificate, delta=delta),
        "bracket": bracket_fields(certificate, delta),
        "description": stated_to_fields(certificate.run, certificate.facts),
        "words": {v.theorem.name: v.theorem.summary for v in certificate.verdicts},
    }


def helped(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one change that would help most, with the description that it leads to."""
    found = change_fields(_certificate(asked).best_change(_delta(asked)))
    if found is None:
        return {"change": None}
    return found | {"description": _without_short_schedule(found["description"])}


def curved(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return epsilon along steps or noise, theorem by theorem."""
    points = arguments.whole("points", asked.get("points"), least=2, most=MOST_POINTS)
    made = curve(
        _run(asked),
        over=str(asked.get("over", "steps")),
        start=_number(asked, "start"),
        stop=_number(asked, "stop"),
        points=points,
        delta=_delta(asked),
    )
    return curve_fields(made)


def calibrated(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cheapest setting that meets a target."""
    delta = _delta(asked)
    found = calibrate(
        _run(asked),
        epsilon=_number(asked, "epsilon"),
        delta=delta,
        over=str(asked.get("over", "noise")),
    )
    return calibrated_fields(found, delta) | {"description": run_to_fields(found.run)}


def read(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description that a TOML or JSON text holds."""
    text = asked.get("text")
    if not isinstance(text, str):
        raise InvalidDescription("text must be the content of a TOML or JSON file.")
    stated = stated_from_fields(spelled_out(parse(text.encode(), "the description")))
    return stated_to_fields(_few_phases(stated.run), stated.facts)


def page(asked: Mapping[str, Any]) -> Download:
    """Return the certificate as one HTML page."""
    document = certificate_document(_certificate(asked), delta=_delta(asked))
    return Download(html_page(document), "text/html; charset=utf-8")


def code(asked: Mapping[str, Any]) -> Download:
    """Return the Python code that makes this certificate, with the public classes."""
    stated, given = _stated(asked), asked.get("run")
    objective = given.get("objective") if isinstance(given, Mapping) else None
    text = python_code(stated.run, tuple(stated.facts), objective, _delta(asked))
    return Download(text, "text/x-python; charset=utf-8")


def complaint(error: Exception) -> dict[str, str]:
    """Return an error's one line, and the field it speaks of, for the page to show there."""
    line = " ".join(str(error).split())
    named = re.match(r"[a-z_]+(\.[a-z_]+)*", line)
    return {"error": line, "field": named.group() if named else ""}


def _certificate(asked: Mapping[str, Any]) -> Certificate:
    stated = _stated(asked)
    return certify(stated.run, facts=stated.facts)


def _run(asked: Mapping[str, Any]) -> NoisyDescent:
    """The run alone: a search looks at other runs, of which no fact is known."""
    return _stated(asked).run


def _stated(asked: Mapping[str, Any]) -> StatedRun:
    stated = stated_from_fields(spelled_out(asked.get("run")))
    _few_phases(stated.run)
    return stated


def _few_phases(run: NoisyDescent) -> NoisyDescent:
    if len(run.plan) > MOST_PHASES:
        raise InvalidDescription(
            f"schedule must have at most {MOST_PHASES} phases here, got {len(run.plan)}; "
            "use the Python library for longer ones."
        )
    return run


def _without_short_schedule(fields: Any) -> dict[str, Any]:
    """A schedule of one phase as steps, step size and noise, which a form can show."""
    made = dict(fields)
    if len(made.get("schedule", ())) == 1:
        (phase,) = made.pop("schedule")
        made |= {"steps": phase["repeat"]} | {key: phase[key] for key in ("step_size", "noise")}
    return made


def _delta(asked: Mapping[str, Any]) -> float:
    return arguments.real("delta", asked.get("delta"), above=0.0, most=1.0)


def _number(asked: Mapping[str, Any], name: str) -> float:
    return arguments.real(name, asked.get(name), above=0.0)
