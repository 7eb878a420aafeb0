"""How certificates, calibrations and curves look in a notebook: short words, one picture, files.

What an object says in full comes from `explain`, `save` and `to_json`; here it says what it found
and why, in five lines at most.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from wane.certificates.parts import DEFAULT_DELTA, json_number
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.plots import plot_bracket, plot_curve
from wane.report import html_page, shown
from wane.report.markup import Chart, Line, drawn
from wane.report.text import named, round_up_to

MOST_REASONS = 3
DELTAS = tuple(10.0**power for power in range(-12, 0))
_STYLE = (
    "<style>.wane-shown{max-width:46em}.wane-shown svg{max-width:36em;height:auto}"
    ".wane-shown text{fill:currentColor;font-size:13px}"
    ".wane-shown .curve{fill:none;stroke:currentColor;stroke-width:2}"
    ".wane-shown .axis{stroke:currentColor}"
    ".wane-shown .grid{stroke:currentColor;opacity:.15}</style>"
)
_PAGE = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
    '<meta name="color-scheme" content="light dark">'
)
_numbers = count()


class PresentedCertificate:
    """What a notebook shows of a certificate, and how it is written to files."""

    def __repr__(self) -> str:
        return in_lines(self)

    def _repr_html_(self) -> str:
        """Return the verdict, the curve and the reason, for notebooks."""
        return in_html(self)

    def to_json(self, delta: float = DEFAULT_DELTA) -> str:
        """Return the whole certificate document at `delta` as JSON."""
        return json.dumps(_document(self, delta), indent=2, allow_nan=False)

    def save(self, path: str | Path, delta: float = DEFAULT_DELTA) -> None:
        """Write the certificate at `delta` as a page (.html) or as a document (.json)."""
        save_document(_document(self, delta), path)

    def plot(self: Any, axis: Any = None) -> Any:
        """Draw the certified epsilon and what is known to leak against delta; return the axis."""
        return plot_bracket(self, axis)


class PresentedCalibration:
    """What a notebook shows of a calibrated run."""

    certificate: Any
    over: Any
    value: float
    goal: Any

    def __repr__(self) -> str:
        lines = in_lines(self.certificate, self._delta)
        return f"{type(self).__name__}: {self._found}\n{lines}"

    def _repr_html_(self) -> str:
        """Return what was found, and the certificate of it."""
        return f"<p><b>{escape(self._found)}</b></p>{in_html(self.certificate, self._delta)}"

    @property
    def _delta(self) -> float:
        """The delta that was asked for, where the target has one."""
        return float(getattr(self.goal, "delta", DEFAULT_DELTA))

    @property
    def _found(self) -> str:
        name = self.over.value.replace("_", " ").replace("-", " ")
        return f"{name} = {self.value:.6g} meets {self.goal}"

    def to_json(self, delta: float | None = None) -> str:
        """Return the certificate document of the calibrated run as JSON.

        It speaks of the delta of the target, unless another is given.
        """
        return str(self.certificate.to_json(self._delta if delta is None else delta))

    def save(self, path: str | Path, delta: float | None = None) -> None:
        """Write the certificate of the calibrated run, as `Certificate.save` does.

        It speaks of the delta of the target, unless another is given.
        """
        self.certificate.save(path, self._delta if delta is None else delta)

    def plot(self, axis: Any = None) -> Any:
        """Draw the certificate of the calibrated run, as `Certificate.plot` does."""
        return self.certificate.plot(axis)


class PresentedCurve:
    """What a notebook shows of epsilon along an axis."""

    axis: Any
    delta: float
    values: tuple[float, ...]
    best: tuple[float | None, ...]
    theorems: dict[str, Any]

    def __repr__(self) -> str:
        name = type(self).__name__
        return (
            f"{name}: {self._said}\n  {len(self.theorems)} theorems were asked; plot() draws them"
        )

    def _repr_html_(self) -> str:
        """Return the ends of the curve in words, and the curve."""
        points = tuple(
            (float(x), float(e))
            for x, e in zip(self.values, self.best, strict=True)
            if e is not None and e != float("inf")
        )
        picture = _drawn("Epsilon along the axis", self.axis.value, points)
        return _shown(self._said, picture, "")

    @property
    def _said(self) -> str:
        first, last = (shown(e) if e is not None else "none" for e in (self.best[0], self.best[-1]))
        ends = f"{self.axis.value} {self.values[0]:g} to {self.values[-1]:g}"
        return f"epsilon {first} to {last} at delta = {round_up_to(self.delta)} for {ends}"

    def to_json(self) -> str:
        """Return the numbers of the curve as JSON."""
        return json.dumps(curve_fields(self), indent=2, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the curve as a page (.html) or its numbers (.json)."""
        page = f"{_PAGE}<title>{escape(self._said)}</title>{self._repr_html_()}\n"
        _saved(path, {".html": lambda: page, ".json": lambda: f"{self.to_json()}\n"})

    def plot(self: Any, axis: Any = None) -> Any:
        """Draw every theorem's epsilon along the axis, and return matplotlib's axis."""
        return plot_curve(self, axis)


