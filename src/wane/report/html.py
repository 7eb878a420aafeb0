"""The certificate as one self-contained page: no script, no outside asset, fit to print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from importlib.resources import files
from typing import Any

from wane.report.svg import Chart, Line, Mark, drawn
from wane.report.text import (
    earlier_words,
    heading,
    is_descent,
    released_words,
    shown,
    shown_down,
    visible,
)

_GUESSES = tuple(10.0 ** (-tenth / 10) for tenth in range(60, -1, -1))
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def escape(text: str) -> str:
    """Return text that a page shows as it is; what would turn or hide it is spelled out."""
    return escape_html(visible(text))


def html_page(document: dict[str, Any]) -> str:
    """Return a certificate document as an HTML page; everything on it is in the document."""
    style = (files("wane.report") / "certificate.css").read_text(encoding="utf-8")
    title = f"{heading(document)}: {_claim(document)}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            _head(document),
            *(section(document) for section in _SECTIONS),
            "</main>",
            f"<footer>Certificate format {document['version']}, wane "
            f"{escape(document['versions']['wane'])}.</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _changed(document: dict[str, Any]) -> str:
    rows = document.get("rows_per_person", 1)
    return "any one record" if rows == 1 else f"any {rows} records"


def _claim(document: dict[str, Any]) -> str:
    if document["status"] == "void":
        return "void, no privacy is claimed"
    return f"epsilon {shown(document['epsilon'])} at delta {shown(document['delta'])}"


def _head(document: dict[str, Any]) -> str:
    lines = [f"<h1>{escape(heading(document))}</h1>"]
    if document["status"] == "void":
        lines.append('<div class="void"><p class="claim">Void: no privacy is claimed.</p>')
        lines += [f"{_list(document['void_because'])}</div>"]
    else:
        lines.append(f'<p class="claim">{escape(_claim(document))}</p>')
        lines.append(
            f"<p>Change {_changed(document)}, and the probability of anything that can be seen "
            "changes by a factor of at most exp(epsilon), up to delta. The changes that are meant: "
            f"{escape(document['adjacency'])} adjacency. By {_code(document['theorem'])}.</p>"
        )
    return "\n".join(lines)


def _released(document: dict[str, Any]) -> str:
    return _section(
        "released",
        "What was released, and what must stay secret",
        f"<p><strong>Released:</strong> {escape(released_words(document))}</p>",
        "<p><strong>Must stay secret, or this certificate is void:</strong></p>",
        _list(document["secret"]),
        f"<p><strong>Unit of privacy:</strong> {escape(document['unit'])}.</p>",
        f"<p><strong>Adjacency, {escape(document['adjacency'])}:</strong> "
        f"{escape(document['adjacency_meaning'])}</p>",
    )


def _guarantee(document: dict[str, Any]) -> str:
    at = f"at delta {shown(document['delta'])}"
    rows = [
        ("epsilon", shown(document["epsilon"]), f"{at}, never rounded down"),
        ("mu", shown(document["mu"]), "Gaussian differential privacy; - if not Gaussian"),
        ("rho", shown(document["zcdp"]), "zero-concentrated privacy (zCDP); - if not Gaussian"),
        (
            "epsilon under composition",
            shown(document["composition_epsilon"]),
            f"{at}, for the same run with every iterate released",
        ),
        (
            "lower bound on epsilon",
            shown_down(document["lower_bound_epsilon"]),
            f"{at}: an exact member of the described class leaks this much; - if none is known",
        ),
    ]
    if not is_descent(document):
        rows = [row for row in rows if row[0] != "epsilon under composition"]
    table = _table("The guarantee in numbers", ("quantity", "value", "meaning"), rows)
    return _section("guarantee", "The guarantee", table)


def _curve(document: dict[str, Any]) -> str:
    points = [(row["delta"], row["epsilon"]) for row in document["curve"]]
    finite = tuple((d, e) for d, e in points if not isinstance(e, str))
    marks: tuple[Mark, ...] = ()
    if not isinstance(document["epsilon"], str) and 0.0 < document["delta"] < 1.0 and finite:
        marks = (Mark("this certificate", (document["delta"], document["epsilon"])),)
    chart = Chart(
        key="curve",
        title="Epsilon against delta",
        words="Epsilon falls as delta grows. All points are in the table below the figure.",
        across="delta",
        up="epsilon",
        lines=(Line("", finite),),
        marks=marks,
    )
    rows = [(shown(d), shown(e)) for d, e in points]
    table = _table("Certified epsilon at each delta; all hold at once", ("delta", "epsilon"), rows)
    return _section(
        "curve", "The whole curve", _figure(drawn(chart), "Epsilon against delta."), table
    )


def _attack(document: dict[str, Any]) -> str:
    words = (
        "Suppose an attacker, who may know every other record, decides from the release whether "
        "a given record was in the data. This is the largest share of true members that any such "
        "test can find, when it wrongly accuses at most the stated share of the others."
    )
    rows = [
        (f"{row['false_positive_rate']:g}", shown(row["true_positive_rate"]))
        for row in document["attack"]
    ]
    table = _table(
        "Best true-positive rate of any attack",
        ("false-positive rate", "true-positive rate, at most"),
        rows,
    )
    pairs = tuple((r["false_positive_rate"], r["true_positive_rate"]) for r in document["roc"])
    chart = Chart(
        key="attack",
        title="Best attack: true-positive rate against false-positive rate",
        words="The bound lies above the line of blind guessing, on which both rates are equal.",
        across="false-positive rate",
        up="true-positive rate",
        lines=(
            Line("bound", pairs),
            Line("guessing", tuple((x, x) for x in _GUESSES), dashed=True),
        ),
        top=1.0,
    )
    picture = drawn(chart) if pairs else ""
    figure = _figure(picture, "What the best attack can reach. Dashed: blind guessing.")
    return _section("attack", "What an attacker can do", f"<p>{words}</p>", table, figure)


def _theorem(document: dict[str, Any]) -> str:
    said = document["statement"]
    parts = [
        f"<p><strong>{_code(said['name'])}:</strong> {escape(said['conclusion'])}</p>",
        f"<p><strong>Claim:</strong> {escape(said['claim'])}</p>",
    ]
    if said["translation"]:
        parts.append(f"<p><strong>Translation:</strong> {escape(said['translation'])}</p>")
    if said["differs_from_source"]:
        differs = escape(said["differs_from_source"])
        parts.append(f"<p><strong>Differs from the source:</strong> {differs}</p>")
    parts.append(
        f"<p><strong>Source:</strong> {escape(said['citation'])}. {escape(said['reference'])}</p>"
    )
    rows = [(r["symbol"], r["meaning"], _value(r["value"])) for r in document["symbols"]]
    parts.append(_table("What the letters stand for here", ("symbol", "meaning", "value"), rows))
    return _section("theorem", "The theorem", *parts)


def _hypotheses(document: dict[str, Any]) -> str:
    verdict = next(v for v in document["verdicts"] if v["theorem"] == document["theorem"])
    rows = [
        (h["statement"], h["because"], document["bases"][h["basis"]]) for h in verdict["hypotheses"]
    ]
    table = _table(
        "Every hypothesis of the theorem", ("it needs", "here", "who vouches for it"), rows
    )
    return _section("hypotheses", "What it rests on", table)


def _constants(document: dict[str, Any]) -> str:
    rows = [(r["name"], _value(r["value"]), r["origin"]) for r in document["constants"]]
    table = _table("Constants of this run", ("constant", "value", "where it comes from"), rows)
    return _section("constants", "Constants", table)


def _releases(document: dict[str, Any]) -> str:
    if len(document["releases"]) < 2:
        return ""
    rows = [(r["what"], shown(r["epsilon"]), r["source"]) for r in document["releases"]]
    table = _table(
        "Releases that are charged together; epsilon of each alone",
        ("release", "epsilon", "source"),
        rows,
    )
    return _section("releases", "All releases", table)


def _others(document: dict[str, Any]) -> str:
    rows = [_verdict(v) for v in document["verdicts"]]
    table = _table(
        "Every theorem that was asked, at the same delta", ("theorem", "epsilon", "answer"), rows
    )
    return _section("others", "Every theorem's answer", table)


def _verdict(verdict: dict[str, Any]) -> tuple[str, str, str]:
    if verdict["applies"]:
        return verdict["theorem"], shown(verdict["epsilon"]), "applies"
    first = verdict["obstacles"][0]
    said = "not declared" if first["holds"] is None else "fails"
    cure = f"; try {first['remedy']}" if first["remedy"] else ""
    return verdict["theorem"], "-", f"{first['statement']}: {said} ({first['because']}){cure}"


def _conduct(document: dict[str, Any]) -> str:
    rows = [
        ("noise", document["noise"]["meaning"]),
        ("numerics", document["numerics"]),
        ("tuning", document["tuning"]),
        ("earlier releases", earlier_words(document)),
    ]
    table = _table("How it was carried out", ("matter", "statement"), rows)
    return _section("conduct", "Noise, numerics and tuning", table)


def _configuration(document: dict[str, Any]) -> str:
    rows = [
        ("SHA-256 of the configuration", document["configuration_sha256"]),
        ("SHA-256 of the document", document["document_sha256"]),
    ]
    rows += [(name, text) for name, text in document["context"].items()]
    rows += [(f"SHA-256 of {name}", text) for name, text in document.get("files", {}).items()]
    rows += [(f"version of {name}", text) for name, text in document["versions"].items()]
    described = json.dumps(document["description"], indent=2)
    return _section(
        "configuration",
        "Configuration",
        _table("No record was needed to know any of this", ("item", "value"), rows),
        "<h3>Description of the run</h3>",
        f"<pre>{escape_html(described)}</pre>",
    )


_SECTIONS: tuple[Callable[[dict[str, Any]], str], ...] = (
    _released,
    _guarantee,
    _curve,
    _attack,
    _theorem,
    _hypotheses,
    _constants,
    _releases,
    _others,
    _conduct,
    _configuration,
)


def _section(key: str, title: str, *parts: str) -> str:
    body = "\n".join(part for part in parts if part)
    return (
        f'<section aria-labelledby="{key}-heading">\n'
        f'<h2 id="{key}-heading">{escape(title)}</h2>\n{body}\n</section>'
    )


def _table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls on its own where it is wider than the screen, by keyboard too."""
    lines = [
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0">',
        f"<table>\n<caption>{escape(caption)}</caption>",
        "<thead><tr>"
        + "".join(f'<th scope="col">{escape(h)}</th>' for h in header)
        + "</tr></thead>",
        "<tbody>",
    ]
    for first, *others in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>", "</div>"])


def _figure(picture: str, caption: str) -> str:
    if not picture:
        return ""
    return f"<figure>\n{picture}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _list(items: Iterable[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _value(value: float | int | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"
