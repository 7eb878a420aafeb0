"""Do the tests notice mistakes?  `python scripts/mutate.py [--sample N] [FILE ...]`.

Every mutant (scripts/mutants.py) of the files that hold theorems, conversions and guarantees is
tried against the fast tests that reach it, the quickest first, until one fails.  No file is
changed: a fork of one process, in which all tests are loaded, gets the mutated code and runs them.
Mutants that cannot be told from the original are listed in scripts/mutants.toml with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import resource
import sys
import tempfile
import time
import tomllib
import types
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[1]
REQUIRED = (
    "theorems/*/statement.py",
    "theorems/lemmas/lipschitz.py",
    "describe/noise.py",
    "guarantees/*.py",
)
FURTHER = (
    "theorems/*/*.py",
    "theorems/*.py",
    "mechanisms/*.py",
    "describe/diffusion.py",
    "run/diffusions.py",
    "statistics/kinds.py",
    "sampling/**/*.py",
    "modulus/*.py",
    "describe/chain.py",
    "describe/posterior.py",
    "describe/samples.py",
    "certificates/analyse.py",
    "numerics/folding.py",
)
TESTS = (
    "tests/laws",
    "tests/papers",
    "tests/regressions",
    "tests/twins",
    *(
        f"tests/*/test_{name}.py"
        for name in (
            "mutants*",
            "guarantees*",
            "export",
            "lower_bound",
            "groups",
            "mechanism*",
            "numerics*",
            "sampling*",
            "statistics",
        )
    ),
)
ENOUGH = 0.95
"""Of the mutants of a whole file; a small sample cannot tell this from a little less."""
PATIENCE = 15.0
"""Seconds of tests, as measured without a mutation, that a mutant has to survive."""
MEMORY = 4 << 30


def main() -> int:
    """Run the campaign and return 0 if enough mutants were killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="parts of paths (default: what must reach 95 %%)")
    parser.add_argument(
        "--all", action="store_true", help="theory, mechanisms and sampling as well"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=ENOUGH, metavar="RATE", help="that suffices")
    parser.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS")
    parser.add_argument("--listed", action="store_true", help="those of mutants.toml instead")
    parser.add_argument("--tests", action="append", metavar="GLOB", help="only these tests")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="keep the tests' times here")
    options = parser.parse_args()
    known, grids = equivalents(), searched()
    chosen = [
        m
        for m in _mutants(options)
        if (m.key in known or (m.file, m.assigned) in grids) is options.listed
    ]
    if options.sample is not None:
        chosen = drawn(chosen, options.sample, options.seed)
    os.environ.pop("CI", None)
    campaign = Campaign(chosen, options.patience, options.measured)
    os.chdir(ROOT)
    present = [str(path) for name in options.tests or TESTS for path in sorted(ROOT.glob(name))]
    quiet = ["-s", "-p", "no:cacheprovider", "-p", "no:terminal", "-o", "addopts="]
    arguments = [*present, "-m", "not slow", *quiet]
    pytest.main(arguments, plugins=[campaign])
    return campaign.report(options.least)


