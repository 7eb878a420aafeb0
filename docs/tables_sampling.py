"""Writes sampling-looseness.md: `python docs/tables_sampling.py` (some minutes)."""

import math
from dataclasses import dataclass
from pathlib import Path

from wane.audit import langevin_law as law
from wane.describe.chain import NormalStart, Target, largest_underdamped_step
from wane.sampling.distance_plan import Friction, plan_sampling
from wane_papers.sampler import corrected_route as sampler_route

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Instance:
    """A Gaussian target, half its curvatures one and half kappa, started from N(0, I/kappa)."""

    dimension: int
    kappa: float
    order: float
    distance: float


INSTANCES = (
    Instance(2, 4.0, 2.0, 0.1),
    Instance(10, 4.0, 2.0, 0.1),
    Instance(100, 4.0, 2.0, 0.1),
    Instance(1000, 4.0, 2.0, 0.1),
    Instance(10, 4.0, 2.0, 0.01),
    Instance(10, 4.0, 10.0, 0.1),
    Instance(10, 20.0, 2.0, 0.1),
    Instance(10, 100.0, 2.0, 0.1),
)

TITLE = """# How loose the distance certificates are

Steps that a plan asks for, so that the Renyi divergence of the given order is at most the distance
in both directions, against the steps that are exactly needed at the best step size. The target is
Gaussian with half its curvatures 1 and half kappa; the chain starts from N(0, I/kappa). The
certificates hold for every target with the same constants, the exact number for this one only. Made
by `python docs/tables_sampling.py`.

- *exact*: by the law of the chain (`wane.audit.langevin_law`).
- *quadratic*: certificate with a constant Laplacian declared; *smooth*: strong convexity and
  smoothness only.
- *paper's route*: [ganesh2020langevin](errata/sampler.md), corrected, all constants explicit, chain
  first only."""


def gaussian(case: Instance) -> law.GaussianTarget:
    """The instance's target."""
    half = case.dimension // 2
    return law.GaussianTarget((1.0, case.kappa), (half, case.dimension - half))


def exact_steps(case: Instance) -> int:
    """Overdamped steps exactly needed."""
    target = gaussian(case)
    return law.fewest_steps(
        lambda eta, steps: max(
            law.overdamped_divergences(
                target,
                order=case.order,
                step_size=eta,
                steps=steps,
                start_variance=1.0 / case.kappa,
            )
        ),
        2.0 / case.kappa,
        case.distance,
    )


def exact_kinetic_steps(case: Instance) -> int:
    """Underdamped steps exactly needed, at the friction of the certificate."""
    target, friction = gaussian(case), math.sqrt(1.0 + case.kappa)
    constants = Target(1.0, case.kappa, case.dimension)
    return law.fewest_steps(
        lambda eta, steps: max(
            law.underdamped_divergences(
                target,
                order=case.order,
                friction=friction,
                velocity_variance=1.0,
                step_size=eta,
                steps=steps,
                start_variance=1.0 / case.kappa,
            )
        ),
        largest_underdamped_step(constants, friction, 1.0),
        case.distance,
    )


def planned_steps(
    case: Instance, *, third: float | None = None, friction: Friction | None = None
) -> int:
    """Steps a plan asks for."""
    target = Target(1.0, case.kappa, case.dimension, laplacian_lipschitz=third)
    plan = plan_sampling(
        target,
        order=case.order,
        distance=case.distance,
        start=NormalStart(1.0 / case.kappa, 0.0),
        friction=friction,
    )
    return plan.chain.steps


def row(case: Instance) -> str:
    """One line of the table."""
    exact, kinetic = exact_steps(case), exact_kinetic_steps(case)
    asked = [planned_steps(case, third=0.0), planned_steps(case)]
    underdamped = planned_steps(case, friction=Friction())
    theirs = sampler_route.steps_asked(
        alpha=case.order, eps=case.distance, d=case.dimension, m=1.0, L=case.kappa
    )
    cells = [
        f"{case.dimension}",
        f"{case.kappa:g}",
        f"{case.order:g}",
        f"{case.distance:g}",
        f"{exact}",
        *(f"{n} ({n / exact:.0f}x)" for n in asked),
        f"{theirs:.1e}",
        f"{kinetic}",
        f"{underdamped} ({underdamped / kinetic:.0f}x)",
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "dimension",
    "kappa",
    "order",
    "distance",
    "exact",
    "quadratic",
    "smooth",
    "paper's route",
    "exact, underdamped",
    "underdamped",
)


def looseness_table(cases: tuple[Instance, ...] = INSTANCES) -> str:
    """Steps asked against steps exactly needed, one line for each instance."""
    head = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    return "\n".join(head + [row(case) for case in cases])


def main() -> None:
    """Write the page."""
    (HERE / "sampling-looseness.md").write_text(f"{TITLE}\n\n{looseness_table()}\n")


if __name__ == "__main__":
    main()
