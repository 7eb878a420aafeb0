"""Sampling: steps and time to a certified distance, and effective draws for each second.

    python -m benchmarks sampling

Gaussian targets, on which the law of a chain is known exactly, say how many steps were needed; a
public logistic posterior says how fast samplers mix.  Everything runs on one core.
"""

from __future__ import annotations

import time

from threadpoolctl import threadpool_limits

from benchmarks import sampling, sampling_distance
from benchmarks.environments import BLACKJAX
from benchmarks.report import Cell, Page, Plot, Table
from benchmarks.sampling_gaussian import CASES, CERTIFIED, QUICK_CASES, certified, draw_steps
from benchmarks.sampling_race import ESS, draw_speeds, race
from benchmarks.timing import Spread, interleaved, ratio

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
in wane, as plain NumPy, and as BlackJAX' SGLD: same steps, same gradients, 100 chains, or 10
where there are 1000 dimensions. Neither of
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
