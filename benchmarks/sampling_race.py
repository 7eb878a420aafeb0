"""A public logistic posterior: effective draws for each second, at equal work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks import sampling
from benchmarks.report import Cell
from benchmarks.sampling_peers import Array, Job, blackjax, plain_ula
from benchmarks.timing import Spread, ratio
from wane.describe.chain import Overdamped, PointStart, Underdamped, largest_underdamped_step
from wane.losses import Logistic
from wane.sampling import (
    Public,
    PublicPaths,
    effective_sample_size,
    linear_posterior,
    public_paths,
)
from wane.sampling.models import DataPotential


@dataclass(frozen=True)
class LogisticPosterior:
    """Synthetic, so public: rows of unit length, some directions seen less than others."""

    rows: int = 5_000
    columns: int = 10
    prior: float = 1.0

    @cached_property
    def data(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        features = rng.standard_normal((self.rows, self.columns))
        features *= np.geomspace(1.0, 0.4, self.columns)
        features /= np.linalg.norm(features, axis=1)[:, None]
        chances = expit(features @ (2.0 * rng.standard_normal(self.columns)))
        return features, (rng.random(self.rows) < chances).astype(float)

    @cached_property
    def potential(self) -> DataPotential:
        features, labels = self.data
        return linear_posterior(
            features, 2 * labels - 1, Logistic(), feature_norm=1.0, prior_precision=self.prior
        )

    def gradient(self, x: Array) -> Array:
        """The gradient of the sum of losses, for the plain sampler."""
        features, labels = self.data
        return (expit(x @ features.T) - labels) @ features + self.prior * x


STEP = 6.0
"""Of the average loss: three quarters of the largest stable step for rows of unit length."""
MALA_FACTOR = 5.0
"""MALA's step over the others', set by hand for an acceptance rate near 0.57."""
FRICTION, SHARE_OF_STABLE = 0.5, 0.8
WARM_UP = 0.2
ESS = (
    "sampler",
    "version",
    "rows",
    "columns",
    "chains",
    "gradient_evaluations",
    "rounds",
    "seconds",
    "least_effective_draws",
    "draws_per_second",
    "draws_per_second_low",
    "draws_per_second_high",
    "wane_overdamped_over_this",
    "over_low",
    "over_high",
    "largest_mean_error",
    "largest_variance_ratio",
    "accepted",
    "compile_seconds",
    "note",
)


@dataclass(frozen=True)
class Race:
    """The same number of gradient evaluations for every sampler."""

    posterior: LogisticPosterior
    steps: int
    chains: int = 4

    def ours(self) -> dict[str, Callable[[], Array]]:
        """Samplers in this process; each returns paths with axes chain, draw, coordinate."""
        potential, rng = self.posterior.potential, np.random.default_rng(1)
        temperature = potential.posterior.descent_temperature
        largest = largest_underdamped_step(potential.target, FRICTION, 1.0)
        shared = {"start": PointStart(), "temperature": temperature}
        over = Overdamped(potential.target, STEP, self.steps, **shared)
        under = Underdamped(
            potential.target, SHARE_OF_STABLE * largest, self.steps, FRICTION, **shared
        )

        def run(chain: Overdamped | Underdamped) -> Array:
            return public_paths(
                chain, Public(potential), generator=rng, chains=self.chains
            ).positions

        def plain() -> Array:
            start = np.zeros((self.chains, self.posterior.columns))
            h = STEP / self.posterior.rows
            return np.stack(list(plain_ula(self.posterior.gradient, start, h, self.steps)), axis=1)

        return {
            "wane, overdamped": lambda: run(over),
            "wane, underdamped": lambda: run(under),
            "plain NumPy, unadjusted": plain,
        }

    def jobs(self, folder: Path) -> list[Job]:
        features, labels = self.posterior.data
        np.savez(
            folder / "logistic.npz", features=features, labels=labels, prior=self.posterior.prior
        )
        h = STEP / self.posterior.rows
        kernels = (
            ("BlackJAX, SGLD on all rows", "sgld", h),
            ("BlackJAX, MALA", "mala", MALA_FACTOR * h),
        )
        return [
            {
                "name": name,
                "kernel": kernel,
                "potential": "logistic.npz",
                "step_size": step_size,
                "steps": self.steps,
                "chains": self.chains,
                "start_variance": 0.0,
                "seed": 0,
                "paths": f"{kernel}.npy",
            }
            for name, kernel, step_size in kernels
        ]


@dataclass(frozen=True)
class Run:
    """One sampler in one round."""

    seconds: float
    paths: Array
    about: Job

    @cached_property
    def effective(self) -> float:
        """The effective sample size of the coordinate that has least, after the warm-up."""
        return float(effective_sample_size(PublicPaths(self.kept)).min())

    @property
    def kept(self) -> Array:
        return self.paths[:, round(WARM_UP * self.paths.shape[1]) :]


PEERS = ("BlackJAX, SGLD on all rows", "BlackJAX, MALA")


def race(steps: int, rounds: int, reference: int) -> list[list[Cell]]:
    """Run all samplers in turn, and compare them with so many draws of an exact one."""
    posterior = LogisticPosterior()
    contest = Race(posterior, steps)
    runs: dict[str, list[Run]] = {name: [] for name in (*contest.ours(), *PEERS)}
    failure = ""
    with TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        jobs, ours = contest.jobs(folder), contest.ours()
        for sampler in ours.values():
            sampler()
        for number in range(rounds):
            for label, sampler in ours.items():
                before = time.process_time()
                paths = sampler()
                runs[label].append(Run(time.process_time() - before, paths, {}))
            if not failure:
                found, failure = blackjax([{**job, "seed": number} for job in jobs], folder)
                for job in jobs:
                    if (about := found.get(job["name"])) is not None:
                        paths = np.load(folder / job["paths"])
                        runs[job["name"]].append(Run(about["seconds"], paths, about))
        draws = sampling.exact_posterior(*posterior.data, posterior.prior, reference)
    return [_race_row(contest, name, runs, draws, failure) for name in runs]


def _race_row(
    contest: Race, name: str, runs: dict[str, list[Run]], draws: Array, failure: str
) -> list[Cell]:
    posterior, mine = contest.posterior, runs[name]
    shape: list[Cell] = [posterior.rows, posterior.columns, contest.chains]
    work = contest.chains * contest.steps
    first = runs["wane, overdamped"]
    if len(mine) < len(first):
        missing: list[Cell] = [None] * 12
        return [name, None, *shape, work, len(mine), *missing, failure or "no answer"]
    speed, ours = ([run.effective / run.seconds for run in some] for some in (mine, first))
    spread, over = Spread.of(speed), ratio(ours, speed)
    states = np.concatenate([run.kept.reshape(-1, posterior.columns) for run in mine])
    deviations = draws.std(axis=0)
    about = mine[-1].about
    compiling = [run.about["compile_seconds"] for run in mine if run.about]
    return [
        name,
        about.get("version"),
        *shape,
        work,
        len(mine),
        Spread.of([run.seconds for run in mine]).median,
        Spread.of([run.effective for run in mine]).median,
        spread.median,
        spread.low,
        spread.high,
        over.median,
        over.low,
        over.high,
        float(np.max(np.abs(states.mean(axis=0) - draws.mean(axis=0)) / deviations)),
        float(np.max(states.var(axis=0) / deviations**2)),
        about.get("accepted"),
        Spread.of(compiling).median if compiling else None,
        "",
    ]


def draw_speeds(axes: Axes, rows: list[list[Cell]]) -> None:
    found: list[dict[str, Any]] = [dict(zip(ESS, row, strict=True)) for row in rows]
    kept = [r for r in found if r["draws_per_second"] is not None]
    axes.barh([r["sampler"] for r in kept], [r["draws_per_second"] for r in kept])
    axes.set(xlabel="effective draws for each second")