def drawn(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many mutants, by lot: the same ones after a file has moved, most after an edit.

    The lot is a hash of the function, the change, and how many equal ones came before.
    """
    seen: Counter[tuple[str, str]] = Counter()
    lots: list[tuple[str, int]] = []
    for place, mutant in enumerate(mutants):
        name = mutant.function, mutant.change
        lot = f"{seed} {name} {seen[name]}"
        seen[name] += 1
        lots.append((hashlib.sha256(lot.encode()).hexdigest(), place))
    return [mutants[place] for _, place in sorted(lots)[:count]]


def equivalents() -> set[tuple[str, str, str]]:
    """The mutants that no test can kill, by file, function and change."""
    return {(row["file"], row["function"], row["change"]) for row in _listed("equivalent")}


def searched() -> set[tuple[str, str]]:
    """The constants, by file and name, that only say where to search: every value is valid."""
    return {(row["file"], row["name"]) for row in _listed("grid")}


def _listed(kind: str) -> list[dict[str, str]]:
    path = ROOT / "scripts" / "mutants.toml"
    rows: list[dict[str, str]] = tomllib.loads(path.read_text()).get(kind, [])
    assert all(row["reason"] for row in rows), "every equivalent mutant has its reason"
    return rows


def _mutants(options: argparse.Namespace) -> list[Mutant]:
    names = (*REQUIRED, *FURTHER) if options.all or options.files else REQUIRED
    package = ROOT / "src" / "wane"
    paths: list[Path] = []
    for name in names:
        paths += sorted(package.glob(name))
    wanted = [p for p in dict.fromkeys(paths) if p.name != "__init__.py"]
    if options.files:
        wanted = [p for p in wanted if any(part in str(p) for part in options.files)]
    return [mutant for path in wanted for mutant in mutants_of(path, ROOT)]


class Measured(NamedTuple):
    """A test without any mutation: what it takes, and the functions it enters by first line."""

    seconds: float
    passed: bool
    reached: frozenset[tuple[str, int]]


@dataclass(eq=False)
class Campaign:
    """A pytest plugin that runs the tests once as they are and then once for each mutant."""

    mutants: list[Mutant]
    patience: float
    measured: Path | None = None
    survivors: list[Mutant] = field(default_factory=list)
    killed: int = 0
    out_of_time: int = 0
    started: float = field(default_factory=time.monotonic)

    def pytest_configure(self) -> None:
        """Random tests try the same examples each time, and do not shrink what fails."""
        from hypothesis import HealthCheck, Phase, settings  # pytest wants to load it first

        settings.register_profile(
            "mutants",
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Replace pytest's own loop."""
        items = {item.nodeid: item for item in session.items}
        print(f"{len(self.mutants)} mutants, {len(items)} tests", flush=True)
        known = self._measure(items)
        took = {name: known[name].seconds for name in items if known[name].passed}
        for name in sorted(set(items) - set(took)):
            print(f"fails without any mutation, not used: {name}", flush=True)
        reached = {name: known[name].reached for name in took}
        kills: dict[str, Counter[str]] = defaultdict(Counter)
        for number, mutant in enumerate(self.mutants, 1):
            history = kills[mutant.file + mutant.function], kills[mutant.file]
            names = _relevant(mutant, took, reached)
            names.sort(key=partial(_promise, history, known))
            names = _affordable(names, took, self.patience)
            limit = 10 + int(3 * sum(took[n] for n in names))
            attack = partial(_attack, mutant, [items[n] for n in names])
            killer = _in_a_fork(attack, limit)
            self._count(mutant, killer, number)
            if isinstance(killer, str):
                for counter in history:
                    counter[killer] += 1
        return True

    def _measure(self, items: dict[str, pytest.Item]) -> dict[str, Measured]:
        """Run the tests as they are, or those that the file does not know."""
        known: dict[str, Measured] = {}
        if self.measured is not None and self.measured.exists():
            known = pickle.loads(self.measured.read_bytes())
        fresh = [item for name, item in items.items() if name not in known]
        known |= _in_a_fork(partial(_baseline, fresh), None)
        if self.measured is not None:
            self.measured.write_bytes(pickle.dumps(known))
        return known

    def _count(self, mutant: Mutant, killer: object, number: int) -> None:
        if killer is None:
            self.survivors.append(mutant)
            print(f"survived  {_shown(mutant)}", flush=True)
        else:
            self.killed += 1
            self.out_of_time += killer == OUT_OF_TIME
        if number % 50 == 0:
            print(
                f"{number}/{len(self.mutants)} in {time.monotonic() - self.started:.0f} s, "
                f"{len(self.survivors)} survived",
                flush=True,
            )

    def report(self, least: float) -> int:
        """Print the result; the exit status says whether the rate is at least this."""
        total = self.killed + len(self.survivors)
        rate = self.killed / total if total else 0.0
        by_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in self.survivors:
            by_file[mutant.file].append(mutant)
        for name, count in sorted(Counter(m.file for m in self.mutants).items()):
            print(f"{name:44} {count - len(by_file[name]):5} of {count:5} killed")
        print(
            f"{total} mutants, {self.killed} killed ({self.out_of_time} by the clock), "
            f"{len(self.survivors)} survived: kill rate {rate:.1%}, "
            f"{time.monotonic() - self.started:.0f} s"
        )
        return 0 if total and rate >= least else 1


OUT_OF_TIME = "out of time"
HYPOTHESES = "src/wane/theorems/theorem.py"
"""Where conditions are looked up: who enters it may see which ones a theorem assumes."""


def _shown(mutant: Mutant) -> str:
    return f"{mutant.file}:{mutant.line} [{mutant.function}] {mutant.change}"


def _relevant(
    mutant: Mutant, took: dict[str, float], reached: dict[str, frozenset[tuple[str, int]]]
) -> list[str]:
    """Tests that enter the mutated function; for what runs at import, any that may see it."""
    first, last = mutant.lines or (0, sys.maxsize)
    seen = {mutant.file} if mutant.lines else {mutant.file, HYPOTHESES}
    return [
        name
        for name in took
        if any(file in seen and first <= line <= last for file, line in reached[name])
    ]


def _promise(
    history: tuple[Counter[str], Counter[str]], known: dict[str, Measured], name: str
) -> tuple[int, bool, float]:
    """What to try first: killers of neighbours and in the file, then quick and narrow tests."""
    near, far = history
    test = known[name]
    return -near[name], far[name] == 0, (test.seconds + 0.01) * (len(test.reached) + 1)


def _affordable(names: list[str], took: dict[str, float], patience: float) -> list[str]:
    kept, spent = [], 0.0
    for name in names:
        spent += took[name]
        if kept and spent > patience:
            break
        kept.append(name)
    return kept


def _in_a_fork(work: Callable[[], Any], limit: int | None) -> Any:
    """The result of `work` in a child process; a child that dies was stopped by its clock."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as channel:
        child = os.fork()
        if child == 0:
            try:
                silence = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silence, stream)
                if limit is not None:
                    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                pickle.dump(work(), channel)
                channel.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        channel.seek(0)
        content = channel.read()
    return pickle.loads(content) if content else OUT_OF_TIME


def _passes(item: pytest.Item) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _baseline(items: list[pytest.Item]) -> dict[str, Measured]:
    """How long each test takes, whether it passes, and which functions of wane it enters."""
    made = {}
    source = str(ROOT / "src") + os.sep
    for item in items:
        seen: set[types.CodeType] = set()
        start = time.process_time()
        sys.settrace(partial(_enter, seen))
        passed = _passes(item)
        sys.settrace(None)
        reached = frozenset(
            (str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno)
            for code in seen
            if code.co_filename.startswith(source)
        )
        made[item.nodeid] = Measured(time.process_time() - start, passed, reached)
    return made


def _enter(seen: set[types.CodeType], frame: types.FrameType, event: str, argument: object) -> None:
    seen.add(frame.f_code)


def _attack(mutant: Mutant, items: list[pytest.Item]) -> str | None:
    """The first test that fails with the mutation; None if all pass."""
    import_module(_module(mutant))  # a file that no test has loaded is no mutant that is killed
    try:
        plant(mutant)
    except Exception:
        return "import"  # the module cannot even be loaded
    for item in items:
        if not _passes(item):
            return item.nodeid
    return None


def _module(mutant: Mutant) -> str:
    return ".".join(Path(mutant.file).with_suffix("").parts[1:])


def plant(mutant: Mutant) -> None:
    """Give the loaded module the mutant's code, in place, so that every reference to it changes."""
    name = _module(mutant)
    module = sys.modules[name]
    fresh = types.ModuleType(name)
    fresh.__file__ = module.__file__
    sys.modules[name] = fresh  # dataclasses look their module up
    try:
        exec(mutant.compiled(), vars(fresh))
    finally:
        sys.modules[name] = module
    if mutant.lines is None:
        _plant_values(module, fresh)
    top = mutant.function.partition(".")[0]
    names = [top] if top else [n for n, v in vars(module).items() if is_dataclass(v)]
    if top and mutant.lines is None:  # a field of a class is written into its subclasses, too
        names += [n for n, v in vars(module).items() if _inherits(v, getattr(module, top))]
    for each in names:
        _plant(getattr(module, each), getattr(fresh, each))


def _inherits(value: object, parent: object) -> bool:
    if not (isinstance(value, type) and isinstance(parent, type)):
        return False
    return (
        value is not parent and issubclass(value, parent) and value.__module__ == parent.__module__
    )


def _plant_values(module: types.ModuleType, fresh: types.ModuleType) -> None:
    """Constants of the module, here and wherever they were imported to."""
    plain = int | float | str | tuple
    for name, old in list(vars(module).items()):
        new = vars(fresh).get(name)
        if not isinstance(old, plain) or name.startswith("__") or old == new:
            continue
        if isinstance(old, tuple) and any(isinstance(part, type) for part in old):
            continue
        for other in list(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("wane") and vars(other).get(name) is old:
                setattr(other, name, new)


def _plant(old: Any, new: Any) -> None:
    """Change an object of the loaded module into its mutated twin."""
    if isinstance(old, types.FunctionType):
        old.__code__, old.__defaults__ = new.__code__, new.__defaults__
        old.__kwdefaults__ = new.__kwdefaults__
    elif isinstance(old, type):
        _plant_class(old, new)
    elif is_dataclass(old):
        _plant_record(old, new)
    else:
        for inner in ("fget", "func", "__func__", "__wrapped__"):
            if hasattr(old, inner):
                _plant(getattr(old, inner), getattr(new, inner))
                break


def _plant_class(old: type, new: type) -> None:
    for name, value in vars(new).items():
        current = vars(old).get(name)
        if isinstance(current, bool | int | float | str) and current != value:
            setattr(old, name, value)
        elif current is not None and not isinstance(current, type):
            _plant(current, value)


def _plant_record(old: Any, new: Any) -> None:
    for part in fields(old):
        before, after = getattr(old, part.name), getattr(new, part.name)
        if isinstance(before, types.FunctionType):
            _plant(before, after)
        elif before != after and not isinstance(before, type):
            object.__setattr__(old, part.name, after)


if __name__ == "__main__":
    sys.exit(main())
