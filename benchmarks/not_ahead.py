"""Where wane is not ahead: rules over the files of docs/benchmarks, and a page of what they find.

    python -m benchmarks.not_ahead [FOLDER]

No number of the page is typed: each rule reads a file that a section wrote, and a file that is not
there is named as missing.  ``python -m benchmarks`` runs this at its end.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from textwrap import fill
from typing import Any

ROOT = Path(__file__).parent.parent
Line = dict[str, Any]
MOST_ROWS = 8
LOOSE = 1.5
"""Certified over exact from which a row is told here."""


@dataclass(frozen=True)
class Behind:
    """One thing in which wane is not ahead: ``gap`` orders them, the rest is shown."""

    what: str
    ours: str
    theirs: str
    gap: float


@dataclass(frozen=True)
class Rule:
    """A file, what to look for in it, and why it is so."""

    file: str
    title: str
    heads: tuple[str, str, str, str]
    why: str
    find: Callable[[list[Line]], Iterable[Behind]]

    def section(self, folder: Path) -> str:
        """Write what the rule finds, the worst first."""
        path = folder / self.file
        if not path.exists():
            return f"## {self.title}\n\nNot known: `{self.file}` has not been made yet."
        lines = read(path)
        found = sorted(self.find(lines), key=lambda behind: -behind.gap)
        link = f"[{self.file}]({self.file})"
        if not found:
            return f"## {self.title}\n\nNowhere in {link} ({len(lines)} rows)."
        rows = [
            f"| {behind.what} | {behind.ours} | {behind.theirs} | {number(behind.gap)} |"
            for behind in found[:MOST_ROWS]
        ]
        rest = len(found) - len(rows)
        more = f" The worst {len(rows)} of {len(found)} are shown." if rest else ""
        return "\n\n".join(
            (
                f"## {self.title}",
                fill(f"{self.why}{more} From {link}.", 100, break_on_hyphens=False),
                "\n".join((f"| {' | '.join(self.heads)} |", "| --- | --- | --- | --- |", *rows)),
            )
        )


def read(path: Path) -> list[Line]:
    """Return the rows of a CSV or JSON file."""
    if path.suffix == ".json":
        loaded: list[Line] = json.loads(path.read_text())
        return loaded
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def value(line: Line, name: str) -> float | None:
    """Return a cell as a number, or None where there is none."""
    try:
        return float(line[name])
    except (KeyError, TypeError, ValueError):
        return None


def number(found: float | None) -> str:
    return "-" if found is None else f"{found:.3g}"


def worst(found: Iterable[tuple[object, Behind]]) -> Iterator[Behind]:
    """Keep the largest gap of each kind."""
    kept: dict[object, Behind] = {}
    for kind, behind in found:
        if kind not in kept or behind.gap > kept[kind].gap:
            kept[kind] = behind
    yield from kept.values()


def loose(lines: list[Line]) -> Iterator[Behind]:
    """Certified epsilon far above that of any known member, by kind of loss and batches."""

    def cases() -> Iterator[tuple[object, Behind]]:
        for line in lines:
            ratio = value(line, "wane / lower")
            if ratio is not None and ratio > LOOSE:
                yield (
                    (line["loss"], line["batches"]),
                    Behind(
                        f"{line['configuration']}, delta {line['delta']} ({line['theorem']})",
                        number(value(line, "wane")),
                        number(value(line, "lower bound")),
                        ratio,
                    ),
                )

    yield from worst(cases())


def tighter_elsewhere(lines: list[Line]) -> Iterator[Behind]:
    """Another sound bound is smaller, by more than discretisation."""
    for line in lines:
        ratio, ours = value(line, "best other / wane"), value(line, "wane")
        if ratio is not None and ours is not None and ratio < 0.999:
            yield Behind(
                f"{line['configuration']}, delta {line['delta']}",
                number(ours),
                number(ours * ratio),
                1.0 / ratio,
            )


def slower_accounting(lines: list[Line]) -> Iterator[Behind]:
    """A peer answers the same question sooner; the answers are shown, since they differ."""
    ours = {
        (line["case"], line["task"], line["steps"]): line
        for line in lines
        if line["method"] == "wane"
    }

    def told(line: Line, seconds: float | None) -> str:
        time = f"{seconds:.2g} s" if seconds is not None else line["note"]
        return f"{time} (answer {number(value(line, 'answer'))})"

    def cases() -> Iterator[tuple[object, Behind]]:
        for line in lines:
            mine = ours.get((line["case"], line["task"], line["steps"]), {})
            seconds, own = value(line, "seconds"), value(mine, "seconds")
            limit = value({"limit": mine.get("note", "").strip("> s")}, "limit")
            against = own or limit
            if line["method"] != "wane" and seconds and against and seconds < against:
                what = (
                    f"{line['task']}, {line['case']}, {float(line['steps']):.0e} steps: "
                    f"{line['method']}"
                )
                gap = against / seconds
                shown = Behind(what, told(mine, own), told(line, seconds), gap)
                yield (line["task"], line["case"], line["method"]), shown

    yield from worst(cases())


HIDDEN, SEEN = "Poisson on a ball, last iterate", "Poisson, every iterate"


def slower_hidden(lines: list[Line]) -> Iterator[Behind]:
    """A peer, which only composes, answers sooner than wane does for the hidden state."""
    ours = {
        (line["task"], line["steps"]): line
        for line in lines
        if line["method"] == "wane" and line["case"] == HIDDEN
    }

    def cases() -> Iterator[tuple[object, Behind]]:
        for line in lines:
            mine = ours.get((line["task"], line["steps"]))
            seconds = value(line, "seconds")
            own = None if mine is None else value(mine, "seconds")
            peer = line["case"] == SEEN and line["method"] != "wane"
            peer = peer and line["task"] == "calibrate"  # to one target; certified noises differ
            if mine is not None and peer and seconds and own and seconds < own:
                what = f"{line['task']}, {float(line['steps']):.0e} steps: {line['method']}"
                answers = [number(value(each, "answer")) for each in (mine, line)]
                shown = [
                    f"{took:.2g} s (answer {answer})"
                    for took, answer in zip((own, seconds), answers, strict=True)
                ]
                yield (line["task"], line["method"]), Behind(what, *shown, own / seconds)

    yield from worst(cases())


def slower_start(lines: list[Line]) -> Iterator[Behind]:
    """A peer starts sooner."""
    ours = {line["kind"]: value(line, "seconds") for line in lines if "wane" in line["command"]}
    for line in lines:
        ratio = value(line, "times wane")
        if ratio is not None and ratio < 1.0:
            yield Behind(
                f"{line['kind']}: {line['command']}",
                f"{number(ours[line['kind']])} s",
                f"{number(value(line, 'seconds'))} s",
                1.0 / ratio,
            )


def less_accurate(lines: list[Line]) -> Iterator[Behind]:
    """A peer's mean accuracy is higher; the deviation says whether that means anything."""
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in lines:
        cell = cells.setdefault((line["data"], line["epsilon"]), {})
        cell.setdefault(line["method"], []).append(100 * float(line["accuracy"]))

    def told(found: list[float]) -> str:
        spread = f" ± {stdev(found):.2f}" if len(found) > 1 else " (one fit)"
        return f"{fmean(found):.2f}{spread}"

    for (data, epsilon), methods in cells.items():
        ours = methods.pop("wane", [])
        for name, theirs in methods.items():
            if ours and fmean(theirs) > fmean(ours):
                yield Behind(
                    f"{data}, epsilon {float(epsilon):g}: {name}",
                    told(ours),
                    told(theirs),
                    fmean(theirs) - fmean(ours),
                )


