"""The fixed set of runs that are compared: every loss with every kind of batches, short and long.

Two laboratories.  The ordinary one has batches whose noise is small beside one gradient, as in
practice; the heavy one has tiny batches and much noise, where bounds for losses that are neither
smooth nor convex begin to say something.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import wane
from wane.describe.choices import Batches

SHORT, LONG = "short", "long"


@dataclass(frozen=True)
class Configuration:
    """One row of the table: a run, and the words under which it is filed."""

    name: str
    loss: str
    length: str
    run: wane.NoisyDescent
    log_sobolev: float | None = None

    @property
    def facts(self) -> tuple[wane.Fact, ...]:
        """What is true of this very run beside its description."""
        if self.log_sobolev is None:
            return ()
        return (wane.Fact.of(self.run, wane.FactKind.LOG_SOBOLEV, self.log_sobolev),)

    @property
    def batches(self) -> str:
        return self.run.batches.kind


@dataclass(frozen=True)
class Loss:
    """A class of losses with the set, the step size and the laboratory in which it is tried."""

    name: str
    objective: wane.Objective
    laboratory: str
    step_size: float
    domain: wane.Domain = wane.Unbounded()


@dataclass(frozen=True)
class Sampling:
    """How records are chosen, with the noise and the lengths that suit it.

    `slower` divides the step size: a random batch may hold more records than its divisor says.
    """

    name: str
    records: int
    batches: Batches
    multiplier: float
    short: int
    long: int
    slower: float = 1.0


SMOOTH = wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
BALL = wane.Ball(radius=0.5)

LOSSES = (
    Loss("strongly convex", replace(SMOOTH, smoothness=0.225, ridge=0.025), "ordinary", 4.0),
    Loss("convex bounded", SMOOTH, "ordinary", 4.0, BALL),
    Loss("clipped GLM", replace(SMOOTH, clipped=True, form=wane.LossForm.GLM), "ordinary", 4.0),
    Loss("clipped", replace(SMOOTH, clipped=True), "ordinary", 0.4),
    Loss(
        "weakly smooth",
        wane.Objective(
            gradient_bound=1.0,
            strong_convexity=0.0,
            holder_exponent=0.5,
            holder_constant=1.0,
            holder_everywhere=True,
        ),
        "heavy",
        0.5,
        BALL,
    ),
    Loss(
        "nonsmooth",
        wane.Objective(gradient_bound=1.0, strong_convexity=0.0),
        "heavy",
        0.25,
        BALL,
    ),
    Loss("nonconvex", replace(SMOOTH, strong_convexity=None), "heavy", 0.25, BALL),
)

LABORATORIES = {
    "ordinary": (
        Sampling("full", 1000, wane.FullBatch(), 20.0, 40, 2000),
        Sampling("cyclic", 1000, wane.Cyclic(50), 4.0, 40, 2000),
        Sampling("Poisson", 1000, wane.Poisson(50), 2.0, 40, 2000, 2.0),
        Sampling("without replacement", 1000, wane.WithoutReplacement(50), 2.0, 40, 2000, 2.0),
    ),
    "heavy": (
        Sampling("full", 100, wane.FullBatch(), 25.0, 100, 3000),
        Sampling("cyclic", 200, wane.Cyclic(2), 4.0, 200, 3000),
        Sampling("Poisson", 200, wane.Poisson(2), 5.0, 200, 3000),
        Sampling("without replacement", 200, wane.WithoutReplacement(2), 5.0, 200, 3000),
    ),
}


def _grid() -> Iterator[Configuration]:
    for loss in LOSSES:
        for kind in LABORATORIES[loss.laboratory]:
            for length, steps in ((SHORT, kind.short), (LONG, kind.long)):
                run = wane.NoisyDescent(
                    objective=loss.objective,
                    records=kind.records,
                    steps=steps,
                    step_size=loss.step_size / kind.slower,
                    noise=wane.NoiseMultiplier(kind.multiplier),
                    batches=kind.batches,
                    domain=loss.domain,
                )
                yield Configuration(f"{kind.name}, {loss.name}, {length}", loss.name, length, run)


def _others() -> Iterator[Configuration]:
    """Runs that the grid lacks: other neighbours, orders and sizes, and more exotic losses."""
    convex = wane.NoisyDescent(
        objective=SMOOTH,
        records=1000,
        steps=2000,
        step_size=4.0,
        noise=wane.NoiseMultiplier(4.0),
        batches=wane.Cyclic(50),
    )
    poisson = replace(
        convex, batches=wane.Poisson(50), noise=wane.NoiseMultiplier(2.0), step_size=2.0
    )
    zero_out = replace(poisson, adjacency=wane.Adjacency.ZERO_OUT)
    mnist = wane.NoisyDescent(  # the setting of bok2024shifted, 50 epochs
        objective=wane.Objective(
            gradient_bound=10.0, smoothness=32.5, strong_convexity=0.0, ridge=0.002
        ),
        records=60_000,
        steps=2000,
        step_size=0.05,
        noise=wane.NoiseMultiplier(3.0),
        batches=wane.Cyclic(1500),
    )
    deep = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, clipped=True),
        records=60_000,
        steps=3520,
        step_size=0.25,
        noise=wane.NoiseMultiplier(1.1),
        batches=wane.Poisson(256),
        adjacency=wane.Adjacency.ZERO_OUT,
    )
    full = replace(convex, batches=wane.FullBatch(), noise=wane.NoiseMultiplier(20.0))
    unknown = wane.Objective(gradient_bound=1.0)
    pulled = wane.Objective(gradient_bound=1.0, smoothness=0.5, dissipativity=(0.001, 0.25))
    yield Configuration("full, convex, long", "convex", LONG, full)
    yield Configuration("full, convex, zero-out, short", "convex", SHORT,
                        replace(full, steps=40, adjacency=wane.Adjacency.ZERO_OUT))  # fmt: skip
    yield Configuration("cyclic, convex, one epoch", "convex", SHORT, replace(convex, steps=20))
    yield Configuration("cyclic, convex, long", "convex", LONG, convex)
    yield Configuration("cyclic, convex, small steps, long", "convex", LONG,
                        replace(convex, step_size=1.0))  # fmt: skip
    yield Configuration("cyclic, convex, zero-out, long", "convex", LONG,
                        replace(convex, adjacency=wane.Adjacency.ZERO_OUT))  # fmt: skip
    yield Configuration("cyclic, strongly convex, 60000 records, long", "strongly convex", LONG,
                        mnist)  # fmt: skip
    yield Configuration("shuffled once, convex, short", "convex", SHORT,
                        replace(convex, batches=wane.ShuffledOnce(50), steps=40))  # fmt: skip
    yield Configuration("shuffled once, convex, long", "convex", LONG,
                        replace(convex, batches=wane.ShuffledOnce(50)))  # fmt: skip
    yield Configuration("Poisson, convex, zero-out, short", "convex", SHORT,
                        replace(zero_out, steps=40))  # fmt: skip
    yield Configuration("Poisson, convex, zero-out, long", "convex", LONG, zero_out)
    yield Configuration("Poisson, convex bounded, zero-out, long", "convex bounded", LONG,
                        replace(zero_out, domain=BALL))  # fmt: skip
    yield Configuration("Poisson, convex bounded, large steps, long", "convex bounded", LONG,
                        replace(poisson, domain=BALL, step_size=4.0))  # fmt: skip
    yield Configuration("Poisson, convex bounded, small steps, long", "convex bounded", LONG,
                        replace(poisson, domain=wane.Ball(0.01), step_size=0.4))  # fmt: skip
    yield Configuration("Poisson, nothing known, clipped, zero-out, 60000 records, long",
                        "clipped", LONG, deep)  # fmt: skip
    yield Configuration("full, nonconvex, log-Sobolev, short", "nonconvex", SHORT,
                        replace(full, objective=unknown, steps=20), log_sobolev=25.0)  # fmt: skip
    yield Configuration("full, nonconvex, dissipative, long", "nonconvex", LONG,
                        replace(full, objective=pulled, domain=BALL, step_size=1.0))  # fmt: skip


CONFIGURATIONS: tuple[Configuration, ...] = (*_grid(), *_others())
