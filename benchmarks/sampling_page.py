"""Sampling: steps and time to a certified distance, and effective draws for each second.

    python -m benchmarks sampling

Gaussian targets, on which the law of a chain is known exactly, say how many steps were needed; a
public logistic posterior says how fast samplers mix.  Everything runs on one core.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from docs.tables_sampling import INSTANCES, Instance, exact_steps, gaussian
from matplotlib.axes import Axes
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks import sampling, sampling_distance
from benchmarks.environments import BLACKJAX, Unavailable
from benchmarks.report import Cell, Page, Plot, Table
from benchmarks.timing import Spread, interleaved, ratio
from wane.audit import langevin_law
from wane.run.links import Logistic
from wane.sampling import (
    GaussianPotential,
    Public,
    PublicPaths,
    effective_sample_size,
    linear_posterior,
    public_paths,
    simulate,
)
from wane.sampling.chain import (
    NormalStart,
    Overdamped,
    PointStart,
    Target,
    Underdamped,
    largest_underdamped_step,
)
from wane.sampling.distance import plan_sampling
from wane.sampling.models import DataPotential

Array = np.ndarray
Job = dict[str, Any]
Gradient = Callable[[Array], Array]


def plain_ula(gradient: Gradient, start: Array, step_size: float, steps: int) -> Iterator[Array]:
    """The unadjusted Langevin algorithm in four lines, which is what a user would write."""
    rng, x = np.random.default_rng(), start
    for _ in range(steps):
        noise = rng.standard_normal(x.shape)
        x = x - step_size * gradient(x) + np.sqrt(2.0 * step_size) * noise
        yield x


def blackjax(jobs: list[Job], folder: Path) -> tuple[dict[str, Job], str]:
    """Run jobs in BlackJAX' environment; return its answers by name, and why some are missing."""
    (folder / "jobs.json").write_text(json.dumps(jobs))
    found = {}
    try:
        for line in BLACKJAX.lines("peer_blackjax.py", "jobs.json", cwd=folder):
            found[line["name"]] = line
    except Unavailable as error:
        return found, " ".join(str(error).split())
    return found, ""


# Gaussian targets: what the plan asks for, and what is needed.