def less_accurate_apart(lines: list[Line]) -> Iterator[Behind]:
    for line in lines:
        apart = value(line, "wane minus Opacus")
        if apart is not None and apart < 0:
            yield Behind(
                f"{line['data']}, epsilon {line['epsilon']}",
                f"{line['wane']} ± {line['wane deviation']}",
                f"{line['Opacus']} ± {line['Opacus deviation']}",
                -apart,
            )


def slower_epochs(lines: list[Line]) -> Iterator[Behind]:
    """The promised ratio to Opacus is not reached."""
    for line in lines:
        ratio, promised = value(line, "Opacus / wane"), value(line, "promised")
        if ratio is not None and promised is not None and ratio < promised:
            yield Behind(
                f"{line['data']}, Opacus {line['mode']}",
                f"{number(ratio)} times faster",
                f"promised {promised:g} times",
                promised / ratio,
            )


def promises(lines: list[Line]) -> Iterator[Behind]:
    for line in lines:
        if line["kept"] == "no":
            measured, limit = float(line["measured"]), float(line["limit"])
            gap = max(measured / limit, limit / measured)
            yield Behind(line["promise"], number(measured), number(limit), gap)


def below(name: str, what: Callable[[Line], str], limit: float = 1.0) -> Callable[..., Any]:
    """Return the finder of rows whose ratio, of another over wane, is below the limit."""

    def find(lines: list[Line]) -> Iterator[Behind]:
        for line in lines:
            ratio = value(line, name)
            if ratio is not None and 0.0 < ratio < limit and not _ours(line):
                yield Behind(what(line), "1", number(ratio), limit / ratio)

    return find


