"""The sections of the suite, in the order in which they run: timings first, on an idle machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from benchmarks.report import Page


@dataclass(frozen=True)
class Section:
    """A part of the suite: a module whose ``page(quick)`` measures and returns what it found."""

    name: str
    module: str

    def run(self, quick: bool) -> Page:
        """Import late, so that one section can be run where another's needs are not installed."""
        page: Callable[[bool], Page] = import_module(f"benchmarks.{self.module}").page
        return page(quick)


SECTIONS = (
    Section("start-up", "startup"),
    Section("accounting", "accounting"),
    Section("throughput", "throughput"),
    Section("sampling", "sampling_page"),
    Section("scale", "scale_page"),
    Section("tightness", "tightness"),
    Section("learning", "learning"),
)
