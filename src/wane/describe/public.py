"""Public records: some steps of a run may use these in place of the private ones."""

from __future__ import annotations

from dataclasses import dataclass

from wane import arguments
from wane.describe.objective import Objective
from wane.describe.schedule import MOST_STEPS
from wane.errors import InvalidDescription


@dataclass(frozen=True, kw_only=True)
class PublicRecords:
    """Records that need no protection and are the same whatever the private ones are.

    A step of a phase with `public` is `x' = prox(x - step_size * (average of the public records'
    gradients + ridge x + Z))`: all of them at once, with the ridge of the run.

    Attributes:
        records: how many there are.
        objective: the constants of their losses, without ridge; those of the private records' if
            left out.
    """

    records: int
    objective: Objective | None = None

    def __post_init__(self) -> None:
        arguments.whole("public.records", self.records, least=1, most=MOST_STEPS)
        if self.objective is None:
            return
        arguments.kind("public.objective", self.objective, (Objective,))
        if self.objective.ridge:
            raise InvalidDescription(
                f"public.objective.ridge must be absent, got {self.objective.ridge:g}; every step "
                "has the ridge of the run's own objective."
            )