def above(name: str, what: Callable[[Line], str], limit: float = 1.0) -> Callable[..., Any]:
    """Return the finder of rows whose ratio, of wane over another, is above the limit."""

    def find(lines: list[Line]) -> Iterator[Behind]:
        for line in lines:
            ratio = value(line, name)
            if ratio is not None and ratio > limit:
                yield Behind(what(line), number(ratio), "1", ratio)

    return find


def _ours(line: Line) -> bool:
    return str(line.get("runner", line.get("sampler", ""))).startswith("wane")


def _gaussian(line: Line) -> str:
    return (
        f"dimension {line['dimension']}, condition {line['kappa']}, order {line['order']}, "
        f"distance {line['distance']}"
    )


def _shape(line: Line) -> str:
    parts = [f"{line['rows']} rows"]
    parts += [line[name] for name in ("model", "dtype", "runner", "where", "how") if name in line]
    return ", ".join(part for part in parts if part)


RULES = (
    Rule(
        "tightness.csv",
        f"Certified epsilon more than {LOOSE:g} times that of the worst known member",
        ("run (theorem)", "certified", "exact member's", "times"),
        "For each kind of loss and batches, the worst row. The gap lies between a proof and a "
        "counterexample, and either may be at fault ([what the members are](../brackets.md)). In "
        "bounded sets members cannot travel, and the theorems are not known to be tight. Batches "
        "of fixed size are charged twice the bound in either run, which no known member uses. A "
        "clipped loss of any form is charged for expanding, which one-dimensional members cannot. "
        "Steps with eta M < 1 may forget faster in the proof than in any member. Long sampled runs "
        "without smoothness are certified by composition, which grows with the steps, while the "
        "known members level off.",
        loose,
    ),
    Rule(
        "tightness.csv",
        "Another sound bound is smaller",
        ("run", "wane", "best other", "times"),
        "wane asks every theorem it has, composition included; what is left is another "
        "discretisation or a theorem it does not have.",
        tighter_elsewhere,
    ),
    Rule(
        "accounting.csv",
        "A peer's accountant answers sooner",
        ("question and peer", "wane", "peer", "times"),
        "For each question and peer, the number of steps at which the lead is largest. RDP "
        "accountants evaluate a formula at a few orders and return a larger epsilon. wane asks "
        "every theorem, and composes Poisson steps numerically with every rounding outward; each "
        "trial of a calibration does so again, to six digits. Where the answer is Gaussian wane "
        "has a formula; what the peer saves there is the asking of the other theorems.",
        slower_accounting,
    ),
    Rule(
        "accounting.csv",
        "A peer that only composes answers sooner than wane for the hidden state",
        ("question and peer", "wane, last iterate", "peer, every iterate", "times"),
        "Poisson batches in a ball: wane asks about the last iterate as well, by hidden steps and "
        "by contraction, and each of these answers is a search over horizons and shares of the "
        "noise. While a calibration searches, only the theorem that leads is asked; all are asked "
        "where it begins and where it ends. Where hiding does not help, the answer is nearly the "
        "peer's. wane's runs are compared under replace-one, the peers' under add-remove, which "
        "needs less noise.",
        slower_hidden,
    ),
    Rule(
        "start-up.csv",
        "A peer starts sooner",
        ("command", "wane", "peer", "times"),
        "wane imports its theorems and descriptions beside NumPy and SciPy.",
        slower_start,
    ),
    Rule(
        "learning.csv",
        "A peer's model is more accurate",
        ("data, epsilon, peer", "wane", "peer", "points"),
        "Per cent of test rows, mean and deviation over the seeds. Opacus' settings were chosen on "
        "the test rows; wane's are planned from public numbers, with steps short enough for its "
        "theorem, and on easy data longer steps get further at large epsilon. Differences within a "
        "deviation mean nothing.",
        less_accurate,
    ),
    Rule(
        "held-apart.csv",
        "The same on data the planner was not tuned on",
        ("data, epsilon", "wane", "Opacus", "points"),
        "The planner's constants were frozen before these sets were fitted; Opacus' setting is the "
        "best on the test rows.",
        less_accurate_apart,
    ),
    Rule(
        "learning-times.csv",
        "An epoch beside Opacus is not as much faster as promised",
        ("data", "measured", "promise", "times short"),
        "Both spend the epoch in the same two matrix products, so that nothing but the overhead of "
        "gradients per record is left to save; the default softmax also costs its envelope.",
        slower_epochs,
    ),
    Rule(
        "throughput-growth.csv",
        "A step of Opacus takes less",
        ("shape and runner", "wane", "Opacus", "times"),
        "Seconds for each step, wane's taken as 1.",
        below("over_wane", _shape),
    ),
    Rule(
        "throughput-roofline.csv",
        "A step reads its rows at less than half the speed of a copy",
        ("shape", "copy", "wane", "times short"),
        "A step does arithmetic that a copy does not: a link function for each record, and with "
        "several outputs products that are bound by arithmetic and not by memory.",
        below("share_of_copy", _shape, 0.5),
    ),
    Rule(
        "sampling-certified.csv",
        "A certified sampler takes more steps than its target needs",
        ("target", "certified steps", "needed", "times"),
        "The certificate holds for every target with the same constants, the needed steps are "
        "those of one Gaussian. Most of the gap is the bound on what discretisation does, which "
        "adds up over coordinates and steps without their cancelling.",
        above("planned_over_needed", _gaussian, LOOSE),
    ),
    Rule(
        "sampling-certified.csv",
        "A plain NumPy chain is faster",
        ("target", "wane", "NumPy", "times"),
        "Seconds for the same steps, wane's taken as 1: checks before and after each block of "
        "steps.",
        below("numpy_over_wane", _gaussian),
    ),
    Rule(
        "sampling-certified.csv",
        "BlackJAX' chain is faster",
        ("target", "wane", "BlackJAX", "times"),
        "Seconds for the same steps once compiled, wane's taken as 1: compiled loops have no "
        "interpreter between steps.",
        below("blackjax_over_wane", _gaussian),
    ),
    Rule(
        "sampling-draws.csv",
        "A sampler yields more effective draws for each second",
        ("sampler", "that one", "wane's overdamped chain", "times"),
        "Samplers with an accept step move further for each gradient, but their law after finitely "
        "many steps has no certificate.",
        below("wane_overdamped_over_this", lambda line: str(line["sampler"])),
    ),
    Rule(
        "scale-table.csv",
        "Dask takes longer than one process",
        ("table", "Dask", "one process", "times"),
        "On one machine the workers share the cores and the disk that one process has to itself; "
        "each step sends the weights out and the sums back.",
        above("dask_over_one_process", _shape),
    ),
    Rule(
        "promises.csv",
        "A promise about time is missed",
        ("promise", "measured", "limit", "times"),
        "Promises were made for an idle machine of another make; some are simply not kept.",
        promises,
    ),
)

HEAD = """# Where wane is not ahead

By how much, and why. Every number below is read from the files of the [other pages](README.md) by
`python -m benchmarks.not_ahead`, which the suite runs at its end."""

TAIL = """## What no file measures

- **Networks.** A network's loss is not known to be smooth or nearly convex in all its weights, so
  for training a whole one wane has composition, as its peers do; it hides the state of the last
  layer. Opacus trains networks.
- **GPUs.** The runner is NumPy on one machine's cores, or Dask.
- **Pure epsilon.** Descents are certified with Gaussian noise, so delta is never zero; diffprivlib
  promises delta = 0.
- **The last iterate only.** Whoever publishes checkpoints or stops early on private data gets what
  composition gives, here as elsewhere."""


def page(folder: Path) -> str:
    """Return the page on what the files in the folder say."""
    return "\n\n".join((HEAD, *(rule.section(folder) for rule in RULES), TAIL)) + "\n"


def write(folder: Path) -> None:
    (folder / "not-ahead.md").write_text(page(folder))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/benchmarks")
