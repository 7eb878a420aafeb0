"""Measure wane against its peers and write every table and plot of docs/benchmarks.

    python -m benchmarks                    # all sections, under 40 minutes on two cores
    python -m benchmarks --quick            # a small version of each, under 5 minutes, in build/
    python -m benchmarks tightness start-up # only these

Peers run in environments of their own, made on first use.
"""

from __future__ import annotations

import argparse
import time
from itertools import groupby
from pathlib import Path

from benchmarks import index, not_ahead
from benchmarks.environments import prepare
from benchmarks.suite import SECTIONS, beside_each_other

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    names = [section.name for section in SECTIONS]
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="folder to write into")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(names):
        parser.error(f"unknown section {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    folder = asked.out or (ROOT / "build/benchmarks" if asked.quick else ROOT / "docs/benchmarks")
    start = time.monotonic()
    failed = []
    if not asked.sections:
        prepare()
    chosen = [s for s in SECTIONS if not asked.sections or s.name in asked.sections]
    for _, some in groupby(chosen, key=lambda section: section.timed and section.name):
        group = list(some)
        about = ", ".join(section.name for section in group)
        print(f"[{time.monotonic() - start:6.0f} s] {about}", flush=True)
        failed += beside_each_other(group, folder, asked.quick)
    not_ahead.write(folder)
    index.write(folder)
    print(f"[{time.monotonic() - start:6.0f} s] written to {folder}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; their pages are as they were")


if __name__ == "__main__":
    main()
