"""Which law breaks if a claim is halved?  `python scripts/halve.py [PART ...]`.

Every claim-maker of the package (tests/twins/makers.py) is made to claim half of what it does, and
the laws of tests/twins/twin_laws.py and the quick tests without fixtures are tried, quickest first,
until one fails.  What is found is written to tests/twins/caught.toml, which the fast suite repeats;
claim-makers that nothing catches are printed.
"""

from __future__ import annotations

import importlib
import inspect
import signal
import sys
import time
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT / "tests")  # in place of scripts, whose modules would hide those of tests
TABLE = ROOT / "tests" / "twins" / "caught.toml"
FILES = (
    "continuous_kernels",
    "coupling_search",
    "declared_diffusion",
    "dynamics_values",
    "guarantees",
    "joint",
    "laplace_sums",
    "linear_diffusion",
    "log_sobolev",
    "lower_bound",
    "mechanism_values",
    "mechanisms_coupling",
    "mechanisms_diffusions",
    "mechanisms_hierarchy",
    "mechanisms_kernels",
    "mixing",
    "mutants_guarantees",
    "mutants_programmes",
    "sampler_errata",
    "sampling_privacy",
    "sampling_privacy_values",
)
"""Test files whose quick tests may catch a halved claim."""
SLOWEST = 1.0
"""Seconds that a law may take; slower ones are left out."""

from twins.makers import Maker, halved, makers  # noqa: E402
from twins.registry import law_named, laws  # noqa: E402

Law = Callable[[], object]


def candidates() -> dict[str, Law]:
    """The laws, and every quick test that needs nothing, by name."""
    found = dict(laws())
    for name in FILES:
        (path,) = (ROOT / "tests").glob(f"*/test_{name}.py")
        found |= _tests(f"{path.parent.name}.{path.stem}")
    return found


def _tests(module: str) -> dict[str, Law]:
    found: dict[str, Law] = {}
    try:
        loaded = importlib.import_module(module)
    except ImportError:  # it needs a neighbour that only pytest finds
        return found
    for name, value in vars(loaded).items():
        plain = inspect.isfunction(value) and not hasattr(value, "hypothesis")
        if name.startswith("test_") and plain and not inspect.signature(value).parameters:
            marks = {mark.name for mark in getattr(value, "pytestmark", [])}
            if not marks:
                found[f"{module}:{name}"] = value
    return found


def measured(law: Law) -> tuple[float, set[CodeType]] | None:
    """What the law takes and the functions it enters; None if it fails as it is."""
    seen: set[CodeType] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "wane" in frame.f_code.co_filename:
            seen.add(frame.f_code)

    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 2.0 * SLOWEST)
    sys.setprofile(enter)
    try:
        law()
    except BaseException:
        return None
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return time.process_time() - start, seen


def breaks(law: Law, maker: Maker) -> bool:
    """Whether the law fails while the claim is halved."""
    with halved(maker):
        try:
            law()
        except Exception:
            return True
        except BaseException as error:  # pytest's own failures are no exceptions
            return type(error).__name__ == "Failed"
    return False


def main(parts: list[str]) -> int:
    """Search, write the table, and print what nothing catches."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _out_of_time)
    known = tomllib.loads(TABLE.read_text()) if TABLE.exists() else {}
    wanted = [m for m in makers() if not parts or any(part in m.name for part in parts)]
    table = {m.name: known[m.name] for m in makers() if m.name in known}
    open_ones = [m for m in wanted if not (m.name in table and breaks(law_named(table[m.name]), m))]
    for maker in open_ones:
        table.pop(maker.name, None)
    if open_ones:
        table |= _search(open_ones)
    rows = [f'"{name}" = "{law}"' for name, law in sorted(table.items())]
    TABLE.write_text("\n".join(rows) + "\n")
    missed = [m.name for m in wanted if m.name not in table]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} caught; not: {missed}")
    return 0


def _out_of_time(number: int, frame: object) -> None:
    raise TimeoutError


def _search(open_ones: list[Maker]) -> dict[str, str]:
    tried = {name: (law, measured(law)) for name, law in candidates().items()}
    print(f"{len(tried)} laws in {time.process_time():.0f} s", flush=True)
    found = {}
    for maker in open_ones:
        code = maker.function.__code__
        reaching = sorted(
            (seen[0], name, law)
            for name, (law, seen) in tried.items()
            if seen is not None and code in seen[1] and seen[0] < SLOWEST
        )
        ours = [row for row in reaching if ":" not in row[1]]
        for _, name, law in (*ours, *reaching):
            if breaks(law, maker):
                found[maker.name] = name
                break
        print(f"{maker.name}: {found.get(maker.name)}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
