"""Runs on the same records, each from where the one before ended: certified jointly.

The start of a later run depends on the records, so it is none that `certify` knows.  But all steps
together are one noisy iteration of which only the end is seen, whose maps, shifts and noises differ
from run to run, and Theorem 1 of docs/proofs/modulus-programme.md asks for nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np

from wane import arguments
from wane.describe import FullBatch, LastIterate, NoisyDescent, Phase
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.modulus.path import BestPath, best_path
from wane.modulus.steps import ModulusPerStep
from wane.theorems.lemmas.lipschitz import log_prox_lipschitz
from wane.theorems.lemmas.loss_moduli import idle_modulus, modulus_in, public_modulus, whole_batch
from wane.theorems.lemmas.moduli import Modulus


def fine_tuned(*runs: NoisyDescent) -> BestPath:
    """Return the path of least mu for runs in order, of which only the last iterate is released.

    Every run uses all of the same records at each step and begins at the last iterate of the run
    before it, moved into its own domain; the first begins anywhere that ignores the records.
    Losses, steps, noises and domains may differ.  Nothing in between may be seen.
    """
    for run in runs:
        arguments.kind("runs", run, (NoisyDescent,))
        _refuse(run)
    if not runs or len({(run.records, run.adjacency) for run in runs}) != 1:
        raise InvalidDescription(
            "runs must be one or more on the same number of records under one adjacency, got "
            f"{[(run.records, run.adjacency.value) for run in runs]!r:.80}."
        )
    moduli: list[Modulus] = []
    counts: list[int] = []
    shifts: list[float] = []
    noises: list[float] = []
    for run in runs:
        assert run.gradient_sensitivity is not None
        for phase, std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
            known = _known(run, phase)
            assert known is not None, "refused before"
            moduli.append(known)
            moved = phase.step_size * run.gradient_sensitivity * (1.0 + 4e-16)
            counts.append(phase.repeat)
            shifts += [moved if phase.uses_records else 0.0] * phase.repeat
            noises += [phase.step_size * std * (1.0 - 4e-16)] * phase.repeat
    ends = list(accumulate(counts))
    widest = max(float(run.domain.diameter) for run in runs)
    return best_path(
        modulus=ModulusPerStep(
            lambda t: float(bisect_right(ends, t - 1)), lambda i: moduli[int(i)]
        ),
        shifts=shifts,
        noise_stds=noises,
        distance=0.0,
        diameter=None if math.isinf(widest) else widest,
    )


def _refuse(run: NoisyDescent) -> None:
    if not isinstance(run.batches, FullBatch) or not isinstance(run.release, LastIterate):
        raise NoTheoremApplies(
            "Runs are certified jointly where every step uses every record and only the last "
            f"iterate is released, got {run.batches.kind} batches; compose their certificates."
        )
    if run.gradient_sensitivity is None:
        raise NoTheoremApplies(
            "Nothing bounds what one record adds to a step; declare objective.gradient_bound."
        )
    if float(np.max(log_prox_lipschitz(run, run.plan.step_size))) > 0.0:
        raise NoTheoremApplies("The prox of a weakly convex function expands; use a convex domain.")
    for phase in run.plan:
        if not phase.cool_down and _known(run, phase) is None:
            raise NoTheoremApplies(
                "Nothing bounds how far one step drives two points apart; declare "
                "objective.smoothness or gradient_bound, of public records too."
            )


def _known(run: NoisyDescent, phase: Phase) -> Modulus | None:
    """The modulus of a step of this phase; None if nothing is declared that bounds it."""
    if phase.public:
        return public_modulus(run, phase.step_size)
    if phase.cool_down:
        return idle_modulus(run, phase)
    return modulus_in(run, whole_batch(run, phase.step_size))
