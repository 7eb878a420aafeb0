"""Gaussian targets: the steps that a plan asks for, those that are needed, and their time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from docs.tables_sampling import INSTANCES, Instance, exact_steps, gaussian
from matplotlib.axes import Axes
from threadpoolctl import threadpool_limits

from benchmarks.report import Cell
from benchmarks.sampling_peers import Array, Job, blackjax, plain_ula
from benchmarks.timing import Spread, interleaved, ratio
from wane.audit import langevin_law
from wane.describe.chain import NormalStart, Overdamped, Target
from wane.sampling import GaussianPotential, simulate
from wane.sampling.distance_plan import plan_sampling

CASES = tuple(instance for instance in INSTANCES if instance.order == 2.0)
QUICK_CASES = (Instance(10, 4.0, 2.0, 0.1),)
CHAINS, FEW = 100, 10
"""How many run; few in many dimensions, where one step takes long."""
CERTIFIED = (
    "dimension",
    "kappa",
    "order",
    "distance",
    "steps_planned",
    "steps_needed",
    "planned_over_needed",
    "distance_reached",
    "plan_processor_seconds",
    "chains",
    "rounds",
    "wane_seconds",
    "wane_low",
    "wane_high",
    "wane_seconds_for_needed",
    "numpy_over_wane",
    "numpy_over_wane_low",
    "numpy_over_wane_high",
    "blackjax_over_wane",
    "blackjax_over_wane_low",
    "blackjax_over_wane_high",
    "blackjax_compile_seconds",
    "note",
)


@dataclass(frozen=True)
class Planned:
    """A plan for one Gaussian target, the law of its chain, and the chain itself, three times."""

    case: Instance

    @cached_property
    def plan(self) -> tuple[Overdamped, float]:
        """The planned chain, and the processor seconds that planning took."""
        case, before = self.case, time.process_time()
        chain = plan_sampling(
            Target(1.0, case.kappa, case.dimension, laplacian_lipschitz=0.0),
            order=case.order,
            distance=case.distance,
            start=NormalStart(1.0 / case.kappa, 0.0),
        ).chain
        assert isinstance(chain, Overdamped)
        return chain, time.process_time() - before

    @property
    def reached(self) -> float:
        """The larger of the exact divergences, by code that shares nothing with the certificate."""
        chain, _ = self.plan
        return max(
            langevin_law.overdamped_divergences(
                gaussian(self.case),
                order=self.case.order,
                step_size=chain.step_size,
                steps=chain.steps,
                start_variance=1.0 / self.case.kappa,
            )
        )

    @cached_property
    def curvatures(self) -> Array:
        known = gaussian(self.case)
        return np.repeat(known.curvatures, known.counts)

    @property
    def chains(self) -> int:
        return CHAINS if self.case.dimension < 1000 else FEW

    def works(self) -> dict[str, Callable[[], object]]:
        chain, _ = self.plan
        potential = GaussianPotential(self.curvatures, np.zeros(self.case.dimension))
        rng = np.random.default_rng(0)
        shape = (self.chains, self.case.dimension)

        def plain() -> object:
            start = np.sqrt(chain.start.variance) * rng.standard_normal(shape)
            path = plain_ula(lambda x: x * self.curvatures, start, chain.step_size, chain.steps)
            return [None for _ in path]

        return {
            "wane": lambda: simulate(chain, potential, generator=rng, chains=self.chains),
            "numpy": plain,
        }

    def job(self, folder: Path) -> Job:
        chain, _ = self.plan
        np.savez(folder / "gaussian.npz", curvatures=self.curvatures)
        return {
            "name": "sgld",
            "kernel": "sgld",
            "potential": "gaussian.npz",
            "step_size": chain.step_size,
            "steps": chain.steps,
            "chains": self.chains,
            "start_variance": chain.start.variance,
            "seed": 0,
        }


def certified(case: Instance, rounds: int) -> list[Cell]:
    """Plan, look up what was needed, and run the plan with all three samplers in turn."""
    planned = Planned(case)
    (chain, planning), needed = planned.plan, exact_steps(case)
    works, failure = planned.works(), ""
    ours: dict[str, list[float]] = {name: [] for name in works}
    theirs: list[Job] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        job = planned.job(folder)
        for _ in range(rounds):
            with threadpool_limits(1):
                for sampler, seconds in interleaved(works, 1, time.process_time).items():
                    ours[sampler] += seconds
            if not failure:
                found, failure = blackjax([job], folder)
                theirs += found.values()
    wane, numpy = Spread.of(ours["wane"]), ratio(ours["numpy"], ours["wane"])
    peer: list[Cell] = [None] * 4
    if len(theirs) == rounds:
        over = ratio([line["seconds"] for line in theirs], ours["wane"])
        compiling = Spread.of([line["compile_seconds"] for line in theirs]).median
        peer = [over.median, over.low, over.high, compiling]
    return [
        case.dimension,
        case.kappa,
        case.order,
        case.distance,
        chain.steps,
        needed,
        chain.steps / needed,
        planned.reached,
        planning,
        planned.chains,
        rounds,
        wane.median,
        wane.low,
        wane.high,
        wane.median * needed / chain.steps,
        numpy.median,
        numpy.low,
        numpy.high,
        *peer,
        failure,
    ]


def draw_steps(axes: Axes, rows: list[list[Cell]]) -> None:
    found: list[dict[str, Any]] = [dict(zip(CERTIFIED, row, strict=True)) for row in rows]
    labels = [f"d {r['dimension']}, kappa {r['kappa']:g}, {r['distance']:g}" for r in found]
    places = np.arange(len(found))
    axes.barh(places + 0.2, [r["steps_planned"] for r in found], 0.4, label="planned, certified")
    axes.barh(places - 0.2, [r["steps_needed"] for r in found], 0.4, label="needed, exactly")
    axes.set(xscale="log", xlabel="steps", yticks=places, yticklabels=labels)
    axes.legend(fontsize=8)