def curve_fields(made: Any) -> dict[str, Any]:
    """Return a curve as JSON-ready data."""
    return {
        "over": made.axis.value,
        "delta": made.delta,
        "values": list(made.values),
        "epsilon": [json_number(e) for e in made.best],
        "theorems": {name: [json_number(e) for e in row] for name, row in made.theorems.items()},
    }


def save_document(document: dict[str, Any], path: str | Path) -> None:
    """Write a certificate document as a page (.html) or as it is (.json)."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    _saved(path, {".html": lambda: html_page(document), ".json": lambda: text})


def _saved(path: str | Path, kinds: dict[str, Callable[[], str]]) -> None:
    """Write what the ending of the path asks for."""
    place = Path(path)
    made = kinds.get(place.suffix.lower())
    if made is None:
        raise InvalidDescription(f"path must end in {' or '.join(kinds)}, got {place.name!r:.80}.")
    try:
        place.write_text(made(), encoding="utf-8")
    except OSError as error:
        raise InvalidDescription(
            f"path {place!s:.120} cannot be written: {error.strerror}."
        ) from None


def in_lines(certificate: Any, delta: float = DEFAULT_DELTA) -> str:
    """Return the verdict at `delta` and its reasons, in a few lines."""
    verdict = f"{type(certificate).__name__}: {_verdict(certificate, delta)}"
    return "\n".join((verdict, *_reasons(certificate)))


def in_html(certificate: Any, delta: float = DEFAULT_DELTA) -> str:
    """Return the verdict at `delta`, the curve and the reasons, for notebooks."""
    words = "".join(f"<p>{escape(line.strip())}</p>" for line in _reasons(certificate))
    return _shown(_verdict(certificate, delta), _picture(certificate), words)


def _document(certificate: Any, delta: float) -> dict[str, Any]:
    # documents are made of certificates, so that their maker is asked for by its name
    made: dict[str, Any] = import_module("wane.certificates").certificate_document(
        certificate, delta=delta
    )
    return made


def _verdict(certificate: Any, delta: float) -> str:
    if certificate.void_because:
        return "void, no privacy is claimed"
    try:
        best = certificate.best(delta).theorem.name
        epsilon = shown(certificate.epsilon(delta))
    except NoTheoremApplies:
        return "no theorem applies, so nothing is claimed"
    several = len(certificate.parts)
    alone = f"by {named(best)}"
    why = alone if several == 1 else f"of {several} releases together"
    return f"epsilon = {epsilon} at delta = {round_up_to(delta)}, {why}"


def _reasons(certificate: Any) -> list[str]:
    """What was certified, how many theorems cover it, and where to read on; or why it is void."""
    if certificate.void_because:
        rest = len(certificate.void_because) - MOST_REASONS
        more = [f"  and {rest} more reasons"] if rest > 0 else []
        return [f"  {reason}" for reason in certificate.void_because[:MOST_REASONS]] + more
    applies, asked = len(certificate.applicable), len(certificate.verdicts)
    return [
        f"  {certificate.parts[0].description.summary()}",
        f"  {applies} of {asked} theorems {'applies' if applies == 1 else 'apply'}; "
        "explain() gives every answer and its reasons",
        '  save("certificate.html") writes the page, to_json() the document, plot() draws it',
    ]


def _picture(certificate: Any) -> str:
    if certificate.void_because:
        return ""
    try:
        points = tuple((delta, float(certificate.epsilon(delta))) for delta in DELTAS)
    except NoTheoremApplies:
        return ""
    finite = tuple(point for point in points if point[1] != float("inf"))
    return _drawn("Certified epsilon against delta", "delta", finite)


def _drawn(title: str, across: str, points: tuple[tuple[float, float], ...]) -> str:
    key = f"wane-shown-{next(_numbers)}"
    return drawn(Chart(key, title, title + ".", across, "epsilon", (Line("", points),)))


def _shown(verdict: str, picture: str, words: str) -> str:
    return f'<div class="wane-shown">{_STYLE}<p><b>{escape(verdict)}</b></p>{picture}{words}</div>'