CASES = tuple(instance for instance in INSTANCES if instance.order == 2.0)
QUICK_CASES = (Instance(10, 4.0, 2.0, 0.1),)
CHAINS = 100
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

    def works(self) -> dict[str, Callable[[], object]]:
        chain, _ = self.plan
        potential = GaussianPotential(self.curvatures, np.zeros(self.case.dimension))
        rng = np.random.default_rng(0)
        shape = (CHAINS, self.case.dimension)

        def plain() -> object:
            start = np.sqrt(chain.start.variance) * rng.standard_normal(shape)
            path = plain_ula(lambda x: x * self.curvatures, start, chain.step_size, chain.steps)
            return [None for _ in path]

        return {
            "wane": lambda: simulate(chain, potential, generator=rng, chains=CHAINS),
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
            "chains": CHAINS,
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
        CHAINS,
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


# A public logistic posterior: effective draws for each second.


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


# What the certificates and many chains cost.

COST = ("what", "value", "low", "high", "unit")


def costs(rounds: int, plans: bool) -> list[list[Cell]]:
    """The promises of `benchmarks.sampling` and `benchmarks.sampling_distance`, measured here."""
    with threadpool_limits(1):
        chains, products = sampling.many_chains()
        many = interleaved({"chains": chains, "products": products}, rounds, time.process_time)
        certificates = interleaved(
            {str(n): sampling_distance.certificate(n) for n in COMPARED},
            min(rounds, 3),
            time.process_time,
        )
        seconds = sampling_distance.plan_seconds() if plans else []
    long, short = (certificates[str(n)] for n in COMPARED)
    found = [
        (sampling.MANY, ratio(many["chains"], many["products"]), "ratio"),
        (f"certificate, {COMPARED[0]:.0e} steps / {COMPARED[1]:.0e}", ratio(long, short), "ratio"),
    ]
    if seconds:
        found.append(("one plan, three targets", Spread.of(seconds), "processor seconds"))
    return [[what, s.median, s.low, s.high, unit] for what, s, unit in found]


COMPARED = (sampling_distance.LONG, sampling_distance.SHORT)

# The page.

WORDS = f"""
Everything runs in double precision without threads for linear algebra. Seconds are those of the
processor, all threads together, medians over rounds in which everything that is compared runs in
turn, BlackJAX in a process of its own for each round, its compilation timed apart; `low` and
`high` are quartiles over the rounds, and ratios are taken round by round.
BlackJAX' environment: {BLACKJAX.versions()}.

**Certified distance.** The target is Gaussian, half its curvatures 1 and half kappa, started from
N(0, I/kappa). *Planned* steps are those of `plan_sampling`, after which the Renyi divergence of the
given order is certified to be at most the distance, in both directions, for **every** target with
these constants and a constant Laplacian. *Needed* are the fewest steps after which it is so for
this one target, at the best step size, by the exact law of the chain, which shares no code with
the certificate; *reached* is the exact divergence of the planned chain. The planned chain then runs
in wane, as plain NumPy, and as BlackJAX' SGLD: same steps, same gradients, 100 chains. Neither of
the peers says how many steps are enough.

**Effective draws.** A logistic posterior of synthetic, hence public, rows. Every sampler evaluates
the gradient of all rows equally often; the unadjusted ones share a step size. Effective draws are
ArviZ' bulk effective sample size of the worst coordinate after a warm-up, the same function for
all. They tell of mixing and not of bias, so the table says also how far the mean is off, in
standard deviations, and the largest ratio of variances, against 20,000 draws of an exact sampler.
The underdamped chain's friction and MALA's step were set by hand. MALA decides by the rows whether
to move, which no privacy certificate covers; it is here as the better-mixing method of those who
need none.
"""


def page(quick: bool) -> Page:
    """Measure everything."""
    cases, rounds = (QUICK_CASES, 1) if quick else (CASES, 2)
    plans = [certified(case, rounds if case.dimension < 1000 else 1) for case in cases]
    draws = race(500, 1, 2_000) if quick else race(2_500, 2, 20_000)
    cost = costs(1 if quick else 7, plans=not quick)
    tables = (
        Table(
            "sampling-certified",
            "Steps and time to a certified distance",
            CERTIFIED,
            plans,
            shown=(
                "dimension",
                "kappa",
                "order",
                "distance",
                "steps_planned",
                "steps_needed",
                "planned_over_needed",
                "distance_reached",
                "wane_seconds",
                "wane_seconds_for_needed",
                "numpy_over_wane",
                "blackjax_over_wane",
                "note",
            ),
        ),
        Table(
            "sampling-draws",
            "Effective draws for each second",
            ESS,
            draws,
            shown=(
                "sampler",
                "gradient_evaluations",
                "seconds",
                "least_effective_draws",
                "draws_per_second",
                "wane_overdamped_over_this",
                "largest_mean_error",
                "largest_variance_ratio",
                "accepted",
                "compile_seconds",
                "note",
            ),
        ),
        Table("sampling-cost", "What certificates and many chains cost", COST, cost),
    )
    plots = (
        Plot(
            "sampling-steps", "Planned against needed steps", lambda axes: draw_steps(axes, plans)
        ),
        Plot(
            "sampling-draws",
            "Effective draws for each second",
            lambda axes: draw_speeds(axes, draws),
        ),
    )
    return Page("sampling", "Sampling: certified distance, effective draws", WORDS, tables, plots)


def draw_steps(axes: Axes, rows: list[list[Cell]]) -> None:
    found: list[dict[str, Any]] = [dict(zip(CERTIFIED, row, strict=True)) for row in rows]
    labels = [f"d {r['dimension']}, kappa {r['kappa']:g}, {r['distance']:g}" for r in found]
    places = np.arange(len(found))
    axes.barh(places + 0.2, [r["steps_planned"] for r in found], 0.4, label="planned, certified")
    axes.barh(places - 0.2, [r["steps_needed"] for r in found], 0.4, label="needed, exactly")
    axes.set(xscale="log", xlabel="steps", yticks=places, yticklabels=labels)
    axes.legend(fontsize=8)


def draw_speeds(axes: Axes, rows: list[list[Cell]]) -> None:
    found: list[dict[str, Any]] = [dict(zip(ESS, row, strict=True)) for row in rows]
    kept = [r for r in found if r["draws_per_second"] is not None]
    axes.barh([r["sampler"] for r in kept], [r["draws_per_second"] for r in kept])
    axes.set(xlabel="effective draws for each second")
