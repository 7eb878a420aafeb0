"""Guarantees record by record: the later a record is used, the less time it has to fade."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.describe import NoisyDescent
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP
from wane.theorems.joint_programme.statement import last_iterate, last_iterate_bounded
from wane.theorems.lemmas import positions as records
from wane.theorems.theorem import Refuses, Theorem

MOST_POSITIONS = 1_000_000
MOST_STEPS_LISTED = 10_000_000


def mu_by_position(run: NoisyDescent) -> Array:
    """Return mu of the records of each batch, in the order in which the batches are used.

    A batch that is never used has mu = 0.  The largest entry is the guarantee for everyone.
    """
    _require_programme(run)
    if run.steps_per_epoch > MOST_POSITIONS:
        raise InvalidDescription(
            f"batches.size must give at most {MOST_POSITIONS} batches to list them all, "
            f"got {run.steps_per_epoch}; the worst one is what certify() reports."
        )
    return np.sqrt(records.hidden_by_position(run, diameter=_used_diameter(run)))


def theorem_by_position(run: NoisyDescent) -> Theorem[GaussianDP]:
    """Return the theorem that `mu_by_position` follows, record by record."""
    return last_iterate if math.isinf(_used_diameter(run)) else last_iterate_bounded


def _used_diameter(run: NoisyDescent) -> float:
    return run.domain.diameter if len(run.plan) <= records.FEW_ROWS else math.inf


def mu_of_group(run: NoisyDescent, batches: Sequence[int]) -> float:
    """Return mu for records that change together, given the batch (from 0) that holds each.

    Records far apart in the order share the noise between them, so this is less than the group's
    size times the worst record's mu, which `Certificate.group` charges for any group.
    """
    if not isinstance(batches, Iterable):
        raise InvalidDescription(
            "batches must list the batch (from 0) of each record of the group, got "
            f"{batches!r:.60}; certify(run).group(size) covers any group of a size."
        )
    _require_programme(run)
    if run.total_steps > MOST_STEPS_LISTED or not (run.gradient_noise_stds > 0).all():
        raise InvalidDescription(
            f"steps must be at most {MOST_STEPS_LISTED}, each with noise, to follow a group, "
            f"got {run.total_steps}; certify(run).group(size) covers any run."
        )
    last = run.steps_per_epoch - 1
    held = [arguments.whole("batches", b, least=0, most=last) for b in batches]
    if not held:
        return 0.0
    return math.sqrt(records.group(run, held))


def _require_programme(run: NoisyDescent) -> None:
    verdict = last_iterate(run)
    if isinstance(verdict, Refuses):
        raise NoTheoremApplies(f"Guarantees by position need: {verdict.obstacles[0].need}.")
